/* Packing: the first-fit family, then rounds of repair on the best order, then exact search at the wanted height.
 *
 * A round of repair takes the boxes that stick out above the goal and moves them to the front part of the order, so
 * that next time others have to go around them (squeaky wheel optimisation, Joslin and Clements, 1999); an order that
 * gets worse is taken back. Sources: first-fit orders and exact search, Moffitt, MiniMalloc, ASPLOS 2023. */
#include "planner/pack/pack.h"

#include <stdlib.h>
#include <string.h>

#include "planner/pack/pack_exact.h"
#include "planner/pack/pack_fit.h"
#include "planner/random.h"

/* Orders of the first-fit family: keys descending, but begin ascending; ties by begin, then index. */
typedef enum fit_order { BY_BYTES, BY_AREA, BY_LENGTH, BY_BEGIN, FIT_ORDERS } fit_order;

enum {
  NODES_A_ROUND = 16384 /* of exact search, times boxes, for each round of effort: a node costs O(boxes) */,
  EXACT_TRIES = 5
};

typedef struct sort_key {
  double key;
  int64_t begin;
  int32_t box;
} sort_key;

typedef struct packer {
  plim_packing packing;
  sort_key *keys;
  int32_t *order, *best_order, *kept; /* [n] */
  int64_t *trial, *best;              /* [n] offsets in units */
  int64_t height;                     /* of best, in units */
  int64_t goal;                       /* a height that is good enough, in units */
} packer;

static int by_key(const void *a, const void *b) {
  const sort_key *x = a, *y = b;
  if (x->key != y->key) return x->key > y->key ? -1 : 1;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->box > y->box) - (x->box < y->box);
}

static void sort_boxes(packer *k, fit_order order, int32_t *out) {
  const plim_packing *p = &k->packing;
  for (int32_t b = 0; b < p->n; b++) {
    double length = (double)p->box[b].end - (double)p->box[b].begin, bytes = (double)p->bytes[b];
    const double key[FIT_ORDERS] = {bytes, bytes * length, length, 0};
    k->keys[b] = (sort_key){key[order], p->box[b].begin, b};
  }
  qsort(k->keys, (size_t)p->n, sizeof *k->keys, by_key);
  for (int32_t i = 0; i < p->n; i++) out[i] = k->keys[i].box;
}

/* Largest sum of bytes alive, in units. */
static int64_t measure_load(packer *k) {
  const plim_packing *p = &k->packing;
  int64_t load = 0, alive = 0;
  int32_t ended = 0, *by_end = k->best_order;
  for (int32_t b = 0; b < p->n; b++) k->keys[b] = (sort_key){-(double)p->box[b].end, 0, b};
  qsort(k->keys, (size_t)p->n, sizeof *k->keys, by_key);
  for (int32_t b = 0; b < p->n; b++) by_end[b] = k->keys[b].box;
  sort_boxes(k, BY_BEGIN, k->order);
  for (int32_t i = 0; i < p->n; i++) {
    const plim_box *box = &p->box[k->order[i]];
    while (p->box[by_end[ended]].end <= box->begin) alive -= p->bytes[by_end[ended++]];
    alive += p->bytes[k->order[i]];
    if (alive > load) load = alive;
  }
  return load;
}

static plim_status check_boxes(const plim_packing *p) {
  for (int32_t b = 0; b < p->n; b++) {
    const plim_box *box = &p->box[b];
    int misplaced = box->fixed != -1 && (box->fixed < 0 || box->fixed % p->align != 0);
    if (box->begin >= box->end || box->bytes <= 0 || misplaced) {
      return plim_fail(p->ctx, PLIM_EUSAGE, "box %d: life [%lld, %lld), %lld bytes, fixed offset %lld is not allowed",
                       b, (long long)box->begin, (long long)box->end, (long long)box->bytes, (long long)box->fixed);
    }
    p->bytes[b] = (box->bytes - 1) / p->align + 1;
    p->fixed[b] = box->fixed < 0 ? -1 : box->fixed / p->align;
  }
  return PLIM_OK;
}

/* Fit the boxes in k->order; keep the result when it is better than the best. */
static int64_t try_order(packer *k, int best_fit) {
  int32_t n = k->packing.n;
  int64_t height = plim_pack_fit(&k->packing, k->order, best_fit, k->trial);
  if (height >= k->height) return height;
  k->height = height;
  memcpy(k->best, k->trial, (size_t)n * sizeof *k->best);
  memcpy(k->best_order, k->order, (size_t)n * sizeof *k->order);
  return height;
}

/* Move the boxes that stick out above the goal forward in the order, each to a random place in front of its own. */
static void promote(packer *k, plim_random *random) {
  const plim_packing *p = &k->packing;
  for (int32_t i = 1; i < p->n; i++) {
    int32_t b = k->order[i];
    if (k->trial[b] + p->bytes[b] <= k->goal || p->fixed[b] >= 0) continue;
    int32_t to = plim_random_below(random, i + 1);
    memmove(&k->order[to + 1], &k->order[to], (size_t)(i - to) * sizeof *k->order);
    k->order[to] = b;
  }
}

static void repair(packer *k, int32_t rounds) {
  size_t size = (size_t)k->packing.n * sizeof *k->order;
  plim_random random = {1};
  int64_t now = k->height;
  int32_t *kept = k->kept;
  memcpy(k->order, k->best_order, size);
  memcpy(k->trial, k->best, (size_t)k->packing.n * sizeof *k->trial);
  for (int32_t round = 0; round < rounds && k->height > k->goal; round++) {
    memcpy(kept, k->order, size);
    promote(k, &random);
    int64_t height = try_order(k, 0);
    if (height <= now) {
      now = height;
    } else {
      memcpy(k->order, kept, size);
      (void)plim_pack_fit(&k->packing, k->order, 0, k->trial);
    }
  }
}

/* Ask for the goal exactly; while that is not found, for heights half way between what is known to be out of reach of
 * these nodes and what is reached. */
static plim_status search_exactly(packer *k, int64_t nodes) {
  const plim_packing *p = &k->packing;
  int64_t low = k->goal - 1;
  for (int32_t tries = 0; tries < EXACT_TRIES && low + 1 < k->height; tries++) {
    int64_t capacity = tries == 0 ? k->goal : low + (k->height - low) / 2;
    plim_pack_outcome outcome;
    PLIM_TRY(plim_pack_exact(p->ctx, p->n, p->box, p->align, capacity * p->align, nodes, k->trial, &outcome));
    if (outcome != PLIM_PACK_FOUND) {
      low = capacity;
      continue;
    }
    k->height = 0;
    for (int32_t b = 0; b < p->n; b++) {
      k->best[b] = k->trial[b] / p->align;
      if (k->best[b] + p->bytes[b] > k->height) k->height = k->best[b] + p->bytes[b];
    }
  }
  return PLIM_OK;
}

static plim_status solve(packer *k, int32_t effort) {
  for (int order = 0; order < 2 * FIT_ORDERS && k->height > k->goal; order++) {
    sort_boxes(k, (fit_order)(order / 2), k->order);
    (void)try_order(k, order & 1);
  }
  if (k->height <= k->goal || effort == 0) return PLIM_OK;
  repair(k, effort);
  int64_t nodes = (int64_t)effort * NODES_A_ROUND / (k->packing.n + 1);
  /* fewer nodes than two dives to the end would find nothing */
  return k->height <= k->goal || nodes < 2 * (int64_t)k->packing.n ? PLIM_OK : search_exactly(k, nodes);
}

static plim_status allocate(packer *k) {
  plim_context *ctx = k->packing.ctx;
  int32_t n = k->packing.n;
  PLIM_TRY(plim_allocate(ctx, n, sizeof *k->keys, &k->keys));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *k->order, &k->order));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *k->best_order, &k->best_order));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *k->trial, &k->trial));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *k->best, &k->best));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *k->packing.bytes, &k->packing.bytes));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *k->packing.fixed, &k->packing.fixed));
  PLIM_TRY(plim_allocate(ctx, n, sizeof *k->packing.placed, &k->packing.placed));
  return plim_allocate(ctx, n, sizeof *k->kept, &k->kept);
}

static void release(packer *k) {
  plim_context *ctx = k->packing.ctx;
  int32_t n = k->packing.n;
  plim_release(ctx, k->keys, n, sizeof *k->keys);
  plim_release(ctx, k->order, n, sizeof *k->order);
  plim_release(ctx, k->best_order, n, sizeof *k->best_order);
  plim_release(ctx, k->trial, n, sizeof *k->trial);
  plim_release(ctx, k->best, n, sizeof *k->best);
  plim_release(ctx, k->packing.bytes, n, sizeof *k->packing.bytes);
  plim_release(ctx, k->packing.fixed, n, sizeof *k->packing.fixed);
  plim_release(ctx, k->packing.placed, n, sizeof *k->packing.placed);
  plim_release(ctx, k->kept, n, sizeof *k->kept);
}

plim_status plim_pack(plim_context *ctx, int32_t n, const plim_box *box, int64_t align, int64_t target, int32_t effort,
                      int64_t *offset, int64_t *height, int64_t *load) {
  packer k = {.packing = {.ctx = ctx, .n = n, .box = box, .align = align}, .height = INT64_MAX};
  plim_status status;
  PLIM_CHECK(allocate(&k));
  PLIM_CHECK(check_boxes(&k.packing));
  int64_t lowest = measure_load(&k);
  k.goal = target / align > lowest ? target / align : lowest;
  PLIM_CHECK(solve(&k, effort));
  for (int32_t b = 0; b < n; b++) offset[b] = k.best[b] * align;
  *height = k.height * align;
  if (load) *load = lowest * align;
done:
  release(&k);
  return status;
}
