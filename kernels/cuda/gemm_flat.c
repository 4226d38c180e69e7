/* Convolutions of one tap that moves by one, activations in FLAT: images are matrices as they lie.
 *   forward   y  [N][O][P Q] = W [O][I] x [N][I][P Q]          for each image, all in one call
 *   data      dx [N][I][P Q] = W [O][I]' dy [N][O][P Q]        the same
 *   weights   dW [O][I]      = sum over N of dy [N][O][P Q] x [N][I][P Q]'
 * The last one is cut into chunks of images. A chunk's products are one call, a part for each image, which the next
 * chunk adds to; the parts are summed in double precision (parts_sum, channel.inc). Of one image a chunk, the product
 * adds to dW itself. Each number of images is a variant with a numerics key of its own, because it sums in another
 * order. A bias is added to sums that are floats, and is no part of the product.
 *
 *   workspace = the library's, then y before it is rounded (forward with a bias, bf16), or
 *               parts [images][O][I] (weights) */
#include <string.h>

#include "kernels/cuda/batch_shares.h"
#include "kernels/cuda/stages.h"
#include "kernels/workspace.h"

enum { BLAS_BYTES = PLIM_CUDA_BLAS_BYTES_MIN };

typedef struct flat {
  plim_op_kind kind;
  k_call call;
  int64_t n, positions, inputs, results; /* N, P Q, I, O */
  plim_precision precision;
  k_view y;          /* with a bias */
  int64_t sum_bytes; /* of y before it is rounded; 0: it is not */
  int bias;
} flat;

static int is_flat(const plim_shape *shape) {
  return shape->rank == 4 && shape->layout == PLIM_FLAT;
}

/* 0 when the op is no such convolution. */
static int describe(const plim_op_desc *op, flat *f) {
  k_launch launch;
  memset(f, 0, sizeof *f);
  const int weights = op->kind == PLIM_OP_CONV2D_BWD_WEIGHTS, is_forward = op->kind == PLIM_OP_CONV2D;
  if (!is_forward && !weights && op->kind != PLIM_OP_CONV2D_BWD_DATA) return 0;
  if (!k_launch_make(op, &launch) || !is_flat(&op->in[0]) || !is_flat(weights ? &op->in[1] : &op->out[0])) return 0;
  const plim_attrs *a = &launch.call.attrs;
  for (int i = 0; i < 2; i++) {
    if (a->kernel[i] != 1 || a->stride[i] != 1 || a->pad[i] != 0) return 0;
  }
  *f = (flat){.kind = op->kind,
              .call = launch.call,
              .n = launch.call.x.n,
              .positions = launch.call.y.spatial,
              .inputs = launch.call.x.channels,
              .results = launch.call.y.channels,
              .precision = plim_op_math(op),
              .bias = is_forward && op->n_in == 3};
  if (f->bias && !k_view_merged(&op->out[0], &f->y)) return 0;
  if (f->bias && f->precision == PLIM_PRECISION_BF16) {
    f->sum_bytes = k_workspace_part(plim_shape_elements(&op->out[0]) * (int64_t)sizeof(float));
  }
  return f->n < INT32_MAX && f->positions < INT32_MAX && f->inputs < INT32_MAX && f->results < INT32_MAX;
}

static int has_parts(const flat *f, int64_t images) {
  return f->kind == PLIM_OP_CONV2D_BWD_WEIGHTS && images > 1;
}

static int64_t workspace_of(const void *op, const plim_batch_choice *choice) {
  const flat *f = op;
  const int64_t part_bytes = f->results * f->inputs * (int64_t)sizeof(float);
  const int64_t parts_bytes = has_parts(f, choice->share) ? k_workspace_part(choice->share * part_bytes) : 0;
  return choice->blas_bytes + f->sum_bytes + parts_bytes;
}

/* Only gradients of weights are cut into chunks. */
static plim_batch_choices choices_of(const flat *f) {
  plim_batch_choices choices = {.family = "cublas-flat",
                                .precision = f->precision,
                                .has_share = f->kind == PLIM_OP_CONV2D_BWD_WEIGHTS,
                                .op = f,
                                .workspace_bytes = workspace_of};
  if (choices.has_share) {
    plim_batch_choices_add_shares(&choices, f->n);
  } else {
    plim_batch_choices_add(&choices, f->n, BLAS_BYTES);
  }
  return choices;
}

int plim_cuda_flat_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  flat f;
  (void)engine;
  if (plim_cuda_gemm_is_direct(op) || !describe(op, &f)) return 0;
  const plim_batch_choices choices = choices_of(&f);
  return plim_batch_choices_list(&choices, info, capacity);
}

/* ---- stages ---- */

static const plim_cuda_place after_blas = {PLIM_PLACE_WORKSPACE, BLAS_BYTES}, result = {PLIM_PLACE_OUT, 0};

static void add_forward(plim_cuda_kernel *k, const flat *f) {
  const plim_cuda_place x = {0, 0}, weights = {1, 0}, sums = f->sum_bytes > 0 ? after_blas : result;
  plim_cuda_add_product(k, f->precision,
                        (plim_cuda_product){.m = f->results,
                                            .n = f->positions,
                                            .k = f->inputs,
                                            .c_is_f32 = f->sum_bytes > 0,
                                            .batches = f->n,
                                            .b_step = f->inputs * f->positions,
                                            .c_step = f->results * f->positions},
                        weights, x, sums);
  if (f->bias) plim_cuda_stages_add_bias(k, &f->call, &f->y, sums, f->sum_bytes > 0);
}

static void add_data(plim_cuda_kernel *k, const flat *f) {
  const plim_cuda_place dy = {0, 0}, weights = {1, 0};
  plim_cuda_add_product(k, f->precision,
                        (plim_cuda_product){.m = f->inputs,
                                            .n = f->positions,
                                            .k = f->results,
                                            .a_transposed = 1,
                                            .batches = f->n,
                                            .b_step = f->results * f->positions,
                                            .c_step = f->inputs * f->positions},
                        weights, dy, result);
}

static void add_sum_of_parts(plim_cuda_kernel *k, const flat *f, int64_t images) {
  plim_cuda_stage *stage = &k->stage[k->n++];
  *stage = (plim_cuda_stage){.kernel = K_KERNEL_parts_sum, .in0 = after_blas, .out0 = result, .call = f->call};
  stage->call.type = K_TYPE_FLOAT;
  stage->call.rows = (k_rows){.n = images, .columns = f->results * f->inputs};
  stage->tiles = k_tiles(stage->call.rows.columns, K_KERNEL_parts_sum);
}

static void add_weights(plim_cuda_kernel *k, const flat *f, int64_t images) {
  const int64_t element = f->precision == PLIM_PRECISION_BF16 ? 2 : 4, part = f->results * f->inputs;
  const int64_t x_step = f->inputs * f->positions, dy_step = f->results * f->positions;
  for (int64_t i = 0; i < f->n; i += images) {
    const plim_cuda_product product = {.m = f->results,
                                       .n = f->inputs,
                                       .k = f->positions,
                                       .b_transposed = 1,
                                       .beta = i > 0 ? 1.0F : 0.0F,
                                       .c_is_f32 = 1,
                                       .batches = f->n - i < images ? f->n - i : images,
                                       .a_step = dy_step,
                                       .b_step = x_step,
                                       .c_step = part};
    plim_cuda_add_product(k, f->precision, product, (plim_cuda_place){0, i * dy_step * element},
                          (plim_cuda_place){1, i * x_step * element}, has_parts(f, images) ? after_blas : result);
  }
  if (has_parts(f, images)) add_sum_of_parts(k, f, images);
}

int plim_cuda_flat_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                        plim_cuda_kernel *kernel) {
  flat f;
  (void)engine;
  if (!describe(op, &f)) return PLIM_KERNEL_UNSUPPORTED;
  const plim_batch_choices choices = choices_of(&f);
  const plim_batch_choice *choice = plim_batch_choices_find(&choices, variant);
  if (!choice) return PLIM_KERNEL_UNSUPPORTED;
  if (!plim_cuda_stages_make(kernel, 2 + k_divide_up(f.n, choice->share))) return PLIM_KERNEL_NOMEM;
  kernel->blas_bytes = choice->blas_bytes;
  kernel->workspace_bytes = workspace_of(&f, choice);
  if (f.kind == PLIM_OP_CONV2D) add_forward(kernel, &f);
  if (f.kind == PLIM_OP_CONV2D_BWD_DATA) add_data(kernel, &f);
  if (f.kind == PLIM_OP_CONV2D_BWD_WEIGHTS) add_weights(kernel, &f, choice->share);
  return PLIM_KERNEL_OK;
}
