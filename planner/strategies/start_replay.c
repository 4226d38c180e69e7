/* Starts from the online arena (runtime/arena). Program order is replayed in arenas of the budget and of a few
 * smaller sizes: the arena evicts, and what was evicted is recomputed when it is read. The schedule of such a replay is
 * often better than that of an annealer's first thousand moves. */
#include "planner/strategies/strategies_internal.h"

#include <string.h>

#include "planner/core/evaluation.h"
#include "runtime/arena/replay_search.h"
#include "runtime/base/effort.h"

/* The choice of a variant by name; the fastest choice where the options forbid that variant. */
static int32_t find_choice(const plim_problem *p, int32_t op, const char *name) {
  const plim_variant *rows = p->profile->variant + p->profile->first[op];
  for (int32_t c = 0; c < p->op[op].n_choices; c++) {
    if (strcmp(rows[p->op[op].choice[c].variant].name, name) == 0) return c;
  }
  return 0;
}

static plim_status read_plan(const plim_problem *p, const plim_plan *plan, plim_schedule *out) {
  out->n = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    int32_t choice = find_choice(p, command->op, plan->variant[command->variant].variant.name);
    PLIM_TRY(plim_schedule_add(out, command->op, choice));
  }
  return PLIM_OK;
}

/* Program order as a plan, which the arena replays. Its addresses do not matter. */
static plim_status program_order(plim_incumbent *inc, plim_schedule *schedule, plim_plan **out) {
  plim_emission emission = {.planner = "program-order",
                            .plan_class = PLIM_CLASS_FIXED,
                            .budget_bytes = PLIM_BYTES_UNLIMITED,
                            .bound_ns = inc->problem->keep_all_ns};
  const plim_timeline *timeline = NULL;
  const plim_placement *placement = NULL;
  PLIM_TRY(plim_schedule_program_order(inc->problem, schedule));
  PLIM_TRY(plim_incumbent_place(inc, schedule, &timeline, &placement));
  return plim_emit(timeline, schedule, placement, &emission, out);
}

/* Simulate every online policy, each up to twice the time of the step. Where none ends in that time and the graph was
 * imported from a program that ran online, simulate them without that limit. */
static plim_status simulate(plim_incumbent *inc, const plim_plan *in_order, plim_plan **out) {
  const plim_problem *p = inc->problem;
  const plim_policy *best = plim_policy_at(0);
  plim_status status = plim_arena_online(p->ctx, p->graph, in_order, best,
                                         (plim_replay_limits){inc->task.budget_bytes, in_order->time_ns}, NULL, out);
  if (status != PLIM_ENOFIT || !p->graph->handles) return status;
  return plim_arena_online(p->ctx, p->graph, in_order, best,
                           (plim_replay_limits){inc->task.budget_bytes, PLIM_TIME_UNLIMITED}, NULL, out);
}

/* The schedule of a replay within `bytes`; empty: there is none. Within the whole budget every online policy is
 * simulated, and the cheapest run is submitted with its own addresses: so no online policy beats the search. Within
 * less, one policy is enough. */
static plim_status replay_within(plim_incumbent *inc, const plim_plan *in_order, int64_t bytes, plim_schedule *out) {
  const plim_problem *p = inc->problem;
  plim_plan *plan = NULL;
  int taken;
  out->n = 0;
  plim_status status = bytes == inc->task.budget_bytes
                           ? simulate(inc, in_order, &plan)
                           : plim_arena_replay(p->ctx, p->graph, in_order, bytes, NULL, &plan);
  if (status == PLIM_ENOFIT) return PLIM_OK;
  if (status != PLIM_OK) return status;
  status = read_plan(p, plan, out);
  if (status == PLIM_OK && bytes == inc->task.budget_bytes) status = plim_submit_plan(inc, plan, out, &taken);
  plim_plan_free(plan);
  return status;
}

static plim_status replay_order(plim_incumbent *inc, int32_t packing_rounds, plim_schedule *start) {
  const plim_problem *p = inc->problem;
  plim_schedule schedule = {.ctx = p->ctx};
  plim_plan *in_order = NULL;
  plim_submit_result result;
  int64_t fastest = PLIM_TIME_INFINITE;
  plim_status status = PLIM_OK;
  if (inc->task.options->unpacked || (p->n_ops > strategies_tuning.replay.ops && !p->graph->handles)) return PLIM_OK;
  PLIM_TRY_OR_DONE(program_order(inc, &schedule, &in_order));
  for (int i = 0; i < PLIM_REPLAY_BUDGETS && (i == 0 || p->n_ops <= strategies_tuning.replay.ops); i++) {
    int64_t percent = strategies_tuning.replay.budget_percent[i];
    int64_t bytes = percent == 100 ? inc->task.budget_bytes : inc->task.budget_bytes / 100 * percent;
    PLIM_TRY_OR_DONE(replay_within(inc, in_order, bytes, &schedule));
    if (schedule.n == 0) continue;
    PLIM_TRY_OR_DONE(plim_incumbent_submit(inc, &schedule, packing_rounds, &result));
    if (result.peak_bytes > inc->task.budget_bytes || result.time_ns >= fastest) continue;
    fastest = result.time_ns;
    PLIM_TRY_OR_DONE(plim_schedule_copy(start, result.schedule));
  }
done:
  plim_plan_free(in_order);
  plim_schedule_free(&schedule);
  return status;
}

plim_status plim_start_from_replay(plim_incumbent *inc, int32_t packing_rounds, plim_schedule *start) {
  int64_t now_ns = plim_now_ns(), end_ns = plim_plan_task_deadline(&inc->task, 100);
  if (end_ns < PLIM_TIME_UNLIMITED) end_ns = now_ns + (end_ns - now_ns) / strategies_tuning.replay.time_parts;
  int64_t outer_ns = plim_effort_begin(inc->problem->ctx, end_ns);
  return plim_effort_end(inc->problem->ctx, outer_ns, replay_order(inc, packing_rounds, start));
}
