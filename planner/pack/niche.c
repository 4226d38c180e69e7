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
#include "planner/pack/niche_internal.h"

#include <math.h>
#include <string.h>

#include "planner/pack/pack_tuning.h"
#include "planner/pack/packers.h"
#include "planner/pack/units.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

enum { RAISE = -1, WALL = PLIM_NICHE_WALL };

typedef plim_niche_waiting_box waiting_box;
typedef plim_niche_shape shape;

/* ---- sections of a node ---- */

/* Begin with what the parent knows of its sections; the root (NULL) knows nothing. */
static void inherit_sections(plim_niche *niche, const plim_niche_frame *parent, plim_niche_frame *frame) {
  size_t m = (size_t)niche->m;
  niche->node.floor = frame->floors;
  niche->node.slack = frame->slacks;
  niche->node.crossing = frame->crossings;
  if (parent) {
    memcpy(frame->floors, parent->floors, m * sizeof *frame->floors);
    memcpy(frame->slacks, parent->slacks, m * sizeof *frame->slacks);
    memcpy(frame->crossings, parent->crossings, m * sizeof *frame->crossings);
    if (frame->placed < 0) return;
    const shape *b = &niche->shape[frame->placed];
    for (int32_t s = b->first; s + 1 < b->last; s++) frame->crossings[s]--;
  } else {
    memset(frame->crossings, 0, m * sizeof *frame->crossings);
    for (int32_t i = 0; i < frame->n_waiting; i++) {
      const shape *b = &niche->shape[frame->waiting[i].box];
      for (int32_t s = b->first; s + 1 < b->last; s++) frame->crossings[s]++;
    }
  }
}

/* Set what a node knows of its touched sections. */
static void look(plim_niche *niche, const plim_niche_frame *frame) {
  int32_t *restrict floor = niche->node.floor, *restrict top = niche->node.top, *restrict slack = niche->node.slack;
  plim_section_range at = frame->touched;
  for (int32_t s = at.first; s < at.last; s++) {
    floor[s] = WALL;
    top[s] = slack[s] = 0;
  }
  for (int32_t i = frame->n_waiting - 1; i >= 0; i--) {
    const shape *b = &niche->shape[frame->waiting[i].box];
    int32_t low = frame->waiting[i].low, last = b->last < at.last ? b->last : at.last;
    for (int32_t s = b->first > at.first ? b->first : at.first; s < last; s++) floor[s] = low;
  }
  for (int32_t i = 0; i < frame->n_waiting; i++) {
    const shape *b = &niche->shape[frame->waiting[i].box];
    int32_t low = frame->waiting[i].low, size = b->size, last = b->last < at.last ? b->last : at.last;
    for (int32_t s = b->first > at.first ? b->first : at.first; s < last; s++) {
      int32_t old = top[s];
      top[s] = (old > low ? old : low) + size;
      slack[s] -= size;
    }
  }
  for (int32_t s = at.first; s < at.last; s++) slack[s] += floor[s] < WALL ? niche->capacity - floor[s] : 0;
}

/* The touched section over the capacity, of the largest weight; -1: none. */
static int32_t find_overfull(const plim_niche *niche, plim_section_range at) {
  int32_t worst = -1;
  for (int32_t s = at.first; s < at.last; s++) {
    if (niche->node.top[s] > niche->capacity && (worst < 0 || niche->weight[s] > niche->weight[worst])) worst = s;
  }
  return worst;
}

/* The next niche that begins at section s or later; first == m: none. */
static plim_section_range next_niche(const plim_niche *niche, int32_t s) {
  while (s < niche->m) {
    plim_section_range span = {s, s + 1};
    while (span.last < niche->m && niche->node.floor[span.last] == niche->node.floor[s] &&
           niche->node.crossing[span.last - 1] > 0) {
      span.last++;
    }
    int lower_before = s > 0 && niche->node.crossing[s - 1] > 0 && niche->node.floor[s - 1] < niche->node.floor[s];
    int lower_after = span.last < niche->m && niche->node.crossing[span.last - 1] > 0 &&
                      niche->node.floor[span.last] < niche->node.floor[s];
    if (niche->node.floor[s] != WALL && !lower_before && !lower_after) return span;
    s = span.last;
  }
  return (plim_section_range){niche->m, niche->m};
}

/* Where the floor of section s rises to when no box lies on it: the lowest offset that a box of the section can then
 * have. A box whose low is above the floor can lie at its low. A box whose low is the floor cannot. It lies on another
 * box of the niche then, one outside the section, at the lowest top of these. */
static int32_t raise_floor(const plim_niche *niche, const plim_niche_frame *frame, plim_section_range span, int32_t s) {
  int32_t floor = niche->node.floor[s], least_top = WALL, raised = WALL;
  for (int32_t i = 0; i < frame->n_waiting; i++) {
    const shape *b = &niche->shape[frame->waiting[i].box];
    int is_outside = b->first < span.last && b->last > span.first && !(b->first <= s && s < b->last);
    if (is_outside && frame->waiting[i].low + b->size < least_top) least_top = frame->waiting[i].low + b->size;
  }
  for (int32_t i = 0; i < frame->n_waiting; i++) {
    const shape *b = &niche->shape[frame->waiting[i].box];
    if (b->first > s || s >= b->last) continue;
    int32_t low = frame->waiting[i].low > floor ? frame->waiting[i].low : least_top;
    if (low < raised) raised = low;
  }
  return raised;
}

/* The section to decide: of all niches the one with the fewest answers, by weight. A niche that cannot be covered comes
 * before all others; then *section is -1. */
static plim_section_range choose_section(plim_niche *niche, const plim_niche_frame *frame, int32_t *section) {
  plim_section_range best = {niche->m, niche->m};
  double least = INFINITY;
  plim_niche_list_candidates(niche, frame);
  for (plim_section_range span = next_niche(niche, 0); span.first < niche->m; span = next_niche(niche, span.last)) {
    if (!plim_niche_cover(niche, frame, span)) {
      *section = -1;
      return span;
    }
    for (int32_t s = span.first; s < span.last; s++) {
      int32_t slack = niche->node.slack[s], answers = niche->node.answers[s];
      double score = answers * (1 + pack_tuning.niche.slack_weight * slack / niche->capacity);
      if (niche->policy == PLIM_BY_WEIGHT) score /= niche->weight[s];
      if (niche->policy == PLIM_LOWEST_FIRST) score += (double)niche->node.floor[s] * niche->n;
      if (answers <= 1) score = 0;
      if (score >= least) continue;
      least = score;
      *section = s;
      best = span;
    }
  }
  return best;
}

static int is_twin(const shape *a, const shape *b) {
  return a->first == b->first && a->last == b->last && a->size == b->size;
}

/* How well a box fits on the floor of a niche: at how many of its sides it lies against a wall, and at how many of
 * these it is as high as the wall. */
static int32_t count_fits(const plim_niche *niche, plim_section_range span, const shape *b) {
  int32_t fits = 0, top = niche->node.floor[span.first] + b->size;
  if (b->first == span.first) fits += 1 + (span.first == 0 || niche->node.floor[span.first - 1] == top);
  if (b->last == span.last) fits += 1 + (span.last == niche->m || niche->node.floor[span.last] == top);
  return fits;
}

/* Boxes that may lie on the floor, the likeliest first. Of equal ones only the first. Returns 1 when some were left out
 * since they are in no cover of the niche. */
static int list_options(plim_niche *niche, plim_niche_frame *frame, plim_section_range span) {
  int32_t s = frame->section, n = 0, left_out = 0;
  (void)plim_niche_cover(niche, frame, span);
  frame->floor = niche->node.floor[s];
  for (int32_t i = 0; i < frame->n_waiting && frame->waiting[i].low <= frame->floor; i++) {
    const shape *b = &niche->shape[frame->waiting[i].box];
    int fits = frame->waiting[i].low == frame->floor && b->first <= s && s < b->last;
    for (int32_t k = 0; k < n && fits; k++) fits = !is_twin(&niche->shape[frame->option[k]], b);
    left_out |= fits && !plim_niche_can_cover(niche, b);
    if (!fits || !plim_niche_can_cover(niche, b)) continue;
    int32_t x = frame->waiting[i].box, at = n++;
    niche->rank[x] = niche->key[x] * (1 + pack_tuning.niche.wall_bonus * count_fits(niche, span, b));
    if (niche->best.use_saved && niche->best.saved[x] == frame->floor) niche->rank[x] *= pack_tuning.niche.saved_factor;
    for (; at > 0 && niche->rank[frame->option[at - 1]] < niche->rank[x]; at--) {
      frame->option[at] = frame->option[at - 1];
    }
    frame->option[at] = (int16_t)x;
  }
  frame->raised_floor = niche->node.slack[s] > 0 ? raise_floor(niche, frame, span, s) : WALL;
  if (frame->raised_floor != WALL && frame->raised_floor - frame->floor <= niche->node.slack[s] &&
      plim_niche_can_rise(niche, s)) {
    frame->option[n++] = RAISE;
  }
  frame->n_options = n;
  frame->at = 0;
  return left_out || (niche->node.slack[s] > 0 && !plim_niche_can_rise(niche, s));
}

static uint64_t hash_of(const plim_niche *niche, const plim_niche_frame *frame) {
  uint64_t hash = (uint64_t)niche->capacity * 0x9e3779b97f4a7c15U;
  for (int32_t i = 0; i < frame->n_waiting; i++) {
    uint64_t x = niche->code[frame->waiting[i].box] + (uint64_t)(uint32_t)frame->waiting[i].low * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 31)) * 0x94d049bb133111ebU;
    hash += x ^ (x >> 29);
  }
  return hash ? hash : 1;
}

typedef enum verdict { OPEN, SOLVED, FAILED } verdict;

/* Add where the boxes lie by which there are no more answers: none can come below the candidates, nor below what the
 * floor rises to. */
static void blame_floor(const plim_niche *niche, plim_niche_frame *frame, plim_section_range span, int left_out) {
  int32_t first = frame->section, last = frame->section + 1;
  if (niche->node.slack[frame->section] > 0 || left_out) {
    first = span.first;
    last = span.last;
  }
  for (int32_t i = 0; i < frame->n_options; i++) {
    const shape *b = frame->option[i] == RAISE ? NULL : &niche->shape[frame->option[i]];
    if (b && b->first < first) first = b->first;
    if (b && b->last > last) last = b->last;
  }
  for (int32_t s = first; s < last; s++) plim_niche_add_section(frame->reason, s);
}

static int has_any(const uint64_t *set, int32_t first, int32_t last) {
  int any = 0;
  for (int32_t s = first; s < last && !any; s++) any = (int)(set[s / PLIM_WORD] >> (s % PLIM_WORD) & 1);
  return any;
}

/* The reason names lows that borders raised: then what is beside these borders is to blame as well. */
static void blame_borders(const plim_niche *niche, plim_niche_frame *frame) {
  int blamed = 0;
  for (int32_t i = 0; i < frame->n_waiting && !blamed; i++) {
    const shape *b = &niche->shape[frame->waiting[i].box];
    blamed = frame->waiting[i].is_raised && has_any(frame->reason, b->first, b->last);
  }
  for (int32_t w = 0; w < niche->words && blamed; w++) frame->reason[w] |= frame->raised[w];
}

/* Look, and raise boxes, until nothing changes. Returns 0 when the node fails. */
static int look_at_all(plim_niche *niche, plim_niche_frame *frame) {
  for (int32_t raised = 1; raised != 0;) {
    look(niche, frame);
    int32_t overfull = find_overfull(niche, frame->touched);
    if (overfull >= 0) {
      niche->weight[overfull] += 1;
      plim_niche_add_section(frame->reason, overfull);
    }
    raised = overfull >= 0 ? -1 : plim_niche_match_borders(niche, frame);
    if (raised < 0) {
      blame_borders(niche, frame);
      return 0;
    }
  }
  return 1;
}

/* A niche cannot be covered: of its sections, the last that can be filled from the left gets the weight. */
static void fail_uncovered(plim_niche *niche, plim_niche_frame *frame, plim_section_range span) {
  int32_t last = span.last;
  while (!niche->node.from_left[last]) last--;
  niche->weight[last] += 1;
  for (int32_t s = span.first; s < span.last; s++) plim_niche_add_section(frame->reason, s);
  blame_borders(niche, frame);
}

/* Prepare a node whose boxes and touched sections are set. */
static verdict enter_node(plim_niche *niche, const plim_niche_frame *parent, plim_niche_frame *frame) {
  memset(frame->reason, 0, 2 * (size_t)niche->words * sizeof *frame->reason); /* and `raised` */
  if (frame->n_waiting == 0) return SOLVED;
  frame->hash = hash_of(niche, frame);
  int64_t at = (int64_t)(frame->hash >> 20) & (niche->memo.n - 1);
  if (niche->memo.hash[at] == frame->hash) {
    niche->memo.recognised++;
    memcpy(frame->reason, niche->memo.reasons + at * niche->words, (size_t)niche->words * sizeof *frame->reason);
    return FAILED;
  }
  inherit_sections(niche, parent, frame);
  if (!look_at_all(niche, frame)) return FAILED;
  plim_section_range span = choose_section(niche, frame, &frame->section);
  if (frame->section < 0) {
    fail_uncovered(niche, frame, span);
    return FAILED;
  }
  blame_floor(niche, frame, span, list_options(niche, frame, span));
  return OPEN;
}

/* A box of a child. */
static waiting_box inherit(const waiting_box *from) {
  return (waiting_box){from->low, from->box, from->is_raised ? -1 : from->witness, 0};
}

/* Make the boxes of a child: `without` is placed, and boxes in sections [first, last) lie at `low` or above. */
static void make_child(const plim_niche *niche, const plim_niche_frame *frame, plim_niche_frame *to, int32_t without,
                       plim_section_range where, int32_t low) {
  int32_t n = 0, i = 0;
  waiting_box raised[PLIM_NICHE_MAX];
  int32_t n_raised = 0;
  to->placed = without;
  to->touched = (plim_section_range){niche->m, 0};
  if (without >= 0) plim_niche_touch(&to->touched, &niche->shape[without]);
  for (; i < frame->n_waiting && frame->waiting[i].low < low; i++) {
    waiting_box it = inherit(&frame->waiting[i]);
    const shape *b = &niche->shape[it.box];
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
  for (; i < frame->n_waiting; i++) {
    if (frame->waiting[i].box != without) to->waiting[n++] = inherit(&frame->waiting[i]);
  }
  to->n_waiting = n;
}

/* Sections of the decision that was tried last. */
static plim_section_range span_of(const plim_niche *niche, const plim_niche_frame *frame) {
  int32_t x = frame->option[frame->at - 1];
  if (x == RAISE) return (plim_section_range){frame->section, frame->section + 1};
  return (plim_section_range){niche->shape[x].first, niche->shape[x].last};
}

static verdict try_next(plim_niche *niche, plim_niche_frame *frame, plim_niche_frame *child, int64_t *offset) {
  int32_t x = frame->option[frame->at++];
  niche->nodes++;
  if (x == RAISE) {
    make_child(niche, frame, child, -1, span_of(niche, frame), frame->raised_floor);
  } else {
    offset[x] = frame->floor;
    make_child(niche, frame, child, x, span_of(niche, frame), frame->floor + niche->shape[x].size);
  }
  return enter_node(niche, frame, child);
}

/* Is a decision in sections `span` to blame for what failed under it? */
static int is_to_blame(const plim_niche *niche, const plim_niche_frame *failed, plim_section_range span) {
  int blamed = has_any(failed->reason, span.first, span.last);
  for (int32_t i = 0; i < failed->n_waiting && !blamed; i++) {
    const waiting_box *it = &failed->waiting[i];
    const shape *b = &niche->shape[it->box];
    int lifted = it->low > 0 && span.first <= it->witness && it->witness < span.last;
    blamed = lifted && has_any(failed->reason, b->first, b->last);
  }
  return blamed;
}

/* The answer that was tried last failed: the others are tried only when it was to blame. */
static void inherit_reason(const plim_niche *niche, plim_niche_frame *frame, const plim_niche_frame *child) {
  int blamed = is_to_blame(niche, child, span_of(niche, frame));
  for (int32_t w = 0; w < niche->words; w++) frame->reason[w] = child->reason[w] | (blamed ? frame->reason[w] : 0);
  if (!blamed) frame->at = frame->n_options;
}

static void remember(plim_niche *niche, plim_niche_frame *frame) {
  blame_borders(niche, frame);
  int64_t at = (int64_t)(frame->hash >> 20) & (niche->memo.n - 1);
  niche->memo.hash[at] = frame->hash;
  memcpy(niche->memo.reasons + at * niche->words, frame->reason, (size_t)niche->words * sizeof *frame->reason);
}

static int is_out_of_time(const plim_niche *niche, int64_t deadline_ns) {
  int64_t work = (int64_t)pack_tuning.niche.nodes_a_look * pack_tuning.niche.box_ns * niche->n;
  return plim_effort_over(niche->units->ctx, work) || (deadline_ns < INT64_MAX && plim_now_ns() > deadline_ns);
}

static plim_pack_outcome search_niches(plim_niche *niche, int64_t nodes, int64_t deadline_ns, int64_t *offset) {
  int32_t depth = 0;
  verdict last = enter_node(niche, NULL, &niche->stack.frame[0]);
  while (last != SOLVED) {
    plim_niche_frame *frame = &niche->stack.frame[depth];
    if (last == FAILED) {
      if (depth == 0) return PLIM_PACK_IMPOSSIBLE;
      frame = &niche->stack.frame[--depth];
      inherit_reason(niche, frame, frame + 1);
    }
    if (frame->at == frame->n_options) {
      remember(niche, frame);
      last = FAILED;
      continue;
    }
    if (niche->nodes >= nodes || depth + 2 >= niche->depth_max) return PLIM_PACK_LIMIT;
    if (niche->nodes % pack_tuning.niche.nodes_a_look == 0 && is_out_of_time(niche, deadline_ns)) {
      return PLIM_PACK_LIMIT;
    }
    last = try_next(niche, frame, frame + 1, offset);
    if (last == OPEN) plim_niche_keep(niche, frame + 1, offset);
    depth++;
  }
  return PLIM_PACK_FOUND;
}

plim_pack_outcome plim_niche_run(plim_niche *niche, int64_t capacity, int32_t restart, const plim_exact_limits *limits,
                                 int64_t *offset, int64_t *nodes) {
  *nodes = niche->nodes = 0;
  if (capacity >= PLIM_EXACT_UNITS) return PLIM_PACK_LIMIT;
  for (int32_t x = 0; x < niche->n; x++) {
    if (niche->units->size[x] > capacity) return PLIM_PACK_IMPOSSIBLE;
  }
  niche->capacity = (int32_t)capacity;
  int proves = plim_niche_prepare(niche, restart);
  plim_pack_outcome outcome = search_niches(niche, limits->nodes, limits->deadline_ns, offset);
  *nodes = niche->nodes;
  plim_niche_save(niche);
  for (int32_t x = 0; x < niche->n && outcome == PLIM_PACK_FOUND; x++) {
    if (niche->owner[x] != x) offset[x] = offset[niche->owner[x]] + niche->up[x];
  }
  return outcome == PLIM_PACK_IMPOSSIBLE && !proves ? PLIM_PACK_LIMIT : outcome;
}

int64_t plim_niche_share(int32_t restart) {
  return pack_tuning.niche.nodes_a_restart * plim_integers_luby(restart);
}
