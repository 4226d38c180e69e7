/* CBC as a back end, through the C interface of version 2 (Debian's coinor-libcbc3, coinor-libcbc3.1). It takes
 * columns, not rows. Its time limit counts processor time unless told otherwise, and points to begin with make it
 * print: it gets a cutoff instead. Source: Forrest, Lougee-Heimel, CBC User Guide, 2005; Cbc_C_Interface.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planner/solvers/solvers_internal.h"
#include "runtime/base/groups.h"

typedef struct functions {
  const char *(*version)(void);
  void *(*create)(void);
  void (*destroy)(void *cbc);
  void (*load)(void *cbc, int columns, int rows, const int *first, const int *row, const double *value,
               const double *low, const double *high, const double *cost, const double *row_low,
               const double *row_high);
  void (*set_integer)(void *cbc, int column);
  void (*set_parameter)(void *cbc, const char *name, const char *value);
  void (*set_log_level)(void *cbc, int level);
  int (*solve)(void *cbc);
  int (*is_optimal)(void *cbc);
  int (*is_infeasible)(void *cbc);
  const double *(*point)(void *cbc);
  double (*objective)(void *cbc);
  double (*bound)(void *cbc);
} functions;

static const plim_library_symbol symbols[] = {
    {"Cbc_getVersion", offsetof(functions, version)},
    {"Cbc_newModel", offsetof(functions, create)},
    {"Cbc_deleteModel", offsetof(functions, destroy)},
    {"Cbc_loadProblem", offsetof(functions, load)},
    {"Cbc_setInteger", offsetof(functions, set_integer)},
    {"Cbc_setParameter", offsetof(functions, set_parameter)},
    {"Cbc_setLogLevel", offsetof(functions, set_log_level)},
    {"Cbc_solve", offsetof(functions, solve)},
    {"Cbc_isProvenOptimal", offsetof(functions, is_optimal)},
    {"Cbc_isProvenInfeasible", offsetof(functions, is_infeasible)},
    {"Cbc_getColSolution", offsetof(functions, point)},
    {"Cbc_getObjValue", offsetof(functions, objective)},
    {"Cbc_getBestPossibleObjValue", offsetof(functions, bound)},
};

static const plim_library_spec library = {
    .name = "CBC",
    .environment = "PLIM_CBC",
    .file = "libCbcSolver.so.3",
    .other_file = "libCbcSolver.so.3.1", /* Debian 13 */
    .remedy =
        "Debian's package is coinor-libcbc3 (coinor-libcbc3.1 from Debian 13 on), or PLIM_CBC=FILE names a "
        "libCbcSolver.so.3",
    .major = 2,
    .n_symbols = sizeof symbols / sizeof symbols[0],
    .symbol = symbols,
};

static plim_status open(plim_context *ctx, plim_solver_info *info) {
  functions f;
  return plim_back_end_open(ctx, &library, &f, info);
}

/* The entries by columns. */
typedef struct columns {
  int *first; /* [n_columns + 1] */
  int *row;   /* [n_entries] */
  double *value;
} columns;

static void fill_columns(const plim_model *model, columns *c) {
  for (int32_t e = 0; e < model->n_entries; e++) c->first[model->column[e]]++;
  plim_groups_sum(c->first, model->n_columns);
  for (int32_t r = model->n_rows - 1; r >= 0; r--) {
    for (int32_t e = model->row_first[r + 1] - 1; e >= model->row_first[r]; e--) {
      int at = --c->first[model->column[e]];
      c->row[at] = r;
      c->value[at] = model->value[e];
    }
  }
}

static void set_number(const functions *f, void *cbc, const char *name, double value) {
  char text[32];
  (void)snprintf(text, sizeof text, "%.17g", value);
  f->set_parameter(cbc, name, text);
}

static void set_options(const functions *f, void *cbc, const plim_solve_options *options) {
  f->set_log_level(cbc, 0);
  f->set_parameter(cbc, "timeMode", "elapsed");
  set_number(f, cbc, "ratioGap", options->gap);
  set_number(f, cbc, "allowableGap", options->absolute_gap);
  if (options->seconds > 0) set_number(f, cbc, "seconds", options->seconds);
  if (options->iterations > 0 && !options->relax) {
    set_number(f, cbc, "maxNodes", options->iterations < INT32_MAX ? (double)options->iterations : INT32_MAX);
  }
  if (options->threads > 1) set_number(f, cbc, "threads", options->threads);
  if (options->cutoff < INFINITY) set_number(f, cbc, "cutoff", options->cutoff);
}

static void read_answer(const functions *f, void *cbc, const plim_model *model, const plim_solve_options *options,
                        plim_solution *out, double *point) {
  *out = (plim_solution){.end = PLIM_SOLVE_STOPPED, .objective = INFINITY, .bound = -INFINITY};
  if (f->is_infeasible(cbc)) {
    out->end = PLIM_SOLVE_INFEASIBLE;
    return;
  }
  if (f->is_optimal(cbc)) out->end = PLIM_SOLVE_OPTIMAL;
  const double *best = f->point(cbc);
  double objective = f->objective(cbc);
  out->found = best != NULL && objective < 1e49 && (out->end == PLIM_SOLVE_OPTIMAL || !options->relax);
  if (out->found) {
    out->objective = objective;
    memcpy(point, best, (size_t)model->n_columns * sizeof *point);
  }
  double bound = options->relax ? objective : f->bound(cbc);
  if (fabs(bound) < 1e49 && (out->end == PLIM_SOLVE_OPTIMAL || !options->relax)) out->bound = bound;
}

static plim_status solve(plim_context *ctx, const plim_model *model, const plim_solve_options *options,
                         plim_solution *out, double *point) {
  functions f;
  columns c = {0};
  plim_solver_info info;
  void *cbc = NULL;
  plim_status status;
  PLIM_TRY(plim_back_end_open(ctx, &library, &f, &info));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)model->n_columns + 1, sizeof *c.first, &c.first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, model->n_entries, sizeof *c.row, &c.row));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, model->n_entries, sizeof *c.value, &c.value));
  fill_columns(model, &c);
  cbc = f.create();
  if (!cbc) PLIM_TRY_OR_DONE(plim_fail(ctx, PLIM_ENOMEM, "CBC %s could not be started", f.version()));
  f.load(cbc, model->n_columns, model->n_rows, c.first, c.row, c.value, model->low, model->high, model->cost,
         model->row_low, model->row_high);
  for (int32_t j = 0; j < model->n_columns && !options->relax; j++) {
    if (model->integer[j]) f.set_integer(cbc, j);
  }
  set_options(&f, cbc, options);
  (void)f.solve(cbc);
  read_answer(&f, cbc, model, options, out, point);
done:
  if (cbc) f.destroy(cbc);
  plim_release(ctx, c.first, (int64_t)model->n_columns + 1, sizeof *c.first);
  plim_release(ctx, c.row, model->n_entries, sizeof *c.row);
  plim_release(ctx, c.value, model->n_entries, sizeof *c.value);
  return status;
}

const plim_back_end plim_cbc = {.name = "cbc", .open = open, .solve = solve};
