/* Packing: the first-fit family. */
#include "planner/pack.h"

#include <stdlib.h>
#include <string.h>

#include "planner/pack_fit.h"

/* Orders of the first-fit family: keys descending, but begin ascending; ties by begin, then index. */
typedef enum fit_order { BY_BYTES, BY_AREA, BY_LENGTH, BY_BEGIN, FIT_ORDERS } fit_order;

typedef struct sort_key {
  double key;
  int32_t begin, box;
} sort_key;

static int by_key(const void *a, const void *b) {
  const sort_key *x = a, *y = b;
  if (x->key != y->key) return x->key > y->key ? -1 : 1;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->box > y->box) - (x->box < y->box);
}

static void sort_boxes(const plim_packing *p, fit_order order, sort_key *keys, int32_t *out) {
  for (int32_t b = 0; b < p->n; b++) {
    double length = (double)p->box[b].end - (double)p->box[b].begin, bytes = (double)p->bytes[b];
    const double key[FIT_ORDERS] = {bytes, bytes * length, length, 0};
    keys[b] = (sort_key){key[order], p->box[b].begin, b};
  }
  qsort(keys, (size_t)p->n, sizeof *keys, by_key);
  for (int32_t k = 0; k < p->n; k++) out[k] = keys[k].box;
}

static int64_t measure_load(const plim_packing *p, sort_key *keys) {
  int64_t load = 0, alive = 0;
  int32_t ended = 0;
  int32_t *ends = p->by_offset; /* boxes by end */
  for (int32_t b = 0; b < p->n; b++) keys[b] = (sort_key){-(double)p->box[b].end, 0, b};
  qsort(keys, (size_t)p->n, sizeof *keys, by_key);
  for (int32_t b = 0; b < p->n; b++) ends[b] = keys[b].box;
  sort_boxes(p, BY_BEGIN, keys, p->order);
  for (int32_t k = 0; k < p->n; k++) {
    const plim_box *box = &p->box[p->order[k]];
    while (p->box[ends[ended]].end <= box->begin) alive -= p->bytes[ends[ended++]];
    alive += p->bytes[p->order[k]];
    if (alive > load) load = alive;
  }
  return load;
}

static plim_status check_boxes(plim_packing *p) {
  for (int32_t b = 0; b < p->n; b++) {
    const plim_box *box = &p->box[b];
    int misplaced = box->fixed != -1 && (box->fixed < 0 || box->fixed % p->align != 0);
    if (box->begin >= box->end || box->bytes <= 0 || misplaced) {
      return plim_fail(p->ctx, PLIM_EUSAGE, "box %d: life [%d, %d), %lld bytes, fixed offset %lld is not allowed", b,
                       box->begin, box->end, (long long)box->bytes, (long long)box->fixed);
    }
    p->bytes[b] = (box->bytes - 1) / p->align + 1;
    p->fixed[b] = box->fixed < 0 ? -1 : box->fixed / p->align;
  }
  return PLIM_OK;
}

plim_status plim_pack(plim_context *ctx, int32_t n, const plim_box *box, int64_t align, int64_t target, int32_t effort,
                      int64_t *offset, int64_t *height, int64_t *load) {
  plim_packing p = {.ctx = ctx, .n = n, .box = box, .align = align};
  sort_key *keys = NULL;
  int64_t best = INT64_MAX;
  plim_status status;
  (void)effort;
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *keys, &keys));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *p.bytes, &p.bytes));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *p.fixed, &p.fixed));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *p.by_offset, &p.by_offset));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *p.order, &p.order));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *p.trial, &p.trial));
  PLIM_CHECK(check_boxes(&p));
  p.load = measure_load(&p, keys);
  int64_t enough = target / align > p.load ? target / align : p.load;
  for (int order = 0; order < 2 * FIT_ORDERS && best > enough; order++) {
    sort_boxes(&p, (fit_order)(order / 2), keys, p.order);
    int64_t reached = plim_pack_fit(&p, p.order, order & 1, p.trial);
    if (reached >= best) continue;
    best = reached;
    for (int32_t b = 0; b < n; b++) offset[b] = p.trial[b] * align;
  }
  *height = best * align;
  if (load) *load = p.load * align;
done:
  plim_release(ctx, keys, n, sizeof *keys);
  plim_release(ctx, p.bytes, n, sizeof *p.bytes);
  plim_release(ctx, p.fixed, n, sizeof *p.fixed);
  plim_release(ctx, p.by_offset, n, sizeof *p.by_offset);
  plim_release(ctx, p.order, n, sizeof *p.order);
  plim_release(ctx, p.trial, n, sizeof *p.trial);
  return status;
}
