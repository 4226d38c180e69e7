/* Chen's strategies on step graphs: checkpoints at every sqrt(n)-th candidate, and the greedy form with a sweep over
 * its byte threshold. Both are tried at cuts and linearised; the planning keeps the fastest that fits. */
#include "planner/checkpoints.h"
#include "planner/planning.h"

enum { CHEN_EFFORT = 8, THRESHOLDS = 48 };

static plim_status offer_kept(plim_planning *pl, plim_checkpoints *c, plim_schedule *schedule) {
  PLIM_TRY(plim_checkpoints_schedule(c, schedule));
  return plim_planning_offer(pl, schedule, CHEN_EFFORT, NULL);
}

static plim_status try_sqrt(plim_planning *pl, plim_checkpoints *c, plim_schedule *schedule) {
  for (int kind = PLIM_CHECKPOINT_CUTS; kind <= PLIM_CHECKPOINT_LINEAR; kind++) {
    int32_t n = plim_checkpoints_every(c, (plim_checkpoint_kind)kind, 1), k = 1;
    while ((k + 1) * (k + 1) <= n) k++;
    (void)plim_checkpoints_every(c, (plim_checkpoint_kind)kind, k);
    PLIM_TRY(offer_kept(pl, c, schedule));
  }
  return PLIM_OK;
}

static int64_t forward_bytes(const plim_checkpoints *c) {
  const plim_problem *p = c->problem;
  int64_t bytes = 0;
  for (int32_t i = 0; i < p->n_items; i++) {
    if (p->item[i].producer >= 0 && c->is_forward[p->item[i].producer]) bytes += p->item[i].bytes;
  }
  return bytes;
}

/* Thresholds from all forward bytes down to a thousandth of them, in equal ratios. */
static plim_status try_greedy(plim_planning *pl, plim_checkpoints *c, plim_schedule *schedule) {
  for (int kind = PLIM_CHECKPOINT_CUTS; kind <= PLIM_CHECKPOINT_LINEAR; kind++) {
    int32_t last = -1;
    int64_t bytes = forward_bytes(c);
    for (int32_t i = 0; i < THRESHOLDS; i++, bytes -= bytes / 7) {
      int32_t n = plim_checkpoints_greedy(c, (plim_checkpoint_kind)kind, bytes);
      if (n == last) continue;
      last = n;
      PLIM_TRY(offer_kept(pl, c, schedule));
      if (plim_context_cancelled(pl->problem->ctx)) return PLIM_ECANCEL;
    }
  }
  return PLIM_OK;
}

static plim_status run(plim_planning *pl,
                       plim_status (*attempt)(plim_planning *, plim_checkpoints *, plim_schedule *)) {
  plim_checkpoints *c = NULL;
  plim_schedule schedule = {.ctx = pl->problem->ctx};
  plim_status status = plim_checkpoints_new(pl->problem, &c);
  if (status == PLIM_OK) status = attempt(pl, c, &schedule);
  plim_checkpoints_free(c);
  plim_schedule_free(&schedule);
  return status;
}

plim_status plim_chen_sqrt_run(plim_planning *pl) {
  return run(pl, try_sqrt);
}

plim_status plim_chen_greedy_run(plim_planning *pl) {
  return run(pl, try_greedy);
}
