/* runtime/base/nearest.c. */
#include "runtime/base/nearest.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *colour(int32_t row) {
  static const char *const names[] = {"red", "green", "blue", "blueish"};
  return row >= 0 && row < 4 ? names[row] : NULL;
}

static const char *nothing(int32_t row) {
  (void)row;
  return NULL;
}

Test(nearest, finds_the_row_of_a_name_and_minus_one_when_there_is_none) {
  cr_assert_eq(plim_name_find(colour, "red"), 0);
  cr_assert_eq(plim_name_find(colour, "blueish"), 3);
  cr_assert_eq(plim_name_find(colour, "Blue"), -1);
  cr_assert_eq(plim_name_find(nothing, "red"), -1);
}

Test(nearest, names_the_row_with_the_fewest_edits_and_the_first_of_equals) {
  cr_assert_str_eq(plim_name_nearest(colour, "gren"), "green");
  cr_assert_str_eq(plim_name_nearest(colour, "blues"), "blue");
  cr_assert_str_eq(plim_name_nearest(colour, "bluish"), "blueish");
  cr_assert_str_eq(plim_name_nearest(colour, ""), "red");
  cr_assert_str_eq(plim_name_nearest(nothing, "red"), "");
}

Test(nearest, reads_no_more_than_63_characters_of_a_name) {
  char name[4096];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  memcpy(name, "blue", 4);
  cr_assert_str_eq(plim_name_nearest(colour, name), "blue");
}
