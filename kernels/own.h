/* A program's own kernels: rows that a device keeps in addition to its own families. */
#ifndef PLIM_KERNELS_OWN_H
#define PLIM_KERNELS_OWN_H

#include "kernels/table.h"

typedef struct plim_own_row {
  plim_op_kind kind;
  plim_own_kernel kernel;
} plim_own_row;

/* In the order in which they were added. A zeroed one is empty. */
typedef struct plim_own_kernels {
  int n, capacity;
  plim_own_row *row; /* [capacity] */
} plim_own_kernels;

/* One of them, prepared for a variant of an op; run NULL: none. */
typedef struct plim_own_prepared {
  plim_own_kernel kernel;
  void *state;
  int64_t workspace_bytes;
} plim_own_prepared;

/* PLIM_KERNEL_UNSUPPORTED: struct_bytes is not ours, there is no `run`, or there is neither a `list` nor a name
 * (plim_own_is_name). */
int plim_own_add(plim_own_kernels *own, const plim_kernel_memory *memory, plim_op_kind kind,
                 const plim_own_kernel *kernel);
void plim_own_release(plim_own_kernels *own, const plim_kernel_memory *memory);

/* Variants of an op: how many there are; at most `capacity` are written. */
int plim_own_list(const plim_own_kernels *own, const plim_op_desc *op, plim_kernel_info *info, int capacity);

/* PLIM_KERNEL_UNSUPPORTED when none of them has the variant. */
int plim_own_prepare(const plim_own_kernels *own, const plim_op_desc *op, const char *variant, plim_own_prepared *out);
void plim_own_free(plim_own_prepared *prepared);

#endif
