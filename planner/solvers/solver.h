/* Linear and integer programs, and the solvers that are found at run time. Nothing here knows recomputation. */
#ifndef PLIM_PLANNER_SOLVERS_SOLVER_H
#define PLIM_PLANNER_SOLVERS_SOLVER_H

#include "runtime/base/context.h"

/* ==== library (solver_library.c) ==== */

/* Solvers that are opened at run time: nothing of them is needed to build, and without them the rest works. */

enum { PLIM_LIBRARY_PATH_BYTES = 512 };

/* One function of a library and where its address goes: the offset of a function pointer in the caller's struct. */
typedef struct plim_library_symbol {
  const char *name;
  size_t offset;
} plim_library_symbol;

typedef struct plim_library_spec {
  const char *name;        /* "HiGHS" */
  const char *environment; /* variable that names the file; when set, no other is tried */
  const char *file;        /* of the library, on the loader's path */
  const char *other_file;  /* the name of the same in a newer distribution, tried next; NULL: none */
  int fetched;             /* by the script get_solvers, whose path comes before the remedy */
  const char *remedy;      /* how to get it: ends the sentences of failures */
  int major;               /* the version that this program knows */
  int32_t n_symbols;
  const plim_library_symbol *symbol;
} plim_library_spec;

/* Open the library and look its functions up.
 *   functions  out  the struct that the offsets of the spec belong to
 *   path [PLIM_LIBRARY_PATH_BYTES] out  what was opened: a path, or the plain name where the loader found it
 * Stays open to the end of the process. PLIM_EUNSUPPORTED, with the remedy, when it is missing, cannot be opened or
 * lacks a function. */
PLIM_MUST_USE plim_status plim_library_open(plim_context *ctx, const plim_library_spec *spec, void *functions,
                                            char *path);

/* PLIM_EUNSUPPORTED, with the remedy, unless the version opened, "1.8.0", begins with the major version known. */
PLIM_MUST_USE plim_status plim_library_known(plim_context *ctx, const plim_library_spec *spec, const char *path,
                                             const char *version);

/* The directory where get_solvers puts libraries: $XDG_DATA_HOME/plimsoll/lib, or ~/.local/share/plimsoll/lib.
 * "" when neither variable holds an absolute path: relative ones are ignored. */
void plim_library_folder(char *path /* [PLIM_LIBRARY_PATH_BYTES] */);

/* ==== model (linear_model.c) ==== */

/* A linear model with some columns integer: minimise cost x subject to low <= x <= high and row bounds. */

typedef struct plim_model {
  plim_context *ctx;
  int32_t n_columns, n_rows, n_entries;
  double *cost, *low, *high;  /* [n_columns]; +-INFINITY: no bound */
  int32_t *integer;           /* [n_columns] 1: integer */
  double *row_low, *row_high; /* [n_rows] */
  int32_t *row_first;         /* [n_rows + 1] entries of row r are [row_first[r], row_first[r + 1]) */
  int32_t *column;            /* [n_entries] */
  double *value;              /* [n_entries] */
  int64_t room_columns[4], room_rows[3], room_entries[2]; /* of each array */
  plim_status status;                                     /* first failure; later additions do nothing */
} plim_model;

/* An empty model is plim_model m = {.ctx = ctx}; free it whatever happened. */
void plim_model_free(plim_model *model);

/* Add a column; its index. */
int32_t plim_model_column(plim_model *model, double cost, double low, double high, int integer);

/* A row: begin, then its terms (a column at most once; index -1 is left out), then its bounds. */
void plim_model_term(plim_model *model, int32_t column, double value);
void plim_model_row(plim_model *model, double low,
                    double high); /* ends the row that the terms since the last end form */

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
  int64_t effort;      /* nodes of the tree, of a relaxation pivots; 0: no limit. CBC counts no pivots */
  double gap;          /* relative difference of objective and bound at which to stop */
  double absolute_gap; /* the same, absolute: just below the least step where objectives come in steps */
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
