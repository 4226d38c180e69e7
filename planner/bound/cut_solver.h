/* What solves a cut model: flows that find violated rows, multipliers that bound it, branch and cut, and the way from a
 * solution to a schedule. The inside of branch and cut is in cut_solver_internal.h. */
#ifndef PLIM_PLANNER_BOUND_CUT_SOLVER_H
#define PLIM_PLANNER_BOUND_CUT_SOLVER_H

#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"

/* ==== solving (cut_solve.c, cut_solver.c) ==== */

/* The least time that the cut model allows within a budget: branch and cut. */

typedef struct plim_cut_limits {
  int64_t work; /* entries of rows, tableaus and lists that it reads, whatever the machine: about 10^9 a second */
  int64_t deadline_ns;   /* by plim_now_ns; PLIM_TIME_UNLIMITED: none, and the answer depends on its arguments alone */
  int64_t enough_ns;     /* no one asks whether plans take longer than this: time of a plan, or PLIM_TIME_INFINITE */
  int32_t is_bound_only; /* 1: no one asks for the solution */
} plim_cut_limits;

typedef struct plim_cut_answer {
  int64_t bound_ns;  /* proven: no plan within the budget is faster; PLIM_TIME_INFINITE: proven that there is none */
  int64_t cost_ns;   /* time of the best solution of the model, PLIM_TIME_INFINITE: none found. Not a plan's time */
  uint8_t *solution; /* [n_columns] that solution */
  int64_t n_nodes, n_rows;
} plim_cut_answer;

typedef struct plim_cut_solver plim_cut_solver;

PLIM_MUST_USE plim_status plim_cut_solver_new(const plim_cut_model *model, plim_cut_solver **out);
void plim_cut_solver_free(plim_cut_solver *solver); /* NULL is legal */

/* Work so far, of all parts, as plim_cut_limits counts it. */
int64_t plim_cut_solver_work(const plim_cut_solver *solver);

/* Solve for a budget, from the rows that bound the last one: a row holds for all of them. `answer->solution` belongs to
 * the solver and lasts until the next call. PLIM_ECANCEL when the context was cancelled; the answer is right even then.
 */
PLIM_MUST_USE plim_status plim_cut_solve(plim_cut_solver *solver, int64_t budget_bytes, const plim_cut_limits *limits,
                                         plim_cut_answer *answer);

/* ==== flows (flow.c, flow_network.c) ==== */

/* The fewest bytes alive at a cut, for a point x of the columns (how much of each op is recomputed), and the row that
 * the point violates when they do not fit.
 *
 * Each needed item is kept, or its producer is recomputed, up to the share x; then its inputs are needed to that share
 * as well. The fewest bytes are a linear program, whose dual is a flow: each needed item sends up to its bytes towards
 * producers, through items of limited bytes. What leaves at op a counts 1 - x[a]. The flow leaves best where x is
 * least, so sinks are opened in that order, and the flow only grows. What leaves at op a is a's weight in the row:
 * recomputing a saves that much at most. */

typedef struct plim_cut_flow plim_cut_flow;

PLIM_MUST_USE plim_status plim_cut_flow_new(const plim_cut_model *model, plim_cut_flow **out);
void plim_cut_flow_free(plim_cut_flow *flow); /* NULL is legal */

/* Bytes by which the cut exceeds the budget at x [n_columns]; <= 0: it fits. Mostly a few passes over the operands.
 *   price  [n_columns]  in  of the ops with equal x the flow leaves at the costliest first. Then costly columns have
 *                           weights in the row, and such a row proves more. NULL: it leaves at the nearest, which is
 *                           faster */
double plim_cut_flow_run(plim_cut_flow *flow, const plim_cut *cut, const double *x, const double *price,
                         int64_t budget_bytes);

/* The row of the last run, which did not fit. Its arrays belong to the flow and last until the next run. demand > 0 and
 * n == 0: the cut cannot fit whatever is recomputed. */
void plim_cut_flow_row(plim_cut_flow *flow, plim_cut_row *row);

/* Of the last run, which was at a solution:
 *   recomputed  [n_ops]  out  1: the op is recomputed after the cut; as few ops as the fewest bytes allow */
void plim_cut_flow_recomputed(plim_cut_flow *flow, uint8_t *recomputed);

/* Work since the flow was made: a measure that does not depend on the machine. */
int64_t plim_cut_flow_work(const plim_cut_flow *flow);

/* ==== multipliers (ascent.c) ==== */

/* A lower bound for programs that are too large to be solved: multipliers of rows raised without a dictionary. */

typedef struct plim_cut_ascent plim_cut_ascent;

/* For the first `n_cuts` cuts of the model at a budget.
 *   cost   [n_columns]  in  of the columns, >= 0, borrowed
 *   start               in  rows fitted to the budget, with prices; copied. None: from nothing */
PLIM_MUST_USE plim_status plim_cut_ascent_new(const plim_cut_model *model, plim_cut_flow *flow, const double *cost,
                                              int32_t n_cuts, int64_t budget_bytes, const plim_cut_rows *start,
                                              plim_cut_ascent **out);
void plim_cut_ascent_free(plim_cut_ascent *ascent); /* NULL is legal */

/* Continue until `stop` returns 1 or the bound hardly rises. *impossible: at some cut the bytes do not fit, whatever is
 * recomputed. Deterministic where `stop` is. */
PLIM_MUST_USE plim_status plim_cut_ascend(plim_cut_ascent *ascent, int (*stop)(void *user), void *user,
                                          int32_t *impossible);

/* The rows, and the multipliers [rows.n] of the best bound: any multipliers prove something, in integers
 * (plim_cut_certify). */
const plim_cut_rows *plim_cut_ascent_rows(const plim_cut_ascent *ascent);
const double *plim_cut_ascent_multipliers(const plim_cut_ascent *ascent);
/* A point near the optimum of the relaxation, x [n_columns] in [0, 1]; it may violate rows a little. */
const double *plim_cut_ascent_point(const plim_cut_ascent *ascent);
/* What the multipliers prove, but for rounding. */
double plim_cut_ascent_bound(const plim_cut_ascent *ascent);
/* Steps of work beside those of the flow. */
int64_t plim_cut_ascent_work(const plim_cut_ascent *ascent);

/* ==== a schedule from a solution (cut_walk.c) ==== */

/* A schedule from a solution of the cut model. */

/* Walks program order. At each cut, what the solution recomputes after it is evicted; it is recomputed when it is read.
 * Each column of the solution gives at most one run more, so the time is at most the solution's. The peak may exceed
 * the budget, since the model does not see the bytes that recomputing itself takes.
 *   model     in  of program order
 *   solution  [n_columns]  in  1: the column's op is recomputed */
PLIM_MUST_USE plim_status plim_cut_walk(plim_cut_flow *flow, const plim_cut_model *model, const uint8_t *solution,
                                        int64_t budget_bytes, plim_schedule *out);

#endif
