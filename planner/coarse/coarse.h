/* A coarse problem: groups of ops as one op each, so that a search takes fewer and larger steps. It is a problem like
 * any other, made from a graph and a profile of its own; a schedule of it expands to one of the fine problem. */
#ifndef PLIM_PLANNER_COARSE_COARSE_H
#define PLIM_PLANNER_COARSE_COARSE_H

#include "planner/coarse/groups.h"
#include "planner/schedule.h"

typedef struct plim_coarse {
  const plim_problem *fine;
  plim_groups groups;
  int32_t *op_of; /* [n_ops of the coarse problem] the op that ends the group */
  plim_graph *graph;
  plim_profile *profile;
  plim_problem *problem; /* of the fine one's class; one choice an op, the fastest of each member */
} plim_coarse;

/* The fine problem must outlive it. O(graph). */
PLIM_MUST_USE plim_status plim_coarse_make(const plim_problem *fine, int32_t most_readers, plim_coarse **out);
void plim_coarse_free(plim_coarse *coarse); /* NULL is legal */

/* The schedule of the fine problem: for each run the members of its group, in order, each with its fastest choice. A
 * valid schedule gives a valid one that takes as long and whose peak is no higher. */
PLIM_MUST_USE plim_status plim_coarse_expand(const plim_coarse *coarse, const plim_schedule *schedule,
                                             plim_schedule *out);

#endif
