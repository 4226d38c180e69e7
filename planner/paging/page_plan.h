/* What a planner of steps that may page is asked for, and plans in which everything that persists is at home in the
 * arena. */
#ifndef PLIM_PLANNER_PAGING_PAGE_PLAN_H
#define PLIM_PLANNER_PAGING_PAGE_PLAN_H

#include "planner/planner.h"

/* All are borrowed. */
typedef struct plim_paging_task {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_profile *profile;
  const plim_plan_options *options;
  const plim_plan *keep_all; /* of graph and profile; NULL: who needs it makes it */
} plim_paging_task;

/* Makes a plan of a task.
 *   known_ns  in   the cost of a plan that is known already; one that costs as much is of no use. INT64_MAX: none is
 *   plain     out  another plan, which may be faster once copies of homes are beside it; NULL: none
 *   out       out  the plan
 * PLIM_ENOFIT: none was found. */
typedef plim_status plim_plan_maker(const plim_paging_task *task, int64_t known_ns, plim_plan **plain, plim_plan **out);

/* A plim_plan_maker for options with a page space or a second device. *plain is the best plan before the joint search.
 * After a cancel it returns the best plan so far. */
PLIM_MUST_USE plim_status plim_page_plan_make(const plim_paging_task *task, int64_t known_ns, plim_plan **plain,
                                              plim_plan **out);

/* Does this status of one try end the search for plans? It does for a failure and for a cancel by the caller. It does
 * not where no plan was found, or none in time. */
int plim_paging_is_failure(plim_context *ctx, plim_status status);

#endif
