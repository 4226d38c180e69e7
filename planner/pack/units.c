/* Boxes in units of the alignment, checked, and their peak by a sweep over time. Sizes are rounded up to units: a
 * packing in units is one in bytes. O(n log n). */
#include "planner/pack/units.h"

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

static int32_t count_gaps(const plim_boxes *b, int32_t x) {
  return b->gap ? b->gap_first[x + 1] - b->gap_first[x] : 0;
}

static plim_status measure_peak(plim_units *u) {
  const plim_boxes *b = u->boxes;
  int64_t room = 2 * ((int64_t)u->n + (b->gap ? 2 * (int64_t)b->gap_first[u->n] : 0)), n = 0, alive = 0;
  change *changes = NULL;
  PLIM_TRY(plim_allocate(u->ctx, room, sizeof *changes, &changes));
  for (int32_t x = 0; x < u->n; x++) {
    changes[n++] = (change){b->box[x].begin, u->size[x]};
    changes[n++] = (change){b->box[x].end, -u->size[x]};
    for (int32_t g = count_gaps(b, x); g-- > 0;) {
      const plim_pack_gap *gap = &b->gap[b->gap_first[x] + g];
      int64_t less = u->size[x] - (gap->high - gap->low) / b->align; /* two parts may share a unit: whole ones count */
      changes[n++] = (change){gap->begin, -less};
      changes[n++] = (change){gap->end, less};
    }
  }
  qsort(changes, (size_t)n, sizeof *changes, by_time);
  for (int64_t i = 0; i < n; i++) {
    alive += changes[i].units;
    if (alive <= u->peak_units) continue;
    u->peak_units = alive;
    u->peak_time = changes[i].time;
  }
  plim_release(u->ctx, changes, room, sizeof *changes);
  return PLIM_OK;
}

static plim_status convert(plim_units *u, int32_t x) {
  const plim_boxes *b = u->boxes;
  const plim_box *box = &b->box[x];
  int64_t align = b->align, own = b->own_align ? b->own_align[x] : 1, hint = b->hint ? b->hint[x] : -1;
  int misplaced = box->fixed != -1 && (box->fixed < 0 || box->fixed % align != 0);
  if (box->begin >= box->end || box->bytes <= 0 || misplaced) {
    return plim_fail(u->ctx, PLIM_EUSAGE, "box %d: buffer [%lld, %lld), %lld bytes, fixed offset %lld is not allowed",
                     x, (long long)box->begin, (long long)box->end, (long long)box->bytes, (long long)box->fixed);
  }
  u->size[x] = (box->bytes - 1) / align + 1;
  u->fixed[x] = box->fixed < 0 ? -1 : box->fixed / align;
  u->align[x] = own / plim_integers_gcd(own, align);
  u->hint[x] = hint >= 0 && hint % align == 0 && hint / align % u->align[x] == 0 ? hint / align : -1;
  if (u->align[x] != 1 || u->hint[x] >= 0 || count_gaps(b, x) > 0) u->plain = 0;
  for (int32_t g = 0; g < count_gaps(b, x); g++) {
    const plim_pack_gap *gap = &b->gap[b->gap_first[x] + g];
    if (gap->low < gap->high) u->windows = 1;
  }
  return PLIM_OK;
}

plim_status plim_units_make(plim_context *ctx, const plim_boxes *boxes, plim_units *out) {
  plim_units u = {.ctx = ctx, .n = boxes->n, .boxes = boxes, .plain = 1};
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, u.n, sizeof *u.size, &u.size));
  PLIM_CHECK(plim_allocate(ctx, u.n, sizeof *u.fixed, &u.fixed));
  PLIM_CHECK(plim_allocate(ctx, u.n, sizeof *u.align, &u.align));
  PLIM_CHECK(plim_allocate(ctx, u.n, sizeof *u.hint, &u.hint));
  for (int32_t x = 0; x < u.n; x++) PLIM_CHECK(convert(&u, x));
  PLIM_CHECK(measure_peak(&u));
  *out = u;
done:
  if (status != PLIM_OK) plim_units_free(&u);
  return status;
}

void plim_units_free(plim_units *u) {
  if (!u->ctx) return;
  plim_release(u->ctx, u->size, u->n, sizeof *u->size);
  plim_release(u->ctx, u->fixed, u->n, sizeof *u->fixed);
  plim_release(u->ctx, u->align, u->n, sizeof *u->align);
  plim_release(u->ctx, u->hint, u->n, sizeof *u->hint);
  *u = (plim_units){0};
}

int64_t plim_units_separation(const plim_units *u, int32_t below, int32_t above) {
  const plim_box *a = &u->boxes->box[below], *b = &u->boxes->box[above];
  if (a->begin >= b->end || b->begin >= a->end) return PLIM_NO_SEPARATION;
  if (!u->boxes->gap) return u->size[below];
  int64_t separation = plim_boxes_separation(u->boxes, below, above);
  return separation == PLIM_NO_SEPARATION ? separation
         : separation == a->bytes         ? u->size[below]
                                          : up(separation, u->boxes->align);
}
