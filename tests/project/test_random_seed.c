/* Seeds of randomised tests: the environment's, else the test's own; and the message of a failed assertion. */
#include "tests/support/test_seed.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(random_seed, of_the_environment_replaces_that_of_the_test_when_it_is_a_number) {
  static const struct {
    const char *given; /* NULL: none */
    uint64_t seed;     /* that a test of seed 7 gets */
  } rows[] = {{NULL, 7}, {"31", 31}, {"", 7}, {"31x", 7}, {"18446744073709551615", UINT64_MAX}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].given) cr_assert_eq(setenv("PLIM_TEST_SEED", rows[i].given, 1), 0);
    if (!rows[i].given) cr_assert_eq(unsetenv("PLIM_TEST_SEED"), 0);
    cr_assert_eq(test_seed(7), rows[i].seed, "%s", rows[i].given ? rows[i].given : "none");
  }
}

Test(random_seed, ends_the_message_of_a_failed_assertion) {
  char text[64];
  cr_assert_str_eq(test_seed_message("no 3", text, sizeof text), "no 3");
  (void)test_seed_at(31);
  cr_assert_str_eq(test_seed_message("no 3", text, sizeof text), "no 3 (PLIM_TEST_SEED=31)");
}
