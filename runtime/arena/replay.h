/* Arena replay: a schedule without addresses, placed by the online arena while it runs (in the manner of Coop).
 *
 * The arena's decisions depend on graph, schedule and profiled times alone, so the replay is made before the run:
 * it yields a plan, with recomputations where an eviction was needed, that the checker proves and the executor runs. */
#ifndef PLIM_RUNTIME_ARENA_REPLAY_H
#define PLIM_RUNTIME_ARENA_REPLAY_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_replay_counts {
  int64_t evictions, recomputes, pieces_scanned, search_ns;
  int64_t fragmentation_bytes; /* sum over forced evictions of the bytes that were free in total */
} plim_replay_counts;

/* Replay the steps of `schedule` in an arena of `budget_bytes`: best fit from two ends, sliding-window eviction when no
 * piece fits, evicted storages recomputed when next read. PLIM_ENOFIT when an op's working set finds no room.
 * Deterministic (search_ns aside). Source: Coop, NeurIPS 2023, with the corrections of docs/design.md. */
PLIM_MUST_USE plim_status plim_arena_replay(plim_context *ctx, const plim_graph *graph, const plim_plan *schedule,
                                            int64_t budget_bytes, plim_replay_counts *counts, plim_plan **out);

#ifdef __cplusplus
}
#endif
#endif
