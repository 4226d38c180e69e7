/* The decision log of an online run: which op asked for bytes, what was evicted for it, what was recomputed and for
 * which op. The run stores none of it. Policies are deterministic, so the log simulates the same order under the same
 * policy in an arena without memory. The reasons of a decision are read from the state of a further simulation that
 * stops at it. */
#ifndef PLIM_RUNTIME_INSPECT_DECISION_LOG_H
#define PLIM_RUNTIME_INSPECT_DECISION_LOG_H

#include "runtime/arena/replay.h"
#include "runtime/arena/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_decision_log plim_decision_log;

typedef struct plim_decision_log_options {
  const plim_graph *graph;
  const plim_plan *order; /* a plan of program order with the run's variants; addresses are not read */
  const plim_policy *policy;
  int64_t budget_bytes;
  int64_t limit_ns; /* on time spent recomputing; 0: none */
} plim_decision_log_options;

/* Simulate the run. The log of a run that finds no room ends with the request that failed; that of a run that takes too
 * long, with the command that was next. graph and order must outlive it. Deterministic; costs as much as deciding the
 * run did. */
PLIM_MUST_USE plim_status plim_decision_log_new(plim_context *ctx, const plim_decision_log_options *options,
                                                plim_decision_log **out);
void plim_decision_log_free(plim_decision_log *decisions); /* NULL is legal */

/* The plan of the run. Of a run that failed: the commands until then, and the one that was next as a last command, with
 * what was resident. The checker refuses such a plan. NULL: no command was reached. */
const plim_plan *plim_decision_log_plan(const plim_decision_log *decisions);

/* Why the run ended early: the sentence; NULL when it did not. */
const char *plim_decision_log_failure(const plim_decision_log *decisions);

/* 1: it was given up because recomputing took too long. */
int plim_decision_log_thrashed(const plim_decision_log *decisions);

/* Simulate another policy from command `from` on within arena_bytes (plim_arena_what_if). A decision log that ended
 * early may also be continued from its last command. */
PLIM_MUST_USE plim_status plim_decision_log_what_if(const plim_decision_log *decisions, const plim_policy *policy,
                                                    int32_t from, int64_t arena_bytes, plim_replay_counts *counts,
                                                    plim_plan **out);

/* The configuration that the policy used: a policy that knows the program's order tries several. */
const plim_replay_config *plim_decision_log_config(const plim_decision_log *decisions);

/* Does this plan have the same commands, buffers and offsets? *command out: the first command at which it differs. */
int plim_decision_log_equals(const plim_decision_log *decisions, const plim_plan *plan, int32_t *command);

/* Depth of a command. 0: of the program; else the number of runs that waited for it. Recomputations for a command of
 * the program stand before it. Each serves the first later command that is less deep. */
int32_t plim_decision_log_depth(const plim_decision_log *decisions, int32_t command);

/* A decision: what is evicted so that a request finds room before a command. Policies that evict one storage after
 * another decide several times for one request. */
typedef struct plim_decision {
  int32_t command;
  plim_arena_request request;
  int32_t n_evicted; /* 0: nothing was left to evict, and the run ended */
  const int32_t *evicted;
} plim_decision;

/* All decisions, in order; returns how many. */
int32_t plim_decision_log_decisions(const plim_decision_log *decisions, const plim_decision **out);

/* ---- why ---- */

/* May a block be evicted; if not, why. */
typedef enum plim_arena_block_state {
  PLIM_ARENA_BLOCK_UNUSED,
  PLIM_ARENA_BLOCK_EVICTABLE,
  PLIM_ARENA_BLOCK_PERSISTENT, /* a parameter, a state, the staged batch */
  PLIM_ARENA_BLOCK_INPUT,      /* written from outside: nothing recomputes it */
  PLIM_ARENA_BLOCK_SMALL,      /* in the area of small requests, where nothing is evicted */
  PLIM_ARENA_BLOCK_PINNED,     /* a run that is under way needs it: `by` is its op, -1: the end of the step */
  PLIM_ARENA_BLOCK_TOO_LATE, /* cannot be recomputed when it is read last: `by` is the param or state that is new then,
                          -1: what it is made from is gone */
} plim_arena_block_state;

typedef struct plim_decision_block {
  int64_t offset, bytes;
  int32_t storage; /* -1: free */
  plim_arena_block_state state;
  int32_t by;
  /* of blocks that may be evicted */
  int64_t own_ns;       /* time of its op */
  int64_t neighbour_ns; /* of missing neighbours that the policy counts in */
  int64_t distance_ns;  /* until it is read again, or since it was used: as the policy has it */
  int64_t stale_ns;     /* since it was used */
  double score;
} plim_decision_block;

typedef struct plim_decision_window {
  int32_t begin, end;           /* of the blocks */
  int64_t bytes, evicted_bytes; /* of all, and of those that would be evicted */
  double score;                 /* sum of its blocks' */
  double together;              /* looked at as a whole; as `score` when the policy does not */
} plim_decision_window;

enum { PLIM_DECISION_WINDOWS = 8 };

typedef struct plim_decision_reasons {
  int32_t n_blocks;
  plim_decision_block *block; /* [n_blocks] by address */
  int64_t free_bytes, largest_free_bytes;
  /* by windows: the best by score, the first what was taken, [1] the runner-up */
  int32_t n_windows;
  plim_decision_window window[PLIM_DECISION_WINDOWS];
  int32_t taken, runner_up; /* one after another: blocks; -1: none */
  int64_t extra_bytes;      /* when nothing can be evicted: bytes at the end of the arena that would be room enough */
} plim_decision_reasons;

/* The reasons of decision `choice`. Borrowed until the next call with this decision log. */
PLIM_MUST_USE plim_status plim_decision_log_explain(plim_decision_log *decisions, int32_t choice,
                                                    const plim_decision_reasons **out);

/* A budget above the run's in which the policy ends, found by halving up to `most_bytes`; -1: not even there. A smaller
 * one may exist, since policies are not monotone. The answer is kept for the next call. */
PLIM_MUST_USE plim_status plim_decision_log_enough(plim_decision_log *decisions, int64_t most_bytes, int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
