/* The effort that work on a context may still use: a deadline beside the context's cancel. Every long loop of the
 * planner and of the packer asks plim_effort_over; after that it returns PLIM_ECANCEL, or what it has so far. Without a
 * deadline and a cancel the answer is always 0, so that results stay deterministic.
 *
 * Deadlines nest: a part of the work gets a share of the time, and nothing inside can have more than what is outside.
 */
#ifndef PLIM_RUNTIME_BASE_EFFORT_H
#define PLIM_RUNTIME_BASE_EFFORT_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Let work on the context end soon after `deadline_ns` (by plim_now_ns; INT64_MAX: no change); a deadline that holds
 * already stays when it is earlier. Returns the deadline before, for plim_effort_end. A fork has the deadline that its
 * parent had when it was made. */
PLIM_MUST_USE int64_t plim_effort_begin(plim_context *ctx, int64_t deadline_ns);

/* The same for a last piece of work that is done even where a deadline is over: it may begin and has until
 * `deadline_ns`, if that is later than the deadline that holds. */
PLIM_MUST_USE int64_t plim_effort_begin_last(plim_context *ctx, int64_t deadline_ns);

/* Restore the deadline. `status` is that of the work: PLIM_ECANCEL becomes PLIM_OK when only the deadline ended it, as
 * its best so far is kept, and when the outer deadline is not over. */
PLIM_MUST_USE plim_status plim_effort_end(plim_context *ctx, int64_t outer_ns, plim_status status);

/* 1: cancelled, or after the deadline: end now. `work` is about how many nanoseconds the caller worked since it asked
 * last; the clock is read every PLIM_EFFORT_LOOK of them. Thread-safe, a few nanoseconds. */
enum { PLIM_EFFORT_LOOK = 10000 };
int plim_effort_over(plim_context *ctx, int64_t work);

/* The deadline, INT64_MAX: none; the time until then, at least 0. */
int64_t plim_effort_deadline(const plim_context *ctx);
int64_t plim_effort_left_ns(const plim_context *ctx);

/* ---- for tests ---- */

/* Read this clock in place of plim_now_ns for the deadline; NULL: the real one. */
typedef int64_t plim_effort_clock(void *user);
void plim_effort_set_clock(plim_context *ctx, plim_effort_clock *clock, void *user);

/* The work that was told to plim_effort_over after the answer was 1. */
int64_t plim_effort_late(const plim_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
