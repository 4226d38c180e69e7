/* Schedules: arrays of runs that grow. A run is an op and the choice of its variant, at one index of two arrays. */
#include "planner/core/problem.h"

#include <string.h>

plim_status plim_schedule_reserve(plim_schedule *schedule, int32_t capacity) {
  if (capacity <= schedule->capacity) return PLIM_OK;
  if (capacity < schedule->capacity + schedule->capacity / 2) capacity = schedule->capacity + schedule->capacity / 2;
  /* both arrays are in one block: the ops, then the choices */
  int32_t *block = NULL;
  PLIM_TRY(plim_allocate(schedule->ctx, 2 * (int64_t)capacity, sizeof *block, &block));
  if (schedule->n > 0) memcpy(block, schedule->op, (size_t)schedule->n * sizeof *block);
  if (schedule->n > 0) memcpy(block + capacity, schedule->choice, (size_t)schedule->n * sizeof *block);
  plim_release(schedule->ctx, schedule->op, 2 * (int64_t)schedule->capacity, sizeof *schedule->op);
  schedule->op = block;
  schedule->choice = block + capacity;
  schedule->capacity = capacity;
  return PLIM_OK;
}

plim_status plim_schedule_add(plim_schedule *schedule, int32_t op, int32_t choice) {
  if (schedule->n == schedule->capacity) PLIM_TRY(plim_schedule_reserve(schedule, schedule->n + 64));
  schedule->op[schedule->n] = op;
  schedule->choice[schedule->n++] = choice;
  return PLIM_OK;
}

plim_status plim_schedule_copy(plim_schedule *to, const plim_schedule *from) {
  PLIM_TRY(plim_schedule_reserve(to, from->n));
  if (from->n > 0) memcpy(to->op, from->op, (size_t)from->n * sizeof *to->op);
  if (from->n > 0) memcpy(to->choice, from->choice, (size_t)from->n * sizeof *to->choice);
  to->n = from->n;
  return PLIM_OK;
}

void plim_schedule_free(plim_schedule *schedule) {
  plim_release(schedule->ctx, schedule->op, 2 * (int64_t)schedule->capacity, sizeof *schedule->op);
  *schedule = (plim_schedule){.ctx = schedule->ctx};
}

int plim_schedule_equals(const plim_schedule *a, const plim_schedule *b) {
  if (a->n != b->n) return 0;
  return a->n == 0 || (memcmp(a->op, b->op, (size_t)a->n * sizeof *a->op) == 0 &&
                       memcmp(a->choice, b->choice, (size_t)a->n * sizeof *a->choice) == 0);
}

plim_status plim_schedule_program_order(const plim_problem *problem, plim_schedule *out) {
  PLIM_TRY(plim_schedule_reserve(out, problem->n_ops));
  out->n = 0;
  for (int32_t op = 0; op < problem->n_ops; op++) PLIM_TRY(plim_schedule_add(out, op, 0));
  return PLIM_OK;
}
