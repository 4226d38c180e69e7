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
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

enum { RAISE = PLIM_NICHE_RAISE };

typedef plim_niche_waiting_box waiting_box;
typedef plim_niche_shape shape;

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

/* A node fails when all its options fail. Add to its reason the sections that limit the options to those it has: no box
 * can come below the candidates, nor below what the floor rises to. */
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

/* Where the reason has a section of a box that borders raised, add the sections beside these borders. */
static void blame_borders(const plim_niche *niche, plim_niche_frame *frame) {
  int blamed = 0;
  for (int32_t i = 0; i < frame->n_waiting && !blamed; i++) {
    const shape *b = &niche->shape[frame->waiting[i].box];
    blamed = frame->waiting[i].is_raised && has_any(frame->reason, b->first, b->last);
  }
  for (int32_t w = 0; w < niche->words && blamed; w++) frame->reason[w] |= frame->raised[w];
}

/* Update the touched sections, and raise boxes that span their borders, until nothing changes. Returns 0 when the node
 * fails. */
static int propagate(plim_niche *niche, plim_niche_frame *frame) {
  for (int32_t raised = 1; raised != 0;) {
    plim_niche_update_sections(niche, frame);
    int32_t overfull = plim_niche_find_overfull(niche, frame->touched);
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

/* Fail a node in which a niche cannot be covered. The section at which filling from the left ends gets more weight. */
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
  plim_niche_inherit_sections(niche, parent, frame);
  if (!propagate(niche, frame)) return FAILED;
  plim_section_range span;
  if (plim_niche_choose_section(niche, frame, &span) == PLIM_NICHE_UNCOVERED) {
    fail_uncovered(niche, frame, span);
    return FAILED;
  }
  blame_floor(niche, frame, span, plim_niche_list_options(niche, frame, span));
  return OPEN;
}

/* The box as the child has it: what borders raised at the parent has no witness. */
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
  if (without >= 0) plim_niche_widen(&to->touched, &niche->shape[without]);
  for (; i < frame->n_waiting && frame->waiting[i].low < low; i++) {
    waiting_box it = inherit(&frame->waiting[i]);
    const shape *b = &niche->shape[it.box];
    if (it.box == without) continue;
    if (b->first < where.last && where.first < b->last) {
      it.low = low;
      plim_niche_widen(&to->touched, b);
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

/* The sections that the option tried last concerns. */
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

/* The option tried last failed. Where it was not to blame, the node takes over the reason, and tries no other. */
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
