/* Covers of niches. On the floor of a niche lie boxes within it, one after the other in time. A section without slack
 * must be covered by one of them. So a box may lie there only if boxes, and sections with slack, can fill what is
 * before it and what is after it in the niche. Which box is used where is not looked at: a box may count twice. */
#include <string.h>

#include "planner/pack/niche_internal.h"

typedef plim_niche_item item;
typedef plim_niche_shape shape;
typedef plim_niche_frame frame;

void plim_niche_list_candidates(plim_niche *e, const frame *f) {
  for (int32_t s = 0; s < e->m; s++) e->starting[s] = -1;
  for (int32_t i = f->n_items - 1; i >= 0; i--) {
    int32_t first = e->shape[f->item[i].box].first;
    if (f->item[i].low != e->floor[first]) continue;
    e->next_starting[i] = e->starting[first];
    e->starting[first] = i;
  }
}

static int32_t end_of(const plim_niche *e, const frame *f, int32_t i) {
  return e->shape[f->item[i].box].last;
}

/* Set what can be filled from the first section on. Returns 1 when all of the niche can. */
static int fill_from_left(plim_niche *e, const frame *f, plim_span v) {
  memset(e->from_left + v.first, 0, (size_t)(v.last - v.first + 1) * sizeof *e->from_left);
  e->from_left[v.first] = 1;
  for (int32_t s = v.first; s < v.last; s++) {
    if (!e->from_left[s]) continue;
    if (e->slack[s] > 0) e->from_left[s + 1] = 1;
    for (int32_t i = e->starting[s]; i >= 0; i = e->next_starting[i]) e->from_left[end_of(e, f, i)] = 1;
  }
  return e->from_left[v.last];
}

static void fill_from_right(plim_niche *e, const frame *f, plim_span v) {
  e->from_right[v.last] = 1;
  for (int32_t s = v.last - 1; s >= v.first; s--) {
    int filled = e->slack[s] > 0 && e->from_right[s + 1];
    for (int32_t i = e->starting[s]; i >= 0 && !filled; i = e->next_starting[i]) {
      filled = e->from_right[end_of(e, f, i)];
    }
    e->from_right[s] = (uint8_t)filled;
  }
}

int plim_niche_cover(plim_niche *e, const frame *f, plim_span v) {
  if (!fill_from_left(e, f, v)) return 0;
  fill_from_right(e, f, v);
  for (int32_t s = v.first; s < v.last; s++) e->answers[s] = plim_niche_can_rise(e, s);
  for (int32_t s = v.first; s < v.last; s++) {
    for (int32_t i = e->starting[s]; i >= 0; i = e->next_starting[i]) {
      const shape *b = &e->shape[f->item[i].box];
      if (!plim_niche_can_cover(e, b)) continue;
      for (int32_t k = s; k < b->last; k++) e->answers[k]++;
    }
  }
  return 1;
}
