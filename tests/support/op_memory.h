/* Memory for one op, laid out to catch a kernel that strays: every operand and the workspace lie between guard bytes.
 */
#ifndef PLIM_TESTS_SUPPORT_OP_MEMORY_H
#define PLIM_TESTS_SUPPORT_OP_MEMORY_H

#include "kernels/table.h"

typedef struct op_memory {
  plim_op_desc desc;
  plim_kernel_args args; /* operands and workspace, ready for a kernel's run */
  void *in[PLIM_OP_MAX_IN], *out[PLIM_OP_MAX_OUT], *upd[PLIM_OP_MAX_UPD];
  int64_t workspace_bytes;
  char *block;
  int64_t block_bytes;
} op_memory;

/* Operands of `desc` and a workspace, all aligned to 512 and between guard bytes. Exits when there is no memory. */
void op_memory_make(op_memory *m, const plim_op_desc *desc, int64_t workspace_bytes);
void op_memory_free(op_memory *m);

/* f32 inputs and updated operands uniform in [-1, 1], by seed and operand. */
void op_memory_randomize(op_memory *m, uint64_t seed);

/* Every byte of outputs and workspace. */
void op_memory_fill(op_memory *m, int byte);

/* 1 when no byte outside operands and workspace has changed since op_memory_make. */
int op_memory_guards_intact(const op_memory *m);

/* Hash of all inputs (what = 0) or all outputs and updated operands (what = 1). */
uint64_t op_memory_hash(const op_memory *m, int what);

/* Index of the element [n][c][h][w] (or [o][i][kh][kw]) of a rank-4 shape in memory order. */
int64_t op_element(const plim_shape *shape, int64_t n, int64_t c, int64_t h, int64_t w);

#endif
