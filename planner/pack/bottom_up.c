/* Bottom-up packing: places boxes in nondecreasing order of offset.
 *
 * Every packing can be pushed down until each box lies at offset 0 or on another box. Such a packing can be made from
 * below. Each unplaced box has a lowest offset that the placed ones leave it (`low`). The next box is the one with the
 * highest priority among those
 *   LOWEST           with the least `low`, or
 *   DOMINANCE_LIMIT  with `low` below the least possible top of any box. At or above that limit another box would fit
 *                    entirely below the new one, and that room would be wasted.
 * Example: the boxes w, x, y, z have the lows 2, 0, 0, 1 and the sizes 1, 4, 2, 5. The least possible top is that of y,
 * 2. So w cannot be next: y would fit below it. DOMINANCE_LIMIT takes x, y or z, LOWEST x or y.
 *
 * The first packings use fixed priorities. Each later one changes those of the best packing at random, and becomes the
 * best where it is no larger.
 * A plan that recomputes much has many short lifetimes. On those first-fit loses 10 to 30 %, fixed priorities here 5 to
 * 10 %, learned ones some percent.
 * Invariant: placed boxes do not overlap, since `low` of an unplaced box is at least the top of each placed one that it
 * overlaps in time.
 * Cost: see packers.h. Source: the dominance rule of Moffitt, MiniMalloc, ASPLOS 2023, here as a heuristic. */
#include "planner/pack/packers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pack/pack_tuning.h"
#include "runtime/base/array.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"
#include "runtime/base/random.h"

enum {
  MAX_NEAR = 64, /* boxes that stick out, near which priorities change */
  GROUP = 32     /* boxes of a group */
};

typedef enum pick { DOMINANCE_LIMIT, LOWEST } pick;
typedef enum priority { BY_AREA, BY_BYTES, BY_LENGTH } priority;

/* The packings with fixed priorities, in the order in which they are made. */
static const struct {
  priority by;
  pick pick;
} start[] = {{BY_AREA, DOMINANCE_LIMIT}, {BY_AREA, LOWEST},  {BY_BYTES, DOMINANCE_LIMIT},
             {BY_LENGTH, LOWEST},        {BY_BYTES, LOWEST}, {BY_LENGTH, DOMINANCE_LIMIT}};
enum { STARTS = sizeof start / sizeof *start };

/* An unplaced box. */
typedef struct waiting_box {
  int64_t begin, end; /* lifetime */
  int64_t low, size;  /* lowest offset that the placed boxes leave it; both in units */
  double key;         /* priority */
  int32_t box;
} waiting_box;

/* Unplaced boxes that begin at about the same time. A placed box is replaced by the last one of its group. The sums let
 * a packing pass over most groups without a look at their boxes. */
typedef struct group {
  waiting_box *waiting; /* [n] */
  int32_t n;
  int64_t begin, end;      /* first begin and last end */
  int64_t low;             /* least low; INT64_MAX: no boxes left */
  int64_t dominance_limit; /* least low + size; INT64_MAX: no boxes left */
  int64_t highest;         /* largest low + size */
  double key;              /* largest priority; -1: no boxes left */
} group;

struct plim_bottom_up {
  const plim_units *units;
  plim_random random;
  int32_t runs;           /* packings made */
  double *key, *best_key; /* [n] priorities of this packing, and of the best one */
  int64_t *best;          /* [n] offsets of the best, in units */
  int64_t packed_size;    /* of the best, in units; INT64_MAX: none yet */
  pick pick;              /* of the best */
  waiting_box *by_begin;  /* [n] all boxes by begin, none placed: each packing begins with a copy */
  waiting_box *waiting;   /* [n] unplaced boxes, by group */
  group *group;           /* [groups] */
  int32_t groups;
  plim_block block;
};

int plim_bottom_up_can(const plim_units *u) {
  int can = u->is_plain && u->n > 0 && u->n <= pack_tuning.bottom_up.boxes;
  for (int32_t b = 0; b < u->n && can; b++) can = u->fixed[b] < 0;
  return can;
}

static int earlier_first(const void *a, const void *b) {
  const waiting_box *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return plim_integers_compare(x->box, y->box);
}

static void lay_out(plim_bottom_up *bottom_up, plim_block *block) {
  int64_t n = bottom_up->units->n;
  bottom_up->key = plim_block_take(block, n, sizeof *bottom_up->key);
  bottom_up->best_key = plim_block_take(block, n, sizeof *bottom_up->best_key);
  bottom_up->best = plim_block_take(block, n, sizeof *bottom_up->best);
  bottom_up->waiting = plim_block_take(block, n, sizeof *bottom_up->waiting);
  bottom_up->by_begin = plim_block_take(block, n, sizeof *bottom_up->by_begin);
  bottom_up->group = plim_block_take(block, bottom_up->groups, sizeof *bottom_up->group);
}

plim_status plim_bottom_up_new(const plim_units *units, plim_bottom_up **out) {
  plim_bottom_up *bottom_up = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(units->ctx, 1, sizeof *bottom_up, &bottom_up));
  *bottom_up = (plim_bottom_up){
      .units = units, .random = {1}, .packed_size = INT64_MAX, .groups = (units->n + GROUP - 1) / GROUP};
  lay_out(bottom_up, &bottom_up->block);
  PLIM_TRY_OR_DONE(plim_block_allocate(units->ctx, &bottom_up->block));
  lay_out(bottom_up, &bottom_up->block);
  for (int32_t b = 0; b < units->n; b++) {
    const plim_box *box = &units->boxes->box[b];
    bottom_up->by_begin[b] = (waiting_box){box->begin, box->end, 0, units->size[b], 0, b};
  }
  qsort(bottom_up->by_begin, (size_t)units->n, sizeof *bottom_up->by_begin, earlier_first);
  *out = bottom_up;
done:
  if (status != PLIM_OK) plim_bottom_up_free(bottom_up);
  return status;
}

void plim_bottom_up_free(plim_bottom_up *bottom_up) {
  if (!bottom_up) return;
  plim_context *ctx = bottom_up->units->ctx;
  plim_block_release(ctx, &bottom_up->block);
  plim_release(ctx, bottom_up, 1, sizeof *bottom_up);
}

/* ---- one packing ---- */

/* Set the sums of a group. */
static void sum_up(group *g) {
  group sum = {g->waiting, g->n, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MAX, 0, -1};
  for (int32_t i = 0; i < g->n; i++) {
    const waiting_box *w = &g->waiting[i];
    sum.begin = plim_integers_smaller(sum.begin, w->begin);
    sum.end = plim_integers_larger(sum.end, w->end);
    sum.low = plim_integers_smaller(sum.low, w->low);
    sum.dominance_limit = plim_integers_smaller(sum.dominance_limit, w->low + w->size);
    sum.highest = plim_integers_larger(sum.highest, w->low + w->size);
    sum.key = w->key > sum.key ? w->key : sum.key;
  }
  *g = sum;
}

static void begin_packing(plim_bottom_up *bottom_up) {
  for (int32_t i = 0; i < bottom_up->units->n; i++) {
    bottom_up->waiting[i] = bottom_up->by_begin[i];
    bottom_up->waiting[i].key = bottom_up->key[bottom_up->by_begin[i].box];
  }
  for (int32_t k = 0; k < bottom_up->groups; k++) {
    int32_t from = k * GROUP, left = bottom_up->units->n - from;
    bottom_up->group[k] = (group){.waiting = bottom_up->waiting + from, .n = left < GROUP ? left : GROUP};
    sum_up(&bottom_up->group[k]);
  }
}

/* The highest `low` of a box that may be placed next. */
static int64_t limit_of(const plim_bottom_up *bottom_up, pick how) {
  int64_t limit = INT64_MAX;
  for (int32_t k = 0; k < bottom_up->groups; k++) {
    limit = plim_integers_smaller(
        limit, how == DOMINANCE_LIMIT ? bottom_up->group[k].dominance_limit - 1 : bottom_up->group[k].low);
  }
  return limit;
}

/* Remove the box of highest priority with `low` up to the limit from its group. */
static waiting_box take_next(plim_bottom_up *bottom_up, int64_t limit) {
  group *from = bottom_up->group;
  waiting_box *best = NULL;
  double key = -1;
  for (group *g = bottom_up->group; g < bottom_up->group + bottom_up->groups; g++) {
    if (g->low > limit || g->key <= key) continue;
    for (waiting_box *w = g->waiting; w < g->waiting + g->n; w++) {
      if (w->low > limit || w->key <= key) continue;
      key = w->key;
      best = w;
      from = g;
    }
  }
  assert(best);
  waiting_box taken = *best;
  *best = from->waiting[--from->n];
  sum_up(from);
  return taken;
}

/* Raise `low` of all unplaced boxes that overlap the placed one in time. Returns a lower bound on the packed size: the
 * highest top, of the placed box or of a raised group. */
static int64_t lift(plim_bottom_up *bottom_up, const waiting_box *placed) {
  int64_t top = placed->low + placed->size, highest = top;
  for (group *g = bottom_up->group; g < bottom_up->group + bottom_up->groups; g++) {
    if (g->low >= top || g->begin >= placed->end || g->end <= placed->begin) continue;
    for (waiting_box *w = g->waiting; w < g->waiting + g->n; w++) {
      int over = (w->begin < placed->end) & (placed->begin < w->end) & (w->low < top);
      w->low = over ? top : w->low;
    }
    sum_up(g);
    highest = plim_integers_larger(highest, g->highest);
  }
  return highest;
}

/* Make one packing. Returns its size in units, or INT64_MAX once that is above `enough` or the effort is over. */
static int64_t fill(plim_bottom_up *bottom_up, pick how, int64_t enough, int64_t *offset) {
  int64_t size = 0;
  begin_packing(bottom_up);
  for (int32_t left = bottom_up->units->n; left > 0; left--) {
    waiting_box placed = take_next(bottom_up, limit_of(bottom_up, how));
    offset[placed.box] = placed.low;
    size = plim_integers_larger(size, lift(bottom_up, &placed));
    if (size > enough || plim_effort_over(bottom_up->units->ctx, bottom_up->groups)) return INT64_MAX;
  }
  return size;
}

/* ---- priorities ---- */

static void set_keys(plim_bottom_up *bottom_up, priority by) {
  for (int32_t b = 0; b < bottom_up->units->n; b++) {
    const plim_box *box = &bottom_up->units->boxes->box[b];
    double length = (double)box->end - (double)box->begin, size = (double)bottom_up->units->size[b];
    bottom_up->key[b] = by == BY_AREA ? length * size : by == BY_BYTES ? size : length;
  }
}

/* List up to MAX_NEAR boxes that stick out above the goal. Returns their number. */
static int32_t list_sticking(const plim_bottom_up *bottom_up, int64_t goal, const plim_box **box) {
  int32_t n = 0;
  for (int32_t b = 0; b < bottom_up->units->n && n < MAX_NEAR; b++) {
    if (bottom_up->best[b] + bottom_up->units->size[b] > goal) box[n++] = &bottom_up->units->boxes->box[b];
  }
  return n;
}

/* Does the box overlap one of them in time? */
static int is_near(const plim_box *box, const plim_box *const *sticking, int32_t n) {
  int near = 0;
  for (int32_t i = 0; i < n; i++) near |= (box->begin < sticking[i]->end) & (sticking[i]->begin < box->end);
  return near;
}

/* New priorities from those of the best: higher for boxes that stick out, changed at random for some others. */
static void change_keys(plim_bottom_up *bottom_up, int64_t goal) {
  const plim_box *sticking[MAX_NEAR];
  int32_t few = bottom_up->units->n <= pack_tuning.bottom_up.few_boxes,
          n = few ? 0 : list_sticking(bottom_up, goal, sticking);
  for (int32_t b = 0; b < bottom_up->units->n; b++) {
    double factor = 1;
    if (bottom_up->best[b] + bottom_up->units->size[b] > goal) {
      factor = 1 + pack_tuning.bottom_up.sticking_factor * plim_random_unit(&bottom_up->random);
    } else if (few || is_near(&bottom_up->units->boxes->box[b], sticking, n)) {
      int changes = plim_random_percent(
          &bottom_up->random, few ? pack_tuning.bottom_up.change_percent : pack_tuning.bottom_up.change_percent_near);
      if (changes) {
        factor = pack_tuning.bottom_up.factor_min +
                 pack_tuning.bottom_up.factor_range * plim_random_unit(&bottom_up->random);
      }
    }
    bottom_up->key[b] = bottom_up->best_key[b] * factor;
  }
}

int64_t plim_bottom_up_run(plim_bottom_up *bottom_up, int64_t goal, int64_t *offset) {
  size_t n = (size_t)bottom_up->units->n;
  int starting = bottom_up->runs < STARTS;
  pick how = starting ? start[bottom_up->runs].pick : bottom_up->pick;
  if (starting) {
    set_keys(bottom_up, start[bottom_up->runs].by);
  } else {
    change_keys(bottom_up, goal);
  }
  int64_t size = fill(bottom_up, how, bottom_up->packed_size, offset);
  bottom_up->runs++;
  if (size > bottom_up->packed_size || (starting && size == bottom_up->packed_size)) return size;
  bottom_up->packed_size = size;
  bottom_up->pick = how;
  memcpy(bottom_up->best_key, bottom_up->key, n * sizeof *bottom_up->key);
  memcpy(bottom_up->best, offset, n * sizeof *offset);
  return size;
}
