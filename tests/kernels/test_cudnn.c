/* kernels/cuda/dnn and conv: convolutions by cuDNN, over a fake that knows the rules of its descriptors. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/dnn_attention.h"
#include "kernels/cuda/dnn_conv.h"
#include "kernels/cuda/dnn_engines.h"
#include "runtime/device/device_cuda.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/fake_cudnn.h"
#include "tests/support/gpu_rig.h"
#include "tests/support/kernel_check.h"
#include "tests/support/kernel_samples.h"
#include "tests/support/small_graph.h"
#include "tests/support/variant_check.h"

#ifdef PLIM_HAVE_CUDNN_HEADER
#include <cudnn.h>
#define PLIM_X(name, value) _Static_assert((int)DNN_##name == (int)CUDNN_##name, "CUDNN_" #name);
PLIM_CUDNN_CONSTANTS(PLIM_X)
#if CUDNN_VERSION >= 91700
PLIM_CUDNN_ATTENTION_CONSTANTS(PLIM_X)
#endif
#if CUDNN_VERSION >= 92100
PLIM_CUDNN_MASK_CONSTANTS(PLIM_X)
#endif
#undef PLIM_X
#endif

enum { VARIANTS = 16 };

static plim_context *ctx;
static const plim_cuda_driver *driver;
static plim_device *device;

static void setup(void) {
  fake_cuda_options options = fake_cuda_options_default();
  options.dnn = 1;
  ctx = plim_test_context();
  driver = fake_cuda_driver(&options);
  cr_assert_eq(plim_device_cuda_open(ctx, driver, 0, NULL, &device), PLIM_OK);
}
static void teardown(void) {
  plim_device_close(device);
  plim_context_free(ctx);
}
TestSuite(cudnn, .init = setup, .fini = teardown);

static void expect_clean(void) {
  cr_assert_str_eq(fake_cudnn_misuse(), "");
}

static const variant_window windows[] = {
    {5, 3, 7, 6, 4, {3, 3}, 1, 1}, {7, 2, 9, 8, 5, {3, 3}, 2, 1}, {2, 4, 8, 8, 3, {1, 1}, 1, 0},
    {3, 4, 7, 9, 6, {1, 1}, 2, 0}, {1, 2, 6, 9, 2, {5, 3}, 2, 2}, {4, 1, 5, 5, 1, {2, 2}, 1, 0},
};
enum { WINDOWS = sizeof windows / sizeof *windows };

Test(cudnn, convolutions_agree_with_the_reference_in_every_direction_and_layout) {
  static const plim_layout layouts[] = {PLIM_NHWC, PLIM_FLAT};
  for (int i = 0; i < WINDOWS * 2; i++) {
    plim_op_desc op[3];
    plim_kernel_info info[VARIANTS];
    variant_windows(&windows[i / 2], layouts[i % 2], op);
    for (int k = 0; k < 3; k++) {
      int n = device->api->kernels.variants(device, &op[k], info, VARIANTS);
      cr_assert_gt(n, 2);
      for (int v = 0; v < n; v++) variant_check(device, &op[k], &info[v]);
    }
  }
  expect_clean();
}

Test(cudnn, offers_engines_that_are_exact_and_repeatable_the_fastest_first_and_few_that_are_dominated) {
  static const char *const engine[] = {"e1-", "e1-", "e3-", "e21-", "e22-", "e23-", "e24-", "e40-"};
  static const int64_t workspace[] = {1 << 20, 1 << 20, 1 << 16, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 0};
  plim_op_desc op[3];
  plim_kernel_info info[VARIANTS];
  variant_windows(&windows[0], PLIM_FLAT, op);
  int n = device->api->kernels.variants(device, &op[0], info, VARIANTS);
  cr_assert_eq(n, 9);
  for (int i = 0; i < 8; i++) {
    char name[16], numerics_key[24];
    (void)snprintf(name, sizeof name, "cudnn-%s", engine[i]);
    (void)snprintf(numerics_key, sizeof numerics_key, "cudnn9.28.0-%s", engine[i]);
    cr_assert_eq(strncmp(info[i].name, name, strlen(name)), 0, "%d: %s", i, info[i].name);
    cr_assert_eq(strncmp(info[i].numerics_key, numerics_key, strlen(numerics_key)), 0, "%d: %s", i,
                 info[i].numerics_key);
    cr_assert_eq(info[i].workspace_bytes, workspace[i]);
  }
  cr_assert_str_neq(info[0].numerics_key, info[1].numerics_key); /* other knobs */
  cr_assert_str_eq(info[8].name, "single-source");
  expect_clean();
}

Test(cudnn, other_math_modes_may_use_tensor_cores) {
  plim_op_desc op[3];
  plim_kernel_info info[VARIANTS];
  for (int mode = 0; mode < 2; mode++) {
    variant_windows(&windows[0], PLIM_NHWC, op);
    for (int k = 0; k < 3; k++) {
      op[k].attrs.tf32 = 1;
      if (mode == 1) kernel_to_bf16(&op[k]);
      int n = device->api->kernels.variants(device, &op[k], info, VARIANTS);
      cr_assert_eq(n, 7); /* nothing needs less than its workspace of none */
      cr_assert_str_eq(info[0].name, "cudnn-e5-811c9dc5");
      for (int v = 0; v < n; v++) variant_check(device, &op[k], &info[v]);
    }
  }
  expect_clean();
}

Test(cudnn, weights_in_the_order_of_the_library_take_workspace_where_channels_come_last) {
  plim_op_desc op[3];
  plim_kernel_info flat[VARIANTS], last[VARIANTS];
  variant_windows(&windows[0], PLIM_FLAT, op);
  int n = device->api->kernels.variants(device, &op[2], flat, VARIANTS);
  variant_windows(&windows[0], PLIM_NHWC, op);
  cr_assert_eq(device->api->kernels.variants(device, &op[2], last, VARIANTS), n);
  for (int i = 0; i < n - 1; i++) cr_assert_eq(last[i].workspace_bytes, flat[i].workspace_bytes + 512); /* 432 bytes */
  variant_windows(&windows[2], PLIM_NHWC, op); /* one tap: both orders are the same */
  cr_assert_eq(device->api->kernels.variants(device, &op[1], last, VARIANTS), n);
  cr_assert_eq(last[n - 2].workspace_bytes, 0);
}

Test(cudnn, variants_are_listed_without_building_a_plan) {
  plim_op_desc op[3];
  plim_kernel_info info[VARIANTS];
  for (int i = 0; i < WINDOWS; i++) {
    variant_windows(&windows[i], PLIM_NHWC, op);
    for (int k = 0; k < 3; k++) cr_assert_gt(device->api->kernels.variants(device, &op[k], info, VARIANTS), 2);
  }
  cr_assert_eq(fake_cudnn_count().plans, 0);
  expect_clean();
}

Test(cudnn, what_was_asked_once_is_found_without_the_library_and_a_plan_is_built_once_and_shared) {
  plim_op_desc op[3];
  plim_kernel_info info[VARIANTS];
  void *kernel[2] = {NULL, NULL};
  variant_windows(&windows[1], PLIM_NHWC, op);
  int n = device->api->kernels.variants(device, &op[0], info, VARIANTS);
  int64_t calls = fake_cudnn_count().calls;
  cr_assert_eq(device->api->kernels.variants(device, &op[0], info, VARIANTS), n);
  cr_assert_eq(fake_cudnn_count().calls, calls);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(device->api->kernels.prepare(device, &op[0], info[0].name, &kernel[i]), PLIM_OK);
    cr_assert_eq(fake_cudnn_count().plans, 1);
  }
  device->api->kernels.unprepare(device, kernel[0]);
  device->api->kernels.unprepare(device, kernel[1]);
  cr_assert_eq(device->api->kernels.prepare(device, &op[0], info[0].name, &kernel[0]),
               PLIM_OK); /* as after a profile */
  device->api->kernels.unprepare(device, kernel[0]);
  cr_assert_eq(fake_cudnn_count().plans, 1);
  cr_assert_eq(device->api->kernels.prepare(device, &op[0], "cudnn-e7-811c9dc5", &kernel[0]), PLIM_EUNSUPPORTED);
  expect_clean();
}

/* ---- what the library can be made to do ---- */

static void *make(const plim_cudnn_api *api, int kind, const plim_dnn_attribute *attribute, int n, int code) {
  void *made = NULL;
  cr_assert_eq(plim_dnn_build(api, kind, attribute, n, &made), code);
  return made;
}

/* A configuration by hand: an engine of the graph with one knob choice. */
static void *configure(const plim_cudnn_api *api, void *graph, int64_t index, int32_t type, int64_t value, int code) {
  const plim_dnn_attribute of_knob[] = {{DNN_ATTR_KNOB_CHOICE_KNOB_TYPE, DNN_TYPE_KNOB_TYPE, 1, &type},
                                        {DNN_ATTR_KNOB_CHOICE_KNOB_VALUE, DNN_TYPE_INT64, 1, &value}};
  const plim_dnn_attribute of_engine[] = {{DNN_ATTR_ENGINE_OPERATION_GRAPH, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph},
                                          {DNN_ATTR_ENGINE_GLOBAL_INDEX, DNN_TYPE_INT64, 1, &index}};
  void *knob = make(api, DNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, of_knob, 2, 0);
  void *engine = make(api, DNN_BACKEND_ENGINE_DESCRIPTOR, of_engine, 2, 0);
  const plim_dnn_attribute of_config[] = {{DNN_ATTR_ENGINECFG_ENGINE, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine},
                                          {DNN_ATTR_ENGINECFG_KNOB_CHOICES, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &knob}};
  void *config = make(api, DNN_BACKEND_ENGINECFG_DESCRIPTOR, of_config, 2, code);
  plim_dnn_unmake(api, &knob);
  plim_dnn_unmake(api, &engine);
  return config;
}

Test(cudnn, a_configuration_made_by_hand_tells_its_workspace_and_has_a_plan) {
  const plim_cudnn_api api = fake_cudnn_api();
  plim_op_desc op[3];
  plim_dnn_conv conv;
  plim_dnn_graph graph;
  int copied;
  void *handle = NULL;
  plim_dnn_config row = {.workspace_bytes = 1 << 16};
  int64_t workspace = 0, count = 0;
  variant_windows(&windows[0], PLIM_FLAT, op);
  cr_assert(plim_dnn_conv_of(&op[0], &conv, &copied));
  cr_assert_eq(api.create(&handle), 0);
  cr_assert_eq(plim_dnn_graph_make(&api, handle, &conv, &graph), 0);
  row.config = configure(&api, graph.part[PLIM_DNN_GRAPH], 3, 12, 3, 0);
  cr_assert_eq(api.get(row.config, DNN_ATTR_ENGINECFG_WORKSPACE_SIZE, DNN_TYPE_INT64, 1, &count, &workspace), 0);
  cr_assert_eq(workspace, 1 << 16);
  cr_assert_null(configure(&api, graph.part[PLIM_DNN_GRAPH], 3, 12, 4, 3000)); /* no such value */
  const fake_cudnn_counts before = fake_cudnn_count();
  cr_assert_eq(plim_dnn_plan_make(&api, handle, &row), 0);
  cr_assert_eq(fake_cudnn_count().plans, before.plans + 1);
  cr_assert_eq(fake_cudnn_count().plans_idle, before.plans_idle + 1);
  plim_dnn_unmake(&api, &row.plan);
  cr_assert_eq(fake_cudnn_count().plans_open, before.plans_open);
  row.workspace_bytes--; /* a plan that needs more than was planned with is none */
  cr_assert_eq(plim_dnn_plan_make(&api, handle, &row), PLIM_DNN_ROOM);
  cr_assert_null(row.plan);
  plim_dnn_unmake(&api, &row.config);
  plim_dnn_graph_free(&api, &graph);
  cr_assert_eq(api.destroy(handle), 0);
  expect_clean();
}

/* Begin anew with other options. */
static void reopen(const fake_cuda_options *options) {
  teardown();
  ctx = plim_test_context();
  driver = fake_cuda_driver(options);
  cr_assert_eq(plim_device_cuda_open(ctx, driver, 0, NULL, &device), PLIM_OK);
}

Test(cudnn, a_plan_that_the_library_refuses_is_told_in_its_words_and_leaves_the_other_engines) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_op_desc op[3];
  plim_kernel_info info[VARIANTS];
  void *kernel = NULL;
  options.dnn = 1;
  options.refuse_plan = 1;
  reopen(&options);
  variant_windows(&windows[1], PLIM_NHWC, op);
  (void)device->api->kernels.variants(device, &op[0], info, VARIANTS);
  cr_assert_eq(device->api->kernels.prepare(device, &op[0], info[0].name, &kernel), PLIM_EUNSUPPORTED);
  cr_assert(strstr(plim_context_error(ctx), "cuDNN status 3000: engine 1 refuses to be planned"), "%s",
            plim_context_error(ctx));
  cr_assert_eq(device->api->kernels.prepare(device, &op[0], info[2].name, &kernel), PLIM_OK);
  device->api->kernels.unprepare(device, kernel);
  expect_clean();
}

Test(cudnn, a_library_whose_configurations_do_not_tell_their_workspace_is_asked_for_plans) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_op_desc op[3];
  plim_kernel_info info[VARIANTS];
  void *kernel = NULL;
  options.dnn = options.no_config_workspace = 1;
  reopen(&options);
  variant_windows(&windows[0], PLIM_FLAT, op);
  cr_assert_eq(device->api->kernels.variants(device, &op[0], info, VARIANTS), 9);
  cr_assert_eq(info[2].workspace_bytes, 1 << 16);
  const int64_t plans = fake_cudnn_count().plans;
  cr_assert_eq(device->api->kernels.prepare(device, &op[0], info[2].name, &kernel), PLIM_OK);
  cr_assert_eq(fake_cudnn_count().plans, plans); /* the one that was asked is kept */
  device->api->kernels.unprepare(device, kernel);
  expect_clean();
}

static void *on_device(const plim_shape *shape) {
  void *made = NULL;
  cr_assert_eq(device->api->memory.alloc(device, plim_shape_bytes(shape), &made), PLIM_OK);
  cr_assert_eq(device->api->queues.fill(device, 0, made, 0, plim_shape_bytes(shape)), PLIM_OK);
  return made;
}

Test(cudnn, a_second_run_at_the_same_addresses_makes_nothing) {
  plim_op_desc op[3];
  plim_kernel_info info[VARIANTS];
  void *kernel = NULL;
  variant_windows(&windows[2], PLIM_NHWC, op);
  (void)device->api->kernels.variants(device, &op[0], info, VARIANTS);
  cr_assert_eq(device->api->kernels.prepare(device, &op[0], info[7].name, &kernel), PLIM_OK);
  void *in[] = {on_device(&op[0].in[0]), on_device(&op[0].in[1])}, *out[] = {on_device(&op[0].out[0])};
  plim_kernel_args args = {.in = in, .out = out};
  cr_assert_eq(device->api->kernels.run(device, 0, kernel, &args), PLIM_OK);
  int64_t calls = fake_cudnn_count().calls;
  for (int i = 1; i <= 3; i++) {
    cr_assert_eq(device->api->kernels.run(device, 0, kernel, &args), PLIM_OK);
    cr_assert_eq(fake_cudnn_count().calls, calls + 2 * i); /* a stream is set, a plan executed */
  }
  /* more addresses than are remembered: the packs made first go, and all of them at the end */
  int64_t open = fake_cuda_count().open_handles;
  for (int i = 0; i < 200; i++) {
    args.workspace = (char *)out[0] + 512 * (int64_t)i;
    cr_assert_eq(device->api->kernels.run(device, 0, kernel, &args), PLIM_OK);
  }
  cr_assert_eq(fake_cuda_count().open_handles, open + 63);
  device->api->kernels.unprepare(device, kernel);
  for (int i = 0; i < 2; i++) device->api->memory.release(device, in[i], plim_shape_bytes(&op[0].in[i]));
  device->api->memory.release(device, out[0], plim_shape_bytes(&op[0].out[0]));
  expect_clean();
}

/* The forward op of a window, with a bias. */
static plim_op_desc biased(const variant_window *window, plim_layout layout) {
  plim_op_desc op[3];
  variant_windows(window, layout, op);
  op[0].in[op[0].n_in++] = kernel_shape(PLIM_F32, 1, window->filters, 1, 1, 1);
  return op[0];
}

Test(cudnn, a_bias_is_added_after_the_convolution_in_every_layout_and_math_mode) {
  static const plim_layout layouts[] = {PLIM_NHWC, PLIM_FLAT};
  static const variant_window wide = {2, 3, 9, 11, 24, {3, 3}, 1, 1}; /* several vectors of channels */
  for (int i = 0; i < (WINDOWS + 1) * 2 * PLIM_PRECISION_COUNT; i++) {
    const int row = i / (2 * PLIM_PRECISION_COUNT), math = i % PLIM_PRECISION_COUNT;
    plim_op_desc op = biased(row == WINDOWS ? &wide : &windows[row], layouts[i / PLIM_PRECISION_COUNT % 2]);
    plim_kernel_info info[VARIANTS];
    op.attrs.tf32 = math == PLIM_PRECISION_TF32;
    if (math == PLIM_PRECISION_BF16) kernel_to_bf16(&op);
    int n = device->api->kernels.variants(device, &op, info, VARIANTS);
    cr_assert_gt(n, 6);
    for (int v = 0; v < n; v++) variant_check(device, &op, &info[v]);
  }
  expect_clean();
}

/* Sums of 1 + 2^-8 + 2^-12 are 1 + 2^-7 in bf16, and less 2^-9 another number than what is right, which is 1. */
Test(cudnn, a_bias_in_bf16_is_added_to_floats_and_the_sum_is_rounded_once) {
  static const plim_layout layouts[] = {PLIM_NHWC, PLIM_FLAT};
  const uint16_t x[3] = {0x3f80, 0x3b80, 0x3980}, w[3] = {0x3f80, 0x3f80, 0x3f80};
  const float bias = -1.0F / 512;
  for (int l = 0; l < 2; l++) {
    plim_op_desc op = biased(&(variant_window){1, 3, 1, 1, 1, {1, 1}, 1, 0}, layouts[l]);
    plim_kernel_info info[VARIANTS];
    void *memory = NULL;
    kernel_to_bf16(&op);
    const int n = device->api->kernels.variants(device, &op, info, VARIANTS);
    const int64_t bytes = (64 << 20) + 4 * PLIM_ALIGN;
    cr_assert_gt(n, 6);
    cr_assert_eq(device->api->memory.alloc(device, bytes, &memory), PLIM_OK);
    char *at = memory;
    void *in[] = {at, at + PLIM_ALIGN, at + 2 * PLIM_ALIGN}, *out[] = {at + 3 * PLIM_ALIGN};
    plim_kernel_args args = {.in = in, .out = out, .workspace = at + 4 * PLIM_ALIGN, .seed = 1};
    cr_assert_eq(device->api->queues.copy(device, 0, in[0], x, sizeof x), PLIM_OK);
    cr_assert_eq(device->api->queues.copy(device, 0, in[1], w, sizeof w), PLIM_OK);
    cr_assert_eq(device->api->queues.copy(device, 0, in[2], &bias, sizeof bias), PLIM_OK);
    for (int v = 0; v < n; v++) {
      void *kernel = NULL;
      uint16_t y = 0;
      const plim_status status = device->api->kernels.prepare(device, &op, info[v].name, &kernel);
      if (status == PLIM_EUNSUPPORTED) continue; /* an engine without a plan */
      cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
      cr_assert_leq(device->api->kernels.workspace(device, kernel), 64 << 20);
      cr_assert_eq(device->api->kernels.run(device, 0, kernel, &args), PLIM_OK, "%s", plim_context_error(ctx));
      cr_assert_eq(device->api->queues.copy(device, 0, &y, out[0], sizeof y), PLIM_OK);
      cr_assert_eq(device->api->queues.sync(device), PLIM_OK);
      cr_assert_eq(y, 0x3f80, "%s: %04x", info[v].name, y);
      device->api->kernels.unprepare(device, kernel);
    }
    device->api->memory.release(device, memory, bytes);
  }
  expect_clean();
}

Test(cudnn, with_a_bias_engines_workspace_and_plans_are_those_without_and_keys_are_not) {
  plim_op_desc plain[3];
  const plim_op_desc op = biased(&windows[0], PLIM_NHWC);
  plim_kernel_info with[VARIANTS], without[VARIANTS];
  variant_windows(&windows[0], PLIM_NHWC, plain);
  int n = device->api->kernels.variants(device, &plain[0], without, VARIANTS);
  int64_t plans = fake_cudnn_count().plans;
  cr_assert_eq(device->api->kernels.variants(device, &op, with, VARIANTS), n);
  cr_assert_eq(fake_cudnn_count().plans, plans);
  for (int i = 0; i < n - 1; i++) { /* the last is the single-source kernel */
    char numerics_key[sizeof without->numerics_key + 2];
    (void)snprintf(numerics_key, sizeof numerics_key, "%s+b", without[i].numerics_key);
    cr_assert_str_eq(with[i].name, without[i].name);
    cr_assert_str_eq(with[i].numerics_key, numerics_key);
    cr_assert_eq(with[i].workspace_bytes, without[i].workspace_bytes);
  }
}

/* ---- attention ---- */

/* op[0] forward, op[1] backward, in bf16. */
static void attention_ops(int64_t sequences, int64_t tokens, int64_t heads, int64_t depth, plim_op_desc op[2]) {
  const int64_t c = heads * depth;
  const plim_shape y = kernel_shape(PLIM_F32, 3, sequences, tokens, c, 1);
  const plim_shape qkv = kernel_shape(PLIM_F32, 3, sequences, tokens, 3 * c, 1);
  const plim_shape lse = kernel_shape(PLIM_F32, 3, sequences, tokens, heads, 1);
  op[0] = kernel_op(PLIM_OP_ATTENTION, 1, 2, qkv, y);
  op[0].out[1] = lse;
  op[1] = kernel_op(PLIM_OP_ATTENTION_BWD, 4, 1, y, qkv);
  op[1].in[1] = qkv;
  op[1].in[2] = y;
  op[1].in[3] = lse;
  for (int k = 0; k < 2; k++) kernel_to_bf16(&op[k]);
}

static int is_of_cudnn(const plim_kernel_info *info) {
  return strncmp(info->name, "cudnn-", 6) == 0;
}

Test(cudnn, attention_agrees_with_the_reference_in_both_directions) {
  static const int64_t cases[][4] = {{2, 5, 3, 8}, {1, 17, 1, 16}, {3, 1, 2, 8}, {2, 33, 2, 24}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    plim_op_desc op[2];
    attention_ops(cases[i][0], cases[i][1], cases[i][2], cases[i][3], op);
    for (int k = 0; k < 2; k++) {
      plim_kernel_info info[VARIANTS];
      const int n = device->api->kernels.variants(device, &op[k], info, VARIANTS);
      int ours = 0;
      for (int v = 0; v < n; v++) {
        ours += is_of_cudnn(&info[v]);
        variant_check(device, &op[k], &info[v]);
      }
      cr_assert_eq(ours, 6, "%d", ours); /* all but those that are not deterministic, lower numbers, or have no plan */
    }
  }
  expect_clean();
}

/* The logarithms in the library's order take workspace, before what the engine needs. */
Test(cudnn, variants_of_attention_have_a_workspace_and_a_numerics_key) {
  plim_op_desc op[2];
  plim_kernel_info info[VARIANTS];
  attention_ops(2, 5, 3, 8, op);
  cr_assert_gt(device->api->kernels.variants(device, &op[0], info, VARIANTS), 6);
  cr_assert_eq(strncmp(info[0].numerics_key, "cudnn9.28.0-e5-", 15), 0, "%s", info[0].numerics_key);
  cr_assert_eq(info[0].workspace_bytes, PLIM_ALIGN);
  cr_assert_eq(info[1].workspace_bytes, PLIM_ALIGN + (1 << 20));
  expect_clean();
}

Test(cudnn, attention_in_floats_or_of_another_depth_is_left_to_others) {
  plim_op_desc op[2];
  plim_kernel_info info[VARIANTS];
  attention_ops(2, 5, 3, 12, op);
  for (int k = 0; k < 4; k++) {
    if (k == 2) attention_ops(2, 5, 3, 8, op);
    plim_op_desc *of = &op[k % 2];
    for (int i = 0; i < of->n_in && k > 1; i++) of->in[i].dtype = PLIM_F32;
    for (int i = 0; i < of->n_out && k > 1; i++) of->out[i].dtype = PLIM_F32;
    const int n = device->api->kernels.variants(device, of, info, VARIANTS);
    cr_assert_geq(n, 1);
    for (int v = 0; v < n; v++) cr_assert_not(is_of_cudnn(&info[v]), "%s", info[v].name);
  }
  expect_clean();
}

Test(cudnn, an_engine_that_refuses_attention_leaves_the_others) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_op_desc op[2];
  plim_kernel_info info[VARIANTS];
  void *kernel = NULL;
  options.dnn = 1;
  options.refuse_plan = 5;
  reopen(&options);
  attention_ops(2, 5, 3, 8, op);
  for (int k = 0; k < 2; k++) {
    cr_assert_gt(device->api->kernels.variants(device, &op[k], info, VARIANTS), 2);
    cr_assert_eq(device->api->kernels.prepare(device, &op[k], info[0].name, &kernel), PLIM_EUNSUPPORTED);
    cr_assert(strstr(plim_context_error(ctx), "engine 5 refuses to be planned"), "%s", plim_context_error(ctx));
    variant_check(device, &op[k], &info[1]);
  }
  expect_clean();
}

Test(cudnn, blocked_layouts_and_other_kinds_are_left_to_others) {
  plim_op_desc op[3], relu;
  plim_kernel_info info[VARIANTS];
  variant_windows(&(variant_window){2, 16, 4, 4, 16, {1, 1}, 1, 0}, PLIM_NCHW16C, op);
  cr_assert_eq(device->api->kernels.variants(device, &op[1], info, VARIANTS), 1);
  relu = kernel_op(PLIM_OP_RELU, 1, 1, op[0].in[0], op[0].in[0]);
  cr_assert_eq(device->api->kernels.variants(device, &relu, info, VARIANTS), 1);
}

Test(cudnn, training_under_a_budget_is_captured_and_gives_the_bits_of_keep_all) {
  gpu_rig tight = {.ctx = ctx, .device = device, .family = "cudnn-e40"}, all = tight;
  gpu_rig_ok(&tight, gpu_rig_train(&tight, 90, 4));
  cr_assert_eq(strncmp(tight.numerics_key[1], "cudnn9.28.0-e40-", 16), 0, "%s", tight.numerics_key[1]);
  cr_assert_eq(fake_cuda_count().captures, 3); /* two engines by themselves in their rehearsal, the step */
  int64_t calls = fake_cudnn_count().calls;
  gpu_rig_ok(&tight, plim_trainer_run(tight.trainer, 2, NULL, NULL));
  cr_assert_eq(fake_cudnn_count().calls, calls); /* a replay asks nothing of the library */
  gpu_rig_ok(&all, gpu_rig_train(&all, 100, 6));
  cr_assert_gt(tight.program->plan[PLIM_PROGRAM_TRAIN]->n_commands, all.program->plan[PLIM_PROGRAM_TRAIN]->n_commands);
  gpu_rig_same(&tight, &all);
  expect_clean();
  gpu_rig_end(&tight);
  gpu_rig_end(&all);
}

/* List, prepare, run twice, with call n failing; returns 0 when there were fewer calls. What fails while variants are
 * listed is not offered; what fails later is an error. */
static int run_failing(int64_t n) {
  plim_op_desc op[3];
  plim_kernel_info info[VARIANTS];
  void *kernel = NULL;
  variant_windows(&windows[2], PLIM_NHWC, op);
  void *in[] = {on_device(&op[1].in[0]), on_device(&op[1].in[1])}, *out[] = {on_device(&op[1].out[0])};
  plim_kernel_args args = {.in = in, .out = out};
  int64_t before = fake_cuda_count().calls;
  fake_cuda_fail_at(n);
  int listed = device->api->kernels.variants(device, &op[1], info, VARIANTS);
  int64_t failing = before + n - fake_cuda_count().calls; /* calls left until it fails */
  cr_assert(listed >= 1 && (failing <= 0 || listed == 9), "%d variants", listed);
  plim_status status = PLIM_OK;
  if (listed > 1) status = device->api->kernels.prepare(device, &op[1], info[listed - 2].name, &kernel);
  for (int i = 0; i < 2 && kernel && status == PLIM_OK && info[listed - 2].workspace_bytes == 0; i++) {
    status = device->api->kernels.run(device, 0, kernel, &args);
  }
  if (status != PLIM_OK) {
    cr_assert_eq(status, PLIM_EDEVICE);
    cr_assert_gt(failing, 0);
  }
  int failed = fake_cuda_count().calls - before >= n;
  fake_cuda_fail_at(0);
  device->api->kernels.unprepare(device, kernel);
  for (int i = 0; i < 2; i++) device->api->memory.release(device, in[i], plim_shape_bytes(&op[1].in[i]));
  device->api->memory.release(device, out[0], plim_shape_bytes(&op[1].out[0]));
  return failed;
}

Test(cudnn, two_devices_share_the_library_and_leave_nothing) {
  plim_device *other = NULL;
  plim_op_desc op[3];
  plim_kernel_info info[VARIANTS];
  variant_windows(&windows[0], PLIM_FLAT, op);
  cr_assert_eq(plim_device_cuda_open(ctx, driver, 0, NULL, &other), PLIM_OK);
  int n = other->api->kernels.variants(other, &op[0], info, VARIANTS);
  cr_assert_eq(n, 9);
  cr_assert_eq(device->api->kernels.variants(device, &op[0], info, VARIANTS), n);
  for (int v = 0; v < n; v++) variant_check(other, &op[0], &info[v]);
  plim_device_close(other);
  for (int v = 0; v < n; v++) variant_check(device, &op[0], &info[v]);
  expect_clean();
  teardown();
  cr_assert_eq(fake_cuda_count().open_handles, 0);
  setup();
}

Test(cudnn, survives_the_failure_of_every_call) {
  int64_t n = 0;
  for (int failed = 1; failed; n++) {
    failed = run_failing(n + 1);
    expect_clean();
    teardown();
    cr_assert_eq(fake_cuda_count().open_handles, 0, "call %lld leaves %lld open", (long long)n,
                 (long long)fake_cuda_count().open_handles);
    setup();
  }
  cr_assert_gt(n, 100);
}

#ifdef PLIM_HAVE_CUDA
/* A cuDNN without NVRTC has few engines, and says nothing. */
Test(cudnn, a_library_without_its_compiler_is_told_with_what_to_install) {
  plim_cudnn_api api;
  char why[160] = "";
  (void)setenv("PLIM_CUDNN", PLIM_BINARY_DIR "/libfake_cudnn_file.so", 1);
  (void)setenv("PLIM_NVRTC", "none", 1);
  plim_cudnn_load(&api, why, sizeof why);
  cr_assert_not_null(api.opened, "%s", why);
  cr_assert_null(api.compiler);
  cr_assert_str_eq(why,
                   "cuDNN finds no libnvrtc.so.13, by which it compiles most engines: install nvidia-cuda-nvrtc, or "
                   "name its folder in PLIM_CUDA_LIBS");
  plim_cudnn_unload(&api);
  (void)setenv("PLIM_CUDNN", "none", 1);
  plim_cudnn_load(&api, why, sizeof why);
  cr_assert_str_eq(why, "no cuDNN: PLIM_CUDNN is none");
  (void)unsetenv("PLIM_CUDNN");
  (void)unsetenv("PLIM_NVRTC");
}

/* The real library where it is found: it looks at attributes, types and numbers of elements without a GPU. */
static plim_cudnn_api real;
static int refused, unloaded, finalized;

static int watch_set(void *descriptor, int attribute, int type, int64_t count, const void *values) {
  int code = real.set(descriptor, attribute, type, count, values);
  if (attribute != DNN_ATTR_OPERATIONGRAPH_HANDLE && attribute != DNN_ATTR_OPERATIONGRAPH_OPS) refused += code != 0;
  return code;
}

static int watch_finalize(void *descriptor) {
  int code = real.finalize(descriptor);
  unloaded += code == 1008; /* parts of it that want a driver */
  finalized += code == 0;
  return code;
}

Test(cudnn, the_library_itself_takes_what_is_set) {
  char why[160];
#ifdef PLIM_CUDA_STUB
  (void)dlopen(PLIM_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL); /* stands in for a driver, where there is none */
#endif
  plim_cudnn_load(&real, why, sizeof why);
  if (!real.opened) cr_skip_test("%s", why);
  plim_cudnn_api watched = real;
  watched.set = watch_set;
  watched.finalize = watch_finalize;
  for (int i = 0; i < 3 * WINDOWS; i++) {
    plim_op_desc op[3];
    plim_dnn_conv conv;
    plim_dnn_graph graph;
    int reordered;
    variant_windows(&windows[i / 3], i % 2 ? PLIM_NHWC : PLIM_FLAT, op);
    cr_assert(plim_dnn_conv_of(&op[i % 3], &conv, &reordered));
    (void)plim_dnn_graph_make(&watched, NULL, &conv, &graph); /* the graph wants a GPU */
    cr_assert_eq(refused, 0);
    if (unloaded) cr_skip_test("cuDNN cannot load all of itself here");
    cr_assert_eq(finalized, 5 * (i + 1)); /* three tensors, the convolution, the operation */
    plim_dnn_graph_free(&watched, &graph);
  }
  plim_cudnn_unload(&real);
}

/* Without a GPU there is no handle, and a graph does without one. */
static int set_but_handles(void *descriptor, int attribute, int type, int64_t count, const void *values) {
  return attribute == DNN_ATTR_OPERATIONGRAPH_HANDLE ? 0 : real.set(descriptor, attribute, type, count, values);
}

Test(cudnn, the_library_itself_takes_attention_as_it_is_described) {
  char why[160];
#ifdef PLIM_CUDA_STUB
  (void)dlopen(PLIM_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL);
#endif
  plim_cudnn_load(&real, why, sizeof why);
  if (!real.opened) cr_skip_test("%s", why);
  if (real.version() < PLIM_DNN_ATTENTION_SINCE) cr_skip_test("cuDNN is older than its attention with a mask");
  plim_cudnn_api watched = real;
  watched.set = set_but_handles;
  watched.finalize = watch_finalize;
  for (int k = 0; k < 2; k++) {
    plim_op_desc op[2];
    plim_dnn_attention attention;
    plim_dnn_graph graph;
    attention_ops(4, 64, 6, 64, op);
    cr_assert(plim_dnn_attention_of(&op[k], &attention));
    const int code = plim_dnn_attention_graph(&watched, NULL, &attention, &graph);
    if (unloaded) cr_skip_test("cuDNN cannot load all of itself here");
    cr_assert_eq(code, 0, "status %d", code);
    plim_dnn_graph_free(&watched, &graph);
  }
  plim_cudnn_unload(&real);
}
#endif
