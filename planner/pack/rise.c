/* A packing in which every box lies at the bottom or on another can be made from below, in nondecreasing order of
 * offset. Every unplaced box has a lowest offset that the placed ones leave it. The next box is the one that matters
 * most among those that can lie lowest (LOWEST), or among those that can lie below the lowest possible top (LID): above
 * that a box would fit entirely below another, which leaves a gap for nothing. Memory of steps that recompute a lot
 * falls apart into many short lives, on which first-fit in any order loses 10-30 %; here the same orders lose 5-10 %,
 * and priorities changed at random and kept when they are no worse bring it down to some percent.
 * Source: the dominance rule of Moffitt, MiniMalloc, ASPLOS 2023, as a heuristic. */
#include "planner/pack/rise.h"

#include <string.h>

#include "planner/random.h"

enum { MOST_BOXES = 1500, CHANGE_PERCENT = 10 };

typedef enum pick { LID, LOWEST } pick;
typedef enum priority { BY_AREA, BY_BYTES, BY_LENGTH } priority;

/* Packings to begin with, the most promising first. */
static const struct {
  priority by;
  pick pick;
} start[] = {{BY_AREA, LID},      {BY_AREA, LOWEST},  {BY_BYTES, LID},
             {BY_LENGTH, LOWEST}, {BY_BYTES, LOWEST}, {BY_LENGTH, LID}};
enum { STARTS = sizeof start / sizeof *start };

/* Unplaced boxes, without gaps: the last one takes the place of one that goes. */
typedef struct waiting {
  int64_t begin, end, low, size;
  double key;
  int32_t box;
} waiting;

struct plim_rise {
  const plim_units *units;
  plim_random random;
  int32_t runs;
  double *key, *best_key; /* [n] of this run; of the best one, which learns */
  int64_t *best;          /* [n] offsets of it */
  int64_t height;         /* of it */
  pick pick;              /* of it */
  waiting *waiting;       /* [n] */
};

int plim_rise_can(const plim_units *u) {
  int can = u->plain && u->n > 0 && u->n <= MOST_BOXES;
  for (int32_t b = 0; b < u->n && can; b++) can = u->fixed[b] < 0;
  return can;
}

plim_status plim_rise_new(const plim_units *u, plim_rise **out) {
  plim_rise *r = NULL;
  plim_status status;
  PLIM_CHECK(plim_allocate(u->ctx, 1, sizeof *r, &r));
  *r = (plim_rise){.units = u, .random = {1}, .height = INT64_MAX};
  PLIM_CHECK(plim_allocate(u->ctx, u->n, sizeof *r->key, &r->key));
  PLIM_CHECK(plim_allocate(u->ctx, u->n, sizeof *r->best_key, &r->best_key));
  PLIM_CHECK(plim_allocate(u->ctx, u->n, sizeof *r->best, &r->best));
  PLIM_CHECK(plim_allocate(u->ctx, u->n, sizeof *r->waiting, &r->waiting));
  *out = r;
done:
  if (status != PLIM_OK) plim_rise_free(r);
  return status;
}

void plim_rise_free(plim_rise *r) {
  if (!r) return;
  plim_context *ctx = r->units->ctx;
  int32_t n = r->units->n;
  plim_release(ctx, r->key, n, sizeof *r->key);
  plim_release(ctx, r->best_key, n, sizeof *r->best_key);
  plim_release(ctx, r->best, n, sizeof *r->best);
  plim_release(ctx, r->waiting, n, sizeof *r->waiting);
  plim_release(ctx, r, 1, sizeof *r);
}

/* ---- one packing ---- */

/* Boxes may be placed below this; LOWEST: up to it. */
static int64_t limit_of(const waiting *w, int32_t n, pick how) {
  int64_t limit = INT64_MAX;
  for (int32_t i = 0; i < n; i++) {
    int64_t at = how == LID ? w[i].low + w[i].size - 1 : w[i].low;
    limit = at < limit ? at : limit;
  }
  return limit;
}

static int32_t most_important(const waiting *w, int32_t n, int64_t limit) {
  int32_t best = -1;
  double key = -1;
  for (int32_t i = 0; i < n; i++) {
    if (w[i].low > limit || w[i].key <= key) continue;
    key = w[i].key;
    best = i;
  }
  return best;
}

static int64_t fill(plim_rise *r, pick how, int64_t *offset) {
  const plim_units *u = r->units;
  waiting *w = r->waiting;
  int64_t height = 0;
  for (int32_t b = 0; b < u->n; b++) {
    const plim_box *box = &u->boxes->box[b];
    w[b] = (waiting){box->begin, box->end, 0, u->size[b], r->key[b], b};
  }
  for (int32_t n = u->n; n > 0;) {
    int32_t i = most_important(w, n, limit_of(w, n, how));
    waiting placed = w[i];
    int64_t top = placed.low + placed.size;
    offset[placed.box] = placed.low;
    height = top > height ? top : height;
    w[i] = w[--n];
    for (int32_t k = 0; k < n; k++) {
      int over = (w[k].begin < placed.end) & (placed.begin < w[k].end) & (w[k].low < top);
      w[k].low = over ? top : w[k].low;
    }
  }
  return height;
}

/* ---- priorities ---- */

static void set_keys(plim_rise *r, priority by) {
  for (int32_t b = 0; b < r->units->n; b++) {
    const plim_box *box = &r->units->boxes->box[b];
    double length = (double)box->end - (double)box->begin, size = (double)r->units->size[b];
    r->key[b] = by == BY_AREA ? length * size : by == BY_BYTES ? size : length;
  }
}

/* What sticks out matters more; of the rest, some matter more or less. */
static void change_keys(plim_rise *r, int64_t goal) {
  for (int32_t b = 0; b < r->units->n; b++) {
    double factor = 1;
    if (r->best[b] + r->units->size[b] > goal) {
      factor = 1 + 3 * plim_random_unit(&r->random);
    } else if (plim_random_percent(&r->random, CHANGE_PERCENT)) {
      factor = 0.3 + 2 * plim_random_unit(&r->random);
    }
    r->key[b] = r->best_key[b] * factor;
  }
}

int64_t plim_rise_run(plim_rise *r, int64_t goal, int64_t *offset) {
  size_t n = (size_t)r->units->n;
  int starting = r->runs < STARTS;
  pick how = starting ? start[r->runs].pick : r->pick;
  if (starting) {
    set_keys(r, start[r->runs].by);
  } else {
    change_keys(r, goal);
  }
  int64_t height = fill(r, how, offset);
  r->runs++;
  if (height > r->height || (starting && height == r->height)) return height;
  r->height = height;
  r->pick = how;
  memcpy(r->best_key, r->key, n * sizeof *r->key);
  memcpy(r->best, offset, n * sizeof *offset);
  return height;
}
