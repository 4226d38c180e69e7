/* Variants in parts: the kernel of another variant, run over one part of the output after the other, with the workspace
 * of a part. A part is some images of the batch, or some channels of the output. "onednn-winograd@c4" is
 * "onednn-winograd" over four parts of the channels, "@n2" over two parts of the batch.
 *
 * Whether the parts give the bits of the whole is not known here: a library may sum in another order when a shape is
 * smaller. Each variant in parts has a numerics key of its own, its name; the profiler compares results. */
#ifndef PLIM_KERNELS_PARTS_H
#define PLIM_KERNELS_PARTS_H

#include "kernels/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name of the variant whose kernel a variant runs in parts: writes it and returns 1, or returns 0 when `variant` is
 * no variant in parts. */
int plim_parts_whole(const char *variant, char whole[PLIM_KERNEL_NAME_BYTES]);

/* The variants that run `whole`, a listed variant of the op, in parts and need less workspace than it. Returns how many
 * there are, writes at most `capacity`; by the number of parts, then by workspace. */
int plim_parts_list(const plim_kernel_table *table, const plim_op_desc *op, int threads, const plim_kernel_info *whole,
                    plim_kernel_info *info, int capacity);

/* Prepare a variant in parts. *type has the functions for *state, *workspace_bytes what it needs.
 * PLIM_KERNEL_UNSUPPORTED when the op cannot be divided so. */
int plim_parts_make(const plim_kernel_table *table, const plim_op_desc *op, const char *variant, int threads,
                    const plim_kernel_memory *memory, plim_kernel_type *type, void **state, int64_t *workspace_bytes);

#ifdef __cplusplus
}
#endif
#endif
