/* Why a plan over spaces does what it does: a row a storage. */
#ifndef PLIM_TOOLS_PLIMSOLL_PLAN_EXPLAIN_H
#define PLIM_TOOLS_PLIMSOLL_PLAN_EXPLAIN_H

#include <jansson.h>

#include "runtime/graph/space_plan.h"

/* Each storage that a command touches: keep, recompute, page, place; bytes; time and energy beyond its first run; the
 * reason. As text, or as a list of objects. */
void plan_explain_print(const plim_graph *graph, const plim_space_plan *plan);
json_t *plan_explain_json(const plim_graph *graph, const plim_space_plan *plan);

#endif
