/* The reference for ops with windows: convolution and pooling. */
#ifndef PLIM_TESTS_SUPPORT_KERNEL_REFERENCE_WINDOW_H
#define PLIM_TESTS_SUPPORT_KERNEL_REFERENCE_WINDOW_H

#include "kernels/op.h"

void reference_run_window(const plim_op_desc *op, void *const *in, double **out);

#endif
