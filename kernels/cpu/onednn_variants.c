/* Which implementations of oneDNN are variants of an op: a walk over what the library offers, without those that break
 * the promise about memory or are of no use. */
#include "kernels/cpu/onednn_variants.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "kernels/launch.h"

/* ---- which operand of an op is which argument of the primitive ---- */

#define READ(arg, position) \
  { DNNL_ARG_##arg, PLIM_ONEDNN_IN, position, 0 }
#define READ_TRANSPOSED(arg, position) \
  { DNNL_ARG_##arg, PLIM_ONEDNN_IN, position, 1 }
#define WRITE(arg) \
  { DNNL_ARG_##arg, PLIM_ONEDNN_OUT, 0, 0 }

/* y = x w', dx = dy w, dw = dy' x as products of SRC [M,K] and WEIGHTS [K,N]. */
static const plim_onednn_operation operations[] = {
    {PLIM_OP_CONV2D, dnnl_forward_training, {READ(SRC, 0), READ(WEIGHTS, 1), WRITE(DST), READ(BIAS, 2)}},
    {PLIM_OP_CONV2D_BWD_DATA, dnnl_backward_data, {WRITE(DIFF_SRC), READ(WEIGHTS, 1), READ(DIFF_DST, 0)}},
    {PLIM_OP_CONV2D_BWD_WEIGHTS, dnnl_backward_weights, {READ(SRC, 1), WRITE(DIFF_WEIGHTS), READ(DIFF_DST, 0)}},
    {PLIM_OP_DEPTHWISE_CONV2D, dnnl_forward_training, {READ(SRC, 0), READ(WEIGHTS, 1), WRITE(DST)}},
    {PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA, dnnl_backward_data, {WRITE(DIFF_SRC), READ(WEIGHTS, 1), READ(DIFF_DST, 0)}},
    {PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS,
     dnnl_backward_weights,
     {READ(SRC, 1), WRITE(DIFF_WEIGHTS), READ(DIFF_DST, 0)}},
    /* what oneDNN's deconvolution does inside */
    {PLIM_OP_CONV_TRANSPOSE2D, dnnl_backward_data, {WRITE(DIFF_SRC), READ(WEIGHTS, 1), READ(DIFF_DST, 0)}},
    {PLIM_OP_LINEAR, dnnl_prop_kind_undef, {READ(SRC, 0), READ_TRANSPOSED(WEIGHTS, 1), WRITE(DST), READ(BIAS, 2)}},
    {PLIM_OP_LINEAR_BWD_DATA, dnnl_prop_kind_undef, {READ(SRC, 0), READ(WEIGHTS, 1), WRITE(DST)}},
    {PLIM_OP_LINEAR_BWD_WEIGHTS, dnnl_prop_kind_undef, {READ_TRANSPOSED(SRC, 0), READ(WEIGHTS, 1), WRITE(DST)}},
    {PLIM_OP_MATMUL, dnnl_prop_kind_undef, {READ(SRC, 0), READ(WEIGHTS, 1), WRITE(DST)}},
    {PLIM_OP_MATMUL_NT, dnnl_prop_kind_undef, {READ(SRC, 0), READ(WEIGHTS, 1), WRITE(DST)}},
    {PLIM_OP_MATMUL_TN, dnnl_prop_kind_undef, {READ(SRC, 0), READ(WEIGHTS, 1), WRITE(DST)}},
    {PLIM_OP_SOFTMAX, dnnl_forward_inference, {READ(SRC, 0), WRITE(DST)}},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static const plim_onednn_operation *operation_find(plim_op_kind kind) {
  for (int i = 0; i < OPERATIONS; i++) {
    if (operations[i].kind == kind) return &operations[i];
  }
  return NULL;
}

static int is_softmax(const plim_onednn_operation *f) {
  return f->kind == PLIM_OP_SOFTMAX;
}

/* Operands that the op really has: a bias may be absent. -1 when their number suits no form of the kind. */
static int operand_count(const plim_onednn_operation *f, const plim_op_desc *op) {
  int least = is_softmax(f) ? 2 : 3, most = f->operand[PLIM_ONEDNN_BIAS].arg ? 4 : least;
  int n = op->n_in + op->n_out;
  return op->n_out == 1 && op->n_upd == 0 && n >= least && n <= most ? n : -1;
}

/* ---- operands in oneDNN's words ---- */

static dnnl_format_tag_t tag_of(const plim_shape *shape, int transposed) {
  static const dnnl_format_tag_t by_layout[PLIM_LAYOUT_COUNT] = {dnnl_nchw, dnnl_nhwc, dnnl_nChw8c, dnnl_nChw16c};
  if (shape->rank == 4) return by_layout[shape->layout];
  return transposed ? dnnl_ba : dnnl_ab;
}

static dnnl_data_type_t type_of(plim_dtype dtype) {
  return dtype == PLIM_BF16 ? dnnl_bf16 : dtype == PLIM_F32 ? dnnl_f32 : dnnl_data_type_undef;
}

static dnnl_status_t describe(const plim_shape *shape, int transposed, plim_dnnl_md *out) {
  if (shape->rank != 4 && shape->rank != 2) return dnnl_unimplemented;
  dnnl_dims_t dim = {0};
  for (int i = 0; i < shape->rank; i++) dim[i] = shape->dim[transposed ? shape->rank - 1 - i : i];
  return plim_dnnl_md_new(shape->rank, dim, type_of(shape->dtype), tag_of(shape, transposed), out);
}

static int is_depthwise(const plim_onednn_operation *f) {
  return f->kind >= PLIM_OP_DEPTHWISE_CONV2D && f->kind <= PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS;
}

/* Weights [C][1][R][S] as oneDNN has those of groups: [groups][outputs][inputs][R][S]. */
static dnnl_status_t describe_filters(const plim_shape *shape, plim_dnnl_md *out) {
  if (shape->rank != 4 || shape->dim[1] != 1) return dnnl_unimplemented;
  const dnnl_dims_t dim = {shape->dim[0], 1, 1, shape->dim[2], shape->dim[3]};
  return plim_dnnl_md_new(5, dim, type_of(shape->dtype), dnnl_goihw, out);
}

/* A bias [O] belongs to a convolution as a vector, to a matrix product as one row. */
static dnnl_status_t describe_bias(const plim_onednn_operation *f, const plim_shape *shape, plim_dnnl_md *out) {
  if (shape->dtype != PLIM_F32 || shape->rank != 1) return dnnl_unimplemented;
  int matrix = f->prop == dnnl_prop_kind_undef;
  dnnl_dims_t dim = {matrix ? 1 : shape->dim[0], shape->dim[0]};
  return plim_dnnl_md_new(matrix ? 2 : 1, dim, dnnl_f32, matrix ? dnnl_ab : dnnl_a, out);
}

static int is_matmul(const plim_onednn_operation *f) {
  return f->kind >= PLIM_OP_MATMUL && f->kind <= PLIM_OP_MATMUL_TN;
}

/* An operand of many products, as the kernels see it: [outer][inner][rows][columns], without sizes of one outside. */
static dnnl_status_t describe_matrices(const plim_op_desc *op, int operand, plim_dnnl_md *out) {
  k_launch launch;
  if (!k_launch_make(op, &launch)) return dnnl_unimplemented;
  const k_products *p = &launch.call.products;
  const k_matrix y = {p->columns, 1, p->rows * p->columns, p->inner * p->rows * p->columns};
  const k_matrix *m = operand == PLIM_ONEDNN_SRC ? &p->a : operand == PLIM_ONEDNN_WEIGHTS ? &p->b : &y;
  const dnnl_dims_t dim = {p->n / p->inner, p->inner, operand == PLIM_ONEDNN_WEIGHTS ? p->depth : p->rows,
                           operand == PLIM_ONEDNN_SRC ? p->depth : p->columns};
  const dnnl_dims_t stride = {m->outer, m->inner, m->row, m->column};
  const int skipped = dim[0] > 1 ? 0 : dim[1] > 1 ? 1 : 2;
  return plim_dnnl_md_new_strided(4 - skipped, dim + skipped, type_of(op->in[0].dtype), stride + skipped, out);
}

/* The operands of a softmax as the rows of a matrix. */
static dnnl_status_t describe_rows(const plim_shape *shape, plim_dnnl_md *out) {
  k_rows rows;
  if (shape->dtype != PLIM_F32 || !k_rows_make(shape, &rows)) return dnnl_unimplemented;
  const dnnl_dims_t dim = {rows.n, rows.columns};
  return plim_dnnl_md_new(2, dim, dnnl_f32, dnnl_ab, out);
}

static dnnl_status_t describe_operands(const plim_onednn_operation *f, const plim_op_desc *op, int n,
                                       plim_dnnl_md *md) {
  for (int i = 0; i < n; i++) {
    const plim_onednn_operand *o = &f->operand[i];
    const plim_shape *shape = o->from == PLIM_ONEDNN_IN ? &op->in[o->position] : &op->out[o->position];
    dnnl_status_t status = i == PLIM_ONEDNN_BIAS                         ? describe_bias(f, shape, &md[i])
                           : i == PLIM_ONEDNN_WEIGHTS && is_depthwise(f) ? describe_filters(shape, &md[i])
                           : is_matmul(f)                                ? describe_matrices(op, i, &md[i])
                           : is_softmax(f)                               ? describe_rows(shape, &md[i])
                                                                         : describe(shape, o->transposed, &md[i]);
    if (status != dnnl_success) return status;
  }
  return dnnl_success;
}

/* ---- the walk ---- */

int plim_onednn_set_threads(int threads) {
  int before = omp_get_max_threads();
  if (before != threads) omp_set_num_threads(threads);
  return before;
}

static const struct {
  dnnl_alg_kind_t kind;
  const char *name;
} algorithms[] = {{dnnl_convolution_direct, "direct"}, {dnnl_convolution_winograd, "winograd"}};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

void plim_onednn_walk_end(plim_onednn_walk *w) {
  plim_dnnl_offers_end(&w->offers);
  for (int i = 0; i < PLIM_ONEDNN_OPERANDS; i++) plim_dnnl_md_free(w->md[i]);
  if (w->attr) dnnl_primitive_attr_destroy(w->attr);
  if (w->engine) dnnl_engine_destroy(w->engine);
  plim_onednn_set_threads(w->threads_before);
}

dnnl_status_t plim_onednn_walk_begin(plim_onednn_walk *w, const plim_op_desc *op, int threads) {
  memset(w, 0, sizeof *w);
  w->threads = threads;
  w->threads_before = plim_onednn_set_threads(threads);
  w->op = op;
  w->algorithm = -1;
  w->operation = operation_find(op->kind);
  w->n_operands = w->operation ? operand_count(w->operation, op) : -1;
  plim_dtype type;
  if (w->n_operands < 0 || !plim_op_type(op, &type)) return dnnl_unimplemented;
  dnnl_status_t status = describe_operands(w->operation, op, w->n_operands, w->md);
  if (status == dnnl_success) status = dnnl_engine_create(&w->engine, dnnl_cpu, 0);
  if (status == dnnl_success) status = dnnl_primitive_attr_create(&w->attr);
  if (status == dnnl_success) status = dnnl_primitive_attr_set_scratchpad_mode(w->attr, dnnl_scratchpad_mode_user);
  return status;
}

/* The first implementation of the next algorithm that has any; 0 when there is none left. */
static int walk_next_algorithm(plim_onednn_walk *w) {
  const plim_attrs *a = &w->op->attrs;
  const int softmax = is_softmax(w->operation);
  plim_dnnl_op op = {.prop = w->operation->prop,
                     .src = w->md[PLIM_ONEDNN_SRC],
                     .weights = softmax ? NULL : w->md[PLIM_ONEDNN_WEIGHTS],
                     .bias = w->n_operands > PLIM_ONEDNN_BIAS ? w->md[PLIM_ONEDNN_BIAS] : NULL,
                     .dst = w->md[softmax ? PLIM_ONEDNN_SOFTMAX_DST : PLIM_ONEDNN_DST],
                     .stride = {a->stride[0], a->stride[1]},
                     .pad = {a->pad[0], a->pad[1]}};
  const int matrix = op.prop == dnnl_prop_kind_undef;
  while (++w->algorithm < (matrix || softmax ? 1 : ALGORITHMS)) {
    op.algorithm = algorithms[w->algorithm].kind;
    if (plim_dnnl_offers_first(&w->offers, &op, w->engine, w->attr)) return 1;
  }
  return 0;
}

/* A window of one position, over every position of images whose channels lie side by side: a position is a row of
 * a matrix. */
static int is_of_positions(const plim_op_desc *op) {
  const plim_attrs *a = &op->attrs;
  const plim_shape *x = op->kind == PLIM_OP_CONV2D_BWD_WEIGHTS ? &op->in[1] : &op->in[0];
  const plim_shape *y = op->kind == PLIM_OP_CONV2D_BWD_WEIGHTS ? &op->in[0] : &op->out[0];
  if (x->layout != PLIM_NHWC || y->layout != PLIM_NHWC) return 0;
  return a->kernel[0] == 1 && a->kernel[1] == 1 && a->stride[0] == 1 && a->stride[1] == 1 && !a->pad[0] && !a->pad[1];
}

static plim_shape rows_of(const plim_shape *s) {
  return s->rank == 4
             ? plim_shape_make(s->dtype, PLIM_FLAT, 2, (int64_t[]){s->dim[0] * s->dim[2] * s->dim[3], s->dim[1]})
             : *s;
}

/* After its algorithms a convolution of positions is the product that it also is: 1, or 0 when it is none. */
static int walk_as_product(plim_onednn_walk *w) {
  const plim_op_kind kind = w->op->kind == PLIM_OP_CONV2D               ? PLIM_OP_LINEAR
                            : w->op->kind == PLIM_OP_CONV2D_BWD_DATA    ? PLIM_OP_LINEAR_BWD_DATA
                            : w->op->kind == PLIM_OP_CONV2D_BWD_WEIGHTS ? PLIM_OP_LINEAR_BWD_WEIGHTS
                                                                        : w->op->kind;
  if (kind == w->op->kind || w->operation->kind == kind || !is_of_positions(w->op)) return 0;
  plim_op_desc product = *w->op;
  product.kind = kind;
  product.out[0] = rows_of(&w->op->out[0]);
  for (int i = 0; i < w->op->n_in; i++) product.in[i] = rows_of(&w->op->in[i]);
  for (int i = 0; i < PLIM_ONEDNN_OPERANDS; i++) plim_dnnl_md_free(w->md[i]);
  memset(w->md, 0, sizeof w->md);
  w->operation = operation_find(kind);
  w->algorithm = -1;
  return describe_operands(w->operation, &product, w->n_operands, w->md) == dnnl_success;
}

/* The next implementation as oneDNN offers it; 0 at the end. */
static int walk_next_offer(plim_onednn_walk *w) {
  return plim_dnnl_offers_next(&w->offers) || walk_next_algorithm(w) || (walk_as_product(w) && walk_next_algorithm(w));
}

/* ---- implementations that are no variants ---- */

static int is_gradient_of_weights(const plim_onednn_walk *w) {
  return w->operation->prop == dnnl_backward_weights;
}

/* 100 times slower than the rest. */
static int is_reference(const plim_onednn_walk *w, const char *implementation) {
  (void)w;
  return strncmp(implementation, "ref", 3) == 0;
}

/* Allocates buffers in every call; brgemm does not. */
static int is_gemm(const plim_onednn_walk *w, const char *implementation) {
  const char *gemm = strstr(implementation, "gemm");
  (void)w;
  return gemm && !(gemm - implementation >= 2 && strncmp(gemm - 2, "br", 2) == 0);
}

/* Version 3: runs other primitives inside, and allocates objects in every call. */
static int is_nested(const plim_onednn_walk *w, const char *implementation) {
  (void)w;
  return strstr(implementation, "ncsp") != NULL;
}

/* Allocates 240 (threads + 1) bytes a call, 4 KiB and more with one thread: over the 1 KiB that an op's transient
 * objects may take, unless there are 2 or 3 threads. */
static int is_winograd_gradient(const plim_onednn_walk *w, const char *implementation) {
#ifdef __clang__
  enum { WINOGRAD_THREADS = 2 }; /* libomp's teams take as much once more */
#else
  enum { WINOGRAD_THREADS = 3 };
#endif
  if (!is_gradient_of_weights(w) || !strstr(implementation, "wino")) return 0;
  return w->threads < 2 || w->threads > WINOGRAD_THREADS;
}

/* Of fewer than 16 input channels, by one position with a stride: writes beyond its scratchpad. */
static int is_strided_with_few_channels(const plim_onednn_walk *w, const char *implementation) {
  if (!is_gradient_of_weights(w) || !strstr(implementation, "1x1") || w->op->in[1].dim[1] >= 16) return 0;
  return w->op->attrs.stride[0] > 1 || w->op->attrs.stride[1] > 1;
}

static int (*const refusals[])(const plim_onednn_walk *, const char *) = {
    is_reference, is_gemm, is_nested, is_winograd_gradient, is_strided_with_few_channels};

static int is_refused(const plim_onednn_walk *w, const char *implementation) {
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    if (refusals[i](w, implementation)) return 1;
  }
  return 0;
}

/* ---- names ---- */

/* "onednn-direct-jit_1x1" out of ("direct", "jit_1x1:avx512_core"); Winograd has one implementation. */
static void variant_name(const plim_onednn_walk *w, const char *implementation, char *name, size_t size) {
  int length = (int)strcspn(implementation, ":");
  if (is_softmax(w->operation)) {
    snprintf(name, size, "onednn-softmax-%.*s", length, implementation);
  } else if (w->operation->prop == dnnl_prop_kind_undef) {
    snprintf(name, size, "onednn-matmul-%.*s", length, implementation);
  } else if (algorithms[w->algorithm].kind == dnnl_convolution_winograd) {
    snprintf(name, size, "onednn-%s", algorithms[w->algorithm].name);
  } else {
    snprintf(name, size, "onednn-%s-%.*s", algorithms[w->algorithm].name, length, implementation);
  }
}

const char *plim_onednn_walk_next(plim_onednn_walk *w) {
  while (w->n_seen < PLIM_ONEDNN_VARIANTS && walk_next_offer(w)) {
    const char *implementation = NULL;
    if (dnnl_primitive_desc_query(w->offers.pd, dnnl_query_impl_info_str, 0, (void *)&implementation) != dnnl_success ||
        is_refused(w, implementation)) {
      continue;
    }
    char *name = w->seen[w->n_seen];
    variant_name(w, implementation, name, sizeof w->seen[0]);
    int known = 0;
    for (int i = 0; i < w->n_seen; i++) known |= strcmp(w->seen[i], name) == 0;
    if (known) continue;
    w->n_seen++;
    return name;
  }
  return NULL;
}
