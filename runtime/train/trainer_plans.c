/* The plans that a trainer runs: those of its program at first, later those that it makes for another budget or with
 * measured times. It owns what it makes, and frees a plan that it neither runs nor reads. */
#include "runtime/train/rehearsal.h"
#include "runtime/train/trainer_internal.h"

plim_status plim_trainer_replace(plim_trainer *trainer, const plim_plan *const *plan) {
  plim_reader_settle(trainer->staging.reader);
  const plim_status status = plim_exec_replace(trainer->exec, plan, plim_program_plans_bytes(plan));
  plim_staging_move(trainer);
  return status;
}

/* Does the trainer run or read the plan? */
static int is_used(const plim_trainer *trainer, const plim_plan *plan) {
  for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS; i++) {
    if (trainer->plan[i] == plan) return 1;
  }
  return trainer->retiming.plan == plan;
}

static void free_unused_plans(plim_trainer *trainer) {
  int32_t n = 0;
  for (int32_t i = 0; i < trainer->n_own_plans; i++) {
    if (is_used(trainer, trainer->own_plan[i])) {
      trainer->own_plan[n++] = trainer->own_plan[i];
    } else {
      plim_plan_free(trainer->own_plan[i]);
    }
  }
  trainer->n_own_plans = n;
}

void plim_trainer_free_plans(plim_trainer *trainer) {
  for (int32_t i = 0; i < trainer->n_own_plans; i++) plim_plan_free(trainer->own_plan[i]);
}

plim_status plim_trainer_run_plans(plim_trainer *trainer, const plim_plan *const *plan) {
  const plim_status status = plim_trainer_replace(trainer, plan);
  for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS && status == PLIM_OK; i++) trainer->plan[i] = plan[i];
  free_unused_plans(trainer);
  return status;
}

plim_status plim_trainer_install_plans(plim_trainer *trainer, plim_plan **plan, int *refused) {
  const plim_refused_list *list = trainer->options.exec.refused;
  const plim_plan *now[PLIM_PROGRAM_GRAPHS] = {NULL};
  for (int32_t i = 0; i < trainer->program->n_graphs; i++) {
    now[i] = plan[i];
    if (plan[i]) trainer->own_plan[trainer->n_own_plans++] = plan[i];
  }
  const plim_status status = plim_trainer_run_plans(trainer, now);
  *refused = (status == PLIM_EDEVICE || status == PLIM_EUNSUPPORTED) && list->n > 0;
  return *refused ? plim_rehearsal_drop(trainer->program, trainer->device, list) : status;
}
