/* Goes over budgets from the smallest to the largest, each with its share of the time that is left.
 *
 * Example: five budgets have 60 s. The first gets 12 s and takes 6 s, the second gets a quarter of 54 s, and so on:
 * what one leaves is for the others. Where budgets may be left out and the first takes 25 s, 35 s are left for four
 * others, which would take 100 s. So every third one is planned, and the last: what is planned lies evenly. */
#include "planner/front/front.h"
#include "runtime/base/effort.h"

plim_status plim_budget_sweep_check(plim_context *ctx, int32_t n, const int64_t *budget) {
  for (int32_t i = 1; i < n; i++) {
    if (budget[i] >= budget[i - 1]) continue;
    return plim_fail(ctx, PLIM_EUSAGE, "budget %d of the front, %lld bytes, is below the one before it", (int)i,
                     (long long)budget[i]);
  }
  return PLIM_OK;
}

/* How many budgets further on to plan next, after `done` budgets since begun_ns: one, unless a time limit leaves room
 * for fewer at what one took so far. */
static int32_t find_stride(const plim_budget_sweep *sweep, int32_t i, int32_t done, int64_t begun_ns) {
  const int32_t others = sweep->n - 1 - i;
  if (!sweep->may_skip || sweep->time_limit_ns <= 0 || others < 2 || done == 0) return 1;
  const double each_ns = (double)(plim_now_ns() - begun_ns) / done,
               left_ns = (double)plim_effort_rest(sweep->time_limit_ns, sweep->started_ns);
  const double wanted = left_ns > each_ns ? others * each_ns / left_ns : others;
  return wanted < 1.5 ? 1 : wanted > others ? others : (int32_t)(wanted + 0.5);
}

plim_status plim_budget_sweep_run(const plim_budget_sweep *sweep) {
  const int64_t begun_ns = plim_now_ns();
  for (int32_t i = 0, done = 0, stride; i < sweep->n; i += stride, done++) {
    stride = find_stride(sweep, i, done, begun_ns);
    const int32_t parts = (sweep->n - 1 - i) / stride + 1;
    const int64_t left_ns = plim_effort_rest(sweep->time_limit_ns, sweep->started_ns);
    const plim_status status = sweep->plan(sweep->user, i, plim_effort_share(left_ns, parts));
    if (status == PLIM_ECANCEL) return PLIM_OK;
    PLIM_TRY(status);
  }
  return PLIM_OK;
}
