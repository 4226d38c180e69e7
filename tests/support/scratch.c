/* One folder a process, made on first use. */
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATHS = 16, PATH_BYTES = 512 };
static char folder[64];
static pid_t owner;

/* Files only: tests make no folders there. */
static void remove_folder(void) {
  DIR *dir = owner == getpid() ? opendir(folder) : NULL;
  if (!dir) return;
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] != '.') (void)unlink(path);
  }
  (void)closedir(dir);
  (void)rmdir(folder);
}

static void make_folder(void) {
  const char *parent = getenv("TMPDIR");
  (void)snprintf(folder, sizeof folder, "%.40s/plim-test-XXXXXX", parent ? parent : "/tmp");
  cr_assert_not_null(mkdtemp(folder), "%s cannot be made", folder);
  owner = getpid();
  (void)atexit(remove_folder);
}

const char *scratch_path(const char *name) {
  static char path[PATHS][PATH_BYTES];
  static int next;
  if (owner != getpid()) make_folder();
  char *out = path[next++ % PATHS];
  (void)snprintf(out, PATH_BYTES, "%s/%s", folder, name);
  return out;
}

const char *scratch_write(const char *name, const void *bytes, size_t count) {
  const char *path = scratch_path(name);
  FILE *file = fopen(path, "wb");
  cr_assert_not_null(file, "%s cannot be written", path);
  cr_assert_eq(fwrite(bytes, 1, count, file), count);
  cr_assert_eq(fclose(file), 0);
  return path;
}
