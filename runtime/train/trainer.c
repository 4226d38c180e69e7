/* The training loop, and the evaluation.
 *
 * Each turn of the loop copies the staged batch to the inputs "image" and "label", requests the next batch from the
 * reader, and runs the step. Memory is allocated only to plan again, between two steps or in the middle of a step whose
 * budget shrinks, and once to hold times measured in steps. */
#include <math.h>

#include "runtime/train/trainer_internal.h"

plim_status plim_trainer_check_cancelled(const plim_trainer *trainer) {
  if (!plim_context_cancelled(trainer->ctx)) return PLIM_OK;
  return plim_fail(trainer->ctx, PLIM_ECANCEL, "stopped after %lld step%s", (long long)trainer->step,
                   trainer->step == 1 ? "" : "s");
}

/* Index of the plan for the next training step. */
static int32_t next_plan(const plim_trainer *trainer) {
  int64_t epoch = plim_sampler_train_batches(trainer->staging.sampler);
  return plim_trainer_has_last(trainer) && trainer->step % epoch == epoch - 1 ? PLIM_PROGRAM_LAST : PLIM_PROGRAM_TRAIN;
}

/* Write the inputs of a training step: the batch, for which it waits, and the numbers of the rate schedule. */
static plim_status write_inputs(plim_trainer *trainer, int32_t plan_index) {
  plim_staging *staging = &trainer->staging;
  plim_rate_schedule_hyper(&trainer->options.schedule, trainer->step, staging->numbers->hyper);
  if (staging->requested != trainer->step) plim_reader_request(staging->reader, PLIM_READ_TRAIN, trainer->step);
  PLIM_TRY(plim_staging_wait(trainer));
  return plim_staging_hand_over(trainer, plan_index, trainer->step);
}

/* Train one step. It counts as done whatever its loss is: the weights are updated. */
static plim_status train_step(plim_trainer *trainer, plim_step_report *report) {
  const int64_t begin = plim_now_ns();
  const int32_t plan_index = next_plan(trainer);
  const plim_step_numbers *numbers = trainer->staging.numbers;
  PLIM_TRY(write_inputs(trainer, plan_index));
  trainer->staging.requested = trainer->step + 1;
  plim_staging_request_ahead(trainer, PLIM_READ_TRAIN, trainer->staging.requested);
  plim_exec_set_step(trainer->exec, trainer->options.seed, trainer->step);
  PLIM_TRY(plim_exec_step(trainer->exec, plan_index, NULL, NULL)); /* writes the loss and the hits to `numbers` */
  *report = (plim_step_report){.step = trainer->step,
                               .plan_index = plan_index,
                               .loss = numbers->loss,
                               .correct = numbers->hits[0],
                               .counted = numbers->hits[1],
                               .time_ns = plim_now_ns() - begin};
  trainer->step++;
  return PLIM_OK;
}

static plim_status check_loss(const plim_trainer *trainer, const plim_step_report *report) {
  if (isfinite(report->loss)) return PLIM_OK;
  const double loss = isnan(report->loss) ? (double)NAN : (double)report->loss; /* its sign says nothing */
  const float rate = trainer->staging.numbers->hyper[0];
  return plim_fail(trainer->ctx, PLIM_ENOTFINITE, "the loss of step %lld is %g; try a lower learning rate than %g",
                   (long long)report->step, loss, (double)rate);
}

plim_status plim_trainer_run(plim_trainer *trainer, int64_t steps, plim_on_step *on_step, void *user) {
  for (int64_t i = 0; i < steps; i++) {
    plim_step_report report = {0};
    PLIM_TRY(plim_trainer_check_cancelled(trainer));
    PLIM_TRY(plim_budget_changes_serve(trainer));
    PLIM_TRY(train_step(trainer, &report));
    if (on_step) on_step(user, &report); /* before plim_retiming_note, which may replace the plan that ran */
    PLIM_TRY(check_loss(trainer, &report));
    PLIM_TRY(plim_retiming_note(trainer, report.plan_index));
  }
  return PLIM_OK;
}

plim_status plim_trainer_evaluate(plim_trainer *trainer, plim_evaluation *out) {
  const int64_t batches = plim_sampler_test_batches(trainer->staging.sampler), begin = plim_now_ns();
  plim_evaluation sum = {0};
  trainer->staging.requested = PLIM_NONE; /* test batches overwrite the staged training batch */
  plim_reader_request(trainer->staging.reader, PLIM_READ_TEST, 0);
  for (int64_t i = 0; i < batches; i++) {
    const plim_step_numbers *numbers = trainer->staging.numbers;
    PLIM_TRY(plim_staging_wait(trainer));
    PLIM_TRY(plim_trainer_check_cancelled(trainer));
    PLIM_TRY(plim_budget_changes_serve(trainer)); /* the arena may have shrunk in the middle of the last batch */
    PLIM_TRY(plim_staging_hand_over(trainer, PLIM_PROGRAM_EVAL, i));
    if (i + 1 < batches) plim_staging_request_ahead(trainer, PLIM_READ_TEST, i + 1);
    PLIM_TRY(plim_exec_step(trainer->exec, PLIM_PROGRAM_EVAL, NULL, NULL));
    sum.loss += (double)numbers->loss * numbers->hits[1];
    sum.correct += numbers->hits[0];
    sum.counted += numbers->hits[1];
  }
  if (sum.counted > 0) sum.loss /= (double)sum.counted;
  sum.time_ns = plim_now_ns() - begin;
  *out = sum;
  return PLIM_OK;
}

int64_t plim_trainer_steps(const plim_trainer *trainer) {
  return trainer->step;
}
int64_t plim_trainer_epoch_steps(const plim_trainer *trainer) {
  return plim_sampler_train_batches(trainer->staging.sampler);
}
plim_exec *plim_trainer_exec(const plim_trainer *trainer) {
  return trainer->exec;
}
const plim_program *plim_trainer_program(const plim_trainer *trainer) {
  return trainer->program;
}
const plim_trainer_options *plim_trainer_options_of(const plim_trainer *trainer) {
  return &trainer->options;
}
void plim_trainer_seek(plim_trainer *trainer, int64_t step) {
  trainer->step = step;
}
