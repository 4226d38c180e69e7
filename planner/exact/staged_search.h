/* The constraint search of class copies, from below: lazy clauses (integers, reasons, learning), copies (the variables
 * and what bytes imply), copies cost (what time implies), and the search itself. */
#ifndef PLIM_PLANNER_EXACT_STAGED_SEARCH_H
#define PLIM_PLANNER_EXACT_STAGED_SEARCH_H

#include "planner/exact/dag.h"
#include "runtime/base/context.h"

/* ==== lazy clauses ==== */

/* Integers between bounds, a reason for every bound that was moved, and clauses learned from conflicts.
 *
 * A *bound* says that a variable is at least, or at most, a number. A domain is the interval between two bounds. A
 * propagator moves bounds, and notes which other bounds imply that. Where two bounds of a variable cross, there is a
 * conflict: the notes are resolved back to the first unique implication point. The clause found there is learned, and
 * the search returns to the latest level at which the clause implies a bound. Source: Feydy, Stuckey, "Lazy clause
 * generation reengineered", CP 2009; clauses: Een, Sorensson, SAT 2003. */

/* side 2 x: x >= least; side 2 x + 1: -x >= least. */
typedef struct plim_lazy_clauses_bound {
  int32_t side, least;
} plim_lazy_clauses_bound;

static inline plim_lazy_clauses_bound plim_lazy_clauses_at_least(int32_t x, int32_t value) {
  return (plim_lazy_clauses_bound){2 * x, value};
}
static inline plim_lazy_clauses_bound plim_lazy_clauses_at_most(int32_t x, int32_t value) {
  return (plim_lazy_clauses_bound){2 * x + 1, -value};
}
static inline plim_lazy_clauses_bound plim_lazy_clauses_not(plim_lazy_clauses_bound b) {
  return (plim_lazy_clauses_bound){b.side ^ 1, 1 - b.least};
}

typedef struct plim_lazy_clauses_change {
  int32_t side, before; /* the bound was `before` */
  int32_t previous;     /* change of the same side, -1 */
  int32_t level;
  int32_t clause;     /* that implied it, -1 */
  int32_t begin, end; /* of the reasons else; equal: a decision, or a fact */
} plim_lazy_clauses_change;

typedef struct plim_lazy_clauses_clause {
  int32_t begin, n; /* of its bounds, one of which holds; the first two are watched */
  int32_t levels;   /* of decisions that it joined when it was learned: the fewer, the more it says */
  float activity;
} plim_lazy_clauses_clause;

/* The clause is looked at when the side reaches `at`. */
typedef struct plim_lazy_clauses_watch {
  int32_t clause, at;
} plim_lazy_clauses_watch;

typedef struct plim_lazy_clauses_watches {
  int32_t n, room;
  plim_lazy_clauses_watch *at;
} plim_lazy_clauses_watches;

typedef struct plim_lazy_clauses_pool {
  int32_t n, room;
  plim_lazy_clauses_bound *at;
} plim_lazy_clauses_pool;

typedef struct plim_lazy_clauses_level {
  int32_t n_trail, n_reasons; /* when it began */
  int32_t mark;               /* scratch of learning */
} plim_lazy_clauses_level;

typedef struct plim_lazy_clauses {
  plim_context *ctx;
  int32_t n_variables;
  int32_t *least;  /* [2 n] the bounds */
  int32_t *latest; /* [2 n] latest change of a side, -1 */
  plim_lazy_clauses_change *trail;
  int32_t n_trail, room_trail, next; /* next: changes before it were shown to the clauses */
  plim_lazy_clauses_level *level;
  int32_t n_levels, room_levels;
  plim_lazy_clauses_pool reasons, literals, conflict, learned;
  int32_t failed; /* 1: `conflict` cannot hold, and does */
  plim_lazy_clauses_clause *clause;
  int32_t n_clauses, room_clauses;
  plim_lazy_clauses_watches *watch; /* [2 n] */
  double *activity;                 /* [n] */
  double bump;
  float clause_bump;
  /* scratch of learning */
  int32_t *need_at, *need_least; /* [2 n] change that is needed, -1, and how much of it */
  int32_t *touched, n_touched;   /* [2 n] */
  int32_t mark;
} plim_lazy_clauses;

/* low, high [n]: the domains. */
PLIM_MUST_USE plim_status plim_lazy_clauses_make(plim_context *ctx, int32_t n, const int32_t *low, const int32_t *high,
                                                 plim_lazy_clauses *out);
void plim_lazy_clauses_free(plim_lazy_clauses *lazy_clauses);

static inline int32_t plim_lazy_clauses_low(const plim_lazy_clauses *l, int32_t x) {
  return l->least[2 * x];
}
static inline int32_t plim_lazy_clauses_high(const plim_lazy_clauses *l, int32_t x) {
  return -l->least[2 * x + 1];
}
static inline int plim_lazy_clauses_holds(const plim_lazy_clauses *l, plim_lazy_clauses_bound b) {
  return l->least[b.side] >= b.least;
}
static inline int plim_lazy_clauses_denied(const plim_lazy_clauses *l, plim_lazy_clauses_bound b) {
  return l->least[b.side ^ 1] >= 1 - b.least;
}

/* The change that made a bound hold, -1: it held from the beginning, or does as a fact. O(changes of that side). */
int32_t plim_lazy_clauses_change_of(const plim_lazy_clauses *lazy_clauses, plim_lazy_clauses_bound b);

/* Open a level of decisions; decide, where the bound is neither denied nor held. */
PLIM_MUST_USE plim_status plim_lazy_clauses_open(plim_lazy_clauses *lazy_clauses);
PLIM_MUST_USE plim_status plim_lazy_clauses_decide(plim_lazy_clauses *lazy_clauses, plim_lazy_clauses_bound b);
/* Back to that many levels; a conflict is forgotten. */
void plim_lazy_clauses_back(plim_lazy_clauses *lazy_clauses, int32_t levels);

/* Note one reason: reasons of one implication are noted one after the other, begin = clauses->reasons.n before the
 * first.
 */
PLIM_MUST_USE plim_status plim_lazy_clauses_note(plim_lazy_clauses *lazy_clauses, plim_lazy_clauses_bound b);
/* The reasons noted from `begin` on imply b. They may be shared by implications that follow. */
PLIM_MUST_USE plim_status plim_lazy_clauses_imply(plim_lazy_clauses *lazy_clauses, plim_lazy_clauses_bound b,
                                                  int32_t begin);
/* They cannot hold together, and do. */
PLIM_MUST_USE plim_status plim_lazy_clauses_fail(plim_lazy_clauses *lazy_clauses, int32_t begin);

/* What the clauses imply, until nothing more does or one fails. */
PLIM_MUST_USE plim_status plim_lazy_clauses_propagate(plim_lazy_clauses *lazy_clauses);

/* After a failure: learn a clause, go back to where it implies something, and imply it. *refuted 1: the conflict needs
 * no decision; there is no solution. */
PLIM_MUST_USE plim_status plim_lazy_clauses_learn(plim_lazy_clauses *lazy_clauses, int32_t *refuted);

/* Without open levels: forget clauses that hold, and of the others the worst until at most `most` are left. */
PLIM_MUST_USE plim_status plim_lazy_clauses_forget(plim_lazy_clauses *lazy_clauses, int32_t most);

/* ==== copies ==== */

/* Moccasin's variables: for each repeat that a node may have the stage in which it starts, and what is known of the
 * bytes while some of them are undecided.
 *
 * The first run of a node is fixed at its own stage. Variable x of a node v stands for its i-th repeat, i = 1 ..
 * copies - 1: the stage that it runs in, or one after the last stage allowed, which means that it is not there. The
 * repeats of a node are in order. Where a copy ends follows: at its last reader before the next one. */

/* A copy of `node` that step `reader` reads. It is alive from step `begin` on, where it was read or computed last. An
 * undecided repeat may begin it later, at step `certain_from` at the latest: from there on it is alive for certain. */
typedef struct plim_copy_use {
  int32_t node, reader, begin, certain_from;
} plim_copy_use;

typedef struct plim_copy_step {
  int32_t stage, node, variable; /* variable -1: a first run */
} plim_copy_step;

typedef struct plim_copies {
  const plim_dag *dag;
  int64_t limit_bytes;
  plim_lazy_clauses clauses;
  int32_t n_variables;
  int32_t *first;   /* [n + 1] variables of a node */
  int32_t *node_of; /* [n_variables] */
  int32_t *absent;  /* [n_variables] the value of one that is not there */
  int64_t *bytes;   /* [n] of the nodes */
  /* what runs for certain, by the last plim_copies_propagate */
  plim_copy_step *step;
  int32_t n_steps, room_steps;
  int64_t *certain_bytes; /* [n_steps] live bytes whatever is decided further */
  int64_t *decided_bytes; /* [n_steps] live bytes when no further repeat is added */
  int64_t decided_peak;   /* largest of them */
  plim_copy_use *use;
  int32_t n_uses, room_uses;
  /* scratch */
  int32_t *next_in_stage, *head; /* [n_variables], [n] repeats of a stage */
  int32_t *begin_of;             /* [n] first step of a stage */
  int32_t *covered;              /* [n] last step at which a copy is known to be read or made */
  int32_t *tight;                /* [n_steps] the last step up to here that has less room than the largest node */
  struct plim_copy_item *item;   /* [n] */
  int64_t largest_bytes;
} plim_copies;

PLIM_MUST_USE plim_status plim_copies_make(const plim_dag *dag, int32_t copies, int64_t limit_bytes, plim_copies *out);
void plim_copies_free(plim_copies *copies);

static inline int plim_copies_present(const plim_copies *c, int32_t x) {
  return plim_lazy_clauses_high(&c->clauses, x) < c->absent[x];
}
static inline int plim_copies_fixed(const plim_copies *c, int32_t x) {
  return plim_lazy_clauses_low(&c->clauses, x) == plim_lazy_clauses_high(&c->clauses, x);
}

/* The first stage in which a repeat of `node` runs after a step. */
static inline int32_t plim_copies_stage_after(const plim_copy_step *step, int32_t node) {
  return step->stage + (node > step->node ? 0 : 1);
}

/* The last stage in which a repeat of the node frees the bytes of the use: before its reader, and where the node may
 * run. */
static inline int32_t plim_copies_stage_before(const plim_copies *c, const plim_copy_use *use) {
  int32_t stage = c->step[use->reader].stage, last = c->dag->node[use->node].last_stage;
  return stage < last ? stage : last;
}

/* May repeat x run in one of the stages low to high? */
int plim_copies_may_run(const plim_copies *copies, int32_t x, int32_t low, int32_t high);

/* What the order of repeats, the bytes and the clauses imply, until nothing more does, or copies->clauses.failed.
 * Leaves steps, uses and bytes of the last look after. O(variables + edges + repeats) for each round. */
PLIM_MUST_USE plim_status plim_copies_propagate(plim_copies *copies);

/* Note why use `k` is alive at step j: its reader, and (with_repeats) that no repeat runs in between. */
PLIM_MUST_USE plim_status plim_copies_note_use(plim_copies *copies, int32_t k, int32_t j, int with_repeats);
/* Note that step j runs. */
PLIM_MUST_USE plim_status plim_copies_note_step(plim_copies *copies, int32_t j);

/* The repeats that are decided, into a set. */
PLIM_MUST_USE plim_status plim_copies_repeats(const plim_copies *copies, plim_repeats *out);

/* ==== copies cost ==== */

/* A lower bound on the time of repeats that are not decided yet, and repeats that would take too long. */

enum { PLIM_COPIES_MOST_ROWS = 16 };

/* A step at which live bytes exceed the limit, unless further repeats free some. */
typedef struct plim_copies_row {
  int32_t step, place; /* among the rows in order of their steps */
  int64_t excess;
  double price; /* time of a byte, in the bound */
  double tight; /* excess as a share of the bytes that repeats can free there: above 1 is a conflict */
} plim_copies_row;

typedef struct plim_copies_cost {
  plim_copies_row row[PLIM_COPIES_MOST_ROWS]; /* of the last look, the most excess first */
  int32_t n_rows;
  int64_t present_ns; /* time of the repeats that are there for certain */
  double *left;       /* [room] of each use: what of its node's time no row has charged yet */
  /* scratch */
  struct plim_copies_relief *relief;               /* [room] of one row */
  int32_t *spared;                                 /* [room x rows] uses that repeats may spare, row by row */
  int32_t spared_begin[PLIM_COPIES_MOST_ROWS + 1]; /* rows in order of their steps */
  int32_t *rows_before;                            /* [room_steps + 1] rows whose step is before this one */
  int32_t room, room_steps;
} plim_copies_cost;

void plim_copies_cost_free(plim_context *ctx, plim_copies_cost *k); /* {0} is an empty one */

/* List the rows of the last look; fail where all that is needed takes more than allowed_ns of repeats, and leave out
 * repeats that would. O(rows x uses log uses). */
PLIM_MUST_USE plim_status plim_copies_cost_bound(plim_copies_cost *k, plim_copies *copies, int64_t allowed_ns);

/* ==== staged search ==== */

/* The least time of a schedule in stages with a limit on copies, by a search of our own. */

typedef struct plim_staged_search plim_staged_search;

struct plim_staged_search {
  /* set by the caller */
  const plim_dag *dag;
  int32_t copies;      /* computations of a node at most */
  int64_t limit_bytes; /* of the peak */
  int64_t bound_ns;    /* nothing is faster: stop there */
  int64_t faster_than_ns;
  int64_t nodes;       /* decisions and conflicts, at most */
  int64_t deadline_ns; /* by plim_now_ns; INT64_MAX: none */
  uint64_t seed;
  plim_status (*on_better)(void *user, const plim_repeats *best); /* called for each best; NULL: no one is */
  void *user;
  /* results */
  int32_t found, exhausted; /* exhausted: there is nothing faster than best, or than faster_than_ns */
  plim_repeats best;
  int64_t best_ns;
};

/* Search, beginning with what `start` (NULL: nothing) repeats; it is the best so far where it keeps the limit.
 * Deterministic without a deadline. PLIM_ECANCEL keeps what was found. `best` is the caller's to free, and empty with
 * its ctx set in the beginning. Bytes: clauses of up to a few thousand bounds, whose number grows with the time spent.
 */
PLIM_MUST_USE plim_status plim_staged_search_run(plim_staged_search *search, const plim_repeats *start);

#endif
