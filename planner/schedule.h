/* A schedule: the sequence of runs, each an op and the choice of its variant. Repeats are allowed. */
#ifndef PLIM_PLANNER_SCHEDULE_H
#define PLIM_PLANNER_SCHEDULE_H

#include "planner/problem.h"

typedef struct plim_schedule {
  plim_context *ctx;
  int32_t n, room;
  int32_t *op, *choice; /* [n] */
} plim_schedule;

/* An empty schedule is {.ctx = ctx}. */
PLIM_MUST_USE plim_status plim_schedule_reserve(plim_schedule *schedule, int32_t room);
PLIM_MUST_USE plim_status plim_schedule_add(plim_schedule *schedule, int32_t op, int32_t choice);
PLIM_MUST_USE plim_status plim_schedule_copy(plim_schedule *to, const plim_schedule *from);
void plim_schedule_free(plim_schedule *schedule);                         /* leaves it empty */
int plim_schedule_equals(const plim_schedule *a, const plim_schedule *b); /* the same runs in the same order */

/* Every op once in program order with its fastest choice. */
PLIM_MUST_USE plim_status plim_schedule_program_order(const plim_problem *problem, plim_schedule *out);

#endif
