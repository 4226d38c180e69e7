/* Chen's strategies on step graphs: sets of checkpoints, the schedule of each submitted to the incumbent.
 *   sqrt    a checkpoint at every sqrt(n)-th candidate
 *   greedy  a checkpoint whenever a threshold of bytes is reached; thresholds are swept
 * Candidates are the articulation points of the forward part, and then all its ops as if they were a chain
 * (planner/chain/checkpoints.c). The incumbent keeps the fastest schedule that fits.
 * Source: Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016. */
#include "planner/strategies/strategy.h"

#include "planner/chain/chain.h"
#include "planner/strategies/strategies_internal.h"

typedef struct chen {
  plim_incumbent *inc;
  plim_schedule schedule;
} chen;

/* Submit the schedule of a set of checkpoints, unless it is slower than the best. */
static plim_status submit_if_faster(void *user, plim_checkpoints *checkpoints) {
  chen *run = user;
  plim_incumbent *inc = run->inc;
  const plim_timeline *timeline = NULL;
  if (plim_incumbent_is_out_of_time(inc)) return PLIM_OK;
  PLIM_TRY(plim_checkpoints_schedule(checkpoints, 1, INT32_MAX, &run->schedule));
  PLIM_TRY(plim_incumbent_evaluate(inc, &run->schedule, &timeline));
  if (inc->has_best && !inc->task.min_memory && timeline->time_ns >= inc->best_ns) return PLIM_OK;
  return plim_incumbent_submit(run->inc, &run->schedule, strategies_tuning.chen.packing_rounds, NULL);
}

static plim_status every_sqrt(plim_checkpoints *checkpoints, chen *run) {
  for (int kind = PLIM_CHECKPOINT_CUTS; kind <= PLIM_CHECKPOINT_LINEAR; kind++) {
    int32_t n = plim_checkpoints_every(checkpoints, (plim_checkpoint_kind)kind, 1), k = 1;
    while ((k + 1) * (k + 1) <= n) k++;
    (void)plim_checkpoints_every(checkpoints, (plim_checkpoint_kind)kind, k);
    PLIM_TRY(submit_if_faster(run, checkpoints));
  }
  return PLIM_OK;
}

static plim_status submit_checkpoints(plim_incumbent *inc, int greedy) {
  plim_checkpoints *checkpoints = NULL;
  chen run = {inc, {.ctx = inc->problem->ctx}};
  plim_status status = plim_checkpoints_new(inc->problem, &checkpoints);
  int32_t thresholds = inc->problem->n_ops > strategies_tuning.chen.many_ops ? strategies_tuning.chen.thresholds_many
                                                                             : strategies_tuning.chen.thresholds;
  if (status == PLIM_OK) {
    status = greedy ? plim_checkpoints_sweep(checkpoints, thresholds, submit_if_faster, &run)
                    : every_sqrt(checkpoints, &run);
  }
  plim_checkpoints_free(checkpoints);
  plim_schedule_free(&run.schedule);
  return status;
}

plim_status plim_chen_sqrt_run(plim_incumbent *inc) {
  return submit_checkpoints(inc, 0);
}

plim_status plim_chen_greedy_run(plim_incumbent *inc) {
  return submit_checkpoints(inc, 1);
}
