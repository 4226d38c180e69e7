/* A device by its name. */
#include "tests/support/device_under_test.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

const char *plim_test_device_name(void) {
  const char *text = getenv("PLIM_TEST_DEVICE");
  return text && *text ? text : "cpu";
}

plim_device *plim_test_device(plim_context *ctx, int32_t threads) {
  const plim_device_options options = {.struct_bytes = sizeof options, .threads = threads};
  plim_device *device = NULL;
  plim_status status = plim_device_open(ctx, plim_test_device_name(), &options, &device);
  cr_assert_eq(status, PLIM_OK, "%s: %s", plim_test_device_name(), plim_context_error(ctx));
  return device;
}

int plim_test_on_cpu(void) {
  return strcmp(plim_test_device_name(), "cpu") == 0;
}
