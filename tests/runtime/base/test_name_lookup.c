/* runtime/base/name.c. */
#include "runtime/base/name.h"

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

Test(name, finds_the_row_of_a_name_and_minus_one_when_there_is_none) {
  cr_assert_eq(plim_name_find(colour, "red"), 0);
  cr_assert_eq(plim_name_find(colour, "blueish"), 3);
  cr_assert_eq(plim_name_find(colour, "Blue"), -1);
  cr_assert_eq(plim_name_find(nothing, "red"), -1);
}

Test(name, names_the_row_with_the_fewest_edits_and_the_first_of_equals) {
  cr_assert_str_eq(plim_name_nearest(colour, "gren"), "green");
  cr_assert_str_eq(plim_name_nearest(colour, "blues"), "blue");
  cr_assert_str_eq(plim_name_nearest(colour, "bluish"), "blueish");
  cr_assert_str_eq(plim_name_nearest(colour, ""), "red");
  cr_assert_str_eq(plim_name_nearest(nothing, "red"), "");
}

Test(name, counts_a_swap_of_neighbours_as_one_edit) {
  cr_assert_str_eq(plim_name_nearest(colour, "lbue"), "blue");
  cr_assert_str_eq(plim_name_near(colour, "rde"), "red");
}

Test(name, thinks_of_no_name_that_has_little_in_common) {
  cr_assert_str_eq(plim_name_near(colour, "grean"), "green");
  cr_assert_null(plim_name_near(colour, "foo"));
  cr_assert_null(plim_name_near(colour, ""));
  cr_assert_null(plim_name_near(nothing, "red"));
}

static const char *many(int32_t row) {
  return row < 1000 ? "a-name-of-many" : NULL;
}

Test(name, advises_the_near_name_or_lists_all_of_them_where_they_are_few) {
  char text[PLIM_NAME_ADVICE_BYTES];
  cr_assert_str_eq(plim_name_advice(colour, "gren", text), "; did you mean \"green\"?");
  cr_assert_str_eq(plim_name_advice(colour, "foo", text), "; there are \"red\", \"green\", \"blue\" and \"blueish\"");
  cr_assert_str_eq(plim_name_advice(many, "foo", text), "");
  cr_assert_str_eq(plim_name_advice(nothing, "foo", text), "");
}

Test(name, reads_no_more_than_63_characters_of_a_name) {
  char name[4096];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  memcpy(name, "blue", 4);
  cr_assert_str_eq(plim_name_nearest(colour, name), "blue");
}
