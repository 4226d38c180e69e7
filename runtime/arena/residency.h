/* The arena while a schedule is replayed in it: its state, and the plan that the replay writes command by command.
 *
 *   offset 0                                                                      arena size
 *   |  param, state, staging  | inputs |  costly storages ->   free   <- cheap ones  | small area |
 *   |  never evicted, in graph order   |  pinned while a run needs them            | few bytes  |
 *
 * Each storage is unwritten, resident, missing or over. A request that finds no free block evicts a window of blocks:
 *
 *              place                    drop                      place, when it is read next
 *   unwritten --------> resident, pinned ----> missing: recomputed ------------------------> resident
 *                          (in a block)   |        (in a class that shares its price)
 *                                         +--> over: nothing reads it again
 *
 * Five parts work on this state:
 *   residency.c           blocks, and the plan so far
 *   residency_evict.c     which window to evict; residency_evict_single.c: which storage, one after another
 *   residency_price.c     the cost of an eviction
 *   residency_walk.c      the times of missing storages around a storage, which are a part of that cost
 *   residency_resume.c    a state that begins in the middle of a plan
 *
 * A state belongs to the thread of its context, and shares nothing with another state. Functions are deterministic,
 * except for counts->search_ns. Any function may return PLIM_ENOMEM. After any failure the state is half changed: only
 * plim_residency_close may be called. A `hole` or `block` out is an id of res->blocks, which owns it. The id is valid
 * until the next call that places, drops or evicts. In costs, n is the number of blocks; a function without a stated
 * cost is O(1). */
#ifndef PLIM_RUNTIME_ARENA_RESIDENCY_H
#define PLIM_RUNTIME_ARENA_RESIDENCY_H

#include "runtime/arena/arena_blocks.h"
#include "runtime/arena/forecast.h"
#include "runtime/arena/missing.h"
#include "runtime/arena/policy.h"
#include "runtime/arena/replay_search.h"
#include "runtime/arena/walk_bounds.h"
#include "runtime/arena/watch.h"

enum { PLIM_ARENA_BLOCK_EMPTY = -2 /* of a storage of 0 bytes */ };

typedef struct plim_residency_storage {
  int32_t block;     /* PLIM_NONE: not resident; PLIM_ARENA_BLOCK_EMPTY: resident with 0 bytes, which need
                        neither a block nor a buffer */
  int32_t buffer;    /* index of its latest buffer, PLIM_NONE: it had none yet */
  int32_t pins;      /* runs that need it resident, now or after its recomputation */
  int32_t next_read; /* position that reads it next, PLIM_NEVER: none; persistent storages and inputs: not used */
  int32_t last_read; /* last position that reads it before it is written again */
  int64_t last_ns;   /* clock of its last use */
} plim_residency_storage;

/* The plan so far. The end of a buffer follows its latest use. */
typedef struct plim_plan_so_far {
  int32_t n_commands, n_buffers;
  int64_t command_capacity, buffer_capacity;
  plim_command *command;    /* [n_commands] */
  plim_plan_buffer *buffer; /* [n_buffers] */
} plim_plan_so_far;

/* Rows of the window search, one for each block: of the current search, or of the last one. */
typedef struct plim_residency_rows {
  int32_t n;
  int64_t row_capacity, block_capacity;
  plim_window_row *row; /* [n] */
  int32_t *block;       /* [n] id of the block */
} plim_residency_rows;

/* Scratch of a price: marks by which it counts each op once. */
typedef struct plim_price_scratch {
  int64_t stamp;  /* of the current price */
  int64_t *mark;  /* [n_ops] stamp of the last price that counted the op */
  int32_t *stack; /* [n_ops] */
} plim_price_scratch;

/* Storages that went missing since the walks were updated. */
typedef struct plim_lost_storages {
  int32_t n;
  int32_t *storage; /* [n] */
  char *is_in;      /* [n_storages] 1: it is one of them */
} plim_lost_storages;

typedef struct plim_residency {
  /* the arguments of the opening, all borrowed */
  plim_context *ctx;
  const plim_graph *graph;
  const plim_forecast *forecast;
  const plim_policy *policy;
  plim_replay_counts *counts;
  const plim_arena_watch *watch; /* NULL: none. Set after the opening, whose evictions are not watched */
  int32_t n_perturbations;
  const plim_perturbation *perturbation; /* of the configuration; set with the watch */
  int32_t two_ends; /* 1: cheap storages at the high end, costly ones at the low end; 0: all at the low end */
  /* the arena now */
  int32_t position;    /* of the schedule: the command that is next */
  int64_t clock_ns;    /* time of all commands so far, + 1 */
  int64_t small_bytes; /* largest request that uses the small area; 0: there is no such area, or it was joined */
  plim_arena_blocks *blocks;
  plim_residency_storage *storage; /* [n_storages] */
  plim_missing missing;
  plim_plan_so_far plan;
  /* scratch and caches of evictions */
  plim_residency_rows rows;
  plim_price_scratch price;
  plim_walks walks; /* sums of the times of missing storages around each storage */
  plim_lost_storages lost;
} plim_residency;

/* Open the state of an arena of `bytes`.
 *   forecast, config->policy, counts  in   must outlive the state
 *   from    in   0: only persistent storages and inputs are resident. > 0: the state before command `from` of the
 *                schedule, which then must have addresses (residency_resume.c)
 *   out     out  close it with plim_residency_close; after a failure it holds nothing and needs no close
 * PLIM_ENOFIT: no room for persistent storages and inputs, or, with from > 0, for storages that cannot be recomputed.
 * O(storages + ops + from x operands), and the evictions that `from` > 0 needs. */
PLIM_MUST_USE plim_status plim_residency_open(plim_context *ctx, const plim_forecast *forecast, int32_t from,
                                              int64_t bytes, const plim_replay_config *config,
                                              plim_replay_counts *counts, plim_residency *out);
void plim_residency_close(plim_residency *res);

/* ---- residency.c: who is resident ---- */

/* Has the storage 0 bytes? Such a storage stays resident once it is written, and is never evicted. */
int plim_residency_empty(const plim_residency *res, int32_t storage);

/* Is the storage resident? */
int plim_residency_is_resident(const plim_residency *res, int32_t storage);

/* Does a later position need the storage? Of an input: may one need it? */
int plim_residency_wanted(const plim_residency *res, int32_t storage);

/* Give a block and a buffer to a storage that is not resident, or to the workspace of an op.
 *   op       in   that asks; PLIM_NONE: none does
 *   storage  in   PLIM_WORKSPACE: the workspace of the op
 *   bytes    in   of the storage, or of the workspace
 *   block    out  PLIM_ARENA_BLOCK_EMPTY for a storage of 0 bytes, which gets neither block nor buffer
 * Evicts the cheapest storages when no free block is large enough. PLIM_ENOFIT, naming the op: there is no room.
 * O(log n), or an eviction. */
PLIM_MUST_USE plim_status plim_residency_place(plim_residency *res, int32_t op, int32_t storage, int64_t bytes,
                                               int32_t *block);

/* Give the block of `in` to `out`, which the next command writes in place. The buffer of `in` ends before that command,
 * and `in` goes missing. Cost as plim_residency_go_missing. */
PLIM_MUST_USE plim_status plim_residency_hand_over(plim_residency *res, int32_t in, int32_t out);

/* Free the block of a resident storage, which goes missing.
 *   hole  out  may be NULL: the free block that contains the freed range
 * O(log n), and the cost of plim_residency_go_missing. */
PLIM_MUST_USE plim_status plim_residency_drop(plim_residency *res, int32_t storage, int32_t *hole);

/* Drop the storage when it is resident, neither pinned nor wanted, and has bytes. */
PLIM_MUST_USE plim_status plim_residency_drop_unwanted(plim_residency *res, int32_t storage);

/* ---- residency.c: the plan so far ---- */

/* Append a command, whose index is res->plan.n_commands. Advances the clock by the time of its variant. O(1) on
 * average. */
PLIM_MUST_USE plim_status plim_residency_add_command(plim_residency *res, const plim_command *command);

/* Extend the latest buffer of the storage to its use by command `command`. */
void plim_residency_use(plim_residency *res, int32_t storage, int32_t command);

/* End the command at `position` of the schedule: set the next reads of its operands, and advance the position.
 * O(operands). */
void plim_residency_advance(plim_residency *res);

/* Append a buffer that begins with the next command; plim_residency_use moves its end. O(1) on average. */
PLIM_MUST_USE plim_status plim_residency_add_buffer(plim_residency *res, const plim_plan_buffer *buffer);

/* Mark a storage as missing whose block the caller has freed or handed over. If an op computes it, it joins the classes
 * of the missing inputs of that op, and of the missing outputs of its readers that count (plim_residency_is_priced).
 * O(those inputs and outputs). */
PLIM_MUST_USE plim_status plim_residency_go_missing(plim_residency *res, int32_t storage);

/* ---- residency_resume.c ---- */

/* Set the state of an empty arena to the state after the first `from` commands of the schedule. PLIM_ENOFIT as
 * plim_residency_open. */
PLIM_MUST_USE plim_status plim_residency_resume(plim_residency *res, int32_t from);

#endif
