/* The decision log of an online run: which op needed bytes, which storages were evicted for it, which ops were
 * recomputed and for which op. The run does not store it. Policies are deterministic, so the log simulates the same
 * order under the same policy in an arena without memory. The reasons of a decision are read from the state of another
 * simulation, which stops at the decision. Functions run on the thread of the context, and are deterministic.
 *
 * decision_log.c makes the log; decision_reasons.c explains a decision; decision_what_if.c tries another one. */
#ifndef PLIM_RUNTIME_INSPECT_DECISION_LOG_H
#define PLIM_RUNTIME_INSPECT_DECISION_LOG_H

#include "runtime/arena/replay_search.h"
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
  int64_t limit_ns; /* of the time of recomputations; 0: none */
} plim_decision_log_options;

/* Simulate the run, and record its decisions. The log of a run that finds no room ends with the request that failed.
 * The log of a run that recomputes too long ends with the command that was next. graph and order must outlive the log.
 *   out  out  free with plim_decision_log_free
 * PLIM_ENOMEM, PLIM_EPLAN, PLIM_ECANCEL as plim_arena_online. Takes as long as plim_arena_online. */
PLIM_MUST_USE plim_status plim_decision_log_new(plim_context *ctx, const plim_decision_log_options *options,
                                                plim_decision_log **out);
void plim_decision_log_free(plim_decision_log *decisions); /* NULL is legal */

/* The plan of the run, borrowed; NULL: no command was reached. The plan of a run that ended early has the commands
 * until then. Its last command is the one that was next; all resident storages stay live during it. The checker refuses
 * such a plan. */
const plim_plan *plim_decision_log_plan(const plim_decision_log *decisions);

/* The sentence that says why the run ended early, borrowed; NULL when it ran to its end. */
const char *plim_decision_log_failure(const plim_decision_log *decisions);

/* Was the run given up because recomputing took too long? */
int plim_decision_log_thrashed(const plim_decision_log *decisions);

/* Simulate another policy from command `from` on within arena_bytes (plim_arena_what_if). A decision log that ended
 * early may also be continued from its last command. PLIM_EUSAGE: `from` is out of range. Otherwise the errors of
 * plim_arena_what_if. */
PLIM_MUST_USE plim_status plim_decision_log_what_if(const plim_decision_log *decisions, const plim_policy *policy,
                                                    int32_t from, int64_t arena_bytes, plim_replay_counts *counts,
                                                    plim_plan **out);

/* The configuration that the policy used, borrowed: a policy that knows the program's order tries several. */
const plim_replay_config *plim_decision_log_config(const plim_decision_log *decisions);

/* Does this plan have the same commands, buffers and offsets as the log's? *command out: the first command at which it
 * differs. */
int plim_decision_log_equals(const plim_decision_log *decisions, const plim_plan *plan, int32_t *command);

/* The depth of a command: 0 for a command of the program; for a recomputation the number of runs that waited for it.
 * Recomputations for a command of the program come before it. Each serves the first later command with a smaller depth.
 */
int32_t plim_decision_log_depth(const plim_decision_log *decisions, int32_t command);

/* A decision: the storages that are evicted so that a request finds room before a command. Policies that evict one
 * storage after another decide several times for one request. */
typedef struct plim_decision {
  int32_t command;
  plim_arena_request request;
  int32_t n_evicted; /* 0: nothing was left to evict, and the run ended */
  const int32_t *evicted;
} plim_decision;

/* Get all decisions, in order, borrowed; returns their number. */
int32_t plim_decision_log_decisions(const plim_decision_log *decisions, const plim_decision **out);

/* ---- reasons ---- */

/* Whether a block may be evicted, and if not, why. */
typedef enum plim_arena_block_state {
  PLIM_ARENA_BLOCK_UNUSED,
  PLIM_ARENA_BLOCK_EVICTABLE,
  PLIM_ARENA_BLOCK_PERSISTENT, /* a parameter, a state, the staged batch */
  PLIM_ARENA_BLOCK_INPUT,      /* written from outside: nothing recomputes it */
  PLIM_ARENA_BLOCK_SMALL,      /* in the area for small requests, where nothing is evicted */
  PLIM_ARENA_BLOCK_PINNED,     /* a run that has begun or waits needs it: `by` is its op, PLIM_NONE: it is an output */
  /* It cannot be recomputed for its last read: `by` is the param or state that is updated by then, PLIM_NONE: an input
   * of its op is not available then. */
  PLIM_ARENA_BLOCK_TOO_LATE,
} plim_arena_block_state;

typedef struct plim_decision_block {
  int64_t offset, bytes;
  int32_t storage; /* PLIM_NONE: free */
  plim_arena_block_state state;
  int32_t by;
  /* the rest is set for blocks that may be evicted */
  int64_t own_ns;       /* time of its op */
  int64_t neighbour_ns; /* time of missing neighbours that the policy adds */
  int64_t distance_ns;  /* staleness for the policy: time to the next read, or since the last use */
  int64_t stale_ns;     /* time since the last use */
  double score;
} plim_decision_block;

typedef struct plim_decision_window {
  int32_t begin, end;           /* blocks [begin, end) */
  int64_t bytes, evicted_bytes; /* bytes of all blocks; bytes of those that would be evicted */
  double score;                 /* sum of the scores of its blocks */
  double together;              /* score of the window as a whole; equal to `score` when the policy has none */
} plim_decision_window;

enum { PLIM_DECISION_WINDOWS = 8 };

typedef struct plim_decision_reasons {
  int32_t n_blocks;
  plim_decision_block *block; /* [n_blocks] by address */
  int64_t free_bytes, largest_free_bytes;
  /* by windows: the best windows; [0] was taken, and the others follow by score */
  int32_t n_windows;
  plim_decision_window window[PLIM_DECISION_WINDOWS];
  int32_t taken, runner_up; /* one after another: the block that was taken, and the second best, or PLIM_NONE */
  int64_t extra_bytes;      /* when nothing can be evicted: bytes by which a larger arena would have room */
} plim_decision_reasons;

/* Find the reasons of decision `choice`. *out is borrowed until the next call with this log. Takes one simulation up to
 * the decision. PLIM_ECANCEL: the context was cancelled before it. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_decision_log_explain(plim_decision_log *decisions, int32_t choice,
                                                    const plim_decision_reasons **out);

/* Find a budget above the run's in which the policy reaches the end, by halving up to `bytes_max`; *bytes PLIM_NONE:
 * none was found. A smaller one may exist, since a policy may end in a budget and fail in a larger one. The result is
 * kept for the next call. */
PLIM_MUST_USE plim_status plim_decision_log_enough(plim_decision_log *decisions, int64_t bytes_max, int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
