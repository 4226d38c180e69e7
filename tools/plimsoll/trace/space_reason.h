/* Words for plans over spaces: what a command is, and why a storage was away from a space. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_SPACE_REASON_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_SPACE_REASON_H

#include "runtime/inspect/space_inspect.h"

enum { SPACE_WORDS = 512 };

/* Are the plan's times in the unit of the graph's file, which no one names? They are where the graph gives times for a
 * device of the plan; elsewhere they are nanoseconds. */
int space_has_own_times(const plim_graph *graph, const plim_space_plan *plan);

/* A time with its unit, "345.531 us", or as a number, "345,531"; to text [HUMAN_BYTES], which it returns. */
const char *space_time_words(const plim_graph *graph, const plim_space_plan *plan, int64_t time, char *text);

/* Each writes to text [SPACE_WORDS] and returns it. */

/* "run conv1", "copy conv1", "copy conv1 and 2 more". */
const char *space_command_words(const plim_graph *graph, const plim_space_plan *plan, int32_t c, char *text);

/* The op that writes a storage; of an op that writes several, and of a storage that no op writes, the first tensor;
 * "workspace" for PLIM_WORKSPACE. */
const char *space_storage_words(const plim_graph *graph, int32_t storage, char *text);

/* Why: the bytes that were missing, what a recompute would have cost, what the link had free, and the next use. */
const char *space_reason_words(const plim_space_inspect *inspect, const plim_space_gap *gap, const plim_space_why *why,
                               char *text);

#endif
