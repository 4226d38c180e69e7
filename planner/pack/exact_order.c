/* The static order of a restart of exact search. Three orders take turns, since none suits every instance. Some rounds
 * multiply the keys by random factors. In every other round, boxes whose placement often failed at once come earlier.
 */
#include "planner/pack/exact_internal.h"

#include <stdlib.h>
#include <string.h>

#include "planner/pack/pack_tuning.h"
#include "planner/pack/packers.h"
#include "runtime/base/bits.h"
#include "runtime/base/integers.h"
#include "runtime/base/random.h"

static const int orders[][PLIM_KEYS] = {{PLIM_KEY_LENGTH, PLIM_KEY_AREA, PLIM_KEY_TOTAL},
                                        {PLIM_KEY_TOTAL, PLIM_KEY_AREA, PLIM_KEY_LENGTH},
                                        {PLIM_KEY_TOTAL, PLIM_KEY_LENGTH, PLIM_KEY_AREA}};
enum { ORDERS = sizeof orders / sizeof *orders };

static int by_keys(const void *a, const void *b) {
  const plim_ranked *x = a, *y = b;
  for (int k = 0; k < PLIM_KEYS; k++) {
    if (x->key[k] != y->key[k]) return x->key[k] > y->key[k] ? -1 : 1;
  }
  return plim_integers_compare(x->box, y->box);
}

static void sort_boxes(plim_exact *exact, const int *keys, double noise, double blame, uint64_t seed) {
  plim_random random = {seed};
  int64_t worst = 1;
  for (int32_t x = 0; x < exact->n; x++) worst = exact->blame[x] > worst ? exact->blame[x] : worst;
  for (int32_t x = 0; x < exact->n; x++) {
    const plim_box *box = &exact->units->boxes->box[x];
    double length = (double)box->end - (double)box->begin;
    double key[PLIM_KEYS] = {length, length * (double)exact->units->size[x], exact->total[x]};
    for (int k = 0; k < PLIM_KEYS && noise > 0; k++) key[k] *= 1 + noise * plim_random_unit(&random);
    key[keys[0]] *= 1 + blame * (double)exact->blame[x] / (double)worst;
    exact->order[x] = (plim_ranked){{key[keys[0]], key[keys[1]], key[keys[2]]}, x};
  }
  qsort(exact->order, (size_t)exact->n, sizeof *exact->order, by_keys);
}

/* Number the boxes by exact->order, and set what the search reads by number. */
static void number_boxes(plim_exact *exact) {
  const plim_sections *sections = &exact->sections;
  for (int32_t r = 0; r < exact->n; r++) {
    int32_t x = exact->order[r].box, first = sections->span_first[x], last = sections->span_first[x + 1];
    int64_t align = exact->units->align[x]; /* a larger one leaves offset 0 alone, and so does this one */
    exact->number[x] = r;
    exact->shape[r] = (plim_pack_shape){.size = (int32_t)exact->units->size[x],
                                        .fixed = (int32_t)exact->units->fixed[x],
                                        .align = align < PLIM_EXACT_UNITS ? (int32_t)align : PLIM_EXACT_UNITS,
                                        .section_floor = (int16_t)(exact->units->size[x] >> exact->shift),
                                        .mask = exact->mask + (int64_t)x * exact->lanes};
    if (first == last) continue;
    exact->shape[r].first = sections->span[first].first;
    exact->shape[r].last = sections->span[last - 1].last;
  }
  memset(exact->over, 0, (size_t)exact->n * (size_t)exact->words * sizeof *exact->over);
  for (int32_t x = 0; x < exact->n; x++) {
    uint64_t *row = &exact->over[(int64_t)exact->number[x] * exact->words];
    for (int32_t w = 0; w < exact->words; w++) {
      for (uint64_t bits = exact->together[(int64_t)x * exact->words + w]; bits; bits &= bits - 1) {
        int32_t y = exact->number[w * PLIM_WORD + plim_bits_lowest(bits)];
        row[y / PLIM_WORD] |= (uint64_t)1 << (y % PLIM_WORD);
      }
    }
  }
}

void plim_exact_order(plim_exact *exact, int32_t restart) {
  int32_t round = restart / ORDERS;
  sort_boxes(exact, orders[restart % ORDERS], pack_tuning.order.noise[round % PLIM_ORDER_NOISES],
             round % 2 ? pack_tuning.order.blame : 0, (uint64_t)restart);
  number_boxes(exact);
}

int64_t plim_exact_share(int32_t n, int32_t restart) {
  int64_t share = 2 * (int64_t)n + 2;
  for (int32_t round = restart / ORDERS; round > 0 && share < INT64_MAX / 2; round--) share += share / 2;
  return share;
}
