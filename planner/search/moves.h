/* How the search changes a schedule: by moves, and by annealing runs of them. *Moves* are small changes that keep it
 * valid.
 *
 * Example: g reads the output of f, h reads that of g, and f' reads that of f last. In the schedule f g h f' live bytes
 * exceed the limit at h. EVICT draws the output of f, which is alive there and not read: f g h f f'. SHIFT may move the
 * second f, DELETE removes it.
 *
 * They change a schedule in a track (planner/track/track.h), which keeps live bytes and time up to date and can undo
 * changes. A *slot* is a place in the track's sequence; slots are in the order of the runs. */
#ifndef PLIM_PLANNER_SEARCH_MOVES_H
#define PLIM_PLANNER_SEARCH_MOVES_H

#include "planner/track/track.h"
#include "runtime/base/random.h"

/* ==== moves (moves.c, moves_evict.c, moves_first.c) ==== */

typedef enum plim_move {
  PLIM_MOVE_EVICT,    /* where live bytes exceed the limit: end a lifetime, and recompute before its next reader */
  PLIM_MOVE_DELETE,   /* remove a repeat with the repeats that served it alone, or several repeats in a row */
  PLIM_MOVE_EXCHANGE, /* remove repeats, then evict where live bytes exceed the limit */
  PLIM_MOVE_SHIFT,    /* move a repeat, or several repeats in a row, to another place */
  PLIM_MOVE_INSERT,   /* add a repeat of any op at any place */
  PLIM_MOVE_FIRST,    /* move a first run between its predecessors and its successors */
  PLIM_MOVE_CHOICE,   /* another variant */
  PLIM_MOVE_GROUP,    /* move a first run farther, together with the predecessors or successors in its way */
  PLIM_MOVES
} plim_move;

typedef struct plim_mover {
  plim_track *track;
  plim_random random;
  int64_t limit;           /* bytes that the peak should not exceed, persistent ones included */
  int32_t compare_percent; /* percent of evictions that take the one of two items with less time for its bytes */
  int64_t limit_ns;        /* a move that makes the schedule slower than this would be refused */
} plim_mover;

/* Make one random move of the kind. Returns 0 when nothing was changed. The change is in the track's journal, and the
 * track is not settled. */
int plim_move_make(plim_mover *mover, plim_move move);

/* ---- what kinds of moves share ---- */

/* A random run. */
static inline int32_t plim_move_random_run(plim_mover *mover) {
  return mover->track->alive[plim_random_below(&mover->random, mover->track->n_runs)];
}

/* ---- kinds of moves that plim_move_make calls (moves_evict.c, moves_first.c) ---- */

int plim_move_evict(plim_mover *mover);
int plim_move_first(plim_mover *mover);
int plim_move_group(plim_mover *mover);

/* ---- parts of moves (moves.c, moves_evict.c) ---- */

/* Evict an item that is alive at this slot. */
int plim_move_evict_at(plim_mover *mover, int32_t slot);

/* A random slot where live bytes exceed the limit; -1: there is none. Settles the track. */
int32_t plim_move_slot_above(plim_mover *mover);

/* Insert a repeat of the op before run `next`, with the variant of its first run. Returns its id; -1, and nothing is
 * changed, where the schedule would take longer than limit_ns. */
int32_t plim_move_repeat(plim_mover *mover, int32_t op, int32_t next);

/* A random run at most `distance` places before or after run r. */
int32_t plim_move_neighbour(plim_mover *mover, int32_t r, int32_t distance);

/* ==== annealing (anneal.c) ==== */

/* Simulated annealing over schedules. */

typedef struct plim_anneal plim_anneal;

/* Is called for each schedule whose peak is within the limit and whose time is below faster_than_ns. It may set
 * faster_than_ns, the limit and `stop`. */
typedef plim_status plim_on_fit(void *user, plim_anneal *anneal);

/* Is called every few dozen moves. */
typedef void plim_on_moves(void *user);

struct plim_anneal {
  plim_mover mover;
  double hot, cold;    /* first and last temperature, in percentage points of overhead */
  double weight;       /* of bytes above the limit, in the cost (anneal.c) */
  double pace;         /* share by which the weight adapts while each op is moved once; 0: it is constant */
  double time_weight;  /* of overhead in the cost: 1; less where few bytes are the objective */
  int32_t is_strict;   /* 1: no schedule above the limit is accepted; the first one must be within it */
  int64_t iterations;  /* moves of this annealing run */
  int64_t deadline_ns; /* by plim_now_ns; PLIM_TIME_UNLIMITED: none. Temperature follows the larger share used up */
  int32_t share[PLIM_MOVES]; /* probability of each kind of move, relative to their sum */
  int32_t runs_an_op_limit;  /* moves run no op more often; 0: no limit */
  plim_on_fit *on_fit;
  plim_on_moves *on_moves; /* NULL: none */
  void *user;              /* first argument of both */
  int64_t faster_than_ns;
  /* state and results */
  double cost;  /* of the schedule in the track */
  int64_t done; /* moves of all annealing runs so far */
  int32_t stop; /* 1: end after this move */
};

/* One annealing run, from the schedule in the track; the last accepted schedule stays there. PLIM_ECANCEL: the context
 * was cancelled. Deterministic without a deadline. */
PLIM_MUST_USE plim_status plim_anneal_run(plim_anneal *anneal);

#endif
