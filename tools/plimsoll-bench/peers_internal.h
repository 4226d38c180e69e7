/* What the published planners share among themselves, and what tests look at. */
#ifndef PLIM_TOOLS_PLIMSOLL_BENCH_PEERS_INTERNAL_H
#define PLIM_TOOLS_PLIMSOLL_BENCH_PEERS_INTERNAL_H

#include <stdint.h>

#include "planner/core/incumbent.h"
#include "planner/core/problem.h"

/* ==== groups ==== */

/* Which ops are fused into their readers. */

enum { PLIM_GROUP_MAX = 16 /* ops of a group */ };

/* The group of op v: member[v], n_members[v] of them, in program order, v last. A fused op has none of its own but is
 * in those of all its readers. */
typedef struct plim_groups {
  plim_context *ctx;
  int32_t n_ops;
  int32_t (*member)[PLIM_GROUP_MAX]; /* [n_ops] */
  int32_t *n_members;                /* [n_ops] 0: fused */
} plim_groups;

/* ==== coarse ==== */

/* A coarse problem: groups of ops as one op each, so that a search takes fewer and larger steps. It is a problem like
 * any other, made from a graph and a profile of its own; a schedule of it expands to one of the fine problem. */

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

/* ==== revolve ==== */

/* Revolve's numbers: reversing a chain of steps of equal cost. */

/* Fewest forward steps that reverse a chain of `length` >= 1 steps with `slots` >= 1 states held at once, the first
 * state included. */
int64_t plim_revolve_steps(int32_t length, int32_t slots);

/* How far from the first state the next one is kept, in a way that takes the fewest steps; the lowest such number. */
int32_t plim_revolve_split(int32_t length, int32_t slots);

/* ==== the planners ==== */

plim_status plim_fastsa_run(plim_incumbent *incumbent);
plim_status plim_revolve_run(plim_incumbent *incumbent);

#endif
