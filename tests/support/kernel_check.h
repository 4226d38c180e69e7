/* Puts one op through everything that a built-in kernel promises. */
#ifndef PLIM_TESTS_SUPPORT_KERNEL_CHECK_H
#define PLIM_TESTS_SUPPORT_KERNEL_CHECK_H

#include "kernels/table.h"

/* Operands in memory that is exactly as large as their shapes (so that a sanitizer sees a byte too far), followed in
 * plain builds by bytes that must not change. */
typedef struct kernel_operands {
  void *in[PLIM_OP_MAX_IN], *out[PLIM_OP_MAX_OUT], *upd[PLIM_OP_MAX_UPD];
} kernel_operands;

/* Random inputs that suit the kind (labels, positive variances, masks with clean padding, ...); outputs are filled with
 * `fill`. PLIM_TEST_SEED does not change them: tolerances are relative to the largest element of a result, and a result
 * of one element that is a small difference of large numbers may miss them. */
void kernel_operands_make(const plim_op_desc *op, uint64_t seed, int fill, kernel_operands *operands);
void kernel_operands_free(const plim_op_desc *op, kernel_operands *operands);

/* Run a variant once on operands that are there; the workspace is filled with `fill` before. */
void kernel_run_once(const plim_op_desc *op, const char *isa, const char *variant, int threads, int fill,
                     kernel_operands *operands);

/* The seed, step and op that random kernels see there. */
enum { KERNEL_RUN_SEED = 7, KERNEL_RUN_STEP = 11, KERNEL_RUN_OP = 13 };

/* Outputs and updates of two runs of one kernel that add up in another order: floats within 1e-5 of the largest
 * element, what is stored as bf16 within a unit in its last place more, all else equal. */
void kernel_operands_compare(const plim_op_desc *op, const kernel_operands *a, const kernel_operands *b);

/* Check the single-source kernel of an op on random operands:
 *  - results within `tolerance` of the reference (relative to the largest element of the operand); where they are
 *    stored as bf16, within half a unit in the last place more;
 *  - every byte of every output written: two runs over different fillings of outputs and workspace agree;
 *  - nothing after an operand or the workspace written; inputs unchanged;
 *  - the same bytes with 1, 2 and 3 threads and every instruction set that this CPU has;
 *  - the same bytes with each in-place pair. */
void kernel_check(const plim_op_desc *op, uint64_t seed, double tolerance);

/* Descriptions. A shape of float activations; [N][C] when height is 0. */
plim_shape kernel_activation(plim_layout layout, int64_t n, int64_t c, int64_t h, int64_t w);
plim_shape kernel_shape(plim_dtype dtype, int rank, int64_t d0, int64_t d1, int64_t d2, int64_t d3);
plim_shape kernel_mask(plim_shape shape); /* the mask of a shape */
/* An op with these inputs and outputs so far; more are set by hand. */
plim_op_desc kernel_op(plim_op_kind kind, int n_in, int n_out, plim_shape in0, plim_shape out0);

/* Instruction sets that this CPU has; NULL after the last. */
const char *kernel_isa(int i);

#endif
