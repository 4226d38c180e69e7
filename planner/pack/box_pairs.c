/* Exact packing of boxes with gaps that leave a part of a box. The part may lie anywhere in the box, so a box below
 * another may have the higher offset. A search that places boxes by offset misses such packings.
 *
 * Here each pair of boxes that are alive together is decided: which one lies below. The pair with the least freedom is
 * next. A decision is a difference constraint, which narrows the ranges [low, high] of offsets. A branch fails where a
 * range is empty. Where all pairs are decided, the lows are a packing. Of equal boxes one order is tried.
 * Source: disjunctive constraints, as in job-shop scheduling (Carlier and Pinson, 1989). */
#include "planner/pack/exact.h"

#include <string.h>

#include "planner/pack/pack_tuning.h"
#include "planner/pack/units.h"
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

static int32_t count_pairs(const plim_units *u, pair *out) {
  int32_t n = 0;
  for (int32_t x = 0; x < u->n; x++) {
    for (int32_t y = x + 1; y < u->n && n <= PLIM_PAIRS_MAX; y++) {
      int64_t separation = plim_units_separation(u, x, y);
      if (separation == PLIM_NO_SEPARATION) continue;
      if (out) out[n] = (pair){x, y, separation, plim_units_separation(u, y, x)};
      n++;
    }
  }
  return n;
}

plim_status plim_pairs_new(const plim_units *units, plim_pairs **out) {
  plim_context *ctx = units->ctx;
  plim_pairs *p = NULL;
  plim_status status;
  int32_t n_pairs = count_pairs(units, NULL);
  *out = NULL;
  if (n_pairs > PLIM_PAIRS_MAX) return PLIM_OK;
  int64_t bytes_a_node = (int64_t)units->n * (int64_t)sizeof(range) + n_pairs + 1;
  PLIM_CHECK(plim_allocate(ctx, 1, sizeof *p, &p));
  *p = (plim_pairs){.units = units, .n_pairs = n_pairs};
  p->depths = n_pairs + 1 < pack_tuning.pairs.kept_bytes / bytes_a_node
                  ? n_pairs + 1
                  : (int32_t)(pack_tuning.pairs.kept_bytes / bytes_a_node);
  PLIM_CHECK(plim_allocate(ctx, n_pairs, sizeof *p->pair, &p->pair));
  PLIM_CHECK(plim_allocate(ctx, n_pairs, 1, &p->decided));
  PLIM_CHECK(plim_allocate(ctx, units->n, sizeof *p->range, &p->range));
  PLIM_CHECK(plim_allocate(ctx, (int64_t)p->depths * units->n, sizeof *p->kept, &p->kept));
  PLIM_CHECK(plim_allocate(ctx, (int64_t)p->depths * n_pairs, 1, &p->chosen));
  (void)count_pairs(units, p->pair);
  *out = p;
done:
  if (status != PLIM_OK) plim_pairs_free(p);
  return status;
}

void plim_pairs_free(plim_pairs *p) {
  if (!p) return;
  plim_context *ctx = p->units->ctx;
  int32_t n = p->units->n;
  plim_release(ctx, p->pair, p->n_pairs, sizeof *p->pair);
  plim_release(ctx, p->decided, p->n_pairs, 1);
  plim_release(ctx, p->range, n, sizeof *p->range);
  plim_release(ctx, p->kept, (int64_t)p->depths * n, sizeof *p->kept);
  plim_release(ctx, p->chosen, (int64_t)p->depths * p->n_pairs, 1);
  plim_release(ctx, p, 1, sizeof *p);
}

/* ---- ranges ---- */

static int64_t aligned_down(const plim_units *u, int32_t box, int64_t offset) {
  return offset < 0 ? -1 : offset / u->align[box] * u->align[box];
}

/* `below` reaches so far over the bottom of `above`; returns whether a range changed. */
static int narrow(plim_pairs *p, int32_t below, int32_t above, int64_t separation) {
  range *b = &p->range[below], *a = &p->range[above];
  int changed = 0;
  if (b->low + separation > a->low) {
    a->low = plim_units_align(p->units, above, b->low + separation);
    changed = 1;
  }
  if (a->high - separation < b->high) {
    b->high = aligned_down(p->units, below, a->high - separation);
    changed = 1;
  }
  return changed;
}

/* Decide what can be one way only and narrow all ranges until nothing changes; 0: this branch fails. */
static int propagate(plim_pairs *p) {
  for (int changed = 1; changed && p->nodes < p->limits->nodes;) {
    changed = 0;
    p->nodes++;
    for (int32_t i = 0; i < p->n_pairs; i++) {
      const pair *t = &p->pair[i];
      const range *x = &p->range[t->first], *y = &p->range[t->second];
      if (p->decided[i] == OPEN) {
        int first = x->low + t->first_below <= y->high, second = y->low + t->second_below <= x->high;
        if (!first && !second) return 0;
        if (first && second) continue;
        p->decided[i] = first ? FIRST_BELOW : SECOND_BELOW;
      }
      changed |= p->decided[i] == FIRST_BELOW ? narrow(p, t->first, t->second, t->first_below)
                                              : narrow(p, t->second, t->first, t->second_below);
      if (x->low > x->high || y->low > y->high) return 0;
    }
  }
  return 1;
}

/* The open pair that leaves its boxes the least room, -1: all are decided. Pairs that the ranges decide alone stay
 * open until they matter. */
static int32_t tightest(const plim_pairs *p) {
  int64_t least = INT64_MAX;
  int32_t found = -1;
  for (int32_t i = 0; i < p->n_pairs; i++) {
    if (p->decided[i] != OPEN) continue;
    const pair *t = &p->pair[i];
    int64_t room = p->range[t->second].high - p->range[t->first].low - t->first_below + p->range[t->first].high -
                   p->range[t->second].low - t->second_below;
    if (room >= least) continue;
    least = room;
    found = i;
  }
  return found;
}

static decision likelier(const plim_pairs *p, int32_t i) {
  const pair *t = &p->pair[i];
  int64_t first = p->range[t->second].high - p->range[t->first].low - t->first_below;
  int64_t second = p->range[t->first].high - p->range[t->second].low - t->second_below;
  return first >= second ? FIRST_BELOW : SECOND_BELOW;
}

/* ---- the search ---- */

static int out_of_limits(const plim_pairs *p) {
  return p->nodes >= p->limits->nodes || plim_effort_over(p->units->ctx, p->units->n) ||
         (p->limits->deadline_ns < INT64_MAX && plim_now_ns() > p->limits->deadline_ns);
}

static void keep(plim_pairs *p, int32_t depth) {
  memcpy(p->kept + (int64_t)depth * p->units->n, p->range, (size_t)p->units->n * sizeof *p->range);
  memcpy(p->chosen + (int64_t)depth * p->n_pairs, p->decided, (size_t)p->n_pairs);
}

static void restore(plim_pairs *p, int32_t depth) {
  memcpy(p->range, p->kept + (int64_t)depth * p->units->n, (size_t)p->units->n * sizeof *p->range);
  memcpy(p->decided, p->chosen + (int64_t)depth * p->n_pairs, (size_t)p->n_pairs);
}

/* Depth first. A depth keeps the node before its decision, with the second choice made when the first is tried. */
static plim_pack_outcome search_pairs(plim_pairs *p) {
  int32_t depth = 0;
  for (;;) {
    int holds = propagate(p);
    if (out_of_limits(p)) return PLIM_PACK_LIMIT;
    if (holds) {
      int32_t i = tightest(p);
      if (i < 0) return PLIM_PACK_FOUND;
      if (depth == p->depths) return PLIM_PACK_LIMIT;
      decision first = likelier(p, i);
      p->decided[i] = first == FIRST_BELOW ? SECOND_BELOW : FIRST_BELOW;
      keep(p, depth++);
      p->decided[i] = (unsigned char)first;
    } else if (depth > 0) {
      restore(p, --depth);
    } else {
      return PLIM_PACK_IMPOSSIBLE;
    }
  }
}

static int are_twins(const plim_units *u, int32_t x, int32_t y) {
  const plim_boxes *b = u->boxes;
  const plim_box *s = &b->box[x], *t = &b->box[y];
  int gaps = b->gap && (b->gap_first[x] < b->gap_first[x + 1] || b->gap_first[y] < b->gap_first[y + 1]);
  return !gaps && s->begin == t->begin && s->end == t->end && u->size[x] == u->size[y] && u->align[x] == u->align[y] &&
         s->fixed < 0 && t->fixed < 0;
}

plim_pack_outcome plim_pairs_run(plim_pairs *p, int64_t capacity, const plim_exact_limits *limits, int64_t *offset,
                                 int64_t *nodes) {
  const plim_units *u = p->units;
  p->nodes = 0;
  p->limits = limits;
  plim_pack_outcome outcome = PLIM_PACK_FOUND;
  for (int32_t x = 0; x < u->n; x++) {
    int64_t top = aligned_down(u, x, capacity - u->size[x]), fixed = u->fixed[x];
    p->range[x] = fixed < 0 ? (range){0, top} : (range){fixed, fixed};
    if (p->range[x].low > top) outcome = PLIM_PACK_IMPOSSIBLE;
  }
  for (int32_t i = 0; i < p->n_pairs; i++) {
    p->decided[i] = are_twins(u, p->pair[i].first, p->pair[i].second) ? FIRST_BELOW : OPEN;
  }
  if (outcome == PLIM_PACK_FOUND) outcome = search_pairs(p);
  for (int32_t x = 0; x < u->n && outcome == PLIM_PACK_FOUND; x++) offset[x] = p->range[x].low;
  *nodes = p->nodes;
  return outcome;
}
