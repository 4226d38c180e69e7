/* A searcher: one annealing run after the other, each with its candidate, which is packed and submitted.
 *
 * During a run, on_fit keeps the fastest schedule within the limit as the candidate and packs it now and then. At the
 * end of the run, pack_candidate polishes it and packs it well. Then the limit of the next run follows from what its
 * packing needed too much. Invariant: the limit is at most the budget, unless a strict run starts from a best whose
 * peak is above it. */
#include "planner/search/search_internal.h"

#include "planner/search/moves.h"
#include "planner/search/search_tuning.h"
#include "planner/search/searches.h"

/* Pack the candidate and submit it. */
static plim_status try_candidate(plim_searcher *searcher, int32_t packing_rounds) {
  plim_submit_result result;
  PLIM_TRY(plim_incumbent_submit(searcher->inc, &searcher->candidate, packing_rounds, &result));
  searcher->excess_bytes = result.bytes - searcher->inc->task.budget_bytes;
  return PLIM_OK;
}

/* Would a candidate of this time be the best plan, and does its packing miss the budget by only a little? */
static int is_near(const plim_searcher *searcher, int64_t time_ns) {
  return searcher->excess_bytes > 0 &&
         searcher->excess_bytes <= searcher->inc->task.budget_bytes / search_tuning.searcher.hard_part &&
         (!searcher->inc->has_best || time_ns < searcher->inc->best_ns);
}

/* Pack the candidate in more rounds; where that almost fits, by exact search. */
static plim_status pack_well(plim_searcher *searcher, int64_t time_ns) {
  PLIM_TRY(try_candidate(searcher, search_tuning.searcher.packing_rounds_strong));
  return is_near(searcher, time_ns) ? try_candidate(searcher, search_tuning.searcher.packing_rounds_hard) : PLIM_OK;
}

/* Pack the schedule in the track and submit it. Where it does not fit, the next packing waits for some moves. It may be
 * of a schedule with the same figures: one packs and another does not. */
static plim_status try_current(plim_searcher *searcher, plim_anneal *anneal) {
  plim_submit_result result;
  PLIM_TRY(plim_track_store(anneal->mover.track, &searcher->current));
  PLIM_TRY(
      plim_incumbent_submit(searcher->inc, &searcher->current, search_tuning.searcher.packing_rounds_quick, &result));
  int fits = result.bytes <= searcher->inc->task.budget_bytes;
  if (!fits) {
    searcher->next_try =
        anneal->done + search_tuning.searcher.moves_between_packings * (int64_t)searcher->inc->problem->n_ops;
  }
  if (anneal->mover.track->time_ns == searcher->candidate_ns) {
    searcher->excess_bytes = result.bytes - searcher->inc->task.budget_bytes;
  }
  anneal->stop = plim_incumbent_proved(searcher->inc);
  if (anneal->stop && searcher->halt) atomic_store(searcher->halt, 1);
  return PLIM_OK;
}

/* Reports progress, and ends the run where another searcher has met the bound. */
static void on_moves(void *user) {
  plim_searcher *searcher = user;
  plim_incumbent_report(searcher->inc, "search");
  if (searcher->halt && atomic_load(searcher->halt)) searcher->anneal.stop = 1;
}

static plim_status on_fit(void *user, plim_anneal *anneal) {
  plim_searcher *searcher = user;
  int64_t time_ns = anneal->mover.track->time_ns;
  if (searcher->candidate_ns == 0 || time_ns < searcher->candidate_ns) {
    PLIM_TRY(plim_track_store(anneal->mover.track, &searcher->candidate));
    searcher->candidate_ns = time_ns;
    searcher->excess_bytes = INT64_MAX;
  }
  if (anneal->done >= searcher->next_try) PLIM_TRY(try_current(searcher, anneal));
  anneal->faster_than_ns = searcher->inc->has_best ? searcher->inc->best_ns : PLIM_TIME_INFINITE;
  return PLIM_OK;
}

/* The limit of the next run: lower by half of what the packing of the candidate needed too much; where it fitted, half
 * way back to the budget. */
static int64_t next_limit(const plim_searcher *searcher, int64_t limit) {
  int64_t budget = searcher->inc->task.budget_bytes, most = budget / search_tuning.searcher.limit_part,
          reduction = searcher->excess_bytes / 2 + searcher->inc->problem->align;
  if (searcher->candidate_ns == 0 || searcher->excess_bytes <= 0) return limit + (budget - limit) / 2;
  return limit - (reduction < most ? reduction : most);
}

/* The shares of moves, without those that cannot change a schedule of this problem. */
static void set_shares(const plim_problem *p, plim_anneal *anneal, const plim_annealing *annealing) {
  int choices = 0;
  for (int32_t v = 0; v < p->n_ops; v++) choices |= p->op[v].n_choices > 1;
  for (int move = 0; move < PLIM_MOVES; move++) anneal->share[move] = annealing->share[move];
  if (!choices) anneal->share[PLIM_MOVE_CHOICE] = 0;
  if (p->has_fixed_order) anneal->share[PLIM_MOVE_FIRST] = anneal->share[PLIM_MOVE_GROUP] = 0;
}

/* At the end of an annealing run: polish the candidate, and pack it well. Where that does not fit, pack the
 * candidate as it was. */
static plim_status pack_candidate(plim_searcher *searcher, int64_t limit) {
  if (searcher->candidate_ns == 0) return PLIM_OK;
  int tried = searcher->excess_bytes <= 0;
  plim_schedule rough = searcher->candidate;
  searcher->candidate = (plim_schedule){.ctx = rough.ctx};
  plim_track_load(searcher->track, &rough);
  plim_status status = plim_polish(searcher->track, limit);
  int64_t polished_ns = searcher->track->time_ns;
  if (status == PLIM_OK && polished_ns < searcher->candidate_ns) {
    status = plim_track_store(searcher->track, &searcher->candidate);
    if (status == PLIM_OK) status = pack_well(searcher, polished_ns);
  }
  plim_schedule_free(&searcher->candidate);
  searcher->candidate = rough;
  int polished = polished_ns < searcher->candidate_ns;
  if (status != PLIM_OK || tried || (polished && searcher->excess_bytes <= 0)) return status;
  return polished ? try_candidate(searcher, search_tuning.searcher.packing_rounds_strong)
                  : pack_well(searcher, searcher->candidate_ns);
}

/* Load the start, and set what the run needs. The room of the track grows for starts of many runs an op, such as
 * Rotor's. */
static plim_status set_up(plim_searcher *searcher, const plim_annealing *annealing, const plim_schedule *start) {
  plim_incumbent *inc = searcher->inc;
  plim_anneal *anneal = &searcher->anneal;
  PLIM_TRY(plim_track_reserve(&searcher->track, start->n));
  anneal->mover.track = searcher->track;
  set_shares(inc->problem, anneal, annealing);
  anneal->is_strict = annealing->start == PLIM_START_BEST_WITHIN && inc->has_best;
  anneal->hot = annealing->hot * 100 / inc->problem->n_ops;
  anneal->cold = search_tuning.searcher.cold * 100 / inc->problem->n_ops;
  anneal->faster_than_ns = inc->has_best ? inc->best_ns : PLIM_TIME_INFINITE;
  searcher->candidate_ns = searcher->excess_bytes = 0;
  searcher->next_try = anneal->done;
  plim_track_load(searcher->track, start);
  if (anneal->is_strict && plim_track_peak(searcher->track) > anneal->mover.limit) {
    anneal->mover.limit = plim_track_peak(searcher->track);
  }
  return PLIM_OK;
}

plim_status plim_searcher_anneal(plim_searcher *searcher, const plim_annealing *annealing, const plim_schedule *start,
                                 int64_t moves, int64_t deadline_ns) {
  plim_anneal *anneal = &searcher->anneal;
  PLIM_TRY(set_up(searcher, annealing, start));
  anneal->iterations = moves;
  anneal->deadline_ns = deadline_ns;
  plim_status status = plim_anneal_run(anneal);
  if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
  if (searcher->candidate_ns == 0) {
    PLIM_TRY(plim_track_store(searcher->track, &searcher->candidate)); /* above the limit */
  }
  PLIM_TRY(pack_candidate(searcher, anneal->mover.limit));
  anneal->mover.limit = next_limit(searcher, anneal->mover.limit);
  return status;
}

plim_status plim_searcher_begin(plim_incumbent *inc, uint64_t seed, plim_searcher *out) {
  plim_context *ctx = inc->problem->ctx;
  plim_status status;
  *out = (plim_searcher){.inc = inc, .current = {.ctx = ctx}, .candidate = {.ctx = ctx}};
  PLIM_TRY_OR_DONE(plim_track_new(inc->problem, plim_track_usual_capacity(inc->problem), &out->track));
  out->anneal = (plim_anneal){.mover = {.track = out->track,
                                        .random = {seed},
                                        .limit = inc->task.budget_bytes,
                                        .compare_percent = search_tuning.searcher.compare_percent},
                              .runs_an_op_limit = inc->task.runs_an_op_limit,
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

void plim_searcher_end(plim_searcher *searcher) {
  plim_track_free(searcher->track);
  plim_schedule_free(&searcher->current);
  plim_schedule_free(&searcher->candidate);
}
