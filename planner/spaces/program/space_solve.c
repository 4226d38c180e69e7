/* Builds an integer program and has it solved within the time that is left. */
#include "planner/spaces/program/space_model.h"

#include <math.h>

static plim_status find_point(plim_context *ctx, plim_solver *solver, const plim_solve_options *effort,
                              plim_space_solved *out) {
  const plim_space_model *model = out->model;
  plim_solve_options scaled = *effort;
  scaled.cutoff *= model->scale;
  out->solution = (plim_solution){.end = PLIM_SOLVE_STOPPED, .objective = INFINITY, .bound = -INFINITY};
  PLIM_TRY(plim_allocate(ctx, model->linear.n_columns, sizeof *out->point, &out->point));
  if (effort->seconds >= 0) PLIM_TRY(plim_solver_solve(solver, &model->linear, &scaled, &out->solution, out->point));
  if (!plim_context_cancelled(ctx) || out->solution.found) return PLIM_OK;
  return plim_fail(ctx, PLIM_ECANCEL, "planning was cancelled");
}

plim_status plim_space_solve(const plim_space_problem *problem, plim_solver *solver,
                             const plim_space_model_options *model, const plim_solve_options *effort,
                             plim_space_solved *out) {
  *out = (plim_space_solved){.model = NULL};
  PLIM_TRY(plim_space_model_make(problem, model, &out->model));
  plim_status status = find_point(problem->ctx, solver, effort, out);
  if (status != PLIM_OK) plim_space_solved_free(out);
  return status;
}

void plim_space_solved_free(plim_space_solved *solved) {
  if (!solved->model) return;
  plim_release(solved->model->problem->ctx, solved->point, solved->model->linear.n_columns, sizeof *solved->point);
  plim_space_model_free(solved->model);
  *solved = (plim_space_solved){.model = NULL};
}
