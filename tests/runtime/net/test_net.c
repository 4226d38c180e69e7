/* runtime/net/net.c and layers.c: the layer list, shape inference, and what wrong arguments get. */
#include "runtime/net/net.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/net/layers.h"
#include "tests/support/failing_memory.h"
#include "tests/support/small_graph.h"

static plim_net_options small_options(void) {
  plim_net_options options = plim_net_options_default();
  options.batch = 2;
  options.height = options.width = 9;
  return options;
}

static plim_net *begin(plim_context *ctx, const plim_net_options *options) {
  plim_net *net = NULL;
  cr_assert_eq(plim_net_begin(ctx, "test", options, &net), PLIM_OK);
  return net;
}

static void expect_shape(const plim_net *net, plim_tensor x, int rank, int64_t c, int64_t h, int64_t w) {
  cr_assert(x >= 0, "%s", net->error);
  const plim_shape *s = &net->layer[x].out;
  cr_assert_eq(s->rank, rank, "%s", net->layer[x].name);
  cr_assert_eq(s->dim[0], 2);
  cr_assert_eq(s->dim[1], c, "%s has %lld channels", net->layer[x].name, (long long)s->dim[1]);
  cr_assert_eq(s->dim[2], h, "%s has %lld rows", net->layer[x].name, (long long)s->dim[2]);
  cr_assert_eq(s->dim[3], w, "%s has %lld columns", net->layer[x].name, (long long)s->dim[3]);
}

Test(net, infers_the_shape_of_every_layer) {
  plim_context *ctx = plim_test_context();
  plim_net_options options = small_options();
  plim_net *net = begin(ctx, &options);
  plim_tensor image = plim_net_image(net);
  expect_shape(net, image, 4, 3, 9, 9);
  plim_tensor conv = plim_net_conv2d(net, "conv", image, 5, (plim_net_window){.kernel = 3, .stride = 2, .pad = 1}, 1);
  expect_shape(net, conv, 4, 5, 5, 5);
  expect_shape(net, plim_net_conv2d(net, "even", image, 7, (plim_net_window){.kernel = 4, .stride = 3}, 0), 4, 7, 2, 2);
  expect_shape(net, plim_net_batch_norm(net, "bn", conv), 4, 5, 5, 5);
  expect_shape(net, plim_net_batch_norm_relu(net, "bn_relu", conv), 4, 5, 5, 5);
  expect_shape(net, plim_net_batch_norm_add_relu(net, "bn_add", conv, conv), 4, 5, 5, 5);
  expect_shape(net, plim_net_add(net, "add", conv, conv), 4, 5, 5, 5);
  expect_shape(net, plim_net_add_relu(net, "add_relu", conv, conv), 4, 5, 5, 5);
  expect_shape(net, plim_net_max_pool(net, "max", image, (plim_net_window){.kernel = 3, .stride = 2, .pad = 1}), 4, 3,
               5, 5);
  expect_shape(net, plim_net_avg_pool(net, "mean", image, (plim_net_window){.kernel = 2, .stride = 2}), 4, 3, 4, 4);
  expect_shape(net, plim_net_global_avg_pool(net, "global", conv), 2, 5, 1, 1);
  plim_tensor flat = plim_net_flatten(net, "flat", conv);
  expect_shape(net, flat, 2, 125, 1, 1);
  expect_shape(net, plim_net_relu(net, "relu", flat), 2, 125, 1, 1);
  expect_shape(net, plim_net_dropout(net, "dropout", flat, 0.5f), 2, 125, 1, 1);
  expect_shape(net, plim_net_linear(net, "linear", flat, 10), 2, 10, 1, 1);
  plim_net_free(net);
  plim_context_free(ctx);
}

Test(net, uses_the_layout_asked_for_where_channels_suit_it_and_nhwc_elsewhere) {
  plim_context *ctx = plim_test_context();
  plim_net_options options = small_options();
  options.layout = PLIM_NCHW16C;
  plim_net *net = begin(ctx, &options);
  plim_tensor image = plim_net_image(net);
  plim_tensor wide = plim_net_conv2d(net, "wide", image, 32, (plim_net_window){.kernel = 3, .pad = 1}, 0);
  plim_tensor odd = plim_net_conv2d(net, "odd", wide, 24, (plim_net_window){.kernel = 3, .pad = 1}, 0);
  cr_assert_eq(net->layer[image].out.layout, PLIM_FLAT);
  cr_assert_eq(net->layer[wide].out.layout, PLIM_NCHW16C);
  cr_assert_eq(net->layer[odd].out.layout, PLIM_NHWC);
  cr_assert_eq(net->layer[plim_net_flatten(net, "flat", wide)].out.layout, PLIM_FLAT);
  plim_net_free(net);
  plim_context_free(ctx);
}

/* ---- wrong arguments: each makes one mistake after a valid image [2,3,9,9] ---- */

static void two_of_a_name(plim_net *net, plim_tensor x) {
  (void)plim_net_relu(net, "a", x);
  (void)plim_net_relu(net, "a", x);
}
static void standard_name(plim_net *net, plim_tensor x) {
  (void)plim_net_relu(net, "hyper", x);
}
static void empty_name(plim_net *net, plim_tensor x) {
  (void)plim_net_relu(net, "", x);
}
static void long_name(plim_net *net, plim_tensor x) {
  char name[PLIM_NET_NAME_BYTES + 1];
  memset(name, 'n', PLIM_NET_NAME_BYTES);
  name[PLIM_NET_NAME_BYTES] = '\0';
  (void)plim_net_relu(net, name, x);
}
static void no_such_tensor(plim_net *net, plim_tensor x) {
  (void)plim_net_relu(net, "a", x + 1);
}
static void second_image(plim_net *net, plim_tensor x) {
  (void)x;
  (void)plim_net_image(net);
}
static void no_filters(plim_net *net, plim_tensor x) {
  (void)plim_net_conv2d(net, "a", x, 0, (plim_net_window){.kernel = 3, .pad = 1}, 0);
}
static void wide_kernel(plim_net *net, plim_tensor x) {
  (void)plim_net_conv2d(net, "a", x, 4, (plim_net_window){.kernel = 12, .pad = 1}, 0);
}
static void backward_stride(plim_net *net, plim_tensor x) {
  (void)plim_net_max_pool(net, "a", x, (plim_net_window){.kernel = 2, .stride = -1});
}
static void wide_padding(plim_net *net, plim_tensor x) {
  (void)plim_net_avg_pool(net, "a", x, (plim_net_window){.kernel = 2, .stride = 2, .pad = 2});
}
static void wide_window(plim_net *net, plim_tensor x) {
  (void)plim_net_max_pool(net, "a", x, (plim_net_window){.kernel = 17, .pad = 8});
}
static void linear_on_image(plim_net *net, plim_tensor x) {
  (void)plim_net_linear(net, "a", x, 10);
}
static void no_units(plim_net *net, plim_tensor x) {
  (void)plim_net_linear(net, "a", plim_net_flatten(net, "f", x), 0);
}
static void flatten_twice(plim_net *net, plim_tensor x) {
  (void)plim_net_flatten(net, "g", plim_net_flatten(net, "f", x));
}
static void unequal_addends(plim_net *net, plim_tensor x) {
  (void)plim_net_add(net, "a", x, plim_net_conv2d(net, "c", x, 4, (plim_net_window){.kernel = 1}, 0));
}
static void certain_drop(plim_net *net, plim_tensor x) {
  (void)plim_net_dropout(net, "a", x, 1.0f);
}
static void huge_output(plim_net *net, plim_tensor x) {
  plim_tensor y =
      plim_net_flatten(net, "f", plim_net_conv2d(net, "a", x, 2147483647, (plim_net_window){.kernel = 1}, 0));
  for (int i = 0; i < 3; i++) y = plim_net_linear(net, i ? "h" : "g", y, 2147483647);
}
static void wrong_classes(plim_net *net, plim_tensor x) {
  plim_net_softmax_xent(net, plim_net_linear(net, "a", plim_net_flatten(net, "f", x), 9));
}
static void no_loss(plim_net *net, plim_tensor x) {
  (void)plim_net_relu(net, "a", x);
}
static void unread_layer(plim_net *net, plim_tensor x) {
  (void)plim_net_relu(net, "a", x);
  plim_net_softmax_xent(net, plim_net_linear(net, "b", plim_net_flatten(net, "f", x), 10));
}
static void layer_after_loss(plim_net *net, plim_tensor x) {
  plim_tensor logits = plim_net_linear(net, "b", plim_net_flatten(net, "f", x), 10);
  plim_net_softmax_xent(net, logits);
  (void)plim_net_relu(net, "a", logits);
}

static const struct {
  void (*make)(plim_net *net, plim_tensor image);
  const char *sentence;
} mistakes[] = {
    {two_of_a_name, "there are two layers of the name 'a'"},
    {standard_name, "'hyper' is the name of a standard value, no layer can have it"},
    {empty_name, "layer name '' has 0 characters; 1 to 63 are allowed"},
    {long_name, "has 64 characters; 1 to 63 are allowed"},
    {no_such_tensor, "layer 'a' reads tensor 1; there are 1"},
    {second_image, "there are two layers of the name 'image'"},
    {no_filters, "layer 'a': 0 filters; at least 1 is needed"},
    {wide_kernel, "layer 'a': a kernel of 12 with padding 1 does not fit into 9 x 9"},
    {backward_stride, "layer 'a': kernel 2, stride -1, padding 0; stride >= 1 and kernel > padding >= 0 are needed"},
    {wide_padding, "layer 'a': kernel 2, stride 2, padding 2; stride >= 1 and kernel > padding >= 0 are needed"},
    {wide_window, "layer 'a': a window of 17 x 17 has more than the 256 places of one byte"},
    {linear_on_image, "layer 'a' reads 4 dimensions; 2 are needed"},
    {no_units, "layer 'a': 0 units; at least 1 is needed"},
    {flatten_twice, "layer 'g' reads 2 dimensions; 4 are needed"},
    {unequal_addends, "layer 'a' adds [2,3,9,9] and [2,4,9,9]"},
    {certain_drop, "layer 'a': a drop of 1; 0 <= drop < 1 is needed"},
    {huge_output, "the size of its output or its weights overflows"},
    {wrong_classes, "the loss reads 9 logits an image; there are 10 classes"},
    {no_loss, "net 'test' of 2 layers does not end with its loss"},
    {unread_layer, "nothing reads the output of layer 'a'"},
    {layer_after_loss, "net 'test' of 5 layers does not end with its loss"},
};

Test(net, keeps_the_first_mistake_until_a_graph_is_asked_for) {
  plim_net_options options = small_options();
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    plim_context *ctx = plim_test_context();
    plim_net *net = begin(ctx, &options);
    plim_graph *graph = (plim_graph *)&options;
    mistakes[i].make(net, plim_net_image(net));
    cr_assert_neq(plim_net_train_graph(net, &graph), PLIM_OK, "expected: %s", mistakes[i].sentence);
    cr_assert(strstr(plim_context_error(ctx), mistakes[i].sentence), "'%s' lacks '%s'", plim_context_error(ctx),
              mistakes[i].sentence);
    cr_assert_neq(plim_net_eval_graph(net, &graph), PLIM_OK);
    cr_assert_eq((void *)graph, (void *)&options, "outputs are untouched on failure");
    plim_net_free(net);
    cr_assert_eq(plim_context_memory(ctx).bytes, 0);
    plim_context_free(ctx);
  }
}

static void expect_refused(plim_context *ctx, const plim_net_options *options, const char *sentence) {
  plim_net *net = NULL;
  cr_assert_eq(plim_net_begin(ctx, "test", options, &net), PLIM_EUSAGE);
  cr_assert_str_eq(plim_context_error(ctx), sentence);
  cr_assert_null(net);
}

Test(net, refuses_options_out_of_range) {
  plim_context *ctx = plim_test_context();
  plim_net_options o = small_options();
  o.batch = 0;
  expect_refused(ctx, &o, "a batch of 0 images; at least 1 is needed");
  o = small_options();
  o.channels = 5;
  expect_refused(ctx, &o, "images of 5 channels; 1 to 4 are allowed");
  o = small_options();
  o.width = 0;
  expect_refused(ctx, &o, "images of 9 x 0 pixels; at least 1 x 1 is needed");
  o = small_options();
  o.classes = 1;
  expect_refused(ctx, &o, "1 classes; at least 2 are needed");
  o = small_options();
  o.layout = PLIM_LAYOUT_COUNT;
  expect_refused(ctx, &o, "layout 4 is none");
  o = small_options();
  o.struct_bytes--;
  cr_assert_eq(plim_net_begin(ctx, "test", &o, &(plim_net *){NULL}), PLIM_EUSAGE);
  plim_net_free(NULL);
  plim_context_free(ctx);
}

/* ---- every allocation fails once ---- */

static plim_status make_all(plim_context *ctx, void *user) {
  (void)user;
  plim_net_options options = small_options();
  plim_net *net = NULL;
  plim_graph *train = NULL, *eval = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_model_make(ctx, "resnet20", &options, &net));
  PLIM_TRY_OR_DONE(plim_net_train_graph(net, &train));
  PLIM_TRY_OR_DONE(plim_net_eval_graph(net, &eval));
done:
  plim_graph_free(eval);
  plim_graph_free(train);
  plim_net_free(net);
  return status;
}

Test(net, survives_the_failure_of_any_allocation) {
  int64_t requests = plim_test_each_allocation(make_all, NULL);
  cr_assert_gt(requests, 10, "only %lld allocations were seen", (long long)requests);
}

Test(net, states_in_bf16_have_half_the_bytes_begin_at_zero_and_are_no_precision) {
  plim_context *ctx = plim_test_context();
  plim_net_options options = small_options();
  plim_net *net = NULL;
  plim_graph *wide = NULL, *half = NULL;
  uint16_t start[64];
  for (int i = 0; i < 2; i++) {
    options.states = i ? PLIM_BF16 : PLIM_F32;
    cr_assert_eq(plim_model_make(ctx, "tinyres", &options, &net), PLIM_OK);
    cr_assert_eq(plim_net_train_graph(net, i ? &half : &wide), PLIM_OK, "%s", plim_context_error(ctx));
    plim_net_free(net);
  }
  const int32_t bias = plim_graph_find_value(half, "fc.bias.velocity");
  const plim_value *state = &half->value[bias];
  cr_assert_eq(state->shape.dtype, PLIM_BF16);
  cr_assert_eq(2 * state->bytes, wide->value[plim_graph_find_value(wide, "fc.bias.velocity")].bytes);
  cr_assert_eq(half->value[plim_graph_find_value(half, "fc.bias")].shape.dtype, PLIM_F32);
  cr_assert_eq(plim_graph_precision(half), PLIM_PRECISION_FP32);
  memset(start, 0xff, sizeof start);
  cr_assert_leq((size_t)state->bytes, sizeof start);
  cr_assert_eq(plim_net_init(half, bias, 1, start), PLIM_OK, "%s", plim_context_error(ctx));
  for (int64_t i = 0; i < state->bytes / 2; i++) cr_assert_eq(start[i], 0);
  plim_graph_free(half);
  plim_graph_free(wide);
  options.states = PLIM_U8;
  cr_assert_eq(plim_net_begin(ctx, "test", &options, &net), PLIM_EUSAGE);
  cr_assert(strstr(plim_context_error(ctx), "f32 and bf16 are allowed"), "%s", plim_context_error(ctx));
  plim_context_free(ctx);
}
