/* Fault injection through the memory hook. */
#include "tests/support/fault.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MOST_ALLOCATIONS = 100000 };

void *fault_resize(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
  fault *f = user;
  (void)old_bytes;
  if (new_bytes == 0) {
    f->held--;
    free(ptr);
    return NULL;
  }
  if (f->countdown > 0 && --f->countdown == 0) return NULL;
  void *result = realloc(ptr, new_bytes);
  if (result && !ptr) f->held++;
  return result;
}

void fault_each_allocation(plim_status (*work)(plim_context *ctx)) {
  for (int64_t n = 1; n < MOST_ALLOCATIONS; n++) {
    fault f = {0, 0};
    plim_context *ctx;
    cr_assert_eq(plim_context_new(fault_resize, &f, &ctx), PLIM_OK);
    f.countdown = n;
    plim_status status = work(ctx);
    int refused = f.countdown == 0;
    cr_assert_eq(f.held, 1, "refused allocation %lld: %lld allocations are still held", (long long)n,
                 (long long)f.held - 1);
    if (refused) {
      cr_assert_eq(status, PLIM_ENOMEM, "refused allocation %lld gave: %s (%s)", (long long)n, plim_status_name(status),
                   plim_context_error(ctx));
    } else {
      cr_assert_eq(status, PLIM_OK, "with enough memory: %s", plim_context_error(ctx));
    }
    plim_context_free(ctx);
    if (!refused) return;
  }
  cr_assert_fail("more than %d allocations", MOST_ALLOCATIONS);
}
