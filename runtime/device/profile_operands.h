/* Operands for measurements: where they lie in the profiler's arena and what they hold. */
#ifndef PLIM_RUNTIME_DEVICE_PROFILE_OPERANDS_H
#define PLIM_RUNTIME_DEVICE_PROFILE_OPERANDS_H

#include "runtime/device/device.h"

enum { PLIM_OP_MAX_OPERANDS = PLIM_OP_MAX_IN + PLIM_OP_MAX_OUT + PLIM_OP_MAX_UPD };

/* The operands of one description behind each other: inputs, outputs, updates, workspace. */
typedef struct plim_operand_plan {
  int32_t n;                            /* without the workspace */
  int64_t at[PLIM_OP_MAX_OPERANDS + 1]; /* multiples of PLIM_ALIGN; [n] is the workspace */
  int64_t bytes;                        /* all of it, rounded up; -1 when it overflows */
} plim_operand_plan;

plim_operand_plan plim_operands_place(const plim_op_desc *desc, int64_t workspace_bytes);

/* Shape of operand k: inputs, then outputs, then updates. */
const plim_shape *plim_operand_shape(const plim_op_desc *desc, int32_t k);

/* Normal numbers (mean 0, variance 1; none of them denormal), always the same. */
enum { PLIM_NORMALS = 1 << 14 };
void plim_normals_make(float *normal /* [PLIM_NORMALS] */);
/* Fill memory with them, repeated. */
void plim_normals_fill(const float *normal, void *to, int64_t bytes);

/* Does input k need other contents than arbitrary normal floats: labels in range, positions in a window, positive
 * variances and probabilities, small weights? */
int plim_operand_is_special(const plim_op_desc *desc, int32_t k);
/* Those contents. */
void plim_operand_fill_special(const plim_op_desc *desc, int32_t k, const float *normal, void *to);

#endif
