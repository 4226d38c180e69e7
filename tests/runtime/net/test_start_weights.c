/* runtime/net/init.c: what training starts from. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/net/net.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_seed.h"

static plim_graph *make_graph(plim_context *ctx, const char *model, plim_layout layout, int batch, int training) {
  plim_net_options options = plim_net_options_default();
  options.layout = layout;
  options.batch = batch;
  options.height = options.width = 8;
  plim_net *net = NULL;
  plim_graph *graph = NULL;
  cr_assert_eq(plim_model_make(ctx, model, &options, &net), PLIM_OK);
  cr_assert_eq(training ? plim_net_train_graph(net, &graph) : plim_net_eval_graph(net, &graph), PLIM_OK);
  plim_net_free(net);
  return graph;
}

/* The contents of a value by name, to be freed by the caller; *count elements. */
static float *contents(const plim_graph *g, const char *name, uint64_t seed, int64_t *count) {
  int32_t v = plim_graph_find_value(g, name);
  cr_assert_geq(v, 0, "no value '%s'", name);
  float *x = malloc((size_t)g->value[v].bytes);
  cr_assert_eq(plim_net_init(g, v, seed, x), PLIM_OK, "%s", plim_context_error(g->ctx));
  *count = plim_shape_elements(&g->value[v].shape);
  return x;
}

static void expect_normal(const plim_graph *g, const char *name, double deviation) {
  int64_t n;
  float *x = contents(g, name, test_seed(7), &n);
  double sum = 0, squares = 0, within = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += x[i];
    squares += (double)x[i] * x[i];
    within += fabs((double)x[i]) < deviation;
  }
  double root = sqrt((double)n);
  cr_assert_lt(fabs(sum / (double)n), 4 * deviation / root, "mean of '%s'", name);
  cr_assert_lt(fabs(sqrt(squares / (double)n) / deviation - 1), 4 / root, "deviation of '%s'", name);
  cr_assert_lt(fabs(within / (double)n - 0.6827), 4 * 0.4655 / root, "'%s' is not normal", name);
  free(x);
}

Test(init, draws_weights_with_he_deviation_and_those_before_the_loss_with_a_hundredth) {
  plim_context *ctx = plim_test_context();
  plim_graph *resnet = make_graph(ctx, "resnet20", PLIM_NHWC, 2, 1);
  plim_graph *mlp = make_graph(ctx, "mlp", PLIM_NHWC, 2, 1);
  expect_normal(resnet, "stem.conv.weight", sqrt(2.0 / 27));
  expect_normal(resnet, "stage3.block2.conv2.weight", sqrt(2.0 / 576));
  expect_normal(resnet, "fc.weight", 0.01);
  expect_normal(mlp, "hidden1.weight", sqrt(2.0 / 192));
  expect_normal(mlp, "hidden2.weight", sqrt(2.0 / 512));
  expect_normal(mlp, "fc.weight", 0.01);
  plim_graph_free(mlp);
  plim_graph_free(resnet);
  plim_context_free(ctx);
}

static void expect_rows(const plim_graph *g, const char *name, float first, float second) {
  int64_t n;
  float *x = contents(g, name, test_seed(7), &n);
  for (int64_t i = 0; i < n; i++) cr_assert_eq(x[i], i < n / 2 ? first : second, "'%s'", name);
  free(x);
}

Test(init, sets_scales_and_running_variances_to_one_and_the_rest_to_zero) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = make_graph(ctx, "resnet20", PLIM_NHWC, 2, 1);
  expect_rows(g, "stem.bn.affine", 1, 0);
  expect_rows(g, "stem.bn.running", 0, 1);
  expect_rows(g, "fc.bias", 0, 0);
  expect_rows(g, "stem.conv.weight.velocity", 0, 0);
  expect_rows(g, "stem.bn.affine.velocity", 0, 0);
  plim_graph_free(g);
  plim_context_free(ctx);
}

static void expect_equal_contents(const plim_graph *a, const plim_graph *b) {
  for (int32_t v = 0; v < a->n_values; v++) {
    plim_role role = a->storage[a->value[v].storage].role;
    if (role != PLIM_ROLE_PARAM && role != PLIM_ROLE_STATE) continue;
    int64_t n, m;
    float *x = contents(a, a->value[v].name, test_seed(7), &n);
    float *y = contents(b, a->value[v].name, test_seed(7), &m);
    cr_assert_eq(n, m);
    cr_assert_eq(memcmp(x, y, (size_t)n * sizeof *x), 0, "'%s' differs", a->value[v].name);
    free(x);
    free(y);
  }
}

Test(init, does_not_depend_on_layout_or_batch_or_kind_of_step) {
  plim_context *ctx = plim_test_context();
  plim_graph *plain = make_graph(ctx, "resnet20", PLIM_FLAT, 2, 1);
  plim_graph *blocked = make_graph(ctx, "resnet20", PLIM_NCHW16C, 8, 1);
  plim_graph *eval = make_graph(ctx, "resnet20", PLIM_FLAT, 2, 0);
  expect_equal_contents(plain, blocked);
  expect_equal_contents(plain, eval);
  plim_graph_free(eval);
  plim_graph_free(blocked);
  plim_graph_free(plain);
  plim_context_free(ctx);
}

Test(init, gives_other_weights_for_another_seed_or_name) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = make_graph(ctx, "resnet20", PLIM_FLAT, 2, 1);
  int64_t n;
  float *x = contents(g, "stage1.block0.conv1.weight", test_seed(7), &n);
  float *other_seed = contents(g, "stage1.block0.conv1.weight", test_seed(7) + 1, &n);
  float *other_name = contents(g, "stage1.block0.conv2.weight", test_seed(7), &n);
  cr_assert_neq(memcmp(x, other_seed, (size_t)n * sizeof *x), 0);
  cr_assert_neq(memcmp(x, other_name, (size_t)n * sizeof *x), 0);
  free(other_name);
  free(other_seed);
  free(x);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(init, refuses_values_that_are_not_parameter_or_state) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = make_graph(ctx, "resnet20", PLIM_FLAT, 2, 1);
  float untouched = 3;
  cr_assert_eq(plim_net_init(g, plim_graph_find_value(g, "stem.conv"), 7, &untouched), PLIM_EUSAGE);
  cr_assert_str_eq(plim_context_error(ctx), "value 'stem.conv' (role activation) has no starting contents");
  cr_assert_eq(plim_net_init(g, plim_graph_find_value(g, "next_image"), 7, &untouched), PLIM_EUSAGE);
  cr_assert_eq(plim_net_init(g, g->n_values, 7, &untouched), PLIM_EUSAGE);
  cr_assert_eq(untouched, 3);
  plim_graph_free(g);
  plim_context_free(ctx);
}

/* A parameter of one row whose name says that it has a scale and a shift. */
Test(init, writes_nothing_after_a_value_that_has_fewer_rows_than_its_name_says) {
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){1, 4});
  static const struct {
    const char *name;
    plim_role role;
  } cases[] = {{"own.affine", PLIM_ROLE_PARAM}, {"own.running", PLIM_ROLE_STATE}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    plim_context *ctx = plim_test_context();
    plim_graph_builder *b = NULL;
    plim_graph *g = NULL;
    int32_t w, out, op;
    float x[8] = {7, 7, 7, 7, 7, 7, 7, 7};
    cr_assert_eq(plim_graph_begin(ctx, "own", 1, &b), PLIM_OK);
    cr_assert_eq(plim_graph_add(b, cases[i].name, cases[i].role, &shape, &w), PLIM_OK);
    cr_assert_eq(plim_graph_add(b, "out", PLIM_ROLE_OUTPUT, &shape, &out), PLIM_OK);
    plim_op_spec spec = {.name = "f", .n_in = 1, .n_out = 1, .in = {w}, .out = {out}, .time_ns = 1};
    cr_assert_eq(plim_graph_add_op(b, &spec, &op), PLIM_OK);
    cr_assert_eq(plim_graph_end(b, &g), PLIM_OK, "%s", plim_context_error(ctx));
    (void)!plim_net_init(g, w, 7, x);
    for (int c = 4; c < 8; c++) cr_expect_eq(x[c], 7, "%s: float %d is %g", cases[i].name, c, (double)x[c]);
    plim_graph_free(g);
    plim_context_free(ctx);
  }
}
