/* splitmix64. */
#include "tests/support/test_random.h"

static uint64_t scramble(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t test_random(uint64_t *state) {
  *state += 0x9e3779b97f4a7c15u;
  return scramble(*state);
}

int64_t test_random_between(uint64_t *state, int64_t low, int64_t high) {
  uint64_t span = (uint64_t)(high - low) + 1;
  return low + (int64_t)(test_random(state) % span);
}

int test_random_chance(uint64_t *state, int percent) {
  return test_random_between(state, 0, 99) < percent;
}

uint64_t test_mix(uint64_t hash, uint64_t number) {
  return scramble(hash * 0x9e3779b97f4a7c15u + number + 1);
}
