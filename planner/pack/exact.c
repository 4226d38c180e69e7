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
#include "planner/pack/exact_internal.h"

#include <string.h>

#include "planner/pack/pack_tuning.h"
#include "planner/pack/packers.h"
#include "runtime/base/bits.h"
#include "runtime/base/effort.h"

typedef plim_pack_waiting_box waiting_box;
typedef plim_pack_shape shape;

static int overlaps(const plim_exact *exact, int32_t x, int32_t y) {
  return (int)(exact->over[(int64_t)x * exact->words + y / PLIM_WORD] >> (y % PLIM_WORD) & 1);
}

/* The lowest offset of box `above` where box `below` lies at `offset`, at most PLIM_EXACT_UNITS: any offset from there
 * on is above the capacity. */
static int32_t lift(const plim_exact *exact, int32_t below, int32_t above, int32_t offset) {
  int64_t align = exact->shape[above].align, size = exact->shape[below].size;
  if (exact->separation) {
    size = exact->separation[(int64_t)exact->order[below].box * exact->n + exact->order[above].box];
  }
  int64_t low = offset + size > 0 ? offset + size : 0;
  if (align > 1) low = (low + align - 1) / align * align;
  return low < PLIM_EXACT_UNITS ? (int32_t)low : PLIM_EXACT_UNITS;
}

/* ---- states ---- */

static int comes_before(const waiting_box *a, const waiting_box *b) {
  return a->least < b->least || (a->least == b->least && a->box < b->box);
}

/* Is the section floor of each section in `where` within the capacity? */
static int section_floors_fit(plim_exact *exact, const plim_pack_part *part, plim_section_range where) {
  int16_t *restrict section_floor = exact->section_floor, highest = 0;
  int32_t begin = where.first / PLIM_LANES * PLIM_LANES, end = (where.last + PLIM_LANES - 1) / PLIM_LANES * PLIM_LANES;
  for (int32_t s = begin; s < end; s++) section_floor[s] = 0;
  for (int32_t i = 0; i < part->n; i++) {
    const shape *b = &exact->shape[part->waiting[i].box];
    const int16_t *restrict mask = b->mask;
    if (part->waiting[i].least > exact->capacity) return 0; /* and it may exceed 16 bits */
    int16_t least = (int16_t)(part->waiting[i].least >> exact->shift), size = b->section_floor;
    int32_t from = b->first / PLIM_LANES * PLIM_LANES, to = b->last < end ? b->last : end;
    for (int32_t s = from > begin ? from : begin; s < to; s += PLIM_LANES) {
      for (int k = 0; k < PLIM_LANES; k++) {
        int16_t low = (int16_t)(least & mask[s + k]), old = section_floor[s + k];
        section_floor[s + k] = (int16_t)((old > low ? old : low) + (size & mask[s + k]));
      }
    }
  }
  for (int32_t s = begin; s < end; s++) highest = section_floor[s] > highest ? section_floor[s] : highest;
  return highest <= exact->capacity >> exact->shift;
}

static uint64_t hash_state(const plim_exact *exact, const plim_pack_part *part) {
  uint64_t hash = (uint64_t)exact->capacity * 0x9e3779b97f4a7c15U;
  for (int32_t i = 0; i < part->n; i++) {
    uint64_t x = (uint64_t)exact->order[part->waiting[i].box].box << 32 | (uint32_t)part->waiting[i].least;
    x = (x + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
    hash += (x ^ (x >> 32)) * 0x94d049bb133111ebU;
  }
  return hash ? hash : 1;
}

static uint64_t *memo_at(const plim_exact *exact, uint64_t hash) {
  return &exact->failed[(hash ^ (hash >> 29)) & (uint64_t)(exact->n_memo - 1)];
}

static int out_of_nodes(plim_exact *exact) {
  const plim_exact_limits *l = exact->limits;
  exact->nodes++;
  if (exact->nodes > l->nodes) exact->stopped = 1;
  if (exact->nodes % pack_tuning.exact.nodes_a_look == 0) {
    exact->stopped |= plim_effort_over(exact->units->ctx, pack_tuning.exact.nodes_a_look * (int64_t)exact->n) ||
                      (l->deadline_ns < INT64_MAX && plim_now_ns() > l->deadline_ns);
  }
  return exact->stopped;
}

/* Raise box i to `least` and put it where it belongs. */
static void raise_box(plim_pack_part *part, int32_t i, int32_t least) {
  waiting_box it = part->waiting[i];
  it.least = least;
  for (; i + 1 < part->n && comes_before(&part->waiting[i + 1], &it); i++) part->waiting[i] = part->waiting[i + 1];
  part->waiting[i] = it;
}

static void insert_box(plim_pack_part *part, waiting_box it) {
  int32_t at = part->n++;
  for (; at > 0 && comes_before(&it, &part->waiting[at - 1]); at--) part->waiting[at] = part->waiting[at - 1];
  part->waiting[at] = it;
}

/* ---- decisions ---- */

/* Widen a range so that it has the sections of a box. */
static void widen(plim_section_range *touched, const shape *b) {
  if (b->first < touched->first) touched->first = b->first;
  if (b->last > touched->last) touched->last = b->last;
}

/* Merge the boxes marked in exact->raised, all with low and least `top`, into the list. */
static void merge_raised(plim_exact *exact, plim_pack_part *to, int32_t n_raised, int32_t top) {
  waiting_box *out = to->waiting;
  int32_t from = to->n - 1, at = to->n + n_raised - 1;
  to->n += n_raised;
  for (int32_t w = exact->words - 1; w >= 0; w--) {
    for (uint64_t bits = exact->raised[w]; bits;) {
      int32_t bit = plim_bits_highest(bits);
      waiting_box it = {top, top, w * PLIM_WORD + bit};
      bits ^= (uint64_t)1 << bit;
      while (from >= 0 && comes_before(&it, &out[from])) out[at--] = out[from--];
      out[at--] = it;
    }
    exact->raised[w] = 0;
  }
}

/* Make the list of a child: the boxes of p without x, with those that overlap x in time raised to its top. `touched`
 * grows by their sections. Returns 0 where one does not fit any more. */
static int make_child(plim_exact *exact, const plim_pack_part *part, int32_t x, int32_t offset, plim_pack_part *to,
                      plim_section_range *touched) {
  const uint64_t *row = &exact->over[(int64_t)x * exact->words];
  int32_t top = offset + exact->shape[x].size, raised = 0, fits = 1;
  /* boxes that are not raised come first, and keep their order */
  for (int32_t i = 0; i < part->n && fits; i++) {
    waiting_box it = part->waiting[i];
    const shape *b = &exact->shape[it.box];
    if (it.box == x) continue;
    if ((row[it.box / PLIM_WORD] >> (it.box % PLIM_WORD) & 1) && it.low < top) {
      it.low = top;
      fits = b->fixed < 0 || b->fixed >= top;
      if (it.least < top) {
        fits = fits && top + b->size <= exact->capacity;
        exact->raised[it.box / PLIM_WORD] |= (uint64_t)1 << (it.box % PLIM_WORD);
        widen(touched, b);
        raised++;
        continue;
      }
    }
    to->waiting[to->n++] = it;
  }
  if (fits) {
    merge_raised(exact, to, raised, top);
  } else {
    memset(exact->raised, 0, (size_t)exact->words * sizeof *exact->raised);
  }
  return fits;
}

/* The same where boxes have gaps or alignments of their own, so that each is raised to another offset. */
static int make_uneven_child(plim_exact *exact, const plim_pack_part *part, int32_t x, int32_t offset,
                             plim_pack_part *to, plim_section_range *touched) {
  for (int32_t i = 0; i < part->n; i++) {
    waiting_box it = part->waiting[i];
    const shape *b = &exact->shape[it.box];
    if (it.box == x) continue;
    int32_t low = overlaps(exact, x, it.box) ? lift(exact, x, it.box, offset) : 0;
    if (low > it.low) it.low = low;
    if (low > it.least) {
      it.least = low;
      widen(touched, b);
    }
    if (it.least + b->size > exact->capacity || (b->fixed >= 0 && b->fixed < it.low)) return 0;
    insert_box(to, it);
  }
  return 1;
}

/* The lowest offset of box i where it is refused its place, so that an unplaced box lies below it, at `offset` or
 * above. -1: there is none within the capacity. */
static int32_t next_place(const plim_exact *exact, const plim_pack_part *part, int32_t i, int32_t offset) {
  int32_t x = part->waiting[i].box, best = INT32_MAX;
  if (exact->shape[x].fixed >= 0) return -1;
  for (int32_t k = 0; k < part->n && part->waiting[k].least < best; k++) {
    int32_t y = part->waiting[k].box, least = part->waiting[k].least > offset ? part->waiting[k].least : offset;
    if (k == i || !overlaps(exact, x, y)) continue;
    int32_t place = lift(exact, y, x, least);
    if (place < best && place > part->waiting[i].low) best = place;
  }
  return best == INT32_MAX || best + exact->shape[x].size > exact->capacity ? -1 : best;
}

/* The dominance limit: at an offset from here on, another box would fit entirely below. */
static int32_t dominance_limit(const plim_exact *exact, const plim_pack_part *part) {
  int32_t limit = INT32_MAX;
  for (int32_t i = 0; i < part->n; i++) {
    int32_t top = part->waiting[i].low + exact->shape[part->waiting[i].box].size;
    limit = top < limit ? top : limit;
  }
  return limit;
}

/* The first box that was not refused its place (low == least); part->n: none. */
static int32_t first_open(const plim_pack_part *part) {
  int32_t i = 0;
  while (i < part->n && part->waiting[i].low < part->waiting[i].least) i++;
  return i;
}

/* The box to decide on, of those that can lie as low as box `next`: the first that is the only one of them in some
 * section. If it does not lie there, no other box can, and that room stays empty. Without such a box: `next`. */
static int32_t prefer_forced(plim_exact *exact, const plim_pack_part *part, int32_t next) {
  int32_t least = part->waiting[next].least, end = next;
  for (int32_t s = part->first; s < part->last; s++) exact->rivals[s] = 0;
  for (; end < part->n && part->waiting[end].least == least; end++) {
    const shape *b = &exact->shape[part->waiting[end].box];
    for (int32_t s = b->first; s < b->last && part->waiting[end].low == least; s++) exact->rivals[s]++;
  }
  for (int32_t i = next; i < end && end - next > 1; i++) {
    const shape *b = &exact->shape[part->waiting[i].box];
    if (part->waiting[i].low != least) continue;
    for (int32_t s = b->first; s < b->last; s++) {
      if (exact->rivals[s] == 1) return i;
    }
  }
  return next;
}

/* The box to decide on; -1: this state fails. The boxes before it in the list were refused their places. Boxes that
 * are still unplaced come at its offset or above, so those boxes are raised. */
static int32_t next_box(plim_exact *exact, plim_pack_part *part) {
  int32_t next = first_open(part);
  plim_section_range touched = {part->last, part->first};
  if (next == part->n || part->waiting[next].least >= dominance_limit(exact, part)) return -1;
  int32_t offset = part->waiting[next].least;
  for (int32_t i = 0; i < next;) {
    int32_t least = next_place(exact, part, i, offset);
    if (least < 0) return -1;
    if (least <= part->waiting[i].least) {
      i++;
      continue;
    }
    widen(&touched, &exact->shape[part->waiting[i].box]);
    raise_box(part, i, least);
    next = first_open(part);
  }
  if (touched.first < touched.last && !section_floors_fit(exact, part, touched)) return -1;
  return prefer_forced(exact, part, next);
}

/* Room for a list of at most n boxes, after all others; NULL: there is no memory, and the search ends. */
static waiting_box *take_list(plim_exact *exact, int32_t n) {
  plim_pack_mark *top = &exact->top;
  if (top->box + n > exact->chunk_boxes) *top = (plim_pack_mark){top->chunk + 1, 0};
  plim_pack_chunk *chunk = &exact->chunk[top->chunk];
  if (!chunk->boxes) {
    exact->status = plim_allocate(exact->units->ctx, exact->chunk_boxes, sizeof *chunk->boxes, &chunk->boxes);
  }
  if (!chunk->boxes) {
    exact->stopped = 1;
    return NULL;
  }
  waiting_box *list = chunk->boxes + top->box;
  top->box += n;
  return list;
}

/* Box x is placed (by -1) or unplaced again (by 1). Returns 1 where a border between sections has no unplaced box left.
 */
static int count_crossings(plim_exact *exact, int32_t x, int32_t by) {
  int split = 0;
  for (int32_t s = exact->shape[x].first; s + 1 < exact->shape[x].last; s++) {
    exact->crossing[s] += by;
    split |= exact->crossing[s] == 0;
  }
  return split;
}

/* ---- the way down ---- */

/* What a frame tells the frame below it in the stack. DEEPER: a new frame lies on top, and is asked first. */
typedef enum verdict { DEEPER, SOLVED, FAILED } verdict;

static verdict push_frame(plim_exact *exact, plim_pack_part part, int is_split, uint64_t hash) {
  exact->frame[exact->depth++] =
      (plim_pack_frame){.part = part, .top = exact->top, .is_split = is_split, .done = part.first, .hash = hash};
  return DEEPER;
}

static verdict push_node(plim_exact *exact, plim_pack_part part) {
  if (part.n == 0) return SOLVED;
  uint64_t hash = hash_state(exact, &part);
  return *memo_at(exact, hash) == hash ? FAILED : push_frame(exact, part, 0, hash);
}

static verdict fail_parts(plim_exact *exact, const plim_pack_frame *frame) {
  for (int32_t i = 0; i < frame->part.n; i++) {
    if (exact->shape[frame->part.waiting[i].box].first < frame->done) {
      (void)count_crossings(exact, frame->part.waiting[i].box, 1);
    }
  }
  return FAILED;
}

/* Solve the next part, up to the next border that no unplaced box spans. */
static verdict solve_parts(plim_exact *exact, plim_pack_frame *frame, verdict last) {
  const plim_pack_part *part = &frame->part;
  if (last == SOLVED) frame->done = frame->at;
  for (int32_t s = frame->done; s < part->last && last != FAILED; s++) {
    exact->top = frame->top;
    if (s + 1 < part->last && exact->crossing[s] > 0) continue;
    plim_pack_part next = {take_list(exact, part->n), 0, frame->done, s + 1};
    for (int32_t i = 0; i < part->n && next.waiting; i++) {
      int32_t first = exact->shape[part->waiting[i].box].first;
      if (first >= next.first && first < next.last) next.waiting[next.n++] = part->waiting[i];
    }
    exact->top.box -= part->n - next.n;
    frame->at = s + 1;
    last = next.waiting ? push_node(exact, next) : FAILED;
    if (last == DEEPER) return DEEPER;
    if (last == SOLVED) frame->done = frame->at;
  }
  exact->top = frame->top;
  return last == FAILED ? fail_parts(exact, frame) : SOLVED;
}

/* Let box frame->at of a node lie at its lowest place. */
static verdict try_box(plim_exact *exact, plim_pack_frame *frame) {
  const plim_pack_part *part = &frame->part;
  if (out_of_nodes(exact)) return FAILED;
  int32_t x = part->waiting[frame->at].box, offset = part->waiting[frame->at].least;
  plim_pack_part child = {take_list(exact, part->n - 1), 0, part->first, part->last};
  if (!child.waiting) return FAILED;
  plim_section_range touched = {exact->shape[x].first, exact->shape[x].last};
  int fits = exact->units->is_plain ? make_child(exact, part, x, offset, &child, &touched)
                                    : make_uneven_child(exact, part, x, offset, &child, &touched);
  if (!fits || !section_floors_fit(exact, &child, touched)) {
    exact->blame[exact->order[x].box]++;
    return FAILED;
  }
  exact->place[x] = offset;
  if (count_crossings(exact, x, -1)) return push_frame(exact, child, 1, 0);
  verdict below = push_node(exact, child);
  if (below == FAILED) (void)count_crossings(exact, x, 1);
  return below;
}

/* Refuse box frame->at its lowest place. Returns 0 where this state then fails. */
static int refuse_box(plim_exact *exact, plim_pack_frame *frame) {
  const shape *b = &exact->shape[frame->part.waiting[frame->at].box];
  int32_t least = next_place(exact, &frame->part, frame->at, frame->part.waiting[frame->at].least);
  if (least < 0) return 0;
  raise_box(&frame->part, frame->at, least);
  return section_floors_fit(exact, &frame->part, (plim_section_range){b->first, b->last});
}

static verdict solve_node(plim_exact *exact, plim_pack_frame *frame, verdict last) {
  if (last == FAILED) (void)count_crossings(exact, frame->part.waiting[frame->at].box, 1);
  while (last != SOLVED) {
    exact->top = frame->top;
    if (last == FAILED && exact->stopped) return FAILED;
    int may_go_on = last != FAILED || refuse_box(exact, frame);
    if (may_go_on) frame->at = next_box(exact, &frame->part);
    if (!may_go_on || frame->at < 0) {
      *memo_at(exact, frame->hash) = frame->hash;
      return FAILED;
    }
    last = try_box(exact, frame);
    if (last == DEEPER) return DEEPER;
  }
  exact->top = frame->top;
  return SOLVED;
}

static int search_root(plim_exact *exact, plim_pack_part root) {
  verdict last = push_frame(exact, root, 1, 0);
  while (exact->depth > 0) {
    plim_pack_frame *frame = &exact->frame[exact->depth - 1];
    last = frame->is_split ? solve_parts(exact, frame, last) : solve_node(exact, frame, last);
    exact->depth -= last != DEEPER;
  }
  return last == SOLVED;
}

/* ---- one search ---- */

/* The last box before r, by number, with equal lifetime, size and alignment; -1: none. */
static int32_t twin_of(const plim_exact *exact, int32_t r) {
  const shape *b = &exact->shape[r];
  if (b->fixed >= 0 || exact->units->boxes->gap) return -1;
  for (int32_t q = r - 1; q >= 0; q--) {
    const shape *t = &exact->shape[q];
    if (t->first == b->first && t->last == b->last && t->size == b->size && t->align == b->align && t->fixed < 0) {
      return q;
    }
  }
  return -1;
}

/* The root: nothing is placed. Of equal boxes the later lies above the earlier. A box without sections (its gaps leave
 * nothing of it) may lie anywhere. */
static plim_pack_part make_root(plim_exact *exact) {
  plim_pack_part root = {exact->chunk[0].boxes, 0, 0, exact->sections.n_sections};
  memset(exact->crossing, 0, (size_t)exact->sections.n_sections * sizeof *exact->crossing);
  for (int32_t r = 0; r < exact->n; r++) {
    const shape *b = &exact->shape[r];
    int32_t low = b->fixed >= 0 ? b->fixed : 0, twin = twin_of(exact, r);
    exact->place[r] = twin >= 0 ? lift(exact, twin, r, exact->place[twin]) : low;
    if (b->first == b->last) continue;
    insert_box(&root, (waiting_box){exact->place[r], low, r});
    (void)count_crossings(exact, r, 1);
  }
  exact->top = (plim_pack_mark){0, root.n};
  exact->depth = 0;
  return root;
}

/* Is there a box that does not fit alone? */
static int is_too_large(const plim_exact *exact, int64_t capacity) {
  for (int32_t x = 0; x < exact->n; x++) {
    int64_t low = exact->units->fixed[x] >= 0 ? exact->units->fixed[x] : 0;
    if (low > capacity - exact->units->size[x]) return 1;
  }
  return 0;
}

/* Where gaps leave parts of boxes, canonical placements do not reach every packing. A search by pairs follows, with the
 * same number of nodes. */
static plim_pack_outcome decide_pairs(plim_exact *exact, int64_t capacity, int64_t *offset, int64_t *nodes) {
  int64_t used = 0;
  if (!exact->pairs) return PLIM_PACK_LIMIT;
  plim_pack_outcome outcome = plim_pairs_run(exact->pairs, capacity, exact->limits, offset, &used);
  *nodes += used;
  return outcome;
}

plim_pack_outcome plim_exact_run(plim_exact *exact, int64_t capacity, int32_t restart, const plim_exact_limits *limits,
                                 int64_t *offset, int64_t *nodes) {
  *nodes = 0;
  if (exact->units->peak_units > capacity || is_too_large(exact, capacity)) return PLIM_PACK_IMPOSSIBLE;
  if (capacity >= PLIM_EXACT_UNITS) return PLIM_PACK_LIMIT;
  exact->capacity = (int32_t)capacity;
  for (exact->shift = 0; capacity >> exact->shift > pack_tuning.exact.section_floor;) exact->shift++;
  exact->limits = limits;
  exact->nodes = 0;
  exact->stopped = 0;
  exact->status = PLIM_OK;
  plim_exact_order(exact, restart);
  plim_pack_part root = make_root(exact);
  int solved =
      section_floors_fit(exact, &root, (plim_section_range){root.first, root.last}) && search_root(exact, root);
  *nodes = exact->nodes;
  if (!solved && exact->units->has_partial_gaps) return decide_pairs(exact, capacity, offset, nodes);
  if (!solved) return exact->stopped ? PLIM_PACK_LIMIT : PLIM_PACK_IMPOSSIBLE;
  for (int32_t r = 0; r < exact->n; r++) offset[exact->order[r].box] = exact->place[r];
  return PLIM_PACK_FOUND;
}

plim_status plim_exact_search(plim_exact *exact, int64_t capacity, int64_t *nodes, int64_t *offset,
                              plim_pack_outcome *outcome) {
  int is_small = capacity < PLIM_EXACT_UNITS; /* else one restart says all that can be said */
  *outcome = PLIM_PACK_LIMIT;
  for (int32_t restart = 0; *outcome == PLIM_PACK_LIMIT && *nodes > 0 && (is_small || restart == 0); restart++) {
    int64_t share = plim_exact_share(exact->n, restart), used;
    plim_exact_limits limits = {.nodes = share < *nodes ? share : *nodes, .deadline_ns = INT64_MAX};
    *outcome = plim_exact_run(exact, capacity, restart, &limits, offset, &used);
    PLIM_TRY(exact->status);
    if (*outcome == PLIM_PACK_LIMIT && plim_effort_over(exact->units->ctx, 0)) {
      return plim_fail(exact->units->ctx, PLIM_ECANCEL, "packing was cancelled");
    }
    *nodes -= used > 0 ? used : 1;
  }
  return PLIM_OK;
}

plim_status plim_exact_status(const plim_exact *exact) {
  return exact->status;
}
