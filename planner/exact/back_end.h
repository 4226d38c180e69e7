/* What a back end of the solver interface provides. */
#ifndef PLIM_PLANNER_EXACT_BACK_END_H
#define PLIM_PLANNER_EXACT_BACK_END_H

#include "planner/exact/solver.h"

typedef struct plim_back_end {
  const char *name;
  /* Open the library and check its version. */
  plim_status (*open)(plim_context *ctx, plim_solver_info *info);
  plim_status (*solve)(plim_context *ctx, const plim_model *model, const plim_solve_options *options,
                       plim_solution *out, double *point);
} plim_back_end;

extern const plim_back_end plim_highs, plim_cbc;
extern const plim_back_end *const plim_back_ends[]; /* best first, NULL after the last */

/* Open the library of a back end and check its version. `functions` is the struct that the symbols of the library
 * belong to; its first member is the function that gives the version as text. `name` of the information is left alone.
 */
plim_status plim_back_end_open(plim_context *ctx, const plim_library_spec *library, void *functions,
                               plim_solver_info *info);

/* Ask the caller and the context whether to continue; non-zero: stop. */
int plim_solve_should_stop(plim_context *ctx, const plim_solve_options *options, double objective, double bound);

#endif
