/* Every op kind in double precision by naive loops over logical indices: what kernels are compared with. Shares no code
 * with them, the address of an element included. */
#ifndef PLIM_TESTS_SUPPORT_KERNEL_REFERENCE_H
#define PLIM_TESTS_SUPPORT_KERNEL_REFERENCE_H

#include "kernels/op.h"

/* Where logical element `i` (row-major over the dimensions) lies in memory. */
int64_t reference_address(const plim_shape *shape, int64_t i);

/* The number that a bf16 is, from its sign, exponent and fraction. */
double reference_of_bf16(uint16_t bits);

/* Element `i` (logical) of memory of that shape; a bit is 0 or 1. */
double reference_get(const plim_shape *shape, const void *memory, int64_t i);

/* Run the op on operands in memory; out[o] and upd[u] receive the results in logical order. `kept` is a dropout's mask
 * as its kernel drew it (NULL otherwise): the reference does not draw. */
void reference_run(const plim_op_desc *op, void *const *in, void *const *upd_before, const void *kept, double **out,
                   double **upd);

#endif
