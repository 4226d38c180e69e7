/* plimsoll plan over spaces and queues: a graph on a platform. */
#ifndef PLIM_TOOLS_PLIMSOLL_PLAN_SPACES_H
#define PLIM_TOOLS_PLIMSOLL_PLAN_SPACES_H

#include "planner/spaces/space_make.h"
#include "runtime/graph/space/space_plan.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/session.h"

/* Do the options ask for a plan over spaces? */
int plan_spaces_wanted(const options *o);

plim_status plan_spaces(session *s, const plim_graph *graph);

/* What a plan over spaces comes to, as rows: of plan and of check. */
void plan_spaces_figures(figures *f, const plim_graph *graph, const plim_space_plan *plan);

#endif
