/* The least time of any plan of a small step graph, by exhaustive search. */
#ifndef PLIM_TESTS_SUPPORT_PLAN_ORACLE_H
#define PLIM_TESTS_SUPPORT_PLAN_ORACLE_H

#include "runtime/graph/profile.h"

/* Least time within `budget` bytes (sum of live bytes, rounded to `align`), -1: there is none. Shortest path over
 * (ops that have run, storages resident): run an op, or drop a storage for nothing. Variants: any of the op's whose
 * workspace fits, so that all variants of an op must have one numerics key. At most 8 ops and 14 storages that come and
 * go. */
int64_t plan_oracle(const plim_graph *graph, const plim_profile *profile, int64_t align, int64_t budget);
/* The same among plans whose first runs are in program order. */
int64_t plan_oracle_fixed(const plim_graph *graph, const plim_profile *profile, int64_t align, int64_t budget);

#endif
