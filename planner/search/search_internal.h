/* The parts of the searches (planner/search/searches.h), each with its own section below:
 *
 *   moves            small changes of a schedule that keep it valid
 *   neighbourhood    all combinations of keeping or recomputing up to sixteen items, solved exactly
 *   annealing        simulated annealing by moves
 *   greedy covering  adds repeats where bytes are short, by bytes for their time
 *   polish           removes what a schedule within the limit does not need
 *   searcher         annealing runs that submit their schedules to an incumbent
 *   first schedules  from checkpoints and from covering
 *
 * All of them change a schedule in a track (planner/profile/track.h), which keeps live bytes and time up to date and
 * can undo changes. A *slot* is a place in the track's sequence; slots are in the order of the runs.
 * Bytes are above the *limit* where live bytes exceed it; their *area* is the sum of that excess over all runs. */
#ifndef PLIM_PLANNER_SEARCH_SEARCH_INTERNAL_H
#define PLIM_PLANNER_SEARCH_SEARCH_INTERNAL_H

#include <stdatomic.h>

#include "planner/core/core.h"
#include "planner/core/incumbent.h"
#include "planner/profile/blocked_profile.h"
#include "planner/profile/track.h"
#include "runtime/base/random.h"

/* ==== moves ==== */

/* Moves of the search: small changes of a schedule that keep it valid. */

typedef enum plim_move {
  PLIM_MOVE_EVICT,    /* where live bytes exceed the limit: end a copy, and recompute it before its next reader */
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
  int32_t compare_percent; /* percent of evictions that take the one of two copies with less time for its bytes */
  int64_t most_ns;         /* a move that makes the schedule slower than this would be refused */
} plim_mover;

/* Make one random move of the kind. Returns 0 when nothing was changed. The change is in the track's journal, and the
 * track is not settled. */
int plim_move_make(plim_mover *mover, plim_move move);

/* ---- kinds of moves, called by plim_move_make ---- */
int plim_move_evict(plim_mover *mover);
/* Evict a copy that is alive at this slot. */
int plim_move_evict_at(plim_mover *mover, int32_t slot);
/* A copy that may be evicted. */
typedef struct plim_victim {
  int32_t item;
  int32_t next; /* the run that reads it next, before which it is recomputed; -1: it is needed at the end */
} plim_victim;
/* Returns 1 and fills in the victim where a copy of the item is alive at the slot, is not read there, and may be
 * recomputed. */
int plim_move_alive_across(const plim_mover *mover, int32_t item, int32_t slot, plim_victim *out);
/* A random slot where live bytes exceed the limit; -1: there is none. Settles the track. */
int32_t plim_move_slot_above(plim_mover *mover);
int plim_move_first(plim_mover *mover);
int plim_move_group(plim_mover *mover);

/* ---- parts of moves ---- */

/* A random run. */
static inline int32_t plim_move_random_run(plim_mover *mover) {
  return mover->track->alive[plim_random_below(&mover->random, mover->track->n_runs)];
}
/* Insert a repeat of the op before run `next`, with the variant of its first run. Returns its id; -1, and nothing is
 * changed, where the schedule would take longer than most_ns. */
int32_t plim_move_repeat(plim_mover *mover, int32_t op, int32_t next);
/* A random run at most `distance` places before or after run r. */
int32_t plim_move_neighbour(plim_mover *mover, int32_t r, int32_t distance);

/* ==== neighbourhood ==== */

/* A large neighbourhood that is solved exactly. At one slot of the schedule it decides for up to
 * PLIM_NEIGHBOURHOOD_MOST ops what becomes of their outputs.
 *
 * A *gap* is the time between a copy that exists before the slot and its next reader after the slot. Either the copy is
 * kept through the gap, or it is recomputed before that reader. Gaps of the inputs of such a copy belong to the
 * neighbourhood too. Single moves do not pass from one good combination to another: what lies between exceeds the limit
 * or takes too long. */

enum { PLIM_NEIGHBOURHOOD_MOST = 16 };

typedef struct plim_gap {
  int32_t op, choice; /* what recomputes the copy */
  int32_t repeat;     /* the run that recomputes it in the schedule now; -1: it is kept */
  int32_t anchor;     /* the run before which it is recomputed, which belongs to no gap; -1: at the end */
  int32_t rank;       /* order among gaps of one anchor, then by op */
  int64_t time_ns;    /* of recomputing */
  int64_t bytes;      /* that recomputing frees at one position, at most */
  int32_t run;        /* its run while the branch and bound has it recomputed; -1: kept */
} plim_gap;

typedef struct plim_neighbourhood {
  int32_t n;
  plim_gap gap[PLIM_NEIGHBOURHOOD_MOST]; /* by ascending time for each byte */
} plim_neighbourhood;

/* Choose the gaps at a slot: repeats after it of ops that ran before it, and copies that are kept over it and may be
 * recomputed, with some of their producers. Where there are too many, random ones are taken. The journal must be empty.
 */
void plim_neighbourhood_gather(plim_mover *mover, int32_t slot, plim_neighbourhood *out);

/* Among all schedules that differ in these gaps alone and have a peak within the mover's limit, make the fastest one.
 *   most_ns  in          only a schedule of less time is made
 *   nodes    [1] in out  nodes of branch and bound that are left; at 0 the answer need not be the fastest
 * Returns 1 where one was made, with the change in the journal; else 0, and nothing is changed.
 * O(2^gaps) changes of the track in the worst case, usually some dozens. Deterministic. */
int plim_neighbourhood_solve(plim_mover *mover, plim_neighbourhood *neighbourhood, int64_t most_ns, int64_t *nodes);

/* Make a schedule within the limit faster: gather and solve at `tries` random slots. Empties the journal. */
void plim_neighbourhood_improve(plim_mover *mover, int32_t tries);

/* ==== anneal ==== */

/* Simulated annealing over schedules. */

typedef struct plim_anneal plim_anneal;

/* Is called for each schedule whose peak is within the limit and whose time is below faster_than_ns. It may set
 * faster_than_ns, the limit and `stop`. */
typedef plim_status plim_on_fit(void *user, plim_anneal *anneal);

/* Is called every few dozen moves. */
typedef void plim_on_moves(void *user);

struct plim_anneal {
  plim_mover mover;
  double hot, cold;          /* first and last temperature, in percentage points of overhead */
  double weight;             /* of bytes above the limit, in the cost (anneal.c) */
  double pace;               /* share by which the weight adapts while each op is moved once; 0: it is constant */
  double time_weight;        /* of overhead in the cost: 1; less where few bytes are the objective */
  int32_t strict;            /* 1: no schedule above the limit is accepted; the first one must be within it */
  int64_t iterations;        /* moves of this annealing run */
  int64_t deadline_ns;       /* by plim_now_ns; INT64_MAX: none. Temperature follows the larger share used up */
  int32_t share[PLIM_MOVES]; /* probability of each kind of move, relative to their sum */
  int32_t most_runs;         /* moves run no op more often; 0: no limit */
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

/* ==== greedy covering ==== */

/* Greedy covering: repeats that lower live bytes where they exceed a limit, those with most bytes for their time first.
 *
 * A copy that is kept between two of its readers takes bytes there; one that is recomputed before the second reader
 * does not.
 *   gain   of a repeat: by how much the area above the limit becomes smaller, in bytes x positions
 *   cost   of a repeat: its time; and for each input that is not alive there, the smaller of two: the area of keeping
 *          the input until then, or the cost of a repeat of the input's op before it
 *   rate   of a walk: the area that is worth a nanosecond. Area / rate is time. A repeat is added where its gain is
 *          larger than its cost.
 * A *walk* goes through the schedule once. Walks at falling rates make a round (seed_covering.c). */

enum { PLIM_GREEDY_COVERING_CHAIN = 48 /* most repeats that one decision adds: an op and its inputs' ops */ };

typedef struct plim_greedy_covering {
  plim_track *track;
  int64_t limit;      /* bytes, persistent ones included */
  int64_t mean_bytes; /* mean size of the items */
  plim_random random;
  double rate;       /* bytes x positions that are worth a nanosecond */
  double keep_share; /* a repeat that gains less than this share of the rate is removed; 0: none is */
  double noise;      /* the rate of a single repeat differs by at most this share, at random */
  /* of the walk that goes on; positions are those of the schedule when the walk began */
  double excess;                             /* area above the limit when it began, bytes x positions */
  int32_t changes;                           /* repeats added or removed */
  int32_t *at;                               /* [room] position of a run; an added run has that of the run after it */
  int32_t *last;                             /* [n_items] position of the item's last access so far; -1: none */
  plim_blocked_profile memory_profile;       /* live bytes at a position, with the changes so far */
  int32_t *n_above;                          /* [room + 1] positions before this one where bytes exceeded the limit */
  int32_t *n_near;                           /* [room + 1] the same with an item of mean size more */
  int32_t chain[PLIM_GREEDY_COVERING_CHAIN]; /* [n_chain] ops that a decision would run again, in order */
  int32_t n_chain;
} plim_greedy_covering;

/* The track must outlive it. */
PLIM_MUST_USE plim_status plim_greedy_covering_new(plim_track *track, int64_t limit, plim_greedy_covering **out);
void plim_greedy_covering_free(plim_greedy_covering *covering); /* NULL is legal */

/* One walk: remove repeats that are not worth their time at the rate, and add those that are. The schedule stays valid.
 * Empties the journal. O(runs x operands), and O(runs) for each input of each chain that is tried. A chain has up to
 * operands^6 inputs in theory; on random layers of up to 3,500 ops it had at most 2,700. */
void plim_greedy_covering_walk(plim_greedy_covering *covering);

/* ==== polish ==== */

/* Remove each repeat without which the peak stays within the limit, the slowest first. Give each run the fastest
 * variant with which the peak stays within the limit. Repeat until nothing changes.
 * The peak must be within the limit before. Empties the journal. O(repeats log slots) a pass. Deterministic. The only
 * failure is PLIM_ENOMEM, before anything is changed. */
PLIM_MUST_USE plim_status plim_polish(plim_track *track, int64_t limit);

/* ==== searcher ==== */

/* A searcher makes annealing runs for one incumbent, and packs what they find.
 *
 * Annealing knows peaks, the budget bounds packed sizes. So each run works with a limit on the peak. Its *candidate* is
 * the fastest schedule within that limit that beats the best plan. The candidate is packed every few thousand moves;
 * with more effort when the run ends; and by exact search where it almost fits. Where it does not fit, the limit of the
 * next run is lower by half of the excess. */

/* The settings of one annealing run. */
typedef struct plim_annealing {
  int32_t percent; /* of the moves of a round */
  double hot;      /* first temperature, in times of an average op */
  enum {
    PLIM_START_ORDER,      /* from the schedule that the round was given, such as program order */
    PLIM_START_BEST,       /* from the best */
    PLIM_START_BEST_WITHIN /* from the best, and never above the limit */
  } start;
  int32_t share[PLIM_MOVES]; /* as in plim_anneal */
} plim_annealing;

typedef struct plim_searcher {
  plim_incumbent *inc;
  plim_track *track;
  plim_anneal anneal;
  plim_schedule current;   /* scratch */
  plim_schedule candidate; /* the fastest schedule of the annealing run within the limit; without one, its last */
  int64_t candidate_ns;    /* time of the candidate; 0: none was within the limit */
  int64_t excess_bytes;    /* packed size of the candidate minus the budget; INT64_MAX: not packed yet */
  int64_t next_try;        /* value of anneal.done from which the next packing is allowed */
  atomic_int *halt;        /* shared by searchers; set by the one that meets the bound. NULL: there are no others */
} plim_searcher;

/* The incumbent must outlive the searcher. `seed` is that of its random numbers. */
PLIM_MUST_USE plim_status plim_searcher_begin(plim_incumbent *incumbent, uint64_t seed, plim_searcher *out);
void plim_searcher_end(plim_searcher *searcher);

/* One annealing run from `start`. It ends after `moves` moves or at deadline_ns (by plim_now_ns), and submits its
 * candidate. PLIM_ECANCEL: the context was cancelled. Deterministic without a deadline. */
PLIM_MUST_USE plim_status plim_searcher_anneal(plim_searcher *searcher, const plim_annealing *annealing,
                                               const plim_schedule *start, int64_t moves, int64_t deadline_ns);

/* ==== seed ==== */

/* A first schedule from checkpoints (planner/chain). Of several sets of checkpoints it is the fastest whose peak is
 * within the limit; where none is, the one of lowest peak. It has at most `most_runs` runs, where most_runs >= n_ops.
 * Deterministic. */
PLIM_MUST_USE plim_status plim_seed_make(const plim_problem *problem, plim_timeline *timeline, int64_t limit,
                                         int32_t most_runs, plim_schedule *out);

/* ==== seed covering ==== */

/* A first schedule from greedy covering. Brings a valid schedule within budget_bytes, then makes it faster.
 *   rounds       in      most rounds; the later ones remove repeats and cover again
 *   deadline_ns  in      by plim_now_ns; later rounds end there, the first at a share of the incumbent's time limit
 *   schedule     in out  becomes the fastest schedule within budget_bytes; where there is none, the one of lowest peak
 * Each schedule within budget_bytes is submitted. Deterministic without a deadline. */
PLIM_MUST_USE plim_status plim_seed_covering(plim_incumbent *incumbent, int64_t budget_bytes, int32_t rounds,
                                             int64_t deadline_ns, plim_schedule *schedule);

#endif
