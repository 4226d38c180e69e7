/* tools/plimsoll/progress: the line that is drawn over, on terminals narrower than it is. */
#include <criterion/criterion.h>

#include "tests/support/folder.h"
#include "tests/support/program.h"
#include "tests/support/terminal.h"

static void setup(void) {
  (void)plim_test_folder();
  (void)plim_test_program("gen residual --ops 100 -o g.json");
  plim_test_expect(0, "");
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(progress, .init = setup, .fini = teardown);

/* What follows stands in the first row: no line of progress went on to a second one, or was left. */
Test(progress, takes_one_row_of_any_terminal_and_leaves_it_empty) {
  static const char *const kind[] = {"vt100", "dumb"};
  for (int columns = 20; columns <= 80; columns += 30) {
    for (int i = 0; i < 2; i++) {
      plim_test_terminal_open("$PLIMSOLL plan --graph g.json --memory 60% --time-limit 500ms", kind[i], 24, columns);
      cr_assert_eq(plim_test_terminal_expect("graph  "), 0, "%d columns", columns);
      (void)plim_test_terminal_close();
    }
  }
}
