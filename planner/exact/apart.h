/* Solving in a process of its own, which can be ended at any moment. */
#ifndef PLIM_PLANNER_EXACT_APART_H
#define PLIM_PLANNER_EXACT_APART_H

#include "planner/exact/back_end.h"

/* What plim_solver_solve does, with that back end. At a cancel, when on_progress asks for an end and at the time limit
 * the process has a moment to answer; then it is ended, and what it had found by then is the answer. PLIM_EUNSUPPORTED
 * when the library crashes, PLIM_EIO when there is no process to be had. Bytes: three points, shared with the process.
 */
PLIM_MUST_USE plim_status plim_solve_apart(plim_context *ctx, const plim_back_end *back_end, const plim_model *model,
                                           const plim_solve_options *options, plim_solution *out, double *point);

#endif
