/* plim_pack_solve: packing with all searches until it is done or the time is over.
 *   1. first-fit                (plim_pack with no rounds)
 *   2. rounds of bottom-up packings, exact search and niche search
 *        with a capacity        for the capacity and a size below it, until one is found or the capacity is refuted
 *        without one            for several sizes between bound and best, each round with more nodes
 *   3. follow_hints             boxes move to their hints, where those are free then
 * Problems that are too large for exact search get bottom-up packings and repair in place of 2.
 * The result is checked by plim_boxes_check. */
#include "planner/pack/pack.h"

#include <string.h>

#include "planner/pack/pack_tuning.h"
#include "planner/pack/packers.h"
#include "runtime/base/effort.h"
#include "runtime/base/random.h"

enum { MAX_THREADS = 64 };

typedef struct pack_solver {
  plim_context *ctx;
  const plim_boxes *given;
  const plim_pack_options *options;
  plim_selection chosen; /* the boxes with bytes */
  plim_units units;
  plim_restarts *restarts;
  plim_bottom_up *bottom_up; /* NULL: not possible */
  plim_niche *niche;         /* NULL: not possible */
  int32_t niche_turn;
  double niche_nodes;    /* that niche search may use, for the nodes that exact search has used */
  int64_t *best, *trial; /* [n] offsets in bytes */
  int64_t started_ns, deadline_ns;
  plim_pack_solution found; /* packed size INT64_MAX: nothing yet */
  plim_status status;       /* of exact search */
} pack_solver;

/* ---- progress ---- */

static void report(const pack_solver *solver) {
  plim_context_report(solver->ctx, &(plim_progress){.stage = "pack",
                                                    .done = solver->found.packed_bytes,
                                                    .total = solver->found.bound,
                                                    .elapsed_ns = plim_now_ns() - solver->started_ns,
                                                    .best_percent = -1,
                                                    .bound_percent = -1});
}

/* The packed size of these offsets. */
static int64_t top_of(const pack_solver *solver, const int64_t *offset) {
  int64_t packed_bytes = 0;
  for (int32_t x = 0; x < solver->chosen.boxes.n; x++) {
    int64_t top = offset[x] + solver->chosen.box[x].bytes;
    if (top > packed_bytes) packed_bytes = top;
  }
  return packed_bytes;
}

/* Make solver->trial the best where it is smaller. */
static void keep_if_smaller(pack_solver *solver) {
  int64_t packed_bytes = top_of(solver, solver->trial);
  if (packed_bytes >= solver->found.packed_bytes) return;
  solver->found.packed_bytes = packed_bytes;
  memcpy(solver->best, solver->trial, (size_t)solver->chosen.boxes.n * sizeof *solver->best);
}

static int is_done(const pack_solver *solver) {
  int reached = solver->options->capacity < INT64_MAX && solver->found.packed_bytes <= solver->options->capacity;
  int refuted = solver->found.bound > solver->options->capacity;
  return solver->status != PLIM_OK || reached || refuted || solver->found.packed_bytes <= solver->found.bound ||
         plim_now_ns() > solver->deadline_ns || plim_effort_over(solver->ctx, PLIM_EFFORT_LOOK);
}

/* ---- bottom-up packing ---- */

static void run_bottom_up(pack_solver *solver, int32_t runs) {
  int64_t unit = solver->chosen.boxes.align, capacity = solver->options->capacity / unit,
          bound = solver->found.bound / unit;
  int64_t goal = solver->options->capacity < INT64_MAX && capacity > bound ? capacity : bound;
  for (int32_t i = 0; solver->bottom_up && i < runs && !is_done(solver); i++) {
    if (plim_bottom_up_run(solver->bottom_up, goal, solver->trial) == INT64_MAX) continue;
    for (int32_t x = 0; x < solver->chosen.boxes.n; x++) solver->trial[x] *= unit;
    keep_if_smaller(solver);
    report(solver);
  }
}

/* The bottom-up packings of a round, beside exact search. */
static void run_bottom_up_round(pack_solver *solver) {
  int64_t n = solver->chosen.boxes.n, runs = pack_tuning.solve.bottom_up_work / (n * n + 1);
  run_bottom_up(solver, runs < 1                                     ? 1
                        : runs > pack_tuning.solve.bottom_up_a_round ? pack_tuning.solve.bottom_up_a_round
                                                                     : (int32_t)runs);
}

/* ---- exact search ---- */

static void take_result(pack_solver *solver, const plim_pack_restart *task) {
  int64_t unit = solver->chosen.boxes.align;
  if (task->outcome == PLIM_PACK_IMPOSSIBLE && (task->capacity + 1) * unit > solver->found.bound) {
    solver->found.bound = (task->capacity + 1) * unit;
  }
  if (task->outcome != PLIM_PACK_FOUND) return;
  for (int32_t x = 0; x < solver->chosen.boxes.n; x++) solver->trial[x] = task->offset[x] * unit;
  keep_if_smaller(solver);
}

static void run_batch(pack_solver *solver, plim_pack_restart *task, int32_t n) {
  solver->status = plim_restarts_run(solver->restarts, task, n);
  for (int32_t i = 0; i < n; i++) {
    take_result(solver, &task[i]);
    solver->niche_nodes += pack_tuning.niche.nodes_an_exact_node * (double)task[i].nodes / n;
  }
  report(solver);
}

static int32_t threads_of(const pack_solver *solver) {
  int32_t threads = solver->options->threads > 1 ? solver->options->threads : 1;
  return threads < MAX_THREADS ? threads : MAX_THREADS;
}

static plim_pack_restart make_task(const pack_solver *solver, int64_t capacity, int32_t restart) {
  return (plim_pack_restart){.capacity = capacity,
                             .restart = restart,
                             .limits = {plim_exact_share(solver->chosen.boxes.n, restart), solver->deadline_ns}};
}

/* Exact search for one packed size, in some static orders. Returns 1 where the best or the bound improved. */
static int ask_for_size(pack_solver *solver, int64_t capacity, int32_t round) {
  plim_pack_restart task[MAX_THREADS];
  int64_t packed_bytes = solver->found.packed_bytes, bound = solver->found.bound;
  int32_t width = (threads_of(solver) + pack_tuning.solve.orders_a_size - 1) / pack_tuning.solve.orders_a_size *
                  pack_tuning.solve.orders_a_size;
  for (int32_t k = 0;
       k < width && !is_done(solver) && solver->found.packed_bytes == packed_bytes && solver->found.bound == bound;) {
    int32_t n = 0;
    for (; n < threads_of(solver) && k < width; n++) task[n] = make_task(solver, capacity, round * width + k++);
    run_batch(solver, task, n);
  }
  return solver->found.packed_bytes < packed_bytes || solver->found.bound > bound;
}

/* ---- niche search ---- */

/* The packed size that a restart asks for. It is mostly the capacity, or the best size less one. In turn it is the
 * bound, or a size between the two: a tight size prunes more. */
static int64_t niche_capacity(const pack_solver *solver) {
  int64_t unit = solver->chosen.boxes.align, bound = solver->found.bound / unit,
          units_max = solver->found.packed_bytes / unit - 1;
  plim_random random = {(uint64_t)solver->niche_turn};
  if (solver->options->capacity / unit < units_max) units_max = solver->options->capacity / unit;
  switch (solver->niche_turn % 4) {
    case 1:
      return bound + (int64_t)((double)(units_max - bound) * plim_random_unit(&random));
    case 3:
      return bound;
    default:
      return units_max;
  }
}

/* Restarts of niche search beside a round of exact search. There is one at least, and more within their share. */
static void search_niches(pack_solver *solver) {
  do {
    if (!solver->niche || is_done(solver)) return;
    const plim_exact_limits limits = {plim_niche_share(solver->niche_turn), solver->deadline_ns};
    plim_pack_restart task = {
        .capacity = niche_capacity(solver), .restart = solver->niche_turn++, .offset = solver->trial};
    task.outcome = plim_niche_run(solver->niche, task.capacity, task.restart, &limits, task.offset, &task.nodes);
    solver->niche_nodes -= (double)(task.nodes > 0 ? task.nodes : 1);
    take_result(solver, &task);
    if (task.outcome != PLIM_PACK_LIMIT) report(solver);
  } while (solver->niche_nodes > 0);
}

/* Rounds for the capacity, and for a size below it: in turn the bound, where a packing is easiest to find if there is
 * one, and a size of the upper half. */
static void reach_capacity(pack_solver *solver) {
  for (int32_t round = 0; !is_done(solver); round++) {
    int64_t capacity = solver->options->capacity / solver->chosen.boxes.align,
            bound = solver->found.bound / solver->chosen.boxes.align;
    int64_t lower = round % 2 == 0 ? bound : capacity - (capacity - bound) * (round * 7 % 16 + 1) / 32; /* mixed */
    run_bottom_up_round(solver);
    (void)ask_for_size(solver, capacity, round);
    if (lower < capacity && !is_done(solver)) (void)ask_for_size(solver, lower, round);
    search_niches(solver);
  }
}

/* Rounds for sizes between bound and best. */
static void minimise(pack_solver *solver) {
  for (int32_t round = 0; !is_done(solver); round++) {
    run_bottom_up_round(solver);
    for (int32_t i = 0; i < PLIM_PACK_SIZES && !is_done(solver); i++) {
      int64_t bound = solver->found.bound / solver->chosen.boxes.align,
              packed_bytes = solver->found.packed_bytes / solver->chosen.boxes.align;
      int64_t capacity = bound + (packed_bytes - 1 - bound) * pack_tuning.solve.eighths[i] / 8;
      if (i > 0 && capacity == bound) continue;
      if (ask_for_size(solver, capacity, round)) i = -1; /* bound or best is new: begin again */
    }
    search_niches(solver);
  }
}

/* ---- large problems ---- */

static plim_status pack_large(pack_solver *solver) {
  run_bottom_up(solver, pack_tuning.solve.bottom_up_all);
  int64_t target = solver->options->capacity < INT64_MAX ? solver->options->capacity : 0;
  for (int32_t rounds = pack_tuning.solve.rounds_first; !is_done(solver) && rounds < pack_tuning.solve.rounds_max;
       rounds *= 2) {
    int64_t packed_bytes;
    const plim_pack_goal goal = {target, rounds, solver->deadline_ns};
    PLIM_TRY(plim_pack(solver->ctx, &solver->chosen.boxes, goal, solver->trial, &packed_bytes, NULL));
    keep_if_smaller(solver);
    report(solver);
  }
  return PLIM_OK;
}

/* ---- hints ---- */

static int64_t hint_of(const pack_solver *solver, int32_t x) {
  return solver->given->hint ? solver->given->hint[solver->chosen.original[x]] : -1;
}

/* May box x lie at `place` while all others stay? */
static int is_free(const pack_solver *solver, int32_t x, int64_t place) {
  const plim_boxes *boxes = &solver->chosen.boxes;
  for (int32_t y = 0; y < boxes->n; y++) {
    int64_t under = y == x ? PLIM_NO_SEPARATION : plim_boxes_separation(boxes, x, y);
    if (under == PLIM_NO_SEPARATION || place + under <= solver->best[y]) continue;
    if (solver->best[y] + plim_boxes_separation(boxes, y, x) > place) return 0;
  }
  return 1;
}

/* Are the boxes equal in all that decides where they may lie? None of them is fixed or has gaps. */
static int are_equal(const plim_selection *chosen, int32_t x, int32_t y) {
  const plim_box *a = &chosen->box[x], *b = &chosen->box[y];
  return a->begin == b->begin && a->end == b->end && a->bytes == b->bytes && a->fixed < 0 && b->fixed < 0 &&
         chosen->own_align[x] == chosen->own_align[y] && chosen->gap_first[x] == chosen->gap_first[x + 1] &&
         chosen->gap_first[y] == chosen->gap_first[y + 1];
}

/* The box equal to x that lies at `place`, and not because of its own hint; -1: none. */
static int32_t find_equal_at(const pack_solver *solver, int32_t x, int64_t place) {
  for (int32_t y = 0; y < solver->chosen.boxes.n; y++) {
    if (solver->best[y] == place && hint_of(solver, y) != place && are_equal(&solver->chosen, x, y)) return y;
  }
  return -1;
}

/* Move box x to its hint where that is free, or change places with an equal box there. */
static void follow_hint(pack_solver *solver, int32_t x, int64_t limit) {
  int64_t hint = hint_of(solver, x);
  if (hint % solver->chosen.own_align[x] != 0 || solver->chosen.box[x].fixed >= 0) return;
  if (hint > limit - solver->chosen.box[x].bytes) return;
  if (!is_free(solver, x, hint)) {
    int32_t y = find_equal_at(solver, x, hint);
    if (y < 0) return;
    solver->best[y] = solver->best[x];
  }
  solver->best[x] = hint;
}

/* Follow hints within the capacity, or without one within the packed size. O(n) for each: where there are very many,
 * only the first ones. */
static void follow_hints(pack_solver *solver) {
  int32_t n = solver->chosen.boxes.n;
  int64_t limit = solver->options->capacity < INT64_MAX ? solver->options->capacity : solver->found.packed_bytes;
  if (!solver->given->hint) return;
  int64_t work = 0;
  for (int32_t x = 0; x < n && work < pack_tuning.solve.hint_work; x++) {
    if (hint_of(solver, x) < 0) continue;
    follow_hint(solver, x, limit);
    work += n;
  }
  solver->found.packed_bytes = top_of(solver, solver->best);
}

/* ---- the whole ---- */

static plim_status refuse(const pack_solver *solver) {
  long long capacity = solver->options->capacity, bound = solver->found.bound;
  if (plim_context_cancelled(solver->ctx)) return plim_fail(solver->ctx, PLIM_ECANCEL, "packing was cancelled");
  if (bound > capacity) {
    return plim_fail(solver->ctx, PLIM_ENOFIT, "%d %s not fit into %lld byte%s: no packing is lower than %lld",
                     solver->chosen.boxes.n, solver->chosen.boxes.n == 1 ? "buffer does" : "buffers do", capacity,
                     capacity == 1 ? "" : "s", bound);
  }
  return plim_fail(
      solver->ctx, PLIM_ENOFIT,
      "no packing of %d buffers into %lld bytes was found; the lowest one takes %lld, none is lower than %lld",
      solver->chosen.boxes.n, capacity, (long long)solver->found.packed_bytes, bound);
}

static plim_status give_solution(pack_solver *solver, int64_t *offset, plim_pack_solution *solution) {
  int64_t *whole = NULL;
  PLIM_TRY(plim_allocate(solver->ctx, solver->given->n, sizeof *whole, &whole));
  for (int32_t x = 0; x < solver->chosen.boxes.n; x++) whole[solver->chosen.original[x]] = solver->best[x];
  plim_status status =
      plim_boxes_check(solver->ctx, solver->given, whole, solver->options->capacity, solver->found.packed_bytes);
  if (status == PLIM_OK) {
    if (solver->given->n > 0) memcpy(offset, whole, (size_t)solver->given->n * sizeof *whole);
    *solution = solver->found;
    solution->proved = solution->packed_bytes == solution->bound;
  }
  plim_release(solver->ctx, whole, solver->given->n, sizeof *whole);
  return status;
}

/* First-fit takes seconds for very many boxes, so it gets a part of the time. */
static int64_t first_fit_deadline(const pack_solver *solver) {
  int64_t limit = solver->options->time_limit_ns;
  return solver->chosen.boxes.n > PLIM_EXACT_MAX && limit > 0
             ? solver->started_ns + limit / pack_tuning.solve.first_fit_part
             : solver->deadline_ns;
}

static plim_status pack_and_prove(pack_solver *solver) {
  const plim_pack_goal goal = {.target_bytes = solver->options->capacity < INT64_MAX ? solver->options->capacity : 0,
                               .deadline_ns = first_fit_deadline(solver)};
  PLIM_TRY(plim_units_make(solver->ctx, &solver->chosen.boxes, &solver->units));
  PLIM_TRY(plim_pack(solver->ctx, &solver->chosen.boxes, goal, solver->trial, &solver->found.first_fit,
                     &solver->found.peak_bytes));
  solver->found.bound = solver->found.peak_bytes;
  keep_if_smaller(solver);
  report(solver);
  if (is_done(solver)) return PLIM_OK;
  if (plim_bottom_up_can(&solver->units)) PLIM_TRY(plim_bottom_up_new(&solver->units, &solver->bottom_up));
  if (!plim_exact_can(&solver->units) || solver->found.packed_bytes / solver->chosen.boxes.align >= PLIM_EXACT_UNITS) {
    return pack_large(solver);
  }
  if (plim_niche_can(&solver->units)) PLIM_TRY(plim_niche_new(&solver->units, &solver->niche));
  PLIM_TRY(plim_restarts_new(&solver->units, threads_of(solver), &solver->restarts));
  if (solver->options->capacity < INT64_MAX) {
    reach_capacity(solver);
  } else {
    minimise(solver);
  }
  return solver->status;
}

plim_pack_options plim_pack_options_default(void) {
  return (plim_pack_options){.struct_bytes = sizeof(plim_pack_options), .capacity = INT64_MAX};
}

plim_status plim_pack_solve(plim_context *ctx, const plim_boxes *boxes, const plim_pack_options *options,
                            int64_t *offset, plim_pack_solution *solution) {
  PLIM_TRY(plim_check_options(ctx, "plim_pack_options", options->struct_bytes, sizeof *options));
  pack_solver solver = {.ctx = ctx, .given = boxes, .options = options, .started_ns = plim_now_ns()};
  solver.found.packed_bytes = INT64_MAX;
  solver.deadline_ns = plim_effort_deadline_of(solver.started_ns, options->time_limit_ns);
  plim_status status;
  PLIM_TRY_OR_DONE(plim_selection_make(ctx, boxes, NULL, &solver.chosen));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, boxes->n, sizeof *solver.trial, &solver.trial));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, boxes->n, sizeof *solver.best, &solver.best));
  status = pack_and_prove(&solver);
  int is_packed = solver.found.packed_bytes < INT64_MAX && solver.found.packed_bytes <= options->capacity;
  if (status != PLIM_OK && (status != PLIM_ECANCEL || !is_packed)) goto done;
  if (!is_packed) {
    status = refuse(&solver);
  } else {
    follow_hints(&solver);
    status = give_solution(&solver, offset, solution);
  }
done:
  plim_restarts_free(solver.restarts);
  plim_bottom_up_free(solver.bottom_up);
  plim_niche_free(solver.niche);
  plim_units_free(&solver.units);
  plim_selection_free(&solver.chosen);
  plim_release(ctx, solver.trial, boxes->n, sizeof *solver.trial);
  plim_release(ctx, solver.best, boxes->n, sizeof *solver.best);
  return status;
}
