/* Where public instances are. */
#include "tests/support/published.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *plim_test_published(const char *name) {
  static char path[4096];
  const char *folder = getenv("PLIM_DATA");
  (void)snprintf(path, sizeof path, "%s/%s", folder ? folder : PLIM_SOURCE_DIR "/../shared/data", name);
  if (access(path, R_OK) != 0) cr_skip_test("SKIP: %s is not there", name);
  return path;
}
