/* Variants that fail or compute something else leave the profile, with a note. */
#ifndef PLIM_RUNTIME_PROFILE_PROFILE_DROP_H
#define PLIM_RUNTIME_PROFILE_PROFILE_DROP_H

#include "runtime/profile/profile_set.h"

/* Leave the case out and say why. PLIM_EDEVICE when its op has no other. */
PLIM_MUST_USE plim_status plim_profile_drop(plim_profile_set *set, const plim_profile_group *group,
                                            plim_profile_case *c, const char *why);

/* Prepare, run or capture of the case failed with `failed`, the context says how. Where that was the kernel's failure
 * and the device continues, drop the case; else return the failure, its sentence with op and variant. */
PLIM_MUST_USE plim_status plim_profile_drop_failed(plim_profile_set *set, const plim_profile_group *group,
                                                   plim_profile_case *c, plim_status failed);

/* Replace a profile of the graph by one without the variant in all ops of the description, with a note that says why;
 * where none has it nothing changes. PLIM_EDEVICE when an op has no other; then the profile stays as it is. */
PLIM_MUST_USE plim_status plim_profile_drop_variant(const plim_graph *graph, plim_profile **profile,
                                                    const plim_op_desc *desc, const char *name, const char *why);

#endif
