/* Status codes: their names and the exit statuses of the command line. */
#include "runtime/base/status.h"

#include <criterion/criterion.h>

Test(status, has_the_exit_status_that_the_command_line_promises) {
  static const struct {
    plim_status status;
    int exit_status;
    const char *name;
  } cases[] = {{PLIM_OK, 0, "ok"},
               {PLIM_EUSAGE, 2, "usage"},
               {PLIM_EDATA, 3, "bad data"},
               {PLIM_ENOFIT, 4, "does not fit"},
               {PLIM_EPLAN, 1, "bad plan"},
               {PLIM_EDIFF, 1, "difference"},
               {PLIM_EDEVICE, 5, "device"},
               {PLIM_ECANCEL, 130, "cancelled"},
               {PLIM_ENOFILE, 3, "no such file"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cr_assert_eq(plim_status_exit(cases[i].status), cases[i].exit_status, "%s", cases[i].name);
    cr_assert_str_eq(plim_status_name(cases[i].status), cases[i].name);
  }
}

Test(status, number_that_is_none_is_said_to_be_unknown) {
  cr_assert_str_eq(plim_status_name((plim_status)-99), "unknown status");
  cr_assert_eq(plim_status_exit((plim_status)-99), 5);
}
