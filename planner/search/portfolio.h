/* Searchers side by side, one a thread, that exchange their best plans. */
#ifndef PLIM_PLANNER_PORTFOLIO_H
#define PLIM_PLANNER_PORTFOLIO_H

#include "planner/planning.h"

/* Search with options->threads searchers, at most PLIM_BATCH_MOST; the first cooling starts from `order`. Each makes as
 * many moves as a lone one would. They meet when all have ended a cooling, and the next one starts from the best that
 * any of them met. So without a time limit the outcome depends on the seed and the number of threads, not on timing. */
PLIM_MUST_USE plim_status plim_portfolio_run(plim_planning *planning, const plim_schedule *order);

#endif
