/* The GPU hands memory out in pages of 2 MiB. An arena of whole pages takes no more than it says, so that what the
 * budget leaves is rounded down to them. */
#include "runtime/train/vram.h"

#include <string.h>

#include "runtime/base/size.h"
#include "runtime/device/device_cuda.h"

enum { PAGE_BYTES = 2 << 20, WARM_STEPS = 3 /* queued, captured, replayed */, CAPTURED_AT = 2 };

static plim_status measure(plim_device *device, plim_cuda_memory *out) {
  if (strcmp(device->machine.device, "cuda") != 0) {
    return plim_fail(device->ctx, PLIM_EUSAGE, "a budget of a GPU's memory needs a GPU; this device is %s",
                     device->machine.device);
  }
  return plim_device_cuda_memory(device, out);
}

plim_status plim_vram_left(plim_device *device, int64_t budget_bytes, int64_t captured_bytes, int64_t *arena_bytes) {
  char budget[PLIM_SIZE_TEXT_BYTES], outside[PLIM_SIZE_TEXT_BYTES], left[PLIM_SIZE_TEXT_BYTES];
  plim_cuda_memory now = {.outside_bytes = 0};
  PLIM_TRY(measure(device, &now));
  const int64_t taken = now.outside_bytes + captured_bytes;
  int64_t bytes = (budget_bytes - taken) / PAGE_BYTES * PAGE_BYTES;
  if (bytes <= 0) {
    return plim_fail(device->ctx, PLIM_ENOFIT,
                     "context, libraries, modules and captured steps take %s (%lld bytes) of the GPU, which leaves no "
                     "page of it for an arena below %s (%lld bytes)",
                     plim_size_print(taken, outside), (long long)taken, plim_size_print(budget_bytes, budget),
                     (long long)budget_bytes);
  }
  if (bytes > now.free_bytes) {
    return plim_fail(device->ctx, PLIM_ENOFIT,
                     "%s (%lld bytes) are more than the GPU can give now: %s are taken and %s (%lld bytes) free",
                     plim_size_print(budget_bytes, budget), (long long)budget_bytes,
                     plim_size_print(now.outside_bytes, outside), plim_size_print(now.free_bytes, left),
                     (long long)now.free_bytes);
  }
  *arena_bytes = bytes;
  return PLIM_OK;
}

/* Evaluate until the plan of that was captured, which takes two batches. */
static plim_status evaluate(plim_trainer *trainer, const plim_dataset *dataset, const plim_program *program) {
  const int32_t batch = program->graph[PLIM_PROGRAM_EVAL]->batch;
  plim_evaluation evaluation;
  for (int32_t batches = 0; batches < CAPTURED_AT; batches += (dataset->test.count + batch - 1) / batch) {
    PLIM_TRY(plim_trainer_evaluate(trainer, &evaluation));
    if (dataset->test.count == 0) return PLIM_OK;
  }
  return PLIM_OK;
}

plim_status plim_vram_warm_up(plim_device *device, const plim_dataset *dataset, plim_program *program,
                              const plim_trainer_options *options, int64_t *captured_bytes) {
  plim_trainer *trainer = NULL;
  plim_cuda_memory with = {.outside_bytes = 0}, without = {.outside_bytes = 0};
  PLIM_TRY(plim_trainer_open(device, dataset, program, options, &trainer));
  plim_status status = plim_trainer_run(trainer, WARM_STEPS, NULL, NULL);
  if (status == PLIM_OK) status = evaluate(trainer, dataset, program);
  if (status == PLIM_OK) status = measure(device, &with);
  plim_trainer_close(trainer);
  if (status == PLIM_OK) status = measure(device, &without);
  const int64_t given_back = with.outside_bytes - without.outside_bytes;
  if (status == PLIM_OK) *captured_bytes = given_back > 0 ? given_back : 0;
  return status;
}

plim_status plim_vram_check(plim_device *device, int64_t budget_bytes, int64_t arena_bytes) {
  char budget[PLIM_SIZE_TEXT_BYTES], arena[PLIM_SIZE_TEXT_BYTES], outside[PLIM_SIZE_TEXT_BYTES];
  plim_cuda_memory now = {.outside_bytes = 0};
  PLIM_TRY(measure(device, &now));
  if (now.outside_bytes <= budget_bytes - arena_bytes) return PLIM_OK;
  return plim_fail(device->ctx, PLIM_ENOFIT,
                   "the GPU holds an arena of %s and %s (%lld bytes) outside of it, more than the %s (%lld bytes) that "
                   "it may; another program may have taken memory of it meanwhile",
                   plim_size_print(arena_bytes, arena), plim_size_print(now.outside_bytes, outside),
                   (long long)now.outside_bytes, plim_size_print(budget_bytes, budget), (long long)budget_bytes);
}
