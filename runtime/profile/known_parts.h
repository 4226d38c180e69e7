/* Which variants in parts give the bits of their whole on a device: what was compared since it was opened. */
#ifndef PLIM_RUNTIME_PROFILE_KNOWN_PARTS_H
#define PLIM_RUNTIME_PROFILE_KNOWN_PARTS_H

#include "runtime/device/device.h"

/* The variant in parts of an op of this canonical description gives the bits of its whole. */
PLIM_MUST_USE plim_status plim_known_parts_add(plim_device *device, const plim_op_desc *desc, const char *variant);

/* *equal: does the variant in parts of `op` give the bits of `whole`? What is not known yet is found by running both
 * on the same random operands, in memory of its own: the op's operands and the larger workspace. */
PLIM_MUST_USE plim_status plim_parts_equal(plim_device *device, const plim_graph *graph, int32_t op, const char *whole,
                                           const char *variant, int *equal);

#endif
