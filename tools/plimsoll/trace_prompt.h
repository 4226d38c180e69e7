/* Stepping through a trace by hand: one command a line. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_PROMPT_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_PROMPT_H

#include <stdio.h>

#include "tools/plimsoll/trace_session.h"

/* Read commands from `from` until its end or "q"; views and answers go to `to`. `other` (may be NULL) is the run to
 * compare with. `prompt` 1: show one. A line that is no
 * command gets a sentence and changes nothing. */
plim_status trace_prompt(const traced *t, const traced *other, FILE *from, FILE *to, int prompt);

#endif
