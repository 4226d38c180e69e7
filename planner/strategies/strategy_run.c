/* Runs a strategy for an incumbent:
 *   1. take_known   the plan front's fastest plan within the budget becomes the best
 *   2. use_bounds   bounds of the plan front hold; one that a file states is proved anew by the cut model
 *   3. search       the strategy, unless the same effort was made before or the best is proved
 *   4. bound_after  a bound by the cut model, where the strategy has asked for none
 *   5. plim_front_note  the effort and the bound are noted in the plan front
 * Without a plan front, only 3 and 4. A file is never believed: its plans are evaluated anew, its bounds proved anew.
 */
#include "planner/strategies/strategy.h"

#include "planner/bound/cut.h"

/* The effort of this call, as the plan front notes it. */
static plim_front_try try_of(const plim_incumbent *inc) {
  const plim_plan_options *options = inc->task.options;
  return (plim_front_try){.budget_bytes = inc->task.min_memory ? PLIM_TRY_MIN_MEMORY : inc->task.budget_bytes,
                          .iterations = options->iterations,
                          .time_limit_ns = options->time_limit_ns,
                          .seed = options->seed & INT64_MAX,
                          .threads = options->threads > 1 ? options->threads : 1};
}

/* Submit the plan front's point for this budget. A point that turns out wrong discards the whole plan front. */
static plim_status take_known(plim_incumbent *inc, plim_front *front, int *taken) {
  const plim_front_point *point =
      inc->task.min_memory ? plim_front_smallest(front) : plim_front_find(front, inc->task.budget_bytes);
  *taken = 0;
  if (!point) return PLIM_OK;
  PLIM_TRY(plim_incumbent_submit_point(inc, point, taken));
  if (!*taken) plim_front_free(front);
  return PLIM_OK;
}

/* Ask the cut model for a bound where the best is not proved and the strategy has not asked. Not for a long graph after
 * the time limit. */
static plim_status bound_after(plim_incumbent *inc) {
  if (!inc->has_best || inc->is_bounded || inc->best_ns <= inc->bound_ns) return PLIM_OK;
  if (inc->problem->n_ops > PLIM_LONG_OPS && plim_incumbent_is_out_of_time(inc)) return PLIM_OK;
  plim_incumbent_note_bounded(inc);
  return plim_cut_bound(inc);
}

/* Steps 3 and 4. */
static plim_status search_alone(plim_incumbent *inc, const plim_strategy *strategy) {
  if (inc->task.min_memory) return strategy->run_min_memory(inc);
  PLIM_TRY(strategy->run(inc));
  return bound_after(inc);
}

/* Steps 3 to 5. `attempt` is noted with the bound found. */
static plim_status search_and_note(plim_incumbent *inc, const plim_strategy *strategy, plim_front *front,
                                   plim_front_try *attempt) {
  inc->shared.front = front;
  plim_status status = search_alone(inc, strategy);
  inc->shared.front = NULL;
  if (status != PLIM_OK || !inc->has_best) return status;
  attempt->bound_ns = inc->task.min_memory ? 0 : inc->bound_ns;
  if (!inc->task.min_memory) plim_front_drop_hints(front, inc->task.budget_bytes, inc->bound_ns);
  return plim_front_note(front, attempt);
}

/* Note a bound that was proved anew, for the next budgets of this process. */
static plim_status note_proof(const plim_incumbent *inc, plim_front *front, plim_front_try *attempt, int64_t hint_ns) {
  attempt->bound_ns = inc->bound_ns;
  attempt->hint_ns = hint_ns > inc->bound_ns ? hint_ns : 0;
  return plim_front_note(front, attempt);
}

/* Prove the bound hint_ns that a file states, or as much of it as the best needs. *proved: 1 where the best is now a
 * proved optimum. */
static plim_status prove_hint(plim_incumbent *inc, int64_t hint_ns, int *proved) {
  int64_t target = hint_ns < inc->best_ns ? hint_ns : inc->best_ns;
  plim_status status = PLIM_OK;
  if (target > inc->bound_ns) status = plim_cut_prove(inc, target);
  *proved = inc->best_ns <= inc->bound_ns;
  return status;
}

/* Step 2. A known plan was taken (`taken`), from a search of equal effort (`is_tried`), or not. Take over the bounds
 * of the plan front, and prove those of a file as far as that may save the search. *is_done: no search is needed. Where
 * the file states that the best is the optimum and that could not be proved, the strategy runs again. */
static plim_status use_bounds(plim_incumbent *inc, plim_front *front, plim_front_try *attempt, int taken, int is_tried,
                              int *is_done) {
  int64_t bound_ns = plim_front_bound(front, inc->task.budget_bytes),
          hint_ns = plim_front_hint(front, inc->task.budget_bytes);
  int proved = 0;
  if (!taken || bound_ns <= inc->best_ns) plim_incumbent_raise_bound(inc, bound_ns);
  bound_ns = inc->bound_ns;
  if (taken) PLIM_TRY(prove_hint(inc, is_tried || hint_ns >= inc->best_ns ? hint_ns : 0, &proved));
  *is_done = proved || (is_tried && hint_ns < inc->best_ns);
  return *is_done && inc->bound_ns > bound_ns ? note_proof(inc, front, attempt, hint_ns) : PLIM_OK;
}

static plim_status run_with_front(plim_incumbent *inc, const plim_strategy *strategy, plim_front *front,
                                  int32_t *from_front) {
  plim_front_try attempt = try_of(inc);
  int taken;
  PLIM_TRY(take_known(inc, front, &taken));
  const int64_t known_ns = inc->best_ns, known_bytes = inc->best_bytes;
  const int is_tried = taken && plim_front_tried(front, &attempt);
  int is_done = is_tried;
  if (!inc->task.min_memory) PLIM_TRY(use_bounds(inc, front, &attempt, taken, is_tried, &is_done));
  plim_status status = is_done ? PLIM_OK : search_and_note(inc, strategy, front, &attempt);
  *from_front = taken && inc->best_ns == known_ns && inc->best_bytes == known_bytes;
  return status;
}

plim_status plim_strategy_find_any(plim_incumbent *inc, plim_status (*run_min_memory)(plim_incumbent *incumbent)) {
  plim_incumbent *min_memory = NULL;
  const plim_child child = {.min_memory = 1, .time_limit_ns = plim_plan_task_left_ns(&inc->task)};
  PLIM_TRY(plim_incumbent_child(inc, &child, &min_memory));
  return plim_incumbent_join(inc, min_memory, run_min_memory(min_memory));
}

plim_status plim_strategy_run(plim_incumbent *inc, const plim_strategy *strategy, plim_front *front,
                              int32_t *from_front) {
  *from_front = 0;
  return front ? run_with_front(inc, strategy, front, from_front) : search_alone(inc, strategy);
}
