/* Finds the program in which solvers run, and the script that gets them. The folders are those of a build and of an
 * installation; a relative one is never looked at. */
#define _GNU_SOURCE /* dladdr */
#include "planner/solvers/solvers_internal.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PLIM_LIBEXEC
#define PLIM_LIBEXEC ""
#endif

enum { PATH_BYTES = PLIM_LIBRARY_PATH_BYTES };
static const char solver[] = "plimsoll-solver";

/* Of a program linked with the static library this is the program's own name, which may be relative. */
static void path_of_library(char *path) {
  Dl_info info;
  path[0] = 0;
  if (dladdr(solver, &info) && info.dli_fname && info.dli_fname[0] == '/') {
    (void)snprintf(path, PATH_BYTES, "%s", info.dli_fname);
  }
}

static void path_of_process(char *path) {
  ssize_t length = readlink("/proc/self/exe", path, PATH_BYTES - 1);
  path[length > 0 ? length : 0] = 0;
}

static int is_program(const char *path) {
  return path[0] == '/' && access(path, X_OK) == 0;
}

/* In the folder of `file`, or in those that belong to it. */
static int find_in_folder_of(const char *file, const char *name, char *path) {
  static const char *const below[] = {"", "bin/", "../libexec/plimsoll/", "../../libexec/plimsoll/"};
  const char *slash = strrchr(file, '/');
  for (size_t i = 0; slash && i < sizeof below / sizeof *below; i++) {
    int n = snprintf(path, PATH_BYTES, "%.*s/%s%s", (int)(slash - file), file, below[i], name);
    if (n < PATH_BYTES && is_program(path)) return 1;
  }
  return 0;
}

static int find_program(const char *name, char *path) {
  char file[PATH_BYTES];
  path_of_library(file);
  if (find_in_folder_of(file, name, path)) return 1;
  path_of_process(file);
  if (find_in_folder_of(file, name, path)) return 1;
  (void)snprintf(path, PATH_BYTES, "%s/%s", PLIM_LIBEXEC, name);
  return is_program(path);
}

/* In a build it is in the tree, of which the folder of the build is a part. */
void plim_solver_script(char *path) {
  static const char *const names[] = {"get_solvers", "../tools/get_solvers", "../../tools/get_solvers"};
  char found[PATH_BYTES], resolved[PATH_MAX];
  (void)snprintf(path, PATH_BYTES, "tools/get_solvers");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!find_program(names[i], found) || !realpath(found, resolved) || strlen(resolved) >= PATH_BYTES) continue;
    memcpy(path, resolved, strlen(resolved) + 1);
    return;
  }
}

plim_status plim_solver_program(plim_context *ctx, char *path) {
  const char *named = getenv("PLIM_SOLVER");
  char file[PATH_BYTES];
  if (named && named[0]) {
    if (is_program(named) && snprintf(path, PATH_BYTES, "%s", named) < PATH_BYTES) return PLIM_OK;
    return plim_fail(ctx, PLIM_EUNSUPPORTED, "PLIM_SOLVER is \"%.200s\", which is not the absolute path of a program",
                     named);
  }
  if (find_program(solver, path)) return PLIM_OK;
  path_of_library(file);
  if (!file[0]) path_of_process(file);
  return plim_fail(
      ctx, PLIM_EUNSUPPORTED,
      "the program %s, in which solvers run, was not found beside %.200s nor in \"%.200s\"; it is built and "
      "installed with the library, or PLIM_SOLVER=FILE names it",
      solver, file, PLIM_LIBEXEC);
}
