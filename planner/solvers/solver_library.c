/* Opening libraries at run time. A variable of the environment is an order, not a hint: what it names is opened or the
 * failure is reported. Else the loader's own path comes before the user's data directory, so that a package of the
 * system wins. Addresses are copied into function pointers byte by byte: C has no conversion between the two kinds. */
#include "planner/solvers/solvers_internal.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/user_folder.h"

enum { WHY_BYTES = 2 * PLIM_LIBRARY_PATH_BYTES };

void plim_library_folder(char *path) {
  plim_user_folder("XDG_DATA_HOME", ".local/share", "plimsoll/lib", path, PLIM_LIBRARY_PATH_BYTES);
}

static void *open_file(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Bytes that the file says it has, by the segments that the loader will map; 0: it says nothing. */
static int64_t bytes_said(FILE *file) {
  ElfW(Ehdr) head;
  ElfW(Phdr) segment;
  uint64_t end = 0;
  if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  for (uint64_t i = 0; i < head.e_phnum; i++) {
    uint64_t at = head.e_phoff + i * head.e_phentsize;
    if (at > INT32_MAX || fseek(file, (long)at, SEEK_SET) != 0 || fread(&segment, sizeof segment, 1, file) != 1) break;
    uint64_t ends = segment.p_offset + segment.p_filesz;
    if (segment.p_type == PT_LOAD && ends > end) end = ends;
  }
  return end <= INT64_MAX ? (int64_t)end : INT64_MAX;
}

/* 0: there is no such file; a pipe, on which the loader would hang, is none. *missing: bytes at its end that are not
 * there: the loader maps them all the same, and who reads them is ended by the system. */
static int is_there(const char *path, int64_t *missing) {
  struct stat st;
  FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
  *missing = 0;
  if (!file) return 0;
  int64_t said = bytes_said(file);
  if (fseek(file, 0, SEEK_END) == 0 && ftell(file) >= 0) *missing = said - ftell(file);
  (void)fclose(file);
  return 1;
}

/* why: the reason why the file was not opened. */
static void *open_whole(const char *path, char *why) {
  int64_t missing;
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
    (void)snprintf(why, WHY_BYTES, "%s: is not a regular file", path);
    return NULL;
  }
  if (is_there(path, &missing) && missing > 0) {
    (void)snprintf(why, WHY_BYTES, "%s: the last %lld bytes of it are missing", path, (long long)missing);
    return NULL;
  }
  void *handle = open_file(path);
  if (!handle) (void)snprintf(why, WHY_BYTES, "%s", dlerror());
  return handle;
}

/* why [WHY_BYTES]: the reason why a file that is there was not opened; "": there is none. */
static void *find_and_open(const plim_library_spec *spec, char *path, char *why) {
  const char *named = spec->environment ? getenv(spec->environment) : NULL;
  char folder[PLIM_LIBRARY_PATH_BYTES];
  if (named && named[0]) {
    (void)snprintf(path, PLIM_LIBRARY_PATH_BYTES, "%s", named);
    return open_whole(path, why);
  }
  (void)snprintf(path, PLIM_LIBRARY_PATH_BYTES, "%s", spec->file);
  void *handle = open_file(path);
  if (!handle && spec->other_file) {
    (void)snprintf(path, PLIM_LIBRARY_PATH_BYTES, "%s", spec->other_file);
    handle = open_file(path);
  }
  if (handle) return handle;
  plim_library_folder(folder);
  int n = snprintf(path, PLIM_LIBRARY_PATH_BYTES, "%s/%s", folder, spec->file);
  int64_t missing;
  if (!folder[0] || n >= PLIM_LIBRARY_PATH_BYTES || !is_there(path, &missing)) return NULL;
  return open_whole(path, why);
}

typedef struct remedy {
  char text[PLIM_LIBRARY_PATH_BYTES + 256];
} remedy;

static remedy remedy_of(const plim_library_spec *spec) {
  remedy r;
  char script[PLIM_LIBRARY_PATH_BYTES] = "";
  if (spec->is_fetched) plim_solver_script(script);
  (void)snprintf(r.text, sizeof r.text, "%s%s%s", script, spec->is_fetched ? " " : "", spec->remedy);
  return r;
}

/* Who set a relative path expects the library to be looked for there. */
static plim_status fail_missing(plim_context *ctx, const plim_library_spec *spec) {
  const char *ignored = plim_user_folder_ignored("XDG_DATA_HOME");
  if (!ignored) return plim_fail(ctx, PLIM_EUNSUPPORTED, "%s is not installed: %s", spec->name, remedy_of(spec).text);
  return plim_fail(ctx, PLIM_EUNSUPPORTED,
                   "%s is not installed: %s; %s is \"%.80s\", which is ignored because it is not an absolute path",
                   spec->name, remedy_of(spec).text, ignored, getenv(ignored));
}

plim_status plim_library_open(plim_context *ctx, const plim_library_spec *spec, void *functions, char *path) {
  char opened[PLIM_LIBRARY_PATH_BYTES];
  char why[WHY_BYTES] = "";
  void *handle = find_and_open(spec, opened, why);
  if (!handle && why[0]) {
    return plim_fail(ctx, PLIM_EUNSUPPORTED, "%s cannot be opened: %s; %s", spec->name, why, remedy_of(spec).text);
  }
  if (!handle) return fail_missing(ctx, spec);
  for (int32_t i = 0; i < spec->n_symbols; i++) {
    void *address = dlsym(handle, spec->symbol[i].name);
    if (!address) {
      (void)dlclose(handle);
      return plim_fail(ctx, PLIM_EUNSUPPORTED, "\"%s\" is not a %s that this program knows: it has no %s; %s", opened,
                       spec->name, spec->symbol[i].name, remedy_of(spec).text);
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
                   version, spec->major, remedy_of(spec).text);
}
