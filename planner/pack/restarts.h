/* Searches side by side: a batch of tasks, one a thread. */
#ifndef PLIM_PLANNER_PACK_RESTARTS_H
#define PLIM_PLANNER_PACK_RESTARTS_H

#include "planner/pack/exact.h"

typedef struct plim_restarts plim_restarts;

typedef struct plim_pack_restart {
  int64_t capacity; /* in units */
  int32_t restart;  /* of plim_exact_run */
  plim_exact_limits limits;
  plim_pack_outcome outcome;
  int64_t *offset; /* [n] in units, owned by the restarts, valid until the next batch */
  int64_t nodes;   /* used */
} plim_pack_restart;

PLIM_MUST_USE plim_status plim_restarts_new(const plim_units *units, int32_t threads, plim_restarts **out);
void plim_restarts_free(plim_restarts *restarts); /* NULL is legal */

/* Run up to `threads` tasks at once; task i always on the same of the searchers, so that results depend on the tasks
 * and on the batches before alone. PLIM_ENOMEM when one of them ended for lack of memory. */
PLIM_MUST_USE plim_status plim_restarts_run(plim_restarts *restarts, plim_pack_restart *task, int32_t n);

#endif
