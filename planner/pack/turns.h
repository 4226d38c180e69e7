/* Searches side by side: a batch of tasks, one a thread. Planner-internal. */
#ifndef PLIM_PLANNER_PACK_TURNS_H
#define PLIM_PLANNER_PACK_TURNS_H

#include "planner/pack/exact.h"

typedef struct plim_turns plim_turns;

typedef struct plim_pack_turn {
  int64_t capacity; /* in units */
  int32_t turn;     /* of plim_exact_run */
  plim_exact_limits limits;
  plim_pack_outcome outcome;
  int64_t *offset; /* [n] in units, owned by the turns, valid until the next batch */
  int64_t nodes;   /* used */
} plim_pack_turn;

PLIM_MUST_USE plim_status plim_turns_new(const plim_units *units, int32_t threads, plim_turns **out);
void plim_turns_free(plim_turns *turns); /* NULL is legal */

/* Run up to `threads` tasks at once; task i always on the same of the searchers, so that results depend on the tasks
 * and on the batches before alone. PLIM_ENOMEM when one of them ended for want of memory. */
PLIM_MUST_USE plim_status plim_turns_run(plim_turns *turns, plim_pack_turn *task, int32_t n);

#endif
