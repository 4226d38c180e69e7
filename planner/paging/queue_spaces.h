/* The spaces of a plan with copies: budgets, queues, links, and what no plan over them is faster than. */
#ifndef PLIM_PLANNER_PAGING_QUEUE_SPACES_H
#define PLIM_PLANNER_PAGING_QUEUE_SPACES_H

#include "planner/planner.h"

/* Spaces, those that compute, and what a copy takes. Space 0 is the arena. */
typedef struct plim_queue_spaces {
  int32_t n;
  int32_t computes[PLIM_PLAN_SPACES];
  int64_t budget_bytes[PLIM_PLAN_SPACES];
  int32_t run_queue[PLIM_PLAN_SPACES]; /* of those that compute */
  int32_t copy_queue[PLIM_PLAN_SPACES][PLIM_PLAN_SPACES];
  int64_t latency_ns[PLIM_PLAN_SPACES][PLIM_PLAN_SPACES];
  double bytes_per_ns[PLIM_PLAN_SPACES][PLIM_PLAN_SPACES]; /* 0: no link */
  plim_page_space page[PLIM_PAGE_SPACES];                  /* [n - 1] as the plan has them */
} plim_queue_spaces;

/* Find the spaces of options->paging: the arena, and where there are such, that of a second device and the page
 * space. */
void plim_queue_spaces_make(const plim_plan_options *options, plim_queue_spaces *s);

/* The time of a copy over the link of two spaces. */
int64_t plim_queue_copy_ns(const plim_queue_spaces *spaces, int32_t from, int32_t to, int64_t bytes);

/* A time that no plan is faster than: that of keep-all; on two devices the longest chain of ops, or half of all ops if
 * that is longer. */
PLIM_MUST_USE plim_status plim_queue_bound(const plim_graph *graph, const plim_profile *profile,
                                           const plim_paging *paging, int64_t keep_all_ns, int64_t *bound_ns);

#endif
