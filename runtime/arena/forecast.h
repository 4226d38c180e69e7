/* What a schedule says about the future: who reads each storage next, how long it may be recomputed, how long an
 * input is needed, what is costly and what is cheap. */
#ifndef PLIM_RUNTIME_ARENA_FORECAST_H
#define PLIM_RUNTIME_ARENA_FORECAST_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Positions are indices of the schedule's commands, 0 .. n - 1; n is its end. PLIM_NEVER, as a position: there is none.
 */
enum { PLIM_NEVER = -1 };

typedef struct plim_forecast {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *schedule;
  int32_t *variant;  /* [n_ops] row of schedule->variant of the op's first run */
  int64_t *op_ns;    /* [n_ops] time of one run */
  int64_t *start_ns; /* [n + 1] predicted start of each position */
  /* The uses of position j are first_use[j] ..: the op's reads, then its writes.
   *   next_read  where the storage is read next, before it is written again; n: kept as an output; PLIM_NEVER
   *   last_read  (writes) the last such position */
  int32_t *first_use, *next_read, *last_read;
  int32_t *deadline;        /* [n_storages] last position for whose run it can be recomputed, whatever else is missing;
                               PLIM_NEVER: it cannot */
  int32_t *hold;            /* [n_storages] inputs: last position that may need it, PLIM_NEVER when nothing reads it */
  char *costly;             /* [n_storages] made at more time a byte than the byte-weighted median */
  int64_t small_bytes;      /* storages of at most so many bytes, rounded, are small; 0: none is (small.c) */
  int64_t small_load_bytes; /* the most of them that are alive at a time when nothing is evicted */
} plim_forecast;

/* PLIM_ENOMEM, nothing else. hold_inputs 1: inputs stay as long as something may be recomputed from them; of a schedule
 * that is simulated from position `from` > 0 on those alone whose buffers it has not ended there. 0: to their last
 * read; then what was made from them stays instead. The schedule has passed plim_plan_check and must outlive the
 * forecast. O(inputs x ops + uses). */
PLIM_MUST_USE plim_status plim_forecast_make(plim_context *ctx, const plim_graph *graph, const plim_plan *schedule,
                                             int32_t from, int32_t hold_inputs, plim_forecast *out);
/* Let what is recomputed run with other variants than first runs: rows again [n_ops] of schedule->variant. O(ops). */
void plim_forecast_again(plim_forecast *forecast, const int32_t *again);
void plim_forecast_release(plim_forecast *forecast); /* also after a failed make */

#ifdef __cplusplus
}
#endif
#endif
