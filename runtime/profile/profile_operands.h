/* Operands for measurements: their addresses in the profiler's memory, and their contents. All functions but the fills
 * only read; they are safe from any thread and deterministic. */
#ifndef PLIM_RUNTIME_PROFILE_PROFILE_OPERANDS_H
#define PLIM_RUNTIME_PROFILE_PROFILE_OPERANDS_H

#include "runtime/device/device.h"

/* Cache state of an operand in a step. WARM: few bytes were used since its last use, or it is placed where a buffer has
 * just ended. COLD: not in cache. IN_PLACE: the output overwrites an input whose lifetime ends. */
typedef enum plim_cache_state { PLIM_CACHE_WARM, PLIM_CACHE_COLD, PLIM_CACHE_IN_PLACE } plim_cache_state;

/* Of the operands that a plim_op_desc holds itself; those of longer lists are cold. */
typedef struct plim_cache_states {
  plim_cache_state in[PLIM_OP_MAX_IN], out[PLIM_OP_MAX_OUT];
  int32_t over[PLIM_OP_MAX_OUT]; /* the input that is overwritten, when out is PLIM_CACHE_IN_PLACE */
} plim_cache_states;

/* Where an operand lies: in a warm and a cold block. */
typedef struct plim_operand_place {
  int32_t block; /* PLIM_CACHE_WARM or PLIM_CACHE_COLD */
  int64_t at;    /* offset in the block, a multiple of PLIM_ALIGN */
} plim_operand_place;

/* Inputs, outputs and updates of an op. */
int32_t plim_operands_count(const plim_op_desc *desc);

/* Lay out the operands and the workspace of an op by their cache states.
 *   place  [count + 1]  out  the last is the workspace; NULL: not wanted
 *   bytes  [2]          out  of the blocks, rounded up; -1 when a size overflows */
void plim_operands_place(const plim_op_desc *desc, const plim_cache_states *cache_states, int64_t workspace_bytes,
                         plim_operand_place *place, int64_t bytes[2]);

/* Shape of operand k: inputs, then outputs, then updates. */
const plim_shape *plim_operand_shape(const plim_op_desc *desc, int32_t k);

/* Make normal numbers (mean 0, variance 1), none of them denormal; the same in every call. */
enum { PLIM_NORMALS = 1 << 14 };
void plim_normals_make(float *normal /* [PLIM_NORMALS] */);
/* Fill memory with these numbers, repeated. */
void plim_normals_fill(const float *normal, void *to, int64_t bytes);

/* Fill an operand, f32 or bf16, with random numbers below 2 in magnitude without a period. Another seed gives other
 * numbers. */
void plim_operand_fill_random(const plim_shape *shape, uint64_t seed, void *to);

/* Does input k need other contents than arbitrary normal floats: labels in range, positions in a window, positive
 * variances and probabilities, small weights? */
int plim_operand_is_special(const plim_op_desc *desc, int32_t k);
/* Fill input k with such contents. */
void plim_operand_fill_special(const plim_op_desc *desc, int32_t k, const float *normal, void *to);

#endif
