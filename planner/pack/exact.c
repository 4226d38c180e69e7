/* Exact packing: is there a packing within a capacity? A depth-first search over canonical placements.
 *
 * Every packing can be pushed down until each box lies at offset 0 or on another box. Its boxes can then be placed in
 * nondecreasing order of offset. So a node takes the unplaced box that can lie lowest, and decides: it lies there, or
 * it does not. Each unplaced box has two figures:
 *   low    the lowest offset that the placed boxes leave it
 *   least  the lowest offset that the decisions leave it; above `low` where it was refused its place, since an unplaced
 *          box must then come below it
 *
 * A branch ends for one of four reasons:
 *   section floor  in some section of time, the unplaced boxes, stacked in order of `least`, exceed the capacity: with
 *                  `least` 0 and 5 and the sizes 3 and 2 the stack ends at 7, since the second box cannot lie at 3
 *   dominance      another unplaced box would fit entirely below the box: that is another branch
 *   no support     nothing can come below a box that was refused its lowest place
 *   memo           the same boxes with the same `least` have failed before, in this search or in an earlier one; such
 *                  states are remembered by a 64-bit hash
 *
 * Where no unplaced box spans the border between two sections, the problem falls into parts. They are solved one after
 * the other; where one fails, all fail. Of boxes that are equal in time and size, one order is tried.
 *
 * Among boxes of equal `least`, one that is alone in some section comes first; else the static order decides. Boxes
 * whose placement often failed at once come earlier in later restarts (exact_order.c).
 *
 * A node has a list of its unplaced boxes, sorted by `least`. The list of a child lies after it in memory, so that
 * going back only resets a mark. The stack of nodes is explicit: no recursion. Section floors are most of the work.
 * They are 16 bits, eight sections at a time. Large capacities are counted in coarser units, rounded down: the proof is
 * weaker, and still a proof. Source: Moffitt, MiniMalloc, ASPLOS 2023; restarts, section floors by `least` and the memo
 * over restarts are ours. */
#include "planner/pack/exact.h"

#include <string.h>

#include "planner/pack/pack_tuning.h"
#include "planner/pack/units.h"
#include "runtime/base/bits.h"
#include "runtime/base/effort.h"

typedef plim_pack_waiting_box waiting_box;
typedef plim_pack_part part;
typedef plim_pack_shape shape;

static int overlaps(const plim_exact *e, int32_t x, int32_t y) {
  return (int)(e->over[(int64_t)x * e->words + y / PLIM_WORD] >> (y % PLIM_WORD) & 1);
}

/* The lowest offset of box `above` where box `below` lies at `offset`, at most PLIM_EXACT_UNITS: any offset from there
 * on is above the capacity. */
static int32_t lift(const plim_exact *e, int32_t below, int32_t above, int32_t offset) {
  int64_t align = e->shape[above].align, size = e->shape[below].size;
  if (e->separation) size = e->separation[(int64_t)e->order[below].box * e->n + e->order[above].box];
  int64_t low = offset + size > 0 ? offset + size : 0;
  if (align > 1) low = (low + align - 1) / align * align;
  return low < PLIM_EXACT_UNITS ? (int32_t)low : PLIM_EXACT_UNITS;
}

/* ---- states ---- */

static int comes_before(const waiting_box *a, const waiting_box *b) {
  return a->least < b->least || (a->least == b->least && a->box < b->box);
}

/* Is the section floor of each section in `where` within the capacity? */
static int section_floors_fit(plim_exact *e, const part *p, plim_span where) {
  int16_t *restrict section_floor = e->section_floor, highest = 0;
  int32_t begin = where.first / PLIM_LANES * PLIM_LANES, end = (where.last + PLIM_LANES - 1) / PLIM_LANES * PLIM_LANES;
  for (int32_t s = begin; s < end; s++) section_floor[s] = 0;
  for (int32_t i = 0; i < p->n; i++) {
    const shape *b = &e->shape[p->waiting[i].box];
    const int16_t *restrict mask = b->mask;
    if (p->waiting[i].least > e->capacity) return 0; /* and it may exceed 16 bits */
    int16_t least = (int16_t)(p->waiting[i].least >> e->shift), size = b->section_floor;
    int32_t from = b->first / PLIM_LANES * PLIM_LANES, to = b->last < end ? b->last : end;
    for (int32_t s = from > begin ? from : begin; s < to; s += PLIM_LANES) {
      for (int k = 0; k < PLIM_LANES; k++) {
        int16_t low = (int16_t)(least & mask[s + k]), old = section_floor[s + k];
        section_floor[s + k] = (int16_t)((old > low ? old : low) + (size & mask[s + k]));
      }
    }
  }
  for (int32_t s = begin; s < end; s++) highest = section_floor[s] > highest ? section_floor[s] : highest;
  return highest <= e->capacity >> e->shift;
}

static uint64_t hash_state(const plim_exact *e, const part *p) {
  uint64_t hash = (uint64_t)e->capacity * 0x9e3779b97f4a7c15U;
  for (int32_t i = 0; i < p->n; i++) {
    uint64_t x = (uint64_t)e->order[p->waiting[i].box].box << 32 | (uint32_t)p->waiting[i].least;
    x = (x + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
    hash += (x ^ (x >> 32)) * 0x94d049bb133111ebU;
  }
  return hash ? hash : 1;
}

static uint64_t *memo_at(const plim_exact *e, uint64_t hash) {
  return &e->failed[(hash ^ (hash >> 29)) & (uint64_t)(e->n_memo - 1)];
}

static int out_of_nodes(plim_exact *e) {
  const plim_exact_limits *l = e->limits;
  e->nodes++;
  if (e->nodes > l->nodes) e->stopped = 1;
  if (e->nodes % pack_tuning.exact.nodes_a_look == 0) {
    e->stopped |= plim_effort_over(e->units->ctx, pack_tuning.exact.nodes_a_look * (int64_t)e->n) ||
                  (l->deadline_ns < INT64_MAX && plim_now_ns() > l->deadline_ns);
  }
  return e->stopped;
}

/* Raise box i to `least` and put it where it belongs. */
static void raise_box(part *p, int32_t i, int32_t least) {
  waiting_box it = p->waiting[i];
  it.least = least;
  for (; i + 1 < p->n && comes_before(&p->waiting[i + 1], &it); i++) p->waiting[i] = p->waiting[i + 1];
  p->waiting[i] = it;
}

static void insert_box(part *p, waiting_box it) {
  int32_t at = p->n++;
  for (; at > 0 && comes_before(&it, &p->waiting[at - 1]); at--) p->waiting[at] = p->waiting[at - 1];
  p->waiting[at] = it;
}

/* ---- decisions ---- */

static void touch(plim_span *touched, const shape *b) {
  if (b->first < touched->first) touched->first = b->first;
  if (b->last > touched->last) touched->last = b->last;
}

/* Merge the boxes marked in e->raised, all with low and least `top`, into the list. */
static void merge_raised(plim_exact *e, part *to, int32_t n_raised, int32_t top) {
  waiting_box *out = to->waiting;
  int32_t from = to->n - 1, at = to->n + n_raised - 1;
  to->n += n_raised;
  for (int32_t w = e->words - 1; w >= 0; w--) {
    for (uint64_t bits = e->raised[w]; bits;) {
      int32_t bit = plim_bits_highest(bits);
      waiting_box it = {top, top, w * PLIM_WORD + bit};
      bits ^= (uint64_t)1 << bit;
      while (from >= 0 && comes_before(&it, &out[from])) out[at--] = out[from--];
      out[at--] = it;
    }
    e->raised[w] = 0;
  }
}

/* Make the list of a child: the boxes of p without x, with those that overlap x in time raised to its top. `touched`
 * grows by their sections. Returns 0 where one does not fit any more. */
static int make_child(plim_exact *e, const part *p, int32_t x, int32_t offset, part *to, plim_span *touched) {
  const uint64_t *row = &e->over[(int64_t)x * e->words];
  int32_t top = offset + e->shape[x].size, raised = 0, fits = 1;
  /* boxes that are not raised come first, and keep their order */
  for (int32_t i = 0; i < p->n && fits; i++) {
    waiting_box it = p->waiting[i];
    const shape *b = &e->shape[it.box];
    if (it.box == x) continue;
    if ((row[it.box / PLIM_WORD] >> (it.box % PLIM_WORD) & 1) && it.low < top) {
      it.low = top;
      fits = b->fixed < 0 || b->fixed >= top;
      if (it.least < top) {
        fits = fits && top + b->size <= e->capacity;
        e->raised[it.box / PLIM_WORD] |= (uint64_t)1 << (it.box % PLIM_WORD);
        touch(touched, b);
        raised++;
        continue;
      }
    }
    to->waiting[to->n++] = it;
  }
  if (fits) {
    merge_raised(e, to, raised, top);
  } else {
    memset(e->raised, 0, (size_t)e->words * sizeof *e->raised);
  }
  return fits;
}

/* The same where boxes have gaps or alignments of their own, so that each is raised to another offset. */
static int make_uneven_child(plim_exact *e, const part *p, int32_t x, int32_t offset, part *to, plim_span *touched) {
  for (int32_t i = 0; i < p->n; i++) {
    waiting_box it = p->waiting[i];
    const shape *b = &e->shape[it.box];
    if (it.box == x) continue;
    int32_t low = overlaps(e, x, it.box) ? lift(e, x, it.box, offset) : 0;
    if (low > it.low) it.low = low;
    if (low > it.least) {
      it.least = low;
      touch(touched, b);
    }
    if (it.least + b->size > e->capacity || (b->fixed >= 0 && b->fixed < it.low)) return 0;
    insert_box(to, it);
  }
  return 1;
}

/* The lowest offset of box i where it is refused its place, so that an unplaced box lies below it, at `offset` or
 * above. -1: there is none within the capacity. */
static int32_t next_place(const plim_exact *e, const part *p, int32_t i, int32_t offset) {
  int32_t x = p->waiting[i].box, best = INT32_MAX;
  if (e->shape[x].fixed >= 0) return -1;
  for (int32_t k = 0; k < p->n && p->waiting[k].least < best; k++) {
    int32_t y = p->waiting[k].box, least = p->waiting[k].least > offset ? p->waiting[k].least : offset;
    if (k == i || !overlaps(e, x, y)) continue;
    int32_t place = lift(e, y, x, least);
    if (place < best && place > p->waiting[i].low) best = place;
  }
  return best == INT32_MAX || best + e->shape[x].size > e->capacity ? -1 : best;
}

/* The dominance limit: at an offset from here on, another box would fit entirely below. */
static int32_t dominance_limit(const plim_exact *e, const part *p) {
  int32_t limit = INT32_MAX;
  for (int32_t i = 0; i < p->n; i++) {
    int32_t top = p->waiting[i].low + e->shape[p->waiting[i].box].size;
    limit = top < limit ? top : limit;
  }
  return limit;
}

/* The first box that was not refused its place (low == least); p->n: none. */
static int32_t first_open(const part *p) {
  int32_t i = 0;
  while (i < p->n && p->waiting[i].low < p->waiting[i].least) i++;
  return i;
}

/* The box to decide on, of those that can lie as low as box `next`: the first that is the only one of them in some
 * section. If it does not lie there, no other box can, and that room stays empty. Without such a box: `next`. */
static int32_t prefer_forced(plim_exact *e, const part *p, int32_t next) {
  int32_t least = p->waiting[next].least, end = next;
  for (int32_t s = p->first; s < p->last; s++) e->rivals[s] = 0;
  for (; end < p->n && p->waiting[end].least == least; end++) {
    const shape *b = &e->shape[p->waiting[end].box];
    for (int32_t s = b->first; s < b->last && p->waiting[end].low == least; s++) e->rivals[s]++;
  }
  for (int32_t i = next; i < end && end - next > 1; i++) {
    const shape *b = &e->shape[p->waiting[i].box];
    if (p->waiting[i].low != least) continue;
    for (int32_t s = b->first; s < b->last; s++) {
      if (e->rivals[s] == 1) return i;
    }
  }
  return next;
}

/* The box to decide on; -1: this state fails. The boxes before it in the list were refused their places. Boxes that
 * are still unplaced come at its offset or above, so those boxes are raised. */
static int32_t next_box(plim_exact *e, part *p) {
  int32_t next = first_open(p);
  plim_span touched = {p->last, p->first};
  if (next == p->n || p->waiting[next].least >= dominance_limit(e, p)) return -1;
  int32_t offset = p->waiting[next].least;
  for (int32_t i = 0; i < next;) {
    int32_t least = next_place(e, p, i, offset);
    if (least < 0) return -1;
    if (least <= p->waiting[i].least) {
      i++;
      continue;
    }
    touch(&touched, &e->shape[p->waiting[i].box]);
    raise_box(p, i, least);
    next = first_open(p);
  }
  if (touched.first < touched.last && !section_floors_fit(e, p, touched)) return -1;
  return prefer_forced(e, p, next);
}

/* Room for a list of at most n boxes, after all others; NULL: there is no memory, and the search ends. */
static waiting_box *take_list(plim_exact *e, int32_t n) {
  plim_pack_mark *top = &e->top;
  if (top->box + n > e->chunk_boxes) *top = (plim_pack_mark){top->chunk + 1, 0};
  plim_pack_chunk *chunk = &e->chunk[top->chunk];
  if (!chunk->boxes) e->status = plim_allocate(e->units->ctx, e->chunk_boxes, sizeof *chunk->boxes, &chunk->boxes);
  if (!chunk->boxes) {
    e->stopped = 1;
    return NULL;
  }
  waiting_box *list = chunk->boxes + top->box;
  top->box += n;
  return list;
}

/* Box x is placed (by -1) or unplaced again (by 1). Returns 1 where a border between sections has no unplaced box left.
 */
static int count_cuts(plim_exact *e, int32_t x, int32_t by) {
  int split = 0;
  for (int32_t s = e->shape[x].first; s + 1 < e->shape[x].last; s++) {
    e->cut[s] += by;
    split |= e->cut[s] == 0;
  }
  return split;
}

/* ---- the way down ---- */

/* What a frame tells the frame below it in the stack. DEEPER: a new frame lies on top, and is asked first. */
typedef enum verdict { DEEPER, SOLVED, FAILED } verdict;

static verdict push(plim_exact *e, part p, int is_split, uint64_t hash) {
  e->frame[e->depth++] =
      (plim_pack_frame){.part = p, .top = e->top, .is_split = is_split, .done = p.first, .hash = hash};
  return DEEPER;
}

static verdict push_node(plim_exact *e, part p) {
  if (p.n == 0) return SOLVED;
  uint64_t hash = hash_state(e, &p);
  return *memo_at(e, hash) == hash ? FAILED : push(e, p, 0, hash);
}

static verdict fail_parts(plim_exact *e, const plim_pack_frame *f) {
  for (int32_t i = 0; i < f->part.n; i++) {
    if (e->shape[f->part.waiting[i].box].first < f->done) (void)count_cuts(e, f->part.waiting[i].box, 1);
  }
  return FAILED;
}

/* Solve the next part, up to the next border that no unplaced box spans. */
static verdict solve_parts(plim_exact *e, plim_pack_frame *f, verdict last) {
  const part *p = &f->part;
  if (last == SOLVED) f->done = f->at;
  for (int32_t s = f->done; s < p->last && last != FAILED; s++) {
    e->top = f->top;
    if (s + 1 < p->last && e->cut[s] > 0) continue;
    part next = {take_list(e, p->n), 0, f->done, s + 1};
    for (int32_t i = 0; i < p->n && next.waiting; i++) {
      int32_t first = e->shape[p->waiting[i].box].first;
      if (first >= next.first && first < next.last) next.waiting[next.n++] = p->waiting[i];
    }
    e->top.box -= p->n - next.n;
    f->at = s + 1;
    last = next.waiting ? push_node(e, next) : FAILED;
    if (last == DEEPER) return DEEPER;
    if (last == SOLVED) f->done = f->at;
  }
  e->top = f->top;
  return last == FAILED ? fail_parts(e, f) : SOLVED;
}

/* Let box f->at of a node lie at its lowest place. */
static verdict try_box(plim_exact *e, plim_pack_frame *f) {
  const part *p = &f->part;
  if (out_of_nodes(e)) return FAILED;
  int32_t x = p->waiting[f->at].box, offset = p->waiting[f->at].least;
  part child = {take_list(e, p->n - 1), 0, p->first, p->last};
  if (!child.waiting) return FAILED;
  plim_span touched = {e->shape[x].first, e->shape[x].last};
  int fits = e->units->plain ? make_child(e, p, x, offset, &child, &touched)
                             : make_uneven_child(e, p, x, offset, &child, &touched);
  if (!fits || !section_floors_fit(e, &child, touched)) {
    e->blame[e->order[x].box]++;
    return FAILED;
  }
  e->place[x] = offset;
  if (count_cuts(e, x, -1)) return push(e, child, 1, 0);
  verdict below = push_node(e, child);
  if (below == FAILED) (void)count_cuts(e, x, 1);
  return below;
}

/* Refuse box f->at its lowest place. Returns 0 where this state then fails. */
static int refuse_box(plim_exact *e, plim_pack_frame *f) {
  const shape *b = &e->shape[f->part.waiting[f->at].box];
  int32_t least = next_place(e, &f->part, f->at, f->part.waiting[f->at].least);
  if (least < 0) return 0;
  raise_box(&f->part, f->at, least);
  return section_floors_fit(e, &f->part, (plim_span){b->first, b->last});
}

static verdict solve_node(plim_exact *e, plim_pack_frame *f, verdict last) {
  if (last == FAILED) (void)count_cuts(e, f->part.waiting[f->at].box, 1);
  while (last != SOLVED) {
    e->top = f->top;
    if (last == FAILED && e->stopped) return FAILED;
    if ((last == FAILED && !refuse_box(e, f)) || (f->at = next_box(e, &f->part)) < 0) {
      *memo_at(e, f->hash) = f->hash;
      return FAILED;
    }
    last = try_box(e, f);
    if (last == DEEPER) return DEEPER;
  }
  e->top = f->top;
  return SOLVED;
}

static int solve(plim_exact *e, part root) {
  verdict last = push(e, root, 1, 0);
  while (e->depth > 0) {
    plim_pack_frame *f = &e->frame[e->depth - 1];
    last = f->is_split ? solve_parts(e, f, last) : solve_node(e, f, last);
    e->depth -= last != DEEPER;
  }
  return last == SOLVED;
}

/* ---- one search ---- */

/* The last box before r, by number, with equal lifetime, size and alignment; -1: none. */
static int32_t twin_of(const plim_exact *e, int32_t r) {
  const shape *b = &e->shape[r];
  if (b->fixed >= 0 || e->units->boxes->gap) return -1;
  for (int32_t q = r - 1; q >= 0; q--) {
    const shape *t = &e->shape[q];
    if (t->first == b->first && t->last == b->last && t->size == b->size && t->align == b->align && t->fixed < 0) {
      return q;
    }
  }
  return -1;
}

/* The root: nothing is placed. Of equal boxes the later lies above the earlier. A box without sections (its gaps leave
 * nothing of it) may lie anywhere. */
static part make_root(plim_exact *e) {
  part root = {e->chunk[0].boxes, 0, 0, e->sections.n_sections};
  memset(e->cut, 0, (size_t)e->sections.n_sections * sizeof *e->cut);
  for (int32_t r = 0; r < e->n; r++) {
    const shape *b = &e->shape[r];
    int32_t low = b->fixed >= 0 ? b->fixed : 0, twin = twin_of(e, r);
    e->place[r] = twin >= 0 ? lift(e, twin, r, e->place[twin]) : low;
    if (b->first == b->last) continue;
    insert_box(&root, (waiting_box){e->place[r], low, r});
    (void)count_cuts(e, r, 1);
  }
  e->top = (plim_pack_mark){0, root.n};
  e->depth = 0;
  return root;
}

/* Is there a box that does not fit alone? */
static int is_too_large(const plim_exact *e, int64_t capacity) {
  for (int32_t x = 0; x < e->n; x++) {
    int64_t low = e->units->fixed[x] >= 0 ? e->units->fixed[x] : 0;
    if (low > capacity - e->units->size[x]) return 1;
  }
  return 0;
}

/* Where gaps leave parts of boxes, canonical placements do not reach every packing. A search by pairs follows, with the
 * same number of nodes. */
static plim_pack_outcome decide_pairs(plim_exact *e, int64_t capacity, int64_t *offset, int64_t *nodes) {
  int64_t used = 0;
  if (!e->pairs) return PLIM_PACK_LIMIT;
  plim_pack_outcome outcome = plim_pairs_run(e->pairs, capacity, e->limits, offset, &used);
  *nodes += used;
  return outcome;
}

plim_pack_outcome plim_exact_run(plim_exact *e, int64_t capacity, int32_t restart, const plim_exact_limits *limits,
                                 int64_t *offset, int64_t *nodes) {
  *nodes = 0;
  if (e->units->peak_units > capacity || is_too_large(e, capacity)) return PLIM_PACK_IMPOSSIBLE;
  if (capacity >= PLIM_EXACT_UNITS) return PLIM_PACK_LIMIT;
  e->capacity = (int32_t)capacity;
  for (e->shift = 0; capacity >> e->shift > pack_tuning.exact.section_floor;) e->shift++;
  e->limits = limits;
  e->nodes = 0;
  e->stopped = 0;
  e->status = PLIM_OK;
  plim_exact_order(e, restart);
  part root = make_root(e);
  int solved = section_floors_fit(e, &root, (plim_span){root.first, root.last}) && solve(e, root);
  *nodes = e->nodes;
  if (!solved && e->units->windows) return decide_pairs(e, capacity, offset, nodes);
  if (!solved) return e->stopped ? PLIM_PACK_LIMIT : PLIM_PACK_IMPOSSIBLE;
  for (int32_t r = 0; r < e->n; r++) offset[e->order[r].box] = e->place[r];
  return PLIM_PACK_FOUND;
}

plim_status plim_exact_search(plim_exact *e, int64_t capacity, int64_t nodes, int64_t deadline_ns, int64_t *offset,
                              plim_pack_outcome *outcome) {
  *outcome = PLIM_PACK_LIMIT;
  if (capacity >= PLIM_EXACT_UNITS) return PLIM_OK;
  for (int32_t restart = 0; *outcome == PLIM_PACK_LIMIT && nodes > 0 && plim_now_ns() < deadline_ns; restart++) {
    int64_t share = plim_exact_share(e->n, restart), used;
    plim_exact_limits limits = {.nodes = share < nodes ? share : nodes, .deadline_ns = deadline_ns};
    *outcome = plim_exact_run(e, capacity, restart, &limits, offset, &used);
    PLIM_TRY(e->status);
    if (*outcome == PLIM_PACK_LIMIT && plim_effort_over(e->units->ctx, 0)) {
      return plim_fail(e->units->ctx, PLIM_ECANCEL, "packing was cancelled");
    }
    nodes -= used > 0 ? used : 1;
  }
  return PLIM_OK;
}

plim_status plim_exact_status(const plim_exact *e) {
  return e->status;
}
