/* Two trainers from the same start, a step each in turn. */
#include "tools/plimsoll/verification.h"

#include "tools/plimsoll/numerics.h"

/* The last batch of the program, if there is one, as keep-all with the session's numerics. */
static plim_status plan_last(const session *s, plim_program *program) {
  const plim_plan *plan = s->program->plan[PLIM_PROGRAM_LAST];
  plim_plan_options keep_all = plim_plan_options_default();
  const char **label = NULL;
  if (!plan) return PLIM_OK;
  int64_t n_ops = s->program->graph[PLIM_PROGRAM_LAST]->n_ops;
  PLIM_TRY(plim_allocate(s->ctx, n_ops, sizeof *label, &label));
  plim_plan_labels(plan, label);
  keep_all.planner = "keep-all";
  keep_all.labels = PLIM_NUMERICS_GIVEN;
  keep_all.label = label;
  plim_status status = plim_program_plan_last(program, &keep_all);
  plim_release(s->ctx, label, n_ops, sizeof *label);
  return status;
}

plim_status verification_plan_freely(session *s, plim_program **program) {
  plim_plan_options keep_all = plim_plan_options_default();
  int again = 1;
  PLIM_TRY(plim_program_make(s->device, &s->source, program));
  if (s->program->plan[PLIM_PROGRAM_LAST]) PLIM_TRY(session_add_last(s, *program));
  keep_all.planner = "keep-all";
  PLIM_TRY(numerics_of_plan(s, s->program->plan[PLIM_PROGRAM_TRAIN], &keep_all));
  while (again) {
    PLIM_TRY(plim_program_plan(*program, &keep_all));
    PLIM_TRY(plan_last(s, *program));
    PLIM_TRY(variants_rehearse_in(s, *program, &again));
  }
  return PLIM_OK;
}

plim_status verification_run(session *s, int64_t steps, verification *v) {
  plim_trainer *capped = NULL, *unlimited = NULL;
  plim_status status = PLIM_OK;
  *v = (verification){.steps = steps};
  PLIM_CHECK(verification_plan_freely(s, &v->free_program));
  PLIM_CHECK(session_trainer(s, s->program, steps, &capped));
  PLIM_CHECK(session_trainer(s, v->free_program, steps, &unlimited));
  for (int64_t i = 0; i < steps; i++) {
    progress_draw(&s->bar, "verify", i, steps, "under the budget and without one");
    PLIM_CHECK(plim_trainer_run(capped, 1, NULL, NULL));
    PLIM_CHECK(plim_trainer_run(unlimited, 1, NULL, NULL));
  }
  progress_clear(&s->bar);
  status = plim_state_compare(capped, unlimited, &v->difference);
done:
  plim_trainer_close(capped);
  plim_trainer_close(unlimited);
  return status;
}

void verification_end(verification *v) {
  plim_program_free(v->free_program);
  v->free_program = NULL;
}
