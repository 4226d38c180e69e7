/* The kernels with many threads a thread block, as CUDA has them, against the same kernels with one. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/kernel_check.h"
#include "tests/support/kernel_samples.h"
#include "tests/support/thread_block.h"

static void expect_same(const plim_op_desc *op) {
  kernel_operands one, many;
  k_launch launch;
  cr_assert(k_launch_make(op, &launch));
  kernel_operands_make(op, 1, 0, &one);
  kernel_operands_make(op, 1, 0, &many);
  kernel_run_once(op, NULL, "single-source", 1, 0, &one);
  float *workspace = malloc((size_t)launch.workspace_bytes + 1);
  const plim_kernel_args args = {
      .in = many.in, .out = many.out, .upd = many.upd, .workspace = workspace, .op = KERNEL_RUN_OP};
  const uint64_t now[2] = {KERNEL_RUN_SEED, KERNEL_RUN_STEP};
  const k_call call = k_launch_bind(&launch, &args, now);
  block_run(&launch, &call);
  kernel_operands_compare(op, &one, &many);
  free(workspace);
  kernel_operands_free(op, &one);
  kernel_operands_free(op, &many);
}

Test(kernels_block, agree_with_one_lane) {
  for (int layout = 0; layout < PLIM_LAYOUT_COUNT; layout++) {
    for (int kind = 0; kind < k_launch_kinds(); kind++) {
      const plim_op_desc op = kernel_sample(k_launch_kind(kind), (plim_layout)layout);
      expect_same(&op);
    }
  }
}

Test(kernels_block, agree_with_one_lane_in_bf16) {
  for (int kind = 0; kind < k_launch_kinds(); kind++) {
    const plim_op_desc op = kernel_sample_bf16(k_launch_kind(kind), PLIM_NHWC);
    expect_same(&op);
  }
}

/* x with the statistics of its channels: more than a thread block has lanes, fewer than a vector has elements, and so
 * on. */
Test(kernels_block, sum_by_channel_whatever_the_number_of_channels) {
  static const int64_t channels[] = {1, 3, 8, 10, 24, 8 * BLOCK_LANES, 8 * BLOCK_LANES + 4};
  for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
    for (int planes = 0; planes < 2; planes++) {
      const plim_shape x = kernel_activation(planes ? PLIM_FLAT : PLIM_NHWC, 2, channels[i], 5, 7);
      const plim_shape pair = kernel_shape(PLIM_F32, 2, 2, channels[i], 1, 1);
      const plim_op_desc stats = kernel_op(PLIM_OP_BN_STATS, 1, 1, x, pair);
      const plim_op_desc bias = kernel_op(PLIM_OP_BIAS_BWD, 1, 1, x, kernel_shape(PLIM_F32, 1, channels[i], 1, 1, 1));
      const plim_op_desc mean =
          kernel_op(PLIM_OP_GLOBAL_AVG_POOL, 1, 1, x, kernel_activation(PLIM_FLAT, 2, channels[i], 0, 0));
      expect_same(&stats);
      expect_same(&bias);
      expect_same(&mean);
    }
  }
}

/* ---- vectors: tails, and channels that do or do not fill them ---- */

static void set_channels(plim_shape *shape, int count, int64_t channels) {
  for (int i = 0; i < count; i++) {
    if (shape[i].rank == 4) shape[i].dim[1] = channels;
  }
}

Test(kernels_block, elements_may_end_in_the_middle_of_a_vector) {
  static const plim_op_kind kinds[] = {PLIM_OP_CAST, PLIM_OP_RELU,    PLIM_OP_RELU_BWD,   PLIM_OP_ADD,
                                       PLIM_OP_SGD,  PLIM_OP_DROPOUT, PLIM_OP_DROPOUT_BWD};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    for (int64_t channels = 27; channels < 34; channels += 2) { /* of 315 elements each */
      for (int bf16 = 0; bf16 < 2; bf16++) {
        plim_op_desc op = bf16 ? kernel_sample_bf16(kinds[i], PLIM_FLAT) : kernel_sample(kinds[i], PLIM_FLAT);
        set_channels(op.in, op.n_in, channels);
        set_channels(op.out, op.n_out, channels);
        set_channels(op.upd, op.n_upd, channels);
        expect_same(&op);
      }
    }
  }
}

/* One kernel on its own, as stages of a kernel run it. */
static void run_kernel(k_kernel kernel, k_call call, int64_t tiles) {
  const k_launch launch = {.call = call, .phases = 1, .phase = {{.kernel = kernel, .tiles = tiles}}};
  block_run(&launch, &call);
}

enum { ROWS = 5, COLUMNS = 6, MOST = 2 * ROWS * COLUMNS * 24 };
static const int64_t widths[] = {3, 8, 10, 24};

Test(kernels_block, a_bias_is_added_to_each_channel) {
  for (int i = 0; i < 4 * PLIM_LAYOUT_COUNT; i++) {
    const int64_t channels = widths[i / PLIM_LAYOUT_COUNT];
    const plim_shape shape = kernel_activation((plim_layout)(i % PLIM_LAYOUT_COUNT), 2, channels, ROWS, COLUMNS);
    float bias[24], y[MOST];
    k_call call = {.in = {bias}, .out = {y}};
    if (!k_view_merged(&shape, &call.x)) continue; /* blocks that the channels do not fill */
    const k_view *v = &call.x;
    for (int64_t c = 0; c < channels; c++) bias[c] = 0.1F + (float)c;
    for (int64_t e = 0; e < plim_shape_elements(&shape); e++) y[e] = (float)e / 7;
    run_kernel(K_KERNEL_bias_add, call, k_launch_positions(&call, K_KERNEL_bias_add));
    for (int64_t e = 0; e < plim_shape_elements(&shape); e++) {
      const int64_t channel = e / (v->block * v->spatial) % v->groups * v->block + e % v->block;
      const float expected = (float)e / 7 + bias[channel];
      cr_assert_eq(y[e], expected, "%s, %d channels: [%d]", plim_layout_name(shape.layout), (int)channels, (int)e);
    }
  }
}

/* Windows of 3 x 3 that stay in place; columns[position][tap][channel]. */
static int64_t column_at(const float *image, int64_t channels, int64_t e, float *value) {
  const int64_t tap = e / channels % 9, position = e / channels / 9, c = e % channels;
  const int64_t h = position / COLUMNS % ROWS + tap / 3 - 1, w = position % COLUMNS + tap % 3 - 1;
  const int inside = h >= 0 && h < ROWS && w >= 0 && w < COLUMNS;
  const int64_t at = ((position / (ROWS * COLUMNS) * ROWS + h) * COLUMNS + w) * channels + c;
  *value = inside ? image[at] : 0;
  return inside ? at : -1;
}

Test(kernels_block, columns_are_taken_from_images_and_added_up_into_them_whatever_the_number_of_channels) {
  static float image[MOST], columns[9 * MOST], sums[MOST], expected[MOST];
  for (int i = 0; i < 4; i++) {
    const int64_t channels = widths[i], elements = 2 * ROWS * COLUMNS * channels;
    const plim_shape shape = kernel_activation(PLIM_NHWC, 2, channels, ROWS, COLUMNS);
    k_call call = {.in = {image}, .out = {columns}, .attrs = {.kernel = {3, 3}, .stride = {1, 1}, .pad = {1, 1}}};
    cr_assert(k_view_make(&shape, &call.x) && k_view_make(&shape, &call.y));
    for (int64_t e = 0; e < elements; e++) image[e] = (float)(e % 101 + 1);
    for (int64_t e = 0; e < elements; e++) expected[e] = 0;
    run_kernel(K_KERNEL_im2col, call, 2 * ROWS);
    for (int64_t e = 0; e < 9 * elements; e++) {
      float value;
      const int64_t at = column_at(image, channels, e, &value);
      cr_assert_eq(columns[e], value, "%d channels: column [%d]", (int)channels, (int)e);
      if (at >= 0) expected[at] += value;
    }
    call.in[0] = columns;
    call.out[0] = sums;
    run_kernel(K_KERNEL_col2im, call, 2 * ROWS);
    for (int64_t e = 0; e < elements; e++)
      cr_assert_eq(sums[e], expected[e], "%d channels: [%d]", (int)channels, (int)e);
  }
}

/* ---- what travels in bytes, rows of any width, another order ---- */

/* More positions than a tile has. */
Test(kernels_block, pixels_become_numbers_in_each_layout_whatever_the_number_of_channels) {
  for (int i = 0; i < 4 * 2 * 2; i++) {
    const int64_t channels = 1 + i / 4;
    const plim_layout layout = i % 2 ? PLIM_FLAT : PLIM_NHWC;
    plim_op_desc op = i / 2 % 2 ? kernel_sample_bf16(PLIM_OP_IMAGE, layout) : kernel_sample(PLIM_OP_IMAGE, layout);
    const plim_dtype type = op.out[0].dtype;
    op.in[0] = kernel_activation(PLIM_NHWC, 2, channels, 33, 37);
    op.in[0].dtype = PLIM_U8;
    op.out[0] = kernel_activation(layout, 2, channels, 33, 37);
    op.out[0].dtype = type;
    op.attrs.scale[3] = 3;
    expect_same(&op);
  }
}

Test(kernels_block, rows_of_the_loss_have_any_number_of_classes) {
  static const int64_t classes[] = {1, 7, 8, 10, 24, 8 * BLOCK_LANES + 3};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    for (int bf16 = 0; bf16 < 2; bf16++) {
      static const plim_op_kind kinds[] = {PLIM_OP_SOFTMAX_XENT, PLIM_OP_SOFTMAX_XENT_BWD};
      for (int k = 0; k < 2; k++) {
        plim_op_desc op = bf16 ? kernel_sample_bf16(kinds[k], PLIM_FLAT) : kernel_sample(kinds[k], PLIM_FLAT);
        op.in[0].dim[1] = op.out[k == 0 ? 2 : 0].dim[1] = classes[i];
        expect_same(&op);
      }
    }
  }
}

Test(kernels_block, weights_change_their_order_and_back_whatever_the_number_of_channels) {
  enum { FILTERS = 3, TAPS = 9 };
  static float weights[FILTERS * TAPS * 24], turned[FILTERS * TAPS * 24], back[FILTERS * TAPS * 24];
  for (int i = 0; i < 4; i++) {
    const int64_t channels = widths[i], elements = FILTERS * TAPS * channels;
    k_call call = {.in = {weights}, .out = {turned}, .rows = {.n = channels, .columns = TAPS}};
    for (int64_t e = 0; e < elements; e++) weights[e] = (float)e;
    run_kernel(K_KERNEL_transpose, call, FILTERS);
    for (int64_t e = 0; e < elements; e++) {
      const int64_t filter = e / (TAPS * channels), tap = e / channels % TAPS, c = e % channels;
      cr_assert_eq(turned[e], weights[(filter * channels + c) * TAPS + tap], "%d channels: [%d]", (int)channels,
                   (int)e);
    }
    call.in[0] = turned;
    call.out[0] = back;
    call.rows = (k_rows){.n = TAPS, .columns = channels};
    run_kernel(i % 2 ? K_KERNEL_transpose_f32 : K_KERNEL_transpose_widen, call, FILTERS);
    for (int64_t e = 0; e < elements; e++)
      cr_assert_eq(back[e], weights[e], "%d channels: [%d]", (int)channels, (int)e);
  }
}

/* Numbers that floats add without rounding. */
Test(kernels_block, parts_are_summed_element_by_element_whatever_their_number) {
  enum { PARTS = 37 };
  static float part[PARTS * 24], sum[24];
  for (int e = 0; e < PARTS * 24; e++) part[e] = (float)(e % 1009);
  for (int i = 0; i < 4 * 3; i++) {
    static const int64_t counts[] = {1, 2, PARTS};
    const int64_t columns = widths[i / 3], parts = counts[i % 3];
    const k_call call = {.in = {part}, .out = {sum}, .rows = {.n = parts, .columns = columns}};
    run_kernel(K_KERNEL_parts_sum, call, k_tiles(columns, K_KERNEL_parts_sum));
    for (int64_t c = 0; c < columns; c++) {
      float expected = 0;
      for (int64_t p = 0; p < parts; p++) expected += part[p * columns + c];
      cr_assert_eq(sum[c], expected, "%d parts of %d: [%d]", (int)parts, (int)columns, (int)c);
    }
  }
}
