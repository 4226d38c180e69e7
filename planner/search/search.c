/* The anytime search: several coolings over schedules with repeats, with packing in the loop.
 *
 * A cooling asks for peaks within a limit. The fastest schedule of a cooling that is faster than the best plan is its
 * candidate; it is packed now and then, with more effort when the cooling ends. Where its addresses need more than the
 * budget, the limit of the next cooling is tightened by what was too much. The best plan never gets slower. */
#include "planner/bound.h"
#include "planner/cut/cut.h"
#include "planner/planning.h"
#include "planner/search/anneal.h"
#include "planner/search/polish.h"
#include "planner/search/seed_replay.h"

enum { QUICK = 0, STRONG = 24, MOVES_BETWEEN_PACKINGS = 20 /* for each op */ };

typedef struct searcher {
  plim_planning *pl;
  plim_track *track;
  plim_schedule current;   /* scratch */
  plim_schedule candidate; /* the fastest schedule of the cooling */
  int64_t candidate_ns;    /* 0: none */
  int64_t excess_bytes;    /* of its height over the budget, as packed last; INT64_MAX: never */
  int64_t next_try;        /* in moves */
  int32_t lost; /* 1: a cooling from program order met no peak within the limit; others start from any plan */
} searcher;

/* One cooling of a series. Temperatures are in shares of the time of an average op: an op of a small graph is a larger
 * part of the whole. */
typedef struct cooling {
  int32_t percent; /* of the moves of the series */
  double hot;
  enum { FRESH, REHEAT, QUENCH } start; /* from program order; from the best; from the best, never above the limit */
  int32_t share[PLIM_MOVES];
} cooling;

static const cooling series[] = {
    {30, 1, FRESH, {25, 15, 15, 10, 10, 20, 5, 10}},  {5, 0.5, QUENCH, {35, 20, 10, 15, 0, 20, 5, 5}},
    {30, 3, FRESH, {20, 15, 10, 10, 35, 15, 5, 15}},  {5, 0.5, QUENCH, {25, 15, 15, 10, 10, 20, 5, 10}},
    {20, 1, REHEAT, {25, 15, 15, 10, 10, 20, 5, 10}}, {10, 0.3, REHEAT, {25, 15, 15, 10, 10, 25, 5, 5}},
};
/* For long graphs, where time allows few moves for each op: from the best plan that others made, and not far from it.
 */
static const cooling long_series[] = {{90, 0.1, REHEAT, {25, 15, 15, 10, 10, 20, 5, 10}},
                                      {10, 0.05, REHEAT, {25, 15, 15, 10, 10, 20, 5, 10}}};
enum { COOLINGS = sizeof series / sizeof series[0], LONG_COOLINGS = sizeof long_series / sizeof long_series[0] };
enum { MOVES_AN_OP = 4000, LAPS = 2, LONG_OPS = 3000 };
static const double cold = 0.006;

static plim_status try_candidate(searcher *s, int32_t effort) {
  int64_t bytes;
  PLIM_TRY(plim_planning_offer(s->pl, &s->candidate, effort, &bytes));
  s->excess_bytes = bytes - s->pl->budget_bytes;
  return PLIM_OK;
}

/* Pack the schedule that the cooling is at. Where its addresses need too much, others as fast will be tried in a while:
 * of schedules with equal figures one packs and another does not. */
static plim_status try_current(searcher *s, plim_anneal *a) {
  int64_t bytes;
  PLIM_TRY(plim_track_store(a->mover.track, &s->current));
  PLIM_TRY(plim_planning_offer(s->pl, &s->current, QUICK, &bytes));
  int fits = bytes <= s->pl->budget_bytes;
  if (!fits) s->next_try = a->done + MOVES_BETWEEN_PACKINGS * (int64_t)s->pl->problem->n_ops;
  if (a->mover.track->time_ns == s->candidate_ns) s->excess_bytes = bytes - s->pl->budget_bytes;
  a->stop = s->pl->found && s->pl->best_ns <= s->pl->bound_ns;
  return PLIM_OK;
}

static void on_moves(void *user) {
  plim_planning_report(((searcher *)user)->pl, "search");
}

static plim_status on_fit(void *user, plim_anneal *a) {
  searcher *s = user;
  int64_t time_ns = a->mover.track->time_ns;
  if (s->candidate_ns == 0 || time_ns < s->candidate_ns) {
    PLIM_TRY(plim_track_store(a->mover.track, &s->candidate));
    s->candidate_ns = time_ns;
    s->excess_bytes = INT64_MAX; /* not known yet */
  }
  if (a->done >= s->next_try) PLIM_TRY(try_current(s, a));
  a->faster_than_ns = s->pl->found ? s->pl->best_ns : INT64_MAX;
  return PLIM_OK;
}

/* How the limit follows the packing: tighter by half of what was too much, or half way back to the budget. */
static int64_t next_limit(const searcher *s, int64_t limit) {
  int64_t budget = s->pl->budget_bytes, most = budget / 20, step = s->excess_bytes / 2 + s->pl->problem->align;
  if (s->candidate_ns == 0 || s->excess_bytes <= 0) return limit + (budget - limit) / 2;
  return limit - (step < most ? step : most);
}

/* Moves that can change nothing are not drawn. */
static void set_shares(const plim_problem *p, plim_anneal *a, const cooling *c) {
  int choices = 0;
  for (int32_t v = 0; v < p->n_ops; v++) choices |= p->op[v].n_choices > 1;
  for (int move = 0; move < PLIM_MOVES; move++) a->share[move] = c->share[move];
  if (!choices) a->share[PLIM_MOVE_CHOICE] = 0;
  if (p->fixed_order) a->share[PLIM_MOVE_FIRST] = a->share[PLIM_MOVE_GROUP] = 0;
}

/* At the end of a cooling: clean its candidate up and pack it well; if that needs too much, pack it as it was. */
static plim_status pack_candidate(searcher *s, int64_t limit) {
  if (s->candidate_ns == 0) return PLIM_OK;
  int tried = s->excess_bytes <= 0;
  plim_schedule rough = s->candidate;
  s->candidate = (plim_schedule){.ctx = rough.ctx};
  plim_track_load(s->track, &rough);
  plim_polish(s->track, limit);
  int64_t polished_ns = s->track->time_ns;
  plim_status status = PLIM_OK;
  if (polished_ns < s->candidate_ns) {
    status = plim_track_store(s->track, &s->candidate);
    if (status == PLIM_OK) status = try_candidate(s, STRONG);
  }
  plim_schedule_free(&s->candidate);
  s->candidate = rough;
  if (status != PLIM_OK || tried || (polished_ns < s->candidate_ns && s->excess_bytes <= 0)) return status;
  return try_candidate(s, STRONG);
}

static plim_status cool(searcher *s, plim_anneal *a, const cooling *c, const plim_schedule *start) {
  plim_planning *pl = s->pl;
  set_shares(pl->problem, a, c);
  a->strict = c->start == QUENCH && pl->found;
  a->hot = c->hot * 100 / pl->problem->n_ops;
  a->cold = cold * 100 / pl->problem->n_ops;
  a->faster_than_ns = pl->found ? pl->best_ns : INT64_MAX;
  s->candidate_ns = s->excess_bytes = 0;
  s->next_try = a->done;
  plim_track_load(s->track, start);
  if (a->strict && plim_track_peak(s->track) > a->mover.limit) a->mover.limit = plim_track_peak(s->track);
  plim_status status = plim_anneal_run(a);
  if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
  PLIM_TRY(pack_candidate(s, a->mover.limit));
  a->mover.limit = next_limit(s, a->mover.limit);
  return status;
}

/* Look for any plan at all, by the search for fewest bytes. */
static plim_status find_any(plim_planning *pl) {
  plim_plan_options options = *pl->options;
  plim_planning *lowest = NULL;
  options.budget_bytes = INT64_MAX;
  if (options.time_limit_ns > 0) options.time_limit_ns = (options.time_limit_ns + plim_now_ns() - pl->started_ns) / 2;
  PLIM_TRY(plim_planning_begin(pl->problem, &options, &lowest));
  lowest->lowest = 1;
  lowest->started_ns = pl->started_ns;
  lowest->enough_bytes = pl->budget_bytes;
  plim_status status = plim_squeeze_run(lowest);
  if (status == PLIM_OK || status == PLIM_ECANCEL) {
    plim_status taken = plim_planning_take(pl, lowest);
    if (taken != PLIM_OK) status = taken;
  }
  plim_planning_end(lowest);
  return status;
}

/* From where a cooling starts; without a plan, the last candidate is the next best. */
static const plim_schedule *find_start(const searcher *s, const cooling *c, const plim_schedule *order) {
  if (c->start == FRESH && !s->lost) return order;
  if (s->pl->found) return &s->pl->best;
  return s->candidate_ns > 0 ? &s->candidate : order;
}

/* One lap: the series, in so many moves and until then at the latest. */
static plim_status run_lap(searcher *s, plim_anneal *a, const plim_schedule *order, int64_t moves, int64_t end_ns) {
  int is_long = s->pl->problem->n_ops > LONG_OPS;
  const cooling *c = is_long ? long_series : series, *end = c + (is_long ? LONG_COOLINGS : COOLINGS);
  int32_t percent_left = 100;
  for (; c < end && !a->stop; c++) {
    a->iterations = moves / 100 * c->percent + moves % 100 * c->percent / 100;
    if (end_ns < INT64_MAX) {
      int64_t now_ns = plim_now_ns();
      a->deadline_ns = now_ns + (end_ns - now_ns) / percent_left * c->percent;
      if (now_ns >= end_ns) return PLIM_OK;
    }
    percent_left -= c->percent;
    PLIM_TRY(cool(s, a, c, find_start(s, c, order)));
    if (s->pl->found || s->lost || s->candidate_ns > 0) continue;
    s->lost = 1;
    PLIM_TRY(find_any(s->pl));
    if (!s->pl->found) return PLIM_OK;
  }
  return s->pl->found || s->lost ? PLIM_OK : find_any(s->pl);
}

/* Two laps where moves are limited: one alone now and then ends far behind. Where time is, slower and slower laps that
 * fill it: the first has the moves of a lap without limits, each next one four times as long, the last one what is
 * left. */
static plim_status run_laps(searcher *s, const plim_schedule *order) {
  plim_planning *pl = s->pl;
  const plim_plan_options *options = pl->options;
  int64_t moves = options->iterations > 0 ? options->iterations : MOVES_AN_OP * (int64_t)pl->problem->n_ops;
  int64_t end_ns = plim_planning_deadline(pl, 100);
  plim_anneal a = {.mover = {.track = s->track, .random = {options->seed}, .limit = pl->budget_bytes},
                   .weight = 0.3,
                   .pace = 0.1,
                   .time_weight = 1,
                   .deadline_ns = INT64_MAX,
                   .on_fit = on_fit,
                   .on_moves = on_moves,
                   .user = s};
  int64_t begin_ns = plim_now_ns();
  for (int lap = 0; lap < LAPS && !a.stop; lap++) PLIM_TRY(run_lap(s, &a, order, moves / LAPS, end_ns));
  if (end_ns == INT64_MAX || options->iterations > 0) return PLIM_OK;
  for (int64_t lap_ns = 4 * (plim_now_ns() - begin_ns); pl->found && !a.stop && plim_now_ns() < end_ns; lap_ns *= 4) {
    int64_t now_ns = plim_now_ns(), last = end_ns - now_ns < 2 * lap_ns;
    PLIM_TRY(run_lap(s, &a, order, INT64_MAX / 2, last ? end_ns : now_ns + lap_ns));
  }
  return PLIM_OK;
}

/* Effort of the cut model: about a tenth of a second, or up to a quarter of the time. */
static int64_t cut_work(const plim_planning *pl) {
  return pl->options->time_limit_ns > 0 ? pl->options->time_limit_ns / 4 : 300000000;
}

plim_status plim_search_run(plim_planning *pl) {
  const plim_problem *p = pl->problem;
  searcher s = {.pl = pl, .current = {.ctx = p->ctx}, .candidate = {.ctx = p->ctx}};
  plim_schedule order = {.ctx = p->ctx};
  plim_status status;
  int32_t op;
  PLIM_TRY(plim_keep_all_run(pl));
  if (pl->found && pl->best_ns <= pl->bound_ns) return PLIM_OK;
  if (pl->budget_bytes < plim_bound_bytes(p, &op)) return PLIM_OK;
  PLIM_CHECK(plim_schedule_program_order(p, &order));
  PLIM_CHECK(plim_cut_begin(pl, cut_work(pl), &order));
  if (pl->bound_ns == INT64_MAX || (pl->found && pl->best_ns <= pl->bound_ns)) goto done;
  PLIM_CHECK(plim_seed_replay(pl, STRONG, &order));
  PLIM_CHECK(plim_track_new(p, plim_track_usual_room(p), &s.track));
  PLIM_CHECK(run_laps(&s, &order));
done:
  plim_track_free(s.track);
  plim_schedule_free(&s.current);
  plim_schedule_free(&s.candidate);
  plim_schedule_free(&order);
  return status;
}
