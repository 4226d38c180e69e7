/* Temporary folders under TMPDIR or /tmp. */
#include "tests/support/folder.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[256];

const char *plim_test_folder(void) {
  const char *base = getenv("TMPDIR");
  (void)snprintf(folder, sizeof folder, "%.200s/plim-test-XXXXXX", base ? base : "/tmp");
  cr_assert_not_null(mkdtemp(folder));
  return folder;
}

const char *plim_test_path(const char *name) {
  static char path[4][512];
  static int next;
  next = (next + 1) % 4;
  (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
  return path[next];
}

static int each_entry(int remove_it) {
  DIR *dir = opendir(folder);
  int count = 0;
  for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    count++;
    if (remove_it) (void)unlink(plim_test_path(e->d_name));
  }
  if (dir) closedir(dir);
  return count;
}

int plim_test_folder_count(void) {
  return each_entry(0);
}

void plim_test_folder_remove(void) {
  (void)each_entry(1);
  (void)rmdir(folder);
}
