/* Growing texts: shortest floats whatever the locale, quoted strings, a sticky failure. */
#include "runtime/base/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/comma.h"
#include "tests/support/failing_memory.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

static void assert_float(plim_context *ctx, float x, const char *expected) {
  plim_text text = {ctx, NULL, 0, 0, PLIM_OK};
  plim_text_float(&text, x);
  cr_assert_str_eq(text.chars, expected);
  plim_text_free(&text);
}

Test(text, floats_are_as_short_as_they_can_be) {
  plim_context *ctx = plim_test_context();
  assert_float(ctx, 0.1F, "0.1");
  assert_float(ctx, 1e-5F, "1e-05");
  assert_float(ctx, 1.0F, "1");
  assert_float(ctx, -0.25F, "-0.25");
  assert_float(ctx, 16777216.0F, "16777216");
  assert_float(ctx, 1.0F / 3.0F, "0.33333334");
  assert_float(ctx, 3.40282347e38F, "3.4028235e+38");
  assert_float(ctx, 1.40129846e-45F, "1e-45");
  plim_context_free(ctx);
}

Test(text, floats_come_back_from_their_text) {
  plim_context *ctx = plim_test_context();
  uint64_t state = test_seed(20240607);
  for (int i = 0; i < 20000; i++) {
    uint32_t bits = (uint32_t)test_random(&state);
    float x, back;
    if ((bits >> 23 & 255) == 255) continue; /* infinite or no number */
    memcpy(&x, &bits, sizeof x);
    plim_text text = {ctx, NULL, 0, 0, PLIM_OK};
    plim_text_float(&text, x);
    back = (float)strtod(text.chars, NULL);
    cr_assert_eq(memcmp(&x, &back, sizeof x), 0, "%s", text.chars);
    plim_text_free(&text);
  }
  plim_context_free(ctx);
}

Test(text, floats_have_a_point_in_every_locale) {
  if (!plim_test_set_comma()) cr_skip_test("no locale with a decimal comma here");
  plim_context *ctx = plim_test_context();
  assert_float(ctx, 0.5F, "0.5");
  plim_context_free(ctx);
}

Test(text, quotes_escape_what_json_must_not_have) {
  plim_context *ctx = plim_test_context();
  plim_text text = {ctx, NULL, 0, 0, PLIM_OK};
  plim_text_quote(&text, "a\"b\\c\nd");
  cr_assert_str_eq(text.chars, "\"a\\\"b\\\\c\\u000ad\"");
  plim_text_free(&text);
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  plim_context_free(ctx);
}

static plim_status write_much(plim_context *ctx, void *user) {
  (void)user;
  plim_text text = {ctx, NULL, 0, 0, PLIM_OK};
  for (int i = 0; i < 100; i++) plim_text_format(&text, "%d,", i);
  plim_text_add(&text, "end");
  plim_status status = text.status;
  if (status == PLIM_OK) cr_assert_eq(text.length, 10 * 2 + 90 * 3 + 3);
  plim_text_free(&text);
  return status;
}

Test(text, keeps_the_first_failure_and_leaks_nothing) {
  cr_assert_gt(plim_test_each_allocation(write_much, NULL), 2);
}
