/* Fills and compares the bytes outside of sorted ranges. The ranges of a bad plan may overlap, so a walk keeps the
 * furthest end. */
#include "runtime/device/check_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/fnv.h"
#include "runtime/base/integers.h"

static int by_begin(const void *a, const void *b) {
  const plim_range *x = a, *y = b;
  return plim_integers_compare(x->begin, y->begin);
}

void plim_ranges_sort(plim_range *range, int32_t n) {
  qsort(range, (size_t)n, sizeof *range, by_begin);
}

/* Find the next gap at or after *at: [*at, return value). Advances *i, the first range that was not passed. *at is
 * `bytes` or more when there is no gap left. */
static int64_t next_gap(const plim_range *range, int32_t n, int64_t bytes, int32_t *i, int64_t *at) {
  while (*i < n && range[*i].begin <= *at) {
    if (range[*i].end > *at) *at = range[*i].end;
    (*i)++;
  }
  int64_t end = *i < n && range[*i].begin < bytes ? range[*i].begin : bytes;
  return end > *at ? end : *at;
}

void plim_fill_outside(char *arena, int64_t bytes, const plim_range *range, int32_t n, int byte) {
  int32_t i = 0;
  for (int64_t at = 0, end; at < bytes; at = end) {
    end = next_gap(range, n, bytes, &i, &at);
    if (end > at) memset(arena + at, byte, (size_t)(end - at));
  }
}

int64_t plim_differs(const char *a, const char *b, int64_t begin, int64_t end) {
  if (end <= begin || memcmp(a + begin, b + begin, (size_t)(end - begin)) == 0) return PLIM_NONE;
  while (a[begin] == b[begin]) begin++;
  return begin;
}

int64_t plim_differs_outside(const char *a, const char *b, int64_t bytes, const plim_range *range, int32_t n) {
  int32_t i = 0;
  for (int64_t at = 0, end; at < bytes; at = end) {
    end = next_gap(range, n, bytes, &i, &at);
    int64_t found = plim_differs(a, b, at, end);
    if (found >= 0) return found;
  }
  return PLIM_NONE;
}

uint64_t plim_bytes_hash(const char *bytes, int64_t count) {
  uint64_t hash = PLIM_FNV64, word = 0;
  for (int64_t i = 0; i < count; i += 8) {
    size_t left = (size_t)(count - i);
    word = 0;
    memcpy(&word, bytes + i, left < sizeof word ? left : sizeof word);
    hash = (hash ^ word) * PLIM_FNV64_PRIME;
    hash ^= hash >> 32;
  }
  return hash;
}
