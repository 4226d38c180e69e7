/* The reasons of an online run as text: who asked for room, which windows were compared, what kept the others, and what
 * is recomputed for whom. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_REASONS_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_REASONS_H

#include <stdio.h>

#include "tools/plimsoll/trace_session.h"

/* Every decision before a step; of a run that found no room, also what would do. Nothing for a planned run. */
plim_status trace_reasons(const traced *t, int32_t step, FILE *to);

/* The runs that a step of the program waited for, or the tree that this step belongs to. */
void trace_tree(const traced *t, int32_t step, FILE *to);

#endif
