/* One replay of a schedule in the arena, under one policy and one setting of its switches. */
#ifndef PLIM_RUNTIME_ARENA_ONE_REPLAY_H
#define PLIM_RUNTIME_ARENA_ONE_REPLAY_H

#include "runtime/arena/forecast.h"
#include "runtime/arena/replay.h"

/* two_ends: cheap storages at the high end. frontier: a chain's operands are pinned from its start. hold_inputs: inputs
 * stay as long as something may be computed again from them (the forecast was made so). */
typedef struct plim_replay_way {
  const plim_policy *policy;
  int32_t two_ends, frontier, hold_inputs;
} plim_replay_way;

/* PLIM_ENOFIT when an op finds no room, or when computing again takes more than limit_ns; counts are of what was done.
 */
PLIM_MUST_USE plim_status plim_replay_once(plim_context *ctx, const plim_forecast *forecast, int64_t budget_bytes,
                                           plim_replay_way how, int64_t limit_ns, plim_replay_counts *counts,
                                           plim_plan **out);

#endif
