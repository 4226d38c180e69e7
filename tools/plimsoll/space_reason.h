/* Words for plans over spaces: what a command is, and why a storage was away from a space. */
#ifndef PLIM_TOOLS_PLIMSOLL_SPACE_REASON_H
#define PLIM_TOOLS_PLIMSOLL_SPACE_REASON_H

#include "runtime/inspect/space_inspect.h"

enum { SPACE_WORDS = 512 };

/* Each writes to text [SPACE_WORDS] and returns it. */

/* "run conv1", "copy conv1", "copy conv1 and 2 more". */
const char *space_command_words(const plim_graph *graph, const plim_space_plan *plan, int32_t c, char *text);

/* The op that writes a storage; for one that no op writes its number. */
const char *space_storage_words(const plim_graph *graph, int32_t storage, char *text);

/* Why: the bytes that were missing, what a recompute would have cost, what the link had free, and the next use. */
const char *space_reason_words(const plim_space_inspect *inspect, const plim_space_gap *gap, const plim_space_why *why,
                               char *text);

#endif
