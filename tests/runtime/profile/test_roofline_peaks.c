/* What a device can do at most: rates, and times by them. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/profile/roofline_peaks.h"
#include "tests/support/kernel_check.h"
#include "tests/support/kernel_samples.h"
#include "tests/support/small_graph.h"

static plim_roofline_peaks rates(double bytes_per_ns, double fp32, double tf32, double bf16) {
  return (plim_roofline_peaks){
      .bytes_per_ns = bytes_per_ns,
      .flops_per_ns = {[PLIM_PRECISION_FP32] = fp32, [PLIM_PRECISION_TF32] = tf32, [PLIM_PRECISION_BF16] = bf16}};
}

Test(roofline_peaks, an_op_takes_what_its_bytes_or_its_operations_take_whatever_is_more) {
  const plim_op_desc sum = kernel_sample(PLIM_OP_ADD, PLIM_FLAT);
  const double bytes = (double)plim_op_traffic(&sum), flops = (double)plim_op_flops(&sum);
  const plim_roofline_peaks slow_memory = rates(1e-3, 1e3, 1e3, 1e3), slow_arithmetic = rates(1e3, 1e-3, 1e3, 1e3);
  cr_assert_float_eq(plim_roofline_peaks_ns(&slow_memory, &sum), bytes * 1e3, 1e-6 * bytes);
  cr_assert_float_eq(plim_roofline_peaks_ns(&slow_arithmetic, &sum), flops * 1e3, 1e-6 * flops);
}

Test(roofline_peaks, operations_are_counted_at_the_rate_of_the_math_mode) {
  const plim_roofline_peaks roofline_peaks = rates(1e9, 1, 4, 16);
  plim_op_desc op = kernel_sample(PLIM_OP_LINEAR, PLIM_FLAT);
  const double flops = (double)plim_op_flops(&op);
  cr_assert_float_eq(plim_roofline_peaks_ns(&roofline_peaks, &op), flops, 1e-6 * flops);
  op.attrs.tf32 = 1;
  cr_assert_float_eq(plim_roofline_peaks_ns(&roofline_peaks, &op), flops / 4, 1e-6 * flops);
  op = kernel_sample_bf16(PLIM_OP_LINEAR_BWD_WEIGHTS, PLIM_FLAT); /* its output is f32 all the same */
  cr_assert_float_eq(plim_roofline_peaks_ns(&roofline_peaks, &op), (double)plim_op_flops(&op) / 16, 1e-6 * flops);
}

/* Each operand counted here by its shape, what is updated twice; arithmetic is at least an operation an element. */
Test(roofline_peaks, every_kind_of_op_has_bytes_and_operations) {
  for (int kind = PLIM_OP_CUSTOM + 1; kind < PLIM_OP_KIND_COUNT; kind++) {
    for (int bf16 = 0; bf16 < 2; bf16++) {
      const plim_op_desc op =
          bf16 ? kernel_sample_bf16((plim_op_kind)kind, PLIM_NHWC) : kernel_sample((plim_op_kind)kind, PLIM_NHWC);
      const plim_shape *largest = op.n_out > 0 ? &op.out[0] : &op.in[0];
      int64_t bytes = 0;
      for (int i = 0; i < op.n_in; i++) bytes += plim_shape_bytes(&op.in[i]);
      for (int i = 0; i < op.n_out; i++) bytes += plim_shape_bytes(&op.out[i]);
      for (int i = 0; i < op.n_upd; i++) bytes += 2 * plim_shape_bytes(&op.upd[i]);
      cr_assert_eq(plim_op_traffic(&op), bytes, "%s", plim_op_kind_name(op.kind));
      cr_assert_geq(plim_op_flops(&op), plim_shape_elements(largest), "%s", plim_op_kind_name(op.kind));
    }
  }
}

/* ---- bytes and operations, counted by loops ---- */

typedef struct window {
  int32_t kernel, stride, pad;
} window;

/* Images of 2 x 3 channels, 17 x 17; each position that a window covers is marked, and counted once. */
enum { IMAGES = 2, CHANNELS = 3, SIDE = 17, FILTERS = 5 };

static int64_t elements_read(window w, int64_t places) {
  static char read[SIDE][SIDE];
  int64_t n = 0;
  memset(read, 0, sizeof read);
  for (int64_t place = 0; place < places * places; place++) {
    for (int32_t tap = 0; tap < w.kernel * w.kernel; tap++) {
      const int64_t row = place / places * w.stride - w.pad + tap / w.kernel;
      const int64_t column = place % places * w.stride - w.pad + tap % w.kernel;
      if (row < 0 || row >= SIDE || column < 0 || column >= SIDE) continue;
      n += !read[row][column];
      read[row][column] = 1;
    }
  }
  return n * IMAGES * CHANNELS;
}

static plim_op_desc windows(plim_op_kind kind, window w, int depthwise, int weights, int64_t places) {
  const plim_shape x = kernel_activation(PLIM_NHWC, IMAGES, CHANNELS, SIDE, SIDE);
  const plim_shape y = kernel_activation(PLIM_NHWC, IMAGES, depthwise ? CHANNELS : FILTERS, places, places);
  const plim_shape f =
      kernel_shape(PLIM_F32, 4, depthwise ? CHANNELS : FILTERS, depthwise ? 1 : CHANNELS, w.kernel, w.kernel);
  plim_op_desc op = kernel_op(kind, 2, 1, weights ? y : x, weights ? f : y);
  op.in[1] = weights ? x : f;
  for (int i = 0; i < 2; i++) {
    op.attrs.kernel[i] = w.kernel;
    op.attrs.stride[i] = w.stride;
    op.attrs.pad[i] = w.pad;
  }
  return op;
}

Test(roofline_peaks, of_an_image_those_elements_move_that_a_window_covers) {
  static const plim_op_kind kinds[] = {PLIM_OP_CONV2D, PLIM_OP_CONV2D_BWD_WEIGHTS, PLIM_OP_DEPTHWISE_CONV2D,
                                       PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS};
  static const window cases[] = {{1, 1, 0}, {1, 2, 0}, {2, 3, 0}, {2, 5, 0}, {3, 1, 1}, {3, 2, 1}, {5, 3, 2}};
  const int64_t all = IMAGES * CHANNELS * SIDE * SIDE;
  for (size_t i = 0; i < 4 * sizeof cases / sizeof *cases; i++) {
    const window w = cases[i / 4];
    const int64_t places = (SIDE + 2 * w.pad - w.kernel) / w.stride + 1, read = elements_read(w, places);
    const plim_op_desc op = windows(kinds[i % 4], w, i % 4 > 1, i % 2 == 1, places);
    const int64_t others = plim_shape_bytes(&op.in[i % 2 == 0]) + plim_shape_bytes(&op.out[0]);
    const int64_t moved = (plim_op_traffic(&op) - others) / 4;
    cr_assert(plim_op_fits(&op, NULL, NULL, 0));
    if (w.stride >= w.kernel) {
      cr_assert_eq(moved, read, "%s, a window of %d moves by %d: %lld, not %lld", plim_op_kind_name(op.kind),
                   (int)w.kernel, (int)w.stride, (long long)moved, (long long)read);
    } else { /* windows overlap: all of the image */
      cr_assert_eq(moved, all, "%s", plim_op_kind_name(op.kind));
      cr_assert_geq(moved, read);
    }
  }
}

Test(roofline_peaks, of_a_table_those_rows_move_that_tokens_name) {
  for (int64_t words = 10; words < 100000; words *= 100) {
    plim_op_desc op = kernel_sample(PLIM_OP_EMBEDDING, PLIM_FLAT);
    const int64_t tokens = op.in[0].dim[0] * op.in[0].dim[1], columns = op.in[1].dim[1];
    op.in[1].dim[0] = words;
    const int64_t rows = words < tokens ? words : tokens; /* each at most once */
    const int64_t others = plim_shape_bytes(&op.in[0]) + plim_shape_bytes(&op.in[2]) + plim_shape_bytes(&op.out[0]);
    cr_assert_eq(plim_op_traffic(&op), others + 4 * rows * columns, "%lld words", (long long)words);
  }
}

/* A multiply-add is 2, for each element of a result and each element of the sums that it is of. */
static int64_t products(const plim_shape *result, int64_t depth) {
  int64_t n = 0;
  for (int64_t i = 0; i < plim_shape_elements(result); i++) {
    for (int64_t k = 0; k < depth; k++) n += 2;
  }
  return n;
}

static int64_t window_products(const plim_op_desc *op) {
  const int weights = op->kind == PLIM_OP_CONV2D_BWD_WEIGHTS || op->kind == PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS;
  const int data = op->kind == PLIM_OP_CONV2D_BWD_DATA || op->kind == PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA;
  const plim_shape *small = weights || data || op->kind == PLIM_OP_CONV_TRANSPOSE2D ? &op->in[0] : &op->out[0];
  const plim_shape *filter = weights ? &op->out[0] : &op->in[1];
  return products(small, filter->dim[1] * filter->dim[2] * filter->dim[3]);
}

/* Scores of a query are of the keys up to its own; a product of each with C numbers, in the forward pass twice. */
static int64_t attention_products(const plim_op_desc *op, int times) {
  const plim_shape *qkv = op->kind == PLIM_OP_ATTENTION ? &op->in[0] : &op->in[1];
  int64_t n = 0;
  for (int64_t query = 0; query < qkv->dim[1]; query++) {
    for (int64_t key = 0; key <= query; key++) n += 2 * times * qkv->dim[0] * qkv->dim[2] / 3;
  }
  return n;
}

Test(roofline_peaks, operations_are_those_that_loops_count) {
  for (int kind = PLIM_OP_CUSTOM + 1; kind < PLIM_OP_KIND_COUNT; kind++) {
    const plim_op_desc op = kernel_sample((plim_op_kind)kind, PLIM_NHWC);
    int64_t want = -1;
    switch (op.kind) {
      case PLIM_OP_CONV2D:
      case PLIM_OP_CONV2D_BWD_DATA:
      case PLIM_OP_CONV2D_BWD_WEIGHTS:
      case PLIM_OP_DEPTHWISE_CONV2D:
      case PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA:
      case PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS:
      case PLIM_OP_CONV_TRANSPOSE2D:
        want = window_products(&op);
        break;
      case PLIM_OP_LINEAR:
      case PLIM_OP_MATMUL:
      case PLIM_OP_MATMUL_NT:
        want = products(&op.out[0], op.in[0].dim[op.in[0].rank - 1]);
        break;
      case PLIM_OP_LINEAR_BWD_DATA:
        want = products(&op.out[0], op.in[0].dim[1]);
        break;
      case PLIM_OP_LINEAR_BWD_WEIGHTS:
      case PLIM_OP_MATMUL_TN:
        want = products(&op.out[0], op.in[0].dim[op.in[0].rank - 2]);
        break;
      case PLIM_OP_ATTENTION: /* scores, and sums of values; the row takes half of all pairs, without the diagonal */
        want = attention_products(&op, 2) - 2 * op.in[0].dim[0] * op.in[0].dim[1] * op.in[0].dim[2] / 3;
        break;
      case PLIM_OP_ATTENTION_BWD: /* scores again, gradients of them, of queries, keys, values */
        want = attention_products(&op, 5) - 5 * op.in[1].dim[0] * op.in[1].dim[1] * op.in[1].dim[2] / 3;
        break;
      case PLIM_OP_LINEAR_XENT:
        want = products(&op.in[0], op.in[2].dim[0]);
        break;
      case PLIM_OP_LINEAR_XENT_BWD: /* logits for x, logits for w, dx, dw */
        want = 2 * products(&op.in[0], op.in[2].dim[0]) + 2 * products(&op.out[1], op.in[0].dim[0]);
        break;
      default:
        cr_assert_null(plim_op_kind_row(op.kind)->flops, "%s is not counted here", plim_op_kind_name(op.kind));
        continue;
    }
    cr_assert_eq(plim_op_flops(&op), want, "%s: %lld, not %lld", plim_op_kind_name(op.kind),
                 (long long)plim_op_flops(&op), (long long)want);
  }
}

Test(roofline_peaks, a_device_has_a_rate_for_each_math_mode_that_it_has) {
  plim_context *ctx = plim_test_context();
  plim_device *device = NULL;
  plim_roofline_peaks roofline_peaks;
  cr_assert_eq(plim_device_open(ctx, "cpu", NULL, &device), PLIM_OK);
  cr_assert_eq(plim_roofline_peaks_measure(device, &roofline_peaks), PLIM_OK);
  cr_assert_gt(roofline_peaks.bytes_per_ns, 0);
  for (int math = 0; math < PLIM_PRECISION_COUNT; math++) {
    cr_assert_eq(roofline_peaks.flops_per_ns[math] > 0, math != PLIM_PRECISION_TF32, "%s",
                 plim_precision_name((plim_precision)math));
  }
  plim_device_close(device);
  plim_context_free(ctx);
}

Test(roofline_peaks, a_device_that_computes_nothing_has_none) {
  plim_context *ctx = plim_test_context();
  plim_device *device = NULL;
  plim_roofline_peaks roofline_peaks;
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &device), PLIM_OK);
  cr_assert_eq(plim_roofline_peaks_measure(device, &roofline_peaks), PLIM_EUNSUPPORTED);
  plim_device_close(device);
  plim_context_free(ctx);
}
