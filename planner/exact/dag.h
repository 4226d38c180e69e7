/* The graph as published models of recomputation know it: nodes with one output, one time and one size.
 *
 * A conservative reduction of a planning problem: what fits here fits there, never the other way round. Nodes are the
 * inputs that are read, then the ops in program order, so that edges go up. A node's outputs come and go together; it
 * runs in one choice; nothing is written over an input. What a training step forbids is kept exactly: `last_stage` ends
 * the repeats of a node where an update begins that it must not see, and effect ops and inputs have none. Where nothing
 * was given away the reduction is exact, and lower bounds of classes stages and copies hold for the problem (its
 * arena, too: no arena is smaller than the peak). */
#ifndef PLIM_PLANNER_EXACT_DAG_H
#define PLIM_PLANNER_EXACT_DAG_H

#include "planner/core/problem.h"

typedef struct plim_dag_node {
  int32_t op;     /* -1: an input, there before the first position */
  int32_t choice; /* of the op: the fastest that fits beside its operands, or the one of least workspace */
  int64_t bytes;  /* of what it writes */
  int64_t workspace_bytes;
  int64_t time_ns;
  int32_t last_stage; /* the node may run until the first run of this one (not after it), itself included */
  int32_t is_output;  /* 1: its last copy is alive to the end */
  plim_ids preds, succs;
} plim_dag_node;

typedef struct plim_dag {
  plim_context *ctx;
  const plim_problem *problem;
  int32_t n, n_inputs, n_edges;
  int32_t is_exact;          /* 1: nothing was given away, see above */
  const plim_dag_node *node; /* [n] */
  int64_t base_bytes;        /* always there */
  int64_t time_ns;           /* every node once */
  int64_t bytes_unit;        /* > 0, divides bytes and workspaces of all nodes */
  int64_t time_unit;         /* > 0, divides all times */
  /* owned */
  plim_dag_node *own_node;
  int32_t *pool, *item_node;
  int64_t pool_capacity;
} plim_dag;

/* Reduce. `budget_bytes` only serves the choices of variants. The problem must outlive the dag. O(graph). */
PLIM_MUST_USE plim_status plim_dag_make(const plim_problem *problem, int64_t budget_bytes, plim_dag **out);
void plim_dag_free(plim_dag *dag); /* NULL is legal */

/* Bytes while node v runs with nothing but its operands resident; and the largest of them over all nodes: no schedule
 * of the dag has a lower peak. *node (may be NULL) receives whose it is. */
int64_t plim_dag_working_set(const plim_dag *dag, int32_t v);
int64_t plim_dag_least_peak(const plim_dag *dag, int32_t *node);

/* The way back: a sequence of nodes, repeats allowed and inputs skipped, as a schedule of the problem. Whether it is
 * valid and fits is seen when it is submitted (plim_incumbent_submit). */
PLIM_MUST_USE plim_status plim_dag_schedule(const plim_dag *dag, int32_t n, const int32_t *sequence,
                                            plim_schedule *out);

#endif
