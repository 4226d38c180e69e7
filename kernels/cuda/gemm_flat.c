/* Convolutions of one tap that moves by one, activations in FLAT: images are matrices as they lie.
 *   forward   y  [n][O][P] = W [O][I] x [n][I][P]              for each image n, all in one call
 *   data      dx [n][I][P] = W [O][I]' dy [n][O][P]            the same
 *   weights   dW [O][I]    = sum over n of dy [n][O][P] x [n][I][P]'
 * The last one is cut into chunks of images. A chunk's products are one call, a part for each image, which the next
 * chunk adds to; the parts are summed in double precision. Of one image a chunk, the product adds to dW itself. Each
 * number of images is a variant with a numerics key of its own, because it sums in another order.
 * A bias is added to sums that are floats, and is no part of the product.
 *
 *   workspace = the library's, then y before it is rounded (forward with a bias, bf16), or
 *               parts [images][O][I] (weights) */
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/stages.h"
#include "kernels/workspace.h"

enum { SHARES = 3, BLAS_BYTES = PLIM_CUDA_LEAST_BLAS_BYTES };
static const int32_t shares[SHARES] = {1, 4, 16}; /* of the batch, from the fastest variant on */

typedef struct flat {
  plim_op_kind kind;
  k_call call;
  int64_t n, positions, inputs, results; /* images, P, I, O */
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

/* Images of a chunk in variant `row`; 0 when there is none such. Parts are summed in two halves of equal size. */
static int64_t images_of(const flat *f, int row) {
  const int64_t images = k_parts(f->n, shares[row]);
  if (f->kind != PLIM_OP_CONV2D_BWD_WEIGHTS) return row == 0 ? f->n : 0;
  if (f->results * f->inputs % 2 != 0) return row == 0;
  return row > 0 && images == k_parts(f->n, shares[row - 1]) ? 0 : images;
}

static int has_parts(const flat *f, int64_t images) {
  return f->kind == PLIM_OP_CONV2D_BWD_WEIGHTS && images > 1;
}

static int64_t workspace_of(const flat *f, int64_t images) {
  const int64_t part_bytes = f->results * f->inputs * (int64_t)sizeof(float);
  return BLAS_BYTES + f->sum_bytes + (has_parts(f, images) ? k_workspace_part(images * part_bytes) : 0);
}

static void name_variant(const flat *f, int64_t images, char name[32]) {
  const char *mode = f->precision == PLIM_PRECISION_TF32 ? "-tf32" : "";
  if (f->kind == PLIM_OP_CONV2D_BWD_WEIGHTS) {
    (void)snprintf(name, 32, "cublas-flat%s-%d", mode, (int)images);
  } else {
    (void)snprintf(name, 32, "cublas-flat%s", mode);
  }
}

int plim_cuda_flat_list(const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  flat f;
  int n = 0;
  if (!describe(op, &f)) return 0;
  for (int row = 0; row < SHARES; row++) {
    const int64_t images = images_of(&f, row);
    if (images == 0 || n++ >= capacity) continue;
    plim_kernel_info *out = &info[n - 1];
    memset(out, 0, sizeof *out);
    name_variant(&f, images, out->name);
    memcpy(out->label, out->name, sizeof out->label);
    out->workspace_bytes = workspace_of(&f, images);
  }
  return n;
}

/* ---- stages ---- */

static const plim_cuda_place after_blas = {PLIM_PLACE_WORKSPACE, BLAS_BYTES}, result = {PLIM_PLACE_OUT, 0};

static void add_products(plim_cuda_kernel *k, const flat *f, plim_cuda_product product, plim_cuda_place a,
                         plim_cuda_place b, plim_cuda_place c) {
  product.precision = f->precision;
  k->stage[k->n++] = (plim_cuda_stage){.multiplies = 1, .a = a, .b = b, .c = c, .product = product};
}

static void add_forward(plim_cuda_kernel *k, const flat *f) {
  const plim_cuda_place x = {0, 0}, weights = {1, 0}, sums = f->sum_bytes > 0 ? after_blas : result;
  add_products(k, f,
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
  add_products(k, f,
               (plim_cuda_product){.m = f->inputs,
                                   .n = f->positions,
                                   .k = f->results,
                                   .a_transposed = 1,
                                   .batches = f->n,
                                   .b_step = f->results * f->positions,
                                   .c_step = f->inputs * f->positions},
               weights, dy, result);
}

/* The kernel that combines biases' gradients adds up plane 0 of [chunks][2][C]. Of parts [images][O I] that is the
 * first half of each, and the second half where it begins by half a part later. */
static void add_halves(plim_cuda_kernel *k, const flat *f, int64_t images) {
  const int64_t half = f->results * f->inputs / 2, half_bytes = half * (int64_t)sizeof(float);
  for (int64_t i = 0; i < 2; i++) {
    plim_cuda_stage *stage = &k->stage[k->n++];
    *stage = (plim_cuda_stage){.body = K_BODY_bias_bwd_combine,
                               .c = {PLIM_PLACE_OUT, i * half_bytes},
                               .workspace = {PLIM_PLACE_WORKSPACE, BLAS_BYTES + i * half_bytes},
                               .has_workspace = 1,
                               .call = f->call,
                               .tiles = k_tiles(half, K_BODY_bias_bwd_combine)};
    stage->call.x = (k_view){.n = 1, .channels = half, .groups = 1, .spatial = images, .block = half};
    stage->call.chunks = stage->call.parts = images;
    stage->call.chunk = 1;
    stage->call.type = K_TYPE_FLOAT;
  }
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
    add_products(k, f, product, (plim_cuda_place){0, i * dy_step * element}, (plim_cuda_place){1, i * x_step * element},
                 has_parts(f, images) ? after_blas : result);
  }
  if (has_parts(f, images)) add_halves(k, f, images);
}

int plim_cuda_flat_make(const plim_op_desc *op, const char *variant, plim_cuda_kernel *kernel) {
  flat f;
  char name[32];
  int64_t images = 0;
  if (!describe(op, &f)) return PLIM_KERNEL_UNSUPPORTED;
  for (int row = 0; row < SHARES && images == 0; row++) {
    name_variant(&f, images_of(&f, row), name);
    if (strcmp(name, variant) == 0) images = images_of(&f, row);
  }
  if (images == 0) return PLIM_KERNEL_UNSUPPORTED;
  if (!plim_cuda_stages_make(kernel, 3 + k_parts(f.n, images))) return PLIM_KERNEL_NOMEM;
  kernel->blas_bytes = BLAS_BYTES;
  kernel->workspace_bytes = workspace_of(&f, images);
  if (f.kind == PLIM_OP_CONV2D) add_forward(kernel, &f);
  if (f.kind == PLIM_OP_CONV2D_BWD_DATA) add_data(kernel, &f);
  if (f.kind == PLIM_OP_CONV2D_BWD_WEIGHTS) add_weights(kernel, &f, images);
  return PLIM_KERNEL_OK;
}
