/* All public headers of libplimsoll-plan: documents (graph, profile, plan, trace), checker, planner, packing, online
 * policies, simulation. Needs libc, libm, threads and jansson. */
#ifndef PLIM_PLIMSOLL_PLAN_H
#define PLIM_PLIMSOLL_PLAN_H

#include "kernels/op.h"
#include "planner/pack/pack.h"
#include "planner/planner.h"
#include "runtime/arena/policy.h"
#include "runtime/arena/replay_search.h"
#include "runtime/base/context.h"
#include "runtime/base/size.h"
#include "runtime/base/status.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/costs.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/handles.h"
#include "runtime/graph/plan.h"
#include "runtime/graph/profile.h"
#include "runtime/graph/trace.h"
#include "runtime/import/generate.h"
#include "runtime/import/import.h"
#include "runtime/inspect/inspect.h"
#include "runtime/simulate/ideal_memory.h"
#include "runtime/simulate/inspected_run.h"
#include "runtime/simulate/simulation.h"

#endif
