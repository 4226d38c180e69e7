/* A budget that changes during a run, as when another program needs the memory.
 *
 * A request is one atomic number. While a step runs, the executor calls before_command. As soon as the rest of the step
 * can run in the new bytes, a new plan for it takes over, and the tail of the arena returns to the system. Before the
 * next step plans for the new budget take over. They give the same bits, since their numerics keys are equal. A budget
 * without a plan is reported, and the run continues as before; so is one for whose plan there is no memory. */
#include <assert.h>

#include "runtime/arena/replay_search.h"
#include "runtime/train/trainer_internal.h"

void plim_trainer_change_budget(plim_trainer *trainer, int64_t bytes) {
  atomic_store(&trainer->budget_changes.wanted, bytes > 0 ? bytes : 1);
}

/* ---- in the middle of a step ---- */

/* Make requests of the rows of options.budget_change whose time has come: in the middle of their step, or after it on
 * a device that never calls before_command. */
static void note_foreseen(plim_trainer *trainer, int middle) {
  const plim_trainer_options *o = &trainer->options;
  plim_budget_changes *changes = &trainer->budget_changes;
  while (changes->n_noted < o->n_budget_changes) {
    const plim_budget_change *next = &o->budget_change[changes->n_noted];
    if (next->step > trainer->step || (next->step == trainer->step && !middle)) return;
    plim_trainer_change_budget(trainer, next->bytes);
    changes->n_noted++;
  }
}

/* After each failed try twice as many commands pass before the next one, since a try takes some milliseconds. */
static void try_later(plim_budget_changes *changes, int32_t command) {
  changes->pause = changes->pause > 0 ? 2 * changes->pause : 1;
  changes->next_try = command + changes->pause;
}

/* Note whether the executor did the switch that it was asked for. */
static void note_switch(plim_budget_changes *changes, int32_t command, const plim_exec *exec) {
  if (changes->asked.arena_bytes == 0) return;
  if (plim_exec_switches(exec) > changes->n_switches) {
    changes->switched = changes->asked;
  } else {
    try_later(changes, command);
  }
  changes->asked.arena_bytes = 0;
}

int plim_budget_changes_switched(plim_trainer *trainer) {
  note_switch(&trainer->budget_changes, 0, trainer->exec);
  return trainer->budget_changes.switched.arena_bytes > 0;
}

/* A step that ends in its middle has updated some weights and not others. So a plan that cannot be made, for whatever
 * reason, leaves the step as it is. */
static plim_status before_command(void *user, int32_t plan_index, int32_t command, const plim_plan *plan,
                                  plim_plan_switch *plan_switch) {
  plim_trainer *trainer = user;
  plim_budget_changes *changes = &trainer->budget_changes;
  if (plan_index != PLIM_PROGRAM_EVAL) note_foreseen(trainer, command >= plan->n_commands / 2);
  note_switch(changes, command, trainer->exec);
  int64_t wanted = atomic_load(&changes->wanted) / PLIM_ALIGN * PLIM_ALIGN;
  if (wanted == 0 || wanted >= plan_switch->arena_bytes || command < changes->next_try) return PLIM_OK;
  const plim_arena_change change = {
      .from = command, .arena_bytes = wanted, .profile = trainer->program->profile[plan_index]};
  plim_status status =
      plim_arena_continue(trainer->ctx, trainer->program->graph[plan_index], plan, &change, NULL, &plan_switch->plan);
  if (status != PLIM_OK) {
    try_later(changes, command);
    return PLIM_OK;
  }
  plan_switch->arena_bytes = wanted;
  changes->n_switches = plim_exec_switches(trainer->exec);
  changes->asked = (plim_step_switch){wanted, command, plim_plan_overhead_percent(plan_switch->plan)};
  return PLIM_OK;
}

void plim_budget_changes_open(plim_trainer *trainer) {
  if (trainer->options.replan) plim_exec_set_before_command(trainer->exec, before_command, trainer);
}

/* ---- between two steps ---- */

/* Run the first plans of the program where they fit, and take no longer than the new ones. Times from before a retime
 * say nothing. *taken 0: the new ones are better, or there is nothing to compare. */
static plim_status take_first_plans(plim_trainer *trainer, const plim_plan *train, int64_t bytes, int *taken) {
  const plim_plan *first[PLIM_PROGRAM_GRAPHS] = {NULL};
  for (int32_t i = 0; i < trainer->program->n_graphs; i++) first[i] = trainer->program->plan[i];
  assert(first[PLIM_PROGRAM_TRAIN]); /* every program trains */
  *taken = !trainer->retiming.plan && train && first[PLIM_PROGRAM_TRAIN]->time_ns <= train->time_ns &&
           plim_program_plans_bytes(first) <= bytes;
  return *taken ? plim_trainer_run_plans(trainer, first) : PLIM_OK;
}

/* Plan again whenever the device refuses a variant, without that variant. The loop ends: each round has one variant
 * less, and the variants of the running plans always remain. */
static plim_status plan_within(plim_trainer *trainer, int64_t bytes) {
  int refused = 1;
  while (refused) {
    plim_plan *plan[PLIM_PROGRAM_GRAPHS] = {NULL};
    PLIM_TRY(plim_program_replan(trainer->program, trainer->plan, trainer->options.replan, bytes, plan));
    int taken = 0;
    plim_status status = take_first_plans(trainer, plan[PLIM_PROGRAM_TRAIN], bytes, &taken);
    if (taken || status != PLIM_OK) {
      for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS; i++) plim_plan_free(plan[i]);
      return status;
    }
    PLIM_TRY(plim_trainer_install_plans(trainer, plan, &refused));
  }
  return PLIM_OK;
}

/* Return to the plans and the arena before the request: a plan switch may have made the arena too small for them. */
static plim_status restore_plans(plim_trainer *trainer) {
  return plim_trainer_replace(trainer, trainer->plan);
}

/* Keep the request for the next call, if none came since. What was switched is kept with it: until the request is
 * served, the arena may be too small for the plans. */
static void serve_later(plim_budget_changes *changes, int64_t wanted) {
  int64_t none = 0;
  (void)atomic_compare_exchange_strong(&changes->wanted, &none, wanted);
}

plim_status plim_budget_changes_serve(plim_trainer *trainer) {
  plim_budget_changes *changes = &trainer->budget_changes;
  const int64_t begin_ns = plim_now_ns(), first = plim_exec_first_bytes(trainer->exec);
  note_foreseen(trainer, 0);
  const int switched = plim_budget_changes_switched(trainer);
  changes->pause = changes->next_try = 0; /* the next step may try at its first command */
  const int64_t wanted = atomic_exchange(&changes->wanted, 0);
  if (wanted == 0) return PLIM_OK;
  plim_budget_report report = {.step = trainer->step,
                               .wanted_bytes = wanted,
                               .arena_before = plim_program_plans_bytes(trainer->plan),
                               .switched_at = switched ? changes->switched.command : PLIM_NONE,
                               .switched_percent = changes->switched.percent};
  if (!trainer->options.replan || first == 0) {
    return plim_fail(trainer->ctx, PLIM_EUSAGE,
                     "a budget of %lld bytes: this trainer was opened without plans for other budgets",
                     (long long)wanted);
  }
  report.status = plan_within(trainer, wanted < first ? wanted : first);
  const int refused = report.status == PLIM_ENOFIT || report.status == PLIM_ENOMEM;
  plim_status status = refused ? PLIM_OK : report.status;
  if (refused && switched) status = restore_plans(trainer);
  if (status != PLIM_OK) {
    serve_later(changes, wanted);
    return status;
  }
  changes->switched = (plim_step_switch){.arena_bytes = 0};
  report.arena_after = plim_exec_arena_bytes(trainer->exec);
  report.returned_bytes = plim_exec_returned_bytes(trainer->exec);
  report.moved_bytes = plim_exec_moved_bytes(trainer->exec);
  report.overhead_percent = plim_plan_overhead_percent(trainer->plan[PLIM_PROGRAM_TRAIN]);
  report.time_ns = plim_now_ns() - begin_ns;
  if (trainer->options.on_budget_change) {
    trainer->options.on_budget_change(trainer->options.on_budget_change_user, &report);
  }
  return PLIM_OK;
}
