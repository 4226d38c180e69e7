/* The picture of one iteration: live bytes over its steps. */
#ifndef PLIM_TOOLS_PLIMSOLL_LIVE_CHART_H
#define PLIM_TOOLS_PLIMSOLL_LIVE_CHART_H

#include "runtime/graph/plan.h"

/* Sum of live bytes at every step. bytes [plan->n_steps] out. */
plim_status curve_live_bytes(plim_context *ctx, const plim_plan *plan, int64_t *bytes);

/* Write an SVG: `plan` and `keep_all` (both of this graph) as curves, the plan's budget as a line, repeats as ticks.
 * The file is replaced whole. */
plim_status curve_save(const plim_graph *graph, const plim_plan *keep_all, const plim_plan *plan, const char *path);

#endif
