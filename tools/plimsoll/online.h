/* Training without a plan: the training step, or that of the short last batch, under an online policy. */
#ifndef PLIM_TOOLS_PLIMSOLL_ONLINE_H
#define PLIM_TOOLS_PLIMSOLL_ONLINE_H

#include "tools/plimsoll/session.h"

/* Give the session's program what --online makes of its training step within the budget; counts in s->replay. */
plim_status online_run(session *s);

/* Decide the step of the last batch in the same arena; counts in s->last. */
plim_status online_last(session *s);

#endif
