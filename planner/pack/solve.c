/* First-fit first; then exact search, asked for the capacity, or for heights between what is proven and what is found.
 */
#include "planner/pack/solve.h"

#include <string.h>

#include "planner/pack/pack_exact.h"
#include "planner/pack/validate.h"

typedef struct solver {
  plim_context *ctx;
  const plim_boxes *boxes; /* as given */
  const plim_solve_options *options;
  int32_t n;         /* boxes with bytes */
  int32_t *original; /* [n] */
  plim_box *box;     /* [n] */
  int64_t unit;
  int64_t *trial, *best; /* [n] */
  int64_t started_ns;
  plim_solution found; /* height INT64_MAX: nothing yet */
} solver;

static int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static plim_status gather(solver *s) {
  const plim_boxes *b = s->boxes;
  PLIM_TRY(plim_allocate(s->ctx, b->n, sizeof *s->original, &s->original));
  PLIM_TRY(plim_allocate(s->ctx, b->n, sizeof *s->box, &s->box));
  PLIM_TRY(plim_allocate(s->ctx, b->n, sizeof *s->trial, &s->trial));
  PLIM_TRY(plim_allocate(s->ctx, b->n, sizeof *s->best, &s->best));
  for (int32_t x = 0; x < b->n; x++) {
    if (b->box[x].bytes == 0) continue;
    s->original[s->n] = x;
    s->box[s->n++] = b->box[x];
    s->unit = gcd(gcd(s->unit, b->box[x].bytes), b->box[x].fixed > 0 ? b->box[x].fixed : 0);
    if (b->gap || (b->own_align && b->own_align[x] != 1)) {
      return plim_fail(s->ctx, PLIM_EUNSUPPORTED, "lives with gaps or alignments of their own");
    }
  }
  if (s->unit == 0) s->unit = 1;
  return PLIM_OK;
}

/* Keep s->trial when it is lower. */
static void keep(solver *s) {
  int64_t height = 0;
  for (int32_t x = 0; x < s->n; x++) {
    int64_t top = s->trial[x] + s->box[x].bytes;
    if (top > height) height = top;
  }
  if (height >= s->found.height) return;
  s->found.height = height;
  memcpy(s->best, s->trial, (size_t)s->n * sizeof *s->best);
  plim_context_report(s->ctx, &(plim_progress){.stage = "pack",
                                               .done = height,
                                               .total = s->found.bound,
                                               .elapsed_ns = plim_now_ns() - s->started_ns,
                                               .best_percent = -1,
                                               .bound_percent = -1});
}

static int out_of_time(const solver *s) {
  return s->options->time_limit_ns > 0 && plim_now_ns() - s->started_ns > s->options->time_limit_ns;
}

/* Ask for a height until it is found, proved impossible, or the nodes are spent. */
static plim_status ask(solver *s, int64_t capacity, int64_t nodes, plim_pack_outcome *outcome) {
  PLIM_TRY(plim_pack_exact(s->ctx, s->n, s->box, s->unit, capacity, nodes, s->trial, outcome));
  if (*outcome == PLIM_PACK_FOUND) keep(s);
  if (*outcome == PLIM_PACK_IMPOSSIBLE && capacity + s->unit > s->found.bound) s->found.bound = capacity + s->unit;
  return PLIM_OK;
}

static plim_status reach_capacity(solver *s) {
  plim_pack_outcome outcome = PLIM_PACK_LIMIT;
  for (int64_t nodes = 100000; outcome == PLIM_PACK_LIMIT && !out_of_time(s); nodes *= 2) {
    PLIM_TRY(ask(s, s->options->capacity, nodes, &outcome));
  }
  return PLIM_OK;
}

static plim_status minimise(solver *s) {
  enum { STEPS = 8 };
  for (int64_t nodes = 10000; s->found.bound < s->found.height && !out_of_time(s); nodes *= 2) {
    for (int64_t step = 0; step < STEPS && s->found.bound < s->found.height && !out_of_time(s); step++) {
      int64_t span = (s->found.height - s->found.bound) / s->unit - 1;
      plim_pack_outcome outcome;
      PLIM_TRY(ask(s, s->found.bound + span * step / STEPS * s->unit, nodes, &outcome));
    }
  }
  return PLIM_OK;
}

static plim_status search(solver *s) {
  int64_t capacity = s->options->capacity;
  PLIM_TRY(plim_pack(s->ctx, s->n, s->box, s->unit, 0, 0, s->trial, &s->found.first_fit, &s->found.load));
  s->found.bound = s->found.load;
  keep(s);
  if (s->found.height <= capacity && capacity < INT64_MAX) return PLIM_OK;
  if (s->found.bound > capacity || s->found.height == s->found.bound) return PLIM_OK;
  plim_status status = capacity < INT64_MAX ? reach_capacity(s) : minimise(s);
  return status == PLIM_ECANCEL && s->found.height <= capacity ? PLIM_OK : status;
}

static plim_status refuse(const solver *s) {
  long long capacity = s->options->capacity, bound = s->found.bound;
  if (bound > capacity) {
    return plim_fail(s->ctx, PLIM_ENOFIT, "%d lives do not fit into %lld bytes: no packing is lower than %lld", s->n,
                     capacity, bound);
  }
  return plim_fail(
      s->ctx, PLIM_ENOFIT,
      "%d lives were not packed into %lld bytes; the lowest packing found takes %lld, none is lower than %lld", s->n,
      capacity, (long long)s->found.height, bound);
}

static plim_status give(solver *s, int64_t *offset, plim_solution *solution) {
  int64_t *whole = NULL;
  PLIM_TRY(plim_allocate(s->ctx, s->boxes->n, sizeof *whole, &whole));
  for (int32_t x = 0; x < s->n; x++) whole[s->original[x]] = s->best[x];
  plim_status status = plim_boxes_check(s->ctx, s->boxes, whole, s->options->capacity, s->found.height);
  if (status == PLIM_OK) {
    memcpy(offset, whole, (size_t)s->boxes->n * sizeof *whole);
    *solution = s->found;
    solution->proved = solution->height == solution->bound;
  }
  plim_release(s->ctx, whole, s->boxes->n, sizeof *whole);
  return status;
}

plim_status plim_pack_solve(plim_context *ctx, const plim_boxes *boxes, const plim_solve_options *options,
                            int64_t *offset, plim_solution *solution) {
  solver s = {.ctx = ctx, .boxes = boxes, .options = options, .started_ns = plim_now_ns()};
  s.found.height = INT64_MAX;
  plim_status status;
  PLIM_CHECK(gather(&s));
  PLIM_CHECK(search(&s));
  status = s.found.height > options->capacity ? refuse(&s) : give(&s, offset, solution);
done:
  plim_release(ctx, s.original, boxes->n, sizeof *s.original);
  plim_release(ctx, s.box, boxes->n, sizeof *s.box);
  plim_release(ctx, s.trial, boxes->n, sizeof *s.trial);
  plim_release(ctx, s.best, boxes->n, sizeof *s.best);
  return status;
}
