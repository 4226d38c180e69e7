/* Divides the time after an op's first run into segments. Readers of all its outputs are taken in program order, each
 * where it certainly comes after the one before. O(operands). */
#include "planner/bound/cut_model.h"

#include "runtime/base/array.h"
#include "runtime/base/effort.h"

static int is_read_by(const plim_planned_op *op, int32_t item) {
  for (int32_t i = 0; i < op->reads.n; i++) {
    if (op->reads.at[i] == item) return 1;
  }
  return 0;
}

/* Does v read all outputs of the op that are read or kept? */
static int reads_all(const plim_problem *p, int32_t op, int32_t v) {
  for (int32_t k = 0; k < p->op[op].writes.n; k++) {
    int32_t item = p->op[op].writes.at[k];
    if ((p->item[item].readers.n > 0 || p->item[item].is_output) && !is_read_by(&p->op[v], item)) return 0;
  }
  return 1;
}

/* The readers of the op's first output that has any: each reader of all outputs is among them. */
static plim_ids readers_of(const plim_problem *p, int32_t op) {
  for (int32_t k = 0; k < p->op[op].writes.n; k++) {
    const plim_item *item = &p->item[p->op[op].writes.at[k]];
    if (item->readers.n > 0) return item->readers;
  }
  return (plim_ids){0};
}

static plim_status add_segment(plim_cut_segments *segments, int32_t begins) {
  PLIM_TRY(plim_array_reserve(segments->ctx, &segments->begins, &segments->capacity, segments->n + 1,
                              sizeof *segments->begins));
  segments->begins[segments->n++] = begins;
  return PLIM_OK;
}

static plim_status add_op(const plim_problem *p, const plim_cut_order *order, int32_t op, plim_cut_segments *segments) {
  plim_ids readers = readers_of(p, op);
  segments->first[op] = segments->n;
  PLIM_TRY(add_segment(segments, op));
  for (int32_t i = 0; i < readers.n; i++) {
    int32_t v = readers.at[i];
    if (plim_effort_over(segments->ctx, p->op[v].reads.n)) return PLIM_ECANCEL;
    if (plim_cut_before(order, segments->begins[segments->n - 1], v) && reads_all(p, op, v)) {
      PLIM_TRY(add_segment(segments, v));
    }
  }
  return PLIM_OK;
}

plim_status plim_cut_segments_make(const plim_problem *p, const plim_cut_order *order, plim_cut_segments *out) {
  plim_cut_segments segments = {.ctx = p->ctx, .n_ops = p->n_ops};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, segments.n_ops + 1, sizeof *segments.first, &segments.first));
  for (int32_t op = 0; op < p->n_ops; op++) PLIM_TRY_OR_DONE(add_op(p, order, op, &segments));
  segments.first[p->n_ops] = segments.n;
done:
  if (status != PLIM_OK) plim_cut_segments_free(&segments);
  *out = segments;
  return status;
}

void plim_cut_segments_free(plim_cut_segments *segments) {
  plim_release(segments->ctx, segments->first, segments->first ? segments->n_ops + 1 : 0, sizeof *segments->first);
  plim_release(segments->ctx, segments->begins, segments->capacity, sizeof *segments->begins);
  *segments = (plim_cut_segments){.ctx = segments->ctx};
}

/* The begins of segments certainly follow one another: first those before v, then those that may be on either side of
 * v, then those after v. */
plim_cut_segment_range plim_cut_segment_range_of(const plim_cut_segments *segments, const plim_cut_order *order,
                                                 int32_t op, int32_t v) {
  int32_t first = segments->first[op], last = segments->first[op + 1];
  plim_cut_segment_range span = {first, first + 1};
  for (int32_t high = last; high - span.first > 1;) {
    int32_t c = span.first + (high - span.first) / 2;
    if (segments->begins[c] == v || plim_cut_before(order, segments->begins[c], v)) {
      span.first = c;
    } else {
      high = c;
    }
  }
  for (span.end = span.first + 1; span.end < last && !plim_cut_before(order, v, segments->begins[span.end]);) {
    span.end++;
  }
  return span;
}

int32_t plim_cut_segment_op(const plim_cut_segments *segments, int32_t segment) {
  int32_t op = 0;
  for (int32_t high = segments->n_ops; high - op > 1;) {
    int32_t middle = op + (high - op) / 2;
    if (segments->first[middle] <= segment) {
      op = middle;
    } else {
      high = middle;
    }
  }
  return op;
}
