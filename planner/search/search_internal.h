/* What works for an incumbent: a searcher, which makes annealing runs, and the portfolio of searchers; and the walks of
 * greedy covering, which find a first plan. Callers read searches.h; moves.h has what changes a schedule. */
#ifndef PLIM_PLANNER_SEARCH_SEARCH_INTERNAL_H
#define PLIM_PLANNER_SEARCH_SEARCH_INTERNAL_H

#include <stdatomic.h>

#include "planner/core/incumbent.h"
#include "planner/search/moves.h"
#include "planner/track/memory_profile.h"
#include "planner/track/track.h"
#include "runtime/base/random.h"

/* ==== searcher (searcher.c) ==== */

/* A searcher makes annealing runs for one incumbent, and packs what they find.
 *
 * Annealing knows peaks, the budget bounds packed sizes. So each run works with a limit on the peak. Its *candidate* is
 * the fastest schedule within that limit that beats the best plan. The candidate is packed every few thousand moves;
 * in more rounds when the run ends; and by exact search where it almost fits. Where it does not fit, the limit of the
 * next run is lower by half of the excess. */

/* The settings of one annealing run. */
typedef struct plim_annealing {
  int32_t percent; /* of the moves of a round */
  double hot;      /* first temperature, in times of an average op */
  enum {
    PLIM_START_GIVEN,      /* from the schedule that the round was given, such as program order */
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

/* ==== portfolio (portfolio_members.c, portfolio_round.c) ==== */

/* The search for the fastest plan, by one searcher or several. portfolio.c says which rounds it makes. */

/* A searcher with what it needs on its thread. */
typedef struct plim_portfolio_member {
  plim_context *ctx; /* NULL: the first, which has the context, problem and plan front of the caller */
  plim_problem problem;
  plim_front front;
  plim_incumbent *inc;
  plim_searcher searcher;
  plim_status status; /* of its last annealing run */
} plim_portfolio_member;

/* What a round is told. */
typedef struct plim_round_plan {
  int64_t moves;    /* its annealing runs share them, ... */
  int64_t end_ns;   /* ... and the time until here, by plim_now_ns; PLIM_TIME_UNLIMITED: none */
  int32_t goes_on;  /* 1: no annealing run starts from `start`, all go on from what was found */
  int32_t may_seek; /* 1: without a plan, the min-memory search may look for one */
} plim_round_plan;

typedef struct plim_portfolio {
  plim_incumbent *inc;        /* the caller's */
  const plim_schedule *start; /* where the first annealing run starts */
  int32_t n;
  plim_portfolio_member *member; /* [n] */
  plim_schedule lowest;      /* of the min-memory searches, or of a brief search's covering; empty: neither has one */
  int64_t lowest_bytes;      /* packed, of the min-memory searches; INT64_MAX: they have none */
  int64_t first_ns;          /* time of the best after the annealing run that first had one; INT64_MAX: none had */
  int32_t has_covered;       /* 1: covering has looked for a plan */
  uint64_t min_memory_tries; /* min-memory searches so far */
  atomic_int halt;           /* 1: a searcher has met the bound */
  /* the round and the annealing run that go on */
  int32_t leaves_start; /* 1: runs do not start from `start`: so the round was told, or it has led to no plan */
  const plim_annealing *annealing; /* settings of the run */
  int64_t moves, deadline_ns;      /* of the run */
} plim_portfolio;

/* Is the graph long? Then rounds are other ones, and go on from what was found, though it is above the limit. */
static inline int plim_portfolio_is_long(const plim_portfolio *portfolio) {
  return portfolio->inc->problem->n_ops > PLIM_LONG_OPS;
}

/* Searcher i; number 0 has the caller's incumbent. After a failure too it must be ended. */
PLIM_MUST_USE plim_status plim_portfolio_begin_member(plim_portfolio *portfolio, int32_t i);
void plim_portfolio_end_member(plim_portfolio *portfolio, int32_t i);

/* Give every searcher the best plan of all; among equal ones, that of the first searcher. */
PLIM_MUST_USE plim_status plim_portfolio_exchange(plim_portfolio *portfolio);

/* One annealing run by every searcher, then an exchange. A cancel is returned after the exchange. */
PLIM_MUST_USE plim_status plim_portfolio_anneal(plim_portfolio *portfolio);

/* Look for a plan by greedy covering, from `start`. */
PLIM_MUST_USE plim_status plim_portfolio_cover(plim_portfolio *portfolio);

/* Look for any plan: by covering, then, with may_seek, by the min-memory search. A long graph was covered before the
 * first round. */
PLIM_MUST_USE plim_status plim_portfolio_find(plim_portfolio *portfolio, int may_seek);

/* Bytes up to which a schedule is near the budget. */
int64_t plim_portfolio_near_budget(const plim_incumbent *incumbent);

/* One round. PLIM_ECANCEL: the context was cancelled. */
PLIM_MUST_USE plim_status plim_portfolio_round(plim_portfolio *portfolio, const plim_round_plan *plan);

/* ==== greedy covering (greedy_covering.c) ==== */

/* Greedy covering: repeats that lower live bytes where they exceed a limit, those with most bytes for their time first.
 *
 * Bytes are above the *limit* where live bytes exceed it; their *area* is the sum of that excess over all runs.
 * An item that is kept between two of its readers takes bytes there; one that is recomputed before the second reader
 * does not.
 *   gain   of a repeat: by how much the area above the limit becomes smaller, in bytes x positions
 *   cost   of a repeat: its time; and for each input that is not alive there, the smaller of two: the area of keeping
 *          the input until then, or the cost of a repeat of the input's op before it
 *   rate   of a walk: the area that is worth a nanosecond. Area / rate is time. A repeat is added where its gain is
 *          larger than its cost.
 * A *walk* goes through the schedule once. Walks at falling rates make a round (greedy_covering_run.c). */

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
  double excess;                       /* area above the limit when it began, bytes x positions */
  int32_t changes;                     /* repeats added or removed */
  int32_t *at;                         /* [capacity] position of a run; an added run has that of the run after it */
  int32_t *last;                       /* [n_items] position of the item's last access so far; -1: none */
  plim_blocked_profile memory_profile; /* live bytes at a position, with the changes so far */
  int32_t *n_above;                    /* [capacity + 1] positions before this one where bytes exceeded the limit */
  int32_t *n_near;                     /* [capacity + 1] the same with an item of mean size more */
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

#endif
