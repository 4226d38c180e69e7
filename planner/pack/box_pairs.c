/* Exact packing of boxes with gaps that leave a part of a box. The part may lie anywhere in the box, so a box below
 * another may have the higher offset. A search that places boxes by offset misses such packings.
 *
 * Here each pair of boxes that are alive together is decided: which one lies below. The pair with the least freedom is
 * next. A decision is a difference constraint, which narrows the ranges [low, high] of offsets. A branch fails where a
 * range is empty. Where all pairs are decided, the lows are a packing. Of equal boxes one order is tried.
 * Source: disjunctive constraints, as in job-shop scheduling (Carlier and Pinson, 1989). */
#include "planner/pack/exact_internal.h"

#include <string.h>

#include "planner/pack/pack_tuning.h"
#include "planner/pack/packers.h"
#include "runtime/base/effort.h"

typedef enum decision { OPEN, FIRST_BELOW, SECOND_BELOW } decision;

typedef struct pair {
  int32_t first, second;
  int64_t first_below, second_below; /* separation, in units, where the first (second) lies below */
} pair;

typedef struct range {
  int64_t low, high;
} range;

struct plim_pairs {
  const plim_units *units;
  pair *pair;             /* [n_pairs] */
  unsigned char *decided; /* [n_pairs] of the node under way */
  range *range;           /* [n] of the node under way */
  range *kept;            /* [depths][n] of the nodes above it */
  unsigned char *chosen;  /* [depths][n_pairs] */
  int32_t n_pairs, depths;
  int64_t nodes;
  const plim_exact_limits *limits;
};

static int32_t count_pairs(const plim_units *units, pair *out) {
  int32_t n = 0;
  for (int32_t x = 0; x < units->n; x++) {
    for (int32_t y = x + 1; y < units->n && n <= PLIM_PAIRS_MAX; y++) {
      int64_t separation = plim_units_separation(units, x, y);
      if (separation == PLIM_NO_SEPARATION) continue;
      if (out) out[n] = (pair){x, y, separation, plim_units_separation(units, y, x)};
      n++;
    }
  }
  return n;
}

plim_status plim_pairs_new(const plim_units *units, plim_pairs **out) {
  plim_context *ctx = units->ctx;
  plim_pairs *pairs = NULL;
  plim_status status;
  int32_t n_pairs = count_pairs(units, NULL);
  *out = NULL;
  if (n_pairs > PLIM_PAIRS_MAX) return PLIM_OK;
  int64_t bytes_a_node = (int64_t)units->n * (int64_t)sizeof(range) + n_pairs + 1;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 1, sizeof *pairs, &pairs));
  *pairs = (plim_pairs){.units = units, .n_pairs = n_pairs};
  pairs->depths = n_pairs + 1 < pack_tuning.pairs.kept_bytes / bytes_a_node
                      ? n_pairs + 1
                      : (int32_t)(pack_tuning.pairs.kept_bytes / bytes_a_node);
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n_pairs, sizeof *pairs->pair, &pairs->pair));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n_pairs, 1, &pairs->decided));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, units->n, sizeof *pairs->range, &pairs->range));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)pairs->depths * units->n, sizeof *pairs->kept, &pairs->kept));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)pairs->depths * n_pairs, 1, &pairs->chosen));
  (void)count_pairs(units, pairs->pair);
  *out = pairs;
done:
  if (status != PLIM_OK) plim_pairs_free(pairs);
  return status;
}

void plim_pairs_free(plim_pairs *pairs) {
  if (!pairs) return;
  plim_context *ctx = pairs->units->ctx;
  int32_t n = pairs->units->n;
  plim_release(ctx, pairs->pair, pairs->n_pairs, sizeof *pairs->pair);
  plim_release(ctx, pairs->decided, pairs->n_pairs, 1);
  plim_release(ctx, pairs->range, n, sizeof *pairs->range);
  plim_release(ctx, pairs->kept, (int64_t)pairs->depths * n, sizeof *pairs->kept);
  plim_release(ctx, pairs->chosen, (int64_t)pairs->depths * pairs->n_pairs, 1);
  plim_release(ctx, pairs, 1, sizeof *pairs);
}

/* ---- ranges ---- */

static int64_t aligned_down(const plim_units *units, int32_t box, int64_t offset) {
  return offset < 0 ? -1 : offset / units->align[box] * units->align[box];
}

/* Narrow the ranges of two boxes by their separation, with `below` under `above`. Returns 1 when a range changed. */
static int narrow(plim_pairs *pairs, int32_t below, int32_t above, int64_t separation) {
  range *b = &pairs->range[below], *a = &pairs->range[above];
  int changed = 0;
  if (b->low + separation > a->low) {
    a->low = plim_units_align(pairs->units, above, b->low + separation);
    changed = 1;
  }
  if (a->high - separation < b->high) {
    b->high = aligned_down(pairs->units, below, a->high - separation);
    changed = 1;
  }
  return changed;
}

/* Decide pairs that have one way left, and narrow all ranges, until nothing changes. 0: the branch fails. */
static int propagate(plim_pairs *pairs) {
  for (int changed = 1; changed && pairs->nodes < pairs->limits->nodes;) {
    changed = 0;
    pairs->nodes++;
    for (int32_t i = 0; i < pairs->n_pairs; i++) {
      const pair *t = &pairs->pair[i];
      const range *x = &pairs->range[t->first], *y = &pairs->range[t->second];
      if (pairs->decided[i] == OPEN) {
        int first = x->low + t->first_below <= y->high, second = y->low + t->second_below <= x->high;
        if (!first && !second) return 0;
        if (first && second) continue;
        pairs->decided[i] = first ? FIRST_BELOW : SECOND_BELOW;
      }
      changed |= pairs->decided[i] == FIRST_BELOW ? narrow(pairs, t->first, t->second, t->first_below)
                                                  : narrow(pairs, t->second, t->first, t->second_below);
      if (x->low > x->high || y->low > y->high) return 0;
    }
  }
  return 1;
}

/* Find the open pair whose boxes have the least freedom; -1: no pair is open. */
static int32_t tightest(const plim_pairs *pairs) {
  int64_t least = INT64_MAX;
  int32_t found = -1;
  for (int32_t i = 0; i < pairs->n_pairs; i++) {
    if (pairs->decided[i] != OPEN) continue;
    const pair *t = &pairs->pair[i];
    int64_t room = pairs->range[t->second].high - pairs->range[t->first].low - t->first_below +
                   pairs->range[t->first].high - pairs->range[t->second].low - t->second_below;
    if (room >= least) continue;
    least = room;
    found = i;
  }
  return found;
}

static decision likelier(const plim_pairs *pairs, int32_t i) {
  const pair *t = &pairs->pair[i];
  int64_t first = pairs->range[t->second].high - pairs->range[t->first].low - t->first_below;
  int64_t second = pairs->range[t->first].high - pairs->range[t->second].low - t->second_below;
  return first >= second ? FIRST_BELOW : SECOND_BELOW;
}

/* ---- the search ---- */

static int out_of_limits(const plim_pairs *pairs) {
  return pairs->nodes >= pairs->limits->nodes || plim_effort_over(pairs->units->ctx, pairs->units->n) ||
         (pairs->limits->deadline_ns < INT64_MAX && plim_now_ns() > pairs->limits->deadline_ns);
}

static void keep_node(plim_pairs *pairs, int32_t depth) {
  memcpy(pairs->kept + (int64_t)depth * pairs->units->n, pairs->range, (size_t)pairs->units->n * sizeof *pairs->range);
  memcpy(pairs->chosen + (int64_t)depth * pairs->n_pairs, pairs->decided, (size_t)pairs->n_pairs);
}

static void restore_node(plim_pairs *pairs, int32_t depth) {
  memcpy(pairs->range, pairs->kept + (int64_t)depth * pairs->units->n, (size_t)pairs->units->n * sizeof *pairs->range);
  memcpy(pairs->decided, pairs->chosen + (int64_t)depth * pairs->n_pairs, (size_t)pairs->n_pairs);
}

/* Search depth first. A depth tries its first choice, and keeps the ranges before it and the second choice. */
static plim_pack_outcome search_pairs(plim_pairs *pairs) {
  int32_t depth = 0;
  for (;;) {
    int holds = propagate(pairs);
    if (out_of_limits(pairs)) return PLIM_PACK_LIMIT;
    if (holds) {
      int32_t i = tightest(pairs);
      if (i < 0) return PLIM_PACK_FOUND;
      if (depth == pairs->depths) return PLIM_PACK_LIMIT;
      decision first = likelier(pairs, i);
      pairs->decided[i] = first == FIRST_BELOW ? SECOND_BELOW : FIRST_BELOW;
      keep_node(pairs, depth++);
      pairs->decided[i] = (unsigned char)first;
    } else if (depth > 0) {
      restore_node(pairs, --depth);
    } else {
      return PLIM_PACK_IMPOSSIBLE;
    }
  }
}

static int are_twins(const plim_units *units, int32_t x, int32_t y) {
  const plim_boxes *boxes = units->boxes;
  const plim_box *s = &boxes->box[x], *t = &boxes->box[y];
  int gaps =
      boxes->gap && (boxes->gap_first[x] < boxes->gap_first[x + 1] || boxes->gap_first[y] < boxes->gap_first[y + 1]);
  return !gaps && s->begin == t->begin && s->end == t->end && units->size[x] == units->size[y] &&
         units->align[x] == units->align[y] && s->fixed < 0 && t->fixed < 0;
}

plim_pack_outcome plim_pairs_run(plim_pairs *pairs, int64_t capacity, const plim_exact_limits *limits, int64_t *offset,
                                 int64_t *nodes) {
  const plim_units *units = pairs->units;
  pairs->nodes = 0;
  pairs->limits = limits;
  plim_pack_outcome outcome = PLIM_PACK_FOUND;
  for (int32_t x = 0; x < units->n; x++) {
    int64_t top = aligned_down(units, x, capacity - units->size[x]), fixed = units->fixed[x];
    pairs->range[x] = fixed < 0 ? (range){0, top} : (range){fixed, fixed};
    if (pairs->range[x].low > top) outcome = PLIM_PACK_IMPOSSIBLE;
  }
  for (int32_t i = 0; i < pairs->n_pairs; i++) {
    pairs->decided[i] = are_twins(units, pairs->pair[i].first, pairs->pair[i].second) ? FIRST_BELOW : OPEN;
  }
  if (outcome == PLIM_PACK_FOUND) outcome = search_pairs(pairs);
  for (int32_t x = 0; x < units->n && outcome == PLIM_PACK_FOUND; x++) offset[x] = pairs->range[x].low;
  *nodes = pairs->nodes;
  return outcome;
}
