/* Runs training steps by a plan that copies storages to another memory, and by a plan that does not, in turns, to see
 * which is faster on this machine. The least median over the turns counts, since other programs make a step longer,
 * never shorter. */
#include "runtime/train/trial.h"

#include <string.h>

#include "runtime/base/integers.h"

enum { WARM_STEPS = 2, TURNS_MAX = 3 };
static const int64_t enough_ns = 2000000000; /* no turn begins later than this after the first */

/* The plans of a program. */
typedef struct plans {
  plim_plan *of[PLIM_PROGRAM_GRAPHS];
} plans;

/* A trial that runs. The program has the plans that page, except while a turn of the others runs. */
typedef struct trial_state {
  plim_device *device;
  const plim_dataset *dataset;
  plim_program *program;
  plim_trainer_options training;
  plans unpaged;
  plim_refused_list refused; /* by the turn that ran last */
  /* of a turn */
  int32_t steps;    /* that are timed, after WARM_STEPS others */
  int64_t done;     /* steps that have run */
  int64_t *time_ns; /* [steps] */
} trial_state;

/* Put other plans into the program. Returns its former plans. */
static plans exchange(plim_program *program, const plans *in) {
  plans out;
  memcpy(out.of, program->plan, sizeof out.of);
  memcpy(program->plan, in->of, sizeof in->of);
  return out;
}

static void free_plans(const plans *freed) {
  for (int i = 0; i < PLIM_PROGRAM_GRAPHS; i++) plim_plan_free(freed->of[i]);
}

/* ---- one turn ---- */

static void on_step(void *user, const plim_step_report *report) {
  trial_state *trial = user;
  const int64_t i = trial->done++ - WARM_STEPS;
  if (i >= 0 && i < trial->steps) trial->time_ns[i] = report->time_ns;
}

/* Run one turn with the plans of the program, and reduce *least_ns, 0 before the first, to the median time of its
 * steps. */
static plim_status run_turn(trial_state *trial, int64_t *least_ns) {
  plim_trainer *trainer = NULL;
  trial->done = 0;
  PLIM_TRY(plim_trainer_open(trial->device, trial->dataset, trial->program, &trial->training, &trainer));
  plim_status status = plim_trainer_run(trainer, (int64_t)WARM_STEPS + trial->steps, on_step, trial);
  plim_trainer_close(trainer);
  if (status != PLIM_OK) return status;
  plim_integers_sort(trial->time_ns, trial->steps);
  const int64_t median_ns = trial->time_ns[trial->steps / 2];
  if (*least_ns == 0 || median_ns < *least_ns) *least_ns = median_ns;
  return PLIM_OK;
}

static plim_status run_unpaged_turn(trial_state *trial, int64_t *least_ns) {
  trial->unpaged = exchange(trial->program, &trial->unpaged);
  const plim_status status = run_turn(trial, least_ns);
  trial->unpaged = exchange(trial->program, &trial->unpaged);
  return status;
}

/* ---- all turns ---- */

static plim_status run_turns(trial_state *trial, plim_trial *out) {
  const int64_t begin_ns = plim_now_ns();
  for (int i = 0; i < TURNS_MAX; i++) {
    if (i > 0 && plim_now_ns() - begin_ns > enough_ns) break;
    PLIM_TRY(run_turn(trial, &out->paged_ns));
    PLIM_TRY(run_unpaged_turn(trial, &out->unpaged_ns));
  }
  return PLIM_OK;
}

/* Plan the program, which has no plans, without the page space. After a failure it still has none. */
static plim_status plan_unpaged(plim_program *program, const plim_plan_options *planning) {
  plim_paging paging = *planning->paging;
  plim_plan_options options = *planning;
  paging.space = NULL;
  paging.budget_bytes = 0;
  options.paging = paging.n_devices > 0 ? &paging : NULL;
  return plim_program_plan(program, &options);
}

/* Make the plans without the page space; the program keeps those that page.
 *   from_front  out  1: that of the training step was in the plan front */
static plim_status make_unpaged(trial_state *trial, const plim_plan_options *planning, int32_t *from_front) {
  const plans none = {{NULL}};
  const int32_t paged_from_front = trial->program->from_front;
  const plans paged = exchange(trial->program, &none);
  const plim_status status = plan_unpaged(trial->program, planning);
  *from_front = trial->program->from_front;
  trial->unpaged = exchange(trial->program, &paged);
  trial->program->from_front = paged_from_front;
  return status;
}

/* Do the plans that page stay without a figure? They do where the others are refused, and where either find no room or
 * train to no finite loss. If that was so of those that page, the training itself says so. */
static int stays_paged(const trial_state *trial, plim_status status, const plim_trial *found) {
  const int unpaged_refused = trial->refused.n > 0 && found->paged_ns > 0 && found->unpaged_ns == 0;
  return status == PLIM_ENOFIT || status == PLIM_ENOTFINITE || unpaged_refused;
}

plim_status plim_trial_run(plim_device *device, const plim_dataset *dataset, plim_program *program,
                           const plim_plan_options *planning, const plim_trainer_options *training, int32_t steps,
                           plim_trial *out) {
  trial_state trial = {.device = device, .dataset = dataset, .program = program, .training = *training, .steps = steps};
  plim_trial found = {0, 0};
  int32_t from_front = 0;
  plim_status status;
  trial.training.budget_change = NULL;
  trial.training.n_budget_changes = trial.training.retime_steps = 0;
  trial.training.exec.refused = &trial.refused;
  PLIM_TRY_OR_DONE(make_unpaged(&trial, planning, &from_front));
  PLIM_TRY_OR_DONE(plim_allocate(program->ctx, steps, sizeof *trial.time_ns, &trial.time_ns));
  PLIM_TRY_OR_DONE(run_turns(&trial, &found));
  *out = found;
  if (found.unpaged_ns < found.paged_ns) {
    trial.unpaged = exchange(program, &trial.unpaged);
    program->from_front = from_front;
  }
done:
  plim_release(program->ctx, trial.time_ns, steps, sizeof *trial.time_ns);
  free_plans(&trial.unpaged);
  return stays_paged(&trial, status, &found) ? PLIM_OK : status;
}
