/* Covers of niches. On the floor of a niche lie boxes within it, one after the other in time. A section without slack
 * must be covered by one of them. So a box may lie there only if boxes, and sections with slack, can fill what is
 * before it and what is after it in the niche. Which box is used where is not looked at: a box may count twice. */
#include <string.h>

#include "planner/pack/niche.h"

typedef plim_niche_waiting_box waiting_box;
typedef plim_niche_shape shape;
typedef plim_niche_frame frame;

void plim_niche_list_candidates(plim_niche *e, const frame *f) {
  for (int32_t s = 0; s < e->m; s++) e->node.starting[s] = -1;
  for (int32_t i = f->n_waiting - 1; i >= 0; i--) {
    int32_t first = e->shape[f->waiting[i].box].first;
    if (f->waiting[i].low != e->node.floor[first]) continue;
    e->node.next_starting[i] = e->node.starting[first];
    e->node.starting[first] = i;
  }
}

static int32_t end_of(const plim_niche *e, const frame *f, int32_t i) {
  return e->shape[f->waiting[i].box].last;
}

/* Set what can be filled from the first section on. Returns 1 when all of the niche can. */
static int fill_from_left(plim_niche *e, const frame *f, plim_span v) {
  memset(e->node.from_left + v.first, 0, (size_t)(v.last - v.first + 1) * sizeof *e->node.from_left);
  e->node.from_left[v.first] = 1;
  for (int32_t s = v.first; s < v.last; s++) {
    if (!e->node.from_left[s]) continue;
    if (e->node.slack[s] > 0) e->node.from_left[s + 1] = 1;
    for (int32_t i = e->node.starting[s]; i >= 0; i = e->node.next_starting[i]) e->node.from_left[end_of(e, f, i)] = 1;
  }
  return e->node.from_left[v.last];
}

static void fill_from_right(plim_niche *e, const frame *f, plim_span v) {
  e->node.from_right[v.last] = 1;
  for (int32_t s = v.last - 1; s >= v.first; s--) {
    int filled = e->node.slack[s] > 0 && e->node.from_right[s + 1];
    for (int32_t i = e->node.starting[s]; i >= 0 && !filled; i = e->node.next_starting[i]) {
      filled = e->node.from_right[end_of(e, f, i)];
    }
    e->node.from_right[s] = (uint8_t)filled;
  }
}

int plim_niche_cover(plim_niche *e, const frame *f, plim_span v) {
  if (!fill_from_left(e, f, v)) return 0;
  fill_from_right(e, f, v);
  for (int32_t s = v.first; s < v.last; s++) e->node.answers[s] = plim_niche_can_rise(e, s);
  for (int32_t s = v.first; s < v.last; s++) {
    for (int32_t i = e->node.starting[s]; i >= 0; i = e->node.next_starting[i]) {
      const shape *b = &e->shape[f->waiting[i].box];
      if (!plim_niche_can_cover(e, b)) continue;
      for (int32_t k = s; k < b->last; k++) e->node.answers[k]++;
    }
  }
  return 1;
}
