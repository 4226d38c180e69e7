/* Options of effort beside the planner that is asked for: what it has no use for is told, not passed over. */
#ifndef PLIM_TOOLS_PLIMSOLL_EFFORT_OPTIONS_H
#define PLIM_TOOLS_PLIMSOLL_EFFORT_OPTIONS_H

#include "planner/planner.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/options.h"

/* PLIM_EUSAGE where the planner would break what an option promises: a limit on copies. */
plim_status effort_check(plim_context *ctx, const options *o);

/* A row for the options that were given and change nothing about what the planner does; none when there are none. */
void effort_figures(figures *f, int column, const options *o);

#endif
