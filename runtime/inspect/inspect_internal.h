/* The index after inspect.h; for this folder. */
#ifndef PLIM_RUNTIME_INSPECT_INSPECT_INTERNAL_H
#define PLIM_RUNTIME_INSPECT_INSPECT_INTERNAL_H

#include "runtime/inspect/inspect.h"

struct plim_inspect {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *plan;
  int64_t *live_bytes;   /* [n_commands] */
  unsigned char *repeat; /* [n_commands] */
  int32_t *buffer_first; /* [n_storages + 1] buffers of a storage, by begin: buffer[buffer_first[s] ..) */
  int32_t *buffer;       /* [n_buffers], workspaces left out */
  int32_t *by_offset;    /* [n_buffers] all buffers by offset, then as they stand in the plan; packed plans only */
  int32_t *use_first;    /* [n_storages + 1] commands that read a storage, ascending: use[use_first[s] ..) */
  int32_t *use, n_use;   /* [n_use] */
};

const plim_op *plim_inspect_op(const plim_inspect *inspect, int32_t command); /* NULL: the command is a copy */
int64_t plim_inspect_time(const plim_inspect *inspect, int32_t command);

/* The buffer of a storage that a command can read: it contains the command, or ends there because it is written over;
 * -1. */
int32_t plim_inspect_buffer_at(const plim_inspect *inspect, int32_t storage, int32_t command);

/* Would keeping the storage in [gone, back) break the budget? Sets breaks, full_command, over_bytes, free_offset and
 * taker.
 */
void plim_inspect_room(const plim_inspect *inspect, int32_t storage, plim_absence *absence);

/* Buffers without one of which a range would be free for the storage from `gone` up to the absence's full command, by
 * offset, one after another: start with {.last = -1}; -1 at the end. O(buffers) for all of them. */
typedef struct plim_room_walk {
  int32_t next, last; /* rows of by_offset; the buffer that is looked at */
  int64_t below;      /* where those below it end */
} plim_room_walk;

int32_t plim_inspect_makes_room(const plim_inspect *inspect, int32_t storage, const plim_absence *absence,
                                plim_room_walk *walk);

#endif
