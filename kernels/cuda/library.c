/* Finds and opens the shared libraries of NVIDIA, in three places, one after the other. Packages of Python put the
 * libraries of each nvidia-* package into nvidia/PACKAGE/lib next to its other modules; where those are follows from
 * where python3 is. */
#include "kernels/cuda/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

static void *open_path(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The first of the names in one folder. A relative folder is ignored: it would be another one in each working
 * directory. */
static void *open_in(const char *folder, int length, const plim_cuda_library *library) {
  char path[PATH_BYTES];
  if (length > 0 && folder[0] != '/') return NULL;
  for (int i = 0; library->file[i]; i++) {
    int n = snprintf(path, sizeof path, "%.*s/%s", length, folder, library->file[i]);
    void *opened = n < PATH_BYTES ? open_path(path) : NULL;
    if (opened) return opened;
  }
  return NULL;
}

static void *open_listed(const char *folders, const plim_cuda_library *library) {
  void *opened = NULL;
  while (folders && *folders && !opened) {
    int length = (int)strcspn(folders, ":");
    opened = open_in(folders, length, library);
    folders += length + (folders[length] == ':');
  }
  return opened;
}

/* Is one of the folders relative? */
static int has_relative(const char *folders) {
  while (folders && *folders) {
    int length = (int)strcspn(folders, ":");
    if (length > 0 && folders[0] != '/') return 1;
    folders += length + (folders[length] == ':');
  }
  return 0;
}

static void *open_by_loader(const plim_cuda_library *library) {
  void *opened = NULL;
  for (int i = 0; library->file[i] && !opened; i++) opened = open_path(library->file[i]);
  return opened;
}

/* The folder of the first python3 on the PATH; 0 when there is none. */
static int python_folder(char folder[PATH_BYTES]) {
  char file[PATH_BYTES];
  for (const char *at = getenv("PATH"); at && *at; at += strcspn(at, ":"), at += *at == ':') {
    int length = (int)strcspn(at, ":");
    int n = snprintf(file, sizeof file, "%.*s/python3", length, at);
    if (*at != '/' || n >= PATH_BYTES || access(file, X_OK) != 0) continue;
    (void)snprintf(folder, PATH_BYTES, "%.*s", length, at);
    return 1;
  }
  return 0;
}

static void *open_matching(const char *pattern, const plim_cuda_library *library) {
  glob_t found;
  void *opened = NULL;
  if (glob(pattern, 0, NULL, &found) != 0) return NULL;
  for (size_t i = 0; i < found.gl_pathc && !opened; i++) {
    opened = open_in(found.gl_pathv[i], (int)strlen(found.gl_pathv[i]), library);
  }
  globfree(&found);
  return opened;
}

static void *open_python(const plim_cuda_library *library) {
  static const char *const beside[] = {"../lib/python3*/site-packages", "../lib/python3*/dist-packages",
                                       "../local/lib/python3*/dist-packages"};
  char folder[PATH_BYTES], pattern[PATH_BYTES];
  void *opened = NULL;
  if (!python_folder(folder)) return NULL;
  for (size_t i = 0; i < sizeof beside / sizeof *beside && !opened; i++) {
    int n = snprintf(pattern, sizeof pattern, "%s/%s/nvidia/*/lib", folder, beside[i]);
    if (n < PATH_BYTES) opened = open_matching(pattern, library);
  }
  return opened;
}

static void *open_any(const plim_cuda_library *library, char *why, size_t why_bytes) {
  const char *named = getenv(library->environment);
  if (named && *named) {
    void *opened = strcmp(named, "none") == 0 ? NULL : open_path(named);
    if (!opened) (void)snprintf(why, why_bytes, "no %s: %s is %s", library->name, library->environment, named);
    return opened;
  }
  void *opened = open_listed(getenv("PLIM_CUDA_LIBS"), library);
  if (!opened) opened = open_by_loader(library);
  if (!opened) opened = open_python(library);
  if (!opened) {
    (void)snprintf(why, why_bytes,
                   "no %s: %s is neither on the loader's path nor in PLIM_CUDA_LIBS nor a package of "
                   "python3%s",
                   library->name, library->file[0],
                   has_relative(getenv("PLIM_CUDA_LIBS")) ? "; relative folders of PLIM_CUDA_LIBS are ignored" : "");
  }
  return opened;
}

void *plim_cuda_library_open(const plim_cuda_library *library, void *functions, char *why, size_t why_bytes) {
  void *opened = open_any(library, why, why_bytes);
  for (int i = 0; opened && i < library->symbols; i++) {
    const plim_cuda_symbol *symbol = &library->symbol[i];
    void *found = dlsym(opened, symbol->name);
    if (!found) {
      (void)snprintf(why, why_bytes, "no %s: the one that was found has no %s", library->name, symbol->name);
      (void)dlclose(opened);
      return NULL;
    }
    memcpy((char *)functions + symbol->offset, &found, sizeof found); /* C converts no object to a function pointer */
  }
  return opened;
}
