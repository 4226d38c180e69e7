/* The gauge: how many bytes are live and how high the arena reaches, counted while a step runs. */
#ifndef PLIM_RUNTIME_EXEC_GAUGE_H
#define PLIM_RUNTIME_EXEC_GAUGE_H

#include "runtime/exec/bind.h"

typedef struct plim_gauge {
  const char *base;   /* of the arena; NULL: lives have allocations of their own, no height */
  int64_t live_bytes; /* now */
  int64_t peak_bytes, height_bytes;
} plim_gauge;

/* Before step 0: what is there without any op, persistent storages and inputs. */
void plim_gauge_begin(plim_gauge *gauge, plim_bound *bound, const char *base);

/* Step j is about to run with the pointers in `bound`: take off what has ended, add what its arguments show for the
 * first time. O(operands + lives that end here). */
void plim_gauge_step(plim_gauge *gauge, plim_bound *bound, int32_t j);

/* PLIM_EDIFF when peak or height are not the plan's; all numbers in the sentence. */
PLIM_MUST_USE plim_status plim_gauge_compare(const plim_gauge *gauge, const plim_bound *bound);

#endif
