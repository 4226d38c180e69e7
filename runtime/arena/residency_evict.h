/* Which storages to evict for a request: a window of blocks, or one storage after another. In costs, n is the number of
 * blocks. Functions run on the thread of the context, and are deterministic. */
#ifndef PLIM_RUNTIME_ARENA_RESIDENCY_EVICT_H
#define PLIM_RUNTIME_ARENA_RESIDENCY_EVICT_H

#include "runtime/arena/residency.h"

/* Number of bits after the point in the scores of the window search, which are fixed-point numbers. */
enum { PLIM_SCORE_FRACTION_BITS = 16 };

/* May the storage be evicted? It may when an op computes it, no run pins it, it is not in the small area, and it can
 * still be recomputed for its last read. */
int plim_residency_evictable(const plim_residency *res, int32_t storage);

/* Can evictions make one free block of so many bytes outside the small area? O(n). */
int plim_residency_can_make_room(const plim_residency *res, int64_t bytes);

/* The staleness of the storage, ns. For a policy that knows the program's order it is the time to the next read, for
 * others the time since the last use. */
int64_t plim_residency_distance(const plim_residency *res, int32_t storage);

/* The cost of a block that holds the storage, for the window search: the storage's cost over its staleness, in fixed
 * point. Takes as long as plim_residency_cost. */
int64_t plim_residency_window_cost(plim_residency *res, int32_t storage);

/* Evict by the policy until there is a free block for the request.
 *   hole  out  that block; PLIM_NONE: nothing more can be evicted
 * Returns the watcher's status when the watcher ends the replay. A window takes n calls of plim_residency_cost and a
 * window search. One after another takes n such calls for each storage that is evicted.
 * Sources: Coop, NeurIPS 2023 (windows); DTR, ICLR 2021 (one after another). */
PLIM_MUST_USE plim_status plim_residency_evict(plim_residency *res, const plim_arena_request *request, int32_t *hole);

/* Like plim_residency_evict, but always one storage after another (residency_evict_single.c). */
PLIM_MUST_USE plim_status plim_residency_evict_single(plim_residency *res, const plim_arena_request *request,
                                                      int32_t *hole);

/* Score of a block that may be evicted, for evictions one after another: the block with the smallest score is first.
 * When the score exceeds `most`, the result is any number above `most`. Takes as long as plim_residency_cost. */
double plim_residency_score(plim_residency *res, const plim_arena_block *block, double most);

/* Tell the watcher, if there is one, what is about to be evicted. */
PLIM_MUST_USE plim_status plim_residency_notify(plim_residency *res, const plim_arena_request *request,
                                                const plim_arena_choice *choice);

#endif
