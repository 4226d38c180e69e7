/* The single-source family: one variant, "single-source", of every built-in op kind; bits depend neither on the number
 * of threads nor on the instruction set. */
#ifndef PLIM_KERNELS_SINGLE_SOURCE_H
#define PLIM_KERNELS_SINGLE_SOURCE_H

#include "kernels/isa.h"
#include "kernels/table.h"

#define PLIM_SINGLE_SOURCE "single-source"

/* The family's variant of an op, on any device: returns 1 and writes at most `capacity`; 0 when the op has none. */
int plim_single_source_list(const plim_op_desc *op, plim_kernel_info *info, int capacity);

/* Add the family's types for an instruction set to a table. */
int plim_single_source_add(plim_kernel_table *table, plim_isa isa);

#endif
