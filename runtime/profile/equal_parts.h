/* Remembers which variants in parts give the bits of their whole on a device, by comparisons since it was opened.
 * Functions run on the thread of the device. */
#ifndef PLIM_RUNTIME_PROFILE_EQUAL_PARTS_H
#define PLIM_RUNTIME_PROFILE_EQUAL_PARTS_H

#include "runtime/device/device.h"

typedef struct plim_equal_parts plim_equal_parts; /* in the memo of the device */

/* Remember that the variant in parts gives the bits of its whole, for an op of this canonical description. PLIM_ENOMEM.
 */
PLIM_MUST_USE plim_status plim_equal_parts_add(plim_device *device, const plim_op_desc *desc, const char *variant);

/* Find whether the variant in parts of `op` gives the bits of `whole`: *equal out. When this is not known yet, both run
 * on the same random operands, in memory that is allocated for the operands and the larger workspace. The errors of
 * allocating, preparing and running. */
PLIM_MUST_USE plim_status plim_equal_parts_compare(plim_device *device, const plim_graph *graph, int32_t op,
                                                   const char *whole, const char *variant, int *equal);

/* Free them. NULL is legal. */
void plim_equal_parts_free(plim_context *ctx, plim_equal_parts *parts);

#endif
