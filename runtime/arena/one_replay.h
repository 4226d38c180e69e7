/* One replay of a schedule in the arena, under one policy and one setting of its switches. */
#ifndef PLIM_RUNTIME_ARENA_ONE_REPLAY_H
#define PLIM_RUNTIME_ARENA_ONE_REPLAY_H

#include "runtime/arena/forecast.h"
#include "runtime/arena/replay.h"
#include "runtime/arena/watch.h"

/* The forecast holds inputs as `config` says. watch (may be NULL) is told what is done. PLIM_ENOFIT when an op finds no
 * room, or when recomputing takes more than limit_ns; counts are of what was done. */
PLIM_MUST_USE plim_status plim_replay_once(plim_context *ctx, const plim_forecast *forecast, int64_t budget_bytes,
                                           plim_replay_config config, int64_t limit_ns, const plim_arena_watch *watch,
                                           plim_replay_counts *counts, plim_plan **out);

/* The rest of a schedule with addresses, from position `from` > 0 on, in an arena that may be smaller: what has run
 * stays as it was, what lies beyond arena_bytes is evicted. The plan has both parts and the schedule's budget. */
PLIM_MUST_USE plim_status plim_replay_rest(plim_context *ctx, const plim_forecast *forecast, int32_t from,
                                           int64_t arena_bytes, plim_replay_config config, int64_t limit_ns,
                                           plim_replay_counts *counts, plim_plan **out);

#endif
