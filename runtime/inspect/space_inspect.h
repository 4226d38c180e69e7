/* What a plan over spaces does at a command: what each queue does then, what it waits for and who causes it, and why a
 * storage was away from a space between two uses. All times are the simulator's, in ns or, where an imported graph has
 * another unit, in that. Only the thread of the context; questions change nothing and are deterministic. */
#ifndef PLIM_RUNTIME_INSPECT_SPACE_INSPECT_H
#define PLIM_RUNTIME_INSPECT_SPACE_INSPECT_H

#include "runtime/graph/graph.h"
#include "runtime/graph/space/space_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Graph and plan are borrowed: a checked plan of the graph. */
typedef struct plim_space_inspect {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_space_plan *plan;
  int64_t *begin_ns, *end_ns; /* [n_commands] by the simulator */
  int64_t *peak_bytes;        /* [n_spaces] */
  int64_t *live;              /* [n_spaces][n_commands] bytes */
  int32_t *before;            /* [n_commands] the command before it on its queue, -1: none */
  int32_t *run_of;            /* [n_ops] the first run of an op */
} plim_space_inspect;

/* Simulate the plan and keep what the questions below need. PLIM_ENOMEM, and what plim_space_plan_simulate returns.
 * O(commands x (spaces + waits) + buffers). */
PLIM_MUST_USE plim_status plim_space_inspect_open(plim_context *ctx, const plim_graph *graph,
                                                  const plim_space_plan *plan, plim_space_inspect *out);
void plim_space_inspect_close(plim_space_inspect *inspect); /* legal after a failed open */

/* A queue at the moment t. */
typedef struct plim_space_queue_state {
  int32_t now;       /* the command under way: begun at or before t and not ended; -1: the queue is idle */
  int32_t next;      /* the first that begins later; -1: none */
  int64_t idle_ns;   /* that it stands idle between the command before `next` and `next` */
  int32_t caused_by; /* the command of another queue whose end `next` waits for during that time; -1: none */
} plim_space_queue_state;
/* O(commands). */
plim_space_queue_state plim_space_inspect_queue(const plim_space_inspect *inspect, int32_t queue, int64_t t_ns);

/* The wait whose end lets command c begin; -1: it begins with the end of the one before it on its queue, or at once.
 * *idle_ns (may be NULL) out: how long its queue stood idle for it. O(waits of c). */
int32_t plim_space_inspect_cause(const plim_space_inspect *inspect, int32_t c, int64_t *idle_ns);

/* Bytes of a space at command c. */
static inline int64_t plim_space_inspect_live(const plim_space_inspect *inspect, int32_t space, int32_t c) {
  return inspect->live[(int64_t)space * inspect->plan->n_commands + c];
}

/* The first command from c on that reads a storage in a space; -1: none. */
int32_t plim_space_inspect_next_use(const plim_space_inspect *inspect, int32_t storage, int32_t space, int32_t c);

/* Command c reads a storage from the space, or fills it there. */
int plim_space_inspect_reads(const plim_space_inspect *inspect, int32_t c, int32_t storage, int32_t space);

/* A storage is away from a space between two buffers. */
typedef struct plim_space_gap {
  int32_t storage, space;
  int32_t from, until; /* commands [from, until) have it not; `until` fills it again */
  int32_t paged;       /* 1: a copy brings it, 0: a run */
} plim_space_gap;

/* The gaps of all storages by `until`. *gap [*n] out, NULL where there is none; plim_release with *n frees it.
 * O(buffers + storages x spaces). */
PLIM_MUST_USE plim_status plim_space_inspect_gaps(const plim_space_inspect *inspect, plim_space_gap **gap, int32_t *n);

/* The bytes that were missing in a gap, and what the return of the storage costs. */
typedef struct plim_space_why {
  int32_t out;              /* the copy that took it to where it came from; -1: none */
  int32_t next_use;         /* the command that reads it after `until`; -1: none */
  int32_t worst;            /* the command of the gap with most bytes in the space; -1: none is between */
  int64_t with_it_bytes;    /* the bytes there, and its own */
  int64_t copy_ns;          /* of both copies */
  int64_t window_ns;        /* from its last use before the gap to the next one */
  int64_t link_free_ns;     /* of the window: the queue of the copy is not taken by others; -1: it was not paged */
  int32_t can_recompute;    /* 0: an op of class once or effect is in the way, or a storage that no op writes */
  int32_t recompute_runs;   /* runs that a recompute at `until` takes, with those of what is nowhere; at most 2,000 */
  int32_t recompute_copies; /* copies of what these runs read and another space has */
  int64_t recompute_ns;     /* the times of both */
  double recompute_joule;   /* their energies, where the plan has them */
} plim_space_why;

/* O(commands + runs of a recompute x buffers). */
PLIM_MUST_USE plim_status plim_space_inspect_why(const plim_space_inspect *inspect, const plim_space_gap *gap,
                                                 plim_space_why *out);

#ifdef __cplusplus
}
#endif
#endif
