/* Removes variants that fail, or whose numbers are wrong, from a profile, with a note that says why. Functions run on
 * the thread of the device. */
#ifndef PLIM_RUNTIME_PROFILE_PROFILE_DROP_H
#define PLIM_RUNTIME_PROFILE_PROFILE_DROP_H

#include "runtime/profile/profile_set.h"

/* Leave the case out of the profile, with the reason `why`. PLIM_EDEVICE: its op has no other case. */
PLIM_MUST_USE plim_status plim_profile_drop(plim_profile_set *set, const plim_profile_group *group,
                                            plim_profile_case *profile_case, const char *why);

/* Handle a failure of preparing, running or capturing the case.
 *   failed  in  the status; the context has the sentence
 * When only the kernel failed, and the device can continue, the case is dropped. Otherwise returns the failure, with a
 * sentence that names op and variant. */
PLIM_MUST_USE plim_status plim_profile_drop_failed(plim_profile_set *set, const plim_profile_group *group,
                                                   plim_profile_case *profile_case, plim_status failed);

/* Replace a profile of the graph by one in which no op of the description has the variant, with a note that says why.
 * Does nothing when no such op has it. PLIM_EDEVICE: an op has no other variant; the profile stays as it is. */
PLIM_MUST_USE plim_status plim_profile_drop_variant(const plim_graph *graph, plim_profile **profile,
                                                    const plim_op_desc *desc, const char *name, const char *why);

#endif
