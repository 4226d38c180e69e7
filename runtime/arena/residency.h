/* The arena while a schedule is replayed in it: one state, and the plan that comes out of it, written as it happens.
 *
 *   offset 0                                                                      arena size
 *   |  param, state, staging  | inputs |  costly storages ->   free   <- cheap ones  | small area |
 *   |  never evicted, in graph order   |  pinned while a run needs them            | few bytes  |
 *
 * Each storage is in one of three states. A request that finds no free block evicts a window of neighbours:
 *
 *              place                    drop                      place, when it is read next
 *   unwritten --------> resident, pinned ----> missing: recomputed ------------------------> resident
 *                          (in a block)   |        (in a class that shares its price)
 *                                         +--> over: nothing reads it again
 *
 * Five parts work on this state: blocks and the plan so far (residency.c); which window is evicted (residency_evict.c,
 * and residency_evict_single.c for one storage at a time); what an eviction costs (residency_price.c), with the runs
 * that bring a storage back (residency_walk.c); and a state that begins in the middle of a plan (residency_resume.c).
 *
 * One thread at a time, that of the context; a state shares nothing with another. Deterministic, but for
 * counts->search_ns. Functions return PLIM_ENOMEM, and what they say beside it. After any failure the state is half
 * changed: only plim_residency_close may be called. A `hole` or `block` out is an id of res->blocks, which owns it; it
 * is valid until the next call that places, drops or evicts. In costs, n is the number of blocks; where none stands it
 * is O(1). */
#ifndef PLIM_RUNTIME_ARENA_RESIDENCY_H
#define PLIM_RUNTIME_ARENA_RESIDENCY_H

#include "runtime/arena/arena_blocks.h"
#include "runtime/arena/forecast.h"
#include "runtime/arena/missing.h"
#include "runtime/arena/policy.h"
#include "runtime/arena/replay.h"
#include "runtime/arena/walk_bounds.h"
#include "runtime/arena/watch.h"

enum { PLIM_ARENA_BLOCK_EMPTY = -2 /* of a storage of 0 bytes */, PLIM_NO_BUFFER = -1 };

typedef struct plim_holder {
  int32_t block;     /* PLIM_ARENA_NO_BLOCK: not resident; PLIM_ARENA_BLOCK_EMPTY: resident, of 0 bytes, which need no
                        block and no buffer */
  int32_t buffer;    /* index of its latest buffer, PLIM_NO_BUFFER: it had none yet */
  int32_t pins;      /* runs that need it resident, now or after its recomputation */
  int32_t next_read; /* position that reads it next, PLIM_NEVER: none; persistent storages and inputs: not used */
  int32_t last_read; /* last position that reads it before it is written again */
  int64_t last_ns;   /* clock of its last use */
} plim_holder;

/* The plan so far. The end of a buffer follows its latest use. */
typedef struct plim_plan_so_far {
  int32_t n_commands, n_buffers;
  int64_t command_capacity, buffer_capacity;
  plim_command *command;    /* [n_commands] */
  plim_plan_buffer *buffer; /* [n_buffers] */
} plim_plan_so_far;

/* Rows of the window search, a block each: those of the search at hand or, after it, of the last. */
typedef struct plim_residency_rows {
  int32_t n;
  int64_t capacity;
  plim_window_row *row; /* [n] */
  int32_t *block;       /* [n] id of the block */
} plim_residency_rows;

/* Scratch of a price: the ops met, each once. */
typedef struct plim_price_scratch {
  int64_t stamp;  /* of the price at hand */
  int64_t *mark;  /* [n_ops] stamp of the price that met the op last */
  int32_t *stack; /* [n_ops] */
} plim_price_scratch;

/* Storages that went missing since the walks were updated. */
typedef struct plim_lost_storages {
  int32_t n;
  int32_t *storage; /* [n] */
  char *is_in;      /* [n_storages] 1: it is one of them */
} plim_lost_storages;

typedef struct plim_residency {
  /* what it was opened with, all borrowed */
  plim_context *ctx;
  const plim_graph *graph;
  const plim_forecast *forecast;
  const plim_policy *policy;
  plim_replay_counts *counts;
  const plim_arena_watch *watch; /* NULL: no one watches; set after the opening, which evicts nothing */
  int32_t n_perturbations;
  const plim_perturbation *perturbation; /* of the configuration; set with the watch */
  int32_t two_ends; /* 1: cheap storages at the high end, costly ones at the low end; 0: all at the low end */
  /* the arena now */
  int32_t position;    /* of the schedule: the command that is next */
  int64_t clock_ns;    /* time of all commands so far, + 1 */
  int64_t small_bytes; /* largest request for the area of small ones; 0: there is none, or none any more */
  plim_arena_blocks *blocks;
  plim_holder *holder; /* [n_storages] */
  plim_missing missing;
  plim_plan_so_far plan;
  /* what evictions compute with */
  plim_residency_rows rows;
  plim_price_scratch price;
  plim_walks walks; /* sums of the times of missing storages around each storage */
  plim_lost_storages lost;
} plim_residency;

/* Open the state of an arena of `bytes`.
 *   forecast, config->policy, counts  in   must outlive the state
 *   from    in   0: only persistent storages and inputs are resident. Else the state after the commands of the
 *                schedule, which has addresses, before command `from` (residency_resume.c)
 *   out     out  close it with plim_residency_close; after a failure it holds nothing and needs no close
 * PLIM_ENOFIT: no room for persistent storages and inputs or, from > 0, for storages that cannot be recomputed.
 * O(storages + ops + from x operands), with the evictions that `from` > 0 needs. */
PLIM_MUST_USE plim_status plim_residency_open(plim_context *ctx, const plim_forecast *forecast, int32_t from,
                                              int64_t bytes, const plim_replay_config *config,
                                              plim_replay_counts *counts, plim_residency *out);
void plim_residency_close(plim_residency *residency);

/* ---- residency.c: who is resident ---- */

/* Has the storage 0 bytes? Once it is written it stays resident, and nothing can evict it. */
int plim_residency_empty(const plim_residency *residency, int32_t storage);

/* Is the storage resident? */
int plim_residency_holds(const plim_residency *residency, int32_t storage);

/* Does a later position need the storage (for inputs: or may)? */
int plim_residency_wanted(const plim_residency *residency, int32_t storage);

/* Give a block and a buffer to a storage that is not resident, or to the workspace of an op.
 *   op       in   that asks; PLIM_ARENA_NO_OP: none does
 *   storage  in   PLIM_ARENA_WORKSPACE: the workspace of the op
 *   bytes    in   of the storage, or of the workspace
 *   block    out  PLIM_ARENA_BLOCK_EMPTY for a storage of 0 bytes, which gets neither block nor buffer
 * Evicts the cheapest storages when no free block is large enough. PLIM_ENOFIT, naming the op: there is no room.
 * O(log n), or an eviction. */
PLIM_MUST_USE plim_status plim_residency_place(plim_residency *residency, int32_t op, int32_t storage, int64_t bytes,
                                               int32_t *block);

/* In place: `out` takes the block of `in`, whose lifetime ends with the next command. `in` goes missing. */
PLIM_MUST_USE plim_status plim_residency_hand_over(plim_residency *residency, int32_t in, int32_t out);

/* Free the block of a resident storage, which goes missing. *hole out, may be NULL: the free block that contains it
 * then. O(log n + its op's operands and its readers' outputs). */
PLIM_MUST_USE plim_status plim_residency_drop(plim_residency *residency, int32_t storage, int32_t *hole);

/* Drop it when it is resident, not pinned and not wanted. */
PLIM_MUST_USE plim_status plim_residency_drop_unwanted(plim_residency *residency, int32_t storage);

/* ---- residency.c: the plan so far ---- */

/* Append a command, whose number is residency->plan.n_commands; its variant's time passes. O(1) on average. */
PLIM_MUST_USE plim_status plim_residency_add_command(plim_residency *residency, const plim_command *command);

/* The latest buffer of the storage is used by command `command`. */
void plim_residency_use(plim_residency *residency, int32_t storage, int32_t command);

/* The command at `position` of the schedule is over: its operands continue to their next reads, and the position to the
 * next command. O(operands). */
void plim_residency_pass(plim_residency *residency);

/* Append a buffer that begins with the next command; its end follows its uses. O(1) on average. */
PLIM_MUST_USE plim_status plim_residency_add_buffer(plim_residency *residency, const plim_plan_buffer *buffer);

/* The storage loses its block, which the caller has freed or handed over. If it can be recomputed, it joins the classes
 * of its missing inputs and of missing wanted outputs of its readers. O(those). */
PLIM_MUST_USE plim_status plim_residency_go_missing(plim_residency *residency, int32_t storage);

/* ---- residency_resume.c ---- */

/* Bring the state of an empty arena to that after the commands of the schedule before `from`. PLIM_ENOFIT as
 * plim_residency_open. */
PLIM_MUST_USE plim_status plim_residency_resume(plim_residency *residency, int32_t from);

/* ---- residency_evict.c ---- */

/* Scores of the window search are fixed-point numbers with so many bits after the point. */
enum { PLIM_SCORE_FRACTION_BITS = 16 };

/* May the storage be evicted: it is not pinned, and it can still be recomputed at its last read? */
int plim_residency_evictable(const plim_residency *residency, int32_t storage);

/* Can so many bytes become one free block outside the area of small requests, where nothing is evicted? O(n). */
int plim_residency_can_make_room(const plim_residency *residency, int64_t bytes);

/* The staleness of the storage, ns: the time to its next read where the policy knows the program's order, else the time
 * since its last use. */
int64_t plim_residency_distance(const plim_residency *residency, int32_t storage);

/* What the window search takes as the cost of a block that holds the storage: its cost over its staleness, fixed point.
 * As plim_residency_cost. */
int64_t plim_residency_window_cost(plim_residency *residency, int32_t storage);

/* Evict by the policy until there is a free block for the request.
 *   hole  out  that block; PLIM_ARENA_NO_BLOCK: nothing more can be evicted
 * The watcher's status, where it ends the replay. A window: n costs and a window search. One after another: n costs for
 * each storage that is evicted. Sources: Coop, NeurIPS 2023 (windows); DTR, ICLR 2021 (one after another). */
PLIM_MUST_USE plim_status plim_residency_evict(plim_residency *residency, const plim_arena_request *request,
                                               int32_t *hole);

/* The same, one storage after another, whatever the policy says (residency_evict_single.c). */
PLIM_MUST_USE plim_status plim_residency_evict_single(plim_residency *residency, const plim_arena_request *request,
                                                      int32_t *hole);

/* Score of a block that may be evicted, where one is evicted after another: the smallest is evicted first. Of a score
 * above `most`, any number above it. As plim_residency_cost. */
double plim_residency_score(plim_residency *residency, const plim_arena_block *block, double most);

/* Call the watcher, if there is one, with what is about to be evicted. */
PLIM_MUST_USE plim_status plim_residency_notify(plim_residency *residency, const plim_arena_request *request,
                                                const plim_arena_choice *choice);

/* ---- residency_price.c ---- */

/* Does a missing storage count in the cost of its neighbours? For a policy that knows the program's order: only when it
 * is read again. */
int plim_residency_counts(const plim_residency *residency, int32_t storage);

/* What the policy takes as the cost of evicting one storage, in ns for policies that price by time; of a cost above
 * `most`, any number above it. O(1), a price or a walk: the policy decides. */
int64_t plim_residency_cost(plim_residency *residency, int32_t storage, int64_t most);

/* The cost of evicting one more storage, ns: its own time, and that of the classes of missing inputs of its op and of
 * missing wanted outputs of its readers. O(those), nearly: union-find. Source: DTR, ICLR 2021, section 4. */
int64_t plim_residency_price(plim_residency *residency, int32_t storage);

/* Time of the distinct ops that would recompute all of `storage` [n], evicted together, ns. O(their operands). */
int64_t plim_residency_price_together(plim_residency *residency, int32_t n, const int32_t *storage);

/* ---- residency_walk.c ---- */

/* Room for the walks of an empty state. After a failure, too, plim_residency_close is legal. */
PLIM_MUST_USE plim_status plim_residency_open_walks(plim_residency *residency);

/* Sum of the times of missing storages that the policy's cost counts, ns: those that the storage is computed from,
 * through missing ones, and those that are computed from it. When it exceeds `most`, any number above `most`. Cost as
 * plim_walks_sum, after the update of what was lost. Source: DTR, ICLR 2021. */
int64_t plim_residency_walk(plim_residency *residency, int32_t storage, int64_t most);

/* Update the sums of walks. lost: the storage has gone missing. found: it becomes resident, while all inputs of its op
 * are. uncertain: it is missing, and may start or cease to count. */
void plim_residency_lost(plim_residency *residency, int32_t storage);
void plim_residency_found(plim_residency *residency, int32_t storage);
void plim_residency_uncertain(plim_residency *residency, int32_t storage);

#endif
