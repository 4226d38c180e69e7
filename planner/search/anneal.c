/* Annealing. The cost of a schedule, in percent: overhead + weight x (how far the peak is above the limit + how large
 * the area above it is) + a trifle for each run, so that useless ones go. The threshold of acceptance is drawn first,
 * so that a move which is too slow or too high anyway is refused before its area is added up. */
#include "planner/search/search_internal.h"

#include <math.h>

#include "runtime/base/effort.h"
#include "runtime/base/real.h"

enum { CHECK_MOVES = 64 };
static const double LIGHTEST = 0.001, HEAVIEST = 10; /* weights */

static double time_percent(const plim_track *t) {
  int64_t keep = t->problem->keep_all_ns > 0 ? t->problem->keep_all_ns : 1;
  return 100.0 * (double)(t->time_ns - keep) / (double)keep;
}

/* The cost, or something above `most` when it is above it. */
static double cost(plim_anneal *a, double most, int64_t *peak) {
  plim_track *t = a->mover.track;
  double sum = a->time_weight * time_percent(t) + 1e-6 * (double)t->n_runs, limit = (double)a->mover.limit;
  *peak = INT64_MAX;
  if (sum > most) return sum;
  plim_track_settle(t);
  *peak = plim_track_peak(t);
  if (*peak <= a->mover.limit) return sum;
  if (a->strict) return INFINITY;
  sum += a->weight * 200 * ((double)*peak - limit) / limit;
  if (sum > most) return sum;
  return sum + a->weight * 2000 * (double)plim_track_excess(t, a->mover.limit) / (limit * t->problem->n_ops);
}

static plim_move draw(plim_anneal *a, int32_t total) {
  int32_t at = plim_random_below(&a->mover.random, total);
  int move = 0;
  while (at >= a->share[move]) at -= a->share[move++];
  return (plim_move)move;
}

static plim_status accept(plim_anneal *a, double now, int64_t peak) {
  plim_track *t = a->mover.track;
  int64_t limit = a->mover.limit;
  a->cost = now;
  plim_track_keep(t);
  if (peak > limit || t->time_ns >= a->faster_than_ns) return PLIM_OK;
  PLIM_TRY(a->on_fit(a->user, a));
  if (a->mover.limit != limit) a->cost = cost(a, INFINITY, &peak);
  return PLIM_OK;
}

/* The time of a schedule whose cost is `most` through time alone. */
static int64_t most_time_ns(const plim_anneal *a, double most) {
  double keep = (double)a->mover.track->problem->keep_all_ns;
  double ns = keep + keep / 100 * most / a->time_weight;
  return a->time_weight > 0 && ns < 9e18 ? (int64_t)ns + 1 : INT64_MAX;
}

static int exceeds_runs(const plim_anneal *a) {
  const plim_track *t = a->mover.track;
  for (int32_t i = 0; i < t->n_journal && a->most_runs > 0; i++) {
    if (t->journal[i].kind == PLIM_CHANGE_INSERT && t->n_of[t->journal[i].op] > a->most_runs) return 1;
  }
  return 0;
}

static plim_status one_move(plim_anneal *a, plim_move move, double temperature) {
  int64_t peak;
  double most = a->cost - temperature * plim_real_log(plim_random_unit(&a->mover.random));
  a->mover.most_ns = most_time_ns(a, most);
  if (!plim_move_make(&a->mover, move)) return PLIM_OK;
  if (!exceeds_runs(a)) {
    double now = cost(a, most, &peak);
    if (now <= most) return accept(a, now, peak);
  }
  plim_track_undo(a->mover.track);
  return PLIM_OK;
}

/* The share of the annealing run that is over. */
static double progress(const plim_anneal *a, int64_t moves, int64_t begin_ns) {
  double share = (double)moves / (double)a->iterations;
  if (a->deadline_ns == INT64_MAX) return share;
  int64_t now_ns = plim_now_ns();
  if (now_ns >= a->deadline_ns) return 1; /* also where it was over before the annealing run began */
  double time_share = (double)(now_ns - begin_ns) / (double)(a->deadline_ns - begin_ns);
  return time_share > share ? time_share : share;
}

/* Heavier bytes while the schedule is above the limit, lighter ones while it is within: it swings around the limit,
 * where the best schedules are, whatever the graph. */
static void adapt_weight(plim_anneal *a) {
  plim_track *t = a->mover.track;
  int64_t peak;
  if (a->strict || a->pace <= 0) return;
  plim_track_settle(t);
  double change = CHECK_MOVES * a->pace / (t->problem->n_ops + CHECK_MOVES);
  double weight = a->weight * (plim_track_peak(t) > a->mover.limit ? 1 + change : 1 - change);
  a->weight = weight < LIGHTEST ? LIGHTEST : weight > HEAVIEST ? HEAVIEST : weight;
  a->cost = cost(a, INFINITY, &peak);
}

plim_status plim_anneal_run(plim_anneal *a) {
  plim_track *t = a->mover.track;
  int64_t peak, begin_ns = plim_now_ns();
  int32_t total = 0;
  double temperature = a->hot;
  for (int move = 0; move < PLIM_MOVES; move++) total += a->share[move];
  a->cost = cost(a, INFINITY, &peak);
  a->stop = 0;
  PLIM_TRY(accept(a, a->cost, peak));
  for (int64_t i = 0; i < a->iterations && !a->stop; i++, a->done++) {
    if (i % CHECK_MOVES == 0) {
      double over = progress(a, i, begin_ns);
      if (over >= 1) return PLIM_OK;
      if (plim_effort_over(t->problem->ctx, PLIM_EFFORT_LOOK)) return PLIM_ECANCEL;
      if (a->on_moves) a->on_moves(a->user);
      temperature = a->hot * plim_real_exp(over * plim_real_log(a->cold / a->hot));
      adapt_weight(a);
    }
    PLIM_TRY(one_move(a, draw(a, total), temperature));
  }
  return PLIM_OK;
}
