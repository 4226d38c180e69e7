/* plim_pack_solve: packing with all searches until it is done or the time is over.
 *   1. first-fit                (plim_pack with effort 0)
 *   2. rounds of bottom-up packings, exact search and niche search
 *        with a capacity        for the capacity and a size below it, until one is found or the capacity is refuted
 *        without one            for several sizes between bound and best, each round with more nodes
 * Problems that are too large for exact search get bottom-up packings and repair in place of 2.
 * The result is checked by plim_boxes_check. */
#include "planner/pack/solve.h"

#include <string.h>

#include "planner/pack/exact.h"
#include "planner/pack/niche.h"
#include "planner/pack/pack.h"
#include "planner/pack/pack_tuning.h"
#include "planner/pack/packers.h"
#include "planner/pack/units.h"
#include "runtime/base/effort.h"
#include "runtime/base/random.h"

enum { MAX_THREADS = 64 };

typedef struct solver {
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
} solver;

/* ---- progress ---- */

static void report(const solver *s) {
  plim_context_report(s->ctx, &(plim_progress){.stage = "pack",
                                               .done = s->found.packed_bytes,
                                               .total = s->found.bound,
                                               .elapsed_ns = plim_now_ns() - s->started_ns,
                                               .best_percent = -1,
                                               .bound_percent = -1});
}

/* Make s->trial the best where it is smaller. */
static void keep(solver *s) {
  int64_t packed_bytes = 0;
  for (int32_t x = 0; x < s->chosen.boxes.n; x++) {
    int64_t top = s->trial[x] + s->chosen.box[x].bytes;
    if (top > packed_bytes) packed_bytes = top;
  }
  if (packed_bytes >= s->found.packed_bytes) return;
  s->found.packed_bytes = packed_bytes;
  memcpy(s->best, s->trial, (size_t)s->chosen.boxes.n * sizeof *s->best);
}

static int is_done(const solver *s) {
  int reached = s->options->capacity < INT64_MAX && s->found.packed_bytes <= s->options->capacity;
  int refuted = s->found.bound > s->options->capacity;
  return s->status != PLIM_OK || reached || refuted || s->found.packed_bytes <= s->found.bound ||
         plim_now_ns() > s->deadline_ns || plim_context_cancelled(s->ctx);
}

/* ---- bottom-up packing ---- */

static void run_bottom_up(solver *s, int32_t runs) {
  int64_t unit = s->chosen.boxes.align, capacity = s->options->capacity / unit, bound = s->found.bound / unit;
  int64_t goal = s->options->capacity < INT64_MAX && capacity > bound ? capacity : bound;
  for (int32_t i = 0; s->bottom_up && i < runs && !is_done(s); i++) {
    if (plim_bottom_up_run(s->bottom_up, goal, s->trial) == INT64_MAX) continue;
    for (int32_t x = 0; x < s->chosen.boxes.n; x++) s->trial[x] *= unit;
    keep(s);
    report(s);
  }
}

/* The bottom-up packings of a round, beside exact search. */
static void run_bottom_up_round(solver *s) {
  int64_t n = s->chosen.boxes.n, runs = pack_tuning.solve.bottom_up_work / (n * n + 1);
  run_bottom_up(s, runs < 1                                     ? 1
                   : runs > pack_tuning.solve.bottom_up_a_round ? pack_tuning.solve.bottom_up_a_round
                                                                : (int32_t)runs);
}

/* ---- exact search ---- */

static void take_result(solver *s, const plim_pack_restart *t) {
  int64_t unit = s->chosen.boxes.align;
  if (t->outcome == PLIM_PACK_IMPOSSIBLE && (t->capacity + 1) * unit > s->found.bound) {
    s->found.bound = (t->capacity + 1) * unit;
  }
  if (t->outcome != PLIM_PACK_FOUND) return;
  for (int32_t x = 0; x < s->chosen.boxes.n; x++) s->trial[x] = t->offset[x] * unit;
  keep(s);
}

static void run_batch(solver *s, plim_pack_restart *task, int32_t n) {
  s->status = plim_restarts_run(s->restarts, task, n);
  for (int32_t i = 0; i < n; i++) {
    take_result(s, &task[i]);
    s->niche_nodes += pack_tuning.niche.nodes_a_search * (double)task[i].nodes / n;
  }
  report(s);
}

static int32_t threads_of(const solver *s) {
  int32_t threads = s->options->threads > 1 ? s->options->threads : 1;
  return threads < MAX_THREADS ? threads : MAX_THREADS;
}

static plim_pack_restart make_task(const solver *s, int64_t capacity, int32_t restart) {
  return (plim_pack_restart){.capacity = capacity,
                             .restart = restart,
                             .limits = {plim_exact_share(s->chosen.boxes.n, restart), s->deadline_ns}};
}

/* Exact search for one packed size, in some static orders. Returns 1 where the best or the bound improved. */
static int ask(solver *s, int64_t capacity, int32_t round) {
  plim_pack_restart task[MAX_THREADS];
  int64_t packed_bytes = s->found.packed_bytes, bound = s->found.bound;
  int32_t width = (threads_of(s) + pack_tuning.solve.orders_a_size - 1) / pack_tuning.solve.orders_a_size *
                  pack_tuning.solve.orders_a_size;
  for (int32_t k = 0; k < width && !is_done(s) && s->found.packed_bytes == packed_bytes && s->found.bound == bound;) {
    int32_t n = 0;
    for (; n < threads_of(s) && k < width; n++) task[n] = make_task(s, capacity, round * width + k++);
    run_batch(s, task, n);
  }
  return s->found.packed_bytes < packed_bytes || s->found.bound > bound;
}

/* ---- niche search ---- */

/* The packed size that a restart asks for: mostly the capacity, or the best less one; in turn the bound, and one
 * between them. A tight size prunes more. */
static int64_t niche_capacity(const solver *s) {
  int64_t unit = s->chosen.boxes.align, bound = s->found.bound / unit, most = s->found.packed_bytes / unit - 1;
  plim_random random = {(uint64_t)s->niche_turn};
  if (s->options->capacity / unit < most) most = s->options->capacity / unit;
  switch (s->niche_turn % 4) {
    case 1:
      return bound + (int64_t)((double)(most - bound) * plim_random_unit(&random));
    case 3:
      return bound;
    default:
      return most;
  }
}

/* Restarts beside a round of exact search: one at least, then as long as they take their share. */
static void search_niches(solver *s) {
  do {
    if (!s->niche || is_done(s)) return;
    const plim_exact_limits limits = {plim_niche_share(s->niche_turn), s->deadline_ns};
    plim_pack_restart t = {.capacity = niche_capacity(s), .restart = s->niche_turn++, .offset = s->trial};
    t.outcome = plim_niche_run(s->niche, t.capacity, t.restart, &limits, t.offset, &t.nodes);
    s->niche_nodes -= (double)(t.nodes > 0 ? t.nodes : 1);
    take_result(s, &t);
    if (t.outcome != PLIM_PACK_LIMIT) report(s);
  } while (s->niche_nodes > 0);
}

/* Rounds for the capacity, and for a size below it: in turn the bound, where a packing is easiest to find if there is
 * one, and a size of the upper half. */
static void reach_capacity(solver *s) {
  for (int32_t round = 0; !is_done(s); round++) {
    int64_t capacity = s->options->capacity / s->chosen.boxes.align, bound = s->found.bound / s->chosen.boxes.align;
    int64_t lower = round % 2 == 0 ? bound : capacity - (capacity - bound) * (round * 7 % 16 + 1) / 32; /* mixed */
    run_bottom_up_round(s);
    (void)ask(s, capacity, round);
    if (lower < capacity && !is_done(s)) (void)ask(s, lower, round);
    search_niches(s);
  }
}

/* Rounds for sizes between bound and best. */
static void minimise(solver *s) {
  for (int32_t round = 0; !is_done(s); round++) {
    run_bottom_up_round(s);
    for (int32_t i = 0; i < PLIM_PACK_SIZES && !is_done(s); i++) {
      int64_t bound = s->found.bound / s->chosen.boxes.align,
              packed_bytes = s->found.packed_bytes / s->chosen.boxes.align;
      int64_t capacity = bound + (packed_bytes - 1 - bound) * pack_tuning.solve.eighths[i] / 8;
      if (i > 0 && capacity == bound) continue;
      if (ask(s, capacity, round)) i = -1; /* bound or best is new: begin again */
    }
    search_niches(s);
  }
}

/* ---- large problems ---- */

static plim_status pack_large(solver *s) {
  run_bottom_up(s, pack_tuning.solve.bottom_up_all);
  int64_t target = s->options->capacity < INT64_MAX ? s->options->capacity : 0;
  for (int32_t effort = pack_tuning.solve.effort_first; !is_done(s) && effort < pack_tuning.solve.effort_max;
       effort *= 2) {
    int64_t packed_bytes;
    const plim_pack_goal goal = {target, effort, s->deadline_ns};
    PLIM_TRY(plim_pack(s->ctx, &s->chosen.boxes, goal, s->trial, &packed_bytes, NULL));
    keep(s);
    report(s);
  }
  return PLIM_OK;
}

/* ---- the whole ---- */

/* Move boxes to their hints, where those are free and within the capacity or the best size. O(n^2): of more boxes than
 * exact search takes, only first-fit has followed hints. */
static void follow_hints(solver *s) {
  int64_t limit = s->options->capacity < INT64_MAX ? s->options->capacity : s->found.packed_bytes;
  for (int32_t x = 0; x < s->chosen.boxes.n; x++) {
    int64_t hint = s->chosen.hint[x];
    int is_wanted = hint >= 0 && hint % s->chosen.own_align[x] == 0 && s->units.fixed[x] < 0;
    int is_free = is_wanted && s->chosen.boxes.n <= PLIM_EXACT_MAX && hint <= limit - s->chosen.box[x].bytes;
    for (int32_t y = 0; y < s->chosen.boxes.n && is_free; y++) {
      int64_t below = y == x ? PLIM_NO_SEPARATION : plim_boxes_separation(&s->chosen.boxes, x, y);
      if (below == PLIM_NO_SEPARATION) continue;
      is_free = hint + below <= s->best[y] || s->best[y] + plim_boxes_separation(&s->chosen.boxes, y, x) <= hint;
    }
    if (is_free) s->best[x] = hint;
  }
  s->found.packed_bytes = 0;
  for (int32_t x = 0; x < s->chosen.boxes.n; x++) {
    if (s->best[x] + s->chosen.box[x].bytes > s->found.packed_bytes)
      s->found.packed_bytes = s->best[x] + s->chosen.box[x].bytes;
  }
}

static plim_status refuse(const solver *s) {
  long long capacity = s->options->capacity, bound = s->found.bound;
  if (plim_context_cancelled(s->ctx)) return plim_fail(s->ctx, PLIM_ECANCEL, "packing was cancelled");
  if (bound > capacity) {
    return plim_fail(s->ctx, PLIM_ENOFIT, "%d %s not fit into %lld byte%s: no packing is lower than %lld",
                     s->chosen.boxes.n, s->chosen.boxes.n == 1 ? "buffer does" : "buffers do", capacity,
                     capacity == 1 ? "" : "s", bound);
  }
  return plim_fail(
      s->ctx, PLIM_ENOFIT,
      "no packing of %d buffers into %lld bytes was found; the lowest one takes %lld, none is lower than %lld",
      s->chosen.boxes.n, capacity, (long long)s->found.packed_bytes, bound);
}

static plim_status give(solver *s, int64_t *offset, plim_pack_solution *solution) {
  int64_t *whole = NULL;
  PLIM_TRY(plim_allocate(s->ctx, s->given->n, sizeof *whole, &whole));
  for (int32_t x = 0; x < s->chosen.boxes.n; x++) whole[s->chosen.original[x]] = s->best[x];
  plim_status status = plim_boxes_check(s->ctx, s->given, whole, s->options->capacity, s->found.packed_bytes);
  if (status == PLIM_OK) {
    if (s->given->n > 0) memcpy(offset, whole, (size_t)s->given->n * sizeof *whole);
    *solution = s->found;
    solution->proved = solution->packed_bytes == solution->bound;
  }
  plim_release(s->ctx, whole, s->given->n, sizeof *whole);
  return status;
}

/* Of very many boxes first-fit takes seconds: it gets a part of the time. */
static int64_t first_fit_deadline(const solver *s) {
  int64_t limit = s->options->time_limit_ns;
  return s->chosen.boxes.n > PLIM_EXACT_MAX && limit > 0 ? s->started_ns + limit / pack_tuning.solve.first_fit_part
                                                         : s->deadline_ns;
}

static plim_status pack_and_prove(solver *s) {
  const plim_pack_goal goal = {.target_bytes = s->options->capacity < INT64_MAX ? s->options->capacity : 0,
                               .deadline_ns = first_fit_deadline(s)};
  PLIM_TRY(plim_units_make(s->ctx, &s->chosen.boxes, &s->units));
  PLIM_TRY(plim_pack(s->ctx, &s->chosen.boxes, goal, s->trial, &s->found.first_fit, &s->found.peak_bytes));
  s->found.bound = s->found.peak_bytes;
  keep(s);
  report(s);
  if (is_done(s)) return PLIM_OK;
  if (plim_bottom_up_can(&s->units)) PLIM_TRY(plim_bottom_up_new(&s->units, &s->bottom_up));
  int32_t max_boxes = s->units.windows ? PLIM_EXACT_MAX_WITH_GAPS : PLIM_EXACT_MAX;
  if (s->chosen.boxes.n > max_boxes || s->found.packed_bytes / s->chosen.boxes.align >= PLIM_EXACT_UNITS)
    return pack_large(s);
  if (plim_niche_can(&s->units)) PLIM_TRY(plim_niche_new(&s->units, &s->niche));
  PLIM_TRY(plim_restarts_new(&s->units, threads_of(s), &s->restarts));
  if (s->options->capacity < INT64_MAX) {
    reach_capacity(s);
  } else {
    minimise(s);
  }
  return s->status;
}

plim_pack_options plim_pack_options_default(void) {
  return (plim_pack_options){.struct_bytes = sizeof(plim_pack_options), .capacity = INT64_MAX};
}

plim_status plim_pack_solve(plim_context *ctx, const plim_boxes *boxes, const plim_pack_options *options,
                            int64_t *offset, plim_pack_solution *solution) {
  PLIM_TRY(plim_check_options(ctx, "plim_pack_options", options->struct_bytes, sizeof *options));
  solver s = {.ctx = ctx, .given = boxes, .options = options, .started_ns = plim_now_ns()};
  s.found.packed_bytes = INT64_MAX;
  s.deadline_ns = plim_effort_deadline_of(s.started_ns, options->time_limit_ns);
  plim_status status;
  PLIM_CHECK(plim_selection_make(ctx, boxes, NULL, &s.chosen));
  PLIM_CHECK(plim_allocate(ctx, boxes->n, sizeof *s.trial, &s.trial));
  PLIM_CHECK(plim_allocate(ctx, boxes->n, sizeof *s.best, &s.best));
  status = pack_and_prove(&s);
  int is_packed = s.found.packed_bytes < INT64_MAX && s.found.packed_bytes <= options->capacity;
  if (status != PLIM_OK && (status != PLIM_ECANCEL || !is_packed)) goto done;
  if (!is_packed) {
    status = refuse(&s);
  } else {
    follow_hints(&s);
    status = give(&s, offset, solution);
  }
done:
  plim_restarts_free(s.restarts);
  plim_bottom_up_free(s.bottom_up);
  plim_niche_free(s.niche);
  plim_units_free(&s.units);
  plim_selection_free(&s.chosen);
  plim_release(ctx, s.trial, boxes->n, sizeof *s.trial);
  plim_release(ctx, s.best, boxes->n, sizeof *s.best);
  return status;
}
