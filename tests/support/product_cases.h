/* Convolutions and matrix products to try a kernel on: the ops that a table of shapes, the layouts and kinds make. */
#ifndef PLIM_TESTS_SUPPORT_PRODUCT_CASES_H
#define PLIM_TESTS_SUPPORT_PRODUCT_CASES_H

#include "kernels/op.h"

/* Case `index` (0, 1, ...), over floats and then again over bf16: 1 and the op, or 0 after the last. Sizes are small
 * enough for a naive reference. */
int product_case(int index, plim_op_desc *out);

/* "f32 conv2d_bwd_data nhwc 9x16x14x14 -> 32, 3x3/2+1" */
const char *product_case_text(const plim_op_desc *desc);

#endif
