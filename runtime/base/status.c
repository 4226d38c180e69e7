/* Names and exit statuses of the status codes. */
#include "runtime/base/status.h"

const char *plim_status_name(plim_status status) {
  switch ((int)status) {
#define PLIM_X(id, code, exit_status, name) \
  case code:                                \
    return name;
    PLIM_STATUSES(PLIM_X)
#undef PLIM_X
    default:
      return "unknown status";
  }
}

int plim_status_exit(plim_status status) {
  switch ((int)status) {
#define PLIM_X(id, code, exit_status, name) \
  case code:                                \
    return exit_status;
    PLIM_STATUSES(PLIM_X)
#undef PLIM_X
    default:
      return 5;
  }
}
