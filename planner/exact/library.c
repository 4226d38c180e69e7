/* Opening libraries at run time. A variable of the environment is an order, not a hint: what it names is opened or the
 * failure is told. Else the loader's own path comes before the user's data directory, so that a package of the system
 * wins. Addresses are copied into function pointers byte by byte: C has no conversion between the two kinds. */
#include "planner/exact/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void plim_library_folder(char *path) {
  const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  path[0] = 0;
  if (data && data[0]) {
    (void)snprintf(path, PLIM_LIBRARY_PATH_BYTES, "%s/plimsoll/lib", data);
  } else if (home && home[0]) {
    (void)snprintf(path, PLIM_LIBRARY_PATH_BYTES, "%s/.local/share/plimsoll/lib", home);
  }
}

static void *open_file(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int is_there(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file) (void)fclose(file);
  return file != NULL;
}

/* *broken: the reason why a file that is there was not opened, NULL. */
static void *open_any(const plim_library_spec *spec, char *path, const char **broken) {
  const char *named = spec->environment ? getenv(spec->environment) : NULL;
  char folder[PLIM_LIBRARY_PATH_BYTES];
  if (named && named[0]) {
    (void)snprintf(path, PLIM_LIBRARY_PATH_BYTES, "%s", named);
    void *handle = open_file(path);
    if (!handle) *broken = dlerror();
    return handle;
  }
  (void)snprintf(path, PLIM_LIBRARY_PATH_BYTES, "%s", spec->file);
  void *handle = open_file(path);
  if (handle) return handle;
  plim_library_folder(folder);
  int n = snprintf(path, PLIM_LIBRARY_PATH_BYTES, "%s/%s", folder, spec->installed ? spec->installed : spec->file);
  if (!folder[0] || n >= PLIM_LIBRARY_PATH_BYTES || !is_there(path)) return NULL;
  handle = open_file(path);
  if (!handle) *broken = dlerror();
  return handle;
}

plim_status plim_library_open(plim_context *ctx, const plim_library_spec *spec, void *functions, char *path) {
  char opened[PLIM_LIBRARY_PATH_BYTES];
  const char *broken = NULL;
  void *handle = open_any(spec, opened, &broken);
  if (!handle && broken) {
    return plim_fail(ctx, PLIM_EUNSUPPORTED, "%s cannot be opened: %s; %s", spec->name, broken, spec->remedy);
  }
  if (!handle) return plim_fail(ctx, PLIM_EUNSUPPORTED, "%s is not installed: %s", spec->name, spec->remedy);
  for (int32_t i = 0; i < spec->n_symbols; i++) {
    void *address = dlsym(handle, spec->symbol[i].name);
    if (!address) {
      (void)dlclose(handle);
      return plim_fail(ctx, PLIM_EUNSUPPORTED, "\"%s\" is not a %s that this program knows: it has no %s; %s", opened,
                       spec->name, spec->symbol[i].name, spec->remedy);
    }
    memcpy((char *)functions + spec->symbol[i].offset, &address, sizeof address);
  }
  memcpy(path, opened, sizeof opened);
  return PLIM_OK;
}

plim_status plim_library_known(plim_context *ctx, const plim_library_spec *spec, const char *path,
                               const char *version) {
  char *end = NULL;
  long major = strtol(version, &end, 10);
  if (end != version && *end == '.' && major == spec->major) return PLIM_OK;
  return plim_fail(ctx, PLIM_EUNSUPPORTED, "\"%s\" is %s %s, and this program knows version %d; %s", path, spec->name,
                   version, spec->major, spec->remedy);
}
