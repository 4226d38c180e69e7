/* The cut model: what every plan within a budget must recompute.
 *
 * Look at the first run of op v. An item is *needed* at v when it was certainly made before, and certainly has a reader
 * after v. Either it is alive while v runs, or its producer is recomputed after v; then the producer's inputs are alive
 * at v, or are recomputed in turn. What is alive at v must fit beside v's working set.
 *
 * A *column* is something that costs time. First come those of ops: the op is recomputed in a segment. Then one for
 * each slower choice by which an op may save workspace. A *cut* is an op at which not everything needed fits. A *point*
 * has a value from 0 to 1 for each column, a *choice* or solution has 0 or 1. */
#ifndef PLIM_PLANNER_BOUND_CUT_MODEL_H
#define PLIM_PLANNER_BOUND_CUT_MODEL_H

#include "planner/bound/segments.h"

typedef struct plim_cut {
  int32_t op;
  int64_t base_bytes;               /* persistent storages and the working set with the fastest choice */
  int64_t needed_bytes;             /* of all needed items that the working set does not have */
  int32_t first_column, end_column; /* of its slower choices */
} plim_cut;

typedef struct plim_cut_model {
  const plim_problem *problem;
  plim_cut_order order;
  plim_cut_segments segments; /* the first columns */
  int32_t n_columns;
  int64_t *cost_ns;     /* [n_columns] the least that a run more costs; for a slower choice: than the fastest */
  int64_t *saved_bytes; /* [n_columns] of workspace, by a slower choice instead of the fastest; 0 for ops */
  int32_t n_cuts;
  plim_cut *cut;    /* [n_cuts] by what is needed, the most first: a smaller budget's cuts start with a larger one's */
  int64_t least_ns; /* every op once */
  int32_t room_columns;
  uint64_t *needed; /* [n_items][order.words] bit v: the item is needed at op v */
} plim_cut_model;

/* `fixed` 1: bounds for program order, else for every order. O(operands x n / 64 + what is needed anywhere). */
PLIM_MUST_USE plim_status plim_cut_model_make(const plim_problem *problem, int32_t fixed, plim_cut_model **out);
void plim_cut_model_free(plim_cut_model *model); /* NULL is legal */

/* Is the item alive at the first run of v unless its producer is recomputed? Items that the working set counts are not.
 */
static inline int plim_cut_needed(const plim_cut_model *model, int32_t item, int32_t v) {
  return plim_cut_bit(&model->order, model->needed, item, v);
}

/* May the op run after the first run of v, when it certainly ran before? */
int plim_cut_may_repeat(const plim_cut_model *model, int32_t op, int32_t v);

/* The next slower choice of the op that saves workspace, -1: none has less than `choice`. */
int32_t plim_cut_next_choice(const plim_planned_op *op, int32_t choice);

#endif
