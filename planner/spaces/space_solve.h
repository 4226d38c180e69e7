/* One program over spaces: made, solved, and kept with its point. */
#ifndef PLIM_PLANNER_SPACES_SPACE_SOLVE_H
#define PLIM_PLANNER_SPACES_SPACE_SOLVE_H

#include "planner/spaces/space_make.h"
#include "planner/spaces/space_model.h"

typedef struct plim_space_solved {
  plim_space_model *model;
  plim_solution solution; /* stopped, with nothing found, where no time was left */
  double *point;          /* [columns of the model] where one was found */
} plim_space_solved;

/* The effort of `options` for a program, with no cutoff.
 *   seconds  in  0: no limit; below 0: no time is left, and the solver is not called */
plim_solve_options plim_space_effort(const plim_space_options *options, double seconds);

/* Make a program and solve it. effort->cutoff is in units of the plan's objective: ns or joule.
 * PLIM_ECANCEL when a cancel came before a point was found; the failures of plim_space_model_make and of the solver. */
PLIM_MUST_USE plim_status plim_space_solve(const plim_space_problem *problem, plim_solver *solver,
                                           const plim_space_model_options *model, const plim_solve_options *effort,
                                           plim_space_solved *out);
void plim_space_solved_free(plim_space_solved *solved); /* one of zeros is legal */

#endif
