/* Times of a plan's commands, from training steps that were timed op by op. Functions run on the thread of the context.
 */
#ifndef PLIM_RUNTIME_TRAIN_MEASURED_TIMES_H
#define PLIM_RUNTIME_TRAIN_MEASURED_TIMES_H

#include "runtime/inspect/paged_run.h"

/* Steps of one plan that were timed. */
typedef struct plim_timed_steps {
  const plim_plan *plan;
  int32_t n;                /* > 0 */
  const plim_timed *sample; /* [n][plan->n_commands] */
} plim_timed_steps;

typedef struct plim_measured_times {
  const plim_plan *plan; /* borrowed */
  double delay_share;    /* by which a run took longer, as a multiple of the time of copies beside it */
  int64_t *time_ns; /* [n_commands] median over the timed steps, with the lag before the command, without the delay */
  int64_t *variant_ns; /* [n_variants] mean over the runs of the variant in a step; PLIM_UNKNOWN: no command runs it */
} plim_measured_times;

/* Find the times of the plan that the steps ran. Free them also after a failure. PLIM_ENOMEM.
 * O(commands x steps x log(steps)). */
PLIM_MUST_USE plim_status plim_measured_times_find(plim_context *ctx, const plim_timed_steps *steps,
                                                   plim_measured_times *times);
void plim_measured_times_free(plim_context *ctx, plim_measured_times *times); /* a zeroed one is legal */

/* Predict the time of the plan with its measured times: the makespan of its queues. The errors of
 * plim_plan_from_parts. */
PLIM_MUST_USE plim_status plim_measured_times_predict(const plim_graph *graph, const plim_measured_times *times,
                                                      int64_t *out);

/* Find by how much a step takes longer than the medians of its commands say. Where queues wait for each other, the
 * later one of two times that vary counts.
 *   predicted_ns  [1]  in   of plim_measured_times_predict
 *   ratio         [1]  out  of the median makespan of the steps to predicted_ns; 1 where that is 0
 * PLIM_ENOMEM. O(steps x (commands + waits)). */
PLIM_MUST_USE plim_status plim_measured_times_variation(plim_context *ctx, const plim_timed_steps *steps,
                                                        int64_t predicted_ns, double *ratio);

#endif
