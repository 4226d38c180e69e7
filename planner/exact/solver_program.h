/* Where the program plimsoll-solver is, and the script that fetches solvers. */
#ifndef PLIM_PLANNER_EXACT_SOLVER_PROGRAM_H
#define PLIM_PLANNER_EXACT_SOLVER_PROGRAM_H

#include "planner/exact/library.h"

/* $PLIM_SOLVER when it is set; no other is then looked at. Else beside the library or program that this code is in, in
 * bin/ there, or in ../libexec/plimsoll; else where `cmake --install` puts it.
 *   path [PLIM_LIBRARY_PATH_BYTES]  out
 * PLIM_EUNSUPPORTED, with the remedy, when it is in none of them. */
PLIM_MUST_USE plim_status plim_solver_program(plim_context *ctx, char *path);

/* The script get_solvers, from the same places or from the tree that this build lies in; when it is in none of them,
 * its name in the source.
 *   path [PLIM_LIBRARY_PATH_BYTES]  out */
void plim_solver_script(char *path);

#endif
