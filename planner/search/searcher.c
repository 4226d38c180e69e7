/* A searcher: one annealing run after the other, each with its candidate, which is packed and submitted.
 *
 * During a run, on_fit keeps the fastest schedule within the limit as the candidate and packs it now and then. At the
 * end of the run, pack_candidate polishes it, improves it by exact neighbourhoods, and packs it well. Then the limit of
 * the next run follows from what its packing needed too much. Invariant: the limit is at most the budget, unless a
 * strict run starts from a best whose peak is above it. */
#include "planner/search/searcher.h"

#include "planner/search/moves.h"
#include "planner/search/search_tuning.h"
#include "planner/search/searches.h"

/* Pack the candidate and submit it. */
static plim_status try_candidate(plim_searcher *s, int32_t effort) {
  plim_submit_result result;
  PLIM_TRY(plim_incumbent_submit(s->inc, &s->candidate, effort, &result));
  s->excess_bytes = result.bytes - s->inc->budget_bytes;
  return PLIM_OK;
}

/* Would a candidate of this time be the best plan, and does its packing miss the budget by only a little? */
static int is_near(const plim_searcher *s, int64_t time_ns) {
  return s->excess_bytes > 0 && s->excess_bytes <= s->inc->budget_bytes / search_tuning.searcher.hard_part &&
         (!s->inc->found || time_ns < s->inc->best_ns);
}

/* Pack the candidate with more effort; where that almost fits, by exact search. */
static plim_status pack_well(plim_searcher *s, int64_t time_ns) {
  PLIM_TRY(try_candidate(s, search_tuning.searcher.effort_strong));
  return is_near(s, time_ns) ? try_candidate(s, search_tuning.searcher.effort_hard) : PLIM_OK;
}

/* Pack the schedule in the track and submit it. Where it does not fit, the next packing waits for some moves. It may be
 * of a schedule with the same figures: one packs and another does not. */
static plim_status try_current(plim_searcher *s, plim_anneal *a) {
  plim_submit_result result;
  PLIM_TRY(plim_track_store(a->mover.track, &s->current));
  PLIM_TRY(plim_incumbent_submit(s->inc, &s->current, search_tuning.searcher.effort_quick, &result));
  int fits = result.bytes <= s->inc->budget_bytes;
  if (!fits) s->next_try = a->done + search_tuning.searcher.moves_between_packings * (int64_t)s->inc->problem->n_ops;
  if (a->mover.track->time_ns == s->candidate_ns) s->excess_bytes = result.bytes - s->inc->budget_bytes;
  a->stop = plim_incumbent_proved(s->inc);
  if (a->stop && s->halt) atomic_store(s->halt, 1);
  return PLIM_OK;
}

/* Reports progress, and ends the run where another searcher has met the bound. */
static void on_moves(void *user) {
  plim_searcher *s = user;
  plim_incumbent_report(s->inc, "search");
  if (s->halt && atomic_load(s->halt)) s->anneal.stop = 1;
}

static plim_status on_fit(void *user, plim_anneal *a) {
  plim_searcher *s = user;
  int64_t time_ns = a->mover.track->time_ns;
  if (s->candidate_ns == 0 || time_ns < s->candidate_ns) {
    PLIM_TRY(plim_track_store(a->mover.track, &s->candidate));
    s->candidate_ns = time_ns;
    s->excess_bytes = INT64_MAX;
  }
  if (a->done >= s->next_try) PLIM_TRY(try_current(s, a));
  a->faster_than_ns = s->inc->found ? s->inc->best_ns : INT64_MAX;
  return PLIM_OK;
}

/* The limit of the next run: lower by half of what the packing of the candidate needed too much; where it fitted, half
 * way back to the budget. */
static int64_t next_limit(const plim_searcher *s, int64_t limit) {
  int64_t budget = s->inc->budget_bytes, most = budget / search_tuning.searcher.limit_part,
          step = s->excess_bytes / 2 + s->inc->problem->align;
  if (s->candidate_ns == 0 || s->excess_bytes <= 0) return limit + (budget - limit) / 2;
  return limit - (step < most ? step : most);
}

/* The shares of moves, without those that cannot change a schedule of this problem. */
static void set_shares(const plim_problem *p, plim_anneal *a, const plim_annealing *c) {
  int choices = 0;
  for (int32_t v = 0; v < p->n_ops; v++) choices |= p->op[v].n_choices > 1;
  for (int move = 0; move < PLIM_MOVES; move++) a->share[move] = c->share[move];
  if (!choices) a->share[PLIM_MOVE_CHOICE] = 0;
  if (p->fixed_order) a->share[PLIM_MOVE_FIRST] = a->share[PLIM_MOVE_GROUP] = 0;
}

/* Improve the schedule in the track by exact neighbourhoods, unless the runs of an op are limited. The copy of the
 * mover has random numbers of its own, so that annealing runs do not depend on this. */
static void improve(const plim_searcher *s, int64_t limit) {
  plim_mover mover = s->anneal.mover;
  if (s->anneal.runs_an_op_limit > 0) return;
  mover.limit = limit;
  plim_neighbourhood_improve(&mover, s->anneal.share[PLIM_MOVE_CHOICE] > 0
                                         ? search_tuning.searcher.neighbourhoods_with_choices
                                         : search_tuning.searcher.neighbourhoods);
}

/* At the end of an annealing run: polish and improve the candidate, and pack it well. Where that does not fit, pack the
 * candidate as it was. */
static plim_status pack_candidate(plim_searcher *s, int64_t limit) {
  if (s->candidate_ns == 0) return PLIM_OK;
  int tried = s->excess_bytes <= 0;
  plim_schedule rough = s->candidate;
  s->candidate = (plim_schedule){.ctx = rough.ctx};
  plim_track_load(s->track, &rough);
  plim_status status = plim_polish(s->track, limit);
  if (status == PLIM_OK) improve(s, limit);
  int64_t polished_ns = s->track->time_ns;
  if (status == PLIM_OK && polished_ns < s->candidate_ns) {
    status = plim_track_store(s->track, &s->candidate);
    if (status == PLIM_OK) status = pack_well(s, polished_ns);
  }
  plim_schedule_free(&s->candidate);
  s->candidate = rough;
  int polished = polished_ns < s->candidate_ns;
  if (status != PLIM_OK || tried || (polished && s->excess_bytes <= 0)) return status;
  return polished ? try_candidate(s, search_tuning.searcher.effort_strong) : pack_well(s, s->candidate_ns);
}

/* Load the start, and set what the run needs. The room of the track grows for starts of many runs an op, such as
 * Rotor's. */
static plim_status set_up(plim_searcher *s, const plim_annealing *c, const plim_schedule *start) {
  plim_incumbent *inc = s->inc;
  plim_anneal *a = &s->anneal;
  PLIM_TRY(plim_track_make_room(&s->track, start->n));
  a->mover.track = s->track;
  set_shares(inc->problem, a, c);
  a->strict = c->start == PLIM_START_BEST_WITHIN && inc->found;
  a->hot = c->hot * 100 / inc->problem->n_ops;
  a->cold = search_tuning.searcher.cold * 100 / inc->problem->n_ops;
  a->faster_than_ns = inc->found ? inc->best_ns : INT64_MAX;
  s->candidate_ns = s->excess_bytes = 0;
  s->next_try = a->done;
  plim_track_load(s->track, start);
  if (a->strict && plim_track_peak(s->track) > a->mover.limit) a->mover.limit = plim_track_peak(s->track);
  return PLIM_OK;
}

plim_status plim_searcher_anneal(plim_searcher *s, const plim_annealing *c, const plim_schedule *start, int64_t moves,
                                 int64_t deadline_ns) {
  plim_anneal *a = &s->anneal;
  PLIM_TRY(set_up(s, c, start));
  a->iterations = moves;
  a->deadline_ns = deadline_ns;
  plim_status status = plim_anneal_run(a);
  if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
  if (s->candidate_ns == 0) PLIM_TRY(plim_track_store(s->track, &s->candidate)); /* above the limit */
  PLIM_TRY(pack_candidate(s, a->mover.limit));
  a->mover.limit = next_limit(s, a->mover.limit);
  return status;
}

plim_status plim_searcher_begin(plim_incumbent *inc, uint64_t seed, plim_searcher *out) {
  plim_context *ctx = inc->problem->ctx;
  plim_status status;
  *out = (plim_searcher){.inc = inc, .current = {.ctx = ctx}, .candidate = {.ctx = ctx}};
  PLIM_CHECK(plim_track_new(inc->problem, plim_track_usual_room(inc->problem), &out->track));
  out->anneal = (plim_anneal){.mover = {.track = out->track,
                                        .random = {seed},
                                        .limit = inc->budget_bytes,
                                        .compare_percent = search_tuning.searcher.compare_percent},
                              .runs_an_op_limit = inc->runs_an_op_limit,
                              .weight = search_tuning.searcher.weight,
                              .pace = search_tuning.searcher.pace,
                              .time_weight = 1,
                              .on_fit = on_fit,
                              .on_moves = on_moves,
                              .user = out};
done:
  if (status != PLIM_OK) {
    plim_searcher_end(out);
    *out = (plim_searcher){.inc = inc, .current = {.ctx = ctx}, .candidate = {.ctx = ctx}};
  }
  return status;
}

void plim_searcher_end(plim_searcher *s) {
  plim_track_free(s->track);
  plim_schedule_free(&s->current);
  plim_schedule_free(&s->candidate);
}
