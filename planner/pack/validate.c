/* The validator: finds two boxes that overlap in time and space.
 *
 * A sweep over time keeps the boxes that are alive in a set ordered by offset. As long as none overlap, a new box can
 * overlap only its two neighbours in that set. The set has one bit for each rank by offset. Layers of bits above it say
 * which words of the layer below are not 0; six layers are enough for any number of boxes. O(n log n). */
#include "planner/pack/pack.h"

#include <stdlib.h>

#include "runtime/base/bits.h"
#include "runtime/base/integers.h"

enum { WORD = 64, LAYERS = 6 };

typedef struct bit_set {
  uint64_t *word[LAYERS]; /* word[0]: the bits; word[k + 1]: which words of word[k] are not 0 */
  int64_t words[LAYERS];
  int layers;
} bit_set;

typedef struct event {
  int64_t time, offset;
  int32_t box, begins;
} event;

static int by_time(const void *a, const void *b) {
  const event *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  if (x->begins != y->begins) return x->begins - y->begins; /* ends come first */
  return plim_integers_compare(x->box, y->box);
}

static int by_offset(const void *a, const void *b) {
  const event *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return plim_integers_compare(x->box, y->box);
}

static plim_status set_new(plim_context *ctx, bit_set *set, int64_t bits) {
  for (set->layers = 0; set->layers == 0 || set->words[set->layers - 1] > 1; set->layers++) {
    bits = (bits + WORD - 1) / WORD;
    set->words[set->layers] = bits > 0 ? bits : 1;
    PLIM_TRY(plim_allocate(ctx, set->words[set->layers], sizeof **set->word, &set->word[set->layers]));
  }
  return PLIM_OK;
}

static void set_free(plim_context *ctx, bit_set *set) {
  for (int k = 0; k < LAYERS; k++) plim_release(ctx, set->word[k], set->words[k], sizeof **set->word);
}

static void set_put(bit_set *set, int64_t bit) {
  for (int k = 0; k < set->layers; k++, bit /= WORD) set->word[k][bit / WORD] |= UINT64_C(1) << (bit % WORD);
}

static void set_remove(bit_set *set, int64_t bit) {
  for (int k = 0; k < set->layers; k++, bit /= WORD) {
    set->word[k][bit / WORD] &= ~(UINT64_C(1) << (bit % WORD));
    if (set->word[k][bit / WORD] != 0) return;
  }
}

/* The nearest bit above (up 1) or below `bit`, -1: none. */
static int64_t set_neighbour(const bit_set *set, int64_t bit, int up) {
  for (int k = 0; k < set->layers; k++, bit /= WORD) {
    int at = (int)(bit % WORD);
    uint64_t beyond = up ? (at == WORD - 1 ? 0 : ~UINT64_C(0) << (at + 1)) : (UINT64_C(1) << at) - 1;
    uint64_t found = set->word[k][bit / WORD] & beyond;
    if (found == 0) continue;
    bit = bit / WORD * WORD + (up ? plim_bits_lowest(found) : plim_bits_highest(found));
    while (k-- > 0) {
      found = set->word[k][bit];
      bit = bit * WORD + (up ? plim_bits_lowest(found) : plim_bits_highest(found));
    }
    return bit;
  }
  return -1;
}

static int has_gaps(const plim_boxes *boxes, int32_t x) {
  return boxes->gap && boxes->gap_first[x + 1] > boxes->gap_first[x];
}

static int is_there(const plim_boxes *boxes, const int64_t *offset, int32_t x) {
  return boxes->box[x].bytes > 0 && offset[x] >= 0;
}

static void set_pair(int32_t pair[2], int32_t x, int32_t y) {
  pair[0] = x < y ? x : y;
  pair[1] = x < y ? y : x;
}

typedef struct time_sweep {
  const plim_boxes *boxes;
  const int64_t *offset;
  event *event;     /* [2n] */
  int32_t *at_rank; /* [n] boxes by offset */
  int32_t *rank;    /* [n] */
  bit_set alive;
} time_sweep;

/* Put x into the set; 0: it overlaps a neighbour, which is in *other. */
static int enter_box(time_sweep *sweep, int32_t x, int32_t *other) {
  int64_t above = set_neighbour(&sweep->alive, sweep->rank[x], 1),
          below = set_neighbour(&sweep->alive, sweep->rank[x], 0);
  if (below >= 0) {
    *other = sweep->at_rank[below];
    if (sweep->offset[*other] + sweep->boxes->box[*other].bytes > sweep->offset[x]) return 0;
  }
  if (above >= 0) {
    *other = sweep->at_rank[above];
    if (sweep->offset[x] + sweep->boxes->box[x].bytes > sweep->offset[*other]) return 0;
  }
  set_put(&sweep->alive, sweep->rank[x]);
  return 1;
}

/* Among boxes without gaps. */
static void sweep_time(time_sweep *sweep, int32_t pair[2]) {
  int32_t events = 0, n = 0;
  for (int32_t x = 0; x < sweep->boxes->n; x++) {
    if (!is_there(sweep->boxes, sweep->offset, x) || has_gaps(sweep->boxes, x)) continue;
    sweep->event[n++] = (event){0, sweep->offset[x], x, 0};
  }
  qsort(sweep->event, (size_t)n, sizeof *sweep->event, by_offset);
  for (int32_t r = 0; r < n; r++) {
    sweep->at_rank[r] = sweep->event[r].box;
    sweep->rank[sweep->at_rank[r]] = r;
  }
  for (int32_t r = 0; r < n; r++) {
    const plim_box *box = &sweep->boxes->box[sweep->at_rank[r]];
    sweep->event[events++] = (event){box->begin, 0, sweep->at_rank[r], 1};
    sweep->event[events++] = (event){box->end, 0, sweep->at_rank[r], 0};
  }
  qsort(sweep->event, (size_t)events, sizeof *sweep->event, by_time);
  for (int32_t i = 0; i < events; i++) {
    int32_t x = sweep->event[i].box, other;
    if (!sweep->event[i].begins) {
      set_remove(&sweep->alive, sweep->rank[x]);
    } else if (!enter_box(sweep, x, &other)) {
      set_pair(pair, x, other);
      return;
    }
  }
}

/* Boxes with gaps against all. */
static void compare_gapped(const plim_boxes *boxes, const int64_t *offset, int32_t pair[2]) {
  for (int32_t x = 0; x < boxes->n; x++) {
    if (!has_gaps(boxes, x) || !is_there(boxes, offset, x)) continue;
    for (int32_t y = 0; y < boxes->n; y++) {
      if (y == x || !is_there(boxes, offset, y)) continue;
      int64_t up = plim_boxes_separation(boxes, x, y), down = plim_boxes_separation(boxes, y, x);
      if (up == PLIM_NO_SEPARATION || offset[x] + up <= offset[y] || offset[y] + down <= offset[x]) continue;
      set_pair(pair, x, y);
      return;
    }
  }
}

plim_status plim_boxes_find_overlap(plim_context *ctx, const plim_boxes *boxes, const int64_t *offset,
                                    int32_t pair[2]) {
  time_sweep sweep = {.boxes = boxes, .offset = offset};
  int64_t n = boxes->n;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 2 * n, sizeof *sweep.event, &sweep.event));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *sweep.at_rank, &sweep.at_rank));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *sweep.rank, &sweep.rank));
  PLIM_TRY_OR_DONE(set_new(ctx, &sweep.alive, n));
  pair[0] = pair[1] = -1;
  sweep_time(&sweep, pair);
  if (pair[0] < 0 && boxes->gap) compare_gapped(boxes, offset, pair);
done:
  plim_release(ctx, sweep.event, 2 * n, sizeof *sweep.event);
  plim_release(ctx, sweep.at_rank, n, sizeof *sweep.at_rank);
  plim_release(ctx, sweep.rank, n, sizeof *sweep.rank);
  set_free(ctx, &sweep.alive);
  return status;
}

plim_status plim_boxes_check(plim_context *ctx, const plim_boxes *boxes, const int64_t *offset, int64_t capacity,
                             int64_t packed_bytes) {
  int64_t top = 0;
  int32_t pair[2];
  for (int32_t x = 0; x < boxes->n; x++) {
    const plim_box *box = &boxes->box[x];
    int64_t own = boxes->own_align ? boxes->own_align[x] : 1;
    if (box->bytes == 0) continue;
    if (offset[x] < 0 || offset[x] > capacity - box->bytes || offset[x] % boxes->align != 0 || offset[x] % own != 0 ||
        (box->fixed >= 0 && offset[x] != box->fixed)) {
      return plim_fail(
          ctx, PLIM_EPLAN, "box %d: offset %lld with %lld bytes, alignment %lld, fixed %lld, capacity %lld", x,
          (long long)offset[x], (long long)box->bytes, (long long)own, (long long)box->fixed, (long long)capacity);
    }
    if (offset[x] + box->bytes > top) top = offset[x] + box->bytes;
  }
  PLIM_TRY(plim_boxes_find_overlap(ctx, boxes, offset, pair));
  if (pair[0] >= 0) {
    return plim_fail(ctx, PLIM_EPLAN, "boxes %d at %lld and %d at %lld overlap in time and space", pair[0],
                     (long long)offset[pair[0]], pair[1], (long long)offset[pair[1]]);
  }
  if (plim_align_up(top, boxes->align) == packed_bytes || top == packed_bytes) return PLIM_OK;
  return plim_fail(ctx, PLIM_EPLAN, "the height is %lld, not %lld", (long long)top, (long long)packed_bytes);
}
