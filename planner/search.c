/* The anytime search: several coolings over schedules with repeats, with packing in the loop.
 *
 * A cooling asks for peaks within a limit. The fastest schedule of a cooling that is faster than the best plan is its
 * candidate; it is packed now and then, with more effort when the cooling ends. Where its addresses need more than the
 * budget, the limit of the next cooling is tightened by what was too much. The best plan never gets slower. */
#include "planner/anneal.h"
#include "planner/bound.h"
#include "planner/planning.h"

enum { QUICK = 0, STRONG = 24, MOVES_BETWEEN_PACKINGS = 40 /* for each op */ };

typedef struct searcher {
  plim_planning *pl;
  plim_track *track;
  plim_schedule candidate;
  int64_t candidate_ns, tried_ns; /* tried: time of the candidate that was packed last */
  int64_t excess_bytes;           /* of its height over the budget */
  int64_t next_try;               /* in moves */
} searcher;

/* One cooling of a series. */
typedef struct cooling {
  int32_t percent; /* of the moves of the series */
  double hot, cold;
  int32_t fresh; /* 1: from keep-all, 0: from the best */
  int32_t share[PLIM_MOVES];
} cooling;

static const cooling series[] = {
    {40, 1, 0.002, 1, {25, 15, 15, 10, 10, 25, 5}},
    {20, 0.2, 0.002, 0, {35, 20, 10, 15, 0, 20, 5}},
    {20, 1, 0.002, 1, {35, 20, 10, 15, 0, 20, 5}},
    {20, 0.2, 0.002, 0, {25, 15, 15, 10, 10, 25, 5}},
};
enum { COOLINGS = sizeof series / sizeof series[0], MOVES_AN_OP = 4000 };

static plim_status try_candidate(searcher *s, int32_t effort) {
  int64_t bytes;
  PLIM_TRY(plim_planning_offer(s->pl, &s->candidate, effort, &bytes));
  s->tried_ns = s->candidate_ns;
  s->excess_bytes = bytes - s->pl->budget_bytes;
  return PLIM_OK;
}

static plim_status on_fit(void *user, plim_anneal *a) {
  searcher *s = user;
  PLIM_TRY(plim_track_store(a->mover.track, &s->candidate));
  s->candidate_ns = a->faster_than_ns = a->mover.track->time_ns;
  if (a->done < s->next_try) return PLIM_OK;
  PLIM_TRY(try_candidate(s, QUICK));
  if (s->excess_bytes > 0) s->next_try = a->done + MOVES_BETWEEN_PACKINGS * (int64_t)s->pl->problem->n_ops;
  a->stop = s->pl->found && s->pl->best_ns <= s->pl->bound_ns;
  return PLIM_OK;
}

/* How the limit follows the packing: tighter by what was too much, or half way back to the budget. */
static int64_t next_limit(const searcher *s, int64_t limit) {
  int64_t budget = s->pl->budget_bytes, most = budget / 50;
  if (s->excess_bytes <= 0) return limit + (budget - limit) / 2;
  return limit - (s->excess_bytes < most ? s->excess_bytes : most);
}

static plim_status cool(searcher *s, plim_anneal *a, const cooling *c, const plim_schedule *start) {
  plim_planning *pl = s->pl;
  for (int move = 0; move < PLIM_MOVES; move++) a->share[move] = c->share[move];
  a->hot = c->hot;
  a->cold = c->cold;
  a->faster_than_ns = pl->found ? pl->best_ns : INT64_MAX;
  s->candidate_ns = s->tried_ns = s->excess_bytes = 0;
  s->next_try = a->done;
  plim_track_load(s->track, start);
  plim_status status = plim_anneal_run(a);
  if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
  if (s->candidate_ns > 0 && (s->candidate_ns != s->tried_ns || s->excess_bytes > 0))
    PLIM_TRY(try_candidate(s, STRONG));
  a->mover.limit = next_limit(s, a->mover.limit);
  return status;
}

/* Look for any plan at all, by the search for fewest bytes. */
static plim_status find_any(plim_planning *pl) {
  plim_plan_options options = *pl->options;
  plim_planning *lowest = NULL;
  options.budget_bytes = INT64_MAX;
  PLIM_TRY(plim_planning_begin(pl->problem, &options, &lowest));
  lowest->lowest = 1;
  lowest->enough_bytes = pl->budget_bytes;
  plim_status status = plim_squeeze_run(lowest);
  if (status == PLIM_OK || status == PLIM_ECANCEL) {
    plim_status taken = plim_planning_take(pl, lowest);
    if (taken != PLIM_OK) status = taken;
  }
  plim_planning_end(lowest);
  return status;
}

/* The series from program order; where the first cooling finds nothing, the others go on from any plan. */
static plim_status run_series(searcher *s, const plim_schedule *order) {
  plim_planning *pl = s->pl;
  const plim_problem *p = pl->problem;
  int64_t moves = pl->options->iterations > 0 ? pl->options->iterations : MOVES_AN_OP * (int64_t)p->n_ops;
  int from_best = 0;
  plim_anneal a = {.mover = {.track = s->track, .random = {pl->options->seed}, .limit = pl->budget_bytes},
                   .weight = 1,
                   .time_weight = 1,
                   .deadline_ns = INT64_MAX,
                   .on_fit = on_fit,
                   .user = s};
  if (pl->options->time_limit_ns > 0) a.deadline_ns = pl->started_ns + pl->options->time_limit_ns;
  for (int32_t i = 0; i < COOLINGS && !a.stop; i++) {
    if (i > 0 && !pl->found) {
      PLIM_TRY(find_any(pl));
      if (!pl->found) return PLIM_OK;
      from_best = 1;
      a.mover.limit = pl->budget_bytes;
    }
    a.iterations = moves * series[i].percent / 100;
    PLIM_TRY(cool(s, &a, &series[i], series[i].fresh && !from_best ? order : &pl->best));
  }
  return PLIM_OK;
}

plim_status plim_search_run(plim_planning *pl) {
  const plim_problem *p = pl->problem;
  searcher s = {.pl = pl, .candidate = {.ctx = p->ctx}};
  plim_schedule order = {.ctx = p->ctx};
  plim_status status;
  int32_t op;
  PLIM_TRY(plim_keep_all_run(pl));
  if (pl->found && pl->best_ns <= pl->bound_ns) return PLIM_OK;
  if (pl->budget_bytes < plim_bound_bytes(p, &op)) return PLIM_OK;
  PLIM_CHECK(plim_schedule_program_order(p, &order));
  PLIM_CHECK(plim_track_new(p, 16 * p->n_ops + 64, &s.track));
  PLIM_CHECK(run_series(&s, &order));
done:
  plim_track_free(s.track);
  plim_schedule_free(&s.candidate);
  plim_schedule_free(&order);
  return status;
}
