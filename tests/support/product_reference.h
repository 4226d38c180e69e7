/* Convolutions and matrix products in double precision, written to be read: the second opinion on every kernel. */
#ifndef PLIM_TESTS_SUPPORT_PRODUCT_REFERENCE_H
#define PLIM_TESTS_SUPPORT_PRODUCT_REFERENCE_H

#include "kernels/op.h"

/* The output of a conv2d*, linear* or bias-free form of one, in the memory order of desc->out[0].
 *   in   [n_in]  operands as the kernel gets them (f32 or bf16)
 *   out  [elements of out[0]] */
void product_reference(const plim_op_desc *desc, void *const *in, double *out);

/* Root of the mean squared difference over the root of the mean square of `expected`. */
double relative_rms(const plim_shape *shape, const void *actual, const double *expected);

#endif
