/* What the files of planner/one_arena share: the smallest budget of a call, the sentence where nothing fits,
 * and the tuning constants. Callers read arena_plan.h. */
#ifndef PLIM_PLANNER_ONE_ARENA_ONE_ARENA_INTERNAL_H
#define PLIM_PLANNER_ONE_ARENA_ONE_ARENA_INTERNAL_H

#include "planner/core/incumbent.h"
#include "planner/front/front.h"
#include "planner/strategies/strategy.h"

/* ==== ends (arena_plan.c) ==== */

/* plim_effort_end for work that returns what it found before its deadline: where that ended it with PLIM_ECANCEL,
 * nothing was found. PLIM_ENOFIT then. */
PLIM_MUST_USE plim_status plim_arena_effort_end(plim_context *ctx, int64_t outer_ns, plim_status status);

/* ==== smallest budget (floor.c) ==== */

/* The smallest budget of a call that has begun, and has a plan front. */

/* plim_plan_smallest through that plan front: takes what it knows and leaves there what it finds, the lowest plan
 * before all. PLIM_EPLAN: a kept plan was bad. PLIM_ECANCEL: cancelled; the plan front has what was found. */
PLIM_MUST_USE plim_status plim_floor_find(const plim_strategy_call *call, plim_front *front, plim_plan_floor *out,
                                          plim_plan **plan);

/* Only the search of plim_floor_find, for `inc`, whose budget is PLIM_BYTES_UNLIMITED.
 *   floor  [1]  out  keep_all_bytes and from_front only */
PLIM_MUST_USE plim_status plim_floor_search(plim_incumbent *inc, const plim_strategy_call *call, plim_front *front,
                                            plim_plan_floor *floor);

/* ==== refusal (refuse.c) ==== */

/* Why there is no plan: the sentence of a refusal. Planner-internal; the words are plim_plan_floor_describe's. */

/* Fail with PLIM_ENOFIT for an incumbent for which the strategy of that name found nothing. The sentence has the
 * budget, what is proven about it, and the smallest budget met. It names the conflict of the schedule whose peak fits
 * and whose addresses miss the budget by least.
 *   floor  [1]  out  the figures of the sentence */
PLIM_MUST_USE plim_status plim_refuse(plim_incumbent *incumbent, const char *strategy, plim_plan_floor *floor);

/* What a valid schedule of that packed size lacks within a smaller budget, and a few buffers of it that are proven not
 * to lie together there: too many bytes at one command, or, where its peak fits, buffers without addresses.
 *   text  out  [PLIM_CONFLICT_BYTES]
 * Deterministic; at most some tenths of a second of exact search. */
PLIM_MUST_USE plim_status plim_refusal_conflict(plim_incumbent *incumbent, const plim_schedule *schedule,
                                                int64_t packed_bytes, int64_t budget_bytes, char *text);

/* ==== tuning constants ==== */

/* They were set by trial. What depends on a value: smallest budgets and refusals; `moves_an_op` changes first plans
 * over spaces. */
static const struct plim_one_arena_tuning {
  int32_t floor_percent; /* percent of the time limit of a range of budgets that is for the smallest one */
  int32_t conflict_work; /* nodes x boxes of the search for buffers that cannot lie together */
  int32_t moves_an_op;   /* moves for each op of a plan for spaces without a time limit: annealing follows there */
  int32_t near_part;     /* planners over spaces look for fewest bytes up to one part in so many above the budget */
} one_arena_tuning = {.floor_percent = 25, .conflict_work = 30000000, .moves_an_op = 4, .near_part = 32};

#endif
