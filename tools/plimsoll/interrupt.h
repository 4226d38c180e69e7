/* Ctrl-C: the first asks the running work to stop after its step, another, a tenth of a second later or more, ends the
 * program at once. */
#ifndef PLIM_TOOLS_PLIMSOLL_INTERRUPT_H
#define PLIM_TOOLS_PLIMSOLL_INTERRUPT_H

#include "runtime/base/context.h"

/* From now on SIGINT and SIGTERM cancel this context; NULL restores the former behaviour. */
void interrupt_watch(plim_context *ctx);

#endif
