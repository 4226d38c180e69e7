/* Seeds of randomised tests. PLIM_TEST_SEED in the environment sets another seed than a test's own. The message of
 * every failed assertion ends with the seed to set, so that the failing case can be run again, first and alone. */
#ifndef PLIM_TESTS_SUPPORT_TEST_SEED_H
#define PLIM_TESTS_SUPPORT_TEST_SEED_H

#include <stddef.h>
#include <stdint.h>

/* The seed of a test: PLIM_TEST_SEED when it is a number, else `usual`. */
uint64_t test_seed(uint64_t usual);

/* `seed`, which is that of the case that begins now. A test of 60 cases:
 *   for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) */
uint64_t test_seed_at(uint64_t seed);

/* The message of a failed assertion with the seed of the case that failed; as it is when there was none.
 *   text  [size]  out
 * Returns text. */
const char *test_seed_message(const char *message, char *text, size_t size);

#endif
