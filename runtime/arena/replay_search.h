/* Arena replay: a schedule without addresses, placed by the online arena while it runs (in the manner of Coop).
 *
 * The arena's decisions depend on graph, schedule and profiled times alone. So the replay happens before the run. It
 * yields a plan with recomputations where evictions were needed, which the checker proves and the executor runs.
 *
 * Functions belong to the thread of their context, and only read graphs, plans and profiles. On failure outputs are
 * untouched, except *counts. Any function may return PLIM_ENOMEM. All are deterministic, except for search_ns. They
 * report no progress. A cancel ends them with the best plan so far, or with PLIM_ECANCEL when there is none.
 *
 * From the highest file to the lowest:
 *   replay_search.c      which configurations are replayed, and the plan that is kept
 *   replay.h             one replay: the schedule, command by command
 *   residency.h          the state of the arena while it runs, with a drawing; lists the files that work on it
 *   arena_blocks.h       free and used blocks; free_set.h finds a free one, window.h the cheapest window
 *   forecast.h           what the schedule says of the future; missing.h, walk_bounds.h: costs of what is missing
 *   policy.h             the table of online policies */
#ifndef PLIM_RUNTIME_ARENA_REPLAY_SEARCH_H
#define PLIM_RUNTIME_ARENA_REPLAY_SEARCH_H

#include "runtime/arena/policy.h"
#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A decision other than the policy's: at search number `search` for room (from 1) the arena takes window number `take`
 * of the best few, modulo their count. */
typedef struct plim_perturbation {
  int32_t search, take;
} plim_perturbation;

enum { PLIM_PERTURBATIONS_MAX = 32 };

/* The configuration of one replay. */
typedef struct plim_replay_config {
  const plim_policy *policy;
  int32_t two_ends;    /* 1: storages that are cheap to recompute are placed from the high end */
  int32_t frontier;    /* 1: the operands of a chain of recomputations are pinned from its start */
  int32_t hold_inputs; /* 1: inputs stay as long as something may be recomputed from them */
  /* 1: small requests have an area of their own at the high end, where nothing is evicted. When it is full they get
   * room in the rest of the arena. When a larger request finds no room in the rest, the area becomes a part of it */
  int32_t small_area;
  int32_t n_perturbations;
  int64_t area_bytes; /* of that area, for a replay that begins in the middle of a plan; else not read */
  plim_perturbation perturbation[PLIM_PERTURBATIONS_MAX]; /* [n_perturbations] that local search found to gain time */
} plim_replay_config;

/* Counts of the replay whose plan was kept, or of the first replay when no plan was found. */
typedef struct plim_replay_counts {
  plim_replay_config config;                   /* its configuration; policy NULL: none was tried */
  int32_t thrashed;                            /* 1: given up because recomputing took too long */
  int32_t n_commands;                          /* commands in the plan so far */
  int32_t op;                                  /* op of the last command, or the op that found no room, or PLIM_NONE */
  int64_t evictions;                           /* storages that were evicted to make room */
  int64_t recomputes, recomputed_ns;           /* commands that ran an op again, and their time */
  int64_t small_area_bytes, spills;            /* area for small requests; number of these that found it full */
  int64_t depth;                               /* longest chain of recomputations that wait for each other */
  int64_t searches, blocks_scanned, search_ns; /* searches for storages to evict; blocks read by them; their time */
  int64_t fragmentation_bytes; /* free bytes at each search, summed: they were in blocks too small for the request */
} plim_replay_counts;

/* Within what one replay must stay. */
typedef struct plim_replay_limits {
  int64_t arena_bytes;
  int64_t recomputed_ns; /* limit of the time of all recomputations, or PLIM_TIME_UNLIMITED */
} plim_replay_limits;

/* Replay the commands of `schedule` in an arena of `budget_bytes`: best fit from two ends, sliding-window eviction when
 * no block fits, recomputation of an evicted storage before its next read. Reads the order of the schedule's runs and
 * their variants, but not its addresses, buffers and pairs.
 *   counts  [1]  out  may be NULL. Also set on PLIM_ENOFIT, then of the replay that the sentence in the context names
 *   out     [1]  out  free with plim_plan_free
 * Several configurations are replayed. The fastest plan is kept, and of equally fast ones the first. The plan passes
 * plim_plan_check; persistent storages are at the low end in graph order.
 * PLIM_EPLAN: the schedule does not pass the check. PLIM_ENOFIT: an op finds no room in any configuration.
 * O(commands x operands + evictions x blocks) for each configuration.
 * Source: Zhang et al., Coop, NeurIPS 2023, with the corrections of docs/online.md. */
PLIM_MUST_USE plim_status plim_arena_replay(plim_context *ctx, const plim_graph *graph, const plim_plan *schedule,
                                            int64_t budget_bytes, plim_replay_counts *counts, plim_plan **out);

/* Simulate the program under one online policy, with and without an area for small requests. A policy that knows the
 * program's order tries the configurations of all others too. The fastest plan is kept.
 *   order          in       any plan of the graph: the order of its first runs, and its variants. No addresses are read
 *   counts, out    [1] out  as above
 * PLIM_ENOFIT: an op finds no room, or recomputing takes longer than allowed; counts->thrashed says which.
 * The plan's planner is "online" and the policy's name. With the variants, that is enough to repeat the simulation.
 * Cost as above. */
PLIM_MUST_USE plim_status plim_arena_online(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                                            const plim_policy *policy, plim_replay_limits limits,
                                            plim_replay_counts *counts, plim_plan **out);

/* Does plim_arena_online find a plan with these arguments?
 *   yes  [1]  out  1 or 0
 * Tries the same configurations, and stops at the first that yields a plan. Errors as plim_arena_online, without
 * PLIM_ENOFIT. */
PLIM_MUST_USE plim_status plim_arena_gets_through(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                                                  const plim_policy *policy, plim_replay_limits limits, int *yes);

/* What happens from one command of a plan on. */
typedef struct plim_arena_change {
  int32_t from;                /* the command */
  int64_t arena_bytes;         /* size of the arena from that command on */
  int64_t area_bytes;          /* size of the area for small requests at its high end; 0: there is none */
  const plim_policy *policy;   /* decides what stays; plim_arena_continue does not read it */
  const plim_profile *profile; /* plim_arena_continue alone: where it has variants of the same numerics keys with less
                                  workspace, the remaining commands may run these; NULL: none */
} plim_arena_change;

/* Finish a step online after its arena has shrunk, while `plan` runs and command change->from > 0 is next.
 *   plan  in       has passed the check
 *   out   [1] out  one plan: the commands of `plan` that have run, then the rest of its schedule, simulated within
 *                  change->arena_bytes from what is resident. Its budget is that of `plan`
 * Buffers that have begun come first and in the same order in both plans, at equal offsets. The exceptions are buffers
 * that stay live and end beyond change->arena_bytes. Before that command they move below it, to ranges that overlap no
 * buffer that moves. When nothing moves the plan passes the check.
 * PLIM_ENOFIT: an op, or a storage that cannot be recomputed, finds no room. There may still be a plan from a later
 * command on. Takes milliseconds. */
PLIM_MUST_USE plim_status plim_arena_continue(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                              const plim_arena_change *change, plim_replay_counts *counts,
                                              plim_plan **out);

/* Simulate a change in a checked plan. The commands before change->from stay as they are. The ops that have not run by
 * then run once, in program order.
 * A storage is resident before the command when its buffer ends there or later. Buffers may move before the command as
 * in plim_arena_continue. Errors as plim_arena_continue. */
PLIM_MUST_USE plim_status plim_arena_what_if(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                             const plim_arena_change *change, plim_replay_counts *counts,
                                             plim_plan **out);

#ifdef __cplusplus
}
#endif
#endif
