/* Training without a plan: the training step, or that of the short last batch, under an online policy. */
#ifndef PLIM_TOOLS_PLIMSOLL_ONLINE_H
#define PLIM_TOOLS_PLIMSOLL_ONLINE_H

#include "tools/plimsoll/session.h"

/* Give the session's program what --online makes of its training step within the budget; counts in s->replay. */
plim_status online_run(session *s);

/* The refusal of --online: the sentence of planned mode where no plan fits the session's budget either, else the
 * policy's own, which the context holds; and the bytes in which the policy finds a way. */
plim_status online_refuse(session *s);

/* Decide the step of the last batch in the same arena; counts in s->last. */
plim_status online_last(session *s);

#endif
