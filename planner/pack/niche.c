/* Niche search: is there a packing within a capacity? For tight problems, where almost nothing may stay empty.
 *
 * The floor of a section of time is the lowest offset that an unplaced box can have there. A niche is a range of
 * sections of equal floor between higher ones. A box on the floor of a niche lies within it. So in each section of
 * a niche one of two things holds. One of the boxes within the niche lies on its floor. Or nothing does, and the
 * floor of that section rises to the next offset that a box can have there.
 *
 * A node decides this for one section, mostly that with the fewest answers. A search in order of offsets has no
 * such choice: it cannot begin where it is tight, or where searches failed before.
 *
 * Example, capacity 4. Box a lies in section 0. Waiting are p over sections 1 and 2, q in section 1, r in section 2, of
 * 2, 2 and 1 units.
 *   section  0  1  2
 *   floor    -  0  0   no box waits in section 0; sections 1 and 2 are a niche
 *   slack    -  0  1   the capacity less the floor and the boxes to come
 *   answers  -  2  3   section 1: p or q; section 2: p, r or nothing, since its slack is not 0
 * Section 1 is decided. With p at 0 the floors of both rise to 2, q and r lie on them, and the packing is found.
 *
 * Stacked top: the boxes to come in a section, each stacked no lower than it can lie. Above the capacity, the node
 *   fails.
 * Reason: sections whose boxes, with the lows that they have, made a node fail. A decision is to blame when it lies in
 *   one of them, or when it gave one of their boxes its low. No other answer of a decision that is not to blame is
 *   tried (conflict-directed backjumping, Prosser, 1993).
 * Covers: a box lies on a floor only if what is beside it in the niche can be covered too (niche_cover.c).
 * Borders: sums of sizes bound how low a box can lie that spans a border of sections (niche_border.c).
 * Memo: equal boxes with equal lows have failed before, with that reason. A 64-bit hash recognises them. Reasons
 *   are sets of sections, not of decisions, so that they hold when other decisions lead to the same lows.
 * Restarts: with other orders of boxes, other choices of sections, and weights of the sections in which nodes failed
 *   (Boussemart et al., 2004). In some of them boxes are tried first where they lay at the deepest node of an earlier
 *   one (phase saving, Pipatsrisawat and Darwiche, 2007).
 * Compounds: in some restarts boxes of one lifetime are stacked, and boxes of one size that follow each other share
 *   an offset. That undoes guillotine cuts. In others, boxes join whose joint area stays empty only in part, as long as
 *   the slack of their sections allows it (loose compounds). Such a restart proves nothing.
 *
 * Invariant: the low of an unplaced box is at or above the tops of all placed boxes that overlap it in time. */
#include "planner/pack/niche.h"

#include <math.h>
#include <string.h>

#include "planner/pack/exact.h"
#include "planner/pack/pack_tuning.h"
#include "planner/pack/units.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

enum { RAISE = -1, WALL = PLIM_NICHE_WALL };

typedef plim_niche_waiting_box waiting_box;
typedef plim_niche_shape shape;
typedef plim_niche_frame frame;

/* ---- sections of a node ---- */

/* Begin with what the parent knows of its sections; the root (NULL) knows nothing. */
static void inherit_sections(plim_niche *e, const frame *parent, frame *f) {
  size_t m = (size_t)e->m;
  e->node.floor = f->floors;
  e->node.slack = f->slacks;
  e->node.crossing = f->crossings;
  if (parent) {
    memcpy(f->floors, parent->floors, m * sizeof *f->floors);
    memcpy(f->slacks, parent->slacks, m * sizeof *f->slacks);
    memcpy(f->crossings, parent->crossings, m * sizeof *f->crossings);
    if (f->placed < 0) return;
    const shape *b = &e->shape[f->placed];
    for (int32_t s = b->first; s + 1 < b->last; s++) f->crossings[s]--;
  } else {
    memset(f->crossings, 0, m * sizeof *f->crossings);
    for (int32_t i = 0; i < f->n_waiting; i++) {
      const shape *b = &e->shape[f->waiting[i].box];
      for (int32_t s = b->first; s + 1 < b->last; s++) f->crossings[s]++;
    }
  }
}

/* Set what a node knows of its touched sections. */
static void look(plim_niche *e, const frame *f) {
  int32_t *restrict floor = e->node.floor, *restrict top = e->node.top, *restrict slack = e->node.slack;
  plim_span at = f->touched;
  for (int32_t s = at.first; s < at.last; s++) {
    floor[s] = WALL;
    top[s] = slack[s] = 0;
  }
  for (int32_t i = f->n_waiting - 1; i >= 0; i--) {
    const shape *b = &e->shape[f->waiting[i].box];
    int32_t low = f->waiting[i].low, last = b->last < at.last ? b->last : at.last;
    for (int32_t s = b->first > at.first ? b->first : at.first; s < last; s++) floor[s] = low;
  }
  for (int32_t i = 0; i < f->n_waiting; i++) {
    const shape *b = &e->shape[f->waiting[i].box];
    int32_t low = f->waiting[i].low, size = b->size, last = b->last < at.last ? b->last : at.last;
    for (int32_t s = b->first > at.first ? b->first : at.first; s < last; s++) {
      int32_t old = top[s];
      top[s] = (old > low ? old : low) + size;
      slack[s] -= size;
    }
  }
  for (int32_t s = at.first; s < at.last; s++) slack[s] += floor[s] < WALL ? e->capacity - floor[s] : 0;
}

/* The touched section over the capacity, of the largest weight; -1: none. */
static int32_t find_overfull(const plim_niche *e, plim_span at) {
  int32_t worst = -1;
  for (int32_t s = at.first; s < at.last; s++) {
    if (e->node.top[s] > e->capacity && (worst < 0 || e->weight[s] > e->weight[worst])) worst = s;
  }
  return worst;
}

typedef plim_span niche;

/* The next niche that begins at section s or later; first == m: none. */
static niche next_niche(const plim_niche *e, int32_t s) {
  while (s < e->m) {
    niche v = {s, s + 1};
    while (v.last < e->m && e->node.floor[v.last] == e->node.floor[s] && e->node.crossing[v.last - 1] > 0) v.last++;
    int lower_before = s > 0 && e->node.crossing[s - 1] > 0 && e->node.floor[s - 1] < e->node.floor[s];
    int lower_after = v.last < e->m && e->node.crossing[v.last - 1] > 0 && e->node.floor[v.last] < e->node.floor[s];
    if (e->node.floor[s] != WALL && !lower_before && !lower_after) return v;
    s = v.last;
  }
  return (niche){e->m, e->m};
}

/* Where the floor of section s rises to when no box lies on it: the lowest offset that a box of the section can then
 * have. A box whose low is above the floor can lie at its low. A box whose low is the floor cannot. It lies on another
 * box of the niche then, one outside the section, at the lowest top of these. */
static int32_t raise_floor(const plim_niche *e, const frame *f, niche v, int32_t s) {
  int32_t floor = e->node.floor[s], least_top = WALL, raised = WALL;
  for (int32_t i = 0; i < f->n_waiting; i++) {
    const shape *b = &e->shape[f->waiting[i].box];
    int beside = b->first < v.last && b->last > v.first && !(b->first <= s && s < b->last);
    if (beside && f->waiting[i].low + b->size < least_top) least_top = f->waiting[i].low + b->size;
  }
  for (int32_t i = 0; i < f->n_waiting; i++) {
    const shape *b = &e->shape[f->waiting[i].box];
    if (b->first > s || s >= b->last) continue;
    int32_t low = f->waiting[i].low > floor ? f->waiting[i].low : least_top;
    if (low < raised) raised = low;
  }
  return raised;
}

/* The section to decide: of all niches the one with the fewest answers, by weight. A niche that cannot be covered comes
 * before all others; then *section is -1. */
static niche choose(plim_niche *e, const frame *f, int32_t *section) {
  niche best = {e->m, e->m};
  double least = INFINITY;
  plim_niche_list_candidates(e, f);
  for (niche v = next_niche(e, 0); v.first < e->m; v = next_niche(e, v.last)) {
    if (!plim_niche_cover(e, f, v)) {
      *section = -1;
      return v;
    }
    for (int32_t s = v.first; s < v.last; s++) {
      int32_t slack = e->node.slack[s], answers = e->node.answers[s];
      double score = answers * (1 + pack_tuning.niche.slack * slack / e->capacity);
      if (e->policy == PLIM_BY_WEIGHT) score /= e->weight[s];
      if (e->policy == PLIM_LOWEST_FIRST) score += (double)e->node.floor[s] * e->n;
      if (answers <= 1) score = 0;
      if (score >= least) continue;
      least = score;
      *section = s;
      best = v;
    }
  }
  return best;
}

static int is_twin(const shape *a, const shape *b) {
  return a->first == b->first && a->last == b->last && a->size == b->size;
}

/* How well a box fits on the floor of a niche: at how many of its sides it lies against a wall, and at how many of
 * these it is as high as the wall. */
static int32_t count_fits(const plim_niche *e, niche v, const shape *b) {
  int32_t fits = 0, top = e->node.floor[v.first] + b->size;
  if (b->first == v.first) fits += 1 + (v.first == 0 || e->node.floor[v.first - 1] == top);
  if (b->last == v.last) fits += 1 + (v.last == e->m || e->node.floor[v.last] == top);
  return fits;
}

/* Boxes that may lie on the floor, the likeliest first. Of equal ones only the first. Returns 1 when some were left out
 * since they are in no cover of the niche. */
static int list_options(plim_niche *e, frame *f, niche v) {
  int32_t s = f->section, n = 0, left_out = 0;
  (void)plim_niche_cover(e, f, v);
  f->floor = e->node.floor[s];
  for (int32_t i = 0; i < f->n_waiting && f->waiting[i].low <= f->floor; i++) {
    const shape *b = &e->shape[f->waiting[i].box];
    int fits = f->waiting[i].low == f->floor && b->first <= s && s < b->last;
    for (int32_t k = 0; k < n && fits; k++) fits = !is_twin(&e->shape[f->option[k]], b);
    left_out |= fits && !plim_niche_can_cover(e, b);
    if (!fits || !plim_niche_can_cover(e, b)) continue;
    int32_t x = f->waiting[i].box, at = n++;
    e->rank[x] = e->key[x] * (1 + pack_tuning.niche.fitting * count_fits(e, v, b));
    if (e->best.use_saved && e->best.saved[x] == f->floor) e->rank[x] *= pack_tuning.niche.saved;
    for (; at > 0 && e->rank[f->option[at - 1]] < e->rank[x]; at--) f->option[at] = f->option[at - 1];
    f->option[at] = (int16_t)x;
  }
  f->raised_floor = e->node.slack[s] > 0 ? raise_floor(e, f, v, s) : WALL;
  if (f->raised_floor != WALL && f->raised_floor - f->floor <= e->node.slack[s] && plim_niche_can_rise(e, s))
    f->option[n++] = RAISE;
  f->n_options = n;
  f->at = 0;
  return left_out || (e->node.slack[s] > 0 && !plim_niche_can_rise(e, s));
}

static uint64_t hash_of(const plim_niche *e, const frame *f) {
  uint64_t hash = (uint64_t)e->capacity * 0x9e3779b97f4a7c15U;
  for (int32_t i = 0; i < f->n_waiting; i++) {
    uint64_t x = e->code[f->waiting[i].box] + (uint64_t)(uint32_t)f->waiting[i].low * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 31)) * 0x94d049bb133111ebU;
    hash += x ^ (x >> 29);
  }
  return hash ? hash : 1;
}

typedef enum verdict { OPEN, SOLVED, FAILED } verdict;

/* Add where the boxes lie by which there are no more answers: none can come below the candidates, nor below what the
 * floor rises to. */
static void blame_floor(const plim_niche *e, frame *f, niche v, int left_out) {
  int32_t first = f->section, last = f->section + 1;
  if (e->node.slack[f->section] > 0 || left_out) {
    first = v.first;
    last = v.last;
  }
  for (int32_t i = 0; i < f->n_options; i++) {
    const shape *b = f->option[i] == RAISE ? NULL : &e->shape[f->option[i]];
    if (b && b->first < first) first = b->first;
    if (b && b->last > last) last = b->last;
  }
  for (int32_t s = first; s < last; s++) plim_niche_add_section(f->reason, s);
}

static int has_any(const uint64_t *set, int32_t first, int32_t last) {
  int any = 0;
  for (int32_t s = first; s < last && !any; s++) any = (int)(set[s / PLIM_WORD] >> (s % PLIM_WORD) & 1);
  return any;
}

/* The reason names lows that borders raised: then what is beside these borders is to blame as well. */
static void blame_borders(const plim_niche *e, frame *f) {
  int blamed = 0;
  for (int32_t i = 0; i < f->n_waiting && !blamed; i++) {
    const shape *b = &e->shape[f->waiting[i].box];
    blamed = f->waiting[i].is_raised && has_any(f->reason, b->first, b->last);
  }
  for (int32_t w = 0; w < e->words && blamed; w++) f->reason[w] |= f->raised[w];
}

/* Look, and raise boxes, until nothing changes. Returns 0 when the node fails. */
static int look_at_all(plim_niche *e, frame *f) {
  for (int32_t raised = 1; raised != 0;) {
    look(e, f);
    int32_t overfull = find_overfull(e, f->touched);
    if (overfull >= 0) {
      e->weight[overfull] += 1;
      plim_niche_add_section(f->reason, overfull);
    }
    raised = overfull >= 0 ? -1 : plim_niche_match_borders(e, f);
    if (raised < 0) {
      blame_borders(e, f);
      return 0;
    }
  }
  return 1;
}

/* A niche cannot be covered: of its sections, the last that can be filled from the left gets the weight. */
static void fail_uncovered(plim_niche *e, frame *f, niche v) {
  int32_t last = v.last;
  while (!e->node.from_left[last]) last--;
  e->weight[last] += 1;
  for (int32_t s = v.first; s < v.last; s++) plim_niche_add_section(f->reason, s);
  blame_borders(e, f);
}

/* Prepare a node whose boxes and touched sections are set. */
static verdict enter(plim_niche *e, const frame *parent, frame *f) {
  memset(f->reason, 0, 2 * (size_t)e->words * sizeof *f->reason); /* and `raised` */
  if (f->n_waiting == 0) return SOLVED;
  f->hash = hash_of(e, f);
  int64_t at = (int64_t)(f->hash >> 20) & (e->memo.n - 1);
  if (e->memo.hash[at] == f->hash) {
    e->memo.recognised++;
    memcpy(f->reason, e->memo.reasons + at * e->words, (size_t)e->words * sizeof *f->reason);
    return FAILED;
  }
  inherit_sections(e, parent, f);
  if (!look_at_all(e, f)) return FAILED;
  niche v = choose(e, f, &f->section);
  if (f->section < 0) {
    fail_uncovered(e, f, v);
    return FAILED;
  }
  blame_floor(e, f, v, list_options(e, f, v));
  return OPEN;
}

/* A box of a child. */
static waiting_box inherit(const waiting_box *from) {
  return (waiting_box){from->low, from->box, from->is_raised ? -1 : from->witness, 0};
}

/* Make the boxes of a child: `without` is placed, and boxes in sections [first, last) lie at `low` or above. */
static void make_child(const plim_niche *e, const frame *f, frame *to, int32_t without, plim_span where, int32_t low) {
  int32_t n = 0, i = 0;
  waiting_box raised[PLIM_NICHE_MAX];
  int32_t n_raised = 0;
  to->placed = without;
  to->touched = (plim_span){e->m, 0};
  if (without >= 0) plim_niche_touch(&to->touched, &e->shape[without]);
  for (; i < f->n_waiting && f->waiting[i].low < low; i++) {
    waiting_box it = inherit(&f->waiting[i]);
    const shape *b = &e->shape[it.box];
    if (it.box == without) continue;
    if (b->first < where.last && where.first < b->last) {
      it.low = low;
      plim_niche_touch(&to->touched, b);
      it.witness = (int16_t)(b->first > where.first ? b->first : where.first);
      raised[n_raised++] = it;
    } else {
      to->waiting[n++] = it;
    }
  }
  memcpy(to->waiting + n, raised, (size_t)n_raised * sizeof *raised);
  n += n_raised;
  for (; i < f->n_waiting; i++) {
    if (f->waiting[i].box != without) to->waiting[n++] = inherit(&f->waiting[i]);
  }
  to->n_waiting = n;
}

/* Sections of the decision that was tried last. */
static plim_span span_of(const plim_niche *e, const frame *f) {
  int32_t x = f->option[f->at - 1];
  if (x == RAISE) return (plim_span){f->section, f->section + 1};
  return (plim_span){e->shape[x].first, e->shape[x].last};
}

static verdict try_next(plim_niche *e, frame *f, frame *child, int64_t *offset) {
  int32_t x = f->option[f->at++];
  e->nodes++;
  if (x == RAISE) {
    make_child(e, f, child, -1, span_of(e, f), f->raised_floor);
  } else {
    offset[x] = f->floor;
    make_child(e, f, child, x, span_of(e, f), f->floor + e->shape[x].size);
  }
  return enter(e, f, child);
}

/* Is a decision in sections `span` to blame for what failed under it? */
static int is_to_blame(const plim_niche *e, const frame *failed, plim_span span) {
  int blamed = has_any(failed->reason, span.first, span.last);
  for (int32_t i = 0; i < failed->n_waiting && !blamed; i++) {
    const waiting_box *it = &failed->waiting[i];
    const shape *b = &e->shape[it->box];
    int lifted = it->low > 0 && span.first <= it->witness && it->witness < span.last;
    blamed = lifted && has_any(failed->reason, b->first, b->last);
  }
  return blamed;
}

/* The answer that was tried last failed: the others are tried only when it was to blame. */
static void take_reason(const plim_niche *e, frame *f, const frame *child) {
  int blamed = is_to_blame(e, child, span_of(e, f));
  for (int32_t w = 0; w < e->words; w++) f->reason[w] = child->reason[w] | (blamed ? f->reason[w] : 0);
  if (!blamed) f->at = f->n_options;
}

static void remember(plim_niche *e, frame *f) {
  blame_borders(e, f);
  int64_t at = (int64_t)(f->hash >> 20) & (e->memo.n - 1);
  e->memo.hash[at] = f->hash;
  memcpy(e->memo.reasons + at * e->words, f->reason, (size_t)e->words * sizeof *f->reason);
}

static int is_out_of_time(const plim_niche *e, int64_t deadline_ns) {
  int64_t work = (int64_t)pack_tuning.niche.nodes_a_look * pack_tuning.niche.box_ns * e->n;
  return plim_effort_over(e->units->ctx, work) || (deadline_ns < INT64_MAX && plim_now_ns() > deadline_ns);
}

static plim_pack_outcome search_niches(plim_niche *e, int64_t nodes, int64_t deadline_ns, int64_t *offset) {
  int32_t depth = 0;
  verdict last = enter(e, NULL, &e->stack.frame[0]);
  while (last != SOLVED) {
    frame *f = &e->stack.frame[depth];
    if (last == FAILED) {
      if (depth == 0) return PLIM_PACK_IMPOSSIBLE;
      f = &e->stack.frame[--depth];
      take_reason(e, f, f + 1);
    }
    if (f->at == f->n_options) {
      remember(e, f);
      last = FAILED;
      continue;
    }
    if (e->nodes >= nodes || depth + 2 >= e->depth_max) return PLIM_PACK_LIMIT;
    if (e->nodes % pack_tuning.niche.nodes_a_look == 0 && is_out_of_time(e, deadline_ns)) return PLIM_PACK_LIMIT;
    last = try_next(e, f, f + 1, offset);
    if (last == OPEN) plim_niche_keep(e, f + 1, offset);
    depth++;
  }
  return PLIM_PACK_FOUND;
}

plim_pack_outcome plim_niche_run(plim_niche *e, int64_t capacity, int32_t restart, const plim_exact_limits *limits,
                                 int64_t *offset, int64_t *nodes) {
  *nodes = e->nodes = 0;
  if (capacity >= PLIM_EXACT_UNITS) return PLIM_PACK_LIMIT;
  for (int32_t x = 0; x < e->n; x++) {
    if (e->units->size[x] > capacity) return PLIM_PACK_IMPOSSIBLE;
  }
  e->capacity = (int32_t)capacity;
  int proves = plim_niche_prepare(e, restart);
  plim_pack_outcome outcome = search_niches(e, limits->nodes, limits->deadline_ns, offset);
  *nodes = e->nodes;
  plim_niche_save(e);
  for (int32_t x = 0; x < e->n && outcome == PLIM_PACK_FOUND; x++) {
    if (e->owner[x] != x) offset[x] = offset[e->owner[x]] + e->up[x];
  }
  return outcome == PLIM_PACK_IMPOSSIBLE && !proves ? PLIM_PACK_LIMIT : outcome;
}

int64_t plim_niche_share(int32_t restart) {
  return pack_tuning.niche.nodes_a_restart * plim_integers_luby(restart);
}
