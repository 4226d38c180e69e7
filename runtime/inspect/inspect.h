/* Inspects a plan: which storages are resident at a command, at which offset, when each is read next, and why a storage
 * is absent. It needs only graph and plan: nothing is recorded for it while planning or running.
 *
 * Commands are indices of the plan; arguments must be in range. Nothing changes the index after plim_inspect_new, so
 * the functions that return no status are safe from any thread. All are deterministic.
 *
 * A storage is *absent* from the end of one of its buffers to the begin of the next.
 *
 * inspect.c has the index and its questions; absence.c and absence_room.c say why a storage is absent. */
#ifndef PLIM_RUNTIME_INSPECT_INSPECT_H
#define PLIM_RUNTIME_INSPECT_INSPECT_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_inspect plim_inspect;

/* Make the index of a plan that has passed plim_plan_check. Graph and plan must outlive the index. *out: free with
 * plim_inspect_free. PLIM_EDATA: the plan is of another graph. PLIM_EUNSUPPORTED: the plan has page spaces; use
 * plim_paged_run_spaces and plim_space_inspect_open. PLIM_ENOMEM.
 * O(commands x operands + buffers log buffers). */
PLIM_MUST_USE plim_status plim_inspect_new(const plim_graph *graph, const plim_plan *plan, plim_inspect **out);
void plim_inspect_free(plim_inspect *inspect); /* NULL is legal */

/* Sum of the live bytes during a command. O(1). */
int64_t plim_inspect_live_bytes(const plim_inspect *inspect, int32_t command);

/* Did an earlier command run the same op? O(1). */
int plim_inspect_is_repeat(const plim_inspect *inspect, int32_t command);

/* The name of a storage: that of its first value; "workspace" for PLIM_WORKSPACE. Borrowed from the graph. O(values).
 */
const char *plim_inspect_name(const plim_inspect *inspect, int32_t storage);

/* The first command at or after `command` that reads the storage, or PLIM_NONE. O(log uses). */
int32_t plim_inspect_next_use(const plim_inspect *inspect, int32_t storage, int32_t command);

typedef struct plim_resident {
  int32_t buffer;   /* of the plan */
  int32_t storage;  /* PLIM_WORKSPACE: of the command */
  int32_t next_use; /* first command from this one on that reads it, before its lifetime ends, or PLIM_NONE */
} plim_resident;

/* List the buffers whose lifetimes contain a command, by ascending offset.
 *   out  [capacity]  out
 * Writes at most `capacity` of them, and returns how many there are. O(buffers + residents x capacity). */
int32_t plim_inspect_residents(const plim_inspect *inspect, int32_t command, plim_resident *out, int32_t capacity);

typedef enum plim_absence_kind {
  PLIM_ABSENT_NOT,     /* the storage is resident at that command */
  PLIM_ABSENT_UNMADE,  /* its op has not run yet */
  PLIM_ABSENT_DONE,    /* nothing reads it again */
  PLIM_ABSENT_DROPPED, /* it is recomputed later */
} plim_absence_kind;

/* The limit that would be exceeded if a storage had stayed while it is absent, and everything else were as planned. */
typedef enum plim_break {
  PLIM_BREAKS_NOTHING,   /* none: a range of the arena is free for it during all of that time */
  PLIM_BREAKS_BUDGET,    /* the budget, by the sum of its bytes and all live bytes */
  PLIM_BREAKS_ADDRESSES, /* the budget, by addresses: no range of the arena stays free for it (packed plans) */
} plim_break;

/* Why a storage is absent. A command that has no meaning is -1. */
typedef struct plim_absence {
  plim_absence_kind kind;
  int32_t gone, back; /* absent in [gone, back) */
  /* the other fields are set for DROPPED */
  plim_break breaks;
  /* BUDGET: the first command at which live bytes would exceed the budget, and by how many bytes.
   * ADDRESSES: the first command by which no range within the budget has stayed free since `gone`, and by how many
   * bytes the lowest range that is free in all of [gone, back) ends above the budget. */
  int32_t full_command;
  int64_t over_bytes;
  int64_t free_offset; /* ADDRESSES: of the lowest range that is free until full_command, PLIM_NONE: none is free at
                          `gone` */
  int32_t blocker;     /* ADDRESSES: the storage that uses bytes of that range at full_command, or PLIM_WORKSPACE */
  int64_t again_ns;    /* time to recompute it: its run at `back`, and the repeats that serve only this run */
  int32_t again_runs;  /* number of these runs */
  int32_t again_depth; /* longest chain of these runs; 1: its inputs were resident */
  int32_t sibling;     /* another storage that the run at `back` writes and that is read later, or PLIM_NONE */
  /* The cheapest alternative: a storage that could have been evicted in its place, or PLIM_NONE. It can be recomputed
   * for its next read, in less time than any other. BUDGET: it is resident and not read at full_command, and has enough
   * bytes. ADDRESSES: it is resident from `gone` on and not read until full_command; without it a range would stay
   * free. */
  int32_t other;
  int64_t other_ns, other_bytes; /* its time to recompute, and its bytes */
} plim_absence;

/* Explain why a storage is absent at a command.
 *   out  [1]  out
 * PLIM_ENOMEM. O((commands + buffers) x operands x log commands). On the thread of the plan's context. */
PLIM_MUST_USE plim_status plim_inspect_absence(const plim_inspect *inspect, int32_t storage, int32_t command,
                                               plim_absence *out);

#ifdef __cplusplus
}
#endif
#endif
