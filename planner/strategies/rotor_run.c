/* The strategy `rotor`: Rotor's recurrence (planner/chain/rotor.c) on step graphs.
 *
 * The chain is first the stages between articulation points, then all ops as if they were a chain; long chains are
 * joined to fewer stages. The recurrence knows times and bytes of the chain only. What a plan takes on the real graph
 * is seen when it is submitted. So plans are made for several memory sizes around the budget. Source: Beaumont,
 * Eyraud-Dubois, Herrmann, Joly, Shilova, "Optimal checkpointing for heterogeneous chains", 2019. */
#include "planner/strategies/strategy.h"

#include "planner/chain/chain.h"
#include "planner/search/searches.h"
#include "planner/strategies/strategies_internal.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

typedef struct rotor_run {
  plim_incumbent *inc;
  const plim_stages *stages;
  plim_rotor *rotor;
  plim_stage_runner runner;
  plim_schedule last;     /* the schedule submitted last */
  plim_schedule polished; /* scratch: without the repeats that the budget does not need */
  plim_track *track;      /* NULL: nothing is polished */
} rotor_run;

/* Append the runs for stages i to j within m units of memory, while state i is held. The choices of the recurrence are
 * followed; the depth of the recursion is at most the number of stages. */
static plim_status follow_choices(rotor_run *run, int32_t i, int32_t j, int32_t m) {
  plim_stage_runner *runner = &run->runner;
  for (;;) {
    plim_rotor_choice choice = plim_rotor_choose(run->rotor, i, j, m);
    int32_t inner = plim_rotor_inner_units(run->rotor, i, m, choice), k = choice.state;
    if (k < 0 && k != PLIM_ROTOR_TAPE) return plim_stage_back(runner, i);
    if (k == PLIM_ROTOR_TAPE) {
      PLIM_TRY(plim_stage_tape(runner, i, choice.option));
      PLIM_TRY(follow_choices(run, i + 1, j, inner));
      plim_stage_untape(runner, i, choice.option);
      return plim_stage_back(runner, i);
    }
    for (int32_t at = i; at < k; at++) PLIM_TRY(plim_stage_advance(runner, at));
    plim_stage_keep(runner, k);
    PLIM_TRY(follow_choices(run, k, j, inner));
    plim_stage_release(runner, k);
    j = k - 1;
  }
}

/* Polish the last schedule for the budget and submit it. A plan for less memory, polished for the budget, is often
 * faster than one that was made for the budget. */
static plim_status polish_last(rotor_run *run) {
  int64_t budget = run->inc->task.budget_bytes;
  if (plim_incumbent_is_out_of_time(run->inc)) return PLIM_OK;
  PLIM_TRY(plim_track_reserve(&run->track, run->last.n));
  plim_track_load(run->track, &run->last);
  if (plim_track_peak(run->track) > budget) return PLIM_OK;
  PLIM_TRY(plim_polish(run->track, budget));
  PLIM_TRY(plim_track_store(run->track, &run->polished));
  return run->track->time_ns < run->inc->best_ns
             ? plim_incumbent_submit(run->inc, &run->polished, strategies_tuning.rotor.packing_rounds, NULL)
             : PLIM_OK;
}

/* Submit the plans of the recurrence for a memory size: inputs of stages end early or late (`linger`). */
static plim_status submit_for_size(rotor_run *run, int32_t units) {
  plim_context *ctx = run->inc->problem->ctx;
  int64_t max_runs = strategies_tuning.rotor.runs_an_op * (int64_t)run->inc->problem->n_ops;
  if (plim_effort_over(ctx, PLIM_EFFORT_LOOK)) return plim_fail(ctx, PLIM_ECANCEL, "planning was cancelled");
  for (run->runner.may_linger = 0; run->runner.may_linger < 2 && !plim_incumbent_is_out_of_time(run->inc);
       run->runner.may_linger++) {
    plim_stage_begin(&run->runner, max_runs < INT32_MAX ? (int32_t)max_runs : INT32_MAX);
    plim_status status = follow_choices(run, 0, run->stages->n - 1, units);
    if (status == PLIM_ENOFIT) continue; /* too many runs */
    PLIM_TRY(status);
    if (plim_schedule_equals(&run->runner.schedule, &run->last)) continue;
    PLIM_TRY(plim_schedule_copy(&run->last, &run->runner.schedule));
    PLIM_TRY(plim_incumbent_submit(run->inc, &run->last, strategies_tuning.rotor.packing_rounds, NULL));
    if (run->track) PLIM_TRY(polish_last(run));
  }
  return PLIM_OK;
}

/* Number of memory sizes at which the recurrence's time changes. */
static int32_t count_changes(const plim_rotor *rotor) {
  int32_t last = rotor->chain->n - 1, changes = plim_rotor_time(rotor, 0, last, 0) < PLIM_TIME_INFINITE;
  for (int32_t k = 1; k <= rotor->n_units; k++) {
    changes += plim_rotor_time(rotor, 0, last, k) != plim_rotor_time(rotor, 0, last, k - 1);
  }
  return changes;
}

/* Write the memory sizes at which the recurrence's time changes to size [PLIM_ROTOR_PLANS + 1], ascending: all of them,
 * or an even selection. Returns their number. *smallest: the first size that has a plan, selected or not. */
static int32_t select_sizes(const plim_rotor *rotor, int32_t *size, int32_t *smallest) {
  int32_t last = rotor->chain->n - 1, all = count_changes(rotor), seen = 0, n = 0;
  int32_t stride = all / PLIM_ROTOR_PLANS + 1;
  *smallest = rotor->n_units;
  for (int32_t m = 0; m <= rotor->n_units; m++) {
    int64_t before = m > 0 ? plim_rotor_time(rotor, 0, last, m - 1) : PLIM_TIME_INFINITE;
    if (plim_rotor_time(rotor, 0, last, m) == before) continue;
    if (seen == 0) *smallest = m;
    if (++seen % stride == 0 || seen == all) size[n++] = m;
  }
  return n;
}

/* Under a time limit: submit the plans of the largest sizes first, which are the fastest, until several in succession
 * do not improve the best. *best receives the size of the best. */
static plim_status submit_largest(rotor_run *run, int32_t n, const int32_t *size, int32_t *best) {
  for (int32_t i = n - 1, failures = 0; i >= 0 && failures < strategies_tuning.rotor.failures; i--) {
    int64_t best_ns = run->inc->best_ns;
    PLIM_TRY(submit_for_size(run, size[i]));
    int better = run->inc->best_ns < best_ns;
    failures = run->inc->has_best && !better ? failures + 1 : 0;
    if (better) *best = size[i];
  }
  return PLIM_OK;
}

/* Submit plans for less memory, polished for the budget. */
static plim_status submit_polished(rotor_run *run, int32_t smallest, int32_t best) {
  PLIM_TRY(plim_track_new(run->inc->problem, plim_track_usual_capacity(run->inc->problem), &run->track));
  for (int32_t i = 0; i < PLIM_ROTOR_SMALLER; i++) {
    int32_t less = (int32_t)((int64_t)best * strategies_tuning.rotor.smaller_percent[i] / 100);
    if (less >= smallest) PLIM_TRY(submit_for_size(run, less));
  }
  return PLIM_OK;
}

/* Without a time limit, all selected sizes in ascending order. */
static plim_status submit_plans(rotor_run *run) {
  int32_t size[PLIM_ROTOR_PLANS + 1], smallest, n = select_sizes(run->rotor, size, &smallest), best = -1;
  if (run->inc->task.options->time_limit_ns > 0 && !run->inc->task.min_memory) {
    PLIM_TRY(submit_largest(run, n, size, &best));
    return best < 0 ? PLIM_OK : submit_polished(run, smallest, best);
  }
  for (int32_t i = 0; i < n; i++) PLIM_TRY(submit_for_size(run, size[i]));
  return PLIM_OK;
}

/* Submit program order. *out receives its peak without the bytes that are always alive. */
static plim_status submit_order(plim_incumbent *inc, int64_t always, int64_t *out) {
  plim_schedule schedule = {.ctx = inc->problem->ctx};
  const plim_timeline *timeline = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_schedule_program_order(inc->problem, &schedule));
  PLIM_TRY_OR_DONE(plim_incumbent_evaluate(inc, &schedule, &timeline));
  *out = timeline->peak_bytes - always;
  PLIM_TRY_OR_DONE(plim_incumbent_submit(inc, &schedule, strategies_tuning.rotor.packing_rounds, NULL));
done:
  plim_schedule_free(&schedule);
  return status;
}

/* Time in ns that the recurrence's table may take; the plans made from it take more. */
static int64_t table_work(const plim_incumbent *inc) {
  int64_t limit_ns = inc->task.options->time_limit_ns,
          share = plim_effort_share(limit_ns, strategies_tuning.rotor.table_parts);
  return limit_ns > 0 && share < strategies_tuning.rotor.table_work ? share : strategies_tuning.rotor.table_work;
}

/* Number and size of the units of memory in the table, by the time that it may take. Where the greatest common divisor
 * of all bytes gives few enough units, it is the unit, and nothing is rounded. */
static void choose_units(const plim_incumbent *inc, int32_t n, int64_t bytes, int32_t *units, int64_t *unit_bytes) {
  const plim_problem *p = inc->problem;
  int64_t unit = 0, most = table_work(inc) / ((int64_t)n * n * n / 6 + 1);
  if (most > strategies_tuning.rotor.units_max) most = strategies_tuning.rotor.units_max;
  if (most < strategies_tuning.rotor.units_min) most = strategies_tuning.rotor.units_min;
  for (int32_t i = 0; i < p->n_items; i++) unit = plim_integers_gcd(unit, p->item[i].bytes);
  for (int32_t v = 0; v < p->n_ops; v++) unit = plim_integers_gcd(unit, p->op[v].choice[0].workspace_bytes);
  if (unit == 0) unit = 1;
  if (bytes / unit > most) unit = (bytes + most - 1) / most;
  *units = (int32_t)(bytes / unit);
  *unit_bytes = unit;
}

/* Rotor on the chain of one kind, with a table for `bytes`. */
static plim_status run_kind(plim_incumbent *inc, plim_checkpoint_kind kind, int64_t bytes) {
  plim_context *ctx = inc->problem->ctx;
  rotor_run run = {.inc = inc, .last = {.ctx = ctx}, .polished = {.ctx = ctx}};
  plim_stages *stages = NULL;
  plim_stage_costs *costs = NULL;
  plim_status status;
  int32_t units;
  int64_t unit_bytes;
  PLIM_TRY_OR_DONE(plim_stages_new(inc->problem, kind, strategies_tuning.rotor.stages, &stages));
  PLIM_TRY_OR_DONE(plim_stage_costs_new(stages, &costs));
  choose_units(inc, stages->n, bytes, &units, &unit_bytes);
  PLIM_TRY_OR_DONE(plim_rotor_make(ctx, &costs->chain, units, unit_bytes, &run.rotor));
  PLIM_TRY_OR_DONE(plim_stage_runner_make(stages, &run.runner));
  run.stages = stages;
  run.runner.drop_at = costs->drop_at;
  PLIM_TRY_OR_DONE(submit_plans(&run));
done:
  plim_track_free(run.track);
  plim_schedule_free(&run.polished);
  plim_schedule_free(&run.last);
  plim_stage_runner_free(&run.runner);
  plim_rotor_free(run.rotor);
  plim_stage_costs_free(costs);
  plim_stages_free(stages);
  return status;
}

static plim_status run_within(plim_incumbent *inc, int64_t bytes) {
  for (int kind = PLIM_CHECKPOINT_CUTS; kind <= PLIM_CHECKPOINT_LINEAR && !plim_incumbent_is_out_of_time(inc); kind++) {
    PLIM_TRY(run_kind(inc, (plim_checkpoint_kind)kind, bytes));
  }
  return PLIM_OK;
}

/* The table goes a part beyond the budget, since the recurrence counts each state as if none of its items ended early.
 * Where nothing fits, and with min_memory, the table goes up to the peak of program order. */
plim_status plim_rotor_run(plim_incumbent *inc) {
  const plim_problem *p = inc->problem;
  int64_t always = p->persistent_bytes, bytes;
  for (int32_t i = 0; i < p->n_items; i++) always += p->item[i].producer < 0 ? p->item[i].bytes : 0;
  PLIM_TRY(submit_order(inc, always, &bytes));
  int64_t budget = inc->task.budget_bytes - always, part = strategies_tuning.rotor.beyond_part;
  if (budget < 0 || (!inc->task.min_memory && plim_incumbent_proved(inc))) return PLIM_OK;
  if (budget < bytes / (part + 1) * part) PLIM_TRY(run_within(inc, budget + budget / part));
  return inc->has_best && !inc->task.min_memory ? PLIM_OK : run_within(inc, bytes);
}
