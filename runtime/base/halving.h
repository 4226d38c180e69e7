/* The smallest number of bytes found with which something gets through that is not monotone in them. */
#ifndef PLIM_RUNTIME_BASE_HALVING_H
#define PLIM_RUNTIME_BASE_HALVING_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *yes: does it get through with so many bytes? */
typedef plim_status plim_gets_through(void *user, int64_t bytes, int *yes);

/* Halve the range between failing_bytes, with which it does not, and most_bytes, which are tried first, at most
 * `halvings` times or until they are one `unit` apart. *bytes out: a multiple of the unit that was tried and works; -1
 * when not even the most do. Fewer may work as well. At most halvings + 1 trials. */
PLIM_MUST_USE plim_status plim_halve_bytes(plim_gets_through *gets_through, void *user, int64_t failing_bytes,
                                           int64_t most_bytes, int64_t unit, int32_t halvings, int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
