/* Which window of neighbouring blocks to evict: the cheapest one that is large enough. */
#ifndef PLIM_RUNTIME_ARENA_WINDOW_H
#define PLIM_RUNTIME_ARENA_WINDOW_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A row is a block: it must stay (breaker), holds a storage that may be evicted at a cost, or is free. */
typedef enum plim_row_state { PLIM_ROW_BREAKER, PLIM_ROW_HELD, PLIM_ROW_FREE } plim_row_state;

typedef struct plim_window_row {
  int64_t bytes; /* > 0; all together at most INT64_MAX */
  int64_t cost;  /* held: >= 0, any unit; others: not read */
  plim_row_state state;
} plim_window_row;

/* An exact sum of costs: high x 2^64 + low. Sums in floating point pick wrong windows when costs differ much. */
typedef struct plim_wide {
  uint64_t high, low;
} plim_wide;

int plim_wide_compare(plim_wide a, plim_wide b); /* < 0, 0, > 0 */

typedef struct plim_window {
  int32_t begin, end;    /* rows [begin, end) */
  int64_t bytes;         /* of all its rows, >= need */
  int64_t evicted_bytes; /* of its held rows */
  plim_wide cost;        /* sum over its held rows */
} plim_window;

/* The best windows of `row` [n], which is in address order: no breaker inside, at least `need` bytes (> 0), and neither
 * end row can be left out. Order: least cost (per_byte 1: for each evicted byte), then fewest evicted bytes, then
 * lowest address.
 *   out  [capacity]  out  best first; out[1] is the second best
 * Returns how many were written. Every run of rows that is large enough contains such a window of no more cost, so with
 * per_byte 0 out[0] is the cheapest of all runs. O(n x capacity). Source: Coop, NeurIPS 2023, section 3.1, repaired:
 * the window shrinks at the last block too, and sums are exact. */
int32_t plim_window_find(int32_t n, const plim_window_row *row, int64_t need, int per_byte, int32_t capacity,
                         plim_window *out);

#ifdef __cplusplus
}
#endif
#endif
