/* Criterion tells of a failed assertion by one function, in the process of the test. The linker's --wrap puts ours in
 * its place, which adds the seed to the message. */
#include "tests/support/test_seed.h"

#include <criterion/event.h>
#include <criterion/stats.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void __real_criterion_send_assert(struct criterion_assert_stats *stats);
void __wrap_criterion_send_assert(struct criterion_assert_stats *stats);

static struct {
  uint64_t seed;
  int is_set;
} current; /* a test is a process */

uint64_t test_seed_at(uint64_t seed) {
  current.seed = seed;
  current.is_set = 1;
  return seed;
}

uint64_t test_seed(uint64_t usual) {
  const char *given = getenv("PLIM_TEST_SEED");
  char *end = NULL;
  uint64_t seed = given ? strtoull(given, &end, 10) : usual;
  if (given && (end == given || *end != '\0')) seed = usual;
  return test_seed_at(seed);
}

const char *test_seed_message(const char *message, char *text, size_t size) {
  if (current.is_set) {
    (void)snprintf(text, size, "%s (PLIM_TEST_SEED=%" PRIu64 ")", message, current.seed);
  } else {
    (void)snprintf(text, size, "%s", message);
  }
  return text;
}

void __wrap_criterion_send_assert(struct criterion_assert_stats *stats) {
  enum { MESSAGE_BYTES = 8192 };
  char text[MESSAGE_BYTES];
  struct criterion_assert_stats said = *stats;
  if (!said.passed) said.message = test_seed_message(said.message ? said.message : "", text, sizeof text);
  __real_criterion_send_assert(&said);
}
