/* Runs a trial of two plans. The least median over the turns counts, since other programs make a step longer, never
 * shorter. */
#include "runtime/train/trial.h"

#include <string.h>

#include "runtime/base/integers.h"

enum { WARM_STEPS = 2, TURNS_MAX = 3 };
static const int64_t enough_ns = 2000000000; /* no turn begins later than this after the first */

typedef struct plans {
  plim_plan *of[PLIM_PROGRAM_GRAPHS];
} plans;

/* Put other plans into the program. Returns its former plans. */
static plans exchange(plim_program *program, const plans *in) {
  plans out;
  memcpy(out.of, program->plan, sizeof out.of);
  memcpy(program->plan, in->of, sizeof in->of);
  return out;
}

static void free_plans(plans *both) {
  for (int i = 0; i < PLIM_PROGRAM_GRAPHS; i++) plim_plan_free(both->of[i]);
}

/* ---- one turn ---- */

typedef struct turn {
  int64_t *time_ns; /* [steps] */
  int32_t steps, done;
} turn;

static void on_step(void *user, const plim_step_report *report) {
  turn *trial_turn = user;
  int32_t i = trial_turn->done++ - WARM_STEPS;
  if (i >= 0 && i < trial_turn->steps) trial_turn->time_ns[i] = report->time_ns;
}

/* Run one turn, and reduce *least to the median time of its steps. */
static plim_status run_turn(plim_device *device, const plim_dataset *dataset, plim_program *program,
                            const plim_trainer_options *training, turn *trial_turn, int64_t *least) {
  plim_trainer *trainer = NULL;
  trial_turn->done = 0;
  PLIM_TRY(plim_trainer_open(device, dataset, program, training, &trainer));
  plim_status status = plim_trainer_run(trainer, WARM_STEPS + trial_turn->steps, on_step, trial_turn);
  plim_trainer_close(trainer);
  if (status != PLIM_OK) return status;
  plim_integers_sort(trial_turn->time_ns, trial_turn->steps);
  const int64_t median_ns = trial_turn->time_ns[trial_turn->steps / 2];
  if (*least == 0 || median_ns < *least) *least = median_ns;
  return PLIM_OK;
}

/* ---- all turns ---- */

/* Run all turns. The program has the plans that page before and after. */
static plim_status alternate(plim_device *device, const plim_dataset *dataset, plim_program *program, plans *other,
                             const plim_trainer_options *training, turn *trial_turn, plim_trial *out) {
  const int64_t begin_ns = plim_now_ns();
  plim_status status = PLIM_OK;
  for (int i = 0; i < TURNS_MAX && status == PLIM_OK; i++) {
    if (i > 0 && plim_now_ns() - begin_ns > enough_ns) break;
    status = run_turn(device, dataset, program, training, trial_turn, &out->paged_ns);
    if (status != PLIM_OK) break;
    *other = exchange(program, other);
    status = run_turn(device, dataset, program, training, trial_turn, &out->unpaged_ns);
    *other = exchange(program, other);
  }
  return status;
}

/* Plan the program, which has no plans, without the page space. After a failure it still has none. */
static plim_status plan_other(plim_program *program, const plim_plan_options *planning) {
  plim_paging paging = *planning->paging;
  plim_plan_options options = *planning;
  paging.space = NULL;
  paging.budget_bytes = 0;
  options.paging = paging.n_devices > 0 ? &paging : NULL;
  return plim_program_plan(program, &options);
}

plim_status plim_trial_run(plim_device *device, const plim_dataset *dataset, plim_program *program,
                           const plim_plan_options *planning, const plim_trainer_options *training, int32_t steps,
                           plim_trial *out) {
  const plans none = {{NULL}};
  plim_trainer_options alone = *training;
  turn trial_turn = {.steps = steps};
  plim_trial found = {0, 0};
  plim_refused_list refused = {.n = 0}; /* by the turn that ran last */
  alone.budget_change = NULL;
  alone.n_budget_changes = alone.retime_steps = 0;
  alone.exec.refused = &refused;
  const int32_t from_front = program->from_front; /* of the plan that pages */
  plans paged = exchange(program, &none);
  plim_status status = plan_other(program, planning);
  const int32_t other_from_front = program->from_front;
  plans other = exchange(program, &paged);
  if (status == PLIM_OK) status = plim_allocate(program->ctx, steps, sizeof *trial_turn.time_ns, &trial_turn.time_ns);
  if (status == PLIM_OK) status = alternate(device, dataset, program, &other, &alone, &trial_turn, &found);
  const int other_stays = status == PLIM_OK && found.unpaged_ns < found.paged_ns;
  if (other_stays) other = exchange(program, &other);
  program->from_front = other_stays ? other_from_front : from_front;
  plim_release(program->ctx, trial_turn.time_ns, steps, sizeof *trial_turn.time_ns);
  free_plans(&other);
  if (status == PLIM_OK) *out = found;
  const int other_refused = refused.n > 0 && found.paged_ns > 0 && found.unpaged_ns == 0;
  return status == PLIM_ENOFIT || status == PLIM_ENOTFINITE || other_refused ? PLIM_OK : status;
}
