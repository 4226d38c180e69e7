/* The table of solvers: opens the one of a name, or the first that is there. A solve runs in a process of its own
 * (solver_subprocess.c). */
#include "planner/solvers/solvers_internal.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/name.h"

const plim_back_end *const plim_back_ends[] = {&plim_highs, &plim_cbc, NULL};
enum { BACK_ENDS = sizeof plim_back_ends / sizeof plim_back_ends[0] - 1 };

struct plim_solver {
  plim_context *ctx;
  const plim_back_end *back_end;
  plim_solver_info info;
};

plim_status plim_back_end_open(plim_context *ctx, const plim_library_spec *library, void *functions,
                               plim_solver_info *info) {
  const char *(*version)(void) = NULL;
  PLIM_TRY(plim_library_open(ctx, library, functions, info->path));
  memcpy(&version, functions, sizeof version);
  PLIM_TRY(plim_library_known(ctx, library, info->path, version()));
  (void)snprintf(info->version, sizeof info->version, "%s", version());
  return PLIM_OK;
}

const char *plim_solver_name(int32_t row) {
  return row >= 0 && row < BACK_ENDS ? plim_back_ends[row]->name : NULL;
}

/* The first that opens; when none does, what each of them said: one may be there and broken. */
static plim_status open_first(plim_context *ctx, plim_solver *solver) {
  char why[PLIM_ERROR_BYTES];
  size_t used = 0;
  for (int32_t row = 0; row < BACK_ENDS; row++) {
    solver->back_end = plim_back_ends[row];
    if (solver->back_end->open(ctx, &solver->info) == PLIM_OK) return PLIM_OK;
    int written = snprintf(why + used, sizeof why - used, "; %s", plim_context_error(ctx));
    if (written > 0 && used + (size_t)written < sizeof why) used += (size_t)written;
  }
  return plim_fail(ctx, PLIM_EUNSUPPORTED, "no solver of linear models can be opened%s", why);
}

plim_status plim_solver_open(plim_context *ctx, const char *name, plim_solver **out) {
  plim_solver *solver = NULL;
  char advice[PLIM_NAME_ADVICE_BYTES];
  int32_t row = name ? plim_name_find(plim_solver_name, name) : 0;
  if (row < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "no solver is called \"%s\"%s", name,
                     plim_name_advice(plim_solver_name, name, advice));
  }
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *solver, &solver));
  *solver = (plim_solver){.ctx = ctx, .back_end = plim_back_ends[row]};
  char program[PLIM_LIBRARY_PATH_BYTES];
  plim_status status = name ? solver->back_end->open(ctx, &solver->info) : open_first(ctx, solver);
  if (status == PLIM_OK) status = plim_solver_program(ctx, program); /* told now rather than when it is to solve */
  if (status != PLIM_OK) {
    plim_solver_close(solver);
    return status;
  }
  solver->info.name = solver->back_end->name;
  *out = solver;
  return PLIM_OK;
}

void plim_solver_close(plim_solver *solver) {
  if (solver) plim_release(solver->ctx, solver, 1, sizeof *solver);
}

const plim_solver_info *plim_solver_about(const plim_solver *solver) {
  return &solver->info;
}

int plim_solve_should_stop(const plim_solve_options *options, double objective, double bound) {
  return options->on_progress && options->on_progress(options->user, objective, bound);
}

plim_status plim_solver_solve(plim_solver *solver, const plim_model *model, const plim_solve_options *options,
                              plim_solution *out, double *point) {
  PLIM_TRY(model->status);
  return plim_solve_in_subprocess(solver->ctx, solver->back_end->name, model, options, out, point);
}
