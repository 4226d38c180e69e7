/* Which window of neighbouring blocks to evict: the cheapest one that is large enough. */
#ifndef PLIM_RUNTIME_ARENA_WINDOW_H
#define PLIM_RUNTIME_ARENA_WINDOW_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A row is a block. It must stay (breaker), holds a storage that may be evicted at a cost, or is free. */
typedef enum plim_row_state { PLIM_ROW_BREAKER, PLIM_ROW_EVICTABLE, PLIM_ROW_FREE } plim_row_state;

typedef struct plim_window_row {
  int64_t bytes; /* > 0; all together at most INT64_MAX */
  int64_t cost;  /* evictable: >= 0, any unit; others: not read */
  plim_row_state state;
} plim_window_row;

/* An exact sum of costs: high x 2^64 + low. Sums in floating point pick wrong windows when costs differ much. */
typedef struct plim_wide {
  uint64_t high, low;
} plim_wide;

typedef struct plim_window {
  int32_t begin, end;    /* rows [begin, end) */
  int64_t bytes;         /* sum over all its rows, >= need */
  int64_t evicted_bytes; /* sum over its evictable rows */
  plim_wide cost;        /* sum over its evictable rows */
} plim_window;

/* Find the best windows of rows. A window contains no breaker, has at least `need` bytes, and would have fewer without
 * its first or its last row.
 *   row       [n]         in   in address order
 *   need                  in   > 0
 *   per_byte              in   0: least cost first; 1: least cost of an evicted byte first
 *   out       [capacity]  out  best first
 * Of equal costs the window with the fewest evicted bytes is first, then that with the lowest address. Returns how many
 * were written. Every large enough sequence of rows without a breaker contains such a window of no more cost. So with
 * per_byte 0 out[0] is the cheapest of all. O(n x capacity). Deterministic, safe from any thread.
 * Source: Coop, NeurIPS 2023, section 3.1, with two corrections: the window also shrinks at the last block, and sums
 * are exact. */
int32_t plim_window_find(int32_t n, const plim_window_row *row, int64_t need, int per_byte, int32_t capacity,
                         plim_window *out);

#ifdef __cplusplus
}
#endif
#endif
