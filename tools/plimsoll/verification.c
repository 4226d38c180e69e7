/* Two trainers from the same start, a step each in turn. */
#include "tools/plimsoll/verification.h"

static plim_status plan_freely(session *s, verification *v) {
  plim_plan_options keep_all = plim_plan_options_default();
  PLIM_TRY(session_begin_program(s, s->layout, (int32_t)s->o->batch, s->o->model_costs, &v->free_program));
  keep_all.planner = "keep-all";
  PLIM_TRY(session_labels(s, s->program->plan[PLIM_PROGRAM_TRAIN], &keep_all));
  return plim_program_plan(v->free_program, &keep_all);
}

plim_status verification_run(session *s, int64_t steps, verification *v) {
  plim_trainer *capped = NULL, *unlimited = NULL;
  plim_status status = PLIM_OK;
  *v = (verification){.steps = steps};
  PLIM_CHECK(plan_freely(s, v));
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
