/* Explains why boxes do not fit: a few of them that cannot fit together.
 *
 * Where the peak exceeds the capacity, these are the largest boxes at the time of the peak. Else a deletion filter asks
 * exact search: it drops halves, quarters and so on down to single boxes, as long as the rest is proved not to fit. A
 * superset of a set that does not fit does not fit either. So after one pass over single boxes the set is irreducible,
 * if every question was answered. */
#include "planner/pack/pack.h"

#include <stdlib.h>
#include <string.h>

#include "planner/pack/packers.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

typedef struct deletion_filter {
  plim_context *ctx;
  const plim_boxes *boxes;
  int64_t capacity, nodes;
  uint8_t *member; /* [n] */
} deletion_filter;

typedef struct sized {
  int64_t bytes;
  int32_t box;
} sized;

static int larger_first(const void *a, const void *b) {
  const sized *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return plim_integers_compare(x->box, y->box);
}

/* Mark the largest boxes that are alive at a command, until their sum exceeds the capacity. Without any one of them the
 * others would fit, where boxes are plain. */
static plim_status mark_step(deletion_filter *filter, int64_t time, plim_conflict *out) {
  sized *alive = NULL;
  int32_t n = 0, used = 0;
  int64_t sum = 0;
  PLIM_TRY(plim_allocate(filter->ctx, filter->boxes->n, sizeof *alive, &alive));
  for (int32_t x = 0; x < filter->boxes->n; x++) {
    int64_t bytes = plim_boxes_bytes_at(filter->boxes, x, time);
    if (bytes > 0) alive[n++] = (sized){bytes, x};
  }
  qsort(alive, (size_t)n, sizeof *alive, larger_first);
  for (; used < n && sum <= filter->capacity; used++) {
    filter->member[alive[used].box] = 1;
    sum += alive[used].bytes;
  }
  plim_release(filter->ctx, alive, filter->boxes->n, sizeof *alive);
  *out = (plim_conflict){used, 1, 1, time};
  return PLIM_OK;
}

/* The time is over: after a cancel the call fails, after a deadline it goes on without answers. */
static plim_status stopped(const deletion_filter *filter) {
  return plim_context_cancelled(filter->ctx) ? plim_fail(filter->ctx, PLIM_ECANCEL, "packing was cancelled") : PLIM_OK;
}

/* Ask exact search whether the marked boxes fit. LIMIT: it did not answer within the nodes or the time. */
static plim_status try_to_refute(deletion_filter *filter, plim_pack_outcome *outcome) {
  plim_selection chosen = {0};
  plim_units units = {0};
  plim_exact *exact = NULL;
  int64_t *offset = NULL;
  plim_status status;
  *outcome = PLIM_PACK_LIMIT;
  if (plim_effort_over(filter->ctx, filter->boxes->n)) return stopped(filter);
  PLIM_TRY_OR_DONE(plim_selection_make(filter->ctx, filter->boxes, filter->member, &chosen));
  PLIM_TRY_OR_DONE(plim_units_make(filter->ctx, &chosen.boxes, &units));
  PLIM_TRY_OR_DONE(plim_allocate(filter->ctx, units.n, sizeof *offset, &offset));
  PLIM_TRY_OR_DONE(plim_exact_new(&units, filter->nodes, &exact));
  status = plim_exact_search(exact, filter->capacity / chosen.boxes.align, &filter->nodes, offset, outcome);
  if (status == PLIM_ECANCEL) status = stopped(filter);
done:
  plim_exact_free(exact);
  if (units.ctx) plim_release(filter->ctx, offset, units.n, sizeof *offset);
  plim_units_free(&units);
  plim_selection_free(&chosen);
  return status;
}

/* Drop the members among the boxes [from, to) if the rest still does not fit. *outcome is PLIM_PACK_IMPOSSIBLE
 * where they are dropped. Otherwise they are needed, or there is no answer. */
static plim_status drop_if_not_needed(deletion_filter *filter, int32_t from, int32_t to, const uint8_t *all,
                                      plim_pack_outcome *outcome) {
  memset(filter->member + from, 0, (size_t)(to - from));
  plim_status status = try_to_refute(filter, outcome);
  if (status != PLIM_OK || *outcome != PLIM_PACK_IMPOSSIBLE) {
    memcpy(filter->member + from, all + from, (size_t)(to - from));
  }
  return status;
}

/* Drop boxes that are marked and not needed. If the marked boxes are not proved too many, all marks go. */
static plim_status filter_boxes(deletion_filter *filter, uint8_t *before, plim_conflict *out) {
  int32_t n = filter->boxes->n, is_answered = 1;
  plim_pack_outcome outcome;
  PLIM_TRY(try_to_refute(filter, &outcome));
  if (outcome != PLIM_PACK_IMPOSSIBLE) {
    memset(filter->member, 0, (size_t)n);
    return PLIM_OK;
  }
  int32_t chunk = 1;
  while (chunk < n) chunk *= 2;
  for (chunk /= 2; chunk >= 1; chunk /= 2) {
    for (int32_t from = 0; from < n; from += chunk) {
      if (plim_effort_over(filter->ctx, n)) {
        is_answered = 0;
        break;
      }
      int32_t to = from + chunk < n ? from + chunk : n;
      memcpy(before, filter->member, (size_t)n);
      if (!memchr(before + from, 1, (size_t)(to - from))) continue;
      PLIM_TRY(drop_if_not_needed(filter, from, to, before, &outcome));
      if (chunk == 1 && outcome == PLIM_PACK_LIMIT) is_answered = 0;
    }
  }
  *out = (plim_conflict){.irreducible = is_answered};
  for (int32_t x = 0; x < n; x++) out->n += filter->member[x];
  return PLIM_OK;
}

/* Are the boxes such that those of one command fit when their sum does? */
static int are_plain(const plim_units *units) {
  int plain = units->is_plain;
  for (int32_t x = 0; x < units->n; x++) plain &= units->fixed[x] < 0;
  return plain;
}

/* The boxes of one command are too large. Where they are not plain, fewer of them may not fit either. */
static plim_status explain_step(deletion_filter *filter, const plim_units *units, uint8_t *before, plim_conflict *out) {
  plim_conflict fewer = {0};
  PLIM_TRY(mark_step(filter, units->peak_time, out));
  if (are_plain(units)) return PLIM_OK;
  out->irreducible = 0;
  if (out->n > PLIM_EXACT_MAX_WITH_GAPS) return PLIM_OK;
  PLIM_TRY(filter_boxes(filter, before, &fewer));
  if (fewer.n > 0 && fewer.n < out->n) {
    *out = fewer;
  } else if (fewer.n > 0) {
    out->irreducible = fewer.irreducible;
  } else { /* no nodes were left */
    PLIM_TRY(mark_step(filter, units->peak_time, out));
    out->irreducible = 0;
  }
  return PLIM_OK;
}

plim_status plim_boxes_conflict(plim_context *ctx, const plim_boxes *boxes, int64_t capacity, int64_t nodes,
                                uint8_t *member, plim_conflict *out) {
  deletion_filter filter = {ctx, boxes, capacity, nodes, member};
  plim_selection chosen = {0};
  plim_units units = {0};
  uint8_t *before = NULL;
  plim_status status;
  memset(member, 0, (size_t)boxes->n);
  *out = (plim_conflict){0};
  PLIM_TRY_OR_DONE(plim_allocate(ctx, boxes->n, 1, &before));
  PLIM_TRY_OR_DONE(plim_selection_make(ctx, boxes, NULL, &chosen));
  PLIM_TRY_OR_DONE(plim_units_make(ctx, &chosen.boxes, &units));
  if (units.peak_units * chosen.boxes.align > capacity) {
    status = explain_step(&filter, &units, before, out);
  } else if (plim_exact_can(&units)) {
    for (int32_t x = 0; x < boxes->n; x++) member[x] = boxes->box[x].bytes > 0;
    status = filter_boxes(&filter, before, out);
  }
done:
  plim_units_free(&units);
  plim_selection_free(&chosen);
  plim_release(ctx, before, boxes->n, 1);
  return status;
}
