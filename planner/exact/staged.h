/* Moccasin: schedules in stages with a limit on the computations of a node, the search for the best, its variables with
 * what is derived of them, and bounds on the time that is not decided yet. */
#ifndef PLIM_PLANNER_EXACT_STAGED_H
#define PLIM_PLANNER_EXACT_STAGED_H

#include "planner/exact/dag.h"
#include "planner/exact/lazy_clauses.h"

/* ==== repeats (staged.c) ==== */

/* Schedules of class copies: stages with a limit on the computations of a node.
 *
 * Stage t ends with the first run of node t; before it, in program order, run the repeats of that stage, each node at
 * most once. Any set of repeats (stage, node) with node < stage is a valid schedule: what counts is its peak. */

typedef struct plim_repeat {
  int32_t stage, node;
} plim_repeat;

/* A set of repeats, sorted by stage, then node: the order in which they run. Empty: {.ctx = ctx}. */
typedef struct plim_repeats {
  plim_context *ctx;
  int32_t n;
  plim_repeat *at; /* [n] */
  int64_t capacity;
} plim_repeats;

void plim_repeats_free(plim_repeats *repeats);
PLIM_MUST_USE plim_status plim_repeats_add(plim_repeats *repeats, plim_repeat repeat); /* not in it yet */
PLIM_MUST_USE plim_status plim_repeats_copy(plim_repeats *to, const plim_repeats *from);

/* A set of repeats, evaluated. */
typedef struct plim_staged {
  const plim_dag *dag;
  int32_t n, capacity; /* positions */
  int32_t *node;       /* [n] */
  int32_t *stage;      /* [n] */
  int32_t *last;       /* [n] the last position that reads its output, itself when none does */
  int64_t *level;      /* [n] bytes while it runs */
  int32_t *next;       /* [n] the next position that runs the same node, -1 */
  int32_t *first;      /* [dag->n] the first position that runs the node */
  int32_t *latest;     /* [dag->n] the last one */
  int64_t peak_bytes, time_ns;
} plim_staged;

PLIM_MUST_USE plim_status plim_staged_make(const plim_dag *dag, plim_staged *out);
void plim_staged_free(plim_staged *staged);
/* O(n + edges). */
PLIM_MUST_USE plim_status plim_staged_evaluate(plim_staged *staged, const plim_repeats *repeats);

/* The repeats of a schedule of the problem, in stages: of a node that a stage would run twice only one, and of one with
 * more than `copies` runs the latest; the first runs are in program order. O(runs log runs). */
PLIM_MUST_USE plim_status plim_repeats_from_schedule(const plim_dag *dag, const plim_schedule *schedule, int32_t copies,
                                                     plim_repeats *out);
/* And back. */
PLIM_MUST_USE plim_status plim_staged_schedule(const plim_staged *staged, plim_schedule *out);

/* ==== search (staged_search.c) ==== */

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
  int64_t deadline_ns; /* by plim_now_ns; PLIM_TIME_UNLIMITED: none */
  uint64_t seed;
  plim_status (*on_better)(void *user, const plim_repeats *best); /* called for each best; NULL: no one is */
  void *user;
  /* results */
  int32_t found, is_exhausted; /* is_exhausted: there is nothing faster than best, or than faster_than_ns */
  plim_repeats best;
  int64_t best_ns;
};

/* Search, beginning with what `start` (NULL: nothing) repeats; it is the best so far where it keeps the limit.
 * Deterministic without a deadline. PLIM_ECANCEL keeps what was found. `best` is the caller's to free, and empty with
 * its ctx set in the beginning. Bytes: clauses of up to a few thousand bounds, whose number grows with the time spent.
 */
PLIM_MUST_USE plim_status plim_staged_search_run(plim_staged_search *search, const plim_repeats *start);

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
