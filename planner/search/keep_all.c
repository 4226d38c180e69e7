/* Keep-all: every op once with its fastest variant, in the order found that needs the smallest arena.
 *
 * Annealing moves first runs. Its limit is always a little below the lowest peak so far. Each new lowest schedule is
 * packed, in more rounds now and then and at the end. In a long graph only the latter, since a packing takes as long
 * there as all moves between two of them. The search ends at the lower bound on bytes: no order has a lower peak. With
 * the task's enough_bytes it ends at a packing within them, and no peak above them is packed before the end.
 * Deterministic without a time limit. */
#include "planner/search/searches.h"

#include "planner/core/problem.h"
#include "planner/search/moves.h"
#include "planner/search/search_internal.h"
#include "planner/search/search_tuning.h"
#include "runtime/base/effort.h"

typedef struct keep_all_search {
  plim_incumbent *inc;
  plim_schedule schedule; /* the lowest peak so far */
  int64_t next_strong;    /* moves done from which a strong packing is due */
  int64_t bound_bytes;    /* no plan has a lower peak */
} keep_all_search;

/* With min_memory, plim_incumbent_submit takes the variants of least workspace. The plan front also gets the schedule
 * with the fastest ones. */
static plim_status submit_well(plim_incumbent *inc, const plim_schedule *schedule) {
  const int32_t rounds = search_tuning.keep_all.packing_rounds_strong;
  if (inc->task.min_memory) PLIM_TRY(plim_incumbent_submit_exact(inc, schedule, rounds));
  return plim_incumbent_submit(inc, schedule, rounds, NULL);
}

/* Where the caller has said which bytes are enough: is the best within them? */
static int is_enough(const plim_incumbent *inc) {
  return inc->task.enough_bytes > 0 && inc->best_bytes <= inc->task.enough_bytes;
}

static plim_status on_fit(void *user, plim_anneal *anneal) {
  keep_all_search *keep = user;
  PLIM_TRY(plim_track_store(anneal->mover.track, &keep->schedule));
  int64_t peak = plim_track_peak(anneal->mover.track), enough = keep->inc->task.enough_bytes;
  int strong = anneal->done >= keep->next_strong, far = enough > 0 && peak > enough;
  anneal->mover.limit = peak - 1;
  anneal->stop = anneal->mover.limit < keep->bound_bytes;
  if (far || (!strong && keep->inc->problem->n_ops > PLIM_LONG_OPS)) return PLIM_OK;
  if (strong) {
    keep->next_strong = anneal->done + search_tuning.keep_all.moves_between_strong * (int64_t)keep->inc->problem->n_ops;
  }
  const int32_t packing_rounds =
      strong ? search_tuning.keep_all.packing_rounds_strong : search_tuning.keep_all.packing_rounds_quick;
  PLIM_TRY(plim_incumbent_submit(keep->inc, &keep->schedule, packing_rounds, NULL));
  anneal->stop |= is_enough(keep->inc);
  return PLIM_OK;
}

/* Anneal first runs, unless program order has the lowest peak that there can be. */
static plim_status improve_order(keep_all_search *keep) {
  const plim_problem *p = keep->inc->problem;
  int64_t moves = search_tuning.keep_all.moves_an_op * (int64_t)p->n_ops + search_tuning.keep_all.moves_min;
  plim_track *track = NULL;
  PLIM_TRY(plim_track_new(p, p->n_ops + 64, &track));
  plim_track_load(track, &keep->schedule);
  plim_anneal anneal = {
      .mover = {.track = track, .random = {1}, .limit = plim_track_peak(track) - 1},
      .hot = search_tuning.keep_all.hot,
      .cold = search_tuning.keep_all.cold,
      .weight = search_tuning.keep_all.weight,
      .iterations = moves < search_tuning.keep_all.moves_max ? moves : search_tuning.keep_all.moves_max,
      .deadline_ns = plim_plan_task_deadline(&keep->inc->task, search_tuning.keep_all.moves_percent),
      .share = {[PLIM_MOVE_FIRST] = 1},
      .on_fit = on_fit,
      .user = keep,
      .faster_than_ns = PLIM_TIME_INFINITE};
  int is_lowest = anneal.mover.limit < keep->bound_bytes;
  plim_status status = is_lowest ? PLIM_OK : plim_anneal_run(&anneal);
  plim_track_free(track);
  return status == PLIM_OK && !is_lowest ? submit_well(keep->inc, &keep->schedule) : status;
}

/* *order: as plim_keep_all_find. */
static plim_status search_order(plim_incumbent *inc, plim_schedule *order) {
  if (inc->shared.keep_all) return submit_well(inc, inc->shared.keep_all);
  keep_all_search keep = {.inc = inc, .schedule = {.ctx = inc->problem->ctx}};
  int32_t op;
  keep.bound_bytes = plim_bound_bytes(inc->problem, &op);
  plim_status status = plim_schedule_program_order(inc->problem, &keep.schedule);
  if (status == PLIM_OK) status = submit_well(inc, &keep.schedule);
  int may_improve = !inc->problem->has_fixed_order && !is_enough(inc) && !plim_effort_over(inc->problem->ctx, 0);
  if (status == PLIM_OK && may_improve) status = improve_order(&keep);
  if (status == PLIM_OK && order) status = plim_schedule_copy(order, &keep.schedule);
  plim_schedule_free(&keep.schedule);
  return status;
}

plim_status plim_keep_all_find(plim_incumbent *inc, plim_schedule *order) {
  int64_t outer_ns =
      plim_effort_begin(inc->problem->ctx, plim_plan_task_deadline(&inc->task, search_tuning.keep_all.all_percent));
  return plim_effort_end(inc->problem->ctx, outer_ns, search_order(inc, order));
}

plim_status plim_keep_all_run(plim_incumbent *inc) {
  return plim_keep_all_find(inc, NULL);
}
