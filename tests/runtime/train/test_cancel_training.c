/* Cancelling from another thread while the reader works, on the sim device. Also run under the thread sanitizer. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "runtime/train/trainer.h"

static plim_context *ctx;
static plim_device *device;
static plim_dataset *dataset;
static plim_program *program;
static plim_trainer *trainer;

static void begin_program(void) {
  plim_net_options net_options = plim_net_options_default();
  plim_plan_options planning = plim_plan_options_default();
  plim_net *net;
  net_options.batch = 16;
  net_options.height = net_options.width = 8;
  net_options.channels = 1;
  cr_assert_eq(plim_model_make(ctx, "mlp", &net_options, &net), PLIM_OK);
  cr_assert_eq(plim_program_begin(device, net, NULL, &program), PLIM_OK, "%s", plim_context_error(ctx));
  plim_net_free(net);
  cr_assert_eq(plim_program_plan(program, &planning), PLIM_OK, "%s", plim_context_error(ctx));
}

static void setup(void) {
  plim_dataset_options options = plim_dataset_options_default();
  plim_trainer_options training = {.struct_bytes = sizeof training,
                                   .schedule = {.rate = 0.1f, .total_steps = 1000},
                                   .augment = 1,
                                   .exec = {.struct_bytes = sizeof training.exec}};
  options.height = options.width = 8;
  options.channels = 1;
  options.train_count = 200;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &device), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_dataset_load(ctx, "synthetic", &options, &dataset), PLIM_OK);
  begin_program();
  cr_assert_eq(plim_trainer_open(device, dataset, program, &training, &trainer), PLIM_OK, "%s",
               plim_context_error(ctx));
}

static void teardown(void) {
  plim_trainer_close(trainer);
  plim_program_free(program);
  plim_dataset_free(dataset);
  plim_device_close(device);
  plim_context_free(ctx);
}
TestSuite(cancel, .init = setup, .fini = teardown);

static void *cancel_soon(void *user) {
  const struct timespec pause = {0, 2000000};
  (void)user;
  (void)nanosleep(&pause, NULL);
  plim_context_cancel(ctx);
  return NULL;
}

Test(cancel, stops_a_run_from_another_thread_between_two_steps) {
  for (int i = 0; i < 10; i++) {
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
    cr_assert_eq(plim_trainer_run(trainer, INT64_MAX, NULL, NULL), PLIM_ECANCEL);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    plim_context_resume(ctx);
  }
  cr_assert_gt(plim_trainer_steps(trainer), 10);
}

Test(cancel, stops_an_evaluation_and_training_goes_on) {
  plim_evaluation evaluation;
  cr_assert_eq(plim_trainer_run(trainer, 5, NULL, NULL), PLIM_OK);
  plim_context_cancel(ctx);
  cr_assert_eq(plim_trainer_evaluate(trainer, &evaluation), PLIM_ECANCEL);
  plim_context_resume(ctx);
  cr_assert_eq(plim_trainer_run(trainer, 5, NULL, NULL), PLIM_OK);
  cr_assert_eq(plim_trainer_steps(trainer), 10);
}
