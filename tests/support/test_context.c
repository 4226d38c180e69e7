#include "tests/support/test_context.h"

#include <criterion/criterion.h>

plim_context *plim_test_context(void) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  return ctx;
}

void plim_test_context_end(plim_context *ctx) {
  cr_assert_eq(plim_context_memory(ctx).bytes, 0, "%lld bytes were not given back",
               (long long)plim_context_memory(ctx).bytes);
  plim_context_free(ctx);
}
