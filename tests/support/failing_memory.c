/* Fault injection through the memory hook. */
#include "tests/support/failing_memory.h"

#include <criterion/criterion.h>
#include <stdlib.h>

void *plim_failing_resize(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
  plim_failing_memory *memory = user;
  (void)old_bytes;
  if (new_bytes == 0) {
    free(ptr);
    return NULL;
  }
  int64_t request = atomic_fetch_add(&memory->requests, 1) + 1;
  return memory->refuse_all || request == memory->refuse_at ? NULL : realloc(ptr, new_bytes);
}

int64_t plim_test_each_allocation(plim_status (*body)(plim_context *ctx, void *user), void *user) {
  for (int64_t n = 1;; n++) {
    plim_failing_memory memory = {.refuse_at = 0};
    plim_context *ctx = NULL;
    cr_assert_eq(plim_context_new(plim_failing_resize, &memory, &ctx), PLIM_OK);
    memory = (plim_failing_memory){.refuse_at = n};
    plim_status status = body(ctx, user);
    cr_assert_eq(plim_context_memory(ctx).bytes, 0, "request %lld refused: %lld bytes are left", (long long)n,
                 (long long)plim_context_memory(ctx).bytes);
    if (status != PLIM_OK) {
      cr_assert_eq(status, PLIM_ENOMEM, "request %lld refused: %s", (long long)n, plim_context_error(ctx));
    }
    int refused = memory.requests >= n;
    plim_context_free(ctx);
    if (status == PLIM_OK) {
      cr_assert(!refused, "request %lld was refused and no one noticed", (long long)n);
      return n - 1;
    }
  }
}
