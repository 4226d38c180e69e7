/* A memory hook that refuses the n-th request, or all of them for a while: for tests that every failure leaves nothing
 * after. */
#ifndef PLIM_TESTS_SUPPORT_FAILING_MEMORY_H
#define PLIM_TESTS_SUPPORT_FAILING_MEMORY_H

#include <stdatomic.h>

#include "runtime/base/context.h"

typedef struct plim_failing_memory {
  int64_t refuse_at;             /* the request that fails, 1, 2, ...; 0: none */
  atomic_int_least64_t requests; /* counted so far, frees excluded, from any thread */
  int refuse_all;                /* 1: every request fails */
} plim_failing_memory;

/* For plim_context_new, with a plim_failing_memory as `user`. */
void *plim_failing_resize(void *user, void *ptr, size_t old_bytes, size_t new_bytes);

/* Run `body` with request 1, 2, ... refused until it succeeds: each time but the last it must return PLIM_ENOMEM and
 * give back what it took. `body` must free all that it makes. Fails the running test otherwise. Returns the number of
 * requests that the successful run needed. */
int64_t plim_test_each_allocation(plim_status (*body)(plim_context *ctx, void *user), void *user);

#endif
