/* What a schedule says about the future: when each storage is read next, until when it can be recomputed, how long an
 * input is needed, and which storages are costly to recompute. Functions run on the thread of the context, and are
 * deterministic. */
#ifndef PLIM_RUNTIME_ARENA_FORECAST_H
#define PLIM_RUNTIME_ARENA_FORECAST_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Positions are indices of the schedule's n commands; position n is its end. PLIM_NEVER: there is no such position. */
enum { PLIM_NEVER = -1 };

typedef struct plim_forecast {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *schedule;
  int32_t *variant;  /* [n_ops] row of schedule->variant that recomputes the op: that of its first run, or `again` */
  int64_t *op_ns;    /* [n_ops] time of that variant */
  int64_t *start_ns; /* [n + 1] predicted start of each position */
  /* The uses of position j begin at first_use[j]: first the op's reads, then its writes.
   *   next_read  [uses] position that reads the storage next, before it is written again; n: it is an output;
   *              PLIM_NEVER: none
   *   last_read  [uses] of writes: the last such position */
  int32_t *first_use, *next_read, *last_read;
  int32_t *deadline;        /* [n_storages] last position before which the storage can be recomputed, whatever else is
                               missing; PLIM_NEVER: it cannot be recomputed */
  int32_t *last_need;       /* [n_storages] inputs: last position that may need it; PLIM_NEVER: nothing reads it */
  char *costly;             /* [n_storages] 1: its op takes at least the byte-weighted median of time a byte */
  int64_t small_bytes;      /* storages of at most so many bytes, rounded up, are small; 0: none is (small.c) */
  int64_t small_peak_bytes; /* peak of the bytes of small storages when nothing is evicted */
} plim_forecast;

/* Make the forecast of a schedule.
 *   schedule     in   has passed plim_plan_check, and must outlive the forecast, as must the graph
 *   from         in   position where the simulation begins; > 0: the schedule has buffers
 *   hold_inputs  in   1: an input stays as long as something may be recomputed from it, except an input whose buffer
 *                     has ended at `from` > 0. 0: it stays until its last read; then what is computed from it cannot be
 *                     recomputed
 *   out          out  free with plim_forecast_release
 * Returns only PLIM_ENOMEM. O(inputs x ops + uses). Deterministic. */
PLIM_MUST_USE plim_status plim_forecast_make(plim_context *ctx, const plim_graph *graph, const plim_plan *schedule,
                                             int32_t from, int32_t hold_inputs, plim_forecast *out);
/* Let recomputations use other variants than first runs.
 *   again  [n_ops]  in  rows of schedule->variant; PLIM_NONE: the op is not in the schedule
 * O(ops). */
void plim_forecast_again(plim_forecast *forecast, const int32_t *again);
void plim_forecast_release(plim_forecast *forecast); /* also after a failed make */

#ifdef __cplusplus
}
#endif
#endif
