/* The searches' own parts: moves, annealing, covering, re-optimising windows. */
#ifndef PLIM_PLANNER_SEARCH_SEARCH_INTERNAL_H
#define PLIM_PLANNER_SEARCH_SEARCH_INTERNAL_H

#include <stdatomic.h>

#include "planner/core/core.h"
#include "planner/core/incumbent.h"
#include "planner/profile/track.h"
#include "runtime/base/random.h"

/* ==== moves ==== */

/* Moves of the search: small changes of a schedule that keep it valid. */

typedef enum plim_move {
  PLIM_MOVE_EVICT,    /* at a step above the limit: drop a copy across it, recompute it before its next reader */
  PLIM_MOVE_DELETE,   /* remove a repeat and what was run for it alone, or a series of neighbours */
  PLIM_MOVE_EXCHANGE, /* remove a repeat, then evict where the limit is exceeded */
  PLIM_MOVE_SHIFT,    /* move a repeat, or a series of neighbours */
  PLIM_MOVE_INSERT,   /* a repeat of any op anywhere */
  PLIM_MOVE_FIRST,    /* move a first run within its window */
  PLIM_MOVE_CHOICE,   /* another variant */
  PLIM_MOVE_GROUP,    /* move a first run out of its window, with those that it needs or that need it */
  PLIM_MOVES
} plim_move;

typedef struct plim_mover {
  plim_track *track;
  plim_random random;
  int64_t limit;           /* bytes that the peak should not exceed */
  int32_t compare_percent; /* percent of evictions that take the one of two copies with less time for its bytes */
  int64_t most_ns;         /* a move that makes the schedule slower than this would be refused */
} plim_mover;

/* Make one move of the kind; returns 0 when nothing was changed. The change is in the track's journal, not settled. */
int plim_move_make(plim_mover *mover, plim_move move);

/* ---- the kinds, for moves.c ---- */
int plim_move_evict(plim_mover *mover);
/* The same at the step of this slot. */
int plim_move_evict_at(plim_mover *mover, int32_t slot);
/* Is a copy of the item alive across the slot without being read there, and may it be recomputed? Then the victim is
 * filled in. */
typedef struct plim_victim {
  int32_t item, next; /* reader before which it is recomputed, -1: the end */
} plim_victim;
int plim_move_alive_across(const plim_mover *mover, int32_t item, int32_t slot, plim_victim *out);
/* A slot above the limit, -1. Settles the track. */
int32_t plim_move_slot_above(plim_mover *mover);
int plim_move_first(plim_mover *mover);
int plim_move_group(plim_mover *mover);

/* ---- drawing ---- */
static inline int32_t plim_move_random_run(plim_mover *mover) {
  return mover->track->alive[plim_random_below(&mover->random, mover->track->n_runs)];
}
/* Insert a run of the op before `next` with the choice of its first run; -1, and nothing is changed, when that
 * takes too long. */
int32_t plim_move_repeat(plim_mover *mover, int32_t op, int32_t next);
/* The run up to `distance` places before or after run r. */
int32_t plim_move_neighbour(plim_mover *mover, int32_t r, int32_t distance);

/* ==== neighbourhood ==== */

/* A large neighbourhood solved exactly: what to keep across a step and what to recompute after it.
 *
 * A *gap* is a copy made before the step whose next use comes after it: it is either kept in between, or recomputed
 * before that use. What such a copy is made from is a gap too. All choices of up to PLIM_NEIGHBOURHOOD_MOST gaps at
 * once are a neighbourhood that single moves do not get through, since what is between two good choices is too high or
 * too slow.
 */

enum { PLIM_NEIGHBOURHOOD_MOST = 16 };

typedef struct plim_gap {
  int32_t op, choice;
  int32_t repeat;         /* the run that recomputes it now, -1: it is kept */
  int32_t anchor;         /* where it is recomputed: before this run, which is of no gap; -1: at the end */
  int32_t rank;           /* order of gaps with one anchor; equal ones by op */
  int64_t time_ns, bytes; /* of recomputing it; what that gives back at a step, at most */
  int32_t run;            /* its run while the search has it recomputed, -1 */
} plim_gap;

typedef struct plim_neighbourhood {
  int32_t n;
  plim_gap gap[PLIM_NEIGHBOURHOOD_MOST]; /* cheapest first, by time for the bytes given back */
} plim_neighbourhood;

/* Choose gaps at a slot: repeats after it whose older copy would be kept across it, and copies kept across it that may
 * be recomputed, with some of their producers; at random where there are too many. The journal must be empty. */
void plim_neighbourhood_gather(plim_mover *mover, int32_t slot, plim_neighbourhood *out);

/* Of all schedules that differ in these gaps alone, with a peak within the mover's limit, make the fastest if it is
 * faster than `most_ns`; returns 1 then, with the change in the journal, else 0 and nothing is changed. *nodes is what
 * the search may take, and what is left of it; when nothing is left the answer may be slower than the fastest.
 * Branch and bound; O(2^gaps) changes of the track at worst, usually some dozens. Deterministic. */
int plim_neighbourhood_solve(plim_mover *mover, plim_neighbourhood *neighbourhood, int64_t most_ns, int64_t *nodes);

/* Make a schedule within the limit faster, at `tries` slots. */
void plim_neighbourhood_improve(plim_mover *mover, int32_t tries);

/* ==== anneal ==== */

/* Simulated annealing over schedules. */

typedef struct plim_anneal plim_anneal;

/* Called with a schedule whose peak is within the limit and which is faster than faster_than_ns. It sets
 * faster_than_ns (to be called for faster ones only) and may change the limit. */
typedef plim_status plim_on_fit(void *user, plim_anneal *anneal);

/* Called now and then while moves are made. */
typedef void plim_on_moves(void *user);

struct plim_anneal {
  plim_mover mover;
  double hot, cold;          /* temperatures, in percent of overhead */
  double weight;             /* of bytes above the limit */
  double pace;               /* of adapting the weight, in parts a move of each op; 0: it stays */
  double time_weight;        /* of overhead: 1; near 0 when bytes are what is searched */
  int32_t strict;            /* 1: nothing above the limit is accepted; start from a schedule within it */
  int64_t iterations;        /* moves of this annealing run */
  int64_t deadline_ns;       /* by plim_now_ns; INT64_MAX: none. Temperature follows what is used up faster */
  int32_t share[PLIM_MOVES]; /* of the kinds of moves */
  int32_t most_runs;         /* moves do not raise the runs of an op above it; 0: no limit */
  plim_on_fit *on_fit;
  plim_on_moves *on_moves; /* NULL: none */
  void *user;
  int64_t faster_than_ns;
  /* state and results */
  double cost;
  int64_t done;
  int32_t stop; /* on_fit may set it */
};

/* One annealing run, from the schedule in the track. PLIM_ECANCEL when the context was cancelled. */
PLIM_MUST_USE plim_status plim_anneal_run(plim_anneal *anneal);

/* ==== greedy covering ==== */

/* Greedy covering: recomputations that lower the steps above a limit, those that save most bytes for their time first.
 *
 * A copy that is kept between two of its readers takes bytes there; one that is recomputed before the second reader
 * does not. The *gain* of that repeat is by how much less is above the limit, added up over the steps. Its cost is its
 * time, and for each input that is gone by then either the bytes of keeping that longer, or its own repeat in front,
 * whichever is less. Bytes over steps become time by the *rate* of a walk. */

enum { PLIM_GREEDY_COVERING_CHAIN = 48 /* repeats at one place for one gain */ };

typedef struct plim_greedy_covering {
  plim_track *track;
  int64_t limit;
  int64_t mean_bytes; /* mean of the items */
  plim_random random;
  double rate;       /* bytes x steps that are worth a nanosecond */
  double keep_share; /* repeats that gain less than this share of the rate go; 0: none go */
  double noise;      /* shares by which rates of single repeats differ, at random */
  /* of the walk under way; positions are places in the sequence when it began */
  double excess;                       /* bytes x steps above the limit when it began */
  int32_t changes;                     /* repeats that came or went */
  int32_t *at;                         /* [room] position of a run; a run that was inserted has that of the next one */
  int32_t *last;                       /* [n_items] position of the item's last access so far, -1 */
  plim_blocked_profile memory_profile; /* bytes alive at a position */
  int32_t *n_above, *n_near; /* [room + 1] positions before this one above the limit; above it with a usual item more */
  int32_t chain[PLIM_GREEDY_COVERING_CHAIN], n_chain; /* ops to run before a reader, in order */
} plim_greedy_covering;

/* The track must outlive it. */
PLIM_MUST_USE plim_status plim_greedy_covering_new(plim_track *track, int64_t limit, plim_greedy_covering **out);
void plim_greedy_covering_free(plim_greedy_covering *covering); /* NULL is legal */

/* Walk through the schedule once: take repeats away that are not worth their time at the rate, and add those that are.
 * The schedule stays valid; empties the journal. O(runs x operands), and for each gain looked
 * at closely O(runs) for each input of its chain: in theory operands to the power of six, on random layers of up to
 * 3,500 ops and half of all links at most 2,700 inputs. */
void plim_greedy_covering_walk(plim_greedy_covering *covering);

/* ==== polish ==== */

/* Cleaning up a schedule: what can only get better. */

/* Remove every repeat whose removal keeps the peak within the limit, the slowest ops first, and give every run the
 * fastest choice of its label that does; again until nothing changes. The schedule's peak is within the limit. Empties
 * the journal. Deterministic. The only failure is memory, before anything has changed. */
PLIM_MUST_USE plim_status plim_polish(plim_track *track, int64_t limit);

/* ==== searcher ==== */

/* One searcher: an annealer that works for one incumbent, annealing run by annealing run, with packing in the loop.
 *
 * An annealing run asks for peaks within a limit. The fastest schedule of an annealing run that is faster than the best
 * plan is its candidate; it is packed now and then, with more effort when the annealing run ends, and by exact search
 * where that almost succeeds. Where its addresses need more than the budget, the limit of the next annealing run is
 * tightened by what was too much. The best plan never gets slower. */

/* Temperatures are in shares of the time of an average op: an op of a small graph is a larger part of the whole. */
typedef struct plim_annealing {
  int32_t percent; /* of the moves of a round */
  double hot;
  enum {
    PLIM_START_ORDER,      /* from program order */
    PLIM_START_BEST,       /* from the best */
    PLIM_START_BEST_WITHIN /* from the best, never above the limit */
  } start;
  int32_t share[PLIM_MOVES];
} plim_annealing;

typedef struct plim_searcher {
  plim_incumbent *inc;
  plim_track *track;
  plim_anneal anneal;
  plim_schedule current;   /* scratch */
  plim_schedule candidate; /* the fastest schedule of the annealing run within the limit; without one, its last */
  int64_t candidate_ns;    /* 0: none */
  int64_t excess_bytes;    /* of its packed size over the budget, as packed last; INT64_MAX: never */
  int64_t next_try;        /* in moves */
  atomic_int *halt;        /* NULL: none; set by who met the bound, others stop then */
} plim_searcher;

/* A searcher for the incumbent, which must outlive it, with random numbers by `seed`. */
PLIM_MUST_USE plim_status plim_searcher_begin(plim_incumbent *incumbent, uint64_t seed, plim_searcher *out);
void plim_searcher_end(plim_searcher *searcher);

/* One annealing run from `start`, in at most so many moves and until `deadline_ns` (by plim_now_ns), and submit what
 * was met. PLIM_ECANCEL when the context was cancelled. */
PLIM_MUST_USE plim_status plim_searcher_anneal(plim_searcher *searcher, const plim_annealing *annealing,
                                               const plim_schedule *start, int64_t moves, int64_t deadline_ns);

/* ==== seed ==== */

/* Starting schedules for the searches. */

/* A schedule from checkpoints: of many checkpoint sets the fastest whose peak is within the limit, or, when there is
 * none, the one with the lowest peak. At most `most_runs` runs (at least one run of each op). Deterministic. */
PLIM_MUST_USE plim_status plim_seed_make(const plim_problem *problem, plim_timeline *timeline, int64_t limit,
                                         int32_t most_runs, plim_schedule *out);

/* ==== seed covering ==== */

/* Starting schedules by covering. */

/* Bring a schedule within so many bytes by covering (greedy_covering.h), and make it faster by taking back and covering
 * again, in at most so many rounds and, but for the first, until `deadline_ns`. What comes within them is submitted;
 * *schedule becomes the fastest of it, or the lowest that was met. The schedule must be valid. Deterministic but for
 * the deadline.
 */
PLIM_MUST_USE plim_status plim_seed_covering(plim_incumbent *incumbent, int64_t budget_bytes, int32_t rounds,
                                             int64_t deadline_ns, plim_schedule *schedule);

#endif
