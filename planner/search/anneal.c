/* Simulated annealing over schedules.
 *
 * The cost of a schedule, in percentage points of overhead, is
 *   time_weight x overhead + weight x (excess of the peak over the limit + area above the limit) + a little a run
 *
 * A move is accepted where the new cost is at most the old one minus temperature x log(u), u uniform in (0, 1].
 * That is the Metropolis rule with the random number drawn first. So a move that takes too long or has too high a peak
 * is refused before its area, the most costly term, is added up. The weight grows while the schedule is above the limit
 * and shrinks while it is within: the search stays near the limit, where the best schedules are. Cost: O(degree x log
 * runs) a move. Source: Kirkpatrick, Gelatt, Vecchi, Science 1983. */
#include "planner/search/moves.h"

#include <math.h>

#include "planner/search/search_tuning.h"
#include "runtime/base/effort.h"
#include "runtime/base/real.h"

/* Overhead over keep-all, in percent. */
static double time_percent(const plim_track *track) {
  int64_t keep = track->problem->keep_all_ns > 0 ? track->problem->keep_all_ns : 1;
  return 100.0 * (double)(track->time_ns - keep) / (double)keep;
}

/* The cost, or any number above `max_cost` where the cost is above it. *peak is INT64_MAX where it was not needed. */
static double schedule_cost(plim_anneal *anneal, double max_cost, int64_t *peak) {
  plim_track *track = anneal->mover.track;
  double sum = anneal->time_weight * time_percent(track) + search_tuning.anneal.run_cost * (double)track->n_runs,
         limit = (double)anneal->mover.limit;
  *peak = INT64_MAX;
  if (sum > max_cost) return sum;
  plim_track_settle(track);
  *peak = plim_track_peak(track);
  if (*peak <= anneal->mover.limit) return sum;
  if (anneal->is_strict) return INFINITY;
  sum += anneal->weight * search_tuning.anneal.peak_cost * ((double)*peak - limit) / limit;
  if (sum > max_cost) return sum;
  return sum + anneal->weight * search_tuning.anneal.area_cost * (double)plim_track_excess(track, anneal->mover.limit) /
                   (limit * track->problem->n_ops);
}

/* A random kind of move, by shares. */
static plim_move draw_kind(plim_anneal *anneal, int32_t total) {
  int32_t at = plim_random_below(&anneal->mover.random, total);
  int move = 0;
  while (at >= anneal->share[move]) at -= anneal->share[move++];
  return (plim_move)move;
}

/* Keep the change, and call on_fit where the schedule is wanted. `now` is its cost. */
static plim_status accept_change(plim_anneal *anneal, double now, int64_t peak) {
  plim_track *track = anneal->mover.track;
  int64_t limit = anneal->mover.limit;
  anneal->cost = now;
  plim_track_keep(track);
  if (peak > limit || track->time_ns >= anneal->faster_than_ns) return PLIM_OK;
  PLIM_TRY(anneal->on_fit(anneal->user, anneal));
  if (anneal->mover.limit != limit) anneal->cost = schedule_cost(anneal, INFINITY, &peak);
  return PLIM_OK;
}

/* The time of a schedule within the limit whose cost is `max_cost`. */
static int64_t time_limit_of(const plim_anneal *anneal, double max_cost) {
  double keep = (double)anneal->mover.track->problem->keep_all_ns;
  double ns = keep + keep / 100 * max_cost / anneal->time_weight;
  return anneal->time_weight > 0 && ns < 9e18 ? (int64_t)ns + 1 : PLIM_TIME_INFINITE;
}

/* Does the change run an op more often than runs_an_op_limit? */
static int exceeds_runs(const plim_anneal *anneal) {
  const plim_track *track = anneal->mover.track;
  for (int32_t i = 0; i < track->n_journal && anneal->runs_an_op_limit > 0; i++) {
    if (track->journal[i].kind == PLIM_CHANGE_INSERT && track->n_of[track->journal[i].op] > anneal->runs_an_op_limit) {
      return 1;
    }
  }
  return 0;
}

static plim_status one_move(plim_anneal *anneal, plim_move move, double temperature) {
  int64_t peak;
  double max_cost = anneal->cost - temperature * plim_real_log(plim_random_unit(&anneal->mover.random));
  anneal->mover.limit_ns = time_limit_of(anneal, max_cost);
  if (!plim_move_make(&anneal->mover, move)) return PLIM_OK;
  if (!exceeds_runs(anneal)) {
    double now = schedule_cost(anneal, max_cost, &peak);
    if (now <= max_cost) return accept_change(anneal, now, peak);
  }
  plim_track_undo(anneal->mover.track);
  return PLIM_OK;
}

/* The share of moves or of time that is used up, the larger of both: 0 to 1. */
static double share_used(const plim_anneal *anneal, int64_t moves, int64_t begin_ns) {
  double share = (double)moves / (double)anneal->iterations;
  if (anneal->deadline_ns == PLIM_TIME_UNLIMITED) return share;
  int64_t now_ns = plim_now_ns();
  if (now_ns >= anneal->deadline_ns) return 1; /* also where the deadline was over at the begin: no division by 0 */
  double time_share = (double)(now_ns - begin_ns) / (double)(anneal->deadline_ns - begin_ns);
  return time_share > share ? time_share : share;
}

/* Raise the weight of bytes while the schedule is above the limit, lower it while it is within. */
static void adapt_weight(plim_anneal *anneal) {
  plim_track *track = anneal->mover.track;
  int64_t peak;
  if (anneal->is_strict || anneal->pace <= 0) return;
  plim_track_settle(track);
  const int32_t moves = search_tuning.anneal.moves_a_look;
  double change = moves * anneal->pace / (track->problem->n_ops + moves);
  double weight = anneal->weight * (plim_track_peak(track) > anneal->mover.limit ? 1 + change : 1 - change);
  if (weight < search_tuning.anneal.weight_min) weight = search_tuning.anneal.weight_min;
  anneal->weight = weight > search_tuning.anneal.weight_max ? search_tuning.anneal.weight_max : weight;
  anneal->cost = schedule_cost(anneal, INFINITY, &peak);
}

plim_status plim_anneal_run(plim_anneal *anneal) {
  plim_track *track = anneal->mover.track;
  int64_t peak, begin_ns = plim_now_ns();
  int32_t total = 0;
  double temperature = anneal->hot;
  for (int move = 0; move < PLIM_MOVES; move++) total += anneal->share[move];
  anneal->cost = schedule_cost(anneal, INFINITY, &peak);
  anneal->stop = 0;
  PLIM_TRY(accept_change(anneal, anneal->cost, peak));
  for (int64_t i = 0; i < anneal->iterations && !anneal->stop; i++, anneal->done++) {
    if (i % search_tuning.anneal.moves_a_look == 0) {
      double over = share_used(anneal, i, begin_ns);
      if (over >= 1) return PLIM_OK;
      if (plim_effort_over(track->problem->ctx, PLIM_EFFORT_LOOK)) return PLIM_ECANCEL;
      if (anneal->on_moves) anneal->on_moves(anneal->user);
      temperature = anneal->hot * plim_real_exp(over * plim_real_log(anneal->cold / anneal->hot));
      adapt_weight(anneal);
    }
    PLIM_TRY(one_move(anneal, draw_kind(anneal, total), temperature));
  }
  return PLIM_OK;
}
