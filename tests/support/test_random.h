/* Random numbers of the tests: one 64-bit state, printed as the seed of a failing case. */
#ifndef PLIM_TESTS_SUPPORT_TEST_RANDOM_H
#define PLIM_TESTS_SUPPORT_TEST_RANDOM_H

#include <stdint.h>

/* Next number. Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators (splitmix64), 2014. */
uint64_t test_random(uint64_t *state);

/* Uniform in [low, high], both included; low <= high. */
int64_t test_random_between(uint64_t *state, int64_t low, int64_t high);

/* 1 with a probability of `percent` in a hundred. */
int test_random_chance(uint64_t *state, int percent);

/* One number from several: a hash that chains. */
uint64_t test_mix(uint64_t hash, uint64_t number);

#endif
