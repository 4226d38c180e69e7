/* Exact packing by depth-first search (Moffitt, MiniMalloc, ASPLOS 2023).
 *
 * Every packing can be pushed down until each box lies at the bottom or on top of another. So it is enough to place
 * boxes in nondecreasing order of offset, each at the lowest offset that the placed ones leave it: low[x]. For each
 * section the search keeps the floor under which nothing unplaced can go any more, and the units still to be placed
 * there: floor + rest > capacity ends a branch. Where no unplaced box spans the border of two sections the problem
 * falls apart, and the parts are solved one after the other. Of boxes equal in time and size one order is tried.
 *
 * Invariant: all changes go through the trail; a failed branch leaves every array as it found it.
 * Everything is in units of the alignment; part lists are sorted by first section. */
#include "planner/pack/pack_exact.h"

#include <stdlib.h>

#include "planner/pack/pack_sections.h"

/* A static order sorts by three keys, all descending: a portfolio, since no order suits every instance. */
enum { KEY_LENGTH, KEY_AREA, KEY_TOTAL, KEYS };
static const int orders[][KEYS] = {
    {KEY_LENGTH, KEY_AREA, KEY_TOTAL}, {KEY_TOTAL, KEY_AREA, KEY_LENGTH}, {KEY_TOTAL, KEY_LENGTH, KEY_AREA}};
enum { N_ORDERS = sizeof orders / sizeof orders[0], MOST_BOXES = 8192 /* a recursion a box */ };

typedef struct ranked {
  int64_t key[KEYS];
  int32_t box;
} ranked;

typedef struct change {
  int64_t *at, old;
} change;

/* A growing stack. */
typedef struct pile {
  int64_t top, room;
} pile;

typedef struct exact {
  plim_context *ctx;
  plim_sections sections;
  int64_t capacity;
  int64_t *low, *place;        /* [n] lowest offset left; offset, -1 while unplaced */
  int64_t *floor, *rest, *cut; /* [n_sections]; cut: unplaced boxes over the border to the next section */
  ranked *order;               /* [n] the static order */
  int32_t *rank, *twin;        /* [n] place in it; the equal box before this one in it, or -1 */
  int32_t *stamp, stamp_now;   /* [n_sections] sections whose floor may have to rise */
  int32_t *part, *candidate;
  change *trail;
  pile parts, candidates, trails;
  int64_t nodes, node_limit;
  plim_status status; /* a failure, or PLIM_ECANCEL: every branch ends */
} exact;

/* Offset and rank that the next box of a part must not come before. */
typedef struct frontier {
  int64_t offset;
  int32_t rank;
} frontier;
static const frontier from_the_bottom = {0, -1};

static int reserve(exact *e, void *array, pile *p, size_t size) {
  if (p->top < p->room) return 1;
  plim_status status = plim_resize_array(e->ctx, array, p->room, p->room * 2, size);
  if (status == PLIM_OK) {
    p->room *= 2;
  } else {
    e->status = status;
  }
  return status == PLIM_OK;
}

static void set(exact *e, int64_t *at, int64_t value) {
  if (!reserve(e, &e->trail, &e->trails, sizeof *e->trail)) return;
  e->trail[e->trails.top++] = (change){at, *at};
  *at = value;
}

static void undo(exact *e, int64_t mark) {
  while (e->trails.top > mark) {
    change c = e->trail[--e->trails.top];
    *c.at = c.old;
  }
}

/* Raise a section's floor to the lowest place that is left in it, but at least to `least`; does the rest still fit? */
static int raise_floor(exact *e, int32_t section, int64_t least) {
  const plim_sections *s = &e->sections;
  int64_t lowest = INT64_MAX;
  for (int32_t m = s->member_first[section]; m < s->member_first[section + 1]; m++) {
    int32_t x = s->member[m];
    if (e->place[x] < 0 && e->low[x] < lowest) lowest = e->low[x];
  }
  if (lowest < least) lowest = least;
  if (lowest > e->floor[section]) set(e, &e->floor[section], lowest);
  return e->floor[section] + e->rest[section] <= e->capacity;
}

/* Push up what overlaps the box just placed below `top`. Sets the range of touched sections and whether anything
 * unplaced overlaps at all. */
static int push_overlaps(exact *e, int32_t x, int64_t top, int32_t *first, int32_t *last, int *hat) {
  const plim_sections *s = &e->sections;
  for (int32_t i = s->overlap_first[x]; i < s->overlap_first[x + 1]; i++) {
    int32_t y = s->overlap[i];
    if (e->place[y] >= 0) continue;
    *hat = 1;
    int64_t old = e->low[y];
    if (old >= top) continue;
    set(e, &e->low[y], top);
    const plim_section_box *box = &s->box[y];
    if (top + box->size > e->capacity || (box->fixed >= 0 && box->fixed < top)) return 0;
    for (int32_t section = box->first; section < box->last; section++) {
      if (old <= e->floor[section]) e->stamp[section] = e->stamp_now;
    }
    if (box->first < *first) *first = box->first;
    if (box->last > *last) *last = box->last;
  }
  return 1;
}

/* Place x at its lowest offset and draw the conclusions; [first, last) are the part's sections. */
static int place(exact *e, int32_t x, int32_t part_first, int32_t part_last, int *hat, int *split) {
  const plim_section_box *box = &e->sections.box[x];
  int64_t offset = e->low[x], top = offset + box->size;
  int32_t first = box->first, last = box->last;
  e->stamp_now++;
  set(e, &e->place[x], offset);
  for (int32_t s = box->first; s < box->last; s++) {
    set(e, &e->rest[s], e->rest[s] - box->size);
    if (top > e->floor[s]) set(e, &e->floor[s], top);
    e->stamp[s] = e->stamp_now;
    if (s + 1 == box->last) break;
    set(e, &e->cut[s], e->cut[s] - 1);
    if (e->cut[s] == 0) *split = 1;
  }
  if (!push_overlaps(e, x, top, &first, &last, hat)) return 0;
  for (int32_t s = first; s < last; s++) {
    if (e->stamp[s] == e->stamp_now && e->rest[s] > 0 && !raise_floor(e, s, offset)) return 0;
  }
  /* what is still to come in this part lies at `offset` or above */
  for (int32_t s = part_first; s < part_last; s++) {
    if (offset + e->rest[s] > e->capacity) return 0;
  }
  return e->status == PLIM_OK;
}

/* Push the boxes that may come next, sorted by (low, rank), behind candidate[from]; returns 0 when all are placed. */
static int list_candidates(exact *e, int64_t begin, int64_t end, frontier after) {
  int64_t from = e->candidates.top, lid = INT64_MAX;
  for (int64_t i = begin; i < end; i++) {
    int32_t x = e->part[i];
    if (e->place[x] >= 0) continue;
    if (e->low[x] + e->sections.box[x].size < lid) lid = e->low[x] + e->sections.box[x].size;
  }
  for (int64_t i = begin; i < end && lid != INT64_MAX; i++) {
    int32_t x = e->part[i], twin = e->twin[x];
    /* from `lid` on another box fits below and would leave a useless gap */
    if (e->place[x] >= 0 || e->low[x] >= lid) continue;
    if (e->low[x] < after.offset || (e->low[x] == after.offset && e->rank[x] < after.rank)) continue;
    if (twin >= 0 && e->place[twin] < 0 && e->low[twin] <= e->low[x]) continue;
    if (!reserve(e, &e->candidate, &e->candidates, sizeof *e->candidate)) return 1;
    int64_t k = e->candidates.top++;
    for (; k > from; k--) {
      int32_t y = e->candidate[k - 1];
      if (e->low[y] < e->low[x] || (e->low[y] == e->low[x] && e->rank[y] < e->rank[x])) break;
      e->candidate[k] = y;
    }
    e->candidate[k] = x;
  }
  return lid != INT64_MAX;
}

static int out_of_nodes(exact *e) {
  e->nodes++;
  if (e->nodes % 1024 == 0 && plim_context_cancelled(e->ctx)) {
    e->status = plim_fail(e->ctx, PLIM_ECANCEL, "packing was cancelled");
  }
  return e->nodes > e->node_limit || e->status != PLIM_OK;
}

static int solve_parts(exact *e, int64_t begin, int64_t end, frontier after);

/* Complete a packing of part[begin, end), one connected range of sections. */
static int solve(exact *e, int64_t begin, int64_t end, frontier after) {
  if (out_of_nodes(e)) return 0;
  int64_t from = e->candidates.top;
  if (!list_candidates(e, begin, end, after)) return 1;
  int64_t to = e->candidates.top;
  int32_t part_first = e->sections.box[e->part[begin]].first, part_last = part_first;
  for (int64_t i = begin; i < end; i++) {
    if (e->sections.box[e->part[i]].last > part_last) part_last = e->sections.box[e->part[i]].last;
  }
  int solved = 0;
  for (int64_t i = from; i < to && !solved && e->nodes <= e->node_limit && e->status == PLIM_OK; i++) {
    int32_t x = e->candidate[i];
    int64_t mark = e->trails.top;
    frontier next = {e->low[x], e->rank[x]};
    int hat = 0, split = 0;
    if (place(e, x, part_first, part_last, &hat, &split)) {
      solved = split ? solve_parts(e, begin, end, next) : solve(e, begin, end, next);
    }
    if (!solved) undo(e, mark);
    if (!hat) break; /* nothing unplaced overlaps x: other places of x cannot help */
  }
  e->candidates.top = from;
  return solved;
}

/* Solve the connected parts of what is unplaced in part[begin, end) one after the other. */
static int solve_parts(exact *e, int64_t begin, int64_t end, frontier after) {
  int64_t from = e->parts.top;
  for (int64_t i = begin; i < end; i++) {
    if (e->place[e->part[i]] >= 0) continue;
    if (!reserve(e, &e->part, &e->parts, sizeof *e->part)) return 0;
    e->part[e->parts.top++] = e->part[i];
  }
  int64_t to = e->parts.top;
  int solved = 1;
  for (int64_t i = from, j; i < to && solved; i = j) {
    int32_t last = e->sections.box[e->part[i]].last;
    for (j = i + 1; j < to && e->sections.box[e->part[j]].first < last; j++) {
      if (e->sections.box[e->part[j]].last > last) last = e->sections.box[e->part[j]].last;
    }
    solved = solve(e, i, j, i == from && j == to ? after : from_the_bottom);
  }
  e->parts.top = from;
  return solved;
}

static int by_keys(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  for (int k = 0; k < KEYS; k++) {
    if (x->key[k] != y->key[k]) return x->key[k] > y->key[k] ? -1 : 1;
  }
  return (x->box > y->box) - (x->box < y->box);
}

/* Everything unplaced, ranks by the order. */
static void reset(exact *e, const plim_box *box, const int *order) {
  const plim_sections *s = &e->sections;
  for (int32_t i = 0; i < s->n_sections; i++) e->rest[i] = e->floor[i] = e->cut[i] = 0;
  for (int32_t x = 0; x < s->n; x++) {
    e->low[x] = s->box[x].fixed >= 0 ? s->box[x].fixed : 0;
    e->place[x] = -1;
    for (int32_t i = s->box[x].first; i < s->box[x].last; i++) {
      e->rest[i] += s->box[x].size;
      if (i + 1 < s->box[x].last) e->cut[i]++;
    }
  }
  for (int32_t x = 0; x < s->n; x++) {
    int64_t length = box[x].end - box[x].begin, total = 0;
    for (int32_t i = s->box[x].first; i < s->box[x].last; i++) total = e->rest[i] > total ? e->rest[i] : total;
    const int64_t key[KEYS] = {length, length * s->box[x].size, total};
    e->order[x] = (ranked){{key[order[0]], key[order[1]], key[order[2]]}, x};
  }
  qsort(e->order, (size_t)s->n, sizeof *e->order, by_keys);
  for (int32_t r = 0; r < s->n; r++) {
    int32_t x = e->order[r].box;
    e->rank[x] = r;
    e->twin[x] = -1;
    for (int32_t q = r - 1; q >= 0 && e->twin[x] < 0; q--) {
      const plim_section_box *a = &s->box[x], *b = &s->box[e->order[q].box];
      if (a->first == b->first && a->last == b->last && a->size == b->size && a->fixed < 0 && b->fixed < 0) {
        e->twin[x] = e->order[q].box;
      }
    }
  }
  e->trails.top = e->candidates.top = e->parts.top = 0;
}

/* The whole problem as one list, sorted by first section. */
static plim_status list_all(exact *e) {
  const plim_sections *s = &e->sections;
  for (int32_t section = 0; section < s->n_sections; section++) {
    for (int32_t m = s->member_first[section]; m < s->member_first[section + 1]; m++) {
      if (s->box[s->member[m]].first != section) continue;
      if (!reserve(e, &e->part, &e->parts, sizeof *e->part)) return e->status;
      e->part[e->parts.top++] = s->member[m];
    }
  }
  return PLIM_OK;
}

static plim_status allocate(exact *e) {
  int32_t n = e->sections.n, sections = e->sections.n_sections;
  PLIM_TRY(plim_allocate(e->ctx, n, sizeof *e->low, &e->low));
  PLIM_TRY(plim_allocate(e->ctx, n, sizeof *e->place, &e->place));
  PLIM_TRY(plim_allocate(e->ctx, n, sizeof *e->order, &e->order));
  PLIM_TRY(plim_allocate(e->ctx, n, sizeof *e->rank, &e->rank));
  PLIM_TRY(plim_allocate(e->ctx, n, sizeof *e->twin, &e->twin));
  PLIM_TRY(plim_allocate(e->ctx, sections, sizeof *e->floor, &e->floor));
  PLIM_TRY(plim_allocate(e->ctx, sections, sizeof *e->rest, &e->rest));
  PLIM_TRY(plim_allocate(e->ctx, sections, sizeof *e->cut, &e->cut));
  PLIM_TRY(plim_allocate(e->ctx, sections, sizeof *e->stamp, &e->stamp));
  e->parts.room = e->candidates.room = e->trails.room = 1024;
  PLIM_TRY(plim_allocate(e->ctx, e->parts.room, sizeof *e->part, &e->part));
  PLIM_TRY(plim_allocate(e->ctx, e->candidates.room, sizeof *e->candidate, &e->candidate));
  return plim_allocate(e->ctx, e->trails.room, sizeof *e->trail, &e->trail);
}

static void release(exact *e) {
  int32_t n = e->sections.n, sections = e->sections.n_sections;
  plim_release(e->ctx, e->low, n, sizeof *e->low);
  plim_release(e->ctx, e->place, n, sizeof *e->place);
  plim_release(e->ctx, e->order, n, sizeof *e->order);
  plim_release(e->ctx, e->rank, n, sizeof *e->rank);
  plim_release(e->ctx, e->twin, n, sizeof *e->twin);
  plim_release(e->ctx, e->floor, sections, sizeof *e->floor);
  plim_release(e->ctx, e->rest, sections, sizeof *e->rest);
  plim_release(e->ctx, e->cut, sections, sizeof *e->cut);
  plim_release(e->ctx, e->stamp, sections, sizeof *e->stamp);
  plim_release(e->ctx, e->part, e->parts.room, sizeof *e->part);
  plim_release(e->ctx, e->candidate, e->candidates.room, sizeof *e->candidate);
  plim_release(e->ctx, e->trail, e->trails.room, sizeof *e->trail);
  plim_sections_free(&e->sections);
}

/* Try the orders in turn with growing node limits until one ends or the nodes are spent. */
static plim_status run_portfolio(exact *e, const plim_box *box, int64_t nodes, plim_pack_outcome *outcome) {
  *outcome = PLIM_PACK_LIMIT;
  for (int64_t share = 2 * (int64_t)e->sections.n; nodes > 0; share *= 2) {
    for (int k = 0; k < N_ORDERS && nodes > 0; k++) {
      reset(e, box, orders[k]);
      PLIM_TRY(list_all(e));
      e->nodes = 0;
      e->node_limit = share < nodes ? share : nodes;
      int solved = solve_parts(e, 0, e->parts.top, from_the_bottom);
      if (e->status != PLIM_OK) return e->status;
      nodes -= e->nodes;
      if (solved || e->nodes <= e->node_limit) {
        *outcome = solved ? PLIM_PACK_FOUND : PLIM_PACK_IMPOSSIBLE;
        return PLIM_OK;
      }
    }
  }
  return PLIM_OK;
}

/* A fixed box above the capacity, or a single box too large, is not seen by the search. */
static int fits_alone(const exact *e) {
  for (int32_t x = 0; x < e->sections.n; x++) {
    const plim_section_box *box = &e->sections.box[x];
    int64_t low = box->fixed >= 0 ? box->fixed : 0;
    if (low > e->capacity - box->size) return 0;
  }
  return 1;
}

plim_status plim_pack_exact(plim_context *ctx, int32_t n, const plim_box *box, int64_t align, int64_t capacity,
                            int64_t nodes, int64_t *offset, plim_pack_outcome *outcome) {
  exact e = {.ctx = ctx, .capacity = capacity / align};
  plim_status status;
  *outcome = PLIM_PACK_LIMIT;
  if (n > MOST_BOXES) return PLIM_OK;
  PLIM_TRY(plim_sections_make(ctx, n, box, align, &e.sections));
  PLIM_CHECK(allocate(&e));
  if (!fits_alone(&e)) {
    *outcome = PLIM_PACK_IMPOSSIBLE;
    goto done;
  }
  PLIM_CHECK(run_portfolio(&e, box, nodes, outcome));
  if (*outcome == PLIM_PACK_FOUND) {
    for (int32_t x = 0; x < n; x++) offset[x] = e.place[x] * align;
  }
done:
  release(&e);
  return status;
}
