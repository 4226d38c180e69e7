/* Runs a program a few times on a GPU, and measures what it loads. Captured steps are freed when the trainer closes. So
 * their bytes are the difference of the bytes outside the arena before and after the close. */
#include "runtime/train/warm_up.h"

#include "runtime/device/device_cuda.h"

enum { WARM_STEPS = 3 /* queued, captured, replayed */, CAPTURED_AT = 2 };

/* Evaluate until the evaluation plan has been captured, which takes two batches. */
static plim_status evaluate(plim_trainer *trainer, const plim_dataset *dataset, const plim_program *program) {
  const int32_t batch = program->graph[PLIM_PROGRAM_EVAL]->batch;
  plim_evaluation evaluation;
  for (int32_t batches = 0; batches < CAPTURED_AT; batches += (dataset->test.count + batch - 1) / batch) {
    PLIM_TRY(plim_trainer_evaluate(trainer, &evaluation));
    if (dataset->test.count == 0) return PLIM_OK;
  }
  return PLIM_OK;
}

plim_status plim_warm_up_run(plim_device *device, const plim_dataset *dataset, plim_program *program,
                             const plim_trainer_options *options, int64_t *captured_bytes) {
  plim_trainer *trainer = NULL;
  plim_cuda_memory with = {.outside_bytes = 0}, without = {.outside_bytes = 0};
  PLIM_TRY(plim_trainer_open(device, dataset, program, options, &trainer));
  plim_status status = plim_trainer_run(trainer, WARM_STEPS, NULL, NULL);
  if (status == PLIM_OK) status = evaluate(trainer, dataset, program);
  if (status == PLIM_OK) status = plim_device_cuda_memory(device, &with);
  plim_trainer_close(trainer);
  if (status == PLIM_OK) status = plim_device_cuda_memory(device, &without);
  const int64_t given_back = with.outside_bytes - without.outside_bytes;
  if (status == PLIM_OK) *captured_bytes = given_back > 0 ? given_back : 0;
  return status;
}
