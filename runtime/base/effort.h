/* A deadline for the work on a context, beside the context's cancel. Every long loop of the planner and of the packer
 * calls plim_effort_over. When the result is 1, the loop ends with PLIM_ECANCEL, or with its best result so far.
 * Without a deadline and a cancel the result is always 0, so that the work stays deterministic.
 *
 * Deadlines nest: a part of the work may get a share of the time, within the deadline of the work around it. Only
 * plim_effort_begin_last goes beyond that. */
#ifndef PLIM_RUNTIME_BASE_EFFORT_H
#define PLIM_RUNTIME_BASE_EFFORT_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Make work on the context end soon after `deadline_ns` (by plim_now_ns; PLIM_TIME_UNLIMITED: no change). A present
 * deadline that is earlier stays. Returns the present deadline, for plim_effort_end. A fork has the deadline that its
 * parent had when the fork was made. */
PLIM_MUST_USE int64_t plim_effort_begin(plim_context *ctx, int64_t deadline_ns);

/* The same for the last part of the work, which is done even after the present deadline: the deadline becomes
 * `deadline_ns`, if that is later. */
PLIM_MUST_USE int64_t plim_effort_begin_last(plim_context *ctx, int64_t deadline_ns);

/* Restore the outer deadline. Returns `status`, that of the work. Exception: PLIM_ECANCEL becomes PLIM_OK when only the
 * inner deadline ended the work, whose best result is then kept. */
PLIM_MUST_USE plim_status plim_effort_end(plim_context *ctx, int64_t outer_ns, plim_status status);

/* The deadline of a time limit that runs from `start_ns`. PLIM_TIME_UNLIMITED, none: a limit of 0 or less, or of
 * centuries. */
int64_t plim_effort_deadline_of(int64_t start_ns, int64_t limit_ns);

/* Parts of a time limit, by rule: no limit (0 or less) has none, 0; any other part is at least 1, so that it is never
 * taken for none.
 *   share    one of `parts` > 0 equal parts
 *   percent  so many hundredths, 0 to 100
 *   rest     what is left of a limit that runs from `start_ns` */
int64_t plim_effort_share(int64_t limit_ns, int64_t parts);
int64_t plim_effort_percent(int64_t limit_ns, int32_t percent);
int64_t plim_effort_rest(int64_t limit_ns, int64_t start_ns);

/* Whether the work must end now: it is cancelled, or the deadline is over. `work` is the caller's work since its last
 * call, in nanoseconds, roughly. The clock is read once in PLIM_EFFORT_LOOK of work. Thread-safe, a few nanoseconds. */
enum { PLIM_EFFORT_LOOK = 10000 };
int plim_effort_over(plim_context *ctx, int64_t work);

/* The deadline, or PLIM_TIME_UNLIMITED; the time until then, at least 0. */
int64_t plim_effort_deadline(const plim_context *ctx);
int64_t plim_effort_left_ns(const plim_context *ctx);

/* ---- for tests ---- */

/* Read this clock in place of plim_now_ns for the deadline; NULL: the real one. */
typedef int64_t plim_effort_clock(void *user);
void plim_effort_set_clock(plim_context *ctx, plim_effort_clock *clock, void *user);

/* The work that callers reported to plim_effort_over after its result was 1. */
int64_t plim_effort_late(const plim_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
