/* Lists waits by vector clocks: a command knows, of each queue, the last command that ends before it begins. */
#include "planner/spaces/problem/space_sequence.h"

#include <string.h>

#include "runtime/base/integers.h"

void plim_queue_waits_lay_out(plim_queue_waits *waits, plim_block *b, int64_t n) {
  int64_t marks = plim_mul_checked(n, waits->n_queues);
  waits->n_wait = plim_block_take(b, n, sizeof *waits->n_wait);
  waits->wait = plim_block_take(b, marks, sizeof *waits->wait);
  waits->clock = plim_block_take(b, marks, sizeof *waits->clock);
  waits->last = plim_block_take(b, waits->n_queues, sizeof *waits->last);
}

void plim_marks_join(int32_t *marks, const int32_t *from, int32_t n) {
  for (int32_t q = 0; q < n; q++) {
    if (from[q] > marks[q]) marks[q] = from[q];
  }
}

static int32_t *clock_of(const plim_queue_waits *waits, int32_t c) {
  return waits->clock + (int64_t)c * waits->n_queues;
}

/* The queue whose needed command is not yet known to have ended and is the latest; -1: there is none. */
static int32_t latest_needed(const plim_queue_waits *waits, const int32_t *need, const int32_t *clock) {
  int32_t latest = -1;
  for (int32_t q = 0; q < waits->n_queues; q++) {
    if (need[q] > clock[q] && (latest < 0 || need[q] > need[latest])) latest = q;
  }
  return latest;
}

static void reverse(int32_t *x, int32_t n) {
  for (int32_t i = 0; i < n / 2; i++) {
    int32_t other = x[n - 1 - i];
    x[n - 1 - i] = x[i];
    x[i] = other;
  }
}

/* The latest first, as it may bring others with it. */
void plim_queue_waits_add(plim_queue_waits *waits, int32_t c, int32_t queue, const int32_t *need) {
  int32_t *clock = clock_of(waits, c), *wait = waits->wait + (int64_t)c * waits->n_queues, n = 0;
  if (waits->last[queue] > 0)
    memcpy(clock, clock_of(waits, waits->last[queue] - 1), (size_t)waits->n_queues * sizeof *clock);
  clock[queue] = waits->last[queue];
  for (int32_t q; (q = latest_needed(waits, need, clock)) >= 0;) {
    wait[n++] = need[q] - 1;
    plim_marks_join(clock, clock_of(waits, need[q] - 1), waits->n_queues);
    if (clock[q] < need[q]) clock[q] = need[q];
  }
  reverse(wait, n);
  waits->n_wait[c] = n;
  waits->last[queue] = c + 1;
}
