/* A schedule: a sequence of runs. Each run is an op and the choice of its variant. An empty one is {.ctx = ctx}. */
#ifndef PLIM_PLANNER_CORE_SCHEDULE_H
#define PLIM_PLANNER_CORE_SCHEDULE_H

#include "planner/core/problem.h"

typedef struct plim_schedule {
  plim_context *ctx;
  int32_t n, room; /* runs; runs that fit in the memory */
  int32_t *op;     /* [n] */
  int32_t *choice; /* [n] index among the choices of the op */
} plim_schedule;

PLIM_MUST_USE plim_status plim_schedule_reserve(plim_schedule *schedule, int32_t room);
PLIM_MUST_USE plim_status plim_schedule_add(plim_schedule *schedule, int32_t op, int32_t choice);
PLIM_MUST_USE plim_status plim_schedule_copy(plim_schedule *to, const plim_schedule *from);
void plim_schedule_free(plim_schedule *schedule);                         /* leaves it empty */
int plim_schedule_equals(const plim_schedule *a, const plim_schedule *b); /* the same runs in the same order */

/* Every op once in program order, each with its fastest choice. */
PLIM_MUST_USE plim_status plim_schedule_program_order(const plim_problem *problem, plim_schedule *out);

#endif
