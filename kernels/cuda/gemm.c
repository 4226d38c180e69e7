/* Convolutions and linear layers by matrix products of cuBLAS. Activations are NHWC or [N][C]: a matrix with a row for
 * each position. Columns are a matrix, too: a row for each position of y, with the elements of x under its window.
 *   forward   y [P Q][O] = columns(x) [P Q][R S I] times W' [R S I][O]
 *   data      gradients of columns [P Q][R S I] = dy [P Q][O] times W [O][R S I]; dx is their sums by position of x
 *   weights   dW [O][R S I] = dy' [O][P Q] times columns(x) [P Q][R S I]
 *
 * Direct: a window of one element that moves by one. x is its columns, and W is in the order of the products.
 * By columns: those of some images at a time lie in the workspace. Each number of images is a variant.
 *
 * A variant has a numerics key of its own, because the library may sum in another order when a product has another size
 * or when the library has another workspace. Some GPUs have a variant with more of that workspace (`recommended`).
 *
 * In bf16 what is a sum so far stays in floats: the gradients of columns, and y before its bias has been added. It is
 * rounded once, on its way to dx or y.
 *
 *   workspace = the library's, weights as OHWI (R S > 1), columns, sums of y as floats (bf16 with a bias) */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/batch_shares.h"
#include "kernels/cuda/stages.h"
#include "kernels/workspace.h"

enum { MIB = 1 << 20 };

/* What the library is given, by the GPU's major compute capability. Source: NVIDIA, cuBLAS documentation,
 * cublasSetWorkspace, recommended sizes for 9.0, 10.x and 12.x; 4 MiB elsewhere. */
static const struct {
  int32_t major;
  int64_t bytes;
} recommended[] = {{9, 32 * MIB}, {10, 32 * MIB}, {12, 32 * MIB}};

int64_t plim_cuda_gemm_blas_bytes(int32_t major) {
  for (size_t i = 0; i < sizeof recommended / sizeof *recommended; i++) {
    if (recommended[i].major == major) return recommended[i].bytes;
  }
  return PLIM_CUDA_BLAS_BYTES_MIN;
}

typedef struct gemm {
  plim_op_kind kind; /* as a convolution */
  k_call call;
  int64_t positions, depth, results; /* P Q of an image, R S I, O */
  int64_t taps;
  plim_precision precision;
  int64_t element, column_element; /* bytes: of activations and weights, of columns */
  int64_t blas_bytes;              /* of the workspace, the library's part at its start */
  int direct;                      /* no columns */
  int bias;
} gemm;

static int is_like(plim_op_kind kind, plim_op_kind conv, plim_op_kind linear) {
  return kind == conv || kind == linear;
}

/* 0 when the op is none of these, or has other layouts. */
static int describe(const plim_op_desc *op, gemm *g) {
  k_launch launch;
  static const plim_op_kind kinds[][2] = {{PLIM_OP_CONV2D, PLIM_OP_LINEAR},
                                          {PLIM_OP_CONV2D_BWD_DATA, PLIM_OP_LINEAR_BWD_DATA},
                                          {PLIM_OP_CONV2D_BWD_WEIGHTS, PLIM_OP_LINEAR_BWD_WEIGHTS}};
  memset(g, 0, sizeof *g);
  g->kind = PLIM_OP_CUSTOM;
  for (int i = 0; i < 3; i++) {
    if (is_like(op->kind, kinds[i][0], kinds[i][1])) g->kind = kinds[i][0];
  }
  if (g->kind == PLIM_OP_CUSTOM || !k_launch_make(op, &launch)) return 0;
  const k_call *call = &launch.call;
  const plim_attrs *a = &call->attrs;
  g->call = *call;
  g->taps = (int64_t)a->kernel[0] * a->kernel[1];
  g->positions = call->y.spatial;
  g->depth = g->taps * call->x.channels;
  g->results = call->y.channels;
  g->precision = plim_op_math(op);
  g->element = g->precision == PLIM_PRECISION_BF16 ? 2 : 4;
  g->column_element = g->kind == PLIM_OP_CONV2D_BWD_DATA ? 4 : g->element;
  g->direct = g->taps == 1 && a->stride[0] == 1 && a->stride[1] == 1 && a->pad[0] == 0 && a->pad[1] == 0;
  g->bias = g->kind == PLIM_OP_CONV2D && op->n_in == 3;
  int64_t most = g->positions * call->x.n;
  if (call->x.groups != 1 || call->y.groups != 1) return 0;
  return most < INT32_MAX && g->depth < INT32_MAX && g->results < INT32_MAX;
}

/* Gradients of weights are floats. */
static int64_t weights_bytes(const gemm *g) {
  int64_t element = g->kind == PLIM_OP_CONV2D_BWD_WEIGHTS ? 4 : g->element;
  return g->taps == 1 ? 0 : k_workspace_part(g->results * g->depth * element);
}

static int64_t columns_bytes(const gemm *g, int64_t images) {
  return g->direct ? 0 : k_workspace_part(images * g->positions * g->depth * g->column_element);
}

/* Of y before it is rounded. */
static int64_t sums_bytes(const gemm *g, int64_t images) {
  int rounded = g->bias && g->precision == PLIM_PRECISION_BF16;
  return rounded ? k_workspace_part(images * g->positions * g->results * (int64_t)sizeof(float)) : 0;
}

static int64_t workspace_of(const void *op, const plim_batch_choice *choice) {
  const gemm *g = op;
  return choice->blas_bytes + weights_bytes(g) + columns_bytes(g, choice->share) + sums_bytes(g, choice->share);
}

/* blas_bytes: what the library is recommended to have; with more than the least there is a variant that gives it. */
static plim_batch_choices choices_of(const gemm *g, int64_t blas_bytes) {
  plim_batch_choices choices = {.family = g->direct ? "cublas" : "im2col",
                                .precision = g->precision,
                                .has_share = !g->direct,
                                .op = g,
                                .workspace_bytes = workspace_of};
  if (g->direct) {
    plim_batch_choices_add(&choices, g->call.x.n, PLIM_CUDA_BLAS_BYTES_MIN);
  } else {
    plim_batch_choices_add_shares(&choices, g->call.x.n);
  }
  plim_batch_choices_add_larger_blas(&choices, g->call.x.n, blas_bytes);
  return choices;
}

int plim_cuda_gemm_is_direct(const plim_op_desc *op) {
  gemm g;
  return describe(op, &g) && g.direct;
}

static int list(const gemm *g, int64_t blas_bytes, plim_kernel_info *info, int capacity) {
  const plim_batch_choices choices = choices_of(g, blas_bytes);
  return plim_batch_choices_list(&choices, info, capacity);
}

int plim_cuda_direct_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info,
                          int capacity) {
  gemm g;
  return describe(op, &g) && g.direct ? list(&g, engine->blas_bytes, info, capacity) : 0;
}

int plim_cuda_columns_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info,
                           int capacity) {
  gemm g;
  return describe(op, &g) && !g.direct ? list(&g, engine->blas_bytes, info, capacity) : 0;
}

/* ---- stages ---- */

static plim_cuda_stage *add(plim_cuda_kernel *k) {
  return &k->stage[k->n++];
}

static void add_kernel(plim_cuda_kernel *k, const gemm *g, k_kernel kernel, int64_t images, int64_t tiles,
                       plim_cuda_place from, plim_cuda_place to) {
  plim_cuda_stage *s = add(k);
  *s = (plim_cuda_stage){.in0 = from, .out0 = to, .kernel = kernel, .call = g->call, .tiles = tiles};
  s->call.x.n = s->call.y.n = images;
  s->call.elements = images * g->positions * g->results;
}

/* A filter is a matrix of channels and taps. */
static void add_transpose(plim_cuda_kernel *k, const gemm *g, k_kernel kernel, k_rows filter, plim_cuda_place from,
                          plim_cuda_place to) {
  add_kernel(k, g, kernel, 1, g->results, from, to);
  k->stage[k->n - 1].call.rows = filter;
}

/* One chunk: where its images begin in x and y, and its columns. */
typedef struct chunk {
  int64_t images, x_offset, y_offset;
  plim_cuda_place columns, weights, sums; /* sums: where they are rounded after the product */
  int first;
} chunk;

/* What the product is added to. */
static void add_bias(plim_cuda_kernel *k, const gemm *g, const chunk *c, plim_cuda_place to) {
  int64_t elements = c->images * g->positions * g->results;
  add_kernel(k, g, K_KERNEL_bias_rows, c->images, k_tiles(elements, K_KERNEL_bias_rows), plim_cuda_in(2, 0), to);
  if (sums_bytes(g, 1) > 0) k->stage[k->n - 1].call.type = K_TYPE_FLOAT;
}

static void add_forward(plim_cuda_kernel *k, const gemm *g, const chunk *c) {
  int64_t rows = c->images * g->positions;
  int rounded = sums_bytes(g, 1) > 0;
  plim_cuda_place to = rounded ? c->sums : plim_cuda_out(0, c->y_offset);
  if (g->bias) add_bias(k, g, c, to);
  if (!g->direct) {
    add_kernel(k, g, K_KERNEL_im2col, c->images, c->images * g->call.y.height, plim_cuda_in(0, c->x_offset),
               c->columns);
  }
  plim_cuda_add_product(k, g->precision,
                        (plim_cuda_product){.m = rows,
                                            .n = g->results,
                                            .k = g->depth,
                                            .b_transposed = 1,
                                            .beta = g->bias ? 1.0F : 0.0F,
                                            .c_is_f32 = rounded},
                        g->direct ? plim_cuda_in(0, c->x_offset) : c->columns, c->weights, to);
  if (!rounded) return;
  add_kernel(k, g, K_KERNEL_cast, c->images, k_tiles(rows * g->results, K_KERNEL_cast), to,
             plim_cuda_out(0, c->y_offset));
}

static void add_data(plim_cuda_kernel *k, const gemm *g, const chunk *c) {
  int64_t rows = c->images * g->positions;
  plim_cuda_place to = g->direct ? plim_cuda_out(0, c->x_offset) : c->columns;
  plim_cuda_add_product(k, g->precision,
                        (plim_cuda_product){.m = rows, .n = g->depth, .k = g->results, .c_is_f32 = !g->direct},
                        plim_cuda_in(0, c->y_offset), c->weights, to);
  if (g->direct) return;
  add_kernel(k, g, K_KERNEL_col2im, c->images, c->images * g->call.x.height, c->columns, plim_cuda_out(0, c->x_offset));
}

static void add_weights(plim_cuda_kernel *k, const gemm *g, const chunk *c) {
  int64_t rows = c->images * g->positions;
  if (!g->direct) {
    add_kernel(k, g, K_KERNEL_im2col, c->images, c->images * g->call.y.height, plim_cuda_in(1, c->x_offset),
               c->columns);
  }
  plim_cuda_add_product(
      k, g->precision,
      (plim_cuda_product){
          .m = g->results, .n = g->depth, .k = rows, .a_transposed = 1, .beta = c->first ? 0.0F : 1.0F, .c_is_f32 = 1},
      plim_cuda_in(0, c->y_offset), g->direct ? plim_cuda_in(1, c->x_offset) : c->columns,
      g->taps == 1 ? plim_cuda_out(0, 0) : c->weights);
}

static void add_chunks(plim_cuda_kernel *k, const gemm *g, int64_t images) {
  const int64_t n = g->call.x.n;
  chunk c = {.weights = g->taps == 1 ? plim_cuda_in(1, 0) : plim_cuda_work(g->blas_bytes),
             .columns = plim_cuda_work(g->blas_bytes + weights_bytes(g))};
  c.sums = plim_cuda_work(c.columns.offset + columns_bytes(g, images));
  for (int64_t i = 0; i < n; i += images) {
    c.images = n - i < images ? n - i : images;
    c.x_offset = i * g->call.x.spatial * g->call.x.channels * g->element;
    c.y_offset = i * g->positions * g->results * g->element;
    c.first = i == 0;
    if (g->kind == PLIM_OP_CONV2D) add_forward(k, g, &c);
    if (g->kind == PLIM_OP_CONV2D_BWD_DATA) add_data(k, g, &c);
    if (g->kind == PLIM_OP_CONV2D_BWD_WEIGHTS) add_weights(k, g, &c);
  }
}

int plim_cuda_gemm_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                        plim_cuda_kernel *kernel) {
  gemm g;
  if (!describe(op, &g)) return PLIM_KERNEL_UNSUPPORTED;
  const plim_batch_choices choices = choices_of(&g, engine->blas_bytes);
  const plim_batch_choice *choice = plim_batch_choices_find(&choices, variant);
  if (!choice) return PLIM_KERNEL_UNSUPPORTED;
  if (!plim_cuda_stages_make(kernel, 2 + 4 * k_divide_up(g.call.x.n, choice->share))) return PLIM_KERNEL_NOMEM;
  g.blas_bytes = choice->blas_bytes;
  kernel->blas_bytes = g.blas_bytes;
  kernel->workspace_bytes = workspace_of(&g, choice);
  int to_weights = g.kind == PLIM_OP_CONV2D_BWD_WEIGHTS;
  const plim_cuda_place weights = plim_cuda_work(g.blas_bytes);
  if (g.taps > 1 && !to_weights) {
    add_transpose(kernel, &g, K_KERNEL_transpose, (k_rows){g.call.x.channels, g.taps}, plim_cuda_in(1, 0), weights);
  }
  add_chunks(kernel, &g, choice->share);
  if (g.taps > 1 && to_weights) {
    add_transpose(kernel, &g, K_KERNEL_transpose_f32, (k_rows){g.taps, g.call.x.channels}, weights,
                  plim_cuda_out(0, 0));
  }
  return PLIM_KERNEL_OK;
}
