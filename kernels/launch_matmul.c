/* Launches of products of matrices. The three kinds differ in how their factors lie: a transposed one is a matrix whose
 * rows and columns have changed places. Sizes before the last two count products; those that can be walked with one
 * stride in all operands become one size, and at most two are left. */
#include "kernels/launch.h"

/* Elements from one to the next along a dimension of a shape. */
static int64_t stride_of(const plim_shape *shape, int32_t d) {
  int64_t stride = 1;
  if (plim_shape_is_strided(shape)) return shape->stride[d];
  for (int32_t i = d + 1; i < shape->rank; i++) stride *= shape->dim[i];
  return stride;
}

static k_matrix matrix_of(const plim_shape *shape, int transposed) {
  const int64_t row = stride_of(shape, shape->rank - 2), column = stride_of(shape, shape->rank - 1);
  return (k_matrix){.row = transposed ? column : row, .column = transposed ? row : column};
}

/* Two sizes of products, and the factors' strides along them. */
typedef struct batch {
  int n;
  int64_t size[2], a[2], b[2];
} batch;

/* Add the next size from the outside; 0 when a third would be left. */
static int add_size(batch *at, int64_t size, int64_t a, int64_t b) {
  const int last = at->n - 1;
  if (size == 1) return 1;
  if (at->n > 0 && at->a[last] == size * a && at->b[last] == size * b) {
    at->size[last] *= size;
  } else if (at->n == 2) {
    return 0;
  } else {
    at->n++;
    at->size[last + 1] = size;
  }
  at->a[at->n - 1] = a;
  at->b[at->n - 1] = b;
  return 1;
}

static int place_products(const plim_op_desc *op, k_products *p) {
  const plim_shape *a = &op->in[0], *b = &op->in[1];
  batch at = {.size = {1, 1}};
  for (int32_t d = 0; d + 2 < a->rank; d++) {
    if (!add_size(&at, a->dim[d], stride_of(a, d), stride_of(b, d))) return 0;
  }
  const int inner = at.n == 2;
  p->inner = at.size[inner];
  p->n = at.size[0] * at.size[1];
  p->a.inner = at.a[inner];
  p->b.inner = at.b[inner];
  p->a.outer = at.a[0];
  p->b.outer = at.b[0];
  return 1;
}

int k_launch_matmul(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *a = &op->in[0], *y = &op->out[0];
  const int a_transposed = op->kind == PLIM_OP_MATMUL_TN, b_transposed = op->kind == PLIM_OP_MATMUL_NT;
  const int64_t rows = y->dim[y->rank - 2], columns = y->dim[y->rank - 1];
  const int64_t depth = a->dim[a_transposed ? a->rank - 2 : a->rank - 1];
  k_products *p = &launch->call.products;
  *p = (k_products){.rows = rows,
                    .columns = columns,
                    .depth = depth,
                    .row_blocks = k_divide_up(rows, K_MATMUL_ROWS),
                    .column_blocks = k_divide_up(columns, K_MATMUL_COLUMNS),
                    .a = matrix_of(a, a_transposed),
                    .b = matrix_of(&op->in[1], b_transposed)};
  if (!place_products(op, p) || p->row_blocks > UINT32_MAX / p->column_blocks) return 0;
  const int64_t blocks = p->row_blocks * p->column_blocks;
  if (p->n > UINT32_MAX / blocks) return 0;
  k_launch_add_phase(launch, K_KERNEL_matmul, p->n * blocks,
                     (double)plim_shape_elements(y) * (double)depth / K_PRODUCT_ELEMENTS);
  return 1;
}
