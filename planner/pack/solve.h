/* Packing at full strength: under a capacity, or as low as the time allows, with a proof where there is one. */
#ifndef PLIM_PLANNER_PACK_SOLVE_H
#define PLIM_PLANNER_PACK_SOLVE_H

#include "planner/pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_pack_options {
  size_t struct_bytes;   /* sizeof(plim_pack_options) */
  int64_t capacity;      /* bytes; INT64_MAX: as low as possible */
  int64_t time_limit_ns; /* 0: none */
  int32_t threads;       /* 0 and 1: one */
} plim_pack_options;

/* As low as possible, without a time limit, on one thread. */
plim_pack_options plim_pack_options_default(void);

typedef struct plim_pack_solution {
  int64_t packed_bytes; /* largest offset + bytes */
  int64_t first_fit;    /* the lowest of the first-fit family, in bytes */
  int64_t peak_bytes;   /* largest sum of bytes alive: no packing is lower */
  int64_t bound;        /* proven: no packing is lower; >= load */
  int32_t proved;       /* 1: no packing is lower than this one */
} plim_pack_solution;

/* Pack. With a capacity: stop at the first packing under it. Without: until proved, the time is over or the context is
 * cancelled; the best so far is kept. offset [n]; boxes of no bytes get 0. What is found is validated.
 * PLIM_EUSAGE for options of another size than the library's. PLIM_ENOFIT (outputs untouched): nothing under the
 * capacity; the sentence says whether that is proven. Deterministic for a number of threads when it ends before the
 * time limit. Reports progress with the packed size as `done` and the bound as `total`. */
PLIM_MUST_USE plim_status plim_pack_solve(plim_context *ctx, const plim_boxes *boxes, const plim_pack_options *options,
                                          int64_t *offset, plim_pack_solution *solution);

#ifdef __cplusplus
}
#endif
#endif
