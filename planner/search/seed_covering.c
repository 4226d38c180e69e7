/* A round walks at falling rates: first only what gains most for its time, at the end whatever gains anything. So each
 * repeat is bought at nearly the best rate at which there still is something. The first round begins at a rate that
 * hardly anything is worth; each later one where the bulk was bought, and gives repeats up that are not worth their
 * time there: what was bought early may have lost its gain to what was bought later. */
#include "planner/search/search_internal.h"

#include <math.h>

#include "runtime/base/effort.h"

enum { FIRST_PERCENT = 85 /* of the time are over when the first round ends at the latest */ };
enum {
  EFFORT = 8 /* of packing */,
  MOST_RUNS_AN_OP = 8,
  MOST_WALKS = 200,
  MOST_BELOW = 3,  /* percent of the goal that the aim is below it at most */
  LEFT = 2,        /* percent of the excess at which the aim is that low */
  RUN_AWAY = 10,   /* percent of the least area: a round above it will not return below at such rates */
  NEAR_BULK = 4,   /* times the bulk's rate */
  MOST_MISSED = 2, /* rounds that end above the limit one after the other; each has walked down to the last rate */
  FEW = 1000       /* runs a change: steps are larger */
};

/* Tried on random layers: in the first round no share from 0 to 0.7 matters at 70 %, and at 50 % one that is not 0
 * spares two thirds of the repeats; later rounds gain most at about these. */
static const double FALL = 0.8, FIRST_HOLD = 0.3, HOLD = 0.7, NOISE = 0.3, BACK = 8;

typedef struct covering_search {
  plim_incumbent *inc;
  plim_track *track;
  plim_greedy_covering *covering;
  int64_t budget;
  int64_t goal;        /* peak that is low enough: the budget, less where addresses need more */
  double begin_rate;   /* rate at which a round begins */
  double begin_excess; /* bytes x steps above the goal of the schedule that covering began with */
  double bulk_rate;    /* rate at which a tenth of that was left in the first round */
  int64_t begin_area;  /* the same as the track adds it up */
  int64_t least_area;  /* of this round since it came near the bulk's rate; INT64_MAX: it has not */
  plim_schedule least; /* with that */
  plim_schedule best;  /* the fastest within the limit, or the lowest */
  int64_t best_ns;     /* INT64_MAX: none within it */
  int64_t best_peak;
} covering_search;

/* The excess of the first walk, in terms of an average op's time: one that takes a tenth of it away at once is first.
 */
static double first_rate(const covering_search *c) {
  const plim_problem *p = c->inc->problem;
  return 0.1 * c->covering->excess * p->n_ops / (double)(p->keep_all_ns > 0 ? p->keep_all_ns : 1);
}

/* Even a chain of the slowest ops is worth a single byte at one step. */
static double last_rate(const covering_search *c) {
  const plim_problem *p = c->inc->problem;
  int64_t slowest = 1;
  for (int32_t v = 0; v < p->n_ops; v++) {
    if (p->op[v].choice[0].time_ns > slowest) slowest = p->op[v].choice[0].time_ns;
  }
  return 1.0 / ((double)slowest * PLIM_GREEDY_COVERING_CHAIN);
}

static int fits(const covering_search *c) {
  return plim_track_peak(c->track) <= c->goal;
}

/* What little is left above the goal when the bulk is gone lies at steps where nothing cheap is to be had. Instead of
 * paying ever worse rates there, aim below the goal, further with every walk by half of what the peak is above it: at
 * usual rates, spread over all steps near it, that brings the last ones down as well. Polishing gives back what was too
 * much. */
static void lower_limit(covering_search *c, int64_t area) {
  int64_t over = plim_track_peak(c->track) - c->goal, least = c->goal - c->goal / 100 * MOST_BELOW;
  if (over <= 0 || area > c->begin_area / 100 * LEFT) return;
  c->covering->limit -= over / 2 + 1;
  if (c->covering->limit < least) c->covering->limit = least;
}

/* At rates that are low enough nearly everything is run again and again, and repeats make more bytes alive than they
 * free. A round that gets there goes back to where it was lowest, and is over. */
static plim_status stop_if_diverged(covering_search *c, int64_t area, int *diverged) {
  if (c->bulk_rate <= 0 || c->covering->rate > NEAR_BULK * c->bulk_rate) return PLIM_OK;
  *diverged = c->least_area < INT64_MAX && area > c->least_area && area > c->begin_area / 100 * RUN_AWAY;
  if (*diverged) plim_track_load(c->track, &c->least);
  if (area >= c->least_area) return PLIM_OK;
  c->least_area = area;
  return plim_track_store(c->track, &c->least);
}

/* Repeats have taken all the room there is, which none of them can have been worth. */
static int is_full(const covering_search *c) {
  return c->track->n_free <= 2 * PLIM_GREEDY_COVERING_CHAIN;
}

/* Set rate and aim of the next walk of the round. */
static plim_status next_walk(covering_search *c, int *diverged) {
  plim_greedy_covering *covering = c->covering;
  int64_t area = plim_track_excess(c->track, c->goal);
  int few = covering->changes <= c->track->n_runs / FEW;
  if (c->bulk_rate <= 0 && covering->excess <= 0.1 * c->begin_excess) c->bulk_rate = covering->rate;
  PLIM_TRY(stop_if_diverged(c, area, diverged));
  lower_limit(c, area);
  covering->rate *= few ? FALL * FALL : FALL;
  return PLIM_OK;
}

/* One round. `deadline_ns` ends it wherever it is. */
static plim_status run_round(covering_search *c, int64_t deadline_ns) {
  plim_context *ctx = c->inc->problem->ctx;
  double last = last_rate(c);
  int diverged = 0;
  c->covering->rate = c->begin_rate;
  c->covering->limit = c->goal;
  c->least_area = INT64_MAX;
  for (int walk = 0; walk < MOST_WALKS && (walk < 2 || !fits(c)) && c->covering->rate > last && !diverged; walk++) {
    if (plim_effort_over(ctx, 0)) return PLIM_ECANCEL;
    if (plim_now_ns() >= deadline_ns) return PLIM_OK;
    plim_greedy_covering_walk(c->covering);
    plim_incumbent_report(c->inc, "cover");
    PLIM_TRY(next_walk(c, &diverged));
    diverged |= is_full(c);
  }
  return PLIM_OK;
}

/* Take what the round has come to. Where it is within the budget and its addresses are not, the limit follows: half of
 * what was too much. */
static plim_status take_outcome(covering_search *c) {
  plim_track *t = c->track;
  int within = fits(c);
  plim_submit_result result;
  if (within) PLIM_TRY(plim_polish(t, c->goal));
  int64_t time_ns = within ? t->time_ns : INT64_MAX, peak = plim_track_peak(t);
  int better = within ? time_ns < c->best_ns : c->best_ns == INT64_MAX && peak < c->best_peak;
  if (!better) return PLIM_OK;
  PLIM_TRY(plim_track_store(t, &c->best));
  c->best_peak = peak;
  if (!within) return PLIM_OK;
  PLIM_TRY(plim_incumbent_submit(c->inc, &c->best, EFFORT, &result));
  if (result.bytes <= c->budget) c->best_ns = time_ns;
  if (result.bytes > c->budget) c->goal -= (result.bytes - c->budget) / 2 + c->inc->problem->align;
  return PLIM_OK;
}

static plim_status run_rounds(covering_search *c, int32_t rounds, int64_t deadline_ns) {
  plim_greedy_covering *covering = c->covering;
  covering->limit = c->goal;
  covering->rate = INFINITY; /* nothing is worth that: only to look */
  plim_greedy_covering_walk(covering);
  c->begin_rate = first_rate(c);
  c->begin_excess = covering->excess;
  c->begin_area = plim_track_excess(c->track, c->goal);
  covering->keep_share = FIRST_HOLD;
  for (int32_t round = 0, missed = 0; round < rounds && missed < MOST_MISSED; round++) {
    plim_status status = run_round(c, round == 0 ? plim_incumbent_deadline(c->inc, FIRST_PERCENT) : deadline_ns);
    missed = fits(c) ? 0 : missed + 1;
    PLIM_TRY(take_outcome(c));
    if (status != PLIM_OK || plim_now_ns() >= deadline_ns || c->bulk_rate <= 0) return status;
    c->begin_rate = BACK * c->bulk_rate;
    covering->keep_share = HOLD;
    covering->noise = NOISE;
    plim_track_load(c->track, &c->best);
  }
  return PLIM_OK;
}

plim_status plim_seed_covering(plim_incumbent *inc, int64_t budget_bytes, int32_t rounds, int64_t deadline_ns,
                               plim_schedule *schedule) {
  const plim_problem *p = inc->problem;
  int32_t room = MOST_RUNS_AN_OP * p->n_ops + 4 * PLIM_GREEDY_COVERING_CHAIN;
  covering_search c = {.inc = inc,
                       .budget = budget_bytes,
                       .goal = budget_bytes,
                       .best = {.ctx = p->ctx},
                       .least = {.ctx = p->ctx},
                       .best_ns = INT64_MAX,
                       .best_peak = INT64_MAX};
  plim_status status;
  if (2 * schedule->n > room) room = 2 * schedule->n;
  PLIM_CHECK(plim_track_new(p, room, &c.track));
  PLIM_CHECK(plim_greedy_covering_new(c.track, budget_bytes, &c.covering));
  plim_track_load(c.track, schedule);
  c.covering->random = (plim_random){inc->options->seed};
  status = run_rounds(&c, rounds, deadline_ns);
  if ((status == PLIM_OK || status == PLIM_ECANCEL) && c.best.n > 0) {
    plim_status copied = plim_schedule_copy(schedule, &c.best);
    if (copied != PLIM_OK) status = copied;
  }
done:
  plim_greedy_covering_free(c.covering);
  plim_track_free(c.track);
  plim_schedule_free(&c.best);
  plim_schedule_free(&c.least);
  return status;
}
