/* Covers of niches. On the floor of a niche lie boxes within it, one after the other in time. A section without slack
 * must be covered by one of them. So a box may lie there only if boxes, and sections with slack, can fill what is
 * before it and what is after it in the niche. Which box is used where is not looked at: a box may count twice. */
#include <string.h>

#include "planner/pack/niche_internal.h"

typedef plim_niche_waiting_box waiting_box;
typedef plim_niche_shape shape;

void plim_niche_list_candidates(plim_niche *niche, const plim_niche_frame *frame) {
  for (int32_t s = 0; s < niche->m; s++) niche->node.starting[s] = -1;
  for (int32_t i = frame->n_waiting - 1; i >= 0; i--) {
    int32_t first = niche->shape[frame->waiting[i].box].first;
    if (frame->waiting[i].low != niche->node.floor[first]) continue;
    niche->node.next_starting[i] = niche->node.starting[first];
    niche->node.starting[first] = i;
  }
}

static int32_t end_of(const plim_niche *niche, const plim_niche_frame *frame, int32_t i) {
  return niche->shape[frame->waiting[i].box].last;
}

/* Set what can be filled from the first section on. Returns 1 when all of the niche can. */
static int fill_from_left(plim_niche *niche, const plim_niche_frame *frame, plim_section_range span) {
  memset(niche->node.from_left + span.first, 0, (size_t)(span.last - span.first + 1) * sizeof *niche->node.from_left);
  niche->node.from_left[span.first] = 1;
  for (int32_t s = span.first; s < span.last; s++) {
    if (!niche->node.from_left[s]) continue;
    if (niche->node.slack[s] > 0) niche->node.from_left[s + 1] = 1;
    for (int32_t i = niche->node.starting[s]; i >= 0; i = niche->node.next_starting[i]) {
      niche->node.from_left[end_of(niche, frame, i)] = 1;
    }
  }
  return niche->node.from_left[span.last];
}

static void fill_from_right(plim_niche *niche, const plim_niche_frame *frame, plim_section_range span) {
  niche->node.from_right[span.last] = 1;
  for (int32_t s = span.last - 1; s >= span.first; s--) {
    int filled = niche->node.slack[s] > 0 && niche->node.from_right[s + 1];
    for (int32_t i = niche->node.starting[s]; i >= 0 && !filled; i = niche->node.next_starting[i]) {
      filled = niche->node.from_right[end_of(niche, frame, i)];
    }
    niche->node.from_right[s] = (uint8_t)filled;
  }
}

int plim_niche_cover(plim_niche *niche, const plim_niche_frame *frame, plim_section_range span) {
  if (!fill_from_left(niche, frame, span)) return 0;
  fill_from_right(niche, frame, span);
  for (int32_t s = span.first; s < span.last; s++) niche->node.answers[s] = plim_niche_can_rise(niche, s);
  for (int32_t s = span.first; s < span.last; s++) {
    for (int32_t i = niche->node.starting[s]; i >= 0; i = niche->node.next_starting[i]) {
      const shape *b = &niche->shape[frame->waiting[i].box];
      if (!plim_niche_can_cover(niche, b)) continue;
      for (int32_t k = s; k < b->last; k++) niche->node.answers[k]++;
    }
  }
  return 1;
}
