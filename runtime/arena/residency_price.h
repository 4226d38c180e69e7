/* The cost of an eviction: the time to recompute what is evicted, and what is missing around it. Functions run on the
 * thread of the context, and are deterministic. */
#ifndef PLIM_RUNTIME_ARENA_RESIDENCY_PRICE_H
#define PLIM_RUNTIME_ARENA_RESIDENCY_PRICE_H

#include "runtime/arena/residency.h"

/* Is the storage missing, and does its time count in the cost of its neighbours? For a policy that knows the program's
 * order it counts only when it is wanted. */
int plim_residency_is_priced(const plim_residency *res, int32_t storage);

/* The policy's cost of evicting one storage, in ns for policies that price by time. When the cost exceeds `most`, the
 * result is any number above `most`. O(1), or the cost of plim_residency_price or plim_residency_walk, as the policy
 * decides. */
int64_t plim_residency_cost(plim_residency *res, int32_t storage, int64_t most);

/* The cost of evicting one more storage, ns: the time of its op, and the times of the classes of missing inputs of the
 * op and of missing outputs of its readers that count. Nearly O(those inputs and outputs), by union-find.
 * Source: DTR, ICLR 2021, section 4. */
int64_t plim_residency_price(plim_residency *res, int32_t storage);

/* Time of the distinct ops that would recompute all of `storage` [n] after they were evicted together, ns. O(operands
 * of these ops). */
int64_t plim_residency_price_together(plim_residency *res, int32_t n, const int32_t *storage);

/* ---- residency_walk.c: the times of missing storages around a storage ---- */

/* Allocate the walks of an empty state. plim_residency_close is legal even after a failure. */
PLIM_MUST_USE plim_status plim_residency_open_walks(plim_residency *res);

/* Sum of the times of missing storages around `storage` that count, ns. A walk over missing storages meets those that
 * it is computed from and, for PLIM_COST_NEIGHBOURHOOD, those that are computed from it. When the sum exceeds `most`,
 * the result is any number above `most`. Cost as plim_walks_sum, after the update of lost storages.
 * Source: DTR, ICLR 2021. */
int64_t plim_residency_walk(plim_residency *res, int32_t storage, int64_t most);

/* Update the sums of walks. lost: the storage has gone missing. found: it becomes resident while all inputs of its op
 * are resident. uncertain: it is missing, and may begin or cease to count. */
void plim_residency_note_lost(plim_residency *res, int32_t storage);
void plim_residency_note_found(plim_residency *res, int32_t storage);
void plim_residency_note_uncertain(plim_residency *res, int32_t storage);

#endif
