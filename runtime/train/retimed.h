/* A profile and links with measured times. A plan ran one variant of an op: the times of the op's other variants keep
 * their ratio to it. Functions run on the thread of the context, and are deterministic. */
#ifndef PLIM_RUNTIME_TRAIN_RETIMED_H
#define PLIM_RUNTIME_TRAIN_RETIMED_H

#include "planner/planner.h"
#include "runtime/train/measured_times.h"

/* Write measured times into rows of a profile. Other variants of the ops that ran keep their ratio to one that ran.
 *   time_ns  [plan->n_variants]      in       PLIM_UNKNOWN: not measured
 *   row      [profile's variants]    in, out  a copy of the profile's rows */
void plim_retimed_rows(const plim_plan *plan, const plim_profile *profile, const int64_t *time_ns, plim_variant *row);

/* Make a copy of the profile with the measured times. *out: free with plim_profile_free. The errors of
 * plim_profile_make. */
PLIM_MUST_USE plim_status plim_retimed_profile(const plim_graph *graph, const plim_profile *profile,
                                               const plim_measured_times *times, plim_profile **out);

/* Scale latency and rate of each link by the ratio of the measured times of its copies to their predictions. A link
 * without copies stays as it is. */
void plim_retimed_links(const plim_measured_times *times, plim_paging *paging);

#endif
