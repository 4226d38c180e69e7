/* A step as a chain of stages: the forward part cut into pieces, and after it the rest of the step (the tail), each
 * part of which goes back to one stage.
 *
 * State k is what stages before k hand on to stages k and later of the forward part. The tail's part of stage i is its
 * ops, in program order, that can run once state i is there and stage i has run. */
#ifndef PLIM_PLANNER_CHAIN_CHAIN_STAGES_H
#define PLIM_PLANNER_CHAIN_CHAIN_STAGES_H

#include "planner/chain/checkpoints.h"

typedef struct plim_stages {
  const plim_problem *problem;
  plim_forward forward;
  int32_t n;
  int32_t *first;      /* [n + 1] stage i is forward.op[first[i] .. first[i + 1]) */
  int32_t *tail;       /* [n + 1] its part of the tail: ops tail[i + 1] .. tail[i], effects of the forward part left
                          out; tail[n] is the first op after the forward part, tail[0] is n_ops */
  int32_t *made;       /* [n_items] the stage that makes it, -1: none */
  int32_t *read;       /* [n_items] the last stage whose forward ops read it, or `made` */
  plim_ids *state;     /* [n + 1] items of state k */
  int32_t *state_item; /* the lists */
  int64_t n_state_items;
} plim_stages;

/* Stages that end at each candidate; where there would be more than `max_stages`, neighbours are joined so that all
 * make about as many bytes. */
PLIM_MUST_USE plim_status plim_stages_new(const plim_problem *problem, plim_checkpoint_kind kind, int32_t max_stages,
                                          plim_stages **out);
/* Is the item, made in stage i or later and in no state, read by the tail after its part of stage i? */
int plim_stages_is_handed_on(const plim_stages *stages, int32_t item, int32_t i);
void plim_stages_free(plim_stages *stages); /* NULL is legal */

#endif
