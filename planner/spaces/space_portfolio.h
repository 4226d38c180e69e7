/* Searches that may do less than what is asked for, and the one that may do all of it. */
#ifndef PLIM_PLANNER_SPACES_SPACE_PORTFOLIO_H
#define PLIM_PLANNER_SPACES_SPACE_PORTFOLIO_H

#include "planner/spaces/space_search.h"

enum { PLIM_SPACE_SEARCHES = 3 /* recompute alone, paging alone, all that is allowed */ };

typedef struct plim_space_portfolio {
  plim_space_found best; /* of them all */
  plim_space_found found[PLIM_SPACE_SEARCHES];
  plim_space_events events[PLIM_SPACE_SEARCHES]; /* those found */
} plim_space_portfolio;

/* Search with recompute alone and with paging alone, each as a call that allows nothing else does, and then with all
 * that `options` allow, from what the two found. So no call that allows more has a worse plan, where no time limit ends
 * a search. Of graphs of tuning.search.large_nodes nodes, and where one of the two is not allowed, the last alone.
 *   least  in  what no plan is below, whatever is allowed; options->bound is that of all that they allow
 *   out    in  events are empty lists of the context
 * Deterministic where no deadline of the context is. */
PLIM_MUST_USE plim_status plim_space_portfolio_search(const plim_space_problem *problem,
                                                      const plim_space_search_options *options, double least,
                                                      plim_space_portfolio *out);

void plim_space_portfolio_free(plim_space_portfolio *portfolio);

#endif
