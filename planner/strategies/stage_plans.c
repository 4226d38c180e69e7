/* What the strategies of class stages share: first plans, repair, the integer program, and submits. Whatever a model or
 * a rounding says, a plan counts only when the incumbent has evaluated it on the real graph. */
#include "planner/strategies/strategies_internal.h"

#include <math.h>
#include <string.h>

#include "planner/bound/cut.h"
#include "planner/exact/dag.h"
#include "planner/exact/stage_model.h"
#include "planner/strategies/strategy.h"
#include "runtime/base/integers.h"

/* choices_bytes: the budget that choices of variants are made for. */
static plim_status open_plans(plim_incumbent *inc, int64_t choices_bytes, plim_stage_plans *out) {
  *out = (plim_stage_plans){.inc = inc, .limit_bytes = inc->task.budget_bytes, .schedule = {.ctx = inc->problem->ctx}};
  PLIM_TRY(plim_dag_make(inc->problem, choices_bytes, &out->dag));
  PLIM_TRY(plim_stage_schedule_new(out->dag, &out->stages));
  return plim_stage_schedule_new(out->dag, &out->best);
}

/* Also after a failed begin. */
static void close_plans(plim_stage_plans *plans) {
  plim_stage_schedule_free(plans->stages);
  plim_stage_schedule_free(plans->best);
  plim_dag_free(plans->dag);
  plim_schedule_free(&plans->schedule);
}

/* Submit the stages as they are. */
static plim_status submit_stages(plim_stage_plans *plans) {
  const plim_stage_schedule *stages = plans->stages;
  plim_submit_result result;
  PLIM_TRY(plim_dag_schedule(plans->dag, stages->n_positions, stages->node, &plans->schedule));
  PLIM_TRY(plim_incumbent_submit(plans->inc, &plans->schedule, strategies_tuning.stages.packing_rounds, &result));
  plans->excess_bytes = result.bytes - plans->inc->task.budget_bytes;
  if (stages->peak_bytes > plans->limit_bytes || (plans->has_best && stages->time_ns >= plans->best->time_ns)) {
    return PLIM_OK;
  }
  memcpy(plans->best->keep, stages->keep, (size_t)stages->n * (size_t)stages->n);
  plans->has_best = 1;
  return plim_stage_schedule_derive(plans->best);
}

plim_status plim_stage_plans_submit(plim_stage_plans *plans) {
  int fits;
  if (plans->stages->peak_bytes <= plans->limit_bytes) PLIM_TRY(submit_stages(plans));
  PLIM_TRY(plim_stage_schedule_repair(plans->stages, plans->limit_bytes,
                                      plim_plan_task_deadline(&plans->inc->task, 100), &fits));
  return fits ? submit_stages(plans) : PLIM_OK;
}

/* Take the bound of a search in program order: it holds for stages too. */
static void take_bound(plim_stage_plans *plans, const plim_incumbent *searched) {
  if (plans->limit_bytes < plans->inc->task.budget_bytes || searched->bound_ns == PLIM_TIME_INFINITE) return;
  plim_incumbent_raise_bound(plans->inc, searched->bound_ns);
}

/* Submit the plan of a short default search, as stages. */
static plim_status submit_searched(plim_stage_plans *plans) {
  plim_incumbent *searched = NULL;
  int64_t part_ns = plim_plan_task_part_ns(&plans->inc->task, strategies_tuning.stages.search_parts),
          asked = plans->inc->task.options->iterations;
  int64_t moves = strategies_tuning.stages.moves_an_op * (int64_t)plans->dag->n;
  int64_t max_moves = asked > 0 ? asked : strategies_tuning.stages.moves_max;
  const plim_child child = {
      .budget_bytes = plans->limit_bytes,
      .unpacked = 1,
      .time_limit_ns = part_ns < strategies_tuning.stages.search_ns ? part_ns : strategies_tuning.stages.search_ns,
      .iterations = moves < max_moves ? moves : max_moves};
  PLIM_TRY(plim_incumbent_child(plans->inc, &child, &searched));
  plim_status status = plim_search_run(searched);
  take_bound(plans, searched);
  if (status == PLIM_OK && searched->has_best) {
    status = plim_stage_schedule_project(plans->stages, &searched->best);
    if (status == PLIM_OK) status = plim_stage_plans_submit(plans);
  }
  plim_incumbent_end(searched);
  return status;
}

plim_status plim_stage_plans_submit_cut(plim_stage_plans *plans, int64_t limit_bytes) {
  plim_incumbent *other = NULL;
  const plim_child child = {
      .budget_bytes = limit_bytes,
      .unpacked = 1,
      .time_limit_ns = plim_plan_task_part_ns(&plans->inc->task, strategies_tuning.stages.search_parts)};
  plim_schedule start = {.ctx = plans->dag->ctx};
  PLIM_TRY(plim_incumbent_child(plans->inc, &child, &other));
  plim_status status =
      plim_cut_suggest(other, strategies_tuning.stages.cut_work, plim_plan_task_deadline(&other->task, 100), &start);
  if (limit_bytes == plans->limit_bytes) take_bound(plans, other);
  if (status == PLIM_OK && start.n > 0) {
    status = plim_stage_schedule_project(plans->stages, &start);
    if (status == PLIM_OK) status = plim_stage_plans_submit(plans);
  }
  plim_schedule_free(&start);
  plim_incumbent_end(other);
  return status;
}

static plim_status begin_in_order(plim_stage_plans *plans) {
  PLIM_TRY(plim_schedule_program_order(plans->inc->problem, &plans->schedule));
  return plim_stage_schedule_project(plans->stages, &plans->schedule);
}

plim_status plim_stage_plans_submit_order(plim_stage_plans *plans) {
  PLIM_TRY(begin_in_order(plans));
  return plim_stage_plans_submit(plans);
}

plim_status plim_stage_plans_submit_first(plim_stage_plans *plans) {
  PLIM_TRY(plim_stage_plans_submit_order(plans));
  if (plim_incumbent_proved(plans->inc)) return PLIM_OK;
  return submit_searched(plans);
}

/* Bisect on the peak: repair program order for ever lower limits. */
static plim_status submit_halving(plim_stage_plans *plans) {
  int64_t low = plim_dag_least_peak(plans->dag, NULL) - 1, high;
  PLIM_TRY(begin_in_order(plans));
  PLIM_TRY(submit_stages(plans));
  high = plans->stages->peak_bytes;
  while (high - low > 1 && high - low > high / strategies_tuning.stages.halving_part &&
         !plim_incumbent_is_out_of_time(plans->inc)) {
    int64_t limit = low + (high - low) / 2;
    int fits;
    PLIM_TRY(begin_in_order(plans));
    PLIM_TRY(plim_stage_schedule_repair(plans->stages, limit, plim_plan_task_deadline(&plans->inc->task, 100), &fits));
    PLIM_TRY(submit_stages(plans));
    if (fits) high = plans->stages->peak_bytes;
    if (!fits) low = limit;
  }
  return PLIM_OK;
}

/* Once with the fastest variants, once with those of least workspace. One plan is submitted even after the time limit.
 */
plim_status plim_stage_min_memory_run(plim_incumbent *inc) {
  plim_status status = PLIM_OK;
  for (int pass = 0; pass < 2 && status == PLIM_OK && !plim_incumbent_is_out_of_time(inc); pass++) {
    plim_stage_plans plans;
    status = open_plans(inc, pass ? 0 : PLIM_BYTES_UNLIMITED, &plans);
    if (status == PLIM_OK) status = submit_halving(&plans);
    close_plans(&plans);
  }
  return status;
}

double plim_stage_plans_seconds_left(const plim_incumbent *inc) {
  if (inc->task.options->time_limit_ns <= 0) return 0;
  double left = (double)(plim_plan_task_deadline(&inc->task, 100) - plim_now_ns()) / 1e9;
  return left > strategies_tuning.stages.seconds_min ? left : -1;
}

typedef struct watcher {
  const plim_stage_plans *plans;
  const plim_stage_model *model;
  int32_t relax;
} watcher;

static int on_progress(void *user, double objective, double bound) {
  const watcher *watch = user;
  const plim_incumbent *inc = watch->plans->inc;
  int64_t best = inc->has_best ? inc->best_ns : PLIM_TIME_INFINITE, proven = inc->bound_ns;
  if (objective < strategies_tuning.stages.infinite) { /* a solver has infinity before its first point */
    const int64_t repeats_ns = plim_integers_from_real(objective * (double)watch->plans->dag->time_unit + 0.5);
    const int64_t found = plim_integers_add_capped(watch->plans->dag->time_ns, repeats_ns);
    if (found < best) best = found;
  }
  if (watch->plans->dag->is_exact && bound > 0 && bound < strategies_tuning.stages.infinite) {
    int64_t raised = plim_stage_model_bound(watch->model, bound);
    if (raised > proven) proven = raised < best ? raised : best;
  }
  plim_progress progress = {.stage = watch->relax ? "relaxation" : "integer program",
                            .total = -1,
                            .elapsed_ns = plim_now_ns() - inc->task.started_ns,
                            .best_percent = best < PLIM_TIME_INFINITE ? plim_problem_percent(inc->problem, best) : -1,
                            .bound_percent = plim_problem_percent(inc->problem, proven)};
  plim_context_report(inc->problem->ctx, &progress);
  return best <= inc->bound_ns;
}

plim_status plim_stage_plans_model(const plim_stage_plans *plans, int64_t limit, plim_stage_model **out) {
  int64_t max_repeat_ns = plans->has_best ? plans->best->time_ns - plans->dag->time_ns : PLIM_TIME_INFINITE;
  return plim_stage_model_make(plans->dag, limit, max_repeat_ns, out);
}

plim_status plim_stage_plans_solve(plim_stage_plans *plans, plim_solver *solver, const plim_stage_model *model,
                                   const double *start, int relax, plim_solution *out, double *point) {
  watcher w = {plans, model, relax};
  plim_solve_options options = {.relax = relax,
                                .threads = plans->inc->task.options->threads,
                                .seconds = plim_stage_plans_seconds_left(plans->inc),
                                .iterations = plans->inc->task.options->iterations,
                                .absolute_gap = 0.999, /* objectives are whole numbers */
                                .cutoff = INFINITY,
                                .start = start,
                                .on_progress = on_progress,
                                .user = &w};
  *out = (plim_solution){.end = PLIM_SOLVE_STOPPED, .objective = INFINITY, .bound = -INFINITY};
  if (options.seconds < 0) return PLIM_OK;
  if (start) {
    int64_t repeats = (plans->best->time_ns - plans->dag->time_ns) / plans->dag->time_unit;
    options.cutoff = (double)repeats + 0.5;
  }
  return plim_solver_solve(solver, &model->linear, &options, out, point);
}

void plim_stage_plans_raise_bound(plim_stage_plans *plans, const plim_stage_model *model, double bound) {
  if (!plans->dag->is_exact || !(bound > 0)) return;
  int64_t proven = plim_stage_model_bound(model, bound);
  if (plans->inc->has_best && proven > plans->inc->best_ns) proven = plans->inc->best_ns;
  plim_incumbent_raise_bound(plans->inc, proven);
}

plim_status plim_stage_plans_run(plim_incumbent *inc, plim_stage_work *work) {
  plim_stage_plans plans = {0};
  plim_solver *solver = NULL;
  plim_status status;
  status = open_plans(inc, inc->task.budget_bytes, &plans); /* the size is refused with a solver and without one */
  if (status == PLIM_OK) status = plim_solver_open(inc->problem->ctx, NULL, &solver);
  if (status == PLIM_OK) status = work(&plans, solver);
  close_plans(&plans);
  plim_solver_close(solver);
  if (status == PLIM_OK && !inc->has_best) status = plim_strategy_find_any(inc, plim_stage_min_memory_run);
  return status;
}
