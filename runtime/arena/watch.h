/* Watching a replay. A watcher is called for every eviction, with the request and the choice, and for every run. It
 * reads the state of the arena from the residency, so nothing is stored for watchers. The function is in
 * replay_search.c. */
#ifndef PLIM_RUNTIME_ARENA_WATCH_H
#define PLIM_RUNTIME_ARENA_WATCH_H

#include "runtime/arena/replay_search.h"
#include "runtime/arena/window.h"

struct plim_residency;

/* A request for room. */
typedef struct plim_arena_request {
  int32_t op;      /* that needs the room; PLIM_NONE: before the first command, or after the last one */
  int32_t storage; /* PLIM_WORKSPACE: the workspace of the op */
  int64_t bytes;   /* rounded up to PLIM_ALIGN */
} plim_arena_request;

/* The eviction that is chosen for a request.
 *   by windows         window[chosen] of `window` [n], which are in the order of the search, best first. score [n]: of
 *                      each window as a whole; NULL: windows were not priced as wholes
 *   one after another  `storage`
 * n 0 and PLIM_NONE: nothing more can be evicted. */
typedef struct plim_arena_choice {
  int32_t n, chosen;
  const plim_window *window;
  const int64_t *score;
  int32_t storage;
} plim_arena_choice;

/* The functions of a watcher. Any status but PLIM_OK ends the replay with that status. */
typedef struct plim_arena_watch {
  void *user;
  /* Before each eviction. */
  plim_status (*chose)(void *user, struct plim_residency *res, const plim_arena_request *request,
                       const plim_arena_choice *choice);
  /* After each command. depth 0: a command of the schedule; > 0: a recomputation for which so many runs wait. */
  plim_status (*ran)(void *user, const struct plim_residency *res, int32_t depth);
  /* When recomputing has taken too long and the replay ends; `op` was next. */
  plim_status (*gave_up)(void *user, const struct plim_residency *res, int32_t op);
} plim_arena_watch;

/* Replay `order`, which has passed plim_plan_check, in one configuration, watched. PLIM_ENOFIT: an op finds no room,
 * recomputing takes longer than allowed, or the replay recomputes the same storages over and over. */
PLIM_MUST_USE plim_status plim_arena_replay_watched(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                                                    const plim_replay_config *config, const plim_replay_limits *limits,
                                                    const plim_arena_watch *watch, plim_replay_counts *counts,
                                                    plim_plan **out);

#endif
