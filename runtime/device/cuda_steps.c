/* A small table, searched from end to end. */
#include "runtime/device/cuda_steps.h"

void plim_cuda_step_uncapture(plim_cuda_step *step, const plim_cuda_driver *driver) {
  if (step->captured) (void)driver->captured_free(step->captured);
  step->captured = NULL;
  step->ticked = 0;
}

static void empty(plim_cuda_step *row, const plim_cuda_driver *driver) {
  plim_cuda_step_uncapture(row, driver);
  *row = (plim_cuda_step){0};
}

plim_cuda_step *plim_cuda_steps_find(plim_cuda_steps *steps, const plim_cuda_driver *driver, const plim_plan *plan,
                                     const void *arena) {
  plim_cuda_step *oldest = &steps->row[0];
  steps->clock++;
  for (int i = 0; i < PLIM_CUDA_STEPS; i++) {
    plim_cuda_step *row = &steps->row[i];
    if (row->used > 0 && row->plan == plan && row->arena == arena) {
      row->used = steps->clock;
      return row;
    }
    if (row->used < oldest->used) oldest = row;
  }
  empty(oldest, driver);
  *oldest = (plim_cuda_step){.plan = plan, .arena = arena, .used = steps->clock};
  return oldest;
}

void plim_cuda_steps_forget(plim_cuda_steps *steps, const plim_cuda_driver *driver, const void *arena) {
  for (int i = 0; i < PLIM_CUDA_STEPS; i++) {
    if (steps->row[i].arena == arena) empty(&steps->row[i], driver);
  }
}

void plim_cuda_steps_forget_all(plim_cuda_steps *steps, const plim_cuda_driver *driver) {
  for (int i = 0; i < PLIM_CUDA_STEPS; i++) empty(&steps->row[i], driver);
}
