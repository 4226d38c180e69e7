/* A memory hook that refuses one allocation, and counts what is held. */
#ifndef PLIM_TESTS_SUPPORT_FAULT_H
#define PLIM_TESTS_SUPPORT_FAULT_H

#include "runtime/base/context.h"

typedef struct fault {
  int64_t countdown; /* the allocation that is refused: 1 = the next; 0 or less: none */
  int64_t held;      /* allocations not yet freed */
} fault;

/* plim_resize with a fault as its user. */
void *fault_resize(void *user, void *ptr, size_t old_bytes, size_t new_bytes);

/* Run `work` with the first, second, ... allocation refused until it succeeds. Asserts that each failure is PLIM_ENOMEM
 * and that every run, failed or not, leaves nothing held. `work` frees what it made. */
void fault_each_allocation(plim_status (*work)(plim_context *ctx));

#endif
