/* Greedy covering as a search: rounds of walks (greedy_covering.c) at falling rates.
 *
 * In a round, the first walks add only the repeats with most bytes for their time, the last ones any that gain
 * something. So each repeat is bought at nearly the best rate that is still offered. The first round begins at a rate
 * that hardly any repeat is worth. The *bulk rate* is the rate at which nine tenths of the excess are gone. Later
 * rounds begin a little above the bulk rate. They also remove repeats that are no longer worth their time: what was
 * bought early may have lost its gain to what was bought later. A round ends when the peak is within the goal, when the
 * rate is too low to matter, or when it diverges: at very low rates repeats make more bytes alive than they free. The
 * goal is the budget; it falls where a schedule within it does not pack. */
#include "planner/search/searches.h"

#include <math.h>

#include "planner/search/search_internal.h"
#include "planner/search/search_tuning.h"
#include "runtime/base/effort.h"

typedef struct covering_search {
  plim_incumbent *inc;
  plim_track *track;
  plim_greedy_covering *covering;
  int64_t budget;      /* bytes */
  int64_t goal;        /* peak that is low enough: the budget, or less where addresses need more */
  double begin_rate;   /* rate at which a round begins; rates are bytes x positions a nanosecond */
  double begin_excess; /* area above the goal of the first schedule, by the walk: bytes x positions */
  double bulk_rate;    /* 0: not known yet */
  int64_t begin_area;  /* area above the goal of the first schedule, by the track: for long schedules approximate */
  int64_t least_area;  /* of this round, from rates near the bulk rate on; INT64_MAX: none yet */
  plim_schedule least; /* the schedule of that area */
  plim_schedule best;  /* the fastest within the goal; without one, the one of lowest peak */
  int64_t best_ns;     /* time of the fastest that fits; PLIM_TIME_INFINITE: none */
  int64_t best_peak;   /* peak of `best` */
} covering_search;

/* The rate at which the first round begins: an op of average time must remove a tenth of the excess to be worth it. */
static double first_rate(const covering_search *search) {
  const plim_problem *p = search->inc->problem;
  return search_tuning.covering.bulk_left * search->covering->excess * p->n_ops /
         (double)(p->keep_all_ns > 0 ? p->keep_all_ns : 1);
}

/* The rate at which a round ends: a chain of the slowest ops would be worth a single byte at one position. */
static double last_rate(const covering_search *search) {
  const plim_problem *p = search->inc->problem;
  int64_t slowest = 1;
  for (int32_t v = 0; v < p->n_ops; v++) {
    if (p->op[v].choice[0].time_ns > slowest) slowest = p->op[v].choice[0].time_ns;
  }
  return 1.0 / ((double)slowest * PLIM_GREEDY_COVERING_CHAIN);
}

static int fits(const covering_search *search) {
  return plim_track_peak(search->track) <= search->goal;
}

/* When little is left above the goal, that lies at positions where repeats are costly. Instead of paying ever worse
 * rates there, lower the limit of the walks below the goal, each time by half of what the peak exceeds it. Repeats at
 * usual rates near those positions then lower them as well. Polishing removes what was too much. */
static void lower_limit(covering_search *search, int64_t area) {
  int64_t over = plim_track_peak(search->track) - search->goal,
          least = search->goal - search->goal / 100 * search_tuning.covering.below_percent;
  if (over <= 0 || area > search->begin_area / 100 * search_tuning.covering.below_area_percent) return;
  search->covering->limit -= over / 2 + 1;
  if (search->covering->limit < least) search->covering->limit = least;
}

/* *diverged is 1 where the area grows again at a low rate. The track then gets the schedule of least area back, and the
 * round ends. */
static plim_status stop_if_diverged(covering_search *search, int64_t area, int *diverged) {
  if (search->bulk_rate <= 0 || search->covering->rate > search_tuning.covering.near_bulk * search->bulk_rate) {
    return PLIM_OK;
  }
  *diverged = search->least_area < INT64_MAX && area > search->least_area &&
              area > search->begin_area / 100 * search_tuning.covering.diverged_percent;
  if (*diverged) plim_track_load(search->track, &search->least);
  if (area >= search->least_area) return PLIM_OK;
  search->least_area = area;
  return plim_track_store(search->track, &search->least);
}

/* Is the room for runs used up? Then the round ends. */
static int is_full(const covering_search *search) {
  return search->track->n_free <= 2 * PLIM_GREEDY_COVERING_CHAIN;
}

/* Set rate and limit of the next walk of the round. */
static plim_status next_walk(covering_search *search, int *diverged) {
  plim_greedy_covering *covering = search->covering;
  int64_t area = plim_track_excess(search->track, search->goal);
  int few = covering->changes <= search->track->n_runs / search_tuning.covering.few_changes;
  if (search->bulk_rate <= 0 && covering->excess <= search_tuning.covering.bulk_left * search->begin_excess) {
    search->bulk_rate = covering->rate;
  }
  PLIM_TRY(stop_if_diverged(search, area, diverged));
  lower_limit(search, area);
  covering->rate *= few ? search_tuning.covering.rate_factor * search_tuning.covering.rate_factor
                        : search_tuning.covering.rate_factor;
  return PLIM_OK;
}

/* One round of walks, until deadline_ns at the latest. */
static plim_status run_round(covering_search *search, int64_t deadline_ns) {
  plim_context *ctx = search->inc->problem->ctx;
  double last = last_rate(search);
  int diverged = 0;
  search->covering->rate = search->begin_rate;
  search->covering->limit = search->goal;
  search->least_area = INT64_MAX;
  for (int walk = 0;
       walk < search_tuning.covering.walks && (walk < 2 || !fits(search)) && search->covering->rate > last && !diverged;
       walk++) {
    if (plim_effort_over(ctx, 0)) return PLIM_ECANCEL;
    if (plim_now_ns() >= deadline_ns) return PLIM_OK;
    plim_greedy_covering_walk(search->covering);
    plim_incumbent_report(search->inc, "cover");
    PLIM_TRY(next_walk(search, &diverged));
    diverged |= is_full(search);
  }
  return PLIM_OK;
}

/* Submit the schedule of a round, polished, where it is better than the best. Where its peak fits and its packing does
 * not, lower the goal by half of what was too much. */
static plim_status take_outcome(covering_search *search) {
  plim_track *track = search->track;
  int within = fits(search);
  plim_submit_result result;
  if (within) PLIM_TRY(plim_polish(track, search->goal));
  int64_t time_ns = within ? track->time_ns : PLIM_TIME_INFINITE, peak = plim_track_peak(track);
  int better = within ? time_ns < search->best_ns : search->best_ns == PLIM_TIME_INFINITE && peak < search->best_peak;
  if (!better) return PLIM_OK;
  PLIM_TRY(plim_track_store(track, &search->best));
  search->best_peak = peak;
  if (!within) return PLIM_OK;
  PLIM_TRY(plim_incumbent_submit(search->inc, &search->best, search_tuning.covering.packing_rounds, &result));
  if (result.bytes <= search->budget) search->best_ns = time_ns;
  if (result.bytes > search->budget) search->goal -= (result.bytes - search->budget) / 2 + search->inc->problem->align;
  return PLIM_OK;
}

static plim_status run_rounds(covering_search *search, int32_t rounds, int64_t deadline_ns) {
  plim_greedy_covering *covering = search->covering;
  covering->limit = search->goal;
  covering->rate = INFINITY; /* no repeat is worth that: the walk only measures the excess */
  plim_greedy_covering_walk(covering);
  search->begin_rate = first_rate(search);
  search->begin_excess = covering->excess;
  search->begin_area = plim_track_excess(search->track, search->goal);
  covering->keep_share = search_tuning.covering.first_keep_share;
  for (int32_t round = 0, missed = 0; round < rounds && missed < search_tuning.covering.missed_rounds; round++) {
    plim_status status =
        run_round(search, round == 0 ? plim_plan_task_deadline(&search->inc->task, search_tuning.covering.first_percent)
                                     : deadline_ns);
    missed = fits(search) ? 0 : missed + 1;
    PLIM_TRY(take_outcome(search));
    if (status != PLIM_OK || plim_now_ns() >= deadline_ns || search->bulk_rate <= 0) return status;
    search->begin_rate = search_tuning.covering.restart_factor * search->bulk_rate;
    covering->keep_share = search_tuning.covering.keep_share;
    covering->noise = search_tuning.covering.noise;
    plim_track_load(search->track, &search->best);
  }
  return PLIM_OK;
}

plim_status plim_greedy_covering_run(plim_incumbent *inc, int64_t budget_bytes, int32_t rounds, int64_t deadline_ns,
                                     plim_schedule *schedule) {
  const plim_problem *p = inc->problem;
  int32_t capacity = search_tuning.covering.runs_an_op * p->n_ops + 4 * PLIM_GREEDY_COVERING_CHAIN;
  covering_search search = {.inc = inc,
                            .budget = budget_bytes,
                            .goal = budget_bytes,
                            .best = {.ctx = p->ctx},
                            .least = {.ctx = p->ctx},
                            .best_ns = PLIM_TIME_INFINITE,
                            .best_peak = INT64_MAX};
  plim_status status;
  if (2 * schedule->n > capacity) capacity = 2 * schedule->n;
  PLIM_TRY_OR_DONE(plim_track_new(p, capacity, &search.track));
  PLIM_TRY_OR_DONE(plim_greedy_covering_new(search.track, budget_bytes, &search.covering));
  plim_track_load(search.track, schedule);
  search.covering->random = (plim_random){inc->task.options->seed};
  status = run_rounds(&search, rounds, deadline_ns);
  if ((status == PLIM_OK || status == PLIM_ECANCEL) && search.best.n > 0) {
    plim_status copied = plim_schedule_copy(schedule, &search.best);
    if (copied != PLIM_OK) status = copied;
  }
done:
  plim_greedy_covering_free(search.covering);
  plim_track_free(search.track);
  plim_schedule_free(&search.best);
  plim_schedule_free(&search.least);
  return status;
}
