/* Boxes in units of the alignment, checked, and their peak by a sweep over time. Sizes are rounded up to units: a
 * packing in units is one in bytes. O(n log n). */
#include "planner/pack/packers.h"

#include <stdlib.h>

#include "runtime/base/integers.h"

typedef struct change {
  int64_t time, units;
} change;

static int by_time(const void *a, const void *b) {
  const change *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  return plim_integers_compare(x->units, y->units); /* what goes comes first */
}

static int64_t up(int64_t bytes, int64_t align) {
  return bytes >= 0 ? (bytes + align - 1) / align : -(-bytes / align);
}

static int32_t count_gaps(const plim_boxes *boxes, int32_t x) {
  return boxes->gap ? boxes->gap_first[x + 1] - boxes->gap_first[x] : 0;
}

static plim_status measure_peak(plim_units *units) {
  const plim_boxes *boxes = units->boxes;
  int64_t change_capacity = 2 * ((int64_t)units->n + (boxes->gap ? 2 * (int64_t)boxes->gap_first[units->n] : 0)), n = 0,
          alive = 0;
  change *changes = NULL;
  PLIM_TRY(plim_allocate(units->ctx, change_capacity, sizeof *changes, &changes));
  for (int32_t x = 0; x < units->n; x++) {
    changes[n++] = (change){boxes->box[x].begin, units->size[x]};
    changes[n++] = (change){boxes->box[x].end, -units->size[x]};
    for (int32_t g = count_gaps(boxes, x); g-- > 0;) {
      const plim_pack_gap *gap = &boxes->gap[boxes->gap_first[x] + g];
      int64_t less =
          units->size[x] - (gap->high - gap->low) / boxes->align; /* two parts may share a unit: whole ones count */
      changes[n++] = (change){gap->begin, -less};
      changes[n++] = (change){gap->end, less};
    }
  }
  qsort(changes, (size_t)n, sizeof *changes, by_time);
  for (int64_t i = 0; i < n; i++) {
    alive += changes[i].units;
    if (alive <= units->peak_units) continue;
    units->peak_units = alive;
    units->peak_time = changes[i].time;
  }
  plim_release(units->ctx, changes, change_capacity, sizeof *changes);
  return PLIM_OK;
}

static plim_status convert(plim_units *units, int32_t x) {
  const plim_boxes *boxes = units->boxes;
  const plim_box *box = &boxes->box[x];
  int64_t align = boxes->align, own = boxes->own_align ? boxes->own_align[x] : 1;
  int misplaced = box->fixed != -1 && (box->fixed < 0 || box->fixed % align != 0);
  if (box->begin >= box->end || box->bytes <= 0 || misplaced) {
    return plim_fail(units->ctx, PLIM_EUSAGE,
                     "box %d: buffer [%lld, %lld), %lld bytes, fixed offset %lld is not allowed", x,
                     (long long)box->begin, (long long)box->end, (long long)box->bytes, (long long)box->fixed);
  }
  units->size[x] = (box->bytes - 1) / align + 1;
  units->fixed[x] = box->fixed < 0 ? -1 : box->fixed / align;
  units->align[x] = own / plim_integers_gcd(own, align);
  if (units->align[x] != 1 || count_gaps(boxes, x) > 0) units->is_plain = 0;
  for (int32_t g = 0; g < count_gaps(boxes, x); g++) {
    const plim_pack_gap *gap = &boxes->gap[boxes->gap_first[x] + g];
    if (gap->low < gap->high) units->has_partial_gaps = 1;
  }
  return PLIM_OK;
}

plim_status plim_units_make(plim_context *ctx, const plim_boxes *boxes, plim_units *out) {
  plim_units units = {.ctx = ctx, .n = boxes->n, .boxes = boxes, .is_plain = 1};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, units.n, sizeof *units.size, &units.size));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, units.n, sizeof *units.fixed, &units.fixed));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, units.n, sizeof *units.align, &units.align));
  for (int32_t x = 0; x < units.n; x++) PLIM_TRY_OR_DONE(convert(&units, x));
  PLIM_TRY_OR_DONE(measure_peak(&units));
  *out = units;
done:
  if (status != PLIM_OK) plim_units_free(&units);
  return status;
}

void plim_units_free(plim_units *units) {
  if (!units->ctx) return;
  plim_release(units->ctx, units->size, units->n, sizeof *units->size);
  plim_release(units->ctx, units->fixed, units->n, sizeof *units->fixed);
  plim_release(units->ctx, units->align, units->n, sizeof *units->align);
  *units = (plim_units){0};
}

int64_t plim_units_separation(const plim_units *units, int32_t below, int32_t above) {
  const plim_box *a = &units->boxes->box[below], *b = &units->boxes->box[above];
  if (a->begin >= b->end || b->begin >= a->end) return PLIM_NO_SEPARATION;
  if (!units->boxes->gap) return units->size[below];
  int64_t separation = plim_boxes_separation(units->boxes, below, above);
  return separation == PLIM_NO_SEPARATION ? separation
         : separation == a->bytes         ? units->size[below]
                                          : up(separation, units->boxes->align);
}
