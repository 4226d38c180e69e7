/* The terminal that this program runs on. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_TERMINAL_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_TERMINAL_H

/* Is its kind, $TERM, described on this machine, and one whose cursor can be moved? */
int trace_terminal_known(void);

#endif
