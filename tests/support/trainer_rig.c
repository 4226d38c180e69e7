/* The rig of trainers. */
#include "tests/support/trainer_rig.h"

#include <criterion/criterion.h>

#include "runtime/train/verification.h"
#include "tests/support/device_under_test.h"
#include "tests/support/folder.h"
#include "tests/support/test_seed.h"

void trainer_rig_begin(trainer_rig *rig) {
  plim_dataset_options options = plim_dataset_options_default();
  options.height = options.width = TRAINER_RIG_SIDE;
  options.channels = 1;
  options.train_count = 100;
  options.test_count = 40;
  cr_assert_eq(plim_context_new(NULL, NULL, &rig->ctx), PLIM_OK);
  rig->device = plim_test_device(rig->ctx, 0);
  cr_assert_eq(plim_dataset_load(rig->ctx, "synthetic", &options, &rig->dataset), PLIM_OK);
  (void)plim_test_folder();
}

void trainer_rig_end(trainer_rig *rig) {
  plim_test_folder_remove();
  plim_dataset_free(rig->dataset);
  plim_device_close(rig->device);
  plim_context_free(rig->ctx);
}

plim_program *trainer_rig_program_begin(const trainer_rig *rig, int batch, int side) {
  plim_net_options options = plim_net_options_default();
  plim_net *net;
  plim_program *program;
  options.batch = batch;
  options.height = options.width = side;
  options.channels = 1;
  plim_dataset_pixels("synthetic", options.pixel_scale, options.pixel_shift);
  cr_assert_eq(plim_model_make(rig->ctx, "mlp", &options, &net), PLIM_OK, "%s", plim_context_error(rig->ctx));
  cr_assert_eq(plim_program_begin(rig->device, net, NULL, &program), PLIM_OK, "%s", plim_context_error(rig->ctx));
  plim_net_free(net);
  return program;
}

plim_program *trainer_rig_program(const trainer_rig *rig, int batch) {
  plim_program *program = trainer_rig_program_begin(rig, batch, TRAINER_RIG_SIDE);
  plim_plan_options options = plim_plan_options_default();
  cr_assert_eq(plim_program_plan(program, &options), PLIM_OK, "%s", plim_context_error(rig->ctx));
  return program;
}

plim_trainer_options trainer_rig_options(float rate) {
  return (plim_trainer_options){
      .struct_bytes = sizeof(plim_trainer_options),
      .seed = test_seed(7),
      .schedule = {.rate = rate, .momentum = 0.9f, .weight_decay = 1e-4f, .total_steps = 1000},
      .augment = 1,
      .exec = {.struct_bytes = sizeof(plim_exec_options)},
  };
}

plim_trainer *trainer_rig_open(const trainer_rig *rig, plim_program *program, float rate) {
  plim_trainer_options options = trainer_rig_options(rate);
  plim_trainer *trainer;
  cr_assert_eq(plim_trainer_open(rig->device, rig->dataset, program, &options, &trainer), PLIM_OK, "%s",
               plim_context_error(rig->ctx));
  return trainer;
}

void trainer_rig_run(const trainer_rig *rig, plim_trainer *trainer, int64_t steps) {
  cr_assert_eq(plim_trainer_run(trainer, steps, NULL, NULL), PLIM_OK, "%s", plim_context_error(rig->ctx));
}

int64_t trainer_rig_differences(const trainer_rig *rig, const plim_trainer *a, const plim_trainer *b) {
  plim_state_difference d;
  cr_assert_eq(plim_state_compare(a, b, &d), PLIM_OK, "%s", plim_context_error(rig->ctx));
  cr_assert_gt(d.values, 6);
  cr_assert_eq(d.different > 0, d.name != NULL);
  return d.different;
}
