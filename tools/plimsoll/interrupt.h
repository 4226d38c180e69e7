/* Ctrl-C, SIGTERM and SIGHUP: the first asks the running work to stop after its step, another, a tenth of a second
 * later or more, ends the program at once. */
#ifndef PLIM_TOOLS_PLIMSOLL_INTERRUPT_H
#define PLIM_TOOLS_PLIMSOLL_INTERRUPT_H

#include "runtime/base/context.h"

/* From now on the signals cancel this context; NULL restores the former behaviour. SIGHUP stays ignored where it was.
 */
void interrupt_watch(plim_context *ctx);

/* 1: the work in hand keeps nothing, so the first signal ends the program at once, unless a file is being written; 0,
 * as at the begin: it cancels the context. */
void interrupt_at_once(int yes);

/* While a person is asked, a signal ends a read that waits; otherwise reads continue after it. */
void interrupt_breaks_reads(int yes);

/* Exit status of a program that was interrupted: 130 by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP. */
int interrupt_exit_status(void);

#endif
