/* Solvers that are opened at run time: nothing of them is needed to build, and without them the rest works. */
#ifndef PLIM_PLANNER_EXACT_LIBRARY_H
#define PLIM_PLANNER_EXACT_LIBRARY_H

#include "runtime/base/context.h"

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
  const char *installed;   /* where it is below plim_library_folder; NULL: `file` */
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

#endif
