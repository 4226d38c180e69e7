/* Times in place: --retime. */
#ifndef PLIM_TOOLS_PLIMSOLL_RETIME_OPTIONS_H
#define PLIM_TOOLS_PLIMSOLL_RETIME_OPTIONS_H

#include "runtime/train/trainer.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/options.h"

struct session;

typedef struct retime {
  int reported;
  plim_retime_report report;
} retime;

/* Into the options of a trainer of the session's program; what comes of it is kept, and printed as it happens. To be
 * called after session_plan. PLIM_EUSAGE where there is no plan that could be recomputed. */
PLIM_MUST_USE plim_status retime_set(struct session *s, plim_trainer_options *wanted);

/* What came of it, as a row. */
void retime_figures(figures *f, const options *o, const retime *r);

#endif
