/* The reference for the ops of transformers. */
#ifndef PLIM_TESTS_SUPPORT_KERNEL_REFERENCE_TEXT_H
#define PLIM_TESTS_SUPPORT_KERNEL_REFERENCE_TEXT_H

#include "kernels/op.h"

/* Run the op as reference_run does; 0 when its kind is none of these. */
int reference_run_text(const plim_op_desc *op, void *const *in, void *const *upd_before, double **out, double **upd);

#endif
