/* runtime/net/emit.c, forward.c and backward.c: the ops of a small net, line by line, and what holds for all nets. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/net/net.h"
#include "tests/support/small_graph.h"

/* conv, bn+relu, conv, bn+shortcut+relu, max pool, flatten, linear, dropout, loss */
static plim_net *small_net(plim_context *ctx) {
  plim_net_options options = plim_net_options_default();
  options.batch = 2;
  options.channels = 1;
  options.height = options.width = 4;
  options.classes = 3;
  plim_net *net = NULL;
  cr_assert_eq(plim_net_begin(ctx, "small", &options, &net), PLIM_OK);
  plim_tensor x = plim_net_conv2d(net, "c", plim_net_image(net), 4, (plim_net_window){.kernel = 3, .pad = 1}, 1);
  plim_tensor b = plim_net_batch_norm_relu(net, "b", x);
  x = plim_net_conv2d(net, "d", b, 4, (plim_net_window){.kernel = 3, .pad = 1}, 0);
  x = plim_net_batch_norm_add_relu(net, "e", x, b);
  x = plim_net_flatten(net, "f", plim_net_max_pool(net, "p", x, (plim_net_window){.kernel = 2, .stride = 2}));
  x = plim_net_dropout(net, "q", plim_net_relu(net, "r", plim_net_linear(net, "l", x, 3)), 0.5f);
  plim_net_softmax_xent(net, x);
  return net;
}

static const char *const train_ops[] = {
    "forward image: image -> image.f32 |",
    "forward conv2d: image.f32 c.weight c.bias -> c |",
    "forward bn_stats: c -> b.stats |",
    "forward bn_running: b.stats -> | b.running",
    "forward bn_apply: c b.stats b.affine -> b b.mask |",
    "forward conv2d: b d.weight -> d |",
    "forward bn_stats: d -> e.stats |",
    "forward bn_running: e.stats -> | e.running",
    "forward bn_apply: d e.stats e.affine b -> e e.mask |",
    "forward max_pool: e -> p p.index |",
    "forward linear: f l.weight l.bias -> l |",
    "forward relu: l -> r r.mask |",
    "forward dropout: r -> q q.mask |",
    "forward softmax_xent: q label -> loss hits loss.prob |",
    "backward softmax_xent_bwd: loss.prob label -> loss.dx |",
    "backward dropout_bwd: loss.dx q.mask -> q.dx |",
    "backward relu_bwd: r.mask q.dx -> r.dx |",
    "backward bias_bwd: r.dx -> l.bias.grad |",
    "update sgd: l.bias.grad hyper -> | l.bias l.bias.velocity",
    "backward linear_bwd_weights: r.dx f -> l.weight.grad |",
    "backward linear_bwd_data: r.dx l.weight -> l.dx |",
    "update sgd: l.weight.grad hyper -> | l.weight l.weight.velocity",
    "backward max_pool_bwd: f.dx p.index -> p.dx |",
    "backward relu_bwd: e.mask p.dx -> e.dsum |",
    "backward bn_bwd_reduce: e.dsum d e.stats -> e.affine.grad |",
    "backward bn_bwd_apply: e.dsum d e.stats e.affine e.affine.grad -> e.dx |",
    "update sgd: e.affine.grad hyper -> | e.affine e.affine.velocity",
    "backward conv2d_bwd_weights: e.dx b -> d.weight.grad |",
    "backward conv2d_bwd_data: e.dx d.weight -> d.dx |",
    "update sgd: d.weight.grad hyper -> | d.weight d.weight.velocity",
    "backward add: e.dsum d.dx -> b.grad |",
    "backward bn_bwd_reduce: b.grad c b.stats b.mask -> b.affine.grad |",
    "backward bn_bwd_apply: b.grad c b.stats b.affine b.affine.grad b.mask -> b.dx |",
    "update sgd: b.affine.grad hyper -> | b.affine b.affine.velocity",
    "backward bias_bwd: b.dx -> c.bias.grad |",
    "update sgd: c.bias.grad hyper -> | c.bias c.bias.velocity",
    "backward conv2d_bwd_weights: b.dx image.f32 -> c.weight.grad |",
    "update sgd: c.weight.grad hyper -> | c.weight c.weight.velocity",
};

static const char *const eval_ops[] = {
    "forward image: image -> image.f32 |",
    "forward conv2d: image.f32 c.weight c.bias -> c |",
    "forward bn_apply: c b.running b.affine -> b |",
    "forward conv2d: b d.weight -> d |",
    "forward bn_apply: d e.running e.affine b -> e |",
    "forward max_pool: e -> p p.index |",
    "forward linear: f l.weight l.bias -> l |",
    "forward relu: l -> r |",
    "forward softmax_xent: r label -> loss hits loss.prob |",
};

static void append(char *text, size_t size, const char *between, const char *more) {
  size_t used = strlen(text);
  (void)snprintf(text + used, size - used, "%s%s", between, more);
}

static void append_names(const plim_graph *g, const int32_t *value, int32_t n, char *text, size_t size) {
  for (int32_t i = 0; i < n; i++) append(text, size, " ", g->value[value[i]].name);
}

static void render(const plim_graph *g, const plim_op *op, char *text, size_t size) {
  (void)snprintf(text, size, "%s %s:", plim_phase_name(op->phase), plim_op_kind_name(op->kind));
  append_names(g, op->in, op->n_in, text, size);
  append(text, size, " ", "->");
  append_names(g, op->out, op->n_out, text, size);
  append(text, size, " ", "|");
  append_names(g, op->upd, op->n_upd, text, size);
}

static void expect_ops(const plim_graph *g, const char *const *expected, int32_t n) {
  char line[512];
  for (int32_t i = 0; i < g->n_ops && i < n; i++) {
    render(g, &g->op[i], line, sizeof line);
    cr_assert_str_eq(line, expected[i], "op %d '%s'", i, g->op[i].name);
  }
  cr_assert_eq(g->n_ops, n);
}

Test(emit, gives_a_small_net_exactly_these_ops) {
  plim_context *ctx = plim_test_context();
  plim_net *net = small_net(ctx);
  plim_graph *train = NULL, *eval = NULL;
  cr_assert_eq(plim_net_train_graph(net, &train), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_net_eval_graph(net, &eval), PLIM_OK, "%s", plim_context_error(ctx));
  expect_ops(train, train_ops, sizeof train_ops / sizeof *train_ops);
  expect_ops(eval, eval_ops, sizeof eval_ops / sizeof *eval_ops);
  cr_assert_str_eq(train->name, "small");
  cr_assert_eq(train->batch, 2);
  plim_graph_free(eval);
  plim_graph_free(train);
  plim_net_free(net);
  plim_context_free(ctx);
}

static int64_t bytes_of(const plim_graph *g, const char *name) {
  int32_t v = plim_graph_find_value(g, name);
  cr_assert_geq(v, 0, "no value '%s'", name);
  cr_assert_eq(g->value[v].bytes, g->storage[g->value[v].storage].bytes, "'%s' is a part of its storage", name);
  return g->value[v].bytes;
}

Test(emit, gives_values_the_bytes_counted_by_hand) {
  plim_context *ctx = plim_test_context();
  plim_net *net = small_net(ctx);
  plim_graph *g = NULL;
  cr_assert_eq(plim_net_train_graph(net, &g), PLIM_OK);
  static const struct {
    const char *name;
    int64_t bytes;
  } expected[] = {{"image", 2 * 16},
                  {"next_image", 2 * 16},
                  {"label", 2 * 4},
                  {"next_label", 2 * 4},
                  {"hyper", 16},
                  {"image.f32", 2 * 64},
                  {"c.weight", 4 * 9 * 4},
                  {"c.bias", 16},
                  {"d.weight", 4 * 36 * 4},
                  {"b.affine", 2 * 4 * 4},
                  {"b.running", 32},
                  {"b.affine.velocity", 32},
                  {"b.stats", 32},
                  {"c", 2 * 4 * 16 * 4},
                  {"b.mask", 2 * 4 * 16 / 8},
                  {"p", 2 * 4 * 4 * 4},
                  {"p.index", 2 * 4 * 4},
                  {"f", 2 * 16 * 4},
                  {"l.weight", 3 * 16 * 4},
                  {"q.mask", 1},
                  {"loss", 4},
                  {"hits", 8},
                  {"loss.prob", 2 * 3 * 4}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    cr_assert_eq(bytes_of(g, expected[i].name), expected[i].bytes, "'%s'", expected[i].name);
  }
  cr_assert_eq(g->value[plim_graph_find_value(g, "f")].storage, g->value[plim_graph_find_value(g, "p")].storage);
  cr_assert_eq(g->value[plim_graph_find_value(g, "f.dx")].storage, g->value[plim_graph_find_value(g, "l.dx")].storage);
  plim_graph_free(g);
  plim_net_free(net);
  plim_context_free(ctx);
}

Test(emit, sums_the_gradients_of_a_tensor_with_many_readers_two_by_two) {
  plim_context *ctx = plim_test_context();
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  cr_assert_eq(plim_net_begin(ctx, "fan", &options, &net), PLIM_OK);
  plim_tensor x = plim_net_linear(net, "x", plim_net_flatten(net, "f", plim_net_image(net)), 10);
  plim_tensor sum = plim_net_add(net, "twice", x, x);
  sum = plim_net_add_relu(net, "thrice", sum, x);
  plim_net_softmax_xent(net, plim_net_add(net, "total", sum, x));
  plim_graph *g = NULL;
  cr_assert_eq(plim_net_train_graph(net, &g), PLIM_OK, "%s", plim_context_error(ctx));
  static const char *const expected[] = {
      "backward softmax_xent_bwd: loss.prob label -> loss.dx |",
      "backward relu_bwd: thrice.mask loss.dx -> thrice.dsum |",
      "backward add: loss.dx thrice.dsum -> x.grad |",
      "backward add: x.grad thrice.dsum -> x.grad2 |",
      "backward add: x.grad2 thrice.dsum -> x.grad3 |",
      "backward bias_bwd: x.grad3 -> x.bias.grad |",
  };
  char line[512];
  int32_t first = plim_graph_find_op(g, "loss.bwd");
  for (int32_t i = 0; i < (int32_t)(sizeof expected / sizeof *expected); i++) {
    render(g, &g->op[first + i], line, sizeof line);
    cr_assert_str_eq(line, expected[i]);
  }
  plim_graph_free(g);
  plim_net_free(net);
  plim_context_free(ctx);
}

/* ---- what holds for every model and layout ---- */

static void expect_equal_persistent(const plim_graph *train, const plim_graph *eval) {
  int32_t n = 0;
  while (plim_role_persistent(train->storage[n].role)) n++;
  for (int32_t s = 0; s < train->n_storages || s < eval->n_storages; s++) {
    if (s < train->n_storages) cr_assert_eq(plim_role_persistent(train->storage[s].role), s < n);
    if (s < eval->n_storages) cr_assert_eq(plim_role_persistent(eval->storage[s].role), s < n);
  }
  for (int32_t v = 0; v < n; v++) {
    cr_assert_eq(train->value[v].storage, v);
    cr_assert_eq(eval->value[v].storage, v);
    cr_assert_str_eq(train->value[v].name, eval->value[v].name);
    cr_assert_eq(train->value[v].bytes, eval->value[v].bytes);
    cr_assert_eq(train->storage[v].role, eval->storage[v].role);
  }
}

/* Each update is the next op that the gradient and the last reader of the old parameter allow, up to ops that hand the
 * same layer's gradient on: nothing of another layer runs in between. */
static void expect_updates_at_once(const plim_graph *g) {
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (g->op[i].kind != PLIM_OP_SGD) continue;
    int32_t ready = g->storage[g->value[g->op[i].in[0]].storage].producer;
    int32_t param = g->value[g->op[i].upd[0]].storage;
    for (int32_t r = g->reader_first[param]; r < g->reader_first[param + 1]; r++) {
      if (g->reader[r] > ready) ready = g->reader[r];
    }
    while (ready + 1 < i && g->op[ready + 1].kind == PLIM_OP_SGD) ready++; /* one op may make two gradients */
    cr_assert_eq(i, ready + 1, "'%s' comes %d ops after it could: '%s' is before it", g->op[i].name, i - ready - 1,
                 g->op[i - 1].name);
  }
}

Test(emit, puts_persistent_storages_first_and_updates_at_once_in_every_model_and_layout) {
  plim_context *ctx = plim_test_context();
  for (int32_t row = 0; plim_model_name(row); row++) {
    for (int layout = 0; layout < PLIM_LAYOUT_COUNT; layout++) {
      plim_net_options options = plim_net_options_default();
      options.layout = (plim_layout)layout;
      options.batch = 4;
      options.context = strcmp(plim_model_name(row), "gpt") == 0 ? 8 : 0;
      plim_net *net = NULL;
      plim_graph *train = NULL, *eval = NULL;
      cr_assert_eq(plim_model_make(ctx, plim_model_name(row), &options, &net), PLIM_OK);
      cr_assert_eq(plim_net_train_graph(net, &train), PLIM_OK, "%s", plim_context_error(ctx));
      cr_assert_eq(plim_net_eval_graph(net, &eval), PLIM_OK, "%s", plim_context_error(ctx));
      expect_equal_persistent(train, eval);
      expect_updates_at_once(train);
      plim_graph_free(eval);
      plim_graph_free(train);
      plim_net_free(net);
    }
  }
  plim_context_free(ctx);
}
