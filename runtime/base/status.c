/* Names and exit statuses of the status codes. */
#include "runtime/base/status.h"

#include <stddef.h>

typedef struct row {
  int code, exit_status;
  const char *name;
} row;

#define PLIM_X(id, code, exit_status, name) {code, exit_status, name},
static const row rows[] = {PLIM_STATUSES(PLIM_X)};
#undef PLIM_X

static const row *find(plim_status status) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].code == (int)status) return &rows[i];
  }
  return NULL;
}

const char *plim_status_name(plim_status status) {
  const row *found = find(status);
  return found ? found->name : "unknown status";
}

int plim_status_exit(plim_status status) {
  const row *found = find(status);
  return found ? found->exit_status : 5;
}
