/* Skyline packing: each box lies on the highest top among the boxes before it that overlap it in time.
 *
 * A segment tree has a leaf for each moment at which a box begins. A node has two figures: the highest top among boxes
 * that cover all of its moments, and among boxes that cover any of them. The top of a new box is no lower than
 * what is before it at its moments. So nothing has to be pushed down the tree. O(log n) a box. */
#include "planner/pack/packers.h"
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

static plim_status set_moments(plim_skyline *skyline) {
  const plim_units *units = skyline->units;
  int64_t *begins = NULL;
  int32_t moments = 0;
  PLIM_TRY(plim_allocate(units->ctx, units->n, sizeof *begins, &begins));
  for (int32_t b = 0; b < units->n; b++) begins[b] = units->boxes->box[b].begin;
  plim_integers_sort(begins, units->n);
  for (int32_t i = 0; i < units->n; i++) {
    if (i == 0 || begins[i] > begins[i - 1]) begins[moments++] = begins[i];
  }
  skyline->leaves = 1;
  while (skyline->leaves < moments) skyline->leaves *= 2;
  for (int32_t b = 0; b < units->n; b++) {
    skyline->first[b] = (int32_t)plim_integers_count_below(begins, moments, units->boxes->box[b].begin);
    skyline->end[b] = (int32_t)plim_integers_count_below(begins, moments, units->boxes->box[b].end);
  }
  plim_release(units->ctx, begins, units->n, sizeof *begins);
  return PLIM_OK;
}

plim_status plim_skyline_new(const plim_units *units, plim_skyline **out) {
  plim_skyline *skyline = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(units->ctx, 1, sizeof *skyline, &skyline));
  skyline->units = units;
  PLIM_TRY_OR_DONE(plim_allocate(units->ctx, units->n, sizeof *skyline->first, &skyline->first));
  PLIM_TRY_OR_DONE(plim_allocate(units->ctx, units->n, sizeof *skyline->end, &skyline->end));
  PLIM_TRY_OR_DONE(set_moments(skyline));
  PLIM_TRY_OR_DONE(plim_allocate(units->ctx, 2 * (int64_t)skyline->leaves, sizeof *skyline->whole, &skyline->whole));
  PLIM_TRY_OR_DONE(plim_allocate(units->ctx, 2 * (int64_t)skyline->leaves, sizeof *skyline->any, &skyline->any));
  *out = skyline;
done:
  if (status != PLIM_OK) plim_skyline_free(skyline);
  return status;
}

void plim_skyline_free(plim_skyline *skyline) {
  if (!skyline) return;
  plim_context *ctx = skyline->units->ctx;
  plim_release(ctx, skyline->first, skyline->units->n, sizeof *skyline->first);
  plim_release(ctx, skyline->end, skyline->units->n, sizeof *skyline->end);
  plim_release(ctx, skyline->whole, 2 * (int64_t)skyline->leaves, sizeof *skyline->whole);
  plim_release(ctx, skyline->any, 2 * (int64_t)skyline->leaves, sizeof *skyline->any);
  plim_release(ctx, skyline, 1, sizeof *skyline);
}

/* The highest box at any of the moments [first, end): of the nodes that make up the range any box, of the nodes above
 * them one that covers all of theirs. */
static int64_t highest(const plim_skyline *skyline, int32_t first, int32_t end) {
  int64_t height = 0;
  int32_t low = first + skyline->leaves, high = end + skyline->leaves, left = low, right = high - 1;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) height = plim_integers_larger(height, skyline->any[low++]);
    if (high & 1) height = plim_integers_larger(height, skyline->any[--high]);
  }
  for (; left > 0; left /= 2, right /= 2) {
    height = plim_integers_larger(height, plim_integers_larger(skyline->whole[left], skyline->whole[right]));
  }
  return height;
}

static void cover(plim_skyline *skyline, int32_t node, int64_t top) {
  skyline->whole[node] = skyline->any[node] = top;
}

static void raise(plim_skyline *skyline, int32_t first, int32_t end, int64_t top) {
  int32_t low = first + skyline->leaves, high = end + skyline->leaves, left = low, right = high - 1;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) cover(skyline, low++, top);
    if (high & 1) cover(skyline, --high, top);
  }
  for (int32_t node = left; node > 0; node /= 2) skyline->any[node] = plim_integers_larger(skyline->any[node], top);
  for (int32_t node = right; node > 0; node /= 2) skyline->any[node] = plim_integers_larger(skyline->any[node], top);
}

int64_t plim_skyline_run(plim_skyline *skyline, const int32_t *order, int64_t *offset) {
  const plim_units *units = skyline->units;
  int64_t height = 0;
  for (int32_t node = 0; node < 2 * skyline->leaves; node++) skyline->whole[node] = skyline->any[node] = 0;
  for (int32_t k = 0; k < units->n; k++) {
    int32_t b = order[k];
    offset[b] = plim_units_align(units, b, highest(skyline, skyline->first[b], skyline->end[b]));
    raise(skyline, skyline->first[b], skyline->end[b], offset[b] + units->size[b]);
    height = plim_integers_larger(height, offset[b] + units->size[b]);
  }
  return height;
}
