/* Stepping through a run on a whole terminal. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_SCREEN_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_SCREEN_H

#include "tools/plimsoll/trace_session.h"

/* Run until q. *shown is 0, and nothing was done, when this terminal cannot be drawn on. `other` may be NULL. */
plim_status trace_screen(const traced *t, const traced *other, int *shown);

#endif
