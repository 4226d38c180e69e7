/* From a plan of a graph with paging to a plan with copies of the graph itself. */
#ifndef PLIM_PLANNER_PAGING_PAGE_LOWER_H
#define PLIM_PLANNER_PAGING_PAGE_LOWER_H

#include "planner/paging/page_graph.h"

typedef struct plim_page_lower_options {
  const plim_plan_options *options; /* budget_bytes, and paging with a space */
  int64_t keep_all_ns;              /* of the plan; its bound is the same */
  int32_t effort;                   /* of packing */
} plim_page_lower_options;

/* Make a plan with copies. Ops of paging become copies on the queues of their links. The plan has all spaces of
 * plim_queue_spaces_make, and leaves a second device empty. Copies out end later and copies in begin earlier than in
 * the schedule, where that saves time and bytes allow it. All buffers are packed again, and each command waits for what
 * it must. Of several such plans the one of least cost is taken.
 *   plan  in  of paged->paged, with addresses
 * PLIM_ENOFIT: none fits. O(buffers^2) and packing. Deterministic. */
PLIM_MUST_USE plim_status plim_page_lower(const plim_page_graph *paged, const plim_plan *plan,
                                          const plim_page_lower_options *options, plim_plan **out);

#endif
