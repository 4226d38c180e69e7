/* The fewest bytes alive at a cut, for a point x of the columns (how much of each op is recomputed), and the row that
 * the point violates when they do not fit.
 *
 * Each needed item is kept, or its producer is recomputed, up to the share x; then its inputs are needed to that share
 * as well. The fewest bytes are a linear program, whose dual is a flow: each needed item sends up to its bytes towards
 * producers, through items of limited bytes. What leaves at op a counts 1 - x[a]. The flow leaves best where x is
 * least, so sinks are opened in that order, and the flow only grows. What leaves at op a is a's weight in the row:
 * recomputing a saves that much at most. */
#ifndef PLIM_PLANNER_BOUND_FLOW_H
#define PLIM_PLANNER_BOUND_FLOW_H

#include "planner/bound/cut_model.h"
#include "planner/bound/rows.h"

typedef struct plim_cut_flow plim_cut_flow;

PLIM_MUST_USE plim_status plim_cut_flow_new(const plim_cut_model *model, plim_cut_flow **out);
void plim_cut_flow_free(plim_cut_flow *flow); /* NULL is legal */

/* Bytes by which the cut exceeds the budget at x [n_columns]; <= 0: it fits. Mostly a few passes over the operands.
 *   price  [n_columns]  in  of points with equal x the costlier are left by first: rows that the costly columns must
 *                           satisfy prove more. NULL: whatever is nearest, which is faster */
double plim_cut_flow_run(plim_cut_flow *flow, const plim_cut *cut, const double *x, const double *price,
                         int64_t budget_bytes);

/* The row of the last run, which did not fit. Its arrays belong to the flow and last until the next run. demand > 0 and
 * n == 0: the cut cannot fit whatever is recomputed. */
void plim_cut_flow_row(plim_cut_flow *flow, plim_cut_row *row);

/* Of the last run, which was at a solution:
 *   recomputed  [n_ops]  out  1: the op is recomputed after the cut; as few ops as the fewest bytes allow */
void plim_cut_flow_recomputed(plim_cut_flow *flow, uint8_t *recomputed);

/* Steps of work since the flow was made: a measure of effort that does not depend on the machine. */
int64_t plim_cut_flow_work(const plim_cut_flow *flow);

#endif
