/* The forward part of a step: what checkpoints are chosen from. */
#ifndef PLIM_PLANNER_FORWARD_H
#define PLIM_PLANNER_FORWARD_H

#include "planner/problem.h"

/* Ops marked as forward, effects left out. Where no op is marked otherwise (a plain graph): the ops up to the moment
 * of program order at which the most bytes are handed on. */
typedef struct plim_forward {
  const plim_problem *problem;
  int32_t n;
  int32_t *op;          /* [n] in program order */
  uint8_t *is_forward;  /* [n_ops] */
  uint8_t *is_cut;      /* [n_ops] nothing made before it is read after it in the forward part: the articulation points
                           that separate what comes before from what comes after */
  int32_t *last_reader; /* [n_items] last reader in the forward part, -1 */
} plim_forward;

/* O(graph). */
PLIM_MUST_USE plim_status plim_forward_make(const plim_problem *problem, plim_forward *out);
void plim_forward_free(plim_forward *forward);

#endif
