/* Chen's strategies on step graphs: checkpoints at every sqrt(n)-th candidate, and the greedy form with a sweep over
 * its byte threshold. Both are tried at cuts and linearised; the incumbent keeps the fastest that fits. */
#include "planner/chain/chain.h"
#include "planner/strategies/strategy.h"

enum { CHEN_EFFORT = 8, FINE_STEPS = 40, COARSE_STEPS = 7, MANY_OPS = 2000 };

typedef struct chen {
  plim_incumbent *inc;
  plim_schedule schedule;
} chen;

static plim_status submit(void *user, plim_checkpoints *c) {
  chen *u = user;
  plim_incumbent *inc = u->inc;
  if (plim_incumbent_over(inc)) return PLIM_OK;
  PLIM_TRY(plim_checkpoints_schedule(c, 1, INT32_MAX, &u->schedule));
  PLIM_TRY(plim_timeline_evaluate(inc->timeline, &u->schedule));
  if (inc->found && !inc->min_memory && inc->timeline->time_ns >= inc->best_ns) return PLIM_OK; /* not worth packing */
  return plim_incumbent_submit(u->inc, &u->schedule, CHEN_EFFORT, NULL);
}

static plim_status every_sqrt(plim_checkpoints *c, chen *u) {
  for (int kind = PLIM_CHECKPOINT_CUTS; kind <= PLIM_CHECKPOINT_LINEAR; kind++) {
    int32_t n = plim_checkpoints_every(c, (plim_checkpoint_kind)kind, 1), k = 1;
    while ((k + 1) * (k + 1) <= n) k++;
    (void)plim_checkpoints_every(c, (plim_checkpoint_kind)kind, k);
    PLIM_TRY(submit(u, c));
  }
  return PLIM_OK;
}

static plim_status run(plim_incumbent *inc, int greedy) {
  plim_checkpoints *c = NULL;
  chen u = {inc, {.ctx = inc->problem->ctx}};
  plim_status status = plim_checkpoints_new(inc->problem, &c);
  int32_t steps = inc->problem->n_ops > MANY_OPS ? COARSE_STEPS : FINE_STEPS;
  if (status == PLIM_OK) status = greedy ? plim_checkpoints_sweep(c, steps, submit, &u) : every_sqrt(c, &u);
  plim_checkpoints_free(c);
  plim_schedule_free(&u.schedule);
  return status;
}

plim_status plim_chen_sqrt_run(plim_incumbent *inc) {
  return run(inc, 0);
}

plim_status plim_chen_greedy_run(plim_incumbent *inc) {
  return run(inc, 1);
}
