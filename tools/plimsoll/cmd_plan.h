/* The parts of plimsoll plan: over spaces (plan_spaces.c), and for a range of budgets (budget_front.c). */
#ifndef PLIM_TOOLS_PLIMSOLL_CMD_PLAN_H
#define PLIM_TOOLS_PLIMSOLL_CMD_PLAN_H

#include "planner/spaces/space_make.h"
#include "runtime/graph/space/space_plan.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/session.h"

/* ==== plans over spaces: a graph on a platform ==== */

/* Do the options ask for a plan over spaces? */
int plan_spaces_wanted(const options *o);

plim_status plan_spaces(session *s, const plim_graph *graph);

/* What a plan over spaces comes to, as rows: of plan and of check. */
void plan_spaces_figures(figures *f, const plim_graph *graph, const plim_space_plan *plan);

/* ==== fronts: plans for a range of budgets, as JSON, CSV or SVG ==== */

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
