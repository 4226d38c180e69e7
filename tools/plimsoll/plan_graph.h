/* Planning a graph document instead of a model. */
#ifndef PLIM_TOOLS_PLIMSOLL_PLAN_GRAPH_H
#define PLIM_TOOLS_PLIMSOLL_PLAN_GRAPH_H

#include "tools/plimsoll/session.h"

/* plimsoll plan --graph: plan, save, print. */
plim_status plan_graph(session *s);

#endif
