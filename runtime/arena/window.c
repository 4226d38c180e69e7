/* Finds the cheapest window of blocks. Two pointers over the rows: the window grows at its end until it is large
 * enough, then shrinks at its begin. Costs are not negative, so the windows that cannot shrink are the only candidates.
 * docs/online.md has an example in numbers. */
#include "runtime/arena/window.h"

#include <math.h>

static plim_wide wide_add(plim_wide a, int64_t cost) {
  plim_wide sum = {a.high, a.low + (uint64_t)cost};
  sum.high += sum.low < a.low;
  return sum;
}

static plim_wide wide_subtract(plim_wide a, int64_t cost) {
  plim_wide rest = {a.high, a.low - (uint64_t)cost};
  rest.high -= rest.low > a.low;
  return rest;
}

/* < 0, 0 or > 0 */
static int wide_compare(plim_wide a, plim_wide b) {
  if (a.high != b.high) return a.high < b.high ? -1 : 1;
  return (a.low > b.low) - (a.low < b.low);
}

static double cost_a_byte(const plim_window *window) {
  double cost = ldexp((double)window->cost.high, 64) + (double)window->cost.low;
  return window->evicted_bytes > 0 ? cost / (double)window->evicted_bytes : 0;
}

static int better(const plim_window *a, const plim_window *b, int per_byte) {
  double x = per_byte ? cost_a_byte(a) : 0, y = per_byte ? cost_a_byte(b) : 0;
  if (x != y) return x < y;
  int by_cost = per_byte ? 0 : wide_compare(a->cost, b->cost);
  if (by_cost != 0) return by_cost < 0;
  if (a->evicted_bytes != b->evicted_bytes) return a->evicted_bytes < b->evicted_bytes;
  return a->begin < b->begin;
}

/* Insert a window into the sorted list of the best, which has `count` of at most `capacity` entries. Returns the new
 * count. */
static int32_t keep_best(const plim_window *window, int per_byte, int32_t count, int32_t capacity, plim_window *out) {
  int32_t at = count;
  while (at > 0 && better(window, &out[at - 1], per_byte)) at--;
  if (at == capacity) return count;
  int32_t last = count < capacity ? count : capacity - 1;
  for (int32_t i = last; i > at; i--) out[i] = out[i - 1];
  out[at] = *window;
  return last + 1;
}

static void grow(plim_window *window, const plim_window_row *row) {
  window->end++;
  window->bytes += row->bytes;
  if (row->state != PLIM_ROW_EVICTABLE) return;
  window->evicted_bytes += row->bytes;
  window->cost = wide_add(window->cost, row->cost);
}

static void shrink(plim_window *window, const plim_window_row *row) {
  window->begin++;
  window->bytes -= row->bytes;
  if (row->state != PLIM_ROW_EVICTABLE) return;
  window->evicted_bytes -= row->bytes;
  window->cost = wide_subtract(window->cost, row->cost);
}

int32_t plim_window_find(int32_t n, const plim_window_row *row, int64_t need, int per_byte, int32_t capacity,
                         plim_window *out) {
  plim_window window = {0, 0, 0, 0, {0, 0}};
  int32_t count = 0;
  while (window.end < n) {
    if (row[window.end].state == PLIM_ROW_BREAKER) {
      window = (plim_window){window.end + 1, window.end + 1, 0, 0, {0, 0}};
      continue;
    }
    grow(&window, &row[window.end]);
    if (window.bytes < need) continue;
    while (window.bytes - row[window.begin].bytes >= need) shrink(&window, &row[window.begin]);
    count = keep_best(&window, per_byte, count, capacity, out);
    shrink(&window, &row[window.begin]);
  }
  return count;
}
