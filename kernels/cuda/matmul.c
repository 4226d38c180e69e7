/* Products of matrices by cuBLAS: those along the longer of the two sizes of products are one strided batch, and each
 * index of the other size is a call. A factor with contiguous rows or columns is read where it lies; the library
 * serves no other strides.
 *
 *   workspace = the library's */
#include "kernels/cuda/batch_shares.h"
#include "kernels/cuda/stages.h"

enum { CALLS_MAX = 256 };

typedef struct matmul {
  plim_cuda_product product; /* of one call */
  int64_t calls;
  int64_t a_step, b_step, c_step; /* elements from call to call */
} matmul;

/* How the library reads [rows][columns]: 0 when it cannot. `row` is 0 where nothing but the first row is there. */
static int place_factor(const k_matrix *m, int64_t rows, int64_t columns, int32_t *transposed, int64_t *row) {
  *transposed = !(m->column == 1 || columns == 1);
  if (*transposed && m->row != 1 && rows != 1) return 0;
  const int64_t lines = *transposed ? columns : rows, length = *transposed ? rows : columns;
  *row = lines == 1 ? 0 : *transposed ? m->column : m->row;
  return lines == 1 || (*row >= length && *row < INT32_MAX);
}

/* 0 when the op is none of these, or lies otherwise. */
static int describe(const plim_op_desc *op, matmul *m) {
  k_launch launch;
  if (op->kind < PLIM_OP_MATMUL || op->kind > PLIM_OP_MATMUL_TN || !k_launch_make(op, &launch)) return 0;
  const k_products *c = &launch.call.products;
  const int64_t inner = c->inner, outer = c->n / inner, part = c->rows * c->columns;
  plim_cuda_product *p = &m->product;
  *p = (plim_cuda_product){.m = c->rows, .n = c->columns, .k = c->depth, .precision = plim_op_math(op)};
  if (p->m >= INT32_MAX || p->n >= INT32_MAX || p->k >= INT32_MAX || c->n >= INT32_MAX) return 0;
  if (!place_factor(&c->a, p->m, p->k, &p->a_transposed, &p->a_row)) return 0;
  if (!place_factor(&c->b, p->k, p->n, &p->b_transposed, &p->b_row)) return 0;
  const int by_inner = inner >= outer;
  p->batches = by_inner ? inner : outer;
  p->a_step = by_inner ? c->a.inner : c->a.outer;
  p->b_step = by_inner ? c->b.inner : c->b.outer;
  p->c_step = by_inner ? part : inner * part;
  m->calls = by_inner ? outer : inner;
  m->a_step = by_inner ? c->a.outer : c->a.inner;
  m->b_step = by_inner ? c->b.outer : c->b.inner;
  m->c_step = by_inner ? inner * part : part;
  return m->calls <= CALLS_MAX;
}

static int64_t workspace_of(const void *op, const plim_batch_choice *choice) {
  (void)op;
  return choice->blas_bytes;
}

static plim_batch_choices choices_of(const matmul *m, int64_t blas_bytes) {
  plim_batch_choices choices = {
      .family = "cublas", .precision = m->product.precision, .has_share = 0, .op = m, .workspace_bytes = workspace_of};
  plim_batch_choices_add(&choices, m->product.batches, PLIM_CUDA_BLAS_BYTES_MIN);
  plim_batch_choices_add_larger_blas(&choices, m->product.batches, blas_bytes);
  return choices;
}

int plim_cuda_matmul_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info,
                          int capacity) {
  matmul m;
  if (!describe(op, &m)) return 0;
  const plim_batch_choices choices = choices_of(&m, engine->blas_bytes);
  return plim_batch_choices_list(&choices, info, capacity);
}

int plim_cuda_matmul_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                          plim_cuda_kernel *kernel) {
  matmul m;
  if (!describe(op, &m)) return PLIM_KERNEL_UNSUPPORTED;
  const plim_batch_choices choices = choices_of(&m, engine->blas_bytes);
  const plim_batch_choice *choice = plim_batch_choices_find(&choices, variant);
  const int64_t element = m.product.precision == PLIM_PRECISION_BF16 ? 2 : 4;
  if (!choice) return PLIM_KERNEL_UNSUPPORTED;
  if (!plim_cuda_stages_make(kernel, m.calls)) return PLIM_KERNEL_NOMEM;
  kernel->blas_bytes = kernel->workspace_bytes = choice->blas_bytes;
  for (int64_t i = 0; i < m.calls; i++) {
    plim_cuda_add_product(kernel, m.product.precision, m.product, plim_cuda_in(0, i * m.a_step * element),
                          plim_cuda_in(1, i * m.b_step * element), plim_cuda_out(0, i * m.c_step * element));
  }
  return PLIM_KERNEL_OK;
}
