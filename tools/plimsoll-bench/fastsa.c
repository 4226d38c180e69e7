/* The peer of the search: annealing by single additions and removals, as published. The objective is max(budget, peak)
 * times duration. Stage 1 works on groups, ops fused into all their readers where that costs no bytes, and stops as
 * soon as the budget is met; stage 2 makes the schedule of the single ops faster from there at the temperature where
 * stage 1 ended. Ours moves on the same track as the search.
 * Source: Imanishi et al., "A fast heuristic to optimize time-space tradeoff for large models",
 * NeurIPS 2023. */
#include <math.h>

#include "planner/core/problem.h"
#include "planner/search/searches.h"
#include "planner/track/track.h"
#include "runtime/base/random.h"
#include "runtime/base/real.h"
#include "tools/plimsoll-bench/peers_internal.h"

enum { STAGE_1_MOVES = 20000000, STAGE_2_MOVES = 2000000, MOVES_AN_OP = 4000, CHECK_MOVES = 64 };
enum { STRONG = 24, ROUNDS = 3 /* where what fits does not pack, again within less */ };

typedef struct fast {
  plim_incumbent *inc;
  plim_coarse *coarse;
  plim_track *track; /* of the stage under way */
  plim_random random;
  plim_schedule best;    /* the fastest of the stage within the limit */
  plim_schedule grouped; /* scratch */
  int64_t best_ns, limit;
  double objective, temperature;
} fast;

static double objective(const fast *f) {
  int64_t peak = plim_track_peak(f->track);
  return (double)(peak > f->limit ? peak : f->limit) * (double)f->track->time_ns;
}

static int add(fast *f, int32_t op) {
  plim_track *t = f->track;
  int32_t next = t->alive[plim_random_below(&f->random, t->n_runs)];
  if (plim_track_full(t) || !plim_track_may_repeat(t, op, next)) return 0;
  (void)plim_track_insert(t, op, t->run[t->first[op]].choice, next);
  return 1;
}

static int remove_any(fast *f) {
  plim_track *t = f->track;
  if (t->n_repeats == 0) return 0;
  int32_t r = t->repeat[plim_random_below(&f->random, t->n_repeats)];
  if (plim_random_percent(&f->random, 50)) r = t->first[t->run[r].op];
  if (!plim_track_may_remove(t, r)) return 0;
  plim_track_remove(t, r);
  return 1;
}

/* Give a run another place: a first run within its window, another one anywhere after the first. */
static int rotate(fast *f) {
  plim_track *t = f->track;
  int32_t r = t->alive[plim_random_below(&f->random, t->n_runs)], op = t->run[r].op, low, high;
  if (t->run[r].op_prev >= 0) {
    plim_track_remove(t, r);
    (void)add(f, op);
    return 1;
  }
  plim_track_window(t, r, &low, &high);
  if (t->run[r].op_next >= 0 && t->run[t->run[r].op_next].slot < high) high = t->run[t->run[r].op_next].slot;
  int32_t slot = low + 1 + plim_random_below(&f->random, high - low), choice = t->run[r].choice;
  while (slot < t->memory_profile->n_slots && (t->run_at[slot] < 0 || t->run_at[slot] == r)) slot++;
  if (slot > high) return 0;
  int32_t next = slot < t->memory_profile->n_slots ? t->run_at[slot] : -1;
  plim_track_remove(t, r);
  (void)plim_track_insert(t, op, choice, next);
  return 1;
}

static plim_status one_move(fast *f) {
  plim_track *t = f->track;
  int32_t kind = plim_random_below(&f->random, 3);
  int made = kind == 0   ? add(f, plim_random_below(&f->random, t->problem->n_ops))
             : kind == 1 ? remove_any(f)
                         : rotate(f);
  if (!made) return PLIM_OK;
  plim_track_settle(t);
  double now = objective(f);
  if (now > f->objective - f->temperature * plim_real_log(plim_random_unit(&f->random))) {
    plim_track_undo(t);
    return PLIM_OK;
  }
  f->objective = now;
  plim_track_keep(t);
  if (plim_track_peak(t) > f->limit || t->time_ns >= f->best_ns) return PLIM_OK;
  f->best_ns = t->time_ns;
  return plim_track_store(t, &f->best);
}

/* Cool from `hot` to `cold`, shares of the first objective, until `percent` of the time allowed are over. */
static plim_status cool(fast *f, int64_t moves, double hot, double cold, int32_t percent, int stop_when_found) {
  plim_incumbent *inc = f->inc;
  int64_t begin_ns = plim_now_ns(), end_ns = plim_plan_task_deadline(&inc->task, percent);
  for (int64_t i = 0; i < moves && !(stop_when_found && f->best_ns < INT64_MAX); i++) {
    if (i % CHECK_MOVES == 0) {
      if (plim_context_cancelled(inc->problem->ctx)) return PLIM_ECANCEL;
      int64_t now_ns = plim_now_ns();
      if (now_ns >= end_ns) return PLIM_OK;
      double over = (double)i / (double)moves;
      if (end_ns < INT64_MAX) over = fmax(over, (double)(now_ns - begin_ns) / (double)(end_ns - begin_ns));
      f->temperature = hot * plim_real_exp(over * plim_real_log(cold / hot));
    }
    PLIM_TRY(one_move(f));
  }
  return PLIM_OK;
}

/* Have a track of that problem with this schedule in it. */
static plim_status begin_stage(fast *f, const plim_problem *p, const plim_schedule *start) {
  int32_t room = plim_track_usual_capacity(p);
  plim_track_free(f->track);
  f->track = NULL;
  PLIM_TRY(plim_track_new(p, room > 2 * start->n ? room : 2 * start->n, &f->track));
  plim_track_load(f->track, start);
  f->objective = objective(f);
  f->best_ns = INT64_MAX;
  return PLIM_OK;
}

/* From groups to single ops: the schedule that met the limit, or else the one at hand. */
static plim_status decompose(fast *f, plim_schedule *expanded) {
  if (f->best_ns == INT64_MAX) PLIM_TRY(plim_track_store(f->track, &f->best));
  PLIM_TRY(plim_coarse_expand(f->coarse, &f->best, expanded));
  int64_t met_ns = f->best_ns;
  PLIM_TRY(begin_stage(f, f->inc->problem, expanded));
  if (met_ns == INT64_MAX) return PLIM_OK;
  f->best_ns = f->track->time_ns;
  return plim_schedule_copy(&f->best, expanded);
}

static plim_status both_stages(fast *f) {
  const plim_plan_options *options = f->inc->task.options;
  int64_t first = options->iterations > 0      ? options->iterations
                  : options->time_limit_ns > 0 ? STAGE_1_MOVES
                                               : MOVES_AN_OP * (int64_t)f->inc->problem->n_ops;
  int64_t second = first < STAGE_2_MOVES ? first : STAGE_2_MOVES;
  PLIM_TRY(plim_schedule_program_order(f->coarse->problem, &f->grouped));
  PLIM_TRY(begin_stage(f, f->coarse->problem, &f->grouped));
  double hot = 1e-3 * f->objective, cold = 1e-4 * hot;
  plim_status status = cool(f, first, hot, cold, 80, 1);
  if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
  PLIM_TRY(decompose(f, &f->grouped));
  if (status != PLIM_OK) return status;
  return cool(f, second, f->temperature, cold < f->temperature ? cold : f->temperature, 100, 0);
}

static plim_status run_rounds(fast *f) {
  plim_incumbent *inc = f->inc;
  for (int round = 0; round < ROUNDS; round++) {
    plim_submit_result result;
    plim_status status = both_stages(f);
    if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
    if (f->best_ns == INT64_MAX) return status;
    PLIM_TRY(plim_incumbent_submit(inc, &f->best, STRONG, &result));
    if (status != PLIM_OK || result.bytes <= inc->task.budget_bytes) return status;
    f->limit -= (result.bytes - inc->task.budget_bytes) / 2 + inc->problem->align;
    if (plim_now_ns() >= plim_plan_task_deadline(&inc->task, 100)) return PLIM_OK;
  }
  return PLIM_OK;
}

plim_status plim_fastsa_run(plim_incumbent *inc) {
  const plim_problem *p = inc->problem;
  fast f = {.inc = inc,
            .random = {inc->task.options->seed},
            .best = {.ctx = p->ctx},
            .grouped = {.ctx = p->ctx},
            .limit = inc->task.budget_bytes};
  plim_status status;
  int32_t op;
  PLIM_TRY(plim_keep_all_run(inc));
  if (plim_incumbent_proved(inc) || inc->task.budget_bytes < plim_bound_bytes(p, &op)) return PLIM_OK;
  PLIM_TRY_OR_DONE(plim_coarse_make(p, INT32_MAX, &f.coarse));
  PLIM_TRY_OR_DONE(run_rounds(&f));
done:
  plim_track_free(f.track);
  plim_schedule_free(&f.best);
  plim_schedule_free(&f.grouped);
  plim_coarse_free(f.coarse);
  return status;
}
