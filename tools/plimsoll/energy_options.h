/* Plans of models of least energy: --objective energy, --deadline, and the powers of --platform. */
#ifndef PLIM_TOOLS_PLIMSOLL_ENERGY_OPTIONS_H
#define PLIM_TOOLS_PLIMSOLL_ENERGY_OPTIONS_H

#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/session.h"

int energy_wanted(const options *o);

/* Set powers and deadline of s->paging, where the options ask for it; after its spaces. PLIM_EUSAGE: no spaces to
 * choose between, or a deadline that is none. PLIM_EDATA: the platform has no power for a device or link of this run.
 * */
plim_status energy_choose(session *s);

/* Energy of the plan and of keep-all, and the deadline. No row where the objective is time. */
void energy_figures(figures *f, int column, const session *s, const plim_plan *plan);

#endif
