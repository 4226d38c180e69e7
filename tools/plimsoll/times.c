/* Step times. */
#include "tools/plimsoll/times.h"

#include <stdlib.h>
#include <string.h>

void times_add(times *t, int64_t ns) {
  t->ns[t->count++ % TIMES_KEPT] = ns;
}

static int by_value(const void *a, const void *b) {
  int64_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

int64_t times_percentile(const times *t, int percent) {
  static int64_t sorted[TIMES_KEPT];
  int64_t kept = t->count < TIMES_KEPT ? t->count : TIMES_KEPT;
  if (kept == 0) return 0;
  memcpy(sorted, t->ns, (size_t)kept * sizeof *sorted);
  qsort(sorted, (size_t)kept, sizeof *sorted, by_value);
  return sorted[(kept - 1) * percent / 100];
}
