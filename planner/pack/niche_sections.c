/* The sections of a node of niche search: their floors and slacks, the section that is decided, and its answers.
 * niche.c says what these are. */
#include "planner/pack/niche_internal.h"

#include <math.h>
#include <string.h>

#include "planner/pack/pack_tuning.h"

enum { RAISE = PLIM_NICHE_RAISE, WALL = PLIM_NICHE_WALL };

typedef plim_niche_shape shape;

/* ---- floors and slacks ---- */

void plim_niche_inherit_sections(plim_niche *niche, const plim_niche_frame *parent, plim_niche_frame *frame) {
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

void plim_niche_update_sections(plim_niche *niche, const plim_niche_frame *frame) {
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

int32_t plim_niche_find_overfull(const plim_niche *niche, plim_section_range at) {
  int32_t worst = -1;
  for (int32_t s = at.first; s < at.last; s++) {
    if (niche->node.top[s] > niche->capacity && (worst < 0 || niche->weight[s] > niche->weight[worst])) worst = s;
  }
  return worst;
}

/* ---- the section that is decided ---- */

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

/* The section of the least score is decided: that of the fewest answers, by the policy. */
static double score_of(const plim_niche *niche, int32_t s) {
  int32_t slack = niche->node.slack[s], answers = niche->node.answers[s];
  double score = answers * (1 + pack_tuning.niche.slack_weight * slack / niche->capacity);
  if (niche->policy == PLIM_BY_WEIGHT) score /= niche->weight[s];
  if (niche->policy == PLIM_LOWEST_FIRST) score += (double)niche->node.floor[s] * niche->n;
  return answers <= 1 ? 0 : score;
}

plim_niche_choice plim_niche_choose_section(plim_niche *niche, plim_niche_frame *frame, plim_section_range *sections) {
  double least = INFINITY;
  *sections = (plim_section_range){niche->m, niche->m};
  plim_niche_list_candidates(niche, frame);
  for (plim_section_range span = next_niche(niche, 0); span.first < niche->m; span = next_niche(niche, span.last)) {
    if (!plim_niche_cover(niche, frame, span)) {
      *sections = span;
      return PLIM_NICHE_UNCOVERED;
    }
    for (int32_t s = span.first; s < span.last; s++) {
      double score = score_of(niche, s);
      if (score >= least) continue;
      least = score;
      frame->section = s;
      *sections = span;
    }
  }
  return PLIM_NICHE_CHOSEN;
}

/* ---- its answers ---- */

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

int plim_niche_list_options(plim_niche *niche, plim_niche_frame *frame, plim_section_range span) {
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
