/* Logarithm and exponential against the library's, and the bits that they have on every machine; bits of words. */
#include "runtime/base/real.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { DRAWS = 200000 };

static double draw(uint64_t *random) {
  return (double)test_random_between(random, 1, INT64_C(1) << 53) / 9007199254740992.0;
}

Test(real, log_and_exp_are_those_of_the_library_but_for_the_last_bits) {
  uint64_t random = test_seed(7);
  for (int i = 0; i < DRAWS; i++) {
    double unit = draw(&random), wide = ldexp(unit, (int)test_random_between(&random, -900, 900));
    double x = (2 * unit - 1) * 690;
    cr_assert_leq(fabs(plim_real_log(unit) - log(unit)), 4e-16 * fmax(1, fabs(log(unit))), "log %a", unit);
    cr_assert_leq(fabs(plim_real_log(wide) - log(wide)), 4e-16 * fmax(1, fabs(log(wide))), "log %a", wide);
    cr_assert_leq(fabs(plim_real_exp(x) - exp(x)), 5e-16 * exp(x), "exp %a", x);
  }
  cr_assert(plim_real_log(1) == 0 && plim_real_exp(0) == 1);
  cr_assert(plim_real_exp(-701) == 0 && isinf(plim_real_exp(701)) && isnan(plim_real_exp(NAN)));
}

/* The sum of all bits: another order of operations, or a fused one, changes it. */
Test(real, bits_are_equal_on_every_machine) {
  uint64_t random = test_seed(3), sum = 0, bits;
  for (int i = 0; i < DRAWS; i++) {
    double unit = draw(&random), value[2] = {plim_real_log(unit), plim_real_exp(-30 * unit)};
    for (int k = 0; k < 2; k++) {
      memcpy(&bits, &value[k], sizeof bits);
      sum = (sum ^ bits) * 0x9e3779b97f4a7c15U;
    }
  }
  cr_assert_eq(sum, UINT64_C(0x6643980735468834), "%llx", (unsigned long long)sum);
}

Test(real, lowest_and_highest_bits_of_words) {
  uint64_t random = test_seed(5);
  for (int i = 0; i < 64; i++) {
    uint64_t one = (uint64_t)1 << i, more = one | (test_random(&random) & (one - 1)),
             rest = test_random(&random) << i | one;
    cr_assert_eq(plim_bits_highest(one), i);
    cr_assert_eq(plim_bits_lowest(one), i);
    cr_assert_eq(plim_bits_highest(more), i);
    cr_assert_eq(plim_bits_lowest(rest), i);
  }
}
