/* First-fit family. Placed boxes are kept sorted by offset; one walk upward over those that overlap the new box in time
 * finds its gaps. Source: Moffitt, MiniMalloc, ASPLOS 2023 (greedy part). */
#include "planner/pack_fit.h"

#include <string.h>

static void insert(int32_t *by_offset, int32_t n, const int64_t *offset, int32_t b) {
  int32_t k = n;
  while (k > 0 && offset[by_offset[k - 1]] > offset[b]) {
    by_offset[k] = by_offset[k - 1];
    k--;
  }
  by_offset[k] = b;
}

/* Offset for box b above or between the `n` placed ones. */
static int64_t find_gap(const plim_packing *p, int32_t n, const int64_t *offset, int32_t b, int best_fit) {
  const plim_box *box = &p->box[b];
  int64_t top = 0, best = -1, best_slack = INT64_MAX;
  for (int32_t k = 0; k < n; k++) {
    int32_t o = p->by_offset[k];
    if (p->box[o].begin >= box->end || box->begin >= p->box[o].end) continue;
    int64_t slack = offset[o] - top - p->bytes[b];
    if (slack >= 0 && slack < best_slack) {
      if (!best_fit) return top;
      best = top;
      best_slack = slack;
    }
    if (offset[o] + p->bytes[o] > top) top = offset[o] + p->bytes[o];
  }
  return best >= 0 ? best : top;
}

int64_t plim_pack_fit(const plim_packing *p, const int32_t *order, int best_fit, int64_t *offset) {
  int32_t placed = 0;
  int64_t height = 0;
  for (int32_t b = 0; b < p->n; b++) {
    if (p->fixed[b] < 0) continue;
    offset[b] = p->fixed[b];
    insert(p->by_offset, placed++, offset, b);
    if (offset[b] + p->bytes[b] > height) height = offset[b] + p->bytes[b];
  }
  for (int32_t k = 0; k < p->n; k++) {
    int32_t b = order[k];
    if (p->fixed[b] >= 0) continue;
    offset[b] = find_gap(p, placed, offset, b, best_fit);
    insert(p->by_offset, placed++, offset, b);
    if (offset[b] + p->bytes[b] > height) height = offset[b] + p->bytes[b];
  }
  return height;
}
