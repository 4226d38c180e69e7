/* Starts from checkpoints: sweeps over sets of checkpoints by Chen's greedy rule
 * (planner/chain/checkpoints.c), makes two schedules of each, one that holds what it recomputes and one that does not,
 * and keeps the best. */
#include "planner/search/searches.h"

#include "planner/chain/chain.h"
#include "planner/search/search_tuning.h"

typedef struct checkpoint_trials {
  plim_incumbent *inc;
  int64_t limit;
  int32_t runs_limit;
  plim_schedule *trial, *out;
  int64_t peak_bytes, time_ns; /* of out */
} checkpoint_trials;

/* Within the limit before above it; then less time, or a lower peak where both are above. */
static int is_better(const checkpoint_trials *s, const plim_timeline *timeline) {
  int fits = timeline->peak_bytes <= s->limit, best_fits = s->peak_bytes <= s->limit;
  if (fits != best_fits) return fits;
  if (fits || timeline->peak_bytes == s->peak_bytes) return timeline->time_ns < s->time_ns;
  return timeline->peak_bytes < s->peak_bytes;
}

static plim_status keep_if_better(checkpoint_trials *s, const plim_schedule *trial) {
  const plim_timeline *timeline = NULL;
  PLIM_TRY(plim_incumbent_evaluate(s->inc, trial, &timeline));
  if (s->out->n > 0 && !is_better(s, timeline)) return PLIM_OK;
  s->peak_bytes = timeline->peak_bytes;
  s->time_ns = timeline->time_ns;
  return plim_schedule_copy(s->out, trial);
}

static plim_status try_checkpoints(void *user, plim_checkpoints *checkpoints) {
  checkpoint_trials *s = user;
  for (int hold = 0; hold < 2; hold++) {
    plim_status status = plim_checkpoints_schedule(checkpoints, hold, s->runs_limit, s->trial);
    if (status == PLIM_OK) status = keep_if_better(s, s->trial);
    if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  }
  return PLIM_OK;
}

plim_status plim_start_from_checkpoints(plim_incumbent *inc, int64_t limit, int32_t runs_limit, plim_schedule *out) {
  const plim_problem *p = inc->problem;
  plim_schedule trial = {.ctx = p->ctx};
  plim_checkpoints *checkpoints = NULL;
  checkpoint_trials s = {.inc = inc, .limit = limit, .runs_limit = runs_limit, .trial = &trial, .out = out};
  plim_status status;
  out->n = 0;
  PLIM_TRY_OR_DONE(plim_schedule_program_order(p, &trial));
  PLIM_TRY_OR_DONE(keep_if_better(&s, &trial));
  PLIM_TRY_OR_DONE(plim_checkpoints_new(p, &checkpoints));
  PLIM_TRY_OR_DONE(
      plim_checkpoints_sweep(checkpoints, search_tuning.start_checkpoints.thresholds, try_checkpoints, &s));
done:
  plim_checkpoints_free(checkpoints);
  plim_schedule_free(&trial);
  return status;
}
