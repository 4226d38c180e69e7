/* Solving in a subprocess, which can be ended at any moment. */
#ifndef PLIM_PLANNER_EXACT_SOLVER_SUBPROCESS_H
#define PLIM_PLANNER_EXACT_SOLVER_SUBPROCESS_H

#include "planner/exact/solver.h"

/* What plim_solver_solve does, with the back end of that name, in the program plimsoll-solver (solver_program.h). At a
 * cancel, when on_progress asks for an end and at the time limit the process has a moment to answer; then it is ended,
 * and what it had found by then is the answer. PLIM_EUNSUPPORTED when the program is not there or the library crashes,
 * PLIM_EIO when there is no process to be had. Bytes: the model and three points, shared with the process.
 *
 * A host program may have threads, ignore SIGCHLD, and wait for children that it does not know. When it ends, however
 * it ends, the process ends too. */
PLIM_MUST_USE plim_status plim_solve_in_subprocess(plim_context *ctx, const char *back_end, const plim_model *model,
                                                   const plim_solve_options *options, plim_solution *out,
                                                   double *point);

#endif
