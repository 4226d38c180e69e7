/* Graphs of single-output ops from lists of sizes, times and edges, as papers on recomputation know them. */
#ifndef PLIM_TESTS_SUPPORT_DAG_CASES_H
#define PLIM_TESTS_SUPPORT_DAG_CASES_H

#include "runtime/graph/graph.h"

typedef struct dag_edge {
  int32_t from, to; /* from < to */
} dag_edge;

/* Op v writes size[v] bytes in time[v] ns and reads what its edges come from. In program order 0 .. n-1. Fails the
 * running test when it cannot be made. */
plim_graph *dag_make(plim_context *ctx, int32_t n, const int64_t *size, const int64_t *time, int32_t n_edges,
                     const dag_edge *edge);

/* Unit chain L(N): forward ops 0 .. N-1, loss N, backward of f_i at 2N - i, which reads f_i and the gradient before it.
 * with_input 1: L'(N), backward also reads its layer's input. */
plim_graph *dag_chain(plim_context *ctx, int32_t layers, int32_t with_input);

/* Time of the plan that a planner makes within a budget, without addresses; -1: it finds none. */
int64_t dag_plan_time(const plim_graph *graph, const char *planner, int64_t budget);

#endif
