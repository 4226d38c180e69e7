/* What the files of planner/solvers share: libraries, the solver's process, back ends, the memory of both processes.
 * Callers read solver.h. */
#ifndef PLIM_PLANNER_SOLVERS_SOLVERS_INTERNAL_H
#define PLIM_PLANNER_SOLVERS_SOLVERS_INTERNAL_H

#include <stdatomic.h>

#include "planner/solvers/solver.h"

/* ==== library (solver_library.c) ==== */

/* Solvers that are opened at run time: nothing of them is needed to build, and without them the rest works. */

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
  int32_t is_fetched;      /* by the script get_solvers, whose path comes before the remedy */
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

/* ==== solver subprocess (solver_subprocess.c) ==== */

/* Solving in a subprocess, which can be ended at any moment. */

/* What plim_solver_solve does, with the back end of that name, in the program plimsoll-solver. At a
 * cancel, when on_progress asks for an end and at the time limit the process has a moment to answer; then it is ended,
 * and what it had found by then is the answer. PLIM_EUNSUPPORTED when the program is not there or the library crashes,
 * PLIM_EIO when there is no process to be had. Bytes: the model and three points, shared with the process.
 *
 * A host program may have threads, ignore SIGCHLD, and wait for children that it does not know. When it ends, however
 * it ends, the process ends too. */
PLIM_MUST_USE plim_status plim_solve_in_subprocess(plim_context *ctx, const char *back_end, const plim_model *model,
                                                   const plim_solve_options *options, plim_solution *out,
                                                   double *point);

/* ==== back end (solver.c) ==== */

/* What a back end of the solver interface provides. */

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

/* Ask the caller whether to continue; non-zero: stop. A cancel of the context is seen where the subprocess is read. */
int plim_solve_should_stop(const plim_solve_options *options, double objective, double bound);

/* ==== share (share.c) ==== */

/* What a program and the plimsoll-solver that it starts have in common: a piece of memory and a socket. */

enum { PLIM_SHARE_SOCKET = 0, PLIM_SHARE_MEMORY = 3 };                       /* descriptors of the solver's process */
enum { PLIM_SHARE_ANSWER = 2, PLIM_SHARE_POINTS = 3, PLIM_SHARE_NAME = 16 }; /* points: two better ones, the answer's */

/* The head; the arrays of plim_share_view follow. Both programs must be of one version. */
typedef struct plim_share {
  char version[PLIM_SHARE_NAME];  /* PLIM_VERSION, first in every version */
  char back_end[PLIM_SHARE_NAME]; /* its name */
  int32_t n_columns, n_rows, n_entries;
  int32_t relax, threads, has_start;
  int64_t iterations;
  double seconds, gap, absolute_gap, cutoff;
  atomic_int stop;              /* the caller asks for an end */
  plim_status status;           /* of the answer */
  char error[PLIM_ERROR_BYTES]; /* its sentence */
} plim_share;

typedef struct plim_share_view {
  double *cost, *low, *high;   /* [n_columns] */
  double *row_low, *row_high;  /* [n_rows] */
  double *value;               /* [n_entries] */
  double *start;               /* [n_columns] */
  double *point;               /* [PLIM_SHARE_POINTS][n_columns] */
  int32_t *integer;            /* [n_columns] */
  int32_t *row_first, *column; /* [n_rows + 1], [n_entries] */
  int64_t bytes;               /* of all of it, with the head */
} plim_share_view;

/* Where the arrays of a head with these counts are; `base` may be NULL when the bytes alone are asked for. */
plim_share_view plim_share_look(void *base, int64_t n_columns, int64_t n_rows, int64_t n_entries);

/* What the solver tells; a message is one packet. */
typedef enum plim_share_subject { PLIM_TOLD_FIGURES, PLIM_TOLD_POINT, PLIM_TOLD_END } plim_share_subject;

typedef struct plim_share_message {
  plim_share_subject subject;
  int32_t place; /* of the point */
  plim_solution solution;
} plim_share_message;

/* ==== solver program (solver_program.c) ==== */

/* Where the program plimsoll-solver is, and the script that fetches solvers. */

/* $PLIM_SOLVER when it is set; no other is then looked at. Else beside the library or program that this code is in, in
 * bin/ there, or in ../libexec/plimsoll; else where `cmake --install` puts it.
 *   path [PLIM_LIBRARY_PATH_BYTES]  out
 * PLIM_EUNSUPPORTED, with the remedy, when it is in none of them. */
PLIM_MUST_USE plim_status plim_solver_program(plim_context *ctx, char *path);

/* The script get_solvers, from the same places or from the tree that this build lies in; when it is in none of them,
 * its name in the source.
 *   path [PLIM_LIBRARY_PATH_BYTES]  out */
void plim_solver_script(char *path);

/* ==== tuning constants ==== */

/* Of planner/solvers, in one table. They were set by trial. They change when a solve ends, and no answer. */
static const struct plim_solvers_tuning {
  int32_t look_ms;   /* ms between two looks at the caller while a process solves */
  int64_t moment_ns; /* ns that a process has to answer when it is asked for an end ... */
  int64_t cancel_ns; /* ... and after a cancel, which has to end all within the moment */
} solvers_tuning = {.look_ms = 20, .moment_ns = 300000000, .cancel_ns = 100000000};

#endif
