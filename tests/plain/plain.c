/* The plain program behind criterion.h of this folder. Prints the summary line that Criterion prints. An argument is a
 * part of the names of the tests to run. */
#include "criterion/criterion.h"

#include <stdarg.h>
#include <stdint.h>

enum { MOST = 64 };

typedef struct plain_test {
  const char *suite, *name;
  void (*run)(void);
} plain_test;

static const plain_suite *suites[MOST];
static plain_test tests[MOST];
static int n_suites, n_tests;

static void refuse_more(void) {
  (void)fprintf(stderr, "more than %d tests or suites: raise MOST\n", (int)MOST);
  exit(1);
}

void plain_add_suite(const plain_suite *suite) {
  if (n_suites == MOST) refuse_more();
  suites[n_suites++] = suite;
}

void plain_add_test(const char *suite, const char *name, void (*run)(void)) {
  if (n_tests == MOST) refuse_more();
  tests[n_tests++] = (plain_test){suite, name, run};
}

void plain_fail(const char *file, int line, const char *what, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)fprintf(stderr, "%s:%d: %s is false: ", file, line, what);
  (void)vfprintf(stderr, format, args);
  (void)fprintf(stderr, "\n");
  va_end(args);
  exit(1);
}

/* Seeds as in tests/support/test_seed.h; a failure does not name the seed here. */
uint64_t test_seed(uint64_t usual) {
  const char *text = getenv("PLIM_TEST_SEED");
  return text ? strtoull(text, NULL, 10) : usual;
}

uint64_t test_seed_at(uint64_t seed) {
  return seed;
}

static void run(const plain_test *test) {
  const plain_suite *suite = NULL;
  for (int i = 0; i < n_suites; i++) {
    if (strcmp(suites[i]->name, test->suite) == 0) suite = suites[i];
  }
  if (suite && suite->init) suite->init();
  test->run();
  if (suite && suite->fini) suite->fini();
}

int main(int argc, char **argv) {
  int n = 0;
  for (int i = 0; i < n_tests; i++) {
    if (argc > 1 && !strstr(tests[i].name, argv[1])) continue;
    (void)fprintf(stderr, "[RUN ] %s::%s\n", tests[i].suite, tests[i].name);
    run(&tests[i]);
    n++;
  }
  (void)fprintf(stderr, "[====] Synthesis: Tested: %d | Passing: %d | Failing: 0 | Crashing: 0\n", n, n);
  return n > 0 ? 0 : 1;
}
