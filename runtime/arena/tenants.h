/* The arena while a schedule is replayed in it: one state, and the plan that comes out of it, written as it happens.
 *
 *   offset 0                                                                      arena size
 *   |  param, state, staging  | inputs |  dear storages ->   free   <- cheap ones  | small area |
 *   |  never evicted, in graph order   |  pinned while a run needs them            | few bytes  |
 *
 * Each storage is in one of three states. A request that finds no free block evicts a window of neighbours:
 *
 *              place                    drop                      place, when it is read next
 *   unwritten --------> resident, pinned ----> missing: recomputed ------------------------> resident
 *                          (in a block)   |        (in a class that shares its price)
 *                                         +--> over: nobody reads it again
 *
 * Five parts work on this state: blocks and the plan so far (tenants.c); which window is evicted (evict.c, and
 * evict_single.c for one storage at a time); what an eviction costs (price.c), with the runs that bring a storage back
 * (walk.c); and a state that begins in the middle of a plan (resume.c). */
#ifndef PLIM_RUNTIME_ARENA_TENANTS_H
#define PLIM_RUNTIME_ARENA_TENANTS_H

#include "runtime/arena/forecast.h"
#include "runtime/arena/missing.h"
#include "runtime/arena/pieces.h"
#include "runtime/arena/policy.h"
#include "runtime/arena/replay.h"
#include "runtime/arena/watch.h"

enum { PLIM_PIECELESS = -2 };

typedef struct plim_tenant {
  int32_t piece; /* PLIM_NEVER: not resident; PLIM_PIECELESS: resident, of 0 bytes, which need no piece and no life */
  int32_t life;  /* index of its latest life */
  int32_t pins;  /* runs that need it where it is, or will when it has been computed again */
  int32_t next_read; /* position that reads it next, PLIM_NEVER: nobody; persistent storages and inputs: not used */
  int32_t last_read; /* last position that reads it before it is written again */
  int64_t last_ns;   /* clock of its last use */
} plim_tenant;

/* What walks over missing storages find from a storage in one direction: so much, or at least so much. */
typedef struct plim_tenant_reach {
  int64_t sum_ns;
  int32_t exact;
} plim_tenant_reach;

typedef struct plim_tenants {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_forecast *forecast;
  const plim_policy *policy;
  plim_replay_counts *counts;
  const plim_arena_watch *watch; /* NULL: nobody watches; set behind the opening, which evicts nothing */
  int32_t n_turns;
  const plim_detour *turn; /* of the way; set with the watch */
  int32_t two_ends;        /* 1: cheap storages at the high end, dear ones at the low end; 0: all at the low end */
  int64_t small_bytes;     /* largest request for the area of small ones; 0: there is none */
  int32_t position;        /* of the schedule */
  int64_t clock_ns;        /* time of all steps so far, + 1 */
  plim_pieces *pieces;
  plim_missing missing;
  plim_tenant *tenant; /* [n_storages] */
  /* the plan so far; the lives' ends follow their latest use */
  int32_t n_steps, n_lives;
  int64_t step_capacity, life_capacity;
  plim_step *step;
  plim_life *life;
  /* scratch of the eviction: rows of the window search with their pieces; ops or storages met while something is priced
   */
  int64_t row_capacity, stamp, n_marks; /* the larger of n_ops and n_storages */
  int32_t n_rows;
  plim_window_row *row;
  int32_t *row_piece;
  int64_t *mark;               /* [n_marks] stamp of the walk that came there last */
  int32_t *stack;              /* [n_marks] */
  plim_tenant_reach *reach[2]; /* [n_storages] to what it is made from, to what is made from it */
  int32_t n_lost, *lost;       /* [n_lost] went missing since walks were looked at last */
  char *is_lost;               /* [n_storages] */
} plim_tenants;

/* from 0: empty but for what is there without any op. Else as the steps of the schedule, which has addresses, in front
 * of `from` leave it (resume.c): PLIM_ENOFIT when there is no room for what must stay. */
PLIM_MUST_USE plim_status plim_tenants_open(plim_context *ctx, const plim_forecast *forecast, int32_t from,
                                            int64_t bytes, const plim_replay_way *how, plim_replay_counts *counts,
                                            plim_tenants *out);
void plim_tenants_close(plim_tenants *tenants);

/* Has the storage 0 bytes? Once it is written it stays resident, and nothing can evict it. */
int plim_tenants_empty(const plim_tenants *tenants, int32_t storage);

int plim_tenants_resident(const plim_tenants *tenants, int32_t storage);

/* Does a later position need the storage (for inputs: or may)? */
int plim_tenants_wanted(const plim_tenants *tenants, int32_t storage);

/* A piece and a life (neither for 0 bytes) for a storage that is not resident, or for the workspace of the op (storage
 * -1, with its bytes); evicts what is cheapest when no free piece is large enough. `op` is named when there is no room:
 * PLIM_ENOFIT. */
PLIM_MUST_USE plim_status plim_tenants_place(plim_tenants *tenants, int32_t op, int32_t storage, int64_t bytes,
                                             int32_t *piece);

/* In place: `out` takes the piece of `in`, whose life ends at the next step to be written. */
PLIM_MUST_USE plim_status plim_tenants_hand_over(plim_tenants *tenants, int32_t in, int32_t out);

/* The storage leaves its piece. *hole (may be NULL) is the free piece that contains it then. */
PLIM_MUST_USE plim_status plim_tenants_drop(plim_tenants *tenants, int32_t storage, int32_t *hole);

/* Drop it when it is resident, not pinned and not wanted. */
PLIM_MUST_USE plim_status plim_tenants_drop_unwanted(plim_tenants *tenants, int32_t storage);

/* Append a step; the next one is tenants->n_steps. */
PLIM_MUST_USE plim_status plim_tenants_add_step(plim_tenants *tenants, const plim_step *step);

/* The latest life of the storage is used at the step. */
void plim_tenants_use(plim_tenants *tenants, int32_t storage, int32_t step);

/* The storages of the schedule's step at `position` go on to their next reads, and the position to the next step. */
void plim_tenants_pass(plim_tenants *tenants);

/* A life as it is in a plan, its end aside, which begins with the next step to be written. */
PLIM_MUST_USE plim_status plim_tenants_add_life(plim_tenants *tenants, const plim_life *life);

/* The storage has no piece any more; if it can be computed again it joins the classes of its missing inputs and of
 * missing wanted outputs of its readers. */
PLIM_MUST_USE plim_status plim_tenants_go_missing(plim_tenants *tenants, int32_t storage);

/* ---- resume.c ---- */

/* The state of an empty arena behind the steps of the schedule in front of `from`. */
PLIM_MUST_USE plim_status plim_tenants_resume(plim_tenants *tenants, int32_t from);

/* ---- evict.c ---- */

/* Scores of the window search are fixed-point numbers with so many bits behind the point. */
enum { PLIM_SCORE_FRACTION_BITS = 16 };

/* May the storage go: nobody has it pinned, and it can still be computed again at its last read? */
int plim_tenants_evictable(const plim_tenants *tenants, int32_t storage);

/* Can so many bytes become one free piece outside the area of small requests, where nothing is evicted? */
int plim_tenants_can_make_room(const plim_tenants *tenants, int64_t bytes);

/* How long nobody needs the storage: until its next read where the policy knows the future, else since its last use. */
int64_t plim_tenants_distance(const plim_tenants *tenants, int32_t storage);

/* What the window search takes as the cost of a piece that holds the storage. */
int64_t plim_tenants_window_cost(plim_tenants *tenants, int32_t storage);

/* Evict as the policy says until there is a free piece for the request: *hole, -1 when there is no way. */
PLIM_MUST_USE plim_status plim_tenants_evict(plim_tenants *tenants, const plim_arena_request *request, int32_t *hole);

/* The same, one storage after another (evict_single.c). */
PLIM_MUST_USE plim_status plim_tenants_evict_single(plim_tenants *tenants, const plim_arena_request *request,
                                                    int32_t *hole);

/* Score of a piece that may go, where one goes after another: the smallest goes first. Of a score above `most`, any
 * number above it. */
double plim_tenants_score(plim_tenants *tenants, const plim_piece *piece, double most);

/* Tell who watches, if anybody does, what is about to go. */
PLIM_MUST_USE plim_status plim_tenants_tell(plim_tenants *tenants, const plim_arena_request *request,
                                            const plim_arena_choice *choice);

/* ---- price.c ---- */

/* Does a missing storage count for its neighbours? For a policy that knows the future: when it is read again. */
int plim_tenants_counts(const plim_tenants *tenants, int32_t storage);

/* What the policy takes as the cost of one storage; of one that is above `most`, any number above it. */
int64_t plim_tenants_cost(plim_tenants *tenants, int32_t storage, int64_t most);

/* What it costs to evict one storage beside what is missing already: its own time and that of the classes of missing
 * inputs of its op and of missing wanted outputs of its readers. */
int64_t plim_tenants_price(plim_tenants *tenants, int32_t storage);

/* Time of the distinct ops that would have to run to have all of `storage` [n] again when all are gone together. */
int64_t plim_tenants_price_together(plim_tenants *tenants, int32_t n, const int32_t *storage);

/* ---- walk.c ---- */

/* Time of what is missing around the storage, as far as the policy's cost goes: of what it is made from, through
 * missing storages, and of what is made from it; of a sum above `most`, any number above it. */
int64_t plim_tenants_walk(plim_tenants *tenants, int32_t storage, int64_t most);

/* What walks have found is kept right: the storage has gone missing; it is about to come back, with all that its op
 * reads beside it; it is missing, and may or may not count from now on. */
void plim_tenants_lost(plim_tenants *tenants, int32_t storage);
void plim_tenants_found(plim_tenants *tenants, int32_t storage);
void plim_tenants_unsure(plim_tenants *tenants, int32_t storage);

#endif
