/* Two runs of one graph beside each other. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_DIFF_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_DIFF_H

#include <stdio.h>

#include "tools/plimsoll/trace_session.h"

/* Where two runs of one graph part ways, and what each runs again. PLIM_EDATA when the graphs differ. *same is 1 when
 * they are equal step by step and address by address. */
plim_status trace_diff(const traced *a, const traced *b, int as_json, FILE *to, int *same);

#endif
