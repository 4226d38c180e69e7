/* What stages cost: the data of Rotor's recurrence for a chain of stages of a real step. */
#ifndef PLIM_PLANNER_CHAIN_STAGE_COSTS_H
#define PLIM_PLANNER_CHAIN_STAGE_COSTS_H

#include "planner/chain/chain_stages.h"
#include "planner/chain/rotor.h"

typedef struct plim_stage_costs {
  const plim_stages *stages;
  plim_rotor_chain chain;
  plim_rotor_stage *stage; /* [n] */
  int64_t *state_bytes;    /* [n][n] */
  int32_t *drop_at;        /* [n_items] option o of the stage that makes it holds it when o < drop_at */
} plim_stage_costs;

/* Options of a stage: option 0 holds all that the tail reads of it, each further one a quarter of the bytes less, what
 * is cheapest to recompute for its bytes first. Each is run on the stage alone, and its bytes are counted. */
PLIM_MUST_USE plim_status plim_stage_costs_new(const plim_stages *stages, plim_stage_costs **out);
void plim_stage_costs_free(plim_stage_costs *costs); /* NULL is legal */

#endif
