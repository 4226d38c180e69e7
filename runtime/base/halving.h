/* Searches by halving for a small number of bytes with which a trial succeeds. The trial need not be monotone: it may
 * succeed with some bytes and fail with more. Deterministic where the trial is. */
#ifndef PLIM_RUNTIME_BASE_HALVING_H
#define PLIM_RUNTIME_BASE_HALVING_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Try with so many bytes. *yes out: 1: it succeeds. */
typedef plim_status plim_gets_through(void *user, int64_t bytes, int *yes);

/* Search between failing_bytes, with which the trial fails, and bytes_max, which are tried first. The range is halved
 * at most `halvings` times, or until its ends are one `unit` apart.
 *   bytes  [1]  out  a multiple of the unit with which the trial succeeded; PLIM_NONE: it failed even with the most.
 * Fewer bytes may succeed as well Calls the trial at most halvings + 1 times. Errors are those of the trial. */
PLIM_MUST_USE plim_status plim_halve_bytes(plim_gets_through *gets_through, void *user, int64_t failing_bytes,
                                           int64_t bytes_max, int64_t unit, int32_t halvings, int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
