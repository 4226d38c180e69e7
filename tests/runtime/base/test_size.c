/* Sizes: what is accepted with which bytes, what is refused, how bytes are printed. */
#include "runtime/base/size.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/base/context.h"

Test(size, reads_units_exactly) {
  static const struct {
    const char *text;
    int64_t bytes;
  } cases[] = {
      {"12345", 12345},
      {"1B", 1},
      {"64KiB", 65536},
      {"96MiB", INT64_C(96) << 20},
      {"96 MiB", INT64_C(96) << 20},
      {"1.5GiB", INT64_C(3) << 29},
      {"500MB", 500000000},
      {"1kB", 1000},
      {"1KB", 1000},
      {"2TB", INT64_C(2000000000000)},
      {"0.001KiB", 1}, /* 1.024, rounded down */
      {"96.7MiB", 101397299},
      {"1.999999TiB", INT64_C(2199022156040)},
      {"8388607.999999TiB", INT64_C(9223372036853676296)},
      {"9223372036854775806", INT64_MAX - 1},
  };
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    plim_size size;
    cr_assert_eq(plim_size_parse(ctx, cases[i].text, &size), PLIM_OK, "%s: %s", cases[i].text, plim_context_error(ctx));
    cr_assert_eq(size.bytes, cases[i].bytes, "%s gave %lld", cases[i].text, (long long)size.bytes);
    cr_assert_eq(plim_size_bytes(&size, 7), cases[i].bytes);
  }
  plim_context_free(ctx);
}

Test(size, takes_percent_of_a_whole_and_rounds_up) {
  static const struct {
    const char *text;
    int64_t whole, bytes;
  } cases[] = {{"45%", 100, 45},
               {"45%", 101, 46},
               {"45 %", 1001, 451},
               {"12.5%", 1000, 125},
               {"12.5%", 1001, 126},
               {"0.001%", 1, 1},
               {"100%", 12345, 12345},
               {"100%", INT64_MAX, INT64_MAX},
               {"50%", INT64_MAX, INT64_MAX / 2 + 1},
               {"101%", INT64_MAX, -1}};
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    plim_size size;
    cr_assert_eq(plim_size_parse(ctx, cases[i].text, &size), PLIM_OK);
    cr_assert_eq(size.bytes, -1);
    cr_assert_eq(plim_size_bytes(&size, cases[i].whole), cases[i].bytes, "%s of %lld gave %lld", cases[i].text,
                 (long long)cases[i].whole, (long long)plim_size_bytes(&size, cases[i].whole));
  }
  plim_context_free(ctx);
}

Test(size, refuses_what_is_ambiguous_or_no_size_and_says_what_is_one) {
  static const char *const bad[] = {"",
                                    "MiB",
                                    "96M",
                                    "96m",
                                    "96mib",
                                    "96MIB",
                                    "96 ",
                                    "96  MiB",
                                    "-1",
                                    "+1",
                                    "0",
                                    "0MiB",
                                    "1.",
                                    ".5MiB",
                                    "1.5.5",
                                    "1e6",
                                    "0x10",
                                    "12 34",
                                    "0.5B",
                                    "45%%",
                                    "0%",
                                    "1.2345%",
                                    "1001%",
                                    "1.1234567MiB",
                                    "9223372036854775808",
                                    "9223372036854775807",
                                    "8388608TiB",
                                    "10MiBs",
                                    "1,5GiB",
                                    "nan",
                                    "%"};
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    plim_size size = {-7, -7, -7};
    cr_assert_eq(plim_size_parse(ctx, bad[i], &size), PLIM_EUSAGE, "'%s' gave %lld", bad[i], (long long)size.bytes);
    cr_assert_eq(size.bytes, -7);
    cr_assert_not_null(strstr(plim_context_error(ctx), "96MiB"), "%s", plim_context_error(ctx));
  }
  plim_context_free(ctx);
}

Test(size, prints_one_digit_after_the_point) {
  static const struct {
    int64_t bytes;
    const char *text;
  } cases[] = {{0, "0 B"},
               {1023, "1023 B"},
               {1024, "1.0 KiB"},
               {1536, "1.5 KiB"},
               {INT64_C(64) << 20, "64.0 MiB"},
               {(INT64_C(1) << 20) - 1, "1.0 MiB"},
               {(INT64_C(1) << 30) - 1, "1.0 GiB"},
               {1075, "1.0 KiB"},
               {1076, "1.1 KiB"},
               {INT64_MAX, "8388608.0 TiB"}};
  char text[PLIM_SIZE_TEXT_BYTES];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cr_assert_str_eq(plim_size_print(cases[i].bytes, text), cases[i].text, "%lld gave %s", (long long)cases[i].bytes,
                     text);
  }
}
