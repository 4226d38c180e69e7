/* The context of a test, and that all its memory was given back: asked at the end of the test itself, because a failed
 * assertion in a suite's .fini fails nothing. */
#ifndef PLIM_TESTS_SUPPORT_TEST_CONTEXT_H
#define PLIM_TESTS_SUPPORT_TEST_CONTEXT_H

#include "runtime/base/context.h"

/* Both fail the running test when they fail. */
plim_context *plim_test_context(void);
void plim_test_context_end(plim_context *ctx); /* frees it, after a look at its memory */

#endif
