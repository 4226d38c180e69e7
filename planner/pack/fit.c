/* First-fit and best-fit: places boxes one after the other at a free offset.
 *
 * The placed boxes that overlap a box in time bar ranges of offsets from it. A walk through these ranges, sorted from
 * below, finds the free ones. Two ways to get them:
 *   list  all placed boxes sorted by offset; those that do not overlap in time are passed over. For plain boxes. Where
 *         thousands overlap, this is twenty times as fast as to list and sort them.
 *   tree  over the boxes by begin; each node has the latest end of what is placed below it, and finds those that
 *         overlap. For boxes with gaps or alignments of their own, and for very many boxes of which few overlap.
 * Invariant: placed boxes do not overlap. Source: Moffitt, MiniMalloc, ASPLOS 2023 (greedy part). */
#include "planner/pack/packers.h"

#include <stdlib.h>
#include <string.h>

#include "planner/pack/pack_tuning.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

enum { SHORT = 24 /* ranges that are sorted by insertion */ };

/* Offsets above `low` and below `high` are barred. */
typedef struct barrier {
  int64_t low, high;
} barrier;

/* A placed box: lifetime, offset and top in units. */
typedef struct placed {
  int64_t begin, end, offset, top;
} placed;

struct plim_fit {
  const plim_units *units;
  int32_t n, leaves; /* leaves: a power of two */
  placed *list;      /* [n] placed boxes by offset */
  int32_t n_list;
  int32_t *by_begin;   /* [n] */
  int32_t *place_of;   /* [n] in by_begin */
  int64_t *latest_end; /* [2 leaves] of what is placed below a node; INT64_MIN: nothing */
  barrier *barrier;    /* [n] scratch, twice: the second half is for sorting */
};

/* ---- the list ---- */

static void insert(plim_fit *fit, int32_t b, int64_t offset) {
  const plim_box *box = &fit->units->boxes->box[b];
  placed *list = fit->list;
  int32_t low = 0, high = fit->n_list; /* after the last one at or below the offset */
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (list[middle].offset <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  memmove(&list[low + 1], &list[low], (size_t)(fit->n_list++ - low) * sizeof *list);
  list[low] = (placed){box->begin, box->end, offset, offset + fit->units->size[b]};
}

static int64_t find_in_list(const plim_fit *fit, int32_t b, int best_fit) {
  const placed *list = fit->list;
  const plim_box *box = &fit->units->boxes->box[b];
  int64_t begin = box->begin, end = box->end, size = fit->units->size[b];
  int64_t top = 0, best = -1, best_slack = INT64_MAX;
  for (int32_t k = 0; k < fit->n_list; k++) {
    if ((list[k].begin >= end) | (begin >= list[k].end)) continue;
    int64_t slack = list[k].offset - top - size;
    if (slack >= 0 && slack < best_slack) {
      if (!best_fit) return top;
      best = top;
      best_slack = slack;
    }
    if (list[k].top > top) top = list[k].top;
  }
  return best >= 0 ? best : top;
}

/* ---- the tree ---- */

static void plant(plim_fit *fit, int32_t b) {
  int64_t end = fit->units->boxes->box[b].end;
  for (int32_t node = fit->leaves + fit->place_of[b]; node > 0 && fit->latest_end[node] < end; node /= 2) {
    fit->latest_end[node] = end;
  }
}

/* The offsets that box y at `offset` bars from box b. Returns 0 where there are none. */
static int bar(const plim_fit *fit, int32_t b, int32_t y, int64_t offset, barrier *out) {
  if (!fit->units->boxes->gap) {
    *out = (barrier){offset - fit->units->size[b], offset + fit->units->size[y]};
    return 1;
  }
  int64_t under = plim_units_separation(fit->units, b, y);
  if (under == PLIM_NO_SEPARATION) return 0;
  *out = (barrier){offset - under, offset + plim_units_separation(fit->units, y, b)};
  return out->low < out->high;
}

/* List the ranges that placed boxes bar from box b. Returns their number. */
static int32_t list_barriers(const plim_fit *fit, int32_t b, const int64_t *offset) {
  const plim_box *box = fit->units->boxes->box;
  int64_t begin = box[b].begin, end = box[b].end;
  int32_t stack[64], depth = 0, n = 0; /* one right sibling a node waits */
  stack[depth++] = 1;
  while (depth > 0) {
    int32_t node = stack[--depth];
    if (fit->latest_end[node] <= begin) continue;
    if (node < fit->leaves) {
      stack[depth++] = 2 * node + 1;
      stack[depth++] = 2 * node;
      continue;
    }
    int32_t y = fit->by_begin[node - fit->leaves];
    if (box[y].begin >= end) break; /* and so do all that come later */
    n += bar(fit, b, y, offset[y], &fit->barrier[n]);
  }
  return n;
}

/* Sort by low. a [2 n] has scratch after the n ranges. */
static void sort_barriers(barrier *a, int32_t n) {
  barrier *from = a, *to = a + n;
  for (int32_t begin = 0; begin < n; begin += SHORT) {
    for (int32_t i = begin + 1; i < n && i < begin + SHORT; i++) {
      barrier x = a[i];
      int32_t k = i;
      for (; k > begin && a[k - 1].low > x.low; k--) a[k] = a[k - 1];
      a[k] = x;
    }
  }
  for (int32_t run = SHORT; run < n; run *= 2) {
    for (int32_t begin = 0; begin < n; begin += 2 * run) {
      int32_t i = begin, middle = begin + run < n ? begin + run : n, j = middle;
      int32_t end = middle + run < n ? middle + run : n;
      for (int32_t k = begin; k < end; k++) {
        to[k] = j == end || (i < middle && from[i].low <= from[j].low) ? from[i++] : from[j++];
      }
    }
    barrier *other = from;
    from = to;
    to = other;
  }
  if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
}

static int64_t find_in_tree(const plim_fit *fit, int32_t b, int best_fit, const int64_t *offset) {
  int32_t n = list_barriers(fit, b, offset);
  int64_t place = 0, best = -1, best_slack = INT64_MAX;
  sort_barriers(fit->barrier, n);
  for (int32_t i = 0; i < n; i++) {
    int64_t slack = fit->barrier[i].low - place;
    if (slack >= 0 && slack < best_slack) {
      if (!best_fit) return place;
      best = place;
      best_slack = slack;
    }
    if (fit->barrier[i].high > place) place = plim_units_align(fit->units, b, fit->barrier[i].high);
  }
  return best >= 0 ? best : place;
}

/* ---- all boxes ---- */

static void put(plim_fit *fit, int32_t b, int64_t place, int64_t *offset) {
  offset[b] = place;
  if (fit->list) {
    insert(fit, b, place);
  } else {
    plant(fit, b);
  }
}

int64_t plim_fit_run(plim_fit *fit, const int32_t *order, int best_fit, int may_stop, int64_t *offset) {
  const plim_units *units = fit->units;
  int64_t packed_size = 0;
  fit->n_list = 0;
  for (int32_t node = 0; !fit->list && node < 2 * fit->leaves; node++) fit->latest_end[node] = INT64_MIN;
  for (int32_t b = 0; b < units->n; b++) {
    offset[b] = -1;
    if (units->fixed[b] >= 0) put(fit, b, units->fixed[b], offset);
  }
  for (int32_t k = 0; k < units->n; k++) {
    int32_t b = order[k];
    if (offset[b] >= 0) continue;
    if (plim_effort_over(units->ctx, fit->list ? fit->n_list : units->n / pack_tuning.fit.list_part) && may_stop) {
      return INT64_MAX;
    }
    put(fit, b, fit->list ? find_in_list(fit, b, best_fit) : find_in_tree(fit, b, best_fit, offset), offset);
  }
  for (int32_t b = 0; b < units->n; b++) {
    packed_size = offset[b] + units->size[b] > packed_size ? offset[b] + units->size[b] : packed_size;
  }
  return packed_size;
}

typedef struct begun {
  int64_t begin;
  int32_t box;
} begun;

static int by_begin(const void *a, const void *b) {
  const begun *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return plim_integers_compare(x->box, y->box);
}

static plim_status make_tree(plim_fit *fit) {
  const plim_units *units = fit->units;
  begun *sorted = NULL;
  fit->leaves = 1;
  while (fit->leaves < fit->n) fit->leaves *= 2;
  PLIM_TRY(plim_allocate(units->ctx, fit->n, sizeof *fit->by_begin, &fit->by_begin));
  PLIM_TRY(plim_allocate(units->ctx, fit->n, sizeof *fit->place_of, &fit->place_of));
  PLIM_TRY(plim_allocate(units->ctx, 2 * (int64_t)fit->leaves, sizeof *fit->latest_end, &fit->latest_end));
  PLIM_TRY(plim_allocate(units->ctx, 2 * (int64_t)fit->n, sizeof *fit->barrier, &fit->barrier));
  PLIM_TRY(plim_allocate(units->ctx, fit->n, sizeof *sorted, &sorted));
  for (int32_t b = 0; b < fit->n; b++) sorted[b] = (begun){units->boxes->box[b].begin, b};
  qsort(sorted, (size_t)fit->n, sizeof *sorted, by_begin);
  for (int32_t i = 0; i < fit->n; i++) {
    fit->by_begin[i] = sorted[i].box;
    fit->place_of[sorted[i].box] = i;
  }
  plim_release(units->ctx, sorted, fit->n, sizeof *sorted);
  return PLIM_OK;
}

/* Pairs of boxes that overlap in time. */
static plim_status count_pairs(const plim_units *units, int64_t *pairs) {
  int64_t *begin = NULL, *end = NULL;
  plim_status status;
  *pairs = 0;
  PLIM_TRY_OR_DONE(plim_allocate(units->ctx, units->n, sizeof *begin, &begin));
  PLIM_TRY_OR_DONE(plim_allocate(units->ctx, units->n, sizeof *end, &end));
  for (int32_t b = 0; b < units->n; b++) {
    begin[b] = units->boxes->box[b].begin;
    end[b] = units->boxes->box[b].end;
  }
  plim_integers_sort(begin, units->n);
  plim_integers_sort(end, units->n);
  for (int32_t i = 0, ended = 0; i < units->n; i++) {
    while (end[ended] <= begin[i]) ended++;
    *pairs += i - ended;
  }
done:
  plim_release(units->ctx, begin, units->n, sizeof *begin);
  plim_release(units->ctx, end, units->n, sizeof *end);
  return status;
}

static plim_status wants_list(const plim_units *units, int32_t *yes) {
  int64_t pairs;
  *yes = units->is_plain && units->n <= pack_tuning.fit.list_boxes;
  if (*yes || !units->is_plain) return PLIM_OK;
  PLIM_TRY(count_pairs(units, &pairs));
  *yes = pairs > (int64_t)units->n * units->n / 2 / pack_tuning.fit.list_scan;
  return PLIM_OK;
}

plim_status plim_fit_new(const plim_units *units, plim_fit **out) {
  plim_fit *fit = NULL;
  plim_status status;
  int32_t is_list;
  PLIM_TRY_OR_DONE(plim_allocate(units->ctx, 1, sizeof *fit, &fit));
  fit->units = units;
  fit->n = units->n;
  PLIM_TRY_OR_DONE(wants_list(units, &is_list));
  if (is_list) {
    PLIM_TRY_OR_DONE(plim_allocate(units->ctx, fit->n, sizeof *fit->list, &fit->list));
  } else {
    PLIM_TRY_OR_DONE(make_tree(fit));
  }
  *out = fit;
done:
  if (status != PLIM_OK) plim_fit_free(fit);
  return status;
}

void plim_fit_free(plim_fit *fit) {
  if (!fit) return;
  plim_context *ctx = fit->units->ctx;
  plim_release(ctx, fit->list, fit->n, sizeof *fit->list);
  plim_release(ctx, fit->by_begin, fit->n, sizeof *fit->by_begin);
  plim_release(ctx, fit->place_of, fit->n, sizeof *fit->place_of);
  plim_release(ctx, fit->latest_end, 2 * (int64_t)fit->leaves, sizeof *fit->latest_end);
  plim_release(ctx, fit->barrier, 2 * (int64_t)fit->n, sizeof *fit->barrier);
  plim_release(ctx, fit, 1, sizeof *fit);
}
