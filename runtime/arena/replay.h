/* Arena replay: a schedule without addresses, placed by the online arena while it runs (in the manner of Coop).
 *
 * The arena's decisions depend on graph, schedule and profiled times alone, so the replay is made before the run:
 * it yields a plan, with recomputations where an eviction was needed, that the checker proves and the executor runs. */
#ifndef PLIM_RUNTIME_ARENA_REPLAY_H
#define PLIM_RUNTIME_ARENA_REPLAY_H

#include "runtime/arena/policy.h"
#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At this search for room, counted from 1, another window than the policy's own is taken: number `take` of the best
 * few, modulo how many there are. */
typedef struct plim_perturbation {
  int32_t search, take;
} plim_perturbation;

enum { PLIM_MOST_PERTURBATIONS = 32 };

/* How a replay is made. two_ends: cheap storages at the high end. frontier: a chain's operands are pinned from its
 * start. hold_inputs: inputs stay as long as something may be recomputed from them. small_area: small requests have
 * an area of their own at the high end, where nothing is evicted; they go to the rest of the arena when it is full, and
 * it becomes a part of the rest when a larger request finds no room there. perturbation: decisions that
 * are better in the end, as local search has found. */
typedef struct plim_replay_config {
  const plim_policy *policy;
  int32_t two_ends, frontier, hold_inputs, small_area, n_perturbations;
  int64_t area_bytes; /* of that area, where a replay continues from the middle; 0: as it needs */
  plim_perturbation perturbation[PLIM_MOST_PERTURBATIONS];
} plim_replay_config;

/* Of the replay whose plan was kept; of the first one when none was. */
typedef struct plim_replay_counts {
  plim_replay_config way; /* that made it; policy NULL: none was tried */
  int32_t thrashed;       /* 1: given up because recomputing took too long */
  int32_t steps, op;      /* runs that were made; the op of the last one, or that found no room or no end; -1: none */
  int64_t evictions;      /* storages that were evicted to make room */
  int64_t recomputes, recomputed_ns;
  int64_t small_area_bytes, spills;            /* area for small requests; how many found it full */
  int64_t depth;                               /* longest chain of runs that wait for each other */
  int64_t searches, blocks_scanned, search_ns; /* for room */
  int64_t
      fragmentation_bytes; /* sum over the searches of the bytes that were free, in blocks too small or not in reach */
} plim_replay_counts;

/* Replay the steps of `schedule` in an arena of `budget_bytes`: best fit from two ends, sliding-window eviction when no
 * block fits, evicted storages recomputed when next read. Where the schedule writes and reads each storage is kept;
 * its addresses, buffers and pairs are not read.
 *   counts  [1]  out  may be NULL
 * A few policies are replayed and the fastest plan is kept, of equal ones that of the first policy. The plan passes
 * plim_plan_check; persistent storages are at the low end in graph order. PLIM_EPLAN when the schedule does not pass
 * the check, PLIM_ENOFIT when an op finds no room under any policy. O(commands x operands + evictions x blocks) a
 * policy. Deterministic (search_ns aside). Source: Coop, NeurIPS 2023, with the corrections of docs/online.md. */
PLIM_MUST_USE plim_status plim_arena_replay(plim_context *ctx, const plim_graph *graph, const plim_plan *schedule,
                                            int64_t budget_bytes, plim_replay_counts *counts, plim_plan **out);

/* The program in its order, which `order` (any plan of it; addresses are not read) says, under one online policy, with
 * and without an area for small requests. For a policy that knows the future all ways are tried, those of the others
 * included. The fastest plan is kept.
 * PLIM_ENOFIT also when recomputing takes more than limit_ns: counts->thrashed. The plan's planner is "online" and
 * the policy's name: with the variants it says all that the run can be recomputed from. */
PLIM_MUST_USE plim_status plim_arena_online(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                                            const plim_policy *policy, int64_t budget_bytes, int64_t limit_ns,
                                            plim_replay_counts *counts, plim_plan **out);

/* *yes: does plim_arena_online find a plan there? The same ways are tried, up to the first that ends. */
PLIM_MUST_USE plim_status plim_arena_gets_through(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                                                  const plim_policy *policy, int64_t budget_bytes, int64_t limit_ns,
                                                  int *yes);

/* The arena shrinks to arena_bytes while `plan` runs and its step `from` > 0 is next: finish online. What comes out is
 * one plan: the steps of `plan` that have run and the rest of its schedule, simulated from what they left, within
 * arena_bytes; its budget is that of `plan`, which has passed the check. Where the profile (NULL: none) has variants of
 * the same numerics keys with less workspace, the rest runs them if it must. Buffers that have begun come first and in
 * the same order in both. They have the same places, but for those that continue and lay beyond arena_bytes: these have
 * moved before step `from` to ranges below it that nothing takes that has yet to move. Without moves the plan passes
 * the check. PLIM_ENOFIT when an op, or something that cannot be recomputed, finds no room: one step later there may be
 * a way. Takes milliseconds. Deterministic. */
PLIM_MUST_USE plim_status plim_arena_continue(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                              const plim_profile *profile, int32_t from, int64_t arena_bytes,
                                              plim_replay_counts *counts, plim_plan **out);

/* What would come of another policy from step `from` of a checked plan on: the steps before stay as they were, what has
 * not run by then runs once, in the order of the program, and the policy decides what stays, within arena_bytes. The
 * last area_bytes are an area for small requests then; 0: there is none. What is there before the step is what has
 * a lifetime that ends at the step or after it. Buffers may move before that step as in plim_arena_continue. */
PLIM_MUST_USE plim_status plim_arena_what_if(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                             const plim_policy *policy, int32_t from, int64_t arena_bytes,
                                             int64_t area_bytes, plim_replay_counts *counts, plim_plan **out);

#ifdef __cplusplus
}
#endif
#endif
