/* A description of every op kind at moderate sizes, for tests that go through all of them. */
#ifndef PLIM_TESTS_SUPPORT_KERNEL_SAMPLES_H
#define PLIM_TESTS_SUPPORT_KERNEL_SAMPLES_H

#include "kernels/op.h"

/* The op of a kind in its fullest form (fused ReLU, mask, residual, bias), activations in `layout` where they have
 * rank 4. */
plim_op_desc kernel_sample(plim_op_kind kind, plim_layout layout);

/* The same with activations in bf16. */
plim_op_desc kernel_sample_bf16(plim_op_kind kind, plim_layout layout);

/* Give bf16 to every operand to which the kind's table gives the op's own type. */
void kernel_to_bf16(plim_op_desc *op);

#endif
