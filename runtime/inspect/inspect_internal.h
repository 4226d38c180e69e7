/* The index of inspect.h, for the files of this folder.
 * inspect.c has the index, absence_room.c the room for a storage that is absent. */
#ifndef PLIM_RUNTIME_INSPECT_INSPECT_INTERNAL_H
#define PLIM_RUNTIME_INSPECT_INSPECT_INTERNAL_H

#include "runtime/inspect/inspect.h"

/* For each storage, the commands that read or that update it, ascending. */
typedef struct plim_storage_commands {
  int32_t *first;      /* [n_storages + 1] those of storage s: command[first[s] .. first[s + 1]) */
  int32_t *command, n; /* [n] */
} plim_storage_commands;

struct plim_inspect {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *plan;
  int64_t *live_bytes;   /* [n_commands] */
  unsigned char *repeat; /* [n_commands] */
  int32_t *buffer_first; /* [n_storages + 1] buffers of a storage, by begin: buffer[buffer_first[s] ..) */
  int32_t *buffer;       /* [n_buffers], workspaces left out */
  int32_t *by_offset;    /* [n_buffers] all buffers by offset, then as they stand in the plan; packed plans only */
  int32_t *run_of;       /* [n_ops] the first command that runs an op, or PLIM_NONE */
  plim_storage_commands reads, updates;
};

/* The op that a command runs: a plan without page spaces has only runs. */
const plim_op *plim_inspect_op(const plim_inspect *inspect, int32_t command);
/* The predicted time of a command, ns. */
int64_t plim_inspect_time(const plim_inspect *inspect, int32_t command);

/* The first command at or after `command` that updates the storage, or PLIM_NONE. O(log updates). */
int32_t plim_inspect_next_update(const plim_inspect *inspect, int32_t storage, int32_t command);

/* The buffer in which a command can read a storage, or PLIM_NONE. Its lifetime contains the command, or ends there
 * because the command overwrites it in place. */
int32_t plim_inspect_buffer_at(const plim_inspect *inspect, int32_t storage, int32_t command);

/* Find whether keeping the storage in [gone, back) would exceed the budget. Sets breaks, full_command, over_bytes,
 * free_offset and blocker. */
void plim_inspect_room(const plim_inspect *inspect, int32_t storage, plim_absence *absence);

/* A walk over certain buffers, by offset. Without each of them, a range would be free for the storage from `gone` up to
 * the absence's full command. Start with {.last = PLIM_NONE}; each call returns the next such buffer, PLIM_NONE at the
 * end. All calls together take O(buffers). */
typedef struct plim_room_walk {
  int32_t next;  /* next row of by_offset */
  int32_t last;  /* the buffer that the next call decides, or PLIM_NONE */
  int64_t below; /* end of the buffers below `last` */
} plim_room_walk;

int32_t plim_inspect_makes_room(const plim_inspect *inspect, int32_t storage, const plim_absence *absence,
                                plim_room_walk *walk);

#endif
