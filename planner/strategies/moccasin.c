/* Moccasin: the fastest schedule of class copies. It has stages, and computes each op at most `copies` times (two by
 * default).
 *
 * The default search, in program order, gives a first schedule, which is brought into stages. The cut model gives a
 * bound. Then our constraint search (planner/exact/staged_search.c) goes through the model of retention intervals.
 * Where it ends, its best is proved. Needs no solver; CP-SAT after it gained nothing (docs/experiments.md). Source:
 * Bartan et al., "Moccasin: efficient tensor rematerialization for neural networks", ICML 2023. */
#include "planner/strategies/strategy.h"

#include "planner/core/problem.h"
#include "planner/exact/dag.h"
#include "planner/exact/staged.h"
#include "planner/search/searches.h"
#include "planner/strategies/strategies_internal.h"

typedef struct moccasin {
  plim_incumbent *inc;
  plim_dag *dag;
  plim_staged staged;
  plim_repeats best; /* the best start so far */
  int64_t best_peak, best_ns;
  plim_schedule schedule;
  int32_t copies; /* most computations of an op */
} moccasin;

/* Submit the schedule of a set of repeats; *bytes (may be NULL) is what the budget bounds. */
static plim_status submit_repeats(moccasin *run, const plim_repeats *repeats, int32_t packing_rounds, int64_t *bytes) {
  plim_submit_result result;
  PLIM_TRY(plim_staged_evaluate(&run->staged, repeats));
  PLIM_TRY(plim_staged_schedule(&run->staged, &run->schedule));
  PLIM_TRY(plim_incumbent_submit(run->inc, &run->schedule, packing_rounds, &result));
  if (bytes) *bytes = result.bytes;
  return PLIM_OK;
}

/* Submit a set of repeats, and keep it as the start where it is better: fitting before not, then faster or lower. */
static plim_status submit_start(moccasin *run, const plim_repeats *repeats) {
  PLIM_TRY(submit_repeats(run, repeats, strategies_tuning.moccasin.packing_rounds, NULL));
  const plim_staged *staged = &run->staged;
  int64_t limit = run->inc->task.min_memory ? 0 : run->inc->task.budget_bytes;
  int fits = staged->peak_bytes <= limit, best_fits = run->best_peak <= limit;
  int better = fits != best_fits ? fits : fits ? staged->time_ns < run->best_ns : staged->peak_bytes < run->best_peak;
  if (!better) return PLIM_OK;
  run->best_peak = staged->peak_bytes;
  run->best_ns = staged->time_ns;
  return plim_repeats_copy(&run->best, repeats);
}

/* Take the bound and, brought into stages, the best schedule of a search in program order. */
static plim_status find_start(moccasin *run, plim_status (*start_search)(plim_incumbent *incumbent)) {
  plim_incumbent *inc = run->inc, *other = NULL;
  int64_t iterations = inc->task.options->iterations;
  plim_child child = {.time_limit_ns = plim_plan_task_part_ns(&inc->task, strategies_tuning.moccasin.start_share)};
  plim_repeats repeats = {.ctx = run->dag->ctx};
  plim_status status;
  child.iterations = iterations > 0 ? iterations / strategies_tuning.moccasin.start_share + 1
                                    : strategies_tuning.moccasin.start_moves_an_op * (int64_t)inc->problem->n_ops;
  child.min_memory = inc->task.min_memory;
  child.runs_an_op_limit = run->copies;
  PLIM_TRY_OR_DONE(submit_start(run, &repeats)); /* program order */
  if (!inc->task.min_memory && plim_incumbent_decided(inc)) goto done;
  PLIM_TRY_OR_DONE(plim_incumbent_child(inc, &child, &other));
  status = start_search(other);
  if (status != PLIM_OK && status != PLIM_ECANCEL) goto done;
  plim_incumbent_raise_bound(inc, other->bound_ns);
  if (other->has_best) {
    plim_status taken = plim_repeats_from_schedule(run->dag, &other->best, run->copies, &repeats);
    if (taken == PLIM_OK) taken = submit_start(run, &repeats);
    if (taken != PLIM_OK) status = taken;
  }
done:
  plim_incumbent_end(other);
  plim_repeats_free(&repeats);
  return status;
}

/* Nodes of the tree: those of the caller, or as many as take a few seconds. */
static int64_t node_limit(const moccasin *run) {
  const plim_plan_options *options = run->inc->task.options;
  if (options->iterations > 0) return options->iterations;
  if (options->time_limit_ns > 0) return INT64_MAX / 2;
  return strategies_tuning.moccasin.nodes_min +
         strategies_tuning.moccasin.tree_work / (run->dag->n + run->dag->n_edges + 1);
}

static plim_status on_better(void *user, const plim_repeats *better) {
  moccasin *run = user;
  PLIM_TRY(submit_repeats(run, better, strategies_tuning.moccasin.packing_rounds_quick, NULL));
  plim_incumbent_report(run->inc, "moccasin");
  return PLIM_OK;
}

/* The constraint search within a limit on the peak. *found and *bytes tell of its best. */
static plim_status search_within(moccasin *run, int64_t limit, int *found, int64_t *bytes) {
  plim_incumbent *inc = run->inc;
  plim_staged_search search = {.dag = run->dag,
                               .copies = run->copies,
                               .limit_bytes = limit,
                               .bound_ns = inc->bound_ns,
                               .faster_than_ns = inc->has_best ? inc->best_ns : PLIM_TIME_INFINITE,
                               .nodes = node_limit(run),
                               .deadline_ns = plim_plan_task_deadline(&inc->task, 100),
                               .seed = inc->task.options->seed,
                               .on_better = on_better,
                               .user = run,
                               .best = {.ctx = run->dag->ctx}};
  plim_status status = plim_staged_search_run(&search, run->best.n > 0 ? &run->best : NULL);
  plim_status submitted = PLIM_OK;
  *found = search.found;
  if (search.found) submitted = submit_repeats(run, &search.best, strategies_tuning.moccasin.packing_rounds, bytes);
  if (search.found && submitted == PLIM_OK) submitted = plim_repeats_copy(&run->best, &search.best);
  if (submitted == PLIM_OK && search.is_exhausted && run->dag->is_exact && limit >= inc->task.budget_bytes) {
    /* nothing is faster than the best of the tree, or than what was there before */
    plim_incumbent_raise_bound(inc, search.faster_than_ns);
  }
  plim_repeats_free(&search.best);
  return status != PLIM_OK ? status : submitted;
}

/* A schedule may fit and its addresses not: then the peak has to be lower by what was too much. */
static plim_status search_rounds(moccasin *run) {
  int64_t limit = run->inc->task.budget_bytes;
  for (int32_t round = 0; round < strategies_tuning.moccasin.rounds; round++) {
    int found;
    int64_t bytes = 0;
    PLIM_TRY(search_within(run, limit, &found, &bytes));
    if (!found || bytes <= run->inc->task.budget_bytes) return PLIM_OK;
    limit -= bytes - run->inc->task.budget_bytes;
  }
  return PLIM_OK;
}

/* `budget` decides on variants, see plim_dag_make. */
static plim_status open_search(plim_incumbent *inc, int64_t budget, moccasin *run) {
  *run = (moccasin){.inc = inc,
                    .best = {.ctx = inc->problem->ctx},
                    .best_peak = INT64_MAX,
                    .best_ns = PLIM_TIME_INFINITE,
                    .schedule = {.ctx = inc->problem->ctx},
                    .copies = inc->task.options->copies > 0 ? inc->task.options->copies : PLIM_COPIES_DEFAULT};
  PLIM_TRY(plim_dag_make(inc->problem, budget, &run->dag));
  return plim_staged_make(run->dag, &run->staged);
}

static void close_search(moccasin *run) {
  plim_repeats_free(&run->best);
  plim_schedule_free(&run->schedule);
  plim_staged_free(&run->staged);
  plim_dag_free(run->dag);
}

plim_status plim_moccasin_run(plim_incumbent *inc) {
  moccasin run;
  int32_t op;
  if (inc->task.budget_bytes < plim_bound_bytes(inc->problem, &op)) return PLIM_OK;
  plim_status status = open_search(inc, inc->task.budget_bytes, &run);
  if (status == PLIM_OK) status = find_start(&run, plim_search_run);
  if (status == PLIM_OK && !plim_incumbent_decided(inc)) status = search_rounds(&run);
  int over = plim_now_ns() >= plim_plan_task_deadline(&inc->task, 100);
  if (status == PLIM_OK && !inc->has_best && !plim_incumbent_decided(inc) && !over) {
    status = plim_strategy_find_any(inc, plim_moccasin_min_memory_run);
  }
  close_search(&run);
  return status;
}

/* The lowest peak: from what the search for fewest bytes finds, down by amounts that halve where nothing is found. */
static plim_status go_down(moccasin *run) {
  int64_t least = plim_dag_least_peak(run->dag, NULL), reduction = (run->best_peak - least) / 2;
  int64_t end_ns = plim_plan_task_deadline(&run->inc->task, 100);
  for (int32_t round = 0; round < strategies_tuning.moccasin.min_memory_rounds && reduction > 0 &&
                          run->inc->best_bytes > run->inc->task.target_bytes;
       round++) {
    if (end_ns < PLIM_TIME_UNLIMITED && plim_now_ns() >= end_ns) break;
    plim_staged_search search = {.dag = run->dag,
                                 .copies = run->copies,
                                 .limit_bytes = run->best_peak - reduction,
                                 .bound_ns = PLIM_TIME_INFINITE, /* the first one is good */
                                 .faster_than_ns = PLIM_TIME_INFINITE,
                                 .nodes = strategies_tuning.moccasin.min_memory_nodes,
                                 .deadline_ns = end_ns,
                                 .seed = run->inc->task.options->seed,
                                 .best = {.ctx = run->dag->ctx}};
    plim_status status = plim_staged_search_run(&search, &run->best);
    if (status == PLIM_OK && search.found) status = submit_start(run, &search.best);
    if (!search.found) reduction /= 2;
    if (search.found && reduction > (run->best_peak - least) / 2) reduction = (run->best_peak - least) / 2;
    plim_repeats_free(&search.best);
    PLIM_TRY(status);
  }
  return PLIM_OK;
}

plim_status plim_moccasin_min_memory_run(plim_incumbent *inc) {
  moccasin run;
  plim_status status = open_search(inc, 0, &run);
  if (status == PLIM_OK) status = find_start(&run, plim_min_memory_run);
  if (status == PLIM_OK) status = go_down(&run);
  close_search(&run);
  return status;
}
