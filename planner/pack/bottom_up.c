/* A packing in which every box lies at the bottom or on another can be made from below, in nondecreasing order of
 * offset. Every unplaced box has a lowest offset that the placed ones leave it. The next box is the one that matters
 * most among those that can lie lowest (LOWEST), or among those that can lie below the lowest possible top (LID): above
 * that limit some other box would fit entirely below the new one, and the gap would be wasted. A plan that recomputes a
 * lot has many short lifetimes, on which first-fit in any order loses 10-30 %. Here the same orders lose 5-10 %. Random
 * changes of the priorities, kept when they are no worse, bring this down to some percent. Source: the dominance rule
 * of Moffitt, MiniMalloc, ASPLOS 2023, as a heuristic. */
#include "planner/pack/pack_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/effort.h"
#include "runtime/base/random.h"

enum {
  MOST_BOXES = 32768,
  FEW = 1500 /* boxes; of more than that, fewer change at once, near what sticks out: */,
  CHANGE_PERCENT = 10,
  CHANGE_PERCENT_NEAR = 3,
  MOST_NEAR = 64,
  GROUP = 32
};

typedef enum pick { DOMINANCE_LIMIT, LOWEST } pick;
typedef enum priority { BY_AREA, BY_BYTES, BY_LENGTH } priority;

/* Packings to begin with, the most promising first. */
static const struct {
  priority by;
  pick pick;
} start[] = {{BY_AREA, DOMINANCE_LIMIT}, {BY_AREA, LOWEST},  {BY_BYTES, DOMINANCE_LIMIT},
             {BY_LENGTH, LOWEST},        {BY_BYTES, LOWEST}, {BY_LENGTH, DOMINANCE_LIMIT}};
enum { STARTS = sizeof start / sizeof *start };

typedef struct waiting {
  int64_t begin, end, low, size;
  double key;
  int32_t box;
} waiting;

/* Unplaced boxes that begin at about the same time, without gaps: the last one takes the place of one that goes. The
 * rest sums them up, so that most groups need no look at their boxes: none overlaps, none lies low enough. */
typedef struct group {
  waiting *w; /* [n] */
  int32_t n;
  int64_t begin, end;           /* what they lie between */
  int64_t low, dominance_limit; /* the least low, the lowest top; INT64_MAX: no boxes left */
  int64_t highest;              /* the highest top */
  double key;                   /* the largest; -1: no boxes left */
} group;

struct plim_bottom_up {
  const plim_units *units;
  plim_random random;
  int32_t runs;
  double *key, *best_key; /* [n] of this run; of the best one, which learns */
  int64_t *best;          /* [n] offsets of it */
  int64_t height;         /* of it */
  pick pick;              /* of it */
  waiting *by_begin;      /* [n] all, nothing placed yet */
  waiting *waiting;       /* [n] by group */
  group *group;           /* [groups] */
  int32_t groups;
};

int plim_bottom_up_can(const plim_units *u) {
  int can = u->plain && u->n > 0 && u->n <= MOST_BOXES;
  for (int32_t b = 0; b < u->n && can; b++) can = u->fixed[b] < 0;
  return can;
}

static int earlier_first(const void *a, const void *b) {
  const waiting *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->box > y->box) - (x->box < y->box);
}

plim_status plim_bottom_up_new(const plim_units *u, plim_bottom_up **out) {
  plim_bottom_up *r = NULL;
  plim_status status;
  PLIM_CHECK(plim_allocate(u->ctx, 1, sizeof *r, &r));
  *r = (plim_bottom_up){.units = u, .random = {1}, .height = INT64_MAX, .groups = (u->n + GROUP - 1) / GROUP};
  PLIM_CHECK(plim_allocate(u->ctx, u->n, sizeof *r->key, &r->key));
  PLIM_CHECK(plim_allocate(u->ctx, u->n, sizeof *r->best_key, &r->best_key));
  PLIM_CHECK(plim_allocate(u->ctx, u->n, sizeof *r->best, &r->best));
  PLIM_CHECK(plim_allocate(u->ctx, u->n, sizeof *r->waiting, &r->waiting));
  PLIM_CHECK(plim_allocate(u->ctx, u->n, sizeof *r->by_begin, &r->by_begin));
  PLIM_CHECK(plim_allocate(u->ctx, r->groups, sizeof *r->group, &r->group));
  for (int32_t b = 0; b < u->n; b++) {
    const plim_box *box = &u->boxes->box[b];
    r->by_begin[b] = (waiting){box->begin, box->end, 0, u->size[b], 0, b};
  }
  qsort(r->by_begin, (size_t)u->n, sizeof *r->by_begin, earlier_first);
  *out = r;
done:
  if (status != PLIM_OK) plim_bottom_up_free(r);
  return status;
}

void plim_bottom_up_free(plim_bottom_up *r) {
  if (!r) return;
  plim_context *ctx = r->units->ctx;
  int32_t n = r->units->n;
  plim_release(ctx, r->key, n, sizeof *r->key);
  plim_release(ctx, r->best_key, n, sizeof *r->best_key);
  plim_release(ctx, r->best, n, sizeof *r->best);
  plim_release(ctx, r->waiting, n, sizeof *r->waiting);
  plim_release(ctx, r->by_begin, n, sizeof *r->by_begin);
  plim_release(ctx, r->group, r->groups, sizeof *r->group);
  plim_release(ctx, r, 1, sizeof *r);
}

/* ---- one packing ---- */

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static void sum_up(group *g) {
  group sum = {g->w, g->n, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MAX, 0, -1};
  for (int32_t i = 0; i < g->n; i++) {
    const waiting *w = &g->w[i];
    sum.begin = least(sum.begin, w->begin);
    sum.end = most(sum.end, w->end);
    sum.low = least(sum.low, w->low);
    sum.dominance_limit = least(sum.dominance_limit, w->low + w->size);
    sum.highest = most(sum.highest, w->low + w->size);
    sum.key = w->key > sum.key ? w->key : sum.key;
  }
  *g = sum;
}

static void begin_packing(plim_bottom_up *r) {
  for (int32_t i = 0; i < r->units->n; i++) {
    r->waiting[i] = r->by_begin[i];
    r->waiting[i].key = r->key[r->by_begin[i].box];
  }
  for (int32_t k = 0; k < r->groups; k++) {
    int32_t from = k * GROUP, left = r->units->n - from;
    r->group[k] = (group){.w = r->waiting + from, .n = left < GROUP ? left : GROUP};
    sum_up(&r->group[k]);
  }
}

/* Boxes may be placed up to this. */
static int64_t limit_of(const plim_bottom_up *r, pick how) {
  int64_t limit = INT64_MAX;
  for (int32_t k = 0; k < r->groups; k++)
    limit = least(limit, how == DOMINANCE_LIMIT ? r->group[k].dominance_limit - 1 : r->group[k].low);
  return limit;
}

/* Of those that can lie there the one that matters most leaves its group. */
static waiting take_most_important(plim_bottom_up *r, int64_t limit) {
  group *from = r->group;
  waiting *best = NULL;
  double key = -1;
  for (group *g = r->group; g < r->group + r->groups; g++) {
    if (g->low > limit || g->key <= key) continue;
    for (waiting *w = g->w; w < g->w + g->n; w++) {
      if (w->low > limit || w->key <= key) continue;
      key = w->key;
      best = w;
      from = g;
    }
  }
  assert(best);
  waiting taken = *best;
  *best = from->w[--from->n];
  sum_up(from);
  return taken;
}

/* Whatever overlaps the placed box in time lies above it; returns how high they come at least. */
static int64_t lift(plim_bottom_up *r, const waiting *placed) {
  int64_t top = placed->low + placed->size, highest = top;
  for (group *g = r->group; g < r->group + r->groups; g++) {
    if (g->low >= top || g->begin >= placed->end || g->end <= placed->begin) continue;
    for (waiting *w = g->w; w < g->w + g->n; w++) {
      int over = (w->begin < placed->end) & (placed->begin < w->end) & (w->low < top);
      w->low = over ? top : w->low;
    }
    sum_up(g);
    highest = most(highest, g->highest);
  }
  return highest;
}

/* INT64_MAX when it comes above `enough`, as soon as that is known, or when the effort is over. */
static int64_t fill(plim_bottom_up *r, pick how, int64_t enough, int64_t *offset) {
  int64_t height = 0;
  begin_packing(r);
  for (int32_t left = r->units->n; left > 0; left--) {
    waiting placed = take_most_important(r, limit_of(r, how));
    offset[placed.box] = placed.low;
    height = most(height, lift(r, &placed));
    if (height > enough || plim_effort_over(r->units->ctx, r->groups)) return INT64_MAX;
  }
  return height;
}

/* ---- priorities ---- */

static void set_keys(plim_bottom_up *r, priority by) {
  for (int32_t b = 0; b < r->units->n; b++) {
    const plim_box *box = &r->units->boxes->box[b];
    double length = (double)box->end - (double)box->begin, size = (double)r->units->size[b];
    r->key[b] = by == BY_AREA ? length * size : by == BY_BYTES ? size : length;
  }
}

/* Times of some of the boxes that stick out. */
static int32_t list_sticking(const plim_bottom_up *r, int64_t goal, const plim_box **box) {
  int32_t n = 0;
  for (int32_t b = 0; b < r->units->n && n < MOST_NEAR; b++) {
    if (r->best[b] + r->units->size[b] > goal) box[n++] = &r->units->boxes->box[b];
  }
  return n;
}

static int is_near(const plim_box *box, const plim_box *const *sticking, int32_t n) {
  int near = 0;
  for (int32_t i = 0; i < n; i++) near |= (box->begin < sticking[i]->end) & (sticking[i]->begin < box->end);
  return near;
}

/* What sticks out matters more; of the rest, some matter more or less. */
static void change_keys(plim_bottom_up *r, int64_t goal) {
  const plim_box *sticking[MOST_NEAR];
  int32_t few = r->units->n <= FEW, n = few ? 0 : list_sticking(r, goal, sticking);
  for (int32_t b = 0; b < r->units->n; b++) {
    double factor = 1;
    if (r->best[b] + r->units->size[b] > goal) {
      factor = 1 + 3 * plim_random_unit(&r->random);
    } else if (few || is_near(&r->units->boxes->box[b], sticking, n)) {
      int changes = plim_random_percent(&r->random, few ? CHANGE_PERCENT : CHANGE_PERCENT_NEAR);
      if (changes) factor = 0.3 + 2 * plim_random_unit(&r->random);
    }
    r->key[b] = r->best_key[b] * factor;
  }
}

int64_t plim_bottom_up_run(plim_bottom_up *r, int64_t goal, int64_t *offset) {
  size_t n = (size_t)r->units->n;
  int starting = r->runs < STARTS;
  pick how = starting ? start[r->runs].pick : r->pick;
  if (starting) {
    set_keys(r, start[r->runs].by);
  } else {
    change_keys(r, goal);
  }
  int64_t height = fill(r, how, r->height, offset);
  r->runs++;
  if (height > r->height || (starting && height == r->height)) return height;
  r->height = height;
  r->pick = how;
  memcpy(r->best_key, r->key, n * sizeof *r->key);
  memcpy(r->best, offset, n * sizeof *offset);
  return height;
}
