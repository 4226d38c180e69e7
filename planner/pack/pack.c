/* plim_pack: offsets for boxes, by ever stronger methods until the goal is reached or the rounds are used up.
 *   1. first-fit and best-fit in four orders      (fit.c)
 *   2. bottom-up packing with learning priorities (bottom_up.c); boxes that it does not take are repaired
 *   3. exact search at the wanted packed size     (exact.c)
 * Where time is over before a first order ends, skyline packing gives a poor packing in O(n log n) (skyline.c).
 *
 * The goal is the target, or the peak where there is none. A box *sticks out* where its top is above the goal.
 * Repair moves such boxes forward in the order, so that others must make room for them; an order that gets worse is
 * taken back (squeaky wheel optimisation, Joslin and Clements, 1999).
 * Invariant: `best` is a valid packing of size `packed_units`. Everything is in units of the alignment.
 * Source of the first-fit orders and the exact search: Moffitt, MiniMalloc, ASPLOS 2023. */
#include "planner/pack/pack.h"

#include <stdlib.h>
#include <string.h>

#include "planner/pack/pack_tuning.h"
#include "planner/pack/packers.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"
#include "runtime/base/random.h"

/* Orders of first-fit: by descending key, BY_BEGIN by ascending begin. Ties by begin, then by index. */
typedef enum fit_order { BY_BYTES, BY_AREA, BY_LENGTH, BY_BEGIN, FIT_ORDERS } fit_order;

typedef struct sort_key {
  double key;
  int64_t begin;
  int32_t box;
} sort_key;

typedef struct pack_state {
  plim_units units;
  plim_fit *fit;
  sort_key *keys;
  int32_t *order, *best_order, *before_move; /* [n] */
  int64_t *trial, *best, *trial_before_move; /* [n] offsets in units */
  int64_t packed_units;                      /* size of best; INT64_MAX: none yet */
  int64_t goal;                              /* a packed size that is small enough, in units */
  int32_t has_target;                        /* 1: the goal is the caller's target; 0: it is the peak */
  int32_t may_give_up;                       /* 1: the first order may be given up, since skyline packing is possible */
} pack_state;

static int by_key(const void *a, const void *b) {
  const sort_key *x = a, *y = b;
  if (x->key != y->key) return x->key > y->key ? -1 : 1;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return plim_integers_compare(x->box, y->box);
}

static void sort_boxes(pack_state *pack, fit_order order, int32_t *out) {
  const plim_units *p = &pack->units;
  for (int32_t b = 0; b < p->n; b++) {
    double length = (double)p->boxes->box[b].end - (double)p->boxes->box[b].begin, bytes = (double)p->size[b];
    const double key[FIT_ORDERS] = {bytes, bytes * length, length, 0};
    pack->keys[b] = (sort_key){key[order], p->boxes->box[b].begin, b};
  }
  qsort(pack->keys, (size_t)p->n, sizeof *pack->keys, by_key);
  for (int32_t i = 0; i < p->n; i++) out[i] = pack->keys[i].box;
}

/* Make the trial, which came from pack->order, the best where it is smaller. Returns its size. */
static int64_t keep_order(pack_state *pack, int64_t packed_units) {
  int32_t n = pack->units.n;
  if (packed_units >= pack->packed_units) return packed_units;
  pack->packed_units = packed_units;
  memcpy(pack->best, pack->trial, (size_t)n * sizeof *pack->best);
  memcpy(pack->best_order, pack->order, (size_t)n * sizeof *pack->order);
  return packed_units;
}

/* First-fit (or best-fit) in pack->order. */
static int64_t try_order(pack_state *pack, int best_fit) {
  int may_stop = pack->packed_units < INT64_MAX || pack->may_give_up;
  return keep_order(pack, plim_fit_run(pack->fit, pack->order, best_fit, may_stop, pack->trial));
}

/* Move each box that sticks out to a random place before its own in the order. */
static void promote(pack_state *pack, plim_random *random) {
  const plim_units *p = &pack->units;
  for (int32_t i = 1; i < p->n; i++) {
    int32_t b = pack->order[i];
    if (pack->trial[b] + p->size[b] <= pack->goal || p->fixed[b] >= 0) continue;
    int32_t to = plim_random_below(random, i + 1);
    memmove(&pack->order[to + 1], &pack->order[to], (size_t)(i - to) * sizeof *pack->order);
    pack->order[to] = b;
  }
}

/* Is the goal missed, and time left? One order is always packed to its end, unless skyline packing can replace it. */
static int may_go_on(const pack_state *pack) {
  if (pack->packed_units <= pack->goal) return 0;
  if (pack->packed_units == INT64_MAX && !pack->may_give_up) return 1;
  return !plim_effort_over(pack->units.ctx, pack->units.n);
}

/* Repair the best order by moves and first-fit. A round that packs higher than the one before is taken back.
 * Best-fit may have packed the best order. First-fit may then need many rounds to come down to its size, and each of
 * these rounds begins with the best order. Two other rules were no better on average, on problems with fixed
 * offsets or alignments: to begin with first-fit's own size, and to repair by best-fit after best-fit. */
static void repair_order(pack_state *pack, int32_t rounds) {
  const size_t order_size = (size_t)pack->units.n * sizeof *pack->order;
  const size_t trial_size = (size_t)pack->units.n * sizeof *pack->trial;
  plim_random random = {1};
  int64_t now = pack->packed_units;
  memcpy(pack->order, pack->best_order, order_size);
  /* what refused rounds return to */
  (void)plim_fit_run(pack->fit, pack->order, 0, 1, pack->trial_before_move);
  memcpy(pack->trial, pack->best, trial_size);
  for (int32_t round = 0; round < rounds && may_go_on(pack); round++) {
    memcpy(pack->before_move, pack->order, order_size);
    promote(pack, &random);
    int64_t packed_units = try_order(pack, 0);
    if (packed_units <= now) {
      now = packed_units;
      memcpy(pack->trial_before_move, pack->trial, trial_size);
    } else {
      memcpy(pack->order, pack->before_move, order_size);
      memcpy(pack->trial, pack->trial_before_move, trial_size);
    }
  }
}

/* Make the trial, which is smaller, the best. */
static void keep_trial(pack_state *pack) {
  const plim_units *p = &pack->units;
  pack->packed_units = 0;
  for (int32_t b = 0; b < p->n; b++) {
    pack->best[b] = pack->trial[b];
    if (pack->best[b] + p->size[b] > pack->packed_units) pack->packed_units = pack->best[b] + p->size[b];
  }
}

/* Search exactly. With a target, all nodes are for it. Without one, the sizes asked for bisect what lies between the
 * best size and the largest one that was not found. */
static plim_status search_exactly(pack_state *pack, int64_t nodes) {
  plim_exact *exact = NULL;
  plim_status status;
  int64_t low = pack->goal - 1;
  int32_t max_tries = pack->has_target ? 1 : pack_tuning.pack.exact_tries;
  if (pack->has_target) nodes *= pack_tuning.pack.exact_tries;
  PLIM_TRY_OR_DONE(plim_exact_new(&pack->units, nodes, &exact));
  for (int32_t tries = 0; tries < max_tries && low + 1 < pack->packed_units; tries++) {
    int64_t capacity = tries == 0 ? pack->goal : low + (pack->packed_units - low) / 2;
    int64_t left = nodes;
    plim_pack_outcome outcome;
    PLIM_TRY_OR_DONE(plim_exact_search(exact, capacity, &left, pack->trial, &outcome));
    if (outcome == PLIM_PACK_FOUND) {
      keep_trial(pack);
    } else {
      low = capacity;
    }
  }
done:
  plim_exact_free(exact);
  return status;
}

/* Pack all orders, by first-fit and by best-fit. */
static void try_orders(pack_state *pack) {
  for (int order = 0; order < 2 * FIT_ORDERS && may_go_on(pack); order++) {
    sort_boxes(pack, (fit_order)(order / 2), pack->order);
    (void)try_order(pack, order & 1);
  }
}

/* Bottom-up packings, at least one. */
static plim_status run_bottom_up(pack_state *pack, int32_t rounds) {
  plim_bottom_up *bottom_up = NULL;
  int64_t n = pack->units.n, runs = (int64_t)rounds * pack_tuning.pack.bottom_up_work / (n * n);
  int64_t runs_min = n > pack_tuning.pack.many_boxes ? pack_tuning.pack.bottom_up_min_many : 1;
  int64_t runs_max = (int64_t)rounds * pack_tuning.pack.bottom_up_a_round;
  if (runs_max > pack_tuning.pack.bottom_up_max) runs_max = pack_tuning.pack.bottom_up_max;
  runs = runs > runs_max ? runs_max : runs < runs_min ? runs_min : runs;
  PLIM_TRY(plim_bottom_up_new(&pack->units, &bottom_up));
  for (int64_t i = 0; i < runs && may_go_on(pack); i++) {
    if (plim_bottom_up_run(bottom_up, pack->goal, pack->trial) < pack->packed_units) keep_trial(pack);
  }
  plim_bottom_up_free(bottom_up);
  return PLIM_OK;
}

/* Skyline packing, when the time was over before the first order was packed. */
static plim_status pack_skyline(pack_state *pack) {
  plim_skyline *skyline = NULL;
  plim_context *ctx = pack->units.ctx;
  if (plim_context_cancelled(ctx)) return plim_fail(ctx, PLIM_ECANCEL, "packing was cancelled");
  PLIM_TRY(plim_skyline_new(&pack->units, &skyline));
  sort_boxes(pack, BY_AREA, pack->order);
  (void)keep_order(pack, plim_skyline_run(skyline, pack->order, pack->trial));
  plim_skyline_free(skyline);
  return PLIM_OK;
}

static plim_status run_methods(pack_state *pack, int32_t rounds) {
  pack->may_give_up =
      pack->units.n >= (rounds > 0 ? pack_tuning.pack.skyline_boxes : pack_tuning.pack.skyline_boxes_at_once) &&
      plim_skyline_can(&pack->units);
  try_orders(pack);
  if (pack->packed_units == INT64_MAX) return pack_skyline(pack);
  if (pack->packed_units <= pack->goal || rounds == 0) return PLIM_OK;
  if (plim_bottom_up_can(&pack->units)) {
    PLIM_TRY(run_bottom_up(pack, rounds));
  } else {
    repair_order(pack, pack->units.n <= pack_tuning.pack.repaired_boxes ? rounds : 1);
  }
  int64_t nodes = (int64_t)rounds * pack_tuning.pack.nodes_a_round / (pack->units.n + 1);
  /* with fewer nodes than two ways from root to leaf nothing is found */
  int64_t asked = pack->has_target ? nodes * pack_tuning.pack.exact_tries : nodes;
  int useless = asked < 2 * (int64_t)pack->units.n || !plim_exact_can(&pack->units);
  return pack->packed_units <= pack->goal || useless ? PLIM_OK : search_exactly(pack, nodes);
}

static plim_status allocate_packer(pack_state *pack) {
  plim_context *ctx = pack->units.ctx;
  int32_t n = pack->units.n;
  PLIM_TRY(plim_allocate(ctx, n, sizeof *pack->keys, &pack->keys));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *pack->order, &pack->order));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *pack->best_order, &pack->best_order));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *pack->trial, &pack->trial));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *pack->best, &pack->best));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *pack->trial_before_move, &pack->trial_before_move));
  return plim_allocate(ctx, n, sizeof *pack->before_move, &pack->before_move);
}

static void free_packer(pack_state *pack) {
  plim_context *ctx = pack->units.ctx;
  int32_t n = pack->units.n;
  plim_fit_free(pack->fit);
  plim_release(ctx, pack->keys, n, sizeof *pack->keys);
  plim_release(ctx, pack->order, n, sizeof *pack->order);
  plim_release(ctx, pack->best_order, n, sizeof *pack->best_order);
  plim_release(ctx, pack->trial, n, sizeof *pack->trial);
  plim_release(ctx, pack->best, n, sizeof *pack->best);
  plim_release(ctx, pack->trial_before_move, n, sizeof *pack->trial_before_move);
  plim_release(ctx, pack->before_move, n, sizeof *pack->before_move);
  plim_units_free(&pack->units);
}

plim_status plim_pack(plim_context *ctx, const plim_boxes *boxes, plim_pack_goal goal, int64_t *offset,
                      int64_t *packed_bytes, int64_t *peak_bytes) {
  pack_state pack = {.packed_units = INT64_MAX, .has_target = goal.target_bytes > 0};
  int64_t outer_ns = plim_effort_begin(ctx, goal.deadline_ns > 0 ? goal.deadline_ns : INT64_MAX);
  int32_t n = boxes->n;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_units_make(ctx, boxes, &pack.units));
  PLIM_TRY_OR_DONE(plim_fit_new(&pack.units, &pack.fit));
  PLIM_TRY_OR_DONE(allocate_packer(&pack));
  pack.goal = goal.target_bytes / boxes->align > pack.units.peak_units ? goal.target_bytes / boxes->align
                                                                       : pack.units.peak_units;
  status = run_methods(&pack, goal.rounds);
  if (status == PLIM_ECANCEL && pack.packed_units < INT64_MAX && !plim_context_cancelled(ctx)) status = PLIM_OK;
  if (status != PLIM_OK) goto done;
  for (int32_t b = 0; b < n; b++) offset[b] = pack.best[b] * boxes->align;
  *packed_bytes = pack.packed_units * boxes->align;
  if (peak_bytes) *peak_bytes = pack.units.peak_units * boxes->align;
done:
  if (pack.units.ctx) free_packer(&pack);
  return plim_effort_end(ctx, outer_ns, status);
}
