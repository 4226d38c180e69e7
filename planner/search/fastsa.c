/* The peer of the search: annealing by single additions and removals, as published. The objective is max(budget, peak)
 * times duration. Stage 1 stops as soon as the budget is met; stage 2 makes the schedule faster from there at the
 * temperature where stage 1 ended. Ours moves on the same track as the search; ops are not fused beforehand.
 * Source: Imanishi et al., "A fast heuristic to optimize time-space tradeoff for large models",
 * NeurIPS 2023. */
#include <math.h>

#include "planner/bound.h"
#include "planner/planning.h"
#include "planner/random.h"
#include "planner/search/track.h"

enum { STAGE_1_MOVES = 20000000, STAGE_2_MOVES = 2000000, MOVES_AN_OP = 4000, CHECK_MOVES = 64 };
enum { STRONG = 24, ROUNDS = 3 /* where what fits does not pack, again within less */ };

typedef struct fast {
  plim_planning *pl;
  plim_track *track;
  plim_random random;
  plim_schedule best; /* the fastest within the limit */
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

/* Give a run another place: a first run within its window, another one anywhere behind the first. */
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
  while (slot < t->levels->n_slots && (t->run_at[slot] < 0 || t->run_at[slot] == r)) slot++;
  if (slot > high) return 0;
  int32_t next = slot < t->levels->n_slots ? t->run_at[slot] : -1;
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
  if (now > f->objective - f->temperature * log(plim_random_unit(&f->random))) {
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
  plim_planning *pl = f->pl;
  int64_t begin_ns = plim_now_ns(), end_ns = plim_planning_deadline(pl, percent);
  for (int64_t i = 0; i < moves && !(stop_when_found && f->best_ns < INT64_MAX); i++) {
    if (i % CHECK_MOVES == 0) {
      if (plim_context_cancelled(pl->problem->ctx)) return PLIM_ECANCEL;
      int64_t now_ns = plim_now_ns();
      if (now_ns >= end_ns) return PLIM_OK;
      double over = (double)i / (double)moves;
      if (end_ns < INT64_MAX) over = fmax(over, (double)(now_ns - begin_ns) / (double)(end_ns - begin_ns));
      f->temperature = hot * pow(cold / hot, over);
    }
    PLIM_TRY(one_move(f));
  }
  return PLIM_OK;
}

static plim_status both_stages(fast *f, const plim_schedule *order) {
  const plim_plan_options *options = f->pl->options;
  int64_t first = options->iterations > 0      ? options->iterations
                  : options->time_limit_ns > 0 ? STAGE_1_MOVES
                                               : MOVES_AN_OP * (int64_t)f->pl->problem->n_ops;
  int64_t second = first < STAGE_2_MOVES ? first : STAGE_2_MOVES;
  f->best_ns = INT64_MAX;
  plim_track_load(f->track, order);
  f->objective = objective(f);
  double hot = 1e-3 * f->objective;
  PLIM_TRY(cool(f, first, hot, 1e-4 * hot, 80, 1));
  if (f->best_ns == INT64_MAX) return PLIM_OK;
  return cool(f, second, f->temperature, 1e-4 * hot < f->temperature ? 1e-4 * hot : f->temperature, 100, 0);
}

static plim_status run_rounds(fast *f, const plim_schedule *order) {
  plim_planning *pl = f->pl;
  for (int round = 0; round < ROUNDS; round++) {
    int64_t bytes;
    plim_status status = both_stages(f, order);
    if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
    if (f->best_ns == INT64_MAX) return status;
    PLIM_TRY(plim_planning_offer(pl, &f->best, STRONG, &bytes));
    if (status != PLIM_OK || bytes <= pl->budget_bytes) return status;
    f->limit -= (bytes - pl->budget_bytes) / 2 + pl->problem->align;
    if (plim_now_ns() >= plim_planning_deadline(pl, 100)) return PLIM_OK;
  }
  return PLIM_OK;
}

plim_status plim_fastsa_run(plim_planning *pl) {
  const plim_problem *p = pl->problem;
  plim_schedule order = {.ctx = p->ctx};
  fast f = {.pl = pl, .random = {pl->options->seed}, .best = {.ctx = p->ctx}, .limit = pl->budget_bytes};
  plim_status status;
  int32_t op;
  PLIM_TRY(plim_keep_all_run(pl));
  if ((pl->found && pl->best_ns <= pl->bound_ns) || pl->budget_bytes < plim_bound_bytes(p, &op)) return PLIM_OK;
  PLIM_CHECK(plim_schedule_program_order(p, &order));
  PLIM_CHECK(plim_track_new(p, plim_track_usual_room(p), &f.track));
  PLIM_CHECK(run_rounds(&f, &order));
done:
  plim_track_free(f.track);
  plim_schedule_free(&f.best);
  plim_schedule_free(&order);
  return status;
}
