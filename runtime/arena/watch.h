/* Watching a replay: a watcher is called for every request that found no free block, with what was chosen for it, and
 * for every run. It reads the state of a decision from the residency itself, so nothing is stored for watchers. */
#ifndef PLIM_RUNTIME_ARENA_WATCH_H
#define PLIM_RUNTIME_ARENA_WATCH_H

#include "runtime/arena/replay.h"
#include "runtime/arena/window.h"

struct plim_residency;

enum {
  PLIM_ARENA_NO_OP = -1,     /* no op asks: storages are placed before the first command, or kept after the last one */
  PLIM_ARENA_WORKSPACE = -1, /* as the storage of a request: the workspace of its op */
  PLIM_ARENA_NO_STORAGE = -1 /* as the storage that is chosen: there is none */
};

/* Room that an op asks for. */
typedef struct plim_arena_request {
  int32_t op;      /* PLIM_ARENA_NO_OP: none */
  int32_t storage; /* PLIM_ARENA_WORKSPACE: its workspace */
  int64_t bytes;   /* rounded */
} plim_arena_request;

/* The eviction that is about to be made for a request.
 *   by windows         window[chosen] of `window` [n], best first by the search; score [n] of each as a whole, NULL:
 *                      they were not priced again
 *   one after another  `storage`
 * n 0 and PLIM_ARENA_NO_STORAGE: nothing more can be evicted. */
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
  /* After each command. depth 0: a command of the schedule; else how many runs wait for this one. */
  plim_status (*ran)(void *user, const struct plim_residency *residency, int32_t depth);
  /* Recomputing has taken too long, and the replay ends: `op` was next. */
  plim_status (*gave_up)(void *user, const struct plim_residency *residency, int32_t op);
} plim_arena_watch;

/* Replay `order`, which has passed plim_plan_check, in one configuration, watched. PLIM_ENOFIT: an op finds no room,
 * recomputing takes more than limit_ns, or the replay recomputes the same storages over and over. */
PLIM_MUST_USE plim_status plim_arena_replay_watched(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                                                    plim_replay_config config, int64_t budget_bytes, int64_t limit_ns,
                                                    const plim_arena_watch *watch, plim_replay_counts *counts,
                                                    plim_plan **out);

#endif
