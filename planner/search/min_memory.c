/* The min-memory search: the plan of fewest bytes.
 *
 * An annealing run works against a limit a little below the lowest peak so far, so that the next lower peak is always
 * near; overhead hardly counts. Peaks fall by whole items, and many runs stay above the last large one. So there are
 * many short runs. They start from program order and, every third, from the checkpoints of lowest peak. A schedule of
 * low peak need not pack. So the last two runs stay just below the packed size of the best, and pack what they meet. In
 * a long graph annealing hardly lowers the peak. There greedy covering lowers it by an eighth at a time, and only the
 * runs that pack follow.
 * Ends at the task's target_bytes, at the proved least bytes, or after all runs. Deterministic without a time limit. */
#include "planner/search/searches.h"

#include "planner/core/problem.h"
#include "planner/search/moves.h"
#include "planner/search/search_internal.h"
#include "planner/search/search_tuning.h"

typedef struct min_memory_search {
  plim_incumbent *inc;
  plim_track *track;
  plim_schedule current;     /* lowest schedule of this annealing run; empty: none was within its limit */
  plim_schedule lowest_peak; /* schedule of the lowest peak of all runs */
  int64_t lowest_peak_bytes; /* INT64_MAX: none yet */
  int64_t bound_bytes;       /* no plan has a lower peak */
  int64_t enough_peak_bytes; /* a peak at which a run ends, since any plan within it will do; 0: none */
  int64_t next_try;          /* moves done from which the next packing is allowed; INT64_MAX: this run packs nothing */
} min_memory_search;

/* A limit below `bytes`: lower by a share of the way down to the bound, and by one alignment at least. */
static int64_t limit_below(const min_memory_search *search, int64_t bytes) {
  int64_t next = bytes - search->inc->problem->align, distance = next - search->bound_bytes;
  return distance > 0 ? search->bound_bytes + distance - distance / search_tuning.min_memory.limit_part : next;
}

/* Pack the lowest schedule of this annealing run and submit it. */
static plim_status pack_current(min_memory_search *search, plim_anneal *a, int32_t packing_rounds) {
  search->next_try = a->done + search_tuning.min_memory.moves_between_packings * (int64_t)search->inc->problem->n_ops;
  return plim_incumbent_submit(search->inc, &search->current, packing_rounds, NULL);
}

static plim_status on_fit(void *user, plim_anneal *a) {
  min_memory_search *search = user;
  int64_t peak = plim_track_peak(a->mover.track);
  a->stop = peak <= search->bound_bytes;
  if (a->done < search->next_try && search->next_try < INT64_MAX) return PLIM_OK;
  PLIM_TRY(plim_track_store(a->mover.track, &search->current));
  if (peak < search->lowest_peak_bytes) {
    search->lowest_peak_bytes = peak;
    PLIM_TRY(plim_schedule_copy(&search->lowest_peak, &search->current));
  }
  if (search->next_try == INT64_MAX) {
    a->stop |= peak <= search->enough_peak_bytes;
    a->mover.limit = limit_below(search, peak);
    return PLIM_OK;
  }
  PLIM_TRY(pack_current(search, a, search_tuning.min_memory.packing_rounds_quick));
  a->mover.limit = search->inc->best_bytes - search->inc->problem->align;
  return PLIM_OK;
}

/* Moves of one annealing run. A number of iterations that the options give is shared by all runs, down to a least
 * number that keeps the result useful. */
static int64_t moves_of(const plim_incumbent *inc) {
  int64_t moves =
      search_tuning.min_memory.moves_min + search_tuning.min_memory.moves_an_op * (int64_t)inc->problem->n_ops;
  int64_t max_moves = search_tuning.min_memory.moves_max;
  if (inc->task.options->iterations > 0) max_moves = inc->task.options->iterations / search_tuning.min_memory.runs;
  if (max_moves < search_tuning.min_memory.moves_min_asked) max_moves = search_tuning.min_memory.moves_min_asked;
  if (max_moves > search_tuning.min_memory.moves_max) max_moves = search_tuning.min_memory.moves_max;
  return moves < max_moves ? moves : max_moves;
}

/* The last annealing runs pack what they meet. */
static int packs_in(uint64_t run) {
  return run >= (uint64_t)(search_tuning.min_memory.runs - search_tuning.min_memory.packing_runs);
}

/* One annealing run from `start`. */
static plim_status anneal(min_memory_search *search, const plim_schedule *start, uint64_t run) {
  plim_incumbent *inc = search->inc;
  int packs = packs_in(run), from_checkpoints = !packs && run % 3 == 2;
  PLIM_TRY(
      plim_track_reserve(&search->track, start->n)); /* a point of the plan front may have more runs than the room */
  plim_track_load(search->track, start);
  int64_t above = packs ? inc->best_bytes : plim_track_peak(search->track);
  uint64_t stream = inc->task.options->seed * (uint64_t)search_tuning.min_memory.seeds + run;
  plim_anneal a = {
      .mover = {.track = search->track, .random = {stream}},
      .runs_an_op_limit = inc->task.runs_an_op_limit,
      .hot = from_checkpoints ? search_tuning.min_memory.checkpoints_hot : search_tuning.min_memory.order_hot,
      .cold = search_tuning.min_memory.cold,
      .weight = from_checkpoints ? search_tuning.min_memory.checkpoints_weight : search_tuning.min_memory.order_weight,
      .time_weight = from_checkpoints ? search_tuning.min_memory.checkpoints_time_weight
                                      : search_tuning.min_memory.order_time_weight,
      .iterations = moves_of(inc),
      .deadline_ns = plim_plan_task_deadline(&inc->task, 100),
      .on_fit = on_fit,
      .user = search,
      .faster_than_ns = PLIM_TIME_INFINITE};
  for (int move = 0; move < PLIM_MOVES; move++) a.share[move] = search_tuning.min_memory.share[move];
  a.mover.limit = packs ? above - inc->problem->align : limit_below(search, above);
  search->next_try = packs ? 0 : INT64_MAX;
  search->current.n = 0;
  plim_status status = plim_anneal_run(&a);
  if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
  if (search->current.n > 0) PLIM_TRY(pack_current(search, &a, search_tuning.min_memory.packing_rounds_strong));
  return status;
}

/* Submit a schedule, and keep it where its peak is the lowest. */
static plim_status keep_smallest(min_memory_search *search, const plim_schedule *schedule) {
  plim_incumbent *inc = search->inc;
  plim_submit_result result;
  PLIM_TRY(plim_incumbent_submit(inc, schedule, search_tuning.min_memory.packing_rounds_quick, &result));
  if (result.peak_bytes >= search->lowest_peak_bytes) return PLIM_OK;
  search->lowest_peak_bytes = result.peak_bytes;
  return plim_schedule_copy(&search->lowest_peak, result.schedule);
}

/* Lower the peak by greedy covering, each time from `from` to a lower goal, until a goal is missed or `enough` bytes
 * are met. */
static plim_status lower_by_covering(min_memory_search *search, const plim_schedule *from, int64_t enough,
                                     plim_schedule *scratch) {
  plim_incumbent *inc = search->inc;
  int64_t deadline_ns = plim_plan_task_deadline(&inc->task, 100), goal = search->lowest_peak_bytes;
  PLIM_TRY(keep_smallest(search, from));
  if (search->lowest_peak_bytes == goal) return PLIM_OK; /* an earlier start has led lower already */
  do {
    goal = search->lowest_peak_bytes - search->lowest_peak_bytes / search_tuning.min_memory.covering_part - 1;
    if (goal < enough && search->lowest_peak_bytes > enough) goal = enough;
    PLIM_TRY(plim_schedule_copy(scratch, from));
    PLIM_TRY(plim_greedy_covering_run(inc, goal, 1, deadline_ns, scratch));
    PLIM_TRY(keep_smallest(search, scratch));
  } while (search->lowest_peak_bytes <= goal && goal > search->bound_bytes && inc->best_bytes > enough &&
           plim_now_ns() < deadline_ns);
  return PLIM_OK;
}

/* The first run: in a long graph, where covering comes first, only those that pack. Covering knows no limit on the
 * runs of an op, so that all rounds are made where there is one. */
static uint64_t first_run(const min_memory_search *search) {
  const plim_incumbent *inc = search->inc;
  if (inc->problem->n_ops <= PLIM_LONG_OPS || inc->task.runs_an_op_limit > 0) return 0;
  int32_t runs = search_tuning.min_memory.runs;
  return (uint64_t)(inc->task.options->unpacked ? runs : runs - search_tuning.min_memory.packing_runs);
}

/* The run that is made as number `at`. Where any plan within enough_peak_bytes will do, the last runs, which go on from
 * the best, are made after the first one too, `early` of them: it often ends near. */
static uint64_t run_at(uint64_t at, uint64_t early) {
  if (at == 0 || early == 0) return at;
  return at <= early ? (uint64_t)search_tuning.min_memory.runs - early + at - 1 : at - early;
}

/* Where a run starts from. */
static const plim_schedule *find_start(const min_memory_search *search, uint64_t run, const plim_schedule *checkpoints,
                                       const plim_schedule *program_order) {
  if (packs_in(run)) return run % 2 && search->lowest_peak.n > 0 ? &search->lowest_peak : &search->inc->best;
  return run % 3 == 2 ? checkpoints : program_order;
}

static plim_status anneal_runs(min_memory_search *search, plim_schedule *start) {
  plim_incumbent *inc = search->inc;
  plim_schedule checkpoints = {.ctx = start->ctx}, program_order = {.ctx = start->ctx};
  uint64_t at = first_run(search), runs, early = 0;
  runs = (uint64_t)(inc->task.is_quick ? search_tuning.min_memory.quick_runs : search_tuning.min_memory.runs);
  int64_t enough = inc->task.target_bytes > search->bound_bytes ? inc->task.target_bytes : search->bound_bytes;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_start_from_checkpoints(inc, 0, search->track->capacity / 2, &checkpoints));
  PLIM_TRY_OR_DONE(plim_incumbent_program_order(inc, enough, &program_order));
  if (at > 0 && inc->best_bytes > enough) {
    PLIM_TRY_OR_DONE(lower_by_covering(search, &program_order, enough, start));
    PLIM_TRY_OR_DONE(lower_by_covering(search, &checkpoints, enough, start));
  }
  if (search->enough_peak_bytes > 0 && at == 0) early = (uint64_t)search_tuning.min_memory.packing_runs;
  for (; at < runs + early && inc->best_bytes > enough; at++) {
    const uint64_t run = run_at(at, early);
    if (plim_now_ns() >= plim_plan_task_deadline(&inc->task, 100)) break;
    PLIM_TRY_OR_DONE(plim_schedule_copy(start, find_start(search, run, &checkpoints, &program_order)));
    PLIM_TRY_OR_DONE(anneal(search, start, run));
  }
done:
  plim_schedule_free(&checkpoints);
  plim_schedule_free(&program_order);
  return status;
}

plim_status plim_min_memory_run(plim_incumbent *inc) {
  min_memory_search search = {.inc = inc,
                              .current = {.ctx = inc->problem->ctx},
                              .lowest_peak = {.ctx = inc->problem->ctx},
                              .lowest_peak_bytes = INT64_MAX};
  plim_schedule start = {.ctx = inc->problem->ctx};
  plim_status status;
  int32_t op;
  search.bound_bytes = plim_bound_bytes(inc->problem, &op);
  if (inc->task.options->brief && inc->task.options->unpacked) search.enough_peak_bytes = inc->task.target_bytes;
  PLIM_TRY(plim_keep_all_run(inc));
  PLIM_TRY_OR_DONE(
      plim_track_new(inc->problem, search_tuning.min_memory.runs_an_op * inc->problem->n_ops + 64, &search.track));
  PLIM_TRY_OR_DONE(anneal_runs(&search, &start));
done:
  plim_track_free(search.track);
  plim_schedule_free(&search.current);
  plim_schedule_free(&search.lowest_peak);
  plim_schedule_free(&start);
  return status;
}
