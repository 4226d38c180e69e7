/* The single-source family: one variant, "single-source", of every built-in op kind; bits depend neither on the number
 * of threads nor on the instruction set. */
#ifndef PLIM_KERNELS_SINGLE_SOURCE_H
#define PLIM_KERNELS_SINGLE_SOURCE_H

#include "kernels/isa.h"
#include "kernels/launch.h"

#define PLIM_SINGLE_SOURCE "single-source"

/* The family's variant of an op with that launch, on any device. */
plim_kernel_info plim_single_source_info(const k_launch *launch);

/* The launches of an op, in their order: *launch [*n] out, to be given back to `memory`. PLIM_KERNEL_OK, _UNSUPPORTED
 * or _NOMEM. */
int plim_single_source_launches(const plim_op_desc *op, const plim_kernel_memory *memory, k_launch **launch,
                                int32_t *n);

/* Add the family's types for an instruction set to a table. */
int plim_single_source_add(plim_kernel_table *table, plim_isa isa);

#endif
