/* kernels/cuda/gemm: convolutions and linear layers as stages around matrix products, over the fake GPU. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/device/device_cuda.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/kernel_check.h"
#include "tests/support/kernel_samples.h"
#include "tests/support/small_graph.h"
#include "tests/support/variant_check.h"

static plim_context *ctx;
static plim_device *device;

static void setup(void) {
  fake_cuda_options options = fake_cuda_options_default();
  options.blas = 1;
  ctx = plim_test_context();
  cr_assert_eq(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &device), PLIM_OK);
}
static void teardown(void) {
  plim_device_close(device);
  plim_context_free(ctx);
}
TestSuite(cuda_gemm, .init = setup, .fini = teardown);

/* Every variant; `least` is how many by a library there have to be. */
static void check_op(const plim_op_desc *op, int least) {
  plim_kernel_info info[8];
  int n = device->api->kernels.variants(device, op, info, 8), by_library = 0;
  for (int i = 0; i < n; i++) {
    by_library += strcmp(info[i].name, "single-source") != 0;
    variant_check(device, op, &info[i]);
  }
  cr_assert_geq(by_library, least, "%s has %d", plim_op_kind_name(op->kind), by_library);
  cr_assert_str_eq(info[n - 1].name, "single-source");
}

/* In every precision. */
static void check_modes(const plim_op_desc *op, int least) {
  plim_op_desc other = *op;
  check_op(op, least);
  other.attrs.tf32 = 1;
  check_op(&other, least);
  kernel_to_bf16(&other);
  check_op(&other, least);
}

/* Heads of queries or keys where they lie beside values, [B][T][3][H][D] read as [B][H][T][D]. */
static plim_shape heads_of(int64_t batch, int64_t heads, int64_t tokens, int64_t depth) {
  plim_shape shape = kernel_shape(PLIM_F32, 4, batch, heads, tokens, depth);
  const int64_t token = 3 * heads * depth, stride[] = {tokens * token, depth, token, 1};
  memcpy(shape.stride, stride, sizeof stride);
  return shape;
}

Test(cuda_gemm, products_of_matrices_agree_with_the_reference_where_their_rows_or_columns_lie_beside_each_other) {
  static const plim_op_kind kinds[] = {PLIM_OP_MATMUL, PLIM_OP_MATMUL_NT, PLIM_OP_MATMUL_TN};
  for (int k = 0; k < 3; k++) {
    plim_op_desc op = kernel_sample(kinds[k], PLIM_FLAT);
    check_modes(&op, 1);
  }
  plim_op_desc scores = kernel_op(PLIM_OP_MATMUL_NT, 2, 1, heads_of(2, 3, 9, 8), kernel_shape(PLIM_F32, 4, 2, 3, 9, 9));
  scores.in[1] = scores.in[0];
  check_modes(&scores, 1);
  scores.in[0] = scores.in[1] = heads_of(5, 2, 9, 8);
  scores.out[0] = kernel_shape(PLIM_F32, 4, 5, 2, 9, 9);
  check_modes(&scores, 1);
}

Test(cuda_gemm, products_of_matrices_with_steps_in_both_directions_are_left_to_our_own_kernel) {
  plim_op_desc op =
      kernel_op(PLIM_OP_MATMUL, 2, 1, kernel_shape(PLIM_F32, 2, 5, 4, 1, 1), kernel_shape(PLIM_F32, 2, 5, 6, 1, 1));
  op.in[1] = kernel_shape(PLIM_F32, 2, 4, 6, 1, 1);
  plim_kernel_info info[4];
  cr_assert_geq(device->api->kernels.variants(device, &op, info, 4), 2);
  op.in[0].stride[0] = 12;
  op.in[0].stride[1] = 2;
  cr_assert_eq(device->api->kernels.variants(device, &op, info, 4), 1);
  variant_check(device, &op, &info[0]);
}

/* B, T, H, D: more heads than sequences, fewer, one of each, and rows that are no vectors. */
static const int64_t heads[][4] = {{2, 16, 3, 8}, {5, 20, 2, 16}, {1, 9, 1, 4}, {17, 7, 18, 5}};

static plim_op_desc attention_of(plim_op_kind kind, const int64_t *size) {
  const plim_shape y = kernel_shape(PLIM_F32, 3, size[0], size[1], size[2] * size[3], 1);
  const plim_shape qkv = kernel_shape(PLIM_F32, 3, size[0], size[1], 3 * size[2] * size[3], 1);
  const plim_shape lse = kernel_shape(PLIM_F32, 3, size[0], size[1], size[2], 1);
  plim_op_desc op = kernel_sample(kind, PLIM_FLAT);
  op.in[0] = kind == PLIM_OP_ATTENTION ? qkv : y;
  op.in[1] = qkv;
  op.in[2] = y;
  op.in[3] = op.out[1] = lse;
  op.out[0] = kind == PLIM_OP_ATTENTION ? y : qkv;
  return op;
}

Test(cuda_gemm, attention_agrees_with_the_reference_in_both_directions) {
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    const plim_op_desc forward = attention_of(PLIM_OP_ATTENTION, heads[i]);
    const plim_op_desc backward = attention_of(PLIM_OP_ATTENTION_BWD, heads[i]);
    check_modes(&forward, 1);
    check_modes(&backward, 1);
  }
}

Test(cuda_gemm, attention_has_a_variant_for_each_share_of_its_lines_and_says_what_it_needs) {
  const int64_t size[] = {17, 7, 18, 5}, square = 18 * 7 * 7 * 4;
  const plim_op_desc op = attention_of(PLIM_OP_ATTENTION, size);
  static const int64_t lines[] = {17, 5, 2};
  plim_kernel_info info[8];
  cr_assert_eq(device->api->kernels.variants(device, &op, info, 8), 5);
  for (int i = 0; i < 3; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "cublas-%d", (int)lines[i]);
    cr_assert_str_eq(info[i].name, name);
    cr_assert_str_eq(info[i].numerics_key, name);
    cr_assert_eq(info[i].workspace_bytes, (4 << 20) + (lines[i] * square + 511) / 512 * 512);
  }
}

/* N, C, V */
static const int64_t vocabularies[][3] = {{33, 12, 40}, {1, 4, 3}, {19, 7, 130}};

static plim_op_desc loss_of(plim_op_kind kind, const int64_t *size) {
  const plim_shape lse = kernel_shape(PLIM_F32, 1, size[0], 1, 1, 1);
  plim_op_desc op = kernel_sample(kind, PLIM_FLAT);
  op.in[0] = kernel_shape(PLIM_F32, 2, size[0], size[1], 1, 1);
  op.in[1] = kernel_shape(PLIM_I32, 1, size[0], 1, 1, 1);
  op.in[2] = kernel_shape(PLIM_F32, 2, size[2], size[1], 1, 1);
  if (kind == PLIM_OP_LINEAR_XENT) {
    op.out[2] = lse;
  } else {
    op.in[3] = lse;
    op.out[0] = op.in[0];
    op.out[1] = op.in[2];
  }
  return op;
}

Test(cuda_gemm, losses_over_a_vocabulary_agree_with_the_reference_in_both_directions) {
  for (size_t i = 0; i < sizeof vocabularies / sizeof *vocabularies; i++) {
    const plim_op_desc forward = loss_of(PLIM_OP_LINEAR_XENT, vocabularies[i]);
    const plim_op_desc backward = loss_of(PLIM_OP_LINEAR_XENT_BWD, vocabularies[i]);
    check_modes(&forward, 1);
    check_modes(&backward, 1);
  }
}

/* Workspaces beside the library's part: at most a quarter of the logits, and their gradients; backward a word each. */
Test(cuda_gemm, losses_over_a_vocabulary_never_have_all_of_the_logits_at_once) {
  static const int64_t size[] = {400, 24, 1000};
  const int64_t quarter = size[0] / 4 * size[2] * 4, known = 2 * size[0] * 4;
  for (int backward = 0; backward < 2; backward++) {
    const plim_op_desc op = loss_of(backward ? PLIM_OP_LINEAR_XENT_BWD : PLIM_OP_LINEAR_XENT, size);
    plim_kernel_info info[8];
    const int n = device->api->kernels.variants(device, &op, info, 8);
    cr_assert_eq(n, 5, "three shares, one with more room for the library, and our own kernel");
    cr_assert_str_eq(info[0].name, "cublas-100");
    for (int i = 0; i < n; i++) {
      const int64_t library = strstr(info[i].name, "-32m") ? 32 << 20 : 4 << 20;
      cr_assert_leq(info[i].workspace_bytes, library + quarter + known + 1024, "%s", info[i].name);
    }
  }
}

/* Row of a table: a convolution, and whether a chunk can be smaller than the batch. */
static const struct {
  variant_window window;
  int chunked;
} windows[] = {
    {{5, 3, 7, 6, 4, {3, 3}, 1, 1}, 1}, {{20, 2, 9, 8, 5, {3, 3}, 2, 1}, 1}, {{2, 4, 8, 8, 3, {1, 1}, 1, 0}, 0},
    {{3, 4, 7, 9, 6, {1, 1}, 2, 0}, 1}, {{1, 2, 6, 9, 2, {5, 3}, 2, 2}, 0},  {{4, 1, 5, 5, 1, {2, 2}, 1, 0}, 1},
};

Test(cuda_gemm, convolutions_agree_with_the_reference_in_every_direction) {
  for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
    plim_op_desc op[3];
    variant_windows(&windows[i].window, PLIM_NHWC, op);
    for (int k = 0; k < 3; k++) check_modes(&op[k], 1 + windows[i].chunked);
  }
}

/* Images as matrices as they lie, with odd numbers of channels and of images, and one image. */
static const variant_window flat_windows[] = {{5, 4, 3, 7, 6, {1, 1}, 1, 0},
                                              {19, 6, 2, 5, 4, {1, 1}, 1, 0},
                                              {3, 5, 4, 3, 7, {1, 1}, 1, 0},
                                              {1, 4, 8, 8, 3, {1, 1}, 1, 0}};

Test(cuda_gemm, convolutions_of_one_tap_are_products_of_images_as_they_lie_in_flat_layout_too) {
  for (size_t i = 0; i < sizeof flat_windows / sizeof *flat_windows; i++) {
    plim_op_desc op[4];
    plim_kernel_info info[8];
    variant_windows(&flat_windows[i], PLIM_FLAT, op);
    op[3] = op[0]; /* with a bias */
    op[3].n_in = 3;
    op[3].in[2] = kernel_shape(PLIM_F32, 1, flat_windows[i].filters, 1, 1, 1);
    for (int k = 0; k < 4; k++) check_modes(&op[k], 1);
    cr_assert_eq(device->api->kernels.variants(device, &op[0], info, 8), 2);
    cr_assert_str_eq(info[0].numerics_key, "cublas-flat");
  }
}

/* Each number of images that are summed together has a numerics key of its own, and parts take the workspace. */
Test(cuda_gemm, gradients_of_weights_in_flat_layout_are_sums_of_parts_of_a_chunk_of_images) {
  static const char *const names[] = {"cublas-flat-19", "cublas-flat-5", "cublas-flat-2"};
  static const int64_t images[] = {19, 5, 2};
  plim_op_desc op[3];
  plim_kernel_info info[8];
  variant_windows(&flat_windows[1], PLIM_FLAT, op);
  cr_assert_eq(device->api->kernels.variants(device, &op[2], info, 8), 4);
  for (int i = 0; i < 3; i++) {
    cr_assert_str_eq(info[i].name, names[i]);
    cr_assert_str_eq(info[i].numerics_key, names[i]);
    cr_assert_eq(info[i].workspace_bytes, (4 << 20) + (images[i] * 6 * 4 * 4 + 511) / 512 * 512);
  }
}

/* An odd number of weights has parts, too. */
Test(cuda_gemm, gradients_of_an_odd_number_of_weights_have_a_variant_for_each_share_of_images) {
  plim_op_desc op[3];
  plim_kernel_info info[8];
  variant_windows(&flat_windows[2], PLIM_FLAT, op);
  cr_assert_eq(plim_shape_elements(&op[2].out[0]), 35);
  cr_assert_eq(device->api->kernels.variants(device, &op[2], info, 8), 3);
  cr_assert_str_eq(info[0].name, "cublas-flat-3");
  cr_assert_str_eq(info[1].name, "cublas-flat-1");
  cr_assert_eq(info[0].workspace_bytes, (4 << 20) + (3 * 35 * 4 + 511) / 512 * 512);
  for (int i = 0; i < 2; i++) variant_check(device, &op[2], &info[i]);
}

/* A larger window, a stride: products of images as they lie are not that. */
Test(cuda_gemm, other_convolutions_in_flat_layout_are_left_to_the_single_source_kernels) {
  static const variant_window others[] = {
      {2, 4, 8, 8, 6, {3, 3}, 1, 1}, {2, 4, 8, 8, 6, {1, 1}, 2, 0}, {2, 4, 8, 8, 6, {1, 2}, 1, 0}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    plim_op_desc op[3];
    plim_kernel_info info[8];
    variant_windows(&others[i], PLIM_FLAT, op);
    for (int k = 0; k < 3; k++) cr_assert_eq(device->api->kernels.variants(device, &op[k], info, 8), 1);
  }
}

Test(cuda_gemm, linear_layers_agree_with_the_reference_in_every_direction) {
  const plim_shape x = kernel_shape(PLIM_F32, 2, 7, 12, 1, 1), y = kernel_shape(PLIM_F32, 2, 7, 5, 1, 1);
  const plim_shape w = kernel_shape(PLIM_F32, 2, 5, 12, 1, 1);
  plim_op_desc forward = kernel_op(PLIM_OP_LINEAR, 3, 1, x, y), data = kernel_op(PLIM_OP_LINEAR_BWD_DATA, 2, 1, y, x);
  plim_op_desc weights = kernel_op(PLIM_OP_LINEAR_BWD_WEIGHTS, 2, 1, y, w);
  forward.in[1] = data.in[1] = w;
  forward.in[2] = kernel_shape(PLIM_F32, 1, 5, 1, 1, 1);
  weights.in[1] = x;
  check_modes(&forward, 1);
  check_modes(&data, 1);
  check_modes(&weights, 1);
}

/* Row of a table: a GPU, and the variant that gives the library the workspace that is recommended there. */
static const struct {
  int32_t major;
  const char *direct;
  int64_t more_bytes; /* than the one of least workspace */
} workspaces[] = {{7, NULL, 0},
                  {8, NULL, 0},
                  {9, "cublas-32m", 28 << 20},
                  {10, "cublas-32m", 28 << 20},
                  {12, "cublas-32m", 28 << 20}};

Test(cuda_gemm, the_library_is_offered_the_workspace_that_is_recommended_for_the_gpu_beside_the_least) {
  const plim_shape x = kernel_shape(PLIM_F32, 2, 7, 12, 1, 1), y = kernel_shape(PLIM_F32, 2, 7, 5, 1, 1);
  plim_op_desc op = kernel_op(PLIM_OP_LINEAR, 2, 1, x, y);
  op.in[1] = kernel_shape(PLIM_F32, 2, 5, 12, 1, 1);
  for (size_t i = 0; i < sizeof workspaces / sizeof *workspaces; i++) {
    fake_cuda_options options = fake_cuda_options_default();
    plim_kernel_info info[8];
    options.blas = 1;
    options.major = workspaces[i].major;
    options.minor = 5;
    teardown();
    ctx = plim_test_context();
    cr_assert_eq(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &device), PLIM_OK);
    const int n = device->api->kernels.variants(device, &op, info, 8);
    cr_assert_eq(n, workspaces[i].direct ? 3 : 2);
    cr_assert_str_eq(info[0].name, "cublas");
    for (int v = 0; v < n; v++) variant_check(device, &op, &info[v]);
    if (!workspaces[i].direct) continue;
    cr_assert_str_eq(info[1].name, workspaces[i].direct);
    cr_assert_str_eq(info[1].numerics_key, workspaces[i].direct); /* another algorithm may be taken: other bits */
    cr_assert_eq(info[1].workspace_bytes - info[0].workspace_bytes, workspaces[i].more_bytes);
  }
}

Test(cuda_gemm, products_that_may_round_their_factors_have_keys_of_their_own) {
  const plim_shape x = kernel_shape(PLIM_F32, 2, 7, 12, 1, 1), y = kernel_shape(PLIM_F32, 2, 7, 5, 1, 1);
  plim_op_desc op = kernel_op(PLIM_OP_LINEAR, 2, 1, x, y);
  plim_kernel_info strict[8], rounded[8];
  op.in[1] = kernel_shape(PLIM_F32, 2, 5, 12, 1, 1);
  int n = device->api->kernels.variants(device, &op, strict, 8);
  op.attrs.tf32 = 1;
  cr_assert_eq(device->api->kernels.variants(device, &op, rounded, 8), n);
  for (int i = 0; i + 1 < n; i++) {
    for (int j = 0; j + 1 < n; j++) cr_assert_str_neq(strict[i].numerics_key, rounded[j].numerics_key);
  }
  cr_assert_str_eq(strict[n - 1].numerics_key,
                   rounded[n - 1].numerics_key); /* the single-source kernels do not round */
}

Test(cuda_gemm, blocked_layouts_and_other_kinds_are_left_to_the_single_source_kernels) {
  const plim_shape x = kernel_activation(PLIM_NCHW16C, 2, 32, 4, 4);
  plim_op_desc conv = kernel_op(PLIM_OP_CONV2D, 2, 1, x, x), relu = kernel_op(PLIM_OP_RELU, 1, 1, x, x);
  plim_kernel_info info[8];
  conv.in[1] = kernel_shape(PLIM_F32, 4, 32, 32, 1, 1);
  for (int i = 0; i < 2; i++) conv.attrs.kernel[i] = conv.attrs.stride[i] = 1;
  cr_assert_eq(device->api->kernels.variants(device, &conv, info, 8), 1);
  cr_assert_eq(device->api->kernels.variants(device, &relu, info, 8), 1);
  cr_assert_str_eq(info[0].name, "single-source");
}

/* An older GPU, whose library may make up for instructions that it has not. */
static void expect_products_in_bf16(int no_bf16, int products, const char *missing) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_device *older = NULL;
  plim_kernel_info info[8];
  void *kernel = NULL;
  const plim_shape x = kernel_shape(PLIM_F32, 2, 7, 12, 1, 1), y = kernel_shape(PLIM_F32, 2, 7, 5, 1, 1);
  plim_op_desc op = kernel_op(PLIM_OP_LINEAR, 2, 1, x, y);
  op.in[1] = kernel_shape(PLIM_F32, 2, 5, 12, 1, 1);
  options.blas = 1;
  options.major = 7;
  options.minor = 5;
  options.no_bf16 = no_bf16;
  plim_device_close(device);
  cr_assert_eq(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &older), PLIM_OK);
  device = older;
  cr_assert_eq(device->tf32, 0);
  cr_assert_eq(device->api->kernels.variants(device, &op, info, 8), 2, "fp32 has products");
  kernel_to_bf16(&op);
  cr_assert_eq(device->api->kernels.variants(device, &op, info, 8), 1 + products);
  cr_assert_eq(device->api->kernels.prepare(device, &op, "cublas", &kernel), products ? PLIM_OK : PLIM_EUNSUPPORTED);
  if (kernel) device->api->kernels.unprepare(device, kernel);
  cr_assert_str_eq(plim_device_cuda_missing(device), missing);
}

Test(cuda_gemm, products_in_bf16_are_offered_where_the_library_has_them) {
  expect_products_in_bf16(0, 1, "no cuDNN was found");
  expect_products_in_bf16(1, 0, "cuBLAS has no products in bf16 on this GPU; no cuDNN was found");
}

Test(cuda_gemm, without_a_library_the_single_source_kernels_serve_and_the_reason_is_kept) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_device *bare = NULL;
  const plim_shape x = kernel_shape(PLIM_F32, 2, 7, 12, 1, 1), y = kernel_shape(PLIM_F32, 2, 7, 5, 1, 1);
  plim_op_desc op = kernel_op(PLIM_OP_LINEAR, 2, 1, x, y);
  plim_kernel_info info[8];
  void *kernel = NULL;
  op.in[1] = kernel_shape(PLIM_F32, 2, 5, 12, 1, 1);
  plim_device_close(device);
  cr_assert_eq(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &bare), PLIM_OK);
  device = bare;
  cr_assert_eq(device->api->kernels.variants(device, &op, info, 8), 1);
  cr_assert_eq(device->api->kernels.prepare(device, &op, "cublas", &kernel), PLIM_EUNSUPPORTED);
  cr_assert_str_eq(plim_device_cuda_missing(device), "no library was found; no cuDNN was found");
}

/* 1 + 2^-8 + 2^-12 is 1 + 2^-7 in bf16, and with -2^-9 another number than what is right, which is 1. */
Test(cuda_gemm, a_bias_is_added_in_floats_and_the_sum_is_rounded_once) {
  const plim_shape one = kernel_shape(PLIM_F32, 2, 1, 1, 1, 1);
  const float bias = 1.0F + 1.0F / 256 + 1.0F / 4096;
  const uint16_t x = 0xbb00, w = 0x3f80; /* -2^-9 and 1 */
  plim_op_desc op = kernel_op(PLIM_OP_LINEAR, 3, 1, one, one);
  plim_kernel_args args = {.seed = 1};
  void *kernel = NULL, *memory = NULL;
  uint16_t y = 0;
  op.in[1] = one;
  op.in[2] = kernel_shape(PLIM_F32, 1, 1, 1, 1, 1);
  kernel_to_bf16(&op);
  cr_assert_eq(device->api->kernels.prepare(device, &op, "cublas", &kernel), PLIM_OK, "%s", plim_context_error(ctx));
  int64_t workspace = device->api->kernels.workspace(device, kernel), bytes = workspace + 4 * PLIM_ALIGN;
  cr_assert_eq(device->api->memory.alloc(device, bytes, &memory), PLIM_OK);
  char *at = (char *)memory + workspace;
  void *in[] = {at, at + PLIM_ALIGN, at + 2 * PLIM_ALIGN}, *out[] = {at + 3 * PLIM_ALIGN};
  args.in = in;
  args.out = out;
  args.workspace = memory;
  cr_assert_eq(device->api->queues.copy(device, 0, in[0], &x, sizeof x), PLIM_OK);
  cr_assert_eq(device->api->queues.copy(device, 0, in[1], &w, sizeof w), PLIM_OK);
  cr_assert_eq(device->api->queues.copy(device, 0, in[2], &bias, sizeof bias), PLIM_OK);
  cr_assert_eq(device->api->kernels.run(device, 0, kernel, &args), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(device->api->queues.copy(device, 0, &y, out[0], sizeof y), PLIM_OK);
  cr_assert_eq(device->api->queues.sync(device), PLIM_OK);
  cr_assert_eq(y, 0x3f80, "%04x", y);
  device->api->memory.release(device, memory, bytes);
  device->api->kernels.unprepare(device, kernel);
}
