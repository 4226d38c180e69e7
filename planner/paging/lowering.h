/* Lowering: the last part of the way from a command list to a plan. */
#ifndef PLIM_PLANNER_PAGING_LOWERING_H
#define PLIM_PLANNER_PAGING_LOWERING_H

#include "planner/paging/command_list.h"
#include "planner/paging/queue_spaces.h"

/* How a list becomes a plan. */
typedef struct plim_lowering {
  const plim_paging *paging; /* what a better plan is */
  const plim_queue_spaces *spaces;
  const plim_plan *base;  /* its variants, and what else plim_plan_from_parts reads of a draft */
  const char *name, *how; /* of the plan: its planner is both; how NULL: the name alone */
  int64_t keep_all_ns, bound_ns;
  int32_t n_shares;
  const double *share;   /* [n_shares] of the budgets, within which copies spread, until one packs */
  int32_t compares;      /* 1: the order of the list itself is tried too, and the faster plan taken */
  int32_t has_addresses; /* 1: where that order does not pack, buffers may lie in the arena as the list proposes */
} plim_lowering;

/* Make a checked plan of a command list. Copies are spread over time as far as every space can then be packed. Where
 * that fails with every share of the budgets, the order of the list itself is tried.
 *   fits  out  0: no packing was found, and no plan is made
 *   out   out  untouched where it does not fit */
PLIM_MUST_USE plim_status plim_lower(const plim_lowering *lowering, plim_command_list *list, int *fits,
                                     plim_plan **out);

#endif
