/* Skyline packing: each box lies on the highest top among the boxes before it that overlap it in time.
 *
 * A segment tree has a leaf for each moment at which a box begins. A node has two figures: the highest top of a box
 * that covers all of its moments, and of a box that covers any of them. The top of a new box is at least as high as all
 * before it at its moments, so that nothing has to be pushed down the tree. O(log n) a box. */
#include "planner/pack/units.h"

#include <stdlib.h>

#include "runtime/base/integers.h"

struct plim_skyline {
  const plim_units *units;
  int32_t leaves;       /* moments */
  int32_t *first, *end; /* [n] moments of a box, half-open */
  int64_t *whole, *any; /* [2 leaves] of nodes; node 1 is the root of the tree, leaf i is node leaves + i */
};

int plim_skyline_can(const plim_units *u) {
  int can = u->n > 0;
  for (int32_t b = 0; b < u->n && can; b++) can = u->fixed[b] < 0;
  return can;
}

static plim_status set_moments(plim_skyline *s) {
  const plim_units *u = s->units;
  int64_t *begins = NULL;
  int32_t moments = 0;
  PLIM_TRY(plim_allocate(u->ctx, u->n, sizeof *begins, &begins));
  for (int32_t b = 0; b < u->n; b++) begins[b] = u->boxes->box[b].begin;
  plim_integers_sort(begins, u->n);
  for (int32_t i = 0; i < u->n; i++) {
    if (i == 0 || begins[i] > begins[i - 1]) begins[moments++] = begins[i];
  }
  s->leaves = 1;
  while (s->leaves < moments) s->leaves *= 2;
  for (int32_t b = 0; b < u->n; b++) {
    s->first[b] = (int32_t)plim_integers_count_below(begins, moments, u->boxes->box[b].begin);
    s->end[b] = (int32_t)plim_integers_count_below(begins, moments, u->boxes->box[b].end);
  }
  plim_release(u->ctx, begins, u->n, sizeof *begins);
  return PLIM_OK;
}

plim_status plim_skyline_new(const plim_units *u, plim_skyline **out) {
  plim_skyline *s = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(u->ctx, 1, sizeof *s, &s));
  s->units = u;
  PLIM_CHECK(plim_allocate(u->ctx, u->n, sizeof *s->first, &s->first));
  PLIM_CHECK(plim_allocate(u->ctx, u->n, sizeof *s->end, &s->end));
  PLIM_CHECK(set_moments(s));
  PLIM_CHECK(plim_allocate(u->ctx, 2 * (int64_t)s->leaves, sizeof *s->whole, &s->whole));
  PLIM_CHECK(plim_allocate(u->ctx, 2 * (int64_t)s->leaves, sizeof *s->any, &s->any));
  *out = s;
done:
  if (status != PLIM_OK) plim_skyline_free(s);
  return status;
}

void plim_skyline_free(plim_skyline *s) {
  if (!s) return;
  plim_context *ctx = s->units->ctx;
  plim_release(ctx, s->first, s->units->n, sizeof *s->first);
  plim_release(ctx, s->end, s->units->n, sizeof *s->end);
  plim_release(ctx, s->whole, 2 * (int64_t)s->leaves, sizeof *s->whole);
  plim_release(ctx, s->any, 2 * (int64_t)s->leaves, sizeof *s->any);
  plim_release(ctx, s, 1, sizeof *s);
}

/* The highest box at any of the moments [first, end): of the nodes that make up the range any box, of the nodes above
 * them one that covers all of theirs. */
static int64_t highest(const plim_skyline *s, int32_t first, int32_t end) {
  int64_t height = 0;
  int32_t low = first + s->leaves, high = end + s->leaves, left = low, right = high - 1;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) height = plim_integers_larger(height, s->any[low++]);
    if (high & 1) height = plim_integers_larger(height, s->any[--high]);
  }
  for (; left > 0; left /= 2, right /= 2)
    height = plim_integers_larger(height, plim_integers_larger(s->whole[left], s->whole[right]));
  return height;
}

static void cover(plim_skyline *s, int32_t node, int64_t top) {
  s->whole[node] = s->any[node] = top;
}

static void raise(plim_skyline *s, int32_t first, int32_t end, int64_t top) {
  int32_t low = first + s->leaves, high = end + s->leaves, left = low, right = high - 1;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) cover(s, low++, top);
    if (high & 1) cover(s, --high, top);
  }
  for (int32_t node = left; node > 0; node /= 2) s->any[node] = plim_integers_larger(s->any[node], top);
  for (int32_t node = right; node > 0; node /= 2) s->any[node] = plim_integers_larger(s->any[node], top);
}

int64_t plim_skyline_run(plim_skyline *s, const int32_t *order, int64_t *offset) {
  const plim_units *u = s->units;
  int64_t height = 0;
  for (int32_t node = 0; node < 2 * s->leaves; node++) s->whole[node] = s->any[node] = 0;
  for (int32_t k = 0; k < u->n; k++) {
    int32_t b = order[k];
    offset[b] = plim_units_align(u, b, highest(s, s->first[b], s->end[b]));
    raise(s, s->first[b], s->end[b], offset[b] + u->size[b]);
    height = plim_integers_larger(height, offset[b] + u->size[b]);
  }
  return height;
}
