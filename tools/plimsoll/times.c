/* Step times. */
#include "tools/plimsoll/times.h"

#include <string.h>

#include "runtime/base/integers.h"

void times_add(times *t, int64_t ns) {
  t->ns[t->count++ % TIMES_KEPT] = ns;
}

int64_t times_percentile(const times *t, int percent) {
  static int64_t sorted[TIMES_KEPT];
  int64_t kept = t->count < TIMES_KEPT ? t->count : TIMES_KEPT;
  if (kept == 0) return 0;
  memcpy(sorted, t->ns, (size_t)kept * sizeof *sorted);
  plim_integers_sort(sorted, kept);
  return sorted[(kept - 1) * percent / 100];
}
