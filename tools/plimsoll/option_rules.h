/* Options that are of no use beside others: said, not ignored. */
#ifndef PLIM_TOOLS_PLIMSOLL_OPTION_RULES_H
#define PLIM_TOOLS_PLIMSOLL_OPTION_RULES_H

#include "planner/planner.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/options.h"

/* PLIM_EUSAGE with the names of both when an option was given that its command would ignore for the sake of another
 * option, of one that is missing, or of what the command is asked to do; and when one is missing without which it can
 * do nothing. */
PLIM_MUST_USE plim_status option_rules_check(plim_context *ctx, const options *o);

/* A row for the options of effort that were given and change nothing about what the planner does (plim_planner_obeys);
 * none when there are none. */
void effort_figures(figures *f, int column, const options *o);

#endif
