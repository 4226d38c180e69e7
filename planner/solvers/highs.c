/* HiGHS as a back end, through its C interface (version 1, from 1.8 on). The wheel of Python's `highspy` has the
 * library without a header, so that the functions used are declared here. What a callback is told is read by name
 * through Highs_getCallbackDataOutItem: the layout after it changes between versions. Of what a callback may tell, the
 * request to stop is the first field in all of them. Source: Huangfu, Hall, Parallelizing the dual revised simplex
 * method, 2018; the C interface of HiGHS. */
#include <math.h>
#include <stdio.h>

#include "planner/solvers/solvers_internal.h"

typedef int highs_int; /* checked against Highs_getSizeofHighsInt */
typedef void highs_callback(int kind, const char *message, const void *told, void *answer, void *user);

enum { ROWWISE = 2, MINIMISE = 1, WARNING = 1 };
enum {
  OPTIMAL = 7,
  INFEASIBLE = 8,
  BOUND_REACHED = 11,
  TIME_LIMIT = 13,
  ITERATION_LIMIT = 14,
  SOLUTION_LIMIT = 16,
  UNKNOWN = 15,
  INTERRUPTED = 17
};
enum { SIMPLEX_INTERRUPT = 1, IPM_INTERRUPT = 2, BETTER_POINT = 4, MIP_INTERRUPT = 6, POINT_FEASIBLE = 2 };

typedef struct functions {
  const char *(*version)(void);
  void *(*create)(void);
  void (*destroy)(void *highs);
  highs_int (*size_of_int)(const void *highs);
  highs_int (*pass_mip)(void *highs, highs_int columns, highs_int rows, highs_int entries, highs_int format,
                        highs_int sense, double offset, const double *cost, const double *low, const double *high,
                        const double *row_low, const double *row_high, const highs_int *first, const highs_int *column,
                        const double *value, const highs_int *integer);
  highs_int (*set_bool)(void *highs, const char *option, highs_int value);
  highs_int (*set_int)(void *highs, const char *option, highs_int value);
  highs_int (*set_double)(void *highs, const char *option, double value);
  highs_int (*set_solution)(void *highs, const double *column, const double *row, const double *column_dual,
                            const double *row_dual);
  highs_int (*set_callback)(void *highs, highs_callback *callback, void *user);
  highs_int (*start_callback)(void *highs, int kind);
  highs_int (*run)(void *highs);
  highs_int (*model_status)(const void *highs);
  highs_int (*int_info)(const void *highs, const char *name, highs_int *value);
  highs_int (*double_info)(const void *highs, const char *name, double *value);
  highs_int (*solution)(const void *highs, double *column, double *column_dual, double *row, double *row_dual);
  const void *(*told_item)(const void *told, const char *name);
} functions;

static const plim_library_symbol symbols[] = {
    {"Highs_version", offsetof(functions, version)},
    {"Highs_create", offsetof(functions, create)},
    {"Highs_destroy", offsetof(functions, destroy)},
    {"Highs_getSizeofHighsInt", offsetof(functions, size_of_int)},
    {"Highs_passMip", offsetof(functions, pass_mip)},
    {"Highs_setBoolOptionValue", offsetof(functions, set_bool)},
    {"Highs_setIntOptionValue", offsetof(functions, set_int)},
    {"Highs_setDoubleOptionValue", offsetof(functions, set_double)},
    {"Highs_setSolution", offsetof(functions, set_solution)},
    {"Highs_setCallback", offsetof(functions, set_callback)},
    {"Highs_startCallback", offsetof(functions, start_callback)},
    {"Highs_run", offsetof(functions, run)},
    {"Highs_getModelStatus", offsetof(functions, model_status)},
    {"Highs_getIntInfoValue", offsetof(functions, int_info)},
    {"Highs_getDoubleInfoValue", offsetof(functions, double_info)},
    {"Highs_getSolution", offsetof(functions, solution)},
    {"Highs_getCallbackDataOutItem", offsetof(functions, told_item)},
};

static const plim_library_spec library = {
    .name = "HiGHS",
    .environment = "PLIM_HIGHS",
    .file = "libhighs.so.1",
    .is_fetched = 1,
    .remedy = "fetches it, or PLIM_HIGHS=FILE names a libhighs.so.1",
    .major = 1,
    .n_symbols = sizeof symbols / sizeof symbols[0],
    .symbol = symbols,
};

static plim_status open(plim_context *ctx, plim_solver_info *info) {
  functions f;
  return plim_back_end_open(ctx, &library, &f, info);
}

typedef struct callback_state {
  const functions *f;
  const plim_solve_options *options;
  int stop; /* asked for once, asked for ever */
} callback_state;

static double figure_named(const callback_state *state, const void *data, const char *name) {
  const double *value = state->f->told_item(data, name);
  return value ? *value : NAN;
}

static void on_callback(int kind, const char *message, const void *data, void *answer, void *user) {
  callback_state *state = user;
  int *stop = answer; /* first field */
  (void)message;
  const double *point = kind == BETTER_POINT ? state->f->told_item(data, "mip_solution") : NULL;
  if (point && state->options->on_point) {
    state->options->on_point(state->options->user, figure_named(state, data, "objective_function_value"), point);
  }
  int in_tree = kind == MIP_INTERRUPT;
  double objective = in_tree ? figure_named(state, data, "mip_primal_bound") : INFINITY;
  double bound = in_tree ? figure_named(state, data, "mip_dual_bound") : -INFINITY;
  if (plim_solve_should_stop(state->options, objective, bound)) state->stop = 1;
  if (answer) *stop = state->stop;
}

/* Options by name; HiGHS refuses unknown names and values out of range with a status. */
static int set_options(const functions *f, void *highs, const plim_solve_options *options) {
  int worst = f->set_bool(highs, "output_flag", 0);
  worst |= f->set_int(highs, "threads", options->threads > 1 ? options->threads : 1);
  if (options->seconds > 0) worst |= f->set_double(highs, "time_limit", options->seconds);
  if (options->iterations > 0) {
    const char *option = options->relax ? "simplex_iteration_limit" : "mip_max_nodes";
    worst |= f->set_int(highs, option, options->iterations < INT32_MAX ? (highs_int)options->iterations : INT32_MAX);
  }
  if (options->relax) worst |= f->set_bool(highs, "solve_relaxation", 1);
  worst |= f->set_double(highs, "mip_rel_gap", options->gap);
  worst |= f->set_double(highs, "mip_abs_gap", options->absolute_gap);
  if (options->cutoff < INFINITY) worst |= f->set_double(highs, "objective_bound", options->cutoff);
  return worst;
}

static plim_status read_answer(plim_context *ctx, const functions *f, void *highs, const plim_solve_options *options,
                               plim_solution *out, double *point) {
  highs_int end = f->model_status(highs), point_status = 0;
  *out = (plim_solution){.end = PLIM_SOLVE_STOPPED, .objective = INFINITY, .bound = -INFINITY};
  switch (end) {
    case OPTIMAL:
      out->end = PLIM_SOLVE_OPTIMAL;
      break;
    case INFEASIBLE:
    case BOUND_REACHED:
      out->end = PLIM_SOLVE_INFEASIBLE;
      return PLIM_OK;
    case TIME_LIMIT:
    case ITERATION_LIMIT:
    case SOLUTION_LIMIT: /* of nodes, too */
    case INTERRUPTED:
    case UNKNOWN: /* numbers that differ too much */
      break;
    default:
      return plim_fail(ctx, PLIM_EUNSUPPORTED, "HiGHS %s ended with its status %d", f->version(), end);
  }
  (void)f->int_info(highs, "primal_solution_status", &point_status);
  out->found = point_status == POINT_FEASIBLE;
  if (out->found) (void)f->double_info(highs, "objective_function_value", &out->objective);
  if (out->found) (void)f->solution(highs, point, NULL, NULL, NULL);
  if (!options->relax) (void)f->double_info(highs, "mip_dual_bound", &out->bound);
  if (options->relax && out->end == PLIM_SOLVE_OPTIMAL) out->bound = out->objective;
  return PLIM_OK;
}

static plim_status run_highs(plim_context *ctx, const functions *f, void *highs, const plim_model *model,
                             const plim_solve_options *options, plim_solution *out, double *point) {
  callback_state state = {f, options, 0};
  if (f->size_of_int(highs) != (highs_int)sizeof(highs_int)) {
    return plim_fail(ctx, PLIM_EUNSUPPORTED, "HiGHS %s was built with integers of %d bytes, not %d", f->version(),
                     f->size_of_int(highs), (int)sizeof(highs_int));
  }
  if (set_options(f, highs, options) != 0 ||
      f->pass_mip(highs, model->n_columns, model->n_rows, model->n_entries, ROWWISE, MINIMISE, 0, model->cost,
                  model->low, model->high, model->row_low, model->row_high, model->row_first, model->column,
                  model->value, model->integer) < 0) {
    return plim_fail(ctx, PLIM_EUNSUPPORTED, "HiGHS %s refused a model of %d columns and %d rows, or its options",
                     f->version(), model->n_columns, model->n_rows);
  }
  if (options->start) (void)f->set_solution(highs, options->start, NULL, NULL, NULL);
  (void)f->set_callback(highs, on_callback, &state);
  (void)f->start_callback(highs, SIMPLEX_INTERRUPT);
  (void)f->start_callback(highs, IPM_INTERRUPT);
  (void)f->start_callback(highs, MIP_INTERRUPT);
  (void)f->start_callback(highs, BETTER_POINT);
  if (f->run(highs) < 0) {
    return plim_fail(ctx, PLIM_EUNSUPPORTED, "HiGHS %s failed with its status %d on a model of %d columns and %d rows",
                     f->version(), f->model_status(highs), model->n_columns, model->n_rows);
  }
  return read_answer(ctx, f, highs, options, out, point);
}

static plim_status solve(plim_context *ctx, const plim_model *model, const plim_solve_options *options,
                         plim_solution *out, double *point) {
  functions f;
  plim_solver_info info;
  PLIM_TRY(plim_back_end_open(ctx, &library, &f, &info));
  void *highs = f.create();
  if (!highs) return plim_fail(ctx, PLIM_ENOMEM, "HiGHS %s could not be started", f.version());
  plim_status status = run_highs(ctx, &f, highs, model, options, out, point);
  f.destroy(highs);
  return status;
}

const plim_back_end plim_highs = {.name = "highs", .open = open, .solve = solve};
