/* Exact packing: a depth-first search over canonical placements, after Moffitt, MiniMalloc, ASPLOS 2023.
 *
 * Every packing can be pushed down until each box lies at the bottom or on top of another, and its boxes can be placed
 * in nondecreasing order of offset. So a node takes the unplaced box that can lie lowest and decides: it lies there,
 * or it does not. In the second case something unplaced must come below it, which raises the least offset it can have
 * (`least`, as opposed to `low`, where the placed ones would let it lie). What ends a branch:
 *   - stacks: in every section the unplaced boxes, taken by `least`, are piled up; a pile above the capacity is a
 * proof;
 *   - a gap into which another unplaced box would fit whole: that box could lie there, which is another branch;
 *   - no box could come below the one that must not lie at its lowest place;
 *   - a state that has failed before: the least offsets of the unplaced boxes are all that matters, however the placed
 *     ones lie. States are remembered by a 64-bit hash, over restarts with other orders too.
 * Where no unplaced box spans the border of two sections the problem falls apart; the parts are solved one after the
 * other, and one that fails fails all. Of boxes equal in time and size one order is tried.
 *
 * A node owns a list of its unplaced boxes, sorted by `least`; a child's list is made from it behind it, so that going
 * back is forgetting. Everything is in units of the alignment, boxes are numbered by the static order. */
#include "planner/pack/pack_exact.h"

#include <stdlib.h>
#include <string.h>

#include "planner/pack/pack_sections.h"
#include "planner/random.h"

/* A static order sorts by three keys, all descending: a portfolio, since no order suits every instance. */
enum { KEY_LENGTH, KEY_AREA, KEY_TOTAL, KEYS };
static const int orders[][KEYS] = {
    {KEY_LENGTH, KEY_AREA, KEY_TOTAL}, {KEY_TOTAL, KEY_AREA, KEY_LENGTH}, {KEY_TOTAL, KEY_LENGTH, KEY_AREA}};
enum { N_ORDERS = sizeof orders / sizeof orders[0], MOST_BOXES = 4096, WORD = 64, MEMO_BITS = 16 };
static const int64_t most_units = INT64_C(1) << 30; /* sums of two stay in 32 bits */

typedef struct ranked {
  double key[KEYS];
  int32_t box;
} ranked;

/* An unplaced box. */
typedef struct item {
  int32_t least, low, box;
} item;

/* Part of the problem: sections [first, last) and its boxes by (least, box). */
typedef struct part {
  item *item;
  int32_t n, first, last;
} part;

typedef struct shape {
  int32_t first, last, size, fixed;
} shape;

typedef struct exact {
  plim_context *ctx;
  plim_sections sections;
  int32_t capacity, words;
  ranked *order;    /* [n] the static order: original box of each number */
  int32_t *number;  /* [n] of each original box */
  shape *shape;     /* [n] */
  uint64_t *over;   /* [n][words] bit y of row x: they overlap in time */
  uint64_t *raised; /* [words] scratch */
  int32_t *place;   /* [n] */
  int32_t *cut;     /* [n_sections] unplaced boxes over the border to the next section */
  int32_t *pile;    /* [n_sections] scratch */
  item *stack;      /* lists of nodes */
  int64_t top, room;
  uint64_t *failed; /* [1 << MEMO_BITS] hashes of failed states */
  int64_t nodes, node_limit;
  plim_status status; /* a failure, or PLIM_ECANCEL: every branch ends */
} exact;

static int overlaps(const exact *e, int32_t x, int32_t y) {
  return (int)(e->over[(int64_t)x * e->words + y / WORD] >> (y % WORD) & 1);
}

/* ---- states ---- */

static int comes_before(const item *a, const item *b) {
  return a->least < b->least || (a->least == b->least && a->box < b->box);
}

/* Does each section's pile stay within the capacity? */
static int piles_fit(exact *e, const part *p) {
  int32_t *pile = e->pile, highest = 0;
  for (int32_t s = p->first; s < p->last; s++) pile[s] = 0;
  for (int32_t i = 0; i < p->n; i++) {
    const shape *b = &e->shape[p->item[i].box];
    int32_t least = p->item[i].least, size = b->size;
    for (int32_t s = b->first; s < b->last; s++) pile[s] = (pile[s] > least ? pile[s] : least) + size;
  }
  for (int32_t s = p->first; s < p->last; s++) highest = pile[s] > highest ? pile[s] : highest;
  return highest <= e->capacity;
}

static uint64_t hash_state(const exact *e, const part *p) {
  uint64_t hash = 0;
  for (int32_t i = 0; i < p->n; i++) {
    uint64_t x = (uint64_t)e->order[p->item[i].box].box << 32 | (uint32_t)p->item[i].least;
    x = (x + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
    hash += (x ^ (x >> 32)) * 0x94d049bb133111ebU;
  }
  return hash ? hash : 1;
}

static uint64_t *memo_at(const exact *e, uint64_t hash) {
  return &e->failed[(hash ^ (hash >> 29)) & (((uint64_t)1 << MEMO_BITS) - 1)];
}

static int out_of_nodes(exact *e) {
  e->nodes++;
  if (e->nodes % 1024 == 0 && plim_context_cancelled(e->ctx)) {
    e->status = plim_fail(e->ctx, PLIM_ECANCEL, "packing was cancelled");
  }
  return e->nodes > e->node_limit || e->status != PLIM_OK;
}

static int stopped(const exact *e) {
  return e->nodes > e->node_limit || e->status != PLIM_OK;
}

/* Room for n items at the top of the stack; lists may not move while nodes hold them, so all room is taken at once. */
static item *push(exact *e, int32_t n) {
  item *at = &e->stack[e->top];
  e->top += n;
  return at;
}

/* ---- decisions ---- */

/* Items of p without x, what overlaps it raised to its top, into `to`. 0: something does not fit any more. */
static int make_child(exact *e, const part *p, int32_t x, int32_t offset, part *to) {
  const uint64_t *row = &e->over[(int64_t)x * e->words];
  int32_t top = offset + e->shape[x].size, kept = 0, raised = 0;
  item *out = to->item;
  /* those that stay come first and keep their order; the raised ones all go to `top` */
  for (int32_t i = 0; i < p->n; i++) {
    item it = p->item[i];
    const shape *b = &e->shape[it.box];
    if (it.box == x) continue;
    if ((row[it.box / WORD] >> (it.box % WORD) & 1) && it.low < top) {
      it.low = top;
      if (b->fixed >= 0 && b->fixed < top) goto fails;
      if (it.least < top) {
        if (top + b->size > e->capacity) goto fails;
        e->raised[it.box / WORD] |= (uint64_t)1 << (it.box % WORD);
        raised++;
        continue;
      }
    }
    out[kept++] = it;
  }
  to->n = kept + raised;
  /* merge from behind */
  int32_t from = kept - 1, at = to->n - 1;
  for (int32_t w = e->words - 1; w >= 0; w--) {
    for (uint64_t bits = e->raised[w]; bits;) {
      int32_t bit = WORD - 1 - __builtin_clzll(bits);
      item it = {top, top, w * WORD + bit};
      bits ^= (uint64_t)1 << bit;
      while (from >= 0 && comes_before(&it, &out[from])) out[at--] = out[from--];
      out[at--] = it;
    }
    e->raised[w] = 0;
  }
  return 1;
fails:
  memset(e->raised, 0, (size_t)e->words * sizeof *e->raised);
  return 0;
}

/* Raise item i to `least` and put it where it belongs. */
static void raise_item(part *p, int32_t i, int32_t least) {
  item it = p->item[i];
  it.least = least;
  for (; i + 1 < p->n && comes_before(&p->item[i + 1], &it); i++) p->item[i] = p->item[i + 1];
  p->item[i] = it;
}

/* The lowest top on which item i could lie if it does not lie at its lowest place and nothing comes below `offset` any
 * more; -1: nothing can come below it. */
static int32_t lowest_support(const exact *e, const part *p, int32_t i, int32_t offset) {
  int32_t x = p->item[i].box, best = INT32_MAX;
  if (e->shape[x].fixed >= 0) return -1;
  for (int32_t k = 0; k < p->n && p->item[k].least < best; k++) {
    int32_t y = p->item[k].box, least = p->item[k].least > offset ? p->item[k].least : offset;
    if (k == i || !overlaps(e, x, y)) continue;
    if (least + e->shape[y].size < best) best = least + e->shape[y].size;
  }
  return best == INT32_MAX || best + e->shape[x].size > e->capacity ? -1 : best;
}

/* The item to decide on: the first that can lie where the placed ones let it. Those before it were refused their
 * places; nothing comes below its offset any more, so they rise. -1: there is none, or a fault was found. */
static int32_t next_item(exact *e, part *p) {
  int32_t lid = INT32_MAX, next = 0, changed = 0;
  for (int32_t i = 0; i < p->n; i++) {
    int32_t top = p->item[i].low + e->shape[p->item[i].box].size;
    lid = top < lid ? top : lid;
  }
  while (next < p->n && p->item[next].low < p->item[next].least) next++;
  if (next == p->n || p->item[next].least >= lid) return -1;
  int32_t offset = p->item[next].least;
  for (int32_t i = 0; i < next;) {
    int32_t least = lowest_support(e, p, i, offset);
    if (least < 0) return -1;
    if (least > p->item[i].least) {
      raise_item(p, i, least);
      changed = 1;
      next = 0; /* it may have moved behind */
      while (p->item[next].low < p->item[next].least) next++;
      if (i < next && p->item[i].least <= offset) i++;
    } else {
      i++;
    }
  }
  return changed && !piles_fit(e, p) ? -1 : next;
}

static int solve(exact *e, part p);

/* x leaves (by -1) or comes back (by 1); did a border lose its last box? */
static int count_cuts(exact *e, int32_t x, int32_t by) {
  int split = 0;
  for (int32_t s = e->shape[x].first; s + 1 < e->shape[x].last; s++) {
    e->cut[s] += by;
    split |= e->cut[s] == 0;
  }
  return split;
}

/* Solve the pieces of p between borders that nothing spans. */
static int solve_pieces(exact *e, part p) {
  int64_t mark = e->top;
  int solved = 1;
  int32_t done = p.first;
  for (int32_t s = p.first; s < p.last && solved; s++) {
    if (s + 1 < p.last && e->cut[s] > 0) continue;
    part piece = {push(e, 0), 0, done, s + 1};
    for (int32_t i = 0; i < p.n; i++) {
      int32_t first = e->shape[p.item[i].box].first;
      if (first >= piece.first && first < piece.last) piece.item[piece.n++] = p.item[i];
    }
    e->top += piece.n;
    solved = solve(e, piece);
    e->top = mark;
    if (!solved) break;
    done = s + 1;
  }
  for (int32_t i = 0; i < p.n && !solved; i++) {
    if (e->shape[p.item[i].box].first < done) (void)count_cuts(e, p.item[i].box, 1);
  }
  return solved;
}

/* Let item i lie at its lowest place. */
static int try_item(exact *e, const part *p, int32_t i) {
  int64_t mark = e->top;
  int32_t x = p->item[i].box;
  part child = {push(e, p->n - 1), 0, p->first, p->last};
  int solved = 0;
  if (make_child(e, p, x, p->item[i].least, &child) && piles_fit(e, &child)) {
    e->place[x] = p->item[i].least;
    solved = count_cuts(e, x, -1) ? solve_pieces(e, child) : solve(e, child);
    if (!solved) (void)count_cuts(e, x, 1);
  }
  e->top = mark;
  return solved;
}

static int solve(exact *e, part p) {
  if (p.n == 0) return 1;
  if (out_of_nodes(e)) return 0;
  uint64_t hash = hash_state(e, &p), *failed = memo_at(e, hash);
  if (*failed == hash) return 0;
  for (int32_t i; (i = next_item(e, &p)) >= 0;) {
    int32_t offset = p.item[i].least;
    if (try_item(e, &p, i)) return 1;
    if (stopped(e)) return 0;
    int32_t least = lowest_support(e, &p, i, offset);
    if (least < 0) break;
    raise_item(&p, i, least);
    if (!piles_fit(e, &p)) break;
  }
  *failed = hash;
  return 0;
}

/* ---- the whole ---- */

static int by_keys(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  for (int k = 0; k < KEYS; k++) {
    if (x->key[k] != y->key[k]) return x->key[k] > y->key[k] ? -1 : 1;
  }
  return (x->box > y->box) - (x->box < y->box);
}

/* Number the boxes by the order; noise > 0 blurs it. */
static void sort_boxes(exact *e, const plim_box *box, const int *keys, double noise, plim_random *random) {
  const plim_sections *s = &e->sections;
  for (int32_t x = 0; x < s->n; x++) {
    double length = (double)(box[x].end - box[x].begin), total = 0;
    for (int32_t i = s->box[x].first; i < s->box[x].last; i++) total = e->pile[i] > total ? e->pile[i] : total;
    double key[KEYS] = {length, length * (double)s->box[x].size, total};
    for (int k = 0; k < KEYS && noise > 0; k++) key[k] *= 1 + noise * plim_random_unit(random);
    e->order[x] = (ranked){{key[keys[0]], key[keys[1]], key[keys[2]]}, x};
  }
  qsort(e->order, (size_t)s->n, sizeof *e->order, by_keys);
}

static void fill_shapes(exact *e) {
  const plim_sections *s = &e->sections;
  for (int32_t r = 0; r < s->n; r++) {
    const plim_section_box *b = &s->box[e->order[r].box];
    e->number[e->order[r].box] = r;
    e->shape[r] = (shape){b->first, b->last, (int32_t)b->size, (int32_t)b->fixed};
  }
  memset(e->over, 0, (size_t)s->n * (size_t)e->words * sizeof *e->over);
  for (int32_t r = 0; r < s->n; r++) {
    int32_t x = e->order[r].box;
    uint64_t *row = &e->over[(int64_t)r * e->words];
    for (int32_t i = s->overlap_first[x]; i < s->overlap_first[x + 1]; i++) {
      int32_t y = e->number[s->overlap[i]];
      row[y / WORD] |= (uint64_t)1 << (y % WORD);
    }
  }
}

/* The state with nothing placed. Of equal boxes the later lies above the earlier. */
static part make_root(exact *e) {
  const plim_sections *s = &e->sections;
  e->top = 0;
  part root = {push(e, s->n), s->n, 0, s->n_sections};
  for (int32_t i = 0; i < s->n_sections; i++) e->cut[i] = 0;
  for (int32_t r = 0; r < s->n; r++) {
    const shape *b = &e->shape[r];
    root.item[r] = (item){b->fixed >= 0 ? b->fixed : 0, b->fixed >= 0 ? b->fixed : 0, r};
    (void)count_cuts(e, r, 1);
    for (int32_t q = r - 1; q >= 0 && b->fixed < 0; q--) {
      const shape *twin = &e->shape[q];
      if (twin->first != b->first || twin->last != b->last || twin->size != b->size || twin->fixed >= 0) continue;
      root.item[r].least = root.item[q].least + b->size;
      break;
    }
  }
  for (int32_t r = s->n - 1; r >= 0; r--) {
    part tail = {root.item + r, s->n - r, 0, 0};
    raise_item(&tail, 0, tail.item[0].least);
  }
  return root;
}

static plim_status allocate(exact *e) {
  int64_t n = e->sections.n, sections = e->sections.n_sections;
  e->words = (int32_t)(n + WORD - 1) / WORD;
  e->room = n * (n + 3);
  PLIM_TRY(plim_allocate(e->ctx, n, sizeof *e->order, &e->order));
  PLIM_TRY(plim_allocate(e->ctx, n, sizeof *e->number, &e->number));
  PLIM_TRY(plim_allocate(e->ctx, n, sizeof *e->shape, &e->shape));
  PLIM_TRY(plim_allocate(e->ctx, n * e->words, sizeof *e->over, &e->over));
  PLIM_TRY(plim_allocate(e->ctx, e->words, sizeof *e->raised, &e->raised));
  PLIM_TRY(plim_allocate(e->ctx, n, sizeof *e->place, &e->place));
  PLIM_TRY(plim_allocate(e->ctx, sections, sizeof *e->cut, &e->cut));
  PLIM_TRY(plim_allocate(e->ctx, sections, sizeof *e->pile, &e->pile));
  PLIM_TRY(plim_allocate(e->ctx, e->room, sizeof *e->stack, &e->stack));
  return plim_allocate(e->ctx, (int64_t)1 << MEMO_BITS, sizeof *e->failed, &e->failed);
}

static void release(exact *e) {
  int64_t n = e->sections.n, sections = e->sections.n_sections;
  plim_release(e->ctx, e->order, n, sizeof *e->order);
  plim_release(e->ctx, e->number, n, sizeof *e->number);
  plim_release(e->ctx, e->shape, n, sizeof *e->shape);
  plim_release(e->ctx, e->over, n * e->words, sizeof *e->over);
  plim_release(e->ctx, e->raised, e->words, sizeof *e->raised);
  plim_release(e->ctx, e->place, n, sizeof *e->place);
  plim_release(e->ctx, e->cut, sections, sizeof *e->cut);
  plim_release(e->ctx, e->pile, sections, sizeof *e->pile);
  plim_release(e->ctx, e->stack, e->room, sizeof *e->stack);
  plim_release(e->ctx, e->failed, (int64_t)1 << MEMO_BITS, sizeof *e->failed);
  plim_sections_free(&e->sections);
}

static void measure_loads(exact *e) {
  const plim_sections *s = &e->sections;
  memset(e->pile, 0, (size_t)s->n_sections * sizeof *e->pile);
  for (int32_t x = 0; x < s->n; x++) {
    for (int32_t i = s->box[x].first; i < s->box[x].last; i++) e->pile[i] += (int32_t)s->box[x].size;
  }
}

/* One search with a node limit of its own. */
static int run_order(exact *e, const plim_box *box, const int *keys, double noise, plim_random *random) {
  measure_loads(e);
  sort_boxes(e, box, keys, noise, random);
  fill_shapes(e);
  part root = make_root(e);
  e->nodes = 0;
  return piles_fit(e, &root) && solve_pieces(e, root);
}

/* Try the orders in turn, as they are and blurred, with growing node limits until one ends or the nodes are spent. */
static plim_status run_portfolio(exact *e, const plim_box *box, int64_t nodes, plim_pack_outcome *outcome) {
  static const double noise[] = {0, 1, 0, 0.3};
  plim_random random = {1};
  int64_t share = 2 * (int64_t)e->sections.n;
  *outcome = PLIM_PACK_LIMIT;
  for (int round = 0; nodes > 0; round++, share += share / 4) {
    for (int k = 0; k < N_ORDERS && nodes > 0; k++) {
      e->node_limit = share < nodes ? share : nodes;
      int solved = run_order(e, box, orders[k], noise[round % 4], &random);
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
  exact e = {.ctx = ctx, .capacity = (int32_t)(capacity / align)};
  plim_status status;
  *outcome = PLIM_PACK_LIMIT;
  if (n > MOST_BOXES || capacity / align > most_units) return PLIM_OK;
  PLIM_TRY(plim_sections_make(ctx, n, box, align, &e.sections));
  PLIM_CHECK(allocate(&e));
  if (!fits_alone(&e)) {
    *outcome = PLIM_PACK_IMPOSSIBLE;
    goto done;
  }
  PLIM_CHECK(run_portfolio(&e, box, nodes, outcome));
  if (*outcome == PLIM_PACK_FOUND) {
    for (int32_t r = 0; r < n; r++) offset[e.order[r].box] = e.place[r] * align;
  }
done:
  release(&e);
  return status;
}
