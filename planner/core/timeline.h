/* What a schedule means: its lifetimes, bytes and time; and the best variants for it. */
#ifndef PLIM_PLANNER_CORE_TIMELINE_H
#define PLIM_PLANNER_CORE_TIMELINE_H

#include "planner/core/problem.h"

/* ==== timeline (timeline.c) ==== */

/* The timeline of a schedule: lifetimes of all items, live bytes at each position, peak and time. Every
 * peak that a plan states comes from here. The searches use an incremental form (planner/track/track.h). Tests
 * compare the two.
 *
 * A run of an item's producer begins a new *lifetime* of the item: that of the bytes it makes. Rules:
 *   - It ends after its last reader before the next lifetime; without a reader it ends after its own run.
 *   - That of an input begins at position 0.
 *   - The last one of an output of the graph ends with the schedule.
 *   - Where an op may write over an input and no later run reads those bytes, it does. The new lifetime is the
 *     *successor* of the old one: the old one ends one position earlier, and both share an offset. */

typedef struct plim_lifetime {
  int32_t item;
  int32_t begin, end; /* lifetime [begin, end) in positions */
  int32_t successor;  /* the lifetime whose bytes are written over these, at position `end`; -1: none */
  plim_pair pair;     /* operands of that op, where there is a successor */
} plim_lifetime;

typedef struct plim_timeline {
  const plim_problem *problem;
  int32_t n_runs, n_lifetimes;   /* runs of the schedule; lifetimes of all items */
  const plim_lifetime *lifetime; /* [n_lifetimes] by ascending begin */
  const int64_t *level;          /* [n_runs] live bytes at a position, with workspace and persistent bytes */
  int64_t peak_bytes;            /* largest level */
  int64_t time_ns;               /* sum over all runs */
  /* memory, kept from one evaluation to the next */
  plim_lifetime *own_lifetime; /* [lifetime_capacity] */
  int64_t *own_level;          /* [run_capacity] */
  int32_t *latest;             /* [n_items] newest lifetime of an item while the runs are walked; -1: none yet */
  int32_t *ran;                /* [n_ops] 1: the op has run */
  int32_t run_capacity, lifetime_capacity;
} plim_timeline;

/* A new timeline is empty. It can evaluate any number of schedules. */
PLIM_MUST_USE plim_status plim_timeline_new(const plim_problem *problem, plim_timeline **out);
void plim_timeline_free(plim_timeline *timeline); /* NULL is legal */

/* Evaluate a schedule. PLIM_EPLAN, with a sentence, when it is not valid: an op never runs, a run breaks the rules of
 * `preds` or `closed_by`, an effect op runs twice, or first runs leave program order where that is fixed.
 * O(runs x operands). */
PLIM_MUST_USE plim_status plim_timeline_evaluate(plim_timeline *timeline, const plim_schedule *schedule);

/* ==== variants (variant_selection.c) ==== */

/* Variant selection: for a fixed sequence of ops, the fastest variants within a limit on the peak.
 *
 * A workspace is alive at one position only. So a choice changes live bytes at its own position alone, and every op can
 * be decided by itself. All runs of an op get variants of one numerics key. */

typedef struct plim_variant_selection {
  const plim_problem *problem;
  int32_t is_useful; /* 0: no op has a choice with less workspace than its fastest, so nothing can be gained */
  int32_t *first;    /* [n_ops + 1] where the sums of an op begin in `key_sum` */
  struct plim_selection_key *key_sum; /* scratch: sums by op and numerics key */
} plim_variant_selection;

PLIM_MUST_USE plim_status plim_variant_selection_make(const plim_problem *problem, plim_variant_selection *out);
void plim_variant_selection_free(plim_variant_selection *selection); /* {0} is legal */

/* Least peak that the sequence of ops can have, by any choice of variants. The timeline is that of the schedule. */
int64_t plim_variant_selection_least(const plim_timeline *timeline, const plim_schedule *schedule);

/* Select variants for a limit on the peak. Returns 1 when a choice of the schedule changed. The timeline is that of
 * the schedule before the call.
 * Where live bytes beside the workspace are above the limit already, only the operands of the op count: a search may
 * still recompute the rest. Where no variant comes within the limit, the one that comes nearest is taken.
 * O(runs x choices^2). */
int plim_variant_selection_run(plim_variant_selection *selection, const plim_timeline *timeline,
                               plim_schedule *schedule, int64_t limit);

#endif
