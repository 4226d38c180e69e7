/* Step times: a median over the last few thousand, in constant memory. */
#ifndef PLIM_TOOLS_PLIMSOLL_TIMES_H
#define PLIM_TOOLS_PLIMSOLL_TIMES_H

#include <stdint.h>

enum { TIMES_KEPT = 4096 };

typedef struct times {
  int64_t count; /* added so far */
  int64_t ns[TIMES_KEPT];
} times;

void times_add(times *t, int64_t ns);

/* The time that `percent` of the kept ones do not exceed (50: the median); 0 when there is none. */
int64_t times_percentile(const times *t, int percent);

#endif
