/* The search for the fewest bytes. An annealing run for the peak works against a limit a little below the lowest peak
 * so far, so that there is always a next step down; overhead hardly counts. Peaks fall in jumps of one large item and
 * many an annealing run gets stuck above the last jump, so there are many short ones, from program order and from
 * checkpoints with fewest bytes in turn. The last annealing runs stay just below the packed size of the best and pack
 * what they meet, since peaks that low need not pack. Of many ops annealing hardly moves the peak in as many moves;
 * there covering goes down instead, an eighth at a time, and only the annealing runs that pack follow. */
#include "planner/core/core.h"
#include "planner/search/search_internal.h"
#include "planner/search/searches.h"

enum { QUICK = 8, STRONG = 96 /* efforts of packing */, MOVES_BETWEEN_PACKINGS = 40 /* for each op */ };
enum {
  ROUNDS = 9,
  QUICK_ROUNDS = 4,
  PACKING_ROUNDS = 2,
  MOVES_AN_OP = 600,
  LEAST_MOVES = 4000,
  MOST_MOVES = 150000,
  LEAST_ASKED = 40000
};
enum { STEP_PART = 8 /* of the peak that covering goes down at once */ };
enum { SEEDS = 16 /* of random numbers, more than rounds */ };

typedef struct min_memory_search {
  plim_incumbent *inc;
  plim_track *track;
  plim_schedule current;     /* of this annealing run */
  plim_schedule lowest_peak; /* of all of them */
  int64_t lowest_peak_bytes;
  int64_t bound_bytes;
  int64_t next_try; /* in moves; INT64_MAX: this annealing run goes for the peak alone */
} min_memory_search;

/* A limit with a step down from `bytes`, larger as long as the bound is far. */
static int64_t limit_below(const min_memory_search *s, int64_t bytes) {
  int64_t next = bytes - s->inc->problem->align, gap = next - s->bound_bytes;
  return gap > 0 ? s->bound_bytes + gap - gap / 32 : next;
}

/* Pack the lowest of this annealing run. */
static plim_status pack_current(min_memory_search *s, plim_anneal *a, int32_t effort) {
  s->next_try = a->done + MOVES_BETWEEN_PACKINGS * (int64_t)s->inc->problem->n_ops;
  return plim_incumbent_submit(s->inc, &s->current, effort, NULL);
}

static plim_status on_fit(void *user, plim_anneal *a) {
  min_memory_search *s = user;
  int64_t peak = plim_track_peak(a->mover.track);
  a->stop = peak <= s->bound_bytes;
  if (a->done < s->next_try && s->next_try < INT64_MAX) return PLIM_OK;
  PLIM_TRY(plim_track_store(a->mover.track, &s->current));
  if (peak < s->lowest_peak_bytes) {
    s->lowest_peak_bytes = peak;
    PLIM_TRY(plim_schedule_copy(&s->lowest_peak, &s->current));
  }
  if (s->next_try == INT64_MAX) {
    a->mover.limit = limit_below(s, peak);
    return PLIM_OK;
  }
  PLIM_TRY(pack_current(s, a, QUICK));
  a->mover.limit = s->inc->best_bytes - s->inc->problem->align;
  return PLIM_OK;
}

/* A schedule in program order has far to go down: heavy bytes. One that recomputes nearly everything is stuck in a
 * valley: heat. */
typedef struct heat {
  double hot, weight, time_weight;
} heat;
static const heat heats[] = {{0.5, 4, 0.05}, {3, 1, 0.005}};

/* Of one annealing run; a number of iterations asked for is shared by all of them, unless it is so small that the bytes
 * found would be many more. */
static int64_t moves_of(const plim_incumbent *inc) {
  int64_t moves = LEAST_MOVES + MOVES_AN_OP * (int64_t)inc->problem->n_ops, most = MOST_MOVES;
  if (inc->options->iterations > 0) most = inc->options->iterations / ROUNDS;
  if (most < LEAST_ASKED) most = LEAST_ASKED;
  if (most > MOST_MOVES) most = MOST_MOVES;
  return moves < most ? moves : most;
}

static plim_status anneal(min_memory_search *s, const plim_schedule *start, uint64_t round) {
  plim_incumbent *inc = s->inc;
  int packs = round >= ROUNDS - PACKING_ROUNDS;
  const heat *how = &heats[!packs && round % 3 == 2];
  PLIM_TRY(
      plim_track_make_room(&s->track, start->n)); /* a kept plan or Rotor's may be longer than any of this search */
  plim_track_load(s->track, start);
  int64_t above = packs ? inc->best_bytes : plim_track_peak(s->track);
  plim_anneal a = {.mover = {.track = s->track, .random = {inc->options->seed * SEEDS + round}},
                   .most_runs = inc->most_runs,
                   .hot = how->hot,
                   .cold = 0.002,
                   .weight = how->weight,
                   .time_weight = how->time_weight,
                   .iterations = moves_of(inc),
                   .deadline_ns = plim_incumbent_deadline(inc, 100),
                   .share = {25, 15, 15, 10, 10, 25, 5},
                   .on_fit = on_fit,
                   .user = s,
                   .faster_than_ns = INT64_MAX};
  a.mover.limit = packs ? above - inc->problem->align : limit_below(s, above);
  s->next_try = packs ? 0 : INT64_MAX;
  s->current.n = 0;
  plim_status status = plim_anneal_run(&a);
  if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
  if (s->current.n > 0) PLIM_TRY(pack_current(s, &a, STRONG));
  return status;
}

static plim_status keep_smallest(min_memory_search *s, const plim_schedule *schedule) {
  plim_incumbent *inc = s->inc;
  plim_submit_result result;
  PLIM_TRY(plim_incumbent_submit(inc, schedule, QUICK, &result));
  if (result.peak_bytes >= s->lowest_peak_bytes) return PLIM_OK;
  s->lowest_peak_bytes = result.peak_bytes;
  return plim_schedule_copy(&s->lowest_peak, result.schedule);
}

/* Cover `from` ever deeper, until a goal is missed or what was asked for is met. */
static plim_status covering_down(min_memory_search *s, const plim_schedule *from, int64_t enough,
                                 plim_schedule *scratch) {
  plim_incumbent *inc = s->inc;
  int64_t deadline_ns = plim_incumbent_deadline(inc, 100), goal = s->lowest_peak_bytes;
  PLIM_TRY(keep_smallest(s, from));
  if (s->lowest_peak_bytes == goal) return PLIM_OK; /* what is known comes from better */
  do {
    goal = s->lowest_peak_bytes - s->lowest_peak_bytes / STEP_PART - 1;
    if (goal < enough && s->lowest_peak_bytes > enough) goal = enough;
    PLIM_TRY(plim_schedule_copy(scratch, from));
    PLIM_TRY(plim_seed_covering(inc, goal, 1, deadline_ns, scratch));
    PLIM_TRY(keep_smallest(s, scratch));
  } while (s->lowest_peak_bytes <= goal && goal > s->bound_bytes && inc->best_bytes > enough &&
           plim_now_ns() < deadline_ns);
  return PLIM_OK;
}

/* Covering knows no limit on runs. */
static uint64_t first_round(const min_memory_search *s) {
  const plim_incumbent *inc = s->inc;
  if (inc->problem->n_ops <= PLIM_LONG_OPS || inc->most_runs > 0) return 0;
  return inc->options->unpacked ? ROUNDS : ROUNDS - PACKING_ROUNDS;
}

/* Where a round starts from. */
static const plim_schedule *find_start(const min_memory_search *s, uint64_t round, const plim_schedule *seed,
                                       const plim_schedule *order) {
  if (round >= ROUNDS - PACKING_ROUNDS) return round % 2 && s->lowest_peak.n > 0 ? &s->lowest_peak : &s->inc->best;
  return round % 3 == 2 ? seed : order;
}

static plim_status run_rounds(min_memory_search *s, plim_schedule *start) {
  plim_incumbent *inc = s->inc;
  plim_schedule seed = {.ctx = start->ctx}, order = {.ctx = start->ctx};
  uint64_t round = first_round(s), rounds = inc->quick ? QUICK_ROUNDS : ROUNDS;
  int64_t enough = inc->target_bytes > s->bound_bytes ? inc->target_bytes : s->bound_bytes;
  plim_status status;
  PLIM_CHECK(plim_seed_make(inc->problem, inc->timeline, 0, s->track->room / 2, &seed));
  PLIM_CHECK(plim_incumbent_program_order(inc, enough, &order));
  if (round > 0 && inc->best_bytes > enough) {
    PLIM_CHECK(covering_down(s, &order, enough, start));
    PLIM_CHECK(covering_down(s, &seed, enough, start));
  }
  for (; round < rounds && inc->best_bytes > enough; round++) {
    if (plim_now_ns() >= plim_incumbent_deadline(inc, 100)) break;
    PLIM_CHECK(plim_schedule_copy(start, find_start(s, round, &seed, &order)));
    PLIM_CHECK(anneal(s, start, round));
  }
done:
  plim_schedule_free(&seed);
  plim_schedule_free(&order);
  return status;
}

plim_status plim_min_memory_run(plim_incumbent *inc) {
  min_memory_search s = {.inc = inc,
                         .current = {.ctx = inc->problem->ctx},
                         .lowest_peak = {.ctx = inc->problem->ctx},
                         .lowest_peak_bytes = INT64_MAX};
  plim_schedule start = {.ctx = inc->problem->ctx};
  plim_status status;
  int32_t op;
  s.bound_bytes = plim_bound_bytes(inc->problem, &op);
  PLIM_TRY(plim_keep_all_run(inc));
  PLIM_CHECK(plim_track_new(inc->problem, 10 * inc->problem->n_ops + 64, &s.track));
  PLIM_CHECK(run_rounds(&s, &start));
done:
  plim_track_free(s.track);
  plim_schedule_free(&s.current);
  plim_schedule_free(&s.lowest_peak);
  plim_schedule_free(&start);
  return status;
}
