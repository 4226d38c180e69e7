/* Sorting, divisors, sequences, and integers from reals. */
#include <criterion/criterion.h>

#include "runtime/base/integers.h"

Test(integers, counts_what_is_below) {
  const int64_t value[] = {-5, 2, 2, INT64_MAX};
  cr_assert_eq(plim_integers_count_below(value, 0, 7), 0);
  cr_assert_eq(plim_integers_count_below(value, 4, INT64_MIN), 0);
  cr_assert_eq(plim_integers_count_below(value, 4, 2), 1);
  cr_assert_eq(plim_integers_count_below(value, 4, 3), 3);
  cr_assert_eq(plim_integers_count_below(value, 4, INT64_MAX), 3);
}

Test(integers, numbers_of_either_sign_come_out_in_order) {
  int64_t value[] = {5, INT64_MIN, 0, -7, INT64_MAX, 5, 1}, sorted[] = {INT64_MIN, -7, 0, 1, 5, 5, INT64_MAX};
  plim_integers_sort(value, 7);
  for (int i = 0; i < 7; i++) cr_assert_eq(value[i], sorted[i], "place %d", i);
  plim_integers_sort(NULL, 0);
}

Test(integers, lubys_sequence_doubles_after_two_equal_beginnings) {
  static const int64_t luby[] = {1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, 1};
  for (int i = 0; i < 16; i++) cr_assert_eq(plim_integers_luby(i), luby[i], "number %d", i);
  cr_assert_eq(plim_integers_luby((INT64_C(1) << 40) - 2), INT64_C(1) << 39);
}

Test(integers, a_real_becomes_its_integer_part_up_to_where_doubles_are_exact) {
  cr_assert_eq(plim_integers_from_real(0), 0);
  cr_assert_eq(plim_integers_from_real(7.9), 7);
  cr_assert_eq(plim_integers_from_real(9007199254740991.0), 9007199254740991);
  cr_assert_eq(plim_integers_from_real(1e300), INT64_C(1) << 53);
}

Test(integers, the_greatest_common_divisor_of_nothing_and_a_number_is_the_number) {
  cr_assert_eq(plim_integers_gcd(0, 12), 12);
  cr_assert_eq(plim_integers_gcd(12, 0), 12);
  cr_assert_eq(plim_integers_gcd(0, 0), 0);
}

Test(integers, the_greatest_common_divisor_is_that_of_counting_down) {
  for (int64_t a = 1; a <= 40; a++) {
    for (int64_t b = 1; b <= 40; b++) {
      int64_t most = a < b ? a : b;
      while (a % most != 0 || b % most != 0) most--;
      cr_assert_eq(plim_integers_gcd(a, b), most, "%d and %d", (int)a, (int)b);
    }
  }
}
