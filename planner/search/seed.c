/* First schedules from checkpoints: sweeps over sets of checkpoints by Chen's greedy rule
 * (planner/chain/checkpoints.c), makes two schedules of each, one that holds what it recomputes and one that does not,
 * and keeps the best. */
#include "planner/search/searches.h"

#include "planner/chain/checkpoints.h"
#include "planner/search/search_tuning.h"

typedef struct seeder {
  plim_incumbent *inc;
  int64_t limit;
  int32_t runs_limit;
  plim_schedule *trial, *out;
  int64_t peak_bytes, time_ns; /* of out */
} seeder;

/* Within the limit before above it; then less time, or a lower peak where both are above. */
static int better(const seeder *s, const plim_timeline *timeline) {
  int fits = timeline->peak_bytes <= s->limit, best_fits = s->peak_bytes <= s->limit;
  if (fits != best_fits) return fits;
  if (fits || timeline->peak_bytes == s->peak_bytes) return timeline->time_ns < s->time_ns;
  return timeline->peak_bytes < s->peak_bytes;
}

static plim_status consider(seeder *s, const plim_schedule *trial) {
  const plim_timeline *timeline = NULL;
  PLIM_TRY(plim_incumbent_evaluate(s->inc, trial, &timeline));
  if (s->out->n > 0 && !better(s, timeline)) return PLIM_OK;
  s->peak_bytes = timeline->peak_bytes;
  s->time_ns = timeline->time_ns;
  return plim_schedule_copy(s->out, trial);
}

static plim_status visit(void *user, plim_checkpoints *checkpoints) {
  seeder *s = user;
  for (int32_t hold = 0; hold < 2; hold++) {
    plim_status status = plim_checkpoints_schedule(checkpoints, hold, s->runs_limit, s->trial);
    if (status == PLIM_OK) status = consider(s, s->trial);
    if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  }
  return PLIM_OK;
}

plim_status plim_seed_make(plim_incumbent *inc, int64_t limit, int32_t runs_limit, plim_schedule *out) {
  const plim_problem *p = inc->problem;
  plim_schedule trial = {.ctx = p->ctx};
  plim_checkpoints *checkpoints = NULL;
  seeder s = {.inc = inc, .limit = limit, .runs_limit = runs_limit, .trial = &trial, .out = out};
  plim_status status;
  out->n = 0;
  PLIM_TRY_OR_DONE(plim_schedule_program_order(p, &trial));
  PLIM_TRY_OR_DONE(consider(&s, &trial));
  PLIM_TRY_OR_DONE(plim_checkpoints_new(p, &checkpoints));
  PLIM_TRY_OR_DONE(plim_checkpoints_sweep(checkpoints, search_tuning.seed.thresholds, visit, &s));
done:
  plim_checkpoints_free(checkpoints);
  plim_schedule_free(&trial);
  return status;
}
