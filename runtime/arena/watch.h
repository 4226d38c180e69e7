/* Watching a replay: a watcher is called for every request that found no free block, with what was chosen for it, and
 * for every run. It reads the state of a decision from the residency itself, so nothing is stored for watchers. */
#ifndef PLIM_RUNTIME_ARENA_WATCH_H
#define PLIM_RUNTIME_ARENA_WATCH_H

#include "runtime/arena/replay.h"
#include "runtime/arena/window.h"

struct plim_residency;

/* Room that an op asks for: a storage, or its workspace (storage -1). Bytes are rounded. */
typedef struct plim_arena_request {
  int32_t op, storage;
  int64_t bytes;
} plim_arena_request;

/* What is about to be evicted for a request. By windows: window[chosen] of `window` [n], best first before they were
 * looked at again; score [n], NULL when they were not. One after another: `storage`. Nothing can be evicted any more
 * when n is 0 and storage is -1. */
typedef struct plim_arena_choice {
  int32_t n, chosen;
  const plim_window *window;
  const int64_t *score;
  int32_t storage;
} plim_arena_choice;

/* Another status than PLIM_OK ends the replay with it. */
typedef struct plim_arena_watch {
  void *user;
  plim_status (*chose)(void *user, struct plim_residency *residency, const plim_arena_request *request,
                       const plim_arena_choice *choice);
  /* After each step. depth 0: a step of the schedule; else how many runs wait for this one. */
  plim_status (*ran)(void *user, const struct plim_residency *residency, int32_t depth);
  /* Recomputing has taken too long: `op` would have been next, and the replay ends. */
  plim_status (*gave_up)(void *user, const struct plim_residency *residency, int32_t op);
} plim_arena_watch;

/* Replay `order` in one way, watched. `order` has passed plim_plan_check. PLIM_ENOFIT when an op finds no room, when
 * recomputing takes more than limit_ns, or when the same is recomputed and again. */
PLIM_MUST_USE plim_status plim_arena_replay_watched(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                                                    plim_replay_config how, int64_t budget_bytes, int64_t limit_ns,
                                                    const plim_arena_watch *watch, plim_replay_counts *counts,
                                                    plim_plan **out);

#endif
