/* tools/plimsoll/progress: the line that is drawn over, on terminals narrower than it is. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"
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

/* The line of progress was in the first row, and the table takes its place. */
Test(progress, stands_where_the_table_begins) {
  plim_test_terminal_open("$PLIMSOLL plan --graph g.json --memory 60% --time-limit 2s", "vt100", 24, 50);
  cr_assert_eq(plim_test_terminal_expect("search  "), 0);
  cr_assert_eq(plim_test_terminal_expect("graph  "), 0);
  (void)plim_test_terminal_close();
}

/* What follows stands in the first row: no line of progress continued to a second one, or was left. */
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

#define TRAIN "$PLIMSOLL train --model mlp --data synthetic --image 8x8x1 --batch 32 --model-costs --iterations 100 "

/* The bar is seen while the program works, and not at all when it is not wanted. */
Test(progress, draws_a_bar_in_the_first_row_unless_told_not_to) {
  static const char *const quiet[] = {"--quiet", "--no-progress", "-q"};
  plim_test_terminal_open("exec " TRAIN "--steps 100000000", "vt100", 24, 100);
  cr_assert_eq(plim_test_terminal_expect("images/s"), 0);
  cr_assert_eq(plim_test_terminal_expect("train    ["), 0);
  plim_test_terminal_keys("\003");
  cr_assert_eq(plim_test_terminal_close(), 130);
  for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
    char command[256];
    (void)snprintf(command, sizeof command, "%s --steps 200 %s >out.txt", TRAIN, quiet[i]);
    plim_test_terminal_open(command, "vt100", 24, 100);
    cr_assert_eq(plim_test_terminal_close(), 0);
    cr_assert_str_empty(plim_test_terminal_row(0), "%s drew %s", quiet[i], plim_test_terminal_row(0));
  }
}
