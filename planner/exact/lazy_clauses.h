/* Integers between bounds, a reason for every bound that was moved, and clauses learned from conflicts.
 *
 * A *bound* says that a variable is at least, or at most, a number. A domain is the interval between two bounds. A
 * propagator moves bounds, and notes which other bounds imply that. Where two bounds of a variable cross, there is a
 * conflict: the notes are resolved back to the first unique implication point. The clause found there is learned, and
 * the search returns to the latest level at which the clause implies a bound. Example: the clause "x >= 3 or y <= 2"
 * implies nothing while y may be 2 or less. Once y >= 3 holds it implies x >= 3, for the reason y >= 3. Source: Feydy,
 * Stuckey, "Lazy clause generation reengineered", CP 2009; clauses: Een, Sorensson, SAT 2003. */
#ifndef PLIM_PLANNER_EXACT_LAZY_CLAUSES_H
#define PLIM_PLANNER_EXACT_LAZY_CLAUSES_H

#include "runtime/base/context.h"

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
  int32_t n;
  plim_lazy_clauses_watch *at; /* [n] */
  int64_t capacity;
} plim_lazy_clauses_watches;

typedef struct plim_lazy_clauses_pool {
  int32_t n;
  plim_lazy_clauses_bound *at; /* [n] */
  int64_t capacity;
} plim_lazy_clauses_pool;

typedef struct plim_lazy_clauses_level {
  int32_t n_trail, n_reasons; /* when it began */
  int32_t mark;               /* scratch of learning */
} plim_lazy_clauses_level;

typedef struct plim_lazy_clauses {
  plim_context *ctx;
  int32_t n_variables;
  /* the bounds, and how they came to be */
  int32_t *least;                  /* [2 n] by side */
  int32_t *latest;                 /* [2 n] latest change of a side, -1 */
  plim_lazy_clauses_change *trail; /* [n_trail] all changes */
  int32_t n_trail, next;           /* next: changes before it were shown to the clauses */
  plim_lazy_clauses_level *level;  /* [n_levels] of decisions */
  int32_t n_levels;
  plim_lazy_clauses_pool reasons; /* of changes, one after the other */
  /* a failure */
  int32_t has_failed; /* 1: `conflict` cannot hold, and does */
  plim_lazy_clauses_pool conflict;
  /* the clauses */
  plim_lazy_clauses_clause *clause; /* [n_clauses] */
  int32_t n_clauses;
  plim_lazy_clauses_pool literals;  /* their bounds, one after the other */
  plim_lazy_clauses_watches *watch; /* [2 n] */
  float clause_bump;                /* what a conflict adds to the activity of a clause ... */
  double bump;                      /* ... and of a variable */
  double *activity;                 /* [n] */
  /* scratch of learning */
  plim_lazy_clauses_pool learned;
  int32_t *need_at, *need_least; /* [2 n] change that is needed, -1, and how much of it */
  int32_t *touched, n_touched;   /* [2 n] */
  int32_t mark;
  int64_t trail_capacity, level_capacity, clause_capacity;
} plim_lazy_clauses;

/* low, high [n]: the domains. */
PLIM_MUST_USE plim_status plim_lazy_clauses_make(plim_context *ctx, int32_t n, const int32_t *low, const int32_t *high,
                                                 plim_lazy_clauses *out);
void plim_lazy_clauses_free(plim_lazy_clauses *clauses);

static inline int32_t plim_lazy_clauses_low(const plim_lazy_clauses *clauses, int32_t x) {
  return clauses->least[2 * x];
}
static inline int32_t plim_lazy_clauses_high(const plim_lazy_clauses *clauses, int32_t x) {
  return -clauses->least[2 * x + 1];
}
static inline int plim_lazy_clauses_holds(const plim_lazy_clauses *clauses, plim_lazy_clauses_bound b) {
  return clauses->least[b.side] >= b.least;
}
static inline int plim_lazy_clauses_denied(const plim_lazy_clauses *clauses, plim_lazy_clauses_bound b) {
  return clauses->least[b.side ^ 1] >= 1 - b.least;
}

/* The change that made a bound hold, -1: it held from the beginning, or does as a fact. O(changes of that side). */
int32_t plim_lazy_clauses_change_of(const plim_lazy_clauses *clauses, plim_lazy_clauses_bound b);

/* Open a level of decisions; decide, where the bound is neither denied nor held. */
PLIM_MUST_USE plim_status plim_lazy_clauses_open(plim_lazy_clauses *clauses);
PLIM_MUST_USE plim_status plim_lazy_clauses_decide(plim_lazy_clauses *clauses, plim_lazy_clauses_bound b);
/* Back to that many levels; a conflict is forgotten. */
void plim_lazy_clauses_back(plim_lazy_clauses *clauses, int32_t levels);

/* Note one reason: reasons of one implication are noted one after the other, begin = clauses->reasons.n before the
 * first.
 */
PLIM_MUST_USE plim_status plim_lazy_clauses_note(plim_lazy_clauses *clauses, plim_lazy_clauses_bound b);
/* The reasons noted from `begin` on imply b. They may be shared by implications that follow. */
PLIM_MUST_USE plim_status plim_lazy_clauses_imply(plim_lazy_clauses *clauses, plim_lazy_clauses_bound b, int32_t begin);
/* They cannot hold together, and do. */
PLIM_MUST_USE plim_status plim_lazy_clauses_fail(plim_lazy_clauses *clauses, int32_t begin);

/* What the clauses imply, until nothing more does or one fails. */
PLIM_MUST_USE plim_status plim_lazy_clauses_propagate(plim_lazy_clauses *clauses);

/* After a failure: learn a clause, go back to where it implies something, and imply it. *refuted 1: the conflict needs
 * no decision; there is no solution. */
PLIM_MUST_USE plim_status plim_lazy_clauses_learn(plim_lazy_clauses *clauses, int *refuted);

/* Without open levels: forget clauses that hold, and of the others the worst until at most `max_clauses` are left. */
PLIM_MUST_USE plim_status plim_lazy_clauses_forget(plim_lazy_clauses *clauses, int32_t max_clauses);

#endif
