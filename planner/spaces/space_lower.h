/* From a sequence of runs, copies and drops to a plan over queues: what nothing needs is left out, buffers begin and
 * end, and each command waits for what it must. */
#ifndef PLIM_PLANNER_SPACES_SPACE_LOWER_H
#define PLIM_PLANNER_SPACES_SPACE_LOWER_H

#include "planner/spaces/space_problem.h"
#include "runtime/graph/space/space_plan.h"

/* JOIN: a copy by the same command as the COPY or JOIN right before it, along the same link. */
typedef enum plim_space_event_kind {
  PLIM_SPACE_RUN,
  PLIM_SPACE_COPY,
  PLIM_SPACE_DROP,
  PLIM_SPACE_JOIN
} plim_space_event_kind;

/* In the order of the sequence. A run of what is there already, and a copy to where it is already, do nothing. */
typedef struct plim_space_event {
  plim_space_event_kind kind;
  int32_t node;
  int32_t at; /* RUN: device; COPY, JOIN: link; DROP: space */
} plim_space_event;

typedef struct plim_space_events {
  plim_context *ctx;
  plim_space_event *event;
  int64_t n, room;
  plim_status status; /* first failure; later additions do nothing */
} plim_space_events;

void plim_space_events_add(plim_space_events *events, plim_space_event_kind kind, int32_t node, int32_t at);
void plim_space_events_free(plim_space_events *events);

/* The plan of a sequence. Read of `draft`: planner, plan_class, objective, deadline_ns, keep_all, bound (no higher than
 * the plan's objective; `proved`: equal to it where no more than a solver's tolerance lies between them) and the
 * spaces' budgets [n_spaces]; its figures are the simulator's. A buffer ends after the last command that touches it,
 * or, where a copy reads it, at its drop, so that runs need not wait for the copy before. PLIM_EPLAN when the sequence
 * reads what is not there. */
PLIM_MUST_USE plim_status plim_space_lower(const plim_space_problem *problem, const plim_space_events *events,
                                           const plim_space_plan *draft, const int64_t *budget, int proved,
                                           plim_space_plan **out);

#endif
