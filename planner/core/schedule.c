/* Schedules: arrays of runs that grow. A run is an op and the choice of its variant, at one index of two arrays. */
#include "planner/core/problem.h"

#include <string.h>

plim_status plim_schedule_reserve(plim_schedule *s, int32_t room) {
  if (room <= s->room) return PLIM_OK;
  if (room < s->room + s->room / 2) room = s->room + s->room / 2;
  /* both arrays are in one block: the ops, then the choices */
  int32_t *block = NULL;
  PLIM_TRY(plim_allocate(s->ctx, 2 * (int64_t)room, sizeof *block, &block));
  if (s->n > 0) memcpy(block, s->op, (size_t)s->n * sizeof *block);
  if (s->n > 0) memcpy(block + room, s->choice, (size_t)s->n * sizeof *block);
  plim_release(s->ctx, s->op, 2 * (int64_t)s->room, sizeof *s->op);
  s->op = block;
  s->choice = block + room;
  s->room = room;
  return PLIM_OK;
}

plim_status plim_schedule_add(plim_schedule *s, int32_t op, int32_t choice) {
  if (s->n == s->room) PLIM_TRY(plim_schedule_reserve(s, s->n + 64));
  s->op[s->n] = op;
  s->choice[s->n++] = choice;
  return PLIM_OK;
}

plim_status plim_schedule_copy(plim_schedule *to, const plim_schedule *from) {
  PLIM_TRY(plim_schedule_reserve(to, from->n));
  if (from->n > 0) memcpy(to->op, from->op, (size_t)from->n * sizeof *to->op);
  if (from->n > 0) memcpy(to->choice, from->choice, (size_t)from->n * sizeof *to->choice);
  to->n = from->n;
  return PLIM_OK;
}

void plim_schedule_free(plim_schedule *s) {
  plim_release(s->ctx, s->op, 2 * (int64_t)s->room, sizeof *s->op);
  *s = (plim_schedule){.ctx = s->ctx};
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
