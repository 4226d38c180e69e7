/* Criterion's macros over a plain program: tests run one after the other in one process. For the thread sanitizer,
 * under which Criterion's own processes do not start. Holds what the tests built that way use. */
#ifndef PLIM_TESTS_PLAIN_CRITERION_H
#define PLIM_TESTS_PLAIN_CRITERION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct plain_suite {
  const char *name;
  void (*init)(void), (*fini)(void);
} plain_suite;

/* In plain.c. */
void plain_add_suite(const plain_suite *suite);
void plain_add_test(const char *suite, const char *name, void (*run)(void));
void plain_fail(const char *file, int line, const char *what, const char *format, ...);

#define TestSuite(suite_name, ...)                                               \
  __attribute__((constructor(101))) static void plain_suite_##suite_name(void) { \
    static const plain_suite suite = {.name = #suite_name, __VA_ARGS__};         \
    plain_add_suite(&suite);                                                     \
  }                                                                              \
  struct plain_end_##suite_name

#define Test(suite_name, test_name)                                                          \
  static void plain_run_##suite_name##_##test_name(void);                                    \
  __attribute__((constructor(102))) static void plain_add_##suite_name##_##test_name(void) { \
    plain_add_test(#suite_name, #test_name, plain_run_##suite_name##_##test_name);           \
  }                                                                                          \
  static void plain_run_##suite_name##_##test_name(void)

/* A message, when there is one, begins with a literal. */
#define cr_assert(condition, ...) ((condition) ? (void)0 : plain_fail(__FILE__, __LINE__, #condition, "" __VA_ARGS__))
#define cr_assert_eq(a, b, ...) cr_assert((a) == (b), __VA_ARGS__)
#define cr_assert_neq(a, b, ...) cr_assert((a) != (b), __VA_ARGS__)
#define cr_assert_lt(a, b, ...) cr_assert((a) < (b), __VA_ARGS__)
#define cr_assert_gt(a, b, ...) cr_assert((a) > (b), __VA_ARGS__)
#define cr_assert_leq(a, b, ...) cr_assert((a) <= (b), __VA_ARGS__)
#define cr_assert_geq(a, b, ...) cr_assert((a) >= (b), __VA_ARGS__)
#define cr_assert_null(a, ...) cr_assert(!(a), __VA_ARGS__)
#define cr_assert_not_null(a, ...) cr_assert((a), __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) cr_assert(strcmp((a), (b)) == 0, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) cr_assert(strcmp((a), (b)) != 0, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, bytes, ...) cr_assert(memcmp((a), (b), (bytes)) == 0, __VA_ARGS__)
#define cr_expect_eq cr_assert_eq
#define cr_expect_leq cr_assert_leq

#endif
