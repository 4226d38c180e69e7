/* Linear and integer programs, and the solvers that are found at run time. Nothing here knows recomputation. */
#ifndef PLIM_PLANNER_SOLVERS_SOLVER_H
#define PLIM_PLANNER_SOLVERS_SOLVER_H

#include "runtime/base/context.h"

enum { PLIM_LIBRARY_PATH_BYTES = 512 };

/* ==== model (linear_model.c) ==== */

/* A linear model with some columns integer: minimise cost x subject to low <= x <= high and row bounds.
 *
 * Example, minimise 3 x + 2 y with x + y >= 1, both 0 or 1:
 *   plim_model m = {.ctx = ctx};
 *   int32_t x = plim_model_column(&m, 3, 0, 1, 1), y = plim_model_column(&m, 2, 0, 1, 1);
 *   plim_model_term(&m, x, 1), plim_model_term(&m, y, 1), plim_model_row(&m, 1, INFINITY);
 */

typedef struct plim_model {
  plim_context *ctx;
  int32_t n_columns, n_rows, n_entries;
  double *cost, *low, *high;  /* [n_columns]; +-INFINITY: no bound */
  int32_t *integer;           /* [n_columns] 1: integer */
  double *row_low, *row_high; /* [n_rows] */
  int32_t *row_first;         /* [n_rows + 1] entries of row r are [row_first[r], row_first[r + 1]) */
  int32_t *column;            /* [n_entries] */
  double *value;              /* [n_entries] */
  int64_t column_capacity[4], row_capacity[3], entry_capacity[2]; /* of each array */
  plim_status status;                                             /* first failure; later additions do nothing */
} plim_model;

/* An empty model is plim_model m = {.ctx = ctx}; free it whatever happened. */
void plim_model_free(plim_model *model);

/* Add a column; its index. */
int32_t plim_model_column(plim_model *model, double cost, double low, double high, int integer);

/* Add a term to the row that is being made: a column at most once; -1 is left out. */
void plim_model_term(plim_model *model, int32_t column, double value);

/* End the row with its bounds: it has the terms since the last end. */
void plim_model_row(plim_model *model, double low, double high);

/* ==== solver (solver.c) ==== */

/* Linear and mixed integer models solved by a library that is opened at run time: HiGHS, or CBC of a plain Debian.
 *
 * Bounds and points are a solver's: in floating point, within its tolerances. Whoever uses a point rounds what is
 * integer and checks it again. */

typedef enum plim_solve_end {
  PLIM_SOLVE_OPTIMAL,    /* within the gaps asked for */
  PLIM_SOLVE_INFEASIBLE, /* there is no point (below the cutoff) */
  PLIM_SOLVE_STOPPED     /* by the time limit, a cancel or the caller */
} plim_solve_end;

typedef struct plim_solve_options {
  int32_t relax;       /* 1: integer columns may be fractions; the objective is then a bound */
  int32_t threads;     /* 0 and 1: one */
  double seconds;      /* elapsed time; 0: no limit */
  int64_t iterations;  /* nodes of the tree, of a relaxation pivots; 0: no limit. CBC counts no pivots */
  double gap;          /* relative difference of objective and bound at which to stop */
  double absolute_gap; /* the same, absolute: just below the least difference of two objectives, where there is one */
  double cutoff;       /* points that are not below it are of no interest; INFINITY: none */
  const double *start; /* [n_columns] a point to begin with, NULL. CBC does not take it: give a cutoff */
  /* Called now and then; non-zero: stop. Unknown figures are +-INFINITY. */
  int (*on_progress)(void *user, double objective, double bound);
  /* Called for better points as they are found, by solvers that tell them (HiGHS); NULL. */
  void (*on_point)(void *user, double objective, const double *point);
  void *user;
} plim_solve_options;

typedef struct plim_solution {
  plim_solve_end end;
  int32_t found;           /* 1: there is a point */
  double objective, bound; /* bound: no point is lower; -INFINITY when nothing is known */
} plim_solution;

typedef struct plim_solver plim_solver;

/* What is known about a solver without opening it twice. */
typedef struct plim_solver_info {
  const char *name; /* "highs", "cbc" */
  char version[32];
  char path[PLIM_LIBRARY_PATH_BYTES];
} plim_solver_info;

/* Open the solver of that name; NULL: the first of the table that is there. PLIM_EUNSUPPORTED with a sentence that says
 * how to get it, PLIM_EUSAGE for a name that none has. */
PLIM_MUST_USE plim_status plim_solver_open(plim_context *ctx, const char *name, plim_solver **out);
void plim_solver_close(plim_solver *solver); /* NULL is legal */
const plim_solver_info *plim_solver_about(const plim_solver *solver);

/* Names of the solvers, best first; NULL after the last. */
const char *plim_solver_name(int32_t row);

/* Solve, in a process of its own. point [n_columns] receives the best point, when there is one. A cancel of the context
 * and the time limit hold wherever the library is; of what it had found by then CBC tells nothing. PLIM_EUNSUPPORTED
 * when the library fails or crashes, with what it said. */
PLIM_MUST_USE plim_status plim_solver_solve(plim_solver *solver, const plim_model *model,
                                            const plim_solve_options *options, plim_solution *out, double *point);

#endif
