/* Problems of the planner for tests: random graphs and chains with their profiles, boiled down. */
#ifndef PLIM_TESTS_SUPPORT_PLANNER_CASE_H
#define PLIM_TESTS_SUPPORT_PLANNER_CASE_H

#include "planner/track/track.h"

typedef struct planner_case {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan_options options;
  plim_problem *problem;
} planner_case;

/* Even seeds: a random graph, odd ones: a training chain; at most `n_ops` ops (-1: drawn), up to three variants an op.
 * Fails the test when something cannot be made. */
planner_case planner_case_random(uint64_t seed, int32_t n_ops);
/* A random graph for every seed, in which a fifth of the ops is of class once. */
planner_case planner_case_once(uint64_t seed, int32_t n_ops);
/* The same for a graph of the caller's, owned by the case from then on. profile NULL: from the graph. */
planner_case planner_case_make(plim_context *ctx, plim_graph *graph, plim_profile *profile,
                               const plim_plan_options *options);
void planner_case_free(planner_case *c);

/* One random change that keeps the schedule valid, or none: a repeat, a removal, a first run moved, another choice. */
void planner_case_change(plim_track *track, uint64_t *random);

/* A random sequence of the case: program order after so many changes, in a track with room for so many runs an op. */
void planner_case_sequence(const planner_case *c, uint64_t seed, int changes, int32_t runs_an_op, plim_schedule *out);

/* What plim_plan_make answers to the case, which must be `expected`: the plan, NULL where there is none. */
plim_plan *planner_case_plan(planner_case *c, plim_status expected);

#endif
