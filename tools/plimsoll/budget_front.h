/* plimsoll plan --front: plans for a range of budgets, as JSON, CSV or SVG. */
#ifndef PLIM_TOOLS_PLIMSOLL_BUDGET_FRONT_H
#define PLIM_TOOLS_PLIMSOLL_BUDGET_FRONT_H

#include "planner/spaces/space_make.h"
#include "tools/plimsoll/session.h"

typedef struct budget_request {
  const plim_graph *graph;
  const plim_profile *profile;
  const plim_plan_options *options; /* with other spaces `budget_bytes` is the largest budget, else there is none */
  int64_t whole_bytes;              /* what percentages are of, and the largest budget */
  const plim_plan_floor *floor;     /* with other spaces, where the budgets begin; NULL: to be found */
  double whole_joule;               /* what keep-all takes, where options->paging has powers; else not read */
} budget_request;

/* Plan, write o->output in the form that its ending asks for (or print JSON), print a summary. */
plim_status budget_front_run(session *s, const budget_request *request);

/* Plans over spaces, for budgets of the first device's space in even steps: from the bytes that the largest op needs to
 * keep-all bytes, or to the space's own budget where that is less. The other spaces have the budgets of `wanted`. Write
 * o->output, or print JSON. */
plim_status space_front_run(session *s, const plim_graph *graph, const plim_platform *platform,
                            const plim_space_options *wanted);

#endif
