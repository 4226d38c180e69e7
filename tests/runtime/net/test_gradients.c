/* The whole backward pass against finite differences of the whole forward pass: a small net with every layer, in every
 * layout, with the first and with the last variant of each op.
 *
 * Along a direction d of one parameter, (L(p + h d) - L(p - h d)) / 2h must be the gradient times d. The loss is summed
 * in double from the probabilities; what is left is rounding in float, about 1e-6 / h, and kinks of ReLU and max
 * pool that h crosses: 0.4 % of the gradient's length at most, seen over all layouts. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/table.h"
#include "runtime/net/net.h"
#include "tests/support/reference_trainer.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { BATCH = 4, SIZE = 6, CLASSES = 5, WIDTH = 16 };

/* Length of a step along a direction of +-1 in n elements: h = reach / sqrt(n). */
static const double reach = 4e-3;

/* Every layer kind, with tensors that have one, two and three readers. */
static plim_graph *every_layer(plim_context *ctx, plim_layout layout, plim_precision math, float drop) {
  plim_net_options options = plim_net_options_default();
  options.batch = BATCH;
  options.height = options.width = SIZE;
  options.classes = CLASSES;
  options.layout = layout;
  options.precision = math;
  plim_net *net = NULL;
  plim_graph *graph = NULL;
  cr_assert_eq(plim_net_begin(ctx, "every", &options, &net), PLIM_OK);
  plim_tensor x = plim_net_conv2d(net, "c1", plim_net_image(net), WIDTH, (plim_net_window){.kernel = 3, .pad = 1}, 0);
  plim_tensor block = plim_net_batch_norm_relu(net, "b1", x);
  x = plim_net_conv2d(net, "c2", block, WIDTH, (plim_net_window){.kernel = 3, .pad = 1}, 0);
  x = plim_net_batch_norm_add_relu(net, "b2", x, block);
  plim_tensor pooled = plim_net_max_pool(net, "max", x, (plim_net_window){.kernel = 3, .stride = 2, .pad = 1});
  plim_tensor project =
      plim_net_batch_norm(net, "b3", plim_net_conv2d(net, "c3", pooled, WIDTH, (plim_net_window){.kernel = 1}, 0));
  x = plim_net_add_relu(
      net, "sum", plim_net_conv2d(net, "c4", pooled, WIDTH, (plim_net_window){.kernel = 3, .pad = 1}, 1), project);
  x = plim_net_add(net, "sum2", x, plim_net_relu(net, "r0", pooled));
  plim_tensor left = plim_net_linear(net, "l1", plim_net_global_avg_pool(net, "global", x), CLASSES);
  x = plim_net_flatten(net, "flat", plim_net_avg_pool(net, "mean", x, (plim_net_window){.kernel = 2}));
  x = plim_net_dropout(net, "drop", plim_net_relu(net, "r1", plim_net_linear(net, "l2", x, 24)), drop);
  plim_net_softmax_xent(net, plim_net_add(net, "logits", left, plim_net_linear(net, "l3", x, CLASSES)));
  cr_assert_eq(plim_net_train_graph(net, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  plim_net_free(net);
  return graph;
}

static void fill_inputs(reference_trainer *t, const plim_graph *g, uint64_t *state) {
  uint8_t *image = reference_at(t, "image");
  int32_t *label = reference_at(t, "label");
  for (int i = 0; i < BATCH * 3 * SIZE * SIZE; i++) image[i] = (uint8_t)test_random_between(state, 0, 255);
  for (int i = 0; i < BATCH; i++) label[i] = (int32_t)test_random_between(state, 0, CLASSES - 1);
  label[1] = -1; /* ignored: part of no mean */
  memset(reference_at(t, "hyper"), 0, 4 * sizeof(float));
  /* Scales and shifts off their starting values, where some gradients would vanish. */
  for (int32_t v = 0; v < g->n_values; v++) {
    if (g->storage[g->value[v].storage].role != PLIM_ROLE_PARAM || g->value[v].shape.rank > 2) continue;
    float *p = reference_value(t, v);
    for (int64_t i = 0; i < g->value[v].bytes / 4; i++) p[i] += (float)test_random_between(state, -100, 100) / 250.0f;
  }
}

static double loss(reference_trainer *t) {
  cr_assert_eq(reference_step(t, 11, 3), PLIM_OK);
  const float *prob = reference_at(t, "loss.prob");
  const int32_t *label = reference_at(t, "label");
  double sum = 0;
  for (int i = 0; i < BATCH; i++) {
    if (label[i] >= 0) sum -= log((double)prob[i * CLASSES + label[i]]);
  }
  return sum / (BATCH - 1);
}

/* Compare along one random direction of +-1 for the parameter. */
static void check_parameter(reference_trainer *t, const plim_graph *g, int32_t param, uint64_t *state) {
  char name[128];
  (void)snprintf(name, sizeof name, "%s.grad", g->value[param].name);
  int64_t n = plim_shape_elements(&g->value[param].shape);
  float *p = reference_value(t, param);
  float *start = malloc((size_t)n * sizeof *start);
  float *direction = malloc((size_t)n * sizeof *direction);
  double h = reach / sqrt((double)n), expected = 0, squares = 0, difference = 0;
  (void)loss(t);
  const float *gradient = reference_at(t, name);
  for (int64_t i = 0; i < n; i++) {
    start[i] = p[i];
    direction[i] = test_random_chance(state, 50) ? 1 : -1;
    expected += (double)gradient[i] * direction[i];
    squares += (double)gradient[i] * gradient[i];
  }
  for (int side = -1; side <= 1; side += 2) {
    for (int64_t i = 0; i < n; i++) p[i] = start[i] + (float)(side * h) * direction[i];
    difference += side * loss(t) / (2 * h);
  }
  memcpy(p, start, (size_t)n * sizeof *p);
  cr_assert_lt(fabs(difference - expected), 1e-3 + 0.01 * sqrt(squares), "%s: %g by differences, %g by backward", name,
               difference, expected);
  cr_assert_gt(squares, 1e-8, "%s vanishes: nothing was compared", name);
  free(direction);
  free(start);
}

/* The numerics key of the last variant of each op: single-source, where there is a library too. */
static const char **last_keys(const plim_graph *g, plim_kernel_info *info /* [n_ops] */) {
  const char **numerics_key = calloc((size_t)g->n_ops, sizeof *numerics_key);
  plim_kernel_table *table = NULL;
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_OK);
  for (int32_t i = 0; i < g->n_ops; i++) {
    plim_kernel_info all[32];
    plim_op_desc desc;
    plim_graph_describe(g, i, &desc);
    int count = plim_kernel_list(table, &desc, 2, all, 32);
    cr_assert(count > 0 && count <= 32, "op '%s' has %d variants", g->op[i].name, count);
    info[i] = all[count - 1];
    numerics_key[i] = info[i].numerics_key;
  }
  plim_kernel_table_free(table);
  return numerics_key;
}

static void check_layout(plim_layout layout, int last) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = every_layer(ctx, layout, PLIM_PRECISION_FP32, 0.25f);
  plim_kernel_info *info = calloc((size_t)g->n_ops, sizeof *info);
  const char **numerics_key = last ? last_keys(g, info) : NULL;
  reference_trainer *t = NULL;
  uint64_t state = test_seed(5);
  cr_assert_eq(reference_open(g, 2, NULL, numerics_key, &t), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(reference_init(t, 1), PLIM_OK);
  fill_inputs(t, g, &state);
  for (int32_t v = 0; v < g->n_values; v++) {
    if (g->storage[g->value[v].storage].role == PLIM_ROLE_PARAM) check_parameter(t, g, v, &state);
  }
  reference_close(t);
  free((void *)numerics_key);
  free(info);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(gradients, agree_with_finite_differences_in_every_layout_with_the_first_variants) {
  for (int layout = 0; layout < PLIM_LAYOUT_COUNT; layout++) check_layout((plim_layout)layout, 0);
}

Test(gradients, agree_with_finite_differences_in_every_layout_with_the_last_variants) {
  for (int layout = 0; layout < PLIM_LAYOUT_COUNT; layout++) check_layout((plim_layout)layout, 1);
}

/* The gradients of one step from the same start. No dropout: it draws by op, and bf16 has more of those. */
static reference_trainer *one_step(plim_graph *g) {
  reference_trainer *t = NULL;
  uint64_t state = test_seed(5);
  cr_assert_eq(reference_open(g, 2, NULL, NULL, &t), PLIM_OK, "%s", plim_context_error(g->ctx));
  cr_assert_eq(reference_init(t, 1), PLIM_OK);
  fill_inputs(t, g, &state);
  (void)loss(t);
  return t;
}

/* Each activation and each gradient between two ops is off by 1/256 of itself at most, by 1/512 in the mean. Twenty of
 * them lie on the longest way to the loss and back, whose errors add like noise: an angle of about sqrt(20) / 512, a
 * hundredth. Elements that a ReLU or a maximum decides the other way come on top, which for single elements is all of
 * it: a cosine of 0.97 is what is left to allow. */
Test(gradients, in_bf16_point_where_those_in_fp32_do) {
  plim_context *ctx = plim_test_context();
  for (int layout = 0; layout < PLIM_LAYOUT_COUNT; layout++) {
    plim_graph *whole = every_layer(ctx, (plim_layout)layout, PLIM_PRECISION_FP32, 0);
    plim_graph *half = every_layer(ctx, (plim_layout)layout, PLIM_PRECISION_BF16, 0);
    reference_trainer *a = one_step(whole), *b = one_step(half);
    for (int32_t v = 0; v < whole->n_values; v++) {
      char name[128];
      if (whole->storage[whole->value[v].storage].role != PLIM_ROLE_PARAM) continue;
      (void)snprintf(name, sizeof name, "%s.grad", whole->value[v].name);
      const float *x = reference_at(a, name), *y = reference_at(b, name);
      double xx = 0, yy = 0, xy = 0;
      for (int64_t i = 0; i < plim_shape_elements(&whole->value[v].shape); i++) {
        xx += (double)x[i] * x[i];
        yy += (double)y[i] * y[i];
        xy += (double)x[i] * y[i];
      }
      cr_assert_gt(xy, 0.97 * sqrt(xx * yy), "%s: cosine %g, lengths %g and %g", name, xy / sqrt(xx * yy), sqrt(xx),
                   sqrt(yy));
      cr_assert(fabs(sqrt(yy) - sqrt(xx)) < 0.1 * sqrt(xx), "%s: lengths %g and %g", name, sqrt(xx), sqrt(yy));
    }
    reference_close(a);
    reference_close(b);
    plim_graph_free(whole);
    plim_graph_free(half);
  }
  plim_context_free(ctx);
}
