/* What the files of Moccasin's search share: clauses, variables with what is derived of them, and bounds on the time
 * that is not decided yet. */
#ifndef PLIM_PLANNER_EXACT_MOCCASIN_INTERNAL_H
#define PLIM_PLANNER_EXACT_MOCCASIN_INTERNAL_H

#include "planner/exact/staged.h"

/* ==== clauses (lazy_clauses.c) ==== */

/* Integers between bounds, a reason for every bound that was moved, and clauses learned from conflicts.
 *
 * A *bound* says that a variable is at least, or at most, a number. A domain is the interval between two bounds. A
 * propagator moves bounds, and notes which other bounds imply that. Where two bounds of a variable cross, there is a
 * conflict: the notes are resolved back to the first unique implication point. The clause found there is learned, and
 * the search returns to the latest level at which the clause implies a bound. Example: the clause "x >= 3 or y <= 2"
 * implies nothing while y may be 2 or less. Once y >= 3 holds it implies x >= 3, for the reason y >= 3. Source: Feydy,
 * Stuckey, "Lazy clause generation reengineered", CP 2009; clauses: Een, Sorensson, SAT 2003. */

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

/* ==== variables (moccasin_model.c) ==== */

/* Moccasin's variables: for each repeat that a node may have the stage in which it starts, and what is known of the
 * bytes while some of them are undecided.
 *
 * The first run of a node is fixed at its own stage. Variable x of a node v stands for its i-th repeat, i = 1 ..
 * copies - 1: the stage that it runs in, or one after the last stage allowed, which means that it is not there. The
 * repeats of a node are in order. Where the bytes of a run end follows: at their last reader before the next run.
 *
 * Example: stages 1 and 6 read node 0, which may have one repeat. Variable x is its stage.
 *   x = 5        the bytes are alive in stages 0 to 1 and 5 to 6
 *   absent       they are alive in stages 0 to 6
 *   2 <= x <= 4  not decided: it runs in stage 4 at the latest, so they are alive in stages 4 to 6 for certain */

/* The bytes of `node` that position `reader` reads. They are alive from position `begin` on, where they were read or
 * computed last. An undecided repeat may begin them later, at position `certain_from` at the latest: from there on they
 * are alive for certain. */
typedef struct plim_moccasin_use {
  int32_t node, reader, begin, certain_from;
} plim_moccasin_use;

typedef struct plim_moccasin_position {
  int32_t stage, node, variable; /* variable -1: a first run */
} plim_moccasin_position;

typedef struct plim_moccasin_model {
  const plim_dag *dag;
  int64_t limit_bytes;
  plim_lazy_clauses clauses;
  int32_t n_variables;
  int32_t *first;   /* [n + 1] variables of a node */
  int32_t *node_of; /* [n_variables] */
  int32_t *absent;  /* [n_variables] the value of one that is not there */
  int64_t *bytes;   /* [n] of the nodes */
  /* what runs for certain, by the last plim_moccasin_propagate */
  plim_moccasin_position *position;
  int32_t n_positions, position_capacity;
  int64_t *certain_bytes; /* [n_positions] live bytes whatever is decided further */
  int64_t *decided_bytes; /* [n_positions] live bytes when no further repeat is added */
  int64_t decided_peak;   /* largest of them */
  plim_moccasin_use *use;
  int32_t n_uses;
  int64_t use_capacity;
  /* scratch */
  int32_t *next_in_stage, *head; /* [n_variables], [n] repeats of a stage */
  int32_t *begin_of;             /* [n] first position of a stage */
  int32_t *covered;              /* [n] last position at which its bytes are known to be read or made */
  int32_t *tight; /* [n_positions] the last position up to here that has less room than the largest node */
  struct plim_moccasin_item *item; /* [n] */
  int64_t largest_bytes;
} plim_moccasin_model;

PLIM_MUST_USE plim_status plim_moccasin_make(const plim_dag *dag, int32_t copies, int64_t limit_bytes,
                                             plim_moccasin_model *out);
void plim_moccasin_free(plim_moccasin_model *model);

static inline int plim_moccasin_present(const plim_moccasin_model *model, int32_t x) {
  return plim_lazy_clauses_high(&model->clauses, x) < model->absent[x];
}
static inline int plim_moccasin_fixed(const plim_moccasin_model *model, int32_t x) {
  return plim_lazy_clauses_low(&model->clauses, x) == plim_lazy_clauses_high(&model->clauses, x);
}

/* The first stage in which a repeat of `node` runs after a position. */
static inline int32_t plim_moccasin_stage_after(const plim_moccasin_position *position, int32_t node) {
  return position->stage + (node > position->node ? 0 : 1);
}

/* The last stage in which a repeat of the node frees the bytes of the use: before its reader, and where the node may
 * run. */
static inline int32_t plim_moccasin_stage_before(const plim_moccasin_model *model, const plim_moccasin_use *use) {
  int32_t stage = model->position[use->reader].stage, last = model->dag->node[use->node].last_stage;
  return stage < last ? stage : last;
}

/* May repeat x run in one of the stages low to high? */
int plim_moccasin_may_run(const plim_moccasin_model *model, int32_t x, int32_t low, int32_t high);

/* Derive what the order of repeats, the bytes and the clauses imply. It ends when nothing more follows, or when
 * model->clauses.has_failed is set. Positions, uses and bytes are then those of the last round. O(variables + edges +
 * repeats) a round. */
PLIM_MUST_USE plim_status plim_moccasin_propagate(plim_moccasin_model *model);

/* Note why use `k` is alive at position j: its reader, and (with_repeats) that no repeat runs in between. */
PLIM_MUST_USE plim_status plim_moccasin_note_use(plim_moccasin_model *model, int32_t k, int32_t j, int with_repeats);
/* Note that position j runs. */
PLIM_MUST_USE plim_status plim_moccasin_note_position(plim_moccasin_model *model, int32_t j);

/* Add the decided repeats to a set. */
PLIM_MUST_USE plim_status plim_moccasin_repeats(const plim_moccasin_model *model, plim_repeats *out);

/* ==== bounds (moccasin_cost.c) ==== */

/* A lower bound on the time of repeats that are not decided yet, and repeats that would take too long. */

enum { PLIM_MOCCASIN_MAX_ROWS = 16 };

/* A position at which live bytes exceed the limit, unless further repeats free some. */
typedef struct plim_moccasin_row {
  int32_t position, place; /* among the rows in order of their positions */
  int64_t excess;
  double price; /* time of a byte, in the bound */
  double tight; /* excess as a share of the bytes that repeats can free there: above 1 is a conflict */
} plim_moccasin_row;

typedef struct plim_moccasin_cost {
  plim_moccasin_row row[PLIM_MOCCASIN_MAX_ROWS]; /* of the last look, the most excess first */
  int32_t n_rows;
  int64_t present_ns; /* time of the repeats that are there for certain */
  double *left;       /* [capacity] of each use: what of its node's time no row has charged yet */
  /* scratch */
  struct plim_moccasin_relief *relief;              /* [capacity] of one row */
  int32_t *spared;                                  /* [capacity x rows] uses that repeats may spare, row by row */
  int32_t spared_begin[PLIM_MOCCASIN_MAX_ROWS + 1]; /* rows in order of their positions */
  int32_t *rows_before;                             /* [position_capacity + 1] rows whose position is before this one */
  int32_t capacity, position_capacity;
} plim_moccasin_cost;

void plim_moccasin_cost_free(plim_context *ctx, plim_moccasin_cost *cost); /* {0} is an empty one */

/* List the rows of the last look; fail where all that is needed takes more than allowed_ns of repeats, and leave out
 * repeats that would. O(rows x uses log uses). */
PLIM_MUST_USE plim_status plim_moccasin_cost_bound(plim_moccasin_cost *cost, plim_moccasin_model *model,
                                                   int64_t allowed_ns);

#endif
