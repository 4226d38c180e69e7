/* Watching a replay: who looks is told every request that found no piece, what was chosen for it, and every run. The
 * state that a decision was made from is read where it stands, in the tenants, so nothing is stored for watchers. */
#ifndef PLIM_RUNTIME_ARENA_WATCH_H
#define PLIM_RUNTIME_ARENA_WATCH_H

#include "runtime/arena/replay.h"
#include "runtime/arena/window.h"

struct plim_tenants;

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
  plim_status (*chose)(void *user, struct plim_tenants *tenants, const plim_arena_request *request,
                       const plim_arena_choice *choice);
  /* Behind each step. depth 0: a step of the schedule; else how many runs wait for this one. */
  plim_status (*ran)(void *user, const struct plim_tenants *tenants, int32_t depth);
  /* Computing again has taken too long: `op` would have been next, and the replay ends. */
  plim_status (*gave_up)(void *user, const struct plim_tenants *tenants, int32_t op);
} plim_arena_watch;

/* Replay `order` in one way, watched. `order` has passed plim_plan_check. PLIM_ENOFIT when an op finds no room, when
 * computing again takes more than limit_ns, or when the same is computed again and again. */
PLIM_MUST_USE plim_status plim_arena_replay_watched(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                                                    plim_replay_way how, int64_t budget_bytes, int64_t limit_ns,
                                                    const plim_arena_watch *watch, plim_replay_counts *counts,
                                                    plim_plan **out);

#endif
