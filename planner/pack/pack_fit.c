/* First-fit family. Placed boxes are kept sorted by offset; one walk upward over those that overlap the new box in time
 * finds its gaps. Source: Moffitt, MiniMalloc, ASPLOS 2023 (greedy part). */
#include "planner/pack/pack_fit.h"

#include <string.h>

/* Insert into the list of n placed boxes. Returns the top. */
static int64_t insert(const plim_packing *p, int32_t n, int32_t b, int64_t offset) {
  plim_placed *placed = p->placed;
  int32_t low = 0, high = n; /* behind the last one at or below the offset */
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (placed[middle].offset <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  memmove(&placed[low + 1], &placed[low], (size_t)(n - low) * sizeof *placed);
  placed[low] = (plim_placed){p->box[b].begin, p->box[b].end, offset, offset + p->bytes[b]};
  return placed[low].top;
}

/* Offset for box b above or between the n placed ones. */
static int64_t find_gap(const plim_packing *p, int32_t n, int32_t b, int best_fit) {
  const plim_placed *placed = p->placed;
  int64_t begin = p->box[b].begin, end = p->box[b].end;
  int64_t bytes = p->bytes[b], top = 0, best = -1, best_slack = INT64_MAX;
  for (int32_t k = 0; k < n; k++) {
    if (placed[k].begin >= end || begin >= placed[k].end) continue;
    int64_t slack = placed[k].offset - top - bytes;
    if (slack >= 0 && slack < best_slack) {
      if (!best_fit) return top;
      best = top;
      best_slack = slack;
    }
    if (placed[k].top > top) top = placed[k].top;
  }
  return best >= 0 ? best : top;
}

int64_t plim_pack_fit(const plim_packing *p, const int32_t *order, int best_fit, int64_t *offset) {
  int32_t placed = 0;
  int64_t height = 0;
  for (int32_t b = 0; b < p->n; b++) {
    if (p->fixed[b] < 0) continue;
    offset[b] = p->fixed[b];
    int64_t top = insert(p, placed++, b, offset[b]);
    if (top > height) height = top;
  }
  for (int32_t k = 0; k < p->n; k++) {
    int32_t b = order[k];
    if (p->fixed[b] >= 0) continue;
    offset[b] = find_gap(p, placed, b, best_fit);
    int64_t top = insert(p, placed++, b, offset[b]);
    if (top > height) height = top;
  }
  return height;
}
