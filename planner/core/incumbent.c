/* The incumbent of one planning call: evaluates and packs each submitted schedule, keeps the best, and writes it as a
 * plan at the end. */
#include "planner/core/incumbent.h"

#include <string.h>

#include "planner/core/core.h"
#include "runtime/base/effort.h"
#include "runtime/graph/check.h"

enum {
  MOST_EFFORT_MIN_MEMORY = 96 /* of packing for the lowest packed size too; more is for exact search at the budget */
};

plim_status plim_incumbent_begin(const plim_problem *problem, const plim_plan_options *options, plim_incumbent **out) {
  plim_context *ctx = problem->ctx;
  plim_incumbent *pl = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *pl, &pl));
  *pl = (plim_incumbent){.problem = problem,
                         .options = options,
                         .budget_bytes = options->budget_bytes,
                         .bound_ns = problem->keep_all_ns,
                         .started_ns = plim_now_ns(),
                         .placement = {.ctx = ctx},
                         .spare = {.ctx = ctx},
                         .best_placement = {.ctx = ctx},
                         .reselected = {.ctx = ctx},
                         .best = {.ctx = ctx},
                         .conflict = {.ctx = ctx},
                         .conflict_bytes = INT64_MAX,
                         .best_ns = INT64_MAX,
                         .best_bytes = INT64_MAX,
                         .least_bytes = INT64_MAX};
  plim_status status = plim_timeline_new(problem, &pl->timeline);
  if (status == PLIM_OK) status = plim_variant_selection_make(problem, &pl->selection);
  if (status != PLIM_OK) {
    plim_incumbent_end(pl);
    return status;
  }
  *out = pl;
  return PLIM_OK;
}

void plim_incumbent_end(plim_incumbent *pl) {
  if (!pl) return;
  plim_context *ctx = pl->problem->ctx;
  plim_timeline_free(pl->timeline);
  plim_variant_selection_free(&pl->selection);
  plim_schedule_free(&pl->reselected);
  plim_placement_free(&pl->placement);
  plim_placement_free(&pl->spare);
  plim_placement_free(&pl->best_placement);
  plim_schedule_free(&pl->best);
  plim_schedule_free(&pl->conflict);
  plim_release(ctx, pl, 1, sizeof *pl);
}

plim_status plim_incumbent_child(const plim_incumbent *pl, const plim_child *how, plim_incumbent **out) {
  PLIM_TRY(plim_incumbent_begin(pl->problem, pl->options, out));
  plim_incumbent *child = *out;
  plim_plan_options *options = &child->own_options;
  *options = *pl->options;
  options->budget_bytes = how->min_memory ? INT64_MAX : how->budget_bytes > 0 ? how->budget_bytes : pl->budget_bytes;
  options->time_limit_ns = how->time_limit_ns;
  if (how->iterations > 0) options->iterations = how->iterations;
  if (how->unpacked) options->unpacked = 1;
  options->seed += how->seed_step;
  child->options = options;
  child->budget_bytes = options->budget_bytes;
  child->min_memory = how->min_memory;
  child->target_bytes = how->min_memory && !pl->min_memory ? pl->budget_bytes : 0;
  return PLIM_OK;
}

plim_status plim_incumbent_join(plim_incumbent *pl, plim_incumbent *child, plim_status status) {
  if (child && (status == PLIM_OK || status == PLIM_ECANCEL)) {
    plim_status taken = plim_incumbent_merge(pl, child);
    if (taken != PLIM_OK) status = taken;
  }
  plim_incumbent_end(child);
  return status;
}

int64_t plim_incumbent_deadline(const plim_incumbent *pl, int32_t percent) {
  int64_t limit_ns = pl->options->time_limit_ns;
  return limit_ns > 0 ? pl->started_ns + limit_ns / 100 * percent : INT64_MAX;
}

int64_t plim_incumbent_last_moment(const plim_plan_options *options) {
  enum { GRACE_PARTS = 20 };
  static const int64_t grace_ns = 50000000;
  int64_t limit_ns = options->time_limit_ns;
  return limit_ns > 0 ? plim_now_ns() + limit_ns + limit_ns / GRACE_PARTS + grace_ns : INT64_MAX;
}

static int64_t at_least_one(const plim_incumbent *pl, int64_t time_ns) {
  if (pl->options->time_limit_ns <= 0) return 0;
  return time_ns > 1 ? time_ns : 1;
}

int64_t plim_incumbent_part_ns(const plim_incumbent *pl, int32_t parts) {
  return at_least_one(pl, pl->options->time_limit_ns / parts);
}

int64_t plim_incumbent_left_ns(const plim_incumbent *pl) {
  return at_least_one(pl, pl->started_ns + pl->options->time_limit_ns - plim_now_ns());
}

int plim_incumbent_over(const plim_incumbent *pl) {
  int64_t deadline_ns = plim_incumbent_deadline(pl, 100);
  if (pl->least_bytes == INT64_MAX) return 0;
  return (deadline_ns < INT64_MAX && plim_now_ns() >= deadline_ns) || plim_effort_left_ns(pl->problem->ctx) == 0;
}

plim_status plim_incumbent_best_so_far(const plim_incumbent *pl, plim_status status) {
  int enough = status == PLIM_ECANCEL && pl->found && !plim_context_cancelled(pl->problem->ctx);
  return enough ? PLIM_OK : status;
}

plim_status plim_incumbent_program_order(plim_incumbent *pl, int64_t limit, plim_schedule *out) {
  PLIM_TRY(plim_schedule_program_order(pl->problem, out));
  if (!pl->selection.useful) return PLIM_OK;
  PLIM_TRY(plim_timeline_evaluate(pl->timeline, out));
  (void)plim_variant_selection_run(&pl->selection, pl->timeline, out, limit);
  return PLIM_OK;
}

/* Select variants again for the limit. The timeline is that of `schedule` before, and that of pl->reselected after it.
 * *changed is 0, and the timeline stays, where no choice changes. */
static plim_status selection(plim_incumbent *pl, const plim_schedule *schedule, int64_t limit, int *changed) {
  PLIM_TRY(plim_schedule_copy(&pl->reselected, schedule));
  *changed = plim_variant_selection_run(&pl->selection, pl->timeline, &pl->reselected, limit);
  return *changed ? plim_timeline_evaluate(pl->timeline, &pl->reselected) : PLIM_OK;
}

/* Evaluate. Where other variants bring the peak within the limit, *schedule becomes pl->reselected, which has them. */
static plim_status evaluate(plim_incumbent *pl, const plim_schedule **schedule) {
  int changed;
  PLIM_TRY(plim_timeline_evaluate(pl->timeline, *schedule));
  if (!pl->selection.useful) return PLIM_OK;
  int64_t least = plim_variant_selection_least(pl->timeline, *schedule),
          limit = pl->min_memory ? least : pl->budget_bytes;
  if (pl->timeline->peak_bytes <= limit || least > limit) return PLIM_OK;
  PLIM_TRY(selection(pl, *schedule, limit, &changed));
  if (changed) *schedule = &pl->reselected;
  return PLIM_OK;
}

/* *bytes: what the budget bounds, the peak or, where addresses are wanted, the packed size of what was evaluated. */
static plim_status weigh(plim_incumbent *pl, const plim_schedule *schedule, int32_t effort, int64_t *bytes) {
  *bytes = pl->timeline->peak_bytes;
  if (pl->options->unpacked || *bytes > pl->budget_bytes) return PLIM_OK;
  int64_t target = pl->budget_bytes < INT64_MAX ? pl->budget_bytes : 0;
  PLIM_TRY(plim_place(&pl->placement, pl->timeline, schedule, target, effort));
  *bytes = pl->placement.packed_bytes;
  if (*bytes <= pl->budget_bytes || effort == 0 || effort > MOST_EFFORT_MIN_MEMORY || pl->found) return PLIM_OK;
  /* packing for the smallest size works differently, and may succeed where packing for the budget did not */
  plim_placement first = pl->placement;
  pl->placement = pl->spare;
  pl->spare = first;
  PLIM_TRY(plim_place(&pl->placement, pl->timeline, schedule, 0, effort));
  if (pl->placement.packed_bytes > *bytes) {
    pl->spare = pl->placement;
    pl->placement = first;
  }
  *bytes = pl->placement.packed_bytes;
  return PLIM_OK;
}

static int better(const plim_incumbent *pl, int64_t time_ns, int64_t bytes) {
  if (bytes > pl->budget_bytes) return 0;
  int64_t first = pl->min_memory ? bytes : time_ns, second = pl->min_memory ? time_ns : bytes;
  int64_t best_first = pl->min_memory ? pl->best_bytes : pl->best_ns,
          best_second = pl->min_memory ? pl->best_ns : pl->best_bytes;
  return first < best_first || (first == best_first && second < best_second);
}

/* Make the schedule and its placement (swapped for the old one) the best. */
static plim_status keep(plim_incumbent *pl, const plim_schedule *schedule, plim_placement *placement, int64_t time_ns,
                        int64_t bytes) {
  PLIM_TRY(plim_schedule_copy(&pl->best, schedule));
  plim_placement old = pl->best_placement;
  pl->best_placement = *placement;
  *placement = old;
  pl->best_ns = time_ns;
  pl->best_bytes = bytes;
  pl->found = 1;
  pl->adopted = 0;
  return PLIM_OK;
}

/* A schedule and its placement as a point of a plan front, borrowing both. */
static plim_front_point point_of(const plim_incumbent *pl, const plim_schedule *schedule,
                                 const plim_placement *placement, int64_t time_ns, int64_t bytes) {
  return (plim_front_point){.bytes = bytes,
                            .time_ns = time_ns,
                            .n_steps = schedule->n,
                            .n_offsets = pl->options->unpacked ? 0 : placement->n_boxes,
                            .op = schedule->op,
                            .choice = schedule->choice,
                            .offset = placement->offset};
}

/* The schedule that was packed last goes to the plan front, if it has addresses or needs none. */
static plim_status remember(plim_incumbent *pl, const plim_schedule *schedule, int64_t bytes) {
  int weighed = pl->options->unpacked || pl->timeline->peak_bytes <= pl->budget_bytes;
  if (!pl->front || !weighed) return PLIM_OK;
  plim_front_point point = point_of(pl, schedule, &pl->placement, pl->timeline->time_ns, bytes);
  return plim_front_insert(pl->front, &point, NULL);
}

/* Keep the smallest packing of a schedule whose peak is within the budget and whose addresses are not: for a refusal.
 */
static plim_status keep_conflict(plim_incumbent *pl, const plim_schedule *schedule, int64_t bytes) {
  if (pl->found || bytes <= pl->budget_bytes || bytes >= pl->conflict_bytes) return PLIM_OK;
  PLIM_TRY(plim_schedule_copy(&pl->conflict, schedule));
  pl->conflict_bytes = bytes;
  return PLIM_OK;
}

/* Pack what was evaluated, and keep it if it is the best. */
static plim_status submit_evaluated(plim_incumbent *pl, const plim_schedule *schedule, int32_t effort, int64_t *bytes) {
  PLIM_TRY(weigh(pl, schedule, effort, bytes));
  if (*bytes < pl->least_bytes) pl->least_bytes = *bytes;
  PLIM_TRY(remember(pl, schedule, *bytes));
  if (pl->timeline->peak_bytes <= pl->budget_bytes) PLIM_TRY(keep_conflict(pl, schedule, *bytes));
  if (!better(pl, pl->timeline->time_ns, *bytes)) return PLIM_OK;
  return keep(pl, schedule, &pl->placement, pl->timeline->time_ns, *bytes);
}

/* The same with faster choices, where there is room for them. */
static plim_status submit_faster(plim_incumbent *pl, const plim_schedule *schedule, int32_t effort) {
  int64_t time_ns = pl->timeline->time_ns, bytes;
  int changed;
  if (!pl->selection.useful || pl->min_memory || pl->timeline->peak_bytes > pl->budget_bytes) return PLIM_OK;
  if (schedule == &pl->reselected) return PLIM_OK; /* it has them */
  PLIM_TRY(selection(pl, schedule, pl->budget_bytes, &changed));
  if (!changed || pl->timeline->time_ns >= time_ns) return PLIM_OK;
  return submit_evaluated(pl, &pl->reselected, effort, &bytes);
}

plim_status plim_incumbent_submit(plim_incumbent *pl, const plim_schedule *schedule, int32_t effort,
                                  plim_submit_result *out) {
  PLIM_TRY(evaluate(pl, &schedule));
  plim_submit_result result = {
      .schedule = schedule, .time_ns = pl->timeline->time_ns, .peak_bytes = pl->timeline->peak_bytes};
  PLIM_TRY(submit_evaluated(pl, schedule, effort, &result.bytes));
  if (out) *out = result;
  return submit_faster(pl, schedule, effort);
}

plim_status plim_incumbent_submit_exact(plim_incumbent *pl, const plim_schedule *schedule, int32_t effort) {
  int64_t bytes;
  PLIM_TRY(plim_timeline_evaluate(pl->timeline, schedule));
  return submit_evaluated(pl, schedule, effort, &bytes);
}

static double percent_over(int64_t time_ns, int64_t base_ns) {
  return base_ns > 0 ? 100.0 * (double)(time_ns - base_ns) / (double)base_ns : 0;
}

void plim_incumbent_report(const plim_incumbent *pl, const char *stage) {
  int64_t base_ns = pl->problem->keep_all_ns;
  plim_progress progress = {.stage = stage,
                            .total = -1,
                            .elapsed_ns = plim_now_ns() - pl->started_ns,
                            .best_percent = pl->found ? percent_over(pl->best_ns, base_ns) : -1,
                            .bound_percent = percent_over(pl->bound_ns, base_ns)};
  plim_context_report(pl->problem->ctx, &progress);
}

plim_status plim_incumbent_merge(plim_incumbent *pl, plim_incumbent *from) {
  if (from->least_bytes < pl->least_bytes) pl->least_bytes = from->least_bytes;
  if (from->conflict_bytes < INT64_MAX && from->budget_bytes == pl->budget_bytes) {
    PLIM_TRY(keep_conflict(pl, &from->conflict, from->conflict_bytes));
  }
  if (from->adopted) return PLIM_OK;
  if (pl->front && from->found) {
    plim_front_point point = point_of(pl, &from->best, &from->best_placement, from->best_ns, from->best_bytes);
    PLIM_TRY(plim_front_insert(pl->front, &point, NULL));
  }
  if (!from->found || !better(pl, from->best_ns, from->best_bytes)) return PLIM_OK;
  PLIM_TRY(keep(pl, &from->best, &from->best_placement, from->best_ns, from->best_bytes));
  pl->best_placement.ctx = pl->problem->ctx; /* they may be forks of one */
  from->best_placement.ctx = from->problem->ctx;
  return PLIM_OK;
}

plim_status plim_incumbent_adopt(plim_incumbent *pl, const plim_incumbent *leader) {
  pl->bound_ns = leader->bound_ns;
  pl->adopted = 1; /* what it had, the leader took */
  if (!leader->found || !better(pl, leader->best_ns, leader->best_bytes)) return PLIM_OK;
  PLIM_TRY(plim_schedule_copy(&pl->best, &leader->best));
  pl->best_ns = leader->best_ns;
  pl->best_bytes = leader->best_bytes;
  pl->found = 1;
  return PLIM_OK;
}

/* The point comes from a file: its numbers are checked before they are used. */
static plim_status read_point(const plim_problem *p, const plim_front_point *point, plim_schedule *out,
                              int32_t *right) {
  *right = 1;
  for (int32_t j = 0; j < point->n_steps && *right; j++) {
    int32_t op = point->op[j];
    *right = op < p->n_ops && point->choice[j] < p->op[op].n_choices;
    if (*right) PLIM_TRY(plim_schedule_add(out, op, point->choice[j]));
  }
  return PLIM_OK;
}

plim_status plim_incumbent_submit_point(plim_incumbent *pl, const plim_front_point *point, int32_t *taken) {
  plim_schedule schedule = {.ctx = pl->problem->ctx};
  plim_status status = read_point(pl->problem, point, &schedule, taken);
  if (status == PLIM_OK && *taken) {
    status = plim_timeline_evaluate(pl->timeline, &schedule);
    *taken = status == PLIM_OK && pl->timeline->time_ns == point->time_ns;
    if (status == PLIM_EPLAN) status = PLIM_OK;
  }
  int64_t bytes = pl->timeline->peak_bytes;
  if (status == PLIM_OK && *taken && !pl->options->unpacked) {
    status = plim_place_at(&pl->placement, pl->timeline, &schedule, point->n_offsets, point->offset, taken);
    bytes = pl->placement.packed_bytes;
  }
  *taken = *taken && bytes == point->bytes;
  if (status == PLIM_OK && *taken && better(pl, point->time_ns, bytes)) {
    status = keep(pl, &schedule, &pl->placement, point->time_ns, bytes);
  }
  plim_schedule_free(&schedule);
  return status;
}

plim_status plim_incumbent_emit(plim_incumbent *pl, const char *planner, plim_plan **out) {
  const plim_problem *p = pl->problem;
  plim_plan *plan = NULL;
  plim_emission emission = {
      .planner = planner, .plan_class = p->plan_class, .budget_bytes = pl->budget_bytes, .bound_ns = pl->bound_ns};
  PLIM_TRY(plim_timeline_evaluate(pl->timeline, &pl->best));
  PLIM_TRY(plim_emit(pl->timeline, &pl->best, pl->options->unpacked ? NULL : &pl->best_placement, &emission, &plan));
  plim_status status = plim_plan_check(p->ctx, p->graph, plan);
  if (status != PLIM_OK) {
    plim_plan_free(plan);
    return status;
  }
  *out = plan;
  return PLIM_OK;
}
