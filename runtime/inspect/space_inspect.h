/* Inspects a plan over spaces: what each queue does at a time, which command it waits for, and why a storage is absent
 * from a space between two uses. Times are those of the simulator, in ns or in the unit of an imported graph. Functions
 * run on the thread of the context. After the open they change nothing; they are deterministic. */
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
  int32_t *before;            /* [n_commands] the command before it on its queue, or PLIM_NONE */
  int32_t *run_of;            /* [n_ops] the first run of an op */
  /* of storage s, the commands that read, write or copy it, ascending: use[use_first[s]] .. */
  int32_t *use_first, *use;       /* [n_storages + 1], [n_uses] */
  int32_t *buffer_first, *buffer; /* [n_storages + 1], [n_buffers] likewise the buffers of a storage, by begin */
  int32_t n_uses;
} plim_space_inspect;

/* Simulate the plan, and keep the figures that the functions below read. PLIM_ENOMEM, or the errors of
 * plim_space_plan_simulate. O(commands x (spaces + waits + operands) + buffers). */
PLIM_MUST_USE plim_status plim_space_inspect_open(plim_context *ctx, const plim_graph *graph,
                                                  const plim_space_plan *plan, plim_space_inspect *out);
void plim_space_inspect_close(plim_space_inspect *inspect); /* legal after a failed open */

/* The state of a queue at time t. */
typedef struct plim_space_queue_state {
  int32_t now;     /* the running command, which has begun at or before t and not ended; PLIM_NONE: the queue is idle */
  int32_t next;    /* the first command that begins later, or PLIM_NONE */
  int64_t idle_ns; /* idle time between the command before `next` and `next` */
  int32_t caused_by; /* the command of another queue for whose end `next` waits during that time, or PLIM_NONE */
} plim_space_queue_state;
/* Find the state of a queue at time t. O(commands). */
plim_space_queue_state plim_space_inspect_queue(const plim_space_inspect *inspect, int32_t queue, int64_t t_ns);

/* The command among the waits of command c at whose end c begins; PLIM_NONE: c begins with the end of the command
 * before it on its queue, or at time 0. idle_ns  out  idle time of its queue before c; may be NULL O(waits of c). */
int32_t plim_space_inspect_cause(const plim_space_inspect *inspect, int32_t c, int64_t *idle_ns);

/* Live bytes of a space at command c. O(1). */
static inline int64_t plim_space_inspect_live(const plim_space_inspect *inspect, int32_t space, int32_t c) {
  return inspect->live[(int64_t)space * inspect->plan->n_commands + c];
}

/* The first command from c on that reads a storage in a space, or PLIM_NONE. O(uses of the storage x operands). */
int32_t plim_space_inspect_next_use(const plim_space_inspect *inspect, int32_t storage, int32_t space, int32_t c);

/* A gap: the storage is not in the space between two of its buffers there. */
typedef struct plim_space_gap {
  int32_t storage, space;
  int32_t from, until; /* it is absent during commands [from, until); `until` fills it again */
  int32_t paged;       /* 1: `until` is a copy, 0: a run */
} plim_space_gap;

/* List the gaps of all storages by `until`. *gap [*n] out: free with plim_release and *n; NULL when there is none.
 * PLIM_ENOMEM. O(buffers + storages x spaces). */
PLIM_MUST_USE plim_status plim_space_inspect_gaps(const plim_space_inspect *inspect, plim_space_gap **gap, int32_t *n);

/* The bytes that were missing in a gap, and the costs of filling the storage again. */
typedef struct plim_space_why {
  int32_t out;           /* the copy from this space to the space that `until` copies from, or PLIM_NONE */
  int32_t next_use;      /* the command that reads it after `until`, or PLIM_NONE */
  int32_t worst;         /* the command in the gap with most live bytes in the space, or PLIM_NONE */
  int64_t with_it_bytes; /* live bytes at that command plus those of the storage */
  int64_t copy_ns;       /* time of both copies */
  int64_t window_ns;     /* from its last use before the gap to its next use */
  int64_t link_free_ns; /* part of the window in which other copies leave the copy's queue free; PLIM_NONE: not paged */
  int32_t can_recompute;    /* 0: not possible, because of an op of class once or effect, or a storage that no op writes
                             */
  int32_t recompute_runs;   /* number of runs that recompute it at `until`; at most 2,000 */
  int32_t recompute_copies; /* number of copies, from other spaces, of storages that these runs read */
  int64_t recompute_ns;     /* time of these runs and copies */
  double recompute_joule;   /* energy of both, when the plan has energies */
} plim_space_why;

/* Explain a gap. PLIM_ENOMEM. O(commands + ops + storages), and for each operand of a recompute O(its buffers and
 * uses). */
PLIM_MUST_USE plim_status plim_space_inspect_why(const plim_space_inspect *inspect, const plim_space_gap *gap,
                                                 plim_space_why *out);

/* What a plan does with a storage that an op writes. */
typedef struct plim_space_decision {
  int32_t device;       /* of the first run of its op */
  int32_t runs, copies; /* commands that run the op, that copy the storage */
  int32_t gap;          /* its first in the list of gaps; PLIM_NONE: it has none */
  int64_t time_ns;      /* of all these commands but the first run; of a copy of several storages its share of bytes */
  double joule;         /* the same in energy; 0: the plan has no energies */
} plim_space_decision;

/* Sum up the commands of a storage. gap [n]: of plim_space_inspect_gaps. O(uses of the storage + gaps). */
plim_space_decision plim_space_inspect_decision(const plim_space_inspect *inspect, const plim_space_gap *gap, int32_t n,
                                                int32_t storage);
/* "keep", "place" (on another device than the first), "copy" (another device reads it), "page", "recompute" or
 * "recompute, copy": a static string. */
const char *plim_space_decision_name(const plim_space_decision *decision);

#ifdef __cplusplus
}
#endif
#endif
