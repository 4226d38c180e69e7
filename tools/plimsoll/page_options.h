/* Paging as the options say: --memory cpu=SIZE,host=SIZE or disk=SIZE, --recompute, --page-file. */
#ifndef PLIM_TOOLS_PLIMSOLL_PAGE_OPTIONS_H
#define PLIM_TOOLS_PLIMSOLL_PAGE_OPTIONS_H

#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/session.h"

/* Set s->planning.paging, with the link measured, where the options ask for it; after the budget. PLIM_EUSAGE: options
 * that do not go together. */
plim_status paging_choose(session *s);

/* Rows of the page spaces of a plan, and of what the executor measured in its last step. None for plans without. */
void paging_figures_plan(figures *f, int column, const plim_plan *plan);
void paging_figures_measured(figures *f, int column, const plim_exec *exec);

#endif
