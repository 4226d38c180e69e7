/* The incumbent: evaluates and packs each schedule that a strategy submits, keeps the best, and writes it as a plan.
 *
 * The way of a schedule:
 *   plim_incumbent_submit
 *     evaluate_reselecting  timeline; other variants, where these bring the peak within the budget
 *     submit_evaluated
 *       measure_bytes       packing: what the budget bounds
 *       add_to_front        a point of the plan front
 *       keep_conflict       for a refusal
 *       make_best           where it is better than the best
 *     submit_faster         the same with faster variants, where some fit
 *
 * Invariant: with has_best and without is_adopted, best_placement holds valid offsets of `best` within the budget. */
#include "planner/core/incumbent.h"

#include "runtime/base/effort.h"
#include "runtime/graph/check/check.h"

/* What only this file reads. The second half is scratch, overwritten by each submission. */
struct plim_incumbent_own {
  plim_plan_options options;     /* of a child; those of another incumbent are the caller's */
  plim_placement best_placement; /* of `best`, unless is_adopted */
  int32_t is_adopted;            /* 1: another incumbent has `best`, with its placement: not merged again */
  plim_timeline *timeline;       /* memory of the timeline of a schedule */
  plim_placement placement;      /* memory of its placement */
  plim_placement spare;          /* memory of a second packing of it */
  plim_variant_selection selection;
  plim_schedule reselected; /* the submitted schedule with other variants */
};

static plim_status begin_own(const plim_problem *problem, struct plim_incumbent_own *own) {
  plim_context *ctx = problem->ctx;
  *own = (struct plim_incumbent_own){
      .best_placement = {.ctx = ctx}, .placement = {.ctx = ctx}, .spare = {.ctx = ctx}, .reselected = {.ctx = ctx}};
  PLIM_TRY(plim_timeline_new(problem, &own->timeline));
  return plim_variant_selection_make(problem, &own->selection);
}

static void end_own(plim_context *ctx, struct plim_incumbent_own *own) {
  if (!own) return;
  plim_timeline_free(own->timeline);
  plim_variant_selection_free(&own->selection);
  plim_schedule_free(&own->reselected);
  plim_placement_free(&own->placement);
  plim_placement_free(&own->spare);
  plim_placement_free(&own->best_placement);
  plim_release(ctx, own, 1, sizeof *own);
}

plim_status plim_incumbent_begin(const plim_problem *problem, const plim_plan_options *options, plim_incumbent **out) {
  plim_context *ctx = problem->ctx;
  plim_incumbent *inc = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *inc, &inc));
  *inc = (plim_incumbent){.problem = problem,
                          .task = plim_plan_task_of(options),
                          .best = {.ctx = ctx},
                          .best_ns = PLIM_TIME_INFINITE,
                          .best_bytes = INT64_MAX,
                          .bound_ns = problem->keep_all_ns,
                          .least_bytes = INT64_MAX,
                          .least_plan_bytes = INT64_MAX,
                          .conflict = {.ctx = ctx},
                          .conflict_bytes = INT64_MAX};
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 1, sizeof *inc->own, &inc->own));
  PLIM_TRY_OR_DONE(begin_own(problem, inc->own));
  *out = inc;
done:
  if (status != PLIM_OK) plim_incumbent_end(inc);
  return status;
}

void plim_incumbent_end(plim_incumbent *inc) {
  if (!inc) return;
  plim_context *ctx = inc->problem->ctx;
  end_own(ctx, inc->own);
  plim_schedule_free(&inc->best);
  plim_schedule_free(&inc->conflict);
  plim_release(ctx, inc, 1, sizeof *inc);
}

void plim_incumbent_raise_bound(plim_incumbent *inc, int64_t bound_ns) {
  if (bound_ns > inc->bound_ns) inc->bound_ns = bound_ns;
}

void plim_incumbent_note_bounded(plim_incumbent *inc) {
  inc->is_bounded = 1;
}

plim_status plim_incumbent_child(const plim_incumbent *inc, const plim_child *asked, plim_incumbent **out) {
  PLIM_TRY(plim_incumbent_begin(inc->problem, inc->task.options, out));
  plim_incumbent *child = *out;
  plim_plan_options *options = &child->own->options;
  *options = *inc->task.options;
  options->budget_bytes = asked->min_memory         ? PLIM_BYTES_UNLIMITED
                          : asked->budget_bytes > 0 ? asked->budget_bytes
                                                    : inc->task.budget_bytes;
  options->time_limit_ns = asked->time_limit_ns;
  if (asked->iterations > 0) options->iterations = asked->iterations;
  if (asked->unpacked) options->unpacked = 1;
  options->seed += asked->seed_offset;
  child->task = plim_plan_task_of(options);
  child->task.min_memory = asked->min_memory;
  child->task.runs_an_op_limit = asked->runs_an_op_limit > 0 ? asked->runs_an_op_limit : inc->task.runs_an_op_limit;
  child->task.target_bytes = asked->min_memory && !inc->task.min_memory ? inc->task.budget_bytes : 0;
  return PLIM_OK;
}

plim_status plim_incumbent_join(plim_incumbent *inc, plim_incumbent *child, plim_status status) {
  if (child && (status == PLIM_OK || status == PLIM_ECANCEL)) {
    plim_status taken = plim_incumbent_merge(inc, child);
    if (taken != PLIM_OK) status = taken;
  }
  plim_incumbent_end(child);
  return status;
}

int plim_incumbent_is_out_of_time(const plim_incumbent *inc) {
  int64_t deadline_ns = plim_plan_task_deadline(&inc->task, 100);
  if (inc->least_bytes == INT64_MAX) return 0;
  return (deadline_ns < PLIM_TIME_UNLIMITED && plim_now_ns() >= deadline_ns) ||
         plim_effort_left_ns(inc->problem->ctx) == 0;
}

int plim_incumbent_proved(const plim_incumbent *inc) {
  return inc->has_best && inc->best_ns <= inc->bound_ns;
}

int plim_incumbent_decided(const plim_incumbent *inc) {
  return inc->bound_ns >= inc->task.known_ns || plim_incumbent_proved(inc);
}

plim_status plim_incumbent_best_so_far(const plim_incumbent *inc, plim_status status) {
  int enough = status == PLIM_ECANCEL && inc->has_best && !plim_context_cancelled(inc->problem->ctx);
  return enough ? PLIM_OK : status;
}

plim_status plim_incumbent_program_order(plim_incumbent *inc, int64_t limit, plim_schedule *out) {
  PLIM_TRY(plim_schedule_program_order(inc->problem, out));
  if (!inc->own->selection.is_useful) return PLIM_OK;
  PLIM_TRY(plim_timeline_evaluate(inc->own->timeline, out));
  (void)plim_variant_selection_run(&inc->own->selection, inc->own->timeline, out, limit);
  return PLIM_OK;
}

/* Select variants for the limit into `reselected`.
 *   timeline  [1] in out  of `schedule`; where a variant changed, of `reselected`
 *   changed   [1] out     1: a variant changed */
static plim_status reselect(plim_incumbent *inc, const plim_schedule *schedule, int64_t limit, plim_timeline *timeline,
                            int *changed) {
  PLIM_TRY(plim_schedule_copy(&inc->own->reselected, schedule));
  *changed = plim_variant_selection_run(&inc->own->selection, timeline, &inc->own->reselected, limit);
  return *changed ? plim_timeline_evaluate(timeline, &inc->own->reselected) : PLIM_OK;
}

/* Evaluate into the timeline. Where other variants bring the peak within the budget (min_memory: to the least peak),
 * *schedule becomes `reselected`, which has them. */
static plim_status evaluate_reselecting(plim_incumbent *inc, const plim_schedule **schedule, plim_timeline *timeline) {
  int changed;
  PLIM_TRY(plim_timeline_evaluate(timeline, *schedule));
  if (!inc->own->selection.is_useful) return PLIM_OK;
  int64_t least = plim_variant_selection_least(timeline, *schedule),
          limit = inc->task.min_memory ? least : inc->task.budget_bytes;
  if (timeline->peak_bytes <= limit || least > limit) return PLIM_OK;
  PLIM_TRY(reselect(inc, *schedule, limit, timeline, &changed));
  if (changed) *schedule = &inc->own->reselected;
  return PLIM_OK;
}

/* *bytes: what the budget bounds. It is the peak where that is above the budget or nothing is packed, else the packed
 * size of the placement. A first packing aims at the budget. Where it misses, a second one aims at the smallest size:
 * that works in another way, and may succeed. */
static plim_status measure_bytes(plim_incumbent *inc, const plim_schedule *schedule, const plim_timeline *timeline,
                                 int32_t packing_rounds, plim_placement *placement, int64_t *bytes) {
  plim_placement *spare = &inc->own->spare;
  *bytes = timeline->peak_bytes;
  if (inc->task.options->unpacked || *bytes > inc->task.budget_bytes) return PLIM_OK;
  int64_t target = inc->task.budget_bytes < PLIM_BYTES_UNLIMITED ? inc->task.budget_bytes : inc->task.enough_bytes;
  if (inc->task.enough_bytes > 0 && *bytes > inc->task.enough_bytes) packing_rounds = 0;
  PLIM_TRY(plim_place(placement, timeline, schedule, target, packing_rounds));
  *bytes = placement->packed_bytes;
  if (*bytes <= inc->task.budget_bytes || inc->has_best) return PLIM_OK;
  if (packing_rounds == 0 || packing_rounds > core_tuning.second_packing_rounds) return PLIM_OK;
  plim_placement first = *placement;
  *placement = *spare;
  *spare = first;
  PLIM_TRY(plim_place(placement, timeline, schedule, 0, packing_rounds));
  if (placement->packed_bytes > *bytes) {
    *spare = *placement;
    *placement = first;
  }
  *bytes = placement->packed_bytes;
  return PLIM_OK;
}

/* Do these figures fit, and beat the best? */
static int is_better(const plim_incumbent *inc, int64_t time_ns, int64_t bytes) {
  if (bytes > inc->task.budget_bytes) return 0;
  int64_t first = inc->task.min_memory ? bytes : time_ns, second = inc->task.min_memory ? time_ns : bytes;
  int64_t best_first = inc->task.min_memory ? inc->best_bytes : inc->best_ns,
          best_second = inc->task.min_memory ? inc->best_ns : inc->best_bytes;
  return first < best_first || (first == best_first && second < best_second);
}

/* The one function that writes the best. */
static plim_status set_best(plim_incumbent *inc, const plim_schedule *schedule, int64_t time_ns, int64_t bytes,
                            int32_t is_adopted) {
  PLIM_TRY(plim_schedule_copy(&inc->best, schedule));
  inc->best_ns = time_ns;
  inc->best_bytes = bytes;
  inc->has_best = 1;
  inc->own->is_adopted = is_adopted;
  return PLIM_OK;
}

/* Make a schedule and its placement the best. *placement becomes the old one, whose memory is used again. */
static plim_status make_best(plim_incumbent *inc, const plim_schedule *schedule, plim_placement *placement,
                             int64_t time_ns, int64_t bytes) {
  PLIM_TRY(set_best(inc, schedule, time_ns, bytes, 0));
  plim_placement old = inc->own->best_placement;
  inc->own->best_placement = *placement;
  *placement = old;
  return PLIM_OK;
}

/* A schedule and its placement as a point of a plan front. It borrows both. */
static plim_front_point point_of(const plim_incumbent *inc, const plim_schedule *schedule,
                                 const plim_placement *placement, int64_t time_ns, int64_t bytes) {
  return (plim_front_point){.bytes = bytes,
                            .time_ns = time_ns,
                            .n_commands = schedule->n,
                            .n_offsets = inc->task.options->unpacked ? 0 : placement->n_boxes,
                            .op = schedule->op,
                            .choice = schedule->choice,
                            .offset = placement->offset};
}

/* Is a schedule that was measured a plan: has it addresses, or needs it none? */
static int is_plan(const plim_incumbent *inc, const plim_timeline *timeline) {
  return inc->task.options->unpacked || timeline->peak_bytes <= inc->task.budget_bytes;
}

/* For the sentence of a refusal: the fewest bytes met, of any schedule and of a plan. */
static void note_bytes(plim_incumbent *inc, int64_t bytes, int64_t plan_bytes) {
  if (bytes < inc->least_bytes) inc->least_bytes = bytes;
  if (plan_bytes < inc->least_plan_bytes) inc->least_plan_bytes = plan_bytes;
}

/* Add a plan to the plan front. */
static plim_status add_to_front(plim_incumbent *inc, const plim_schedule *schedule, const plim_placement *placement,
                                int64_t time_ns, int64_t bytes) {
  if (!inc->shared.front) return PLIM_OK;
  plim_front_point point = point_of(inc, schedule, placement, time_ns, bytes);
  return plim_front_insert(inc->shared.front, &point, NULL);
}

/* For the sentence of a refusal: of the schedules whose peak fits and whose packing does not, keep the one that packs
 * smallest. */
static plim_status keep_conflict(plim_incumbent *inc, const plim_schedule *schedule, int64_t bytes) {
  if (inc->has_best || bytes <= inc->task.budget_bytes || bytes >= inc->conflict_bytes) return PLIM_OK;
  PLIM_TRY(plim_schedule_copy(&inc->conflict, schedule));
  inc->conflict_bytes = bytes;
  return PLIM_OK;
}

/* Measure the bytes of a schedule with its timeline, and keep it where it is better than the best. */
static plim_status submit_evaluated(plim_incumbent *inc, const plim_schedule *schedule, const plim_timeline *timeline,
                                    int32_t packing_rounds, int64_t *bytes) {
  plim_placement *placement = &inc->own->placement;
  PLIM_TRY(measure_bytes(inc, schedule, timeline, packing_rounds, placement, bytes));
  note_bytes(inc, *bytes, is_plan(inc, timeline) ? *bytes : INT64_MAX);
  if (is_plan(inc, timeline)) PLIM_TRY(add_to_front(inc, schedule, placement, timeline->time_ns, *bytes));
  if (timeline->peak_bytes <= inc->task.budget_bytes) PLIM_TRY(keep_conflict(inc, schedule, *bytes));
  if (!is_better(inc, timeline->time_ns, *bytes)) return PLIM_OK;
  return make_best(inc, schedule, placement, timeline->time_ns, *bytes);
}

/* A schedule was submitted with its timeline. Where it fits, submit it once more with faster variants, where some fit.
 * The timeline becomes that of those. */
static plim_status submit_faster(plim_incumbent *inc, const plim_schedule *schedule, plim_timeline *timeline,
                                 int32_t packing_rounds) {
  int64_t time_ns = timeline->time_ns, bytes;
  int changed;
  if (!inc->own->selection.is_useful || inc->task.min_memory || timeline->peak_bytes > inc->task.budget_bytes) {
    return PLIM_OK;
  }
  if (schedule == &inc->own->reselected) return PLIM_OK; /* it has the fastest already */
  PLIM_TRY(reselect(inc, schedule, inc->task.budget_bytes, timeline, &changed));
  if (!changed || timeline->time_ns >= time_ns) return PLIM_OK;
  return submit_evaluated(inc, &inc->own->reselected, timeline, packing_rounds, &bytes);
}

plim_status plim_incumbent_submit(plim_incumbent *inc, const plim_schedule *schedule, int32_t packing_rounds,
                                  plim_submit_result *out) {
  plim_timeline *timeline = inc->own->timeline;
  PLIM_TRY(evaluate_reselecting(inc, &schedule, timeline));
  plim_submit_result result = {.schedule = schedule, .time_ns = timeline->time_ns, .peak_bytes = timeline->peak_bytes};
  PLIM_TRY(submit_evaluated(inc, schedule, timeline, packing_rounds, &result.bytes));
  if (out) *out = result;
  return submit_faster(inc, schedule, timeline, packing_rounds);
}

plim_status plim_incumbent_submit_exact(plim_incumbent *inc, const plim_schedule *schedule, int32_t packing_rounds) {
  int64_t bytes;
  PLIM_TRY(plim_timeline_evaluate(inc->own->timeline, schedule));
  return submit_evaluated(inc, schedule, inc->own->timeline, packing_rounds, &bytes);
}

void plim_incumbent_report(const plim_incumbent *inc, const char *stage) {
  plim_progress progress = {.stage = stage,
                            .total = -1,
                            .elapsed_ns = plim_now_ns() - inc->task.started_ns,
                            .best_percent = inc->has_best ? plim_problem_percent(inc->problem, inc->best_ns) : -1,
                            .bound_percent = plim_problem_percent(inc->problem, inc->bound_ns)};
  plim_context_report(inc->problem->ctx, &progress);
}

plim_status plim_incumbent_merge(plim_incumbent *inc, plim_incumbent *from) {
  int is_packed_alike = !from->task.options->unpacked == !inc->task.options->unpacked;
  note_bytes(inc, from->least_bytes, is_packed_alike ? from->least_plan_bytes : INT64_MAX);
  if (from->conflict_bytes < INT64_MAX && from->task.budget_bytes == inc->task.budget_bytes) {
    PLIM_TRY(keep_conflict(inc, &from->conflict, from->conflict_bytes));
  }
  if (from->own->is_adopted) return PLIM_OK;
  if (inc->shared.front && from->has_best) {
    plim_front_point point = point_of(inc, &from->best, &from->own->best_placement, from->best_ns, from->best_bytes);
    PLIM_TRY(plim_front_insert(inc->shared.front, &point, NULL));
  }
  if (!from->has_best || !is_better(inc, from->best_ns, from->best_bytes)) return PLIM_OK;
  PLIM_TRY(make_best(inc, &from->best, &from->own->best_placement, from->best_ns, from->best_bytes));
  from->own->is_adopted = 1; /* its placement is now an older one */
  inc->own->best_placement.ctx =
      inc->problem->ctx; /* the two contexts may be forks of one, and share its memory hook */
  from->own->best_placement.ctx = from->problem->ctx;
  return PLIM_OK;
}

plim_status plim_incumbent_adopt(plim_incumbent *inc, const plim_incumbent *leader) {
  plim_incumbent_raise_bound(inc, leader->bound_ns);
  inc->own->is_adopted = 1; /* the leader has merged this best before */
  if (!leader->has_best || !is_better(inc, leader->best_ns, leader->best_bytes)) return PLIM_OK;
  return set_best(inc, &leader->best, leader->best_ns, leader->best_bytes, 1);
}

/* Read the schedule of a point. It may come from a file, so its numbers are checked: *right is 0 where one is no op or
 * choice of the problem. */
static plim_status read_point(const plim_problem *p, const plim_front_point *point, plim_schedule *out, int *right) {
  *right = 1;
  for (int32_t j = 0; j < point->n_commands && *right; j++) {
    int32_t op = point->op[j];
    *right = op < p->n_ops && point->choice[j] < p->op[op].n_choices;
    if (*right) PLIM_TRY(plim_schedule_add(out, op, point->choice[j]));
  }
  return PLIM_OK;
}

plim_status plim_incumbent_submit_point(plim_incumbent *inc, const plim_front_point *point, int *taken) {
  plim_schedule schedule = {.ctx = inc->problem->ctx};
  plim_status status = read_point(inc->problem, point, &schedule, taken);
  if (status == PLIM_OK && *taken) {
    status = plim_timeline_evaluate(inc->own->timeline, &schedule);
    *taken = status == PLIM_OK && inc->own->timeline->time_ns == point->time_ns;
    if (status == PLIM_EPLAN) status = PLIM_OK;
  }
  int64_t bytes = inc->own->timeline->peak_bytes;
  if (status == PLIM_OK && *taken && !inc->task.options->unpacked) {
    status = plim_place_at(&inc->own->placement, inc->own->timeline, &schedule, point->n_offsets, point->offset, taken);
    bytes = inc->own->placement.packed_bytes;
  }
  *taken = *taken && bytes == point->bytes;
  if (status == PLIM_OK && *taken && is_better(inc, point->time_ns, bytes)) {
    status = make_best(inc, &schedule, &inc->own->placement, point->time_ns, bytes);
  }
  plim_schedule_free(&schedule);
  return status;
}

plim_status plim_incumbent_evaluate(plim_incumbent *inc, const plim_schedule *schedule, const plim_timeline **out) {
  PLIM_TRY(plim_timeline_evaluate(inc->own->timeline, schedule));
  *out = inc->own->timeline;
  return PLIM_OK;
}

plim_status plim_incumbent_place(plim_incumbent *inc, const plim_schedule *schedule, const plim_timeline **out,
                                 const plim_placement **placement) {
  PLIM_TRY(plim_incumbent_evaluate(inc, schedule, out));
  PLIM_TRY(plim_place(&inc->own->placement, inc->own->timeline, schedule, 0, 0));
  *placement = &inc->own->placement;
  return PLIM_OK;
}

plim_status plim_incumbent_submit_smallest(plim_incumbent *inc, const plim_front *front) {
  const plim_front_point *point = front ? plim_front_smallest(front) : NULL;
  int right = 0;
  if (!point || point->bytes >= inc->least_plan_bytes) return PLIM_OK;
  PLIM_TRY(plim_incumbent_submit_point(inc, point, &right));
  if (right) note_bytes(inc, point->bytes, point->bytes);
  return PLIM_OK;
}

plim_status plim_incumbent_emit(plim_incumbent *inc, const char *planner, plim_plan **out) {
  const plim_problem *p = inc->problem;
  plim_plan *plan = NULL;
  plim_emission emission = {.planner = planner,
                            .plan_class = p->plan_class,
                            .budget_bytes = inc->task.budget_bytes,
                            .bound_ns = inc->bound_ns};
  PLIM_TRY(plim_timeline_evaluate(inc->own->timeline, &inc->best));
  PLIM_TRY(plim_emit(inc->own->timeline, &inc->best, inc->task.options->unpacked ? NULL : &inc->own->best_placement,
                     &emission, &plan));
  plim_status status = plim_plan_check(p->ctx, p->graph, plan);
  if (status != PLIM_OK) {
    plim_plan_free(plan);
    return status;
  }
  *out = plan;
  return PLIM_OK;
}
