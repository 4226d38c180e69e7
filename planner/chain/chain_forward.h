/* The forward part of a step: what checkpoints are chosen from. */
#ifndef PLIM_PLANNER_CHAIN_CHAIN_FORWARD_H
#define PLIM_PLANNER_CHAIN_CHAIN_FORWARD_H

#include "planner/core/problem.h"

/* The ops marked as forward, without effects. Where all ops are (a plain graph): the ops up to the one of program order
 * after which the most bytes are alive. */
typedef struct plim_forward {
  const plim_problem *problem;
  int32_t n;
  int32_t *op;          /* [n] in program order */
  uint8_t *is_forward;  /* [n_ops] */
  uint8_t *is_cut;      /* [n_ops] 1: an articulation point. Nothing written before it is read after it in the forward
                           part */
  int32_t *last_reader; /* [n_items] last reader in the forward part, -1 */
} plim_forward;

/* O(graph). */
PLIM_MUST_USE plim_status plim_forward_make(const plim_problem *problem, plim_forward *out);
void plim_forward_free(plim_forward *forward);

#endif
