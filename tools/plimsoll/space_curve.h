/* plimsoll plan --front over spaces: plans for a range of budgets of the first device's space, as JSON or CSV. */
#ifndef PLIM_TOOLS_PLIMSOLL_SPACE_CURVE_H
#define PLIM_TOOLS_PLIMSOLL_SPACE_CURVE_H

#include "planner/spaces/space_exact.h"
#include "tools/plimsoll/session.h"

/* Plan in even steps from the bytes that the largest op needs to keep-all bytes, or to the space's own budget where
 * that is less; the other spaces have the budgets of `wanted`. Write o->output, or print JSON. */
plim_status space_curve_run(session *s, const plim_graph *graph, const plim_platform *platform,
                            const plim_space_options *wanted);

#endif
