/* Where public instances are. */
#include "tests/support/published_graphs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *plim_test_published(const char *name) {
  static char path[4096];
  (void)snprintf(path, sizeof path, PLIM_SOURCE_DIR "/tests/data/%s", name);
  if (access(path, R_OK) == 0) return path;
  const char *folder = getenv("PLIM_DATA");
  if (!folder) cr_skip_test("SKIP: %s is not in tests/data, and PLIM_DATA names no folder", name);
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  cr_assert_eq(access(path, R_OK), 0, "PLIM_DATA has no %s", path);
  return path;
}
