/* One replay of a schedule in the arena, under one policy and one setting of its switches. Functions run on the thread
 * of the context, and are deterministic. */
#ifndef PLIM_RUNTIME_ARENA_REPLAY_H
#define PLIM_RUNTIME_ARENA_REPLAY_H

#include "runtime/arena/forecast.h"
#include "runtime/arena/replay_search.h"
#include "runtime/arena/watch.h"

/* Replay the schedule of `forecast`, which was made with config->hold_inputs.
 *   watch     in   may be NULL
 *   counts    out  also set on failure, for the commands until then
 *   out       out  free with plim_plan_free
 * PLIM_ENOFIT: an op finds no room, recomputing takes longer than allowed, or the replay recomputes the same storages
 * over and over. PLIM_ECANCEL: the effort is over. */
PLIM_MUST_USE plim_status plim_replay_once(plim_context *ctx, const plim_forecast *forecast,
                                           const plim_replay_limits *limits, const plim_replay_config *config,
                                           const plim_arena_watch *watch, plim_replay_counts *counts, plim_plan **out);

/* Replay the rest of a schedule with addresses, from position `from` > 0 on, in an arena that may be smaller. Commands
 * before `from` stay as they are. Live buffers that end beyond limits->arena_bytes move or are evicted. The plan has
 * both parts and the schedule's budget. Errors as plim_replay_once, without PLIM_ECANCEL. */
PLIM_MUST_USE plim_status plim_replay_rest(plim_context *ctx, const plim_forecast *forecast, int32_t from,
                                           const plim_replay_limits *limits, const plim_replay_config *config,
                                           plim_replay_counts *counts, plim_plan **out);

#endif
