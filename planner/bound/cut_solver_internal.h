/* Branch and cut, inside: what its files share. cut_solve.c is the loop, cut_solver.c makes the state and counts work,
 * node.c bounds a node, tree.c keeps the open ones, separate.c finds rows, solution.c makes solutions. flow.c and
 * flow_network.c share the network of a flow. */
#ifndef PLIM_PLANNER_BOUND_CUT_SOLVER_INTERNAL_H
#define PLIM_PLANNER_BOUND_CUT_SOLVER_INTERNAL_H

#include "planner/bound/cut_model.h"
#include "runtime/base/array.h"

/* ==== nodes (tree.c) ==== */

/* The nodes of a branch and bound tree, and which of them are open. */

/* A node fixes one column beside what its ancestors fix. */
typedef struct plim_cut_node {
  int32_t parent; /* -1: root */
  int32_t column;
  uint8_t value;
  int64_t bound;
  double way; /* from the parent's point to the value */
} plim_cut_node;

typedef struct plim_cut_tree {
  plim_context *ctx;
  plim_cut_node *node; /* [n_nodes] */
  int32_t *open;       /* [n_open] heap of nodes by bound */
  int32_t n_nodes, n_open;
  int64_t node_capacity, open_capacity;
} plim_cut_tree;

/* An empty tree is {.ctx = ctx}. Add a node that is not open; *out: its number. */
PLIM_MUST_USE plim_status plim_cut_tree_add(plim_cut_tree *tree, plim_cut_node node, int32_t *out);
PLIM_MUST_USE plim_status plim_cut_tree_open(plim_cut_tree *tree, int32_t node);
/* The open node with the least bound, which is open no longer. There must be one. */
int32_t plim_cut_tree_pop(plim_cut_tree *tree);
void plim_cut_tree_free(plim_cut_tree *tree); /* leaves it empty */

/* The least bound of an open node; PLIM_TIME_INFINITE: none is open. */
static inline int64_t plim_cut_tree_least(const plim_cut_tree *tree) {
  return tree->n_open > 0 ? tree->node[tree->open[0]].bound : PLIM_TIME_INFINITE;
}

/* ==== flows (flow.c, flow_network.c) ==== */

/* A network and the flow of one run in it. flow.c has the idea. */

/* An op at which the flow may leave. */
typedef struct plim_cut_sink {
  double x, price;
  int32_t op;
} plim_cut_sink;

struct plim_cut_flow {
  const plim_cut_model *model;
  const plim_problem *problem;
  /* the network, made once */
  int32_t n_items, n_nodes, input_op; /* input_op: the number that stands for the producer of inputs */
  int32_t *read_first;                /* [n_ops + 1] arc of an op's first read */
  int32_t *reader_first;              /* [n_items + 1] entry of an item's first reader in reader_arc */
  int32_t *reader_arc;                /* its reader's arc to it */
  /* one run: its cut and its ends */
  const plim_cut *cut;
  int64_t budget_bytes;
  int32_t is_idle;      /* 1: all that is needed fits, nothing was sent */
  uint8_t *needed;      /* [n_items] */
  uint8_t *free_item;   /* [n_items] 1: counted in the working set: alive, whoever needs it */
  uint8_t *open;        /* [n_ops + 1] 1: the flow may leave at the op */
  double *share;        /* [n_ops] of it that is recomputed after the cut */
  plim_cut_sink *sinks; /* [n_sinks] ops that are not open yet, by x */
  int32_t n_sinks;
  /* what flows */
  int64_t *producer_flow; /* [n_items] from an item to its producer */
  int64_t *read_flow;     /* [arcs] from an op to an item that it reads */
  int64_t *sink_flow;     /* [n_ops + 1] out of the network at an op */
  int64_t total_flow;     /* needed bytes on their way to sinks */
  double value;           /* of what was sent */
  /* the search for a path */
  uint8_t *seen;                    /* [n_nodes] */
  int32_t *queue, *next, *next_arc; /* [n_nodes] the next node to the sink, and the arc: -1: item and producer */
  /* the row */
  int32_t *row_column;
  int64_t *row_weight, *row_bytes;
  int64_t work;
  plim_block block;
};

/* ==== the state (cut_solver.c) ==== */

/* By how much the bound rose for each unit by which branching moved a column: the sum and number of such values. */
typedef struct plim_cut_gain {
  double sum;
  int32_t n;
} plim_cut_gain;

typedef struct plim_cut_violation {
  double share;
  int32_t cut;
} plim_cut_violation;

struct plim_cut_solver {
  const plim_cut_model *model;
  plim_context *ctx;
  int64_t budget_bytes;
  int32_t n_columns, n_cuts; /* cuts: those that the budget asks, the first of the model's */
  plim_block block;          /* memory of the arrays below */
  /* the parts, each with a count of its own work */
  plim_cut_flow *flow;
  plim_lp *lp;
  plim_cut_ascent *ascent; /* while it is at work */
  int64_t other_work;      /* of certificates and nodes */
  /* the least cost of columns that meet the rows */
  struct {
    int64_t unit_ns;    /* greatest common divisor of the costs */
    int64_t *cost;      /* [n_columns] in units */
    double *real_cost;  /* [n_columns] the same as numbers, for the ascent */
    double scale;       /* units for one of the linear program's */
    plim_cut_rows rows; /* those of the linear program, in its order */
    double *multiplier; /* [rows] */
    uint8_t *keep_row;  /* [rows] scratch */
  } program;
  /* the tree */
  plim_cut_tree tree;
  plim_cut_gain *gains;   /* [n_columns][2] by the value that the column was fixed to */
  int64_t cutoff;         /* nodes with bounds from there on are done */
  int64_t given_up;       /* least bound of nodes that were left without a proof */
  int64_t n_done, n_rows; /* nodes bounded, rows added */
  int32_t impossible;     /* 1: a cut cannot fit whatever is recomputed */
  /* the node under way */
  struct {
    uint8_t *low, *high;            /* [n_columns] bounds of the columns there */
    uint8_t *root_low, *root_high;  /* [n_columns] and at every node */
    double *x, *price;              /* [n_columns] point, reduced costs */
    int64_t *scaled_cost, *reduced; /* [n_columns] of plim_cut_certify */
  } node;
  struct {
    plim_cut_violation *violations; /* [n_cuts] */
    int32_t *fitted;                /* [n_cuts] points in a row that did not violate it */
    int32_t passes;
  } separation;
  struct {
    uint8_t *best, *trial;       /* [n_columns] the cheapest one, and the one being made */
    int64_t best_cost, all_cost; /* of `best`, PLIM_TIME_INFINITE: none; of all columns */
    int32_t *cut_order;          /* [n_cuts] cuts in the order in which solutions are checked: failed lately first */
  } solution;
  /* the phase under way */
  struct {
    plim_cut_limits limits;   /* of the call */
    int64_t end_work, end_ns; /* where it ends */
  } phase;
};

/* Is the phase under way over? */
int plim_cut_solver_over(const plim_cut_solver *solver);

/* Let the phase that begins take so many percent of what is left. */
void plim_cut_solver_phase(plim_cut_solver *solver, int32_t percent);

/* Is the graph long? Then the program may not end, part of the work is kept for rounding, and rounding takes many
 * columns at once. */
static inline int plim_cut_solver_large(const plim_cut_solver *solver) {
  return solver->model->problem->n_ops > PLIM_LONG_OPS;
}

/* ==== node (node.c) ==== */

/* The nodes of branch and cut. */

/* Follow a node of the tree (0: the root) down until it is closed; siblings on the way stay open. */
PLIM_MUST_USE plim_status plim_cut_node_dive(plim_cut_solver *solver, int32_t node);

/* ==== separate (separate.c) ==== */

/* The rows of the program: which come, which go. */

/* Make the program anew with the rows that bind. */
void plim_cut_sift(plim_cut_solver *solver);

/* Adapt the rows of the last budget to this one. Rows that bound nothing are dropped, and so are rows of cuts that this
 * budget does not ask. The program stays empty until plim_cut_solver_begin_rows. */
void plim_cut_solver_keep_rows(plim_cut_solver *solver);

/* Put the rows kept into the empty program. */
void plim_cut_solver_begin_rows(plim_cut_solver *solver);

/* Note what the program's rows are worth at its point. */
void plim_cut_solver_price_rows(plim_cut_solver *solver);

/* Add rows of the cuts that a point violates most.
 *   x          [n_columns]  in
 *   tolerance               in   a cut counts as violated when more than this share of its excess bytes is not freed
 *   all                     in   0: the caller can do without a cut that is missed, so not every cut is looked at
 *   added      [1]          out  number of rows; 0: the point violates none of the cuts that were to be looked at; -1:
 *                                not all of them were, or there was no room for a row */
PLIM_MUST_USE plim_status plim_cut_separate(plim_cut_solver *solver, const double *x, double tolerance, int all,
                                            int32_t *added);

/* ==== solution (solution.c) ==== */

/* Solutions of the model at which every cut fits. */

/* Keep the solution if it is the cheapest. */
void plim_cut_solution_take(plim_cut_solver *solver, const uint8_t *solution);

/* Of a solution at which every cut fits take away what is not needed, the costliest first, down to what costs
 * `min_cost`, as far as the phase under way goes. */
void plim_cut_solution_reduce(plim_cut_solver *solver, uint8_t *solution, int64_t min_cost);

/* Round a point x [n_columns], add columns until every cut fits, take away what is not needed, keep it if it is the
 * cheapest. */
void plim_cut_solution_round(plim_cut_solver *solver, const double *x);

#endif
