/* Stepping by lines, and where one can go. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_PROMPT_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_PROMPT_H

#include <stdio.h>

#include "tools/plimsoll/trace/trace_session.h"

/* ==== where to go ==== */

/* Jumps: from a command of the plan to another, by what happens there. */

typedef struct trace_jump {
  char key;
  const char *what; /* as in "next command that ..." */
  const char *none; /* as in "there is no ... after command 12" */
  int32_t direction;
  /* Does it happen at the command? */
  plim_status (*happens)(const traced *t, int32_t command, int *yes);
} trace_jump;

/* Row i of the table, NULL after the last; the row of a key, NULL when there is none. */
const trace_jump *trace_jump_at(int32_t i);
const trace_jump *trace_jump_find(char key);

/* The first command after `from` (or before it) at which it happens; -1: none. */
plim_status trace_jump_to(const trace_jump *jump, const traced *t, int32_t from, int32_t *command);

/* Where two runs part: the first command at which the other runs another op or variant; the first at which something
 * buffers elsewhere or for another time. The length of the shorter run when there is none before; -1: they are
 * equal. */
typedef struct trace_parting {
  int32_t run, place;
} trace_parting;

/* PLIM_EDATA when the other run is of another graph. */
plim_status trace_divergence(const traced *a, const traced *b, trace_parting *out);

/* Where to look: at the first other op, else at the first other place; -1: the runs are equal, or `a` ends before. */
int32_t trace_parting_command(const traced *a, const trace_parting *parting);

/* What the other run has there, in words. */
void trace_parting_say(const traced *a, const traced *b, const trace_parting *parting, char *text, size_t size);

/* ==== the lines ==== */

/* Stepping through a trace by hand, by lines of input. */

/* Read commands from `from` until its end or "q"; views and answers go to `to`. `other` (may be NULL) is the run to
 * compare with. `prompt` 1: show one. A line that is no
 * command gets a sentence and changes nothing. */
plim_status trace_prompt(const traced *t, const traced *other, FILE *from, FILE *to, int prompt);

#endif
