/* From a schedule to a plan: its lifetimes, bytes and time; the best variants for it; its addresses; the document that
 * states them. */
#ifndef PLIM_PLANNER_CORE_EVALUATION_H
#define PLIM_PLANNER_CORE_EVALUATION_H

#include "planner/core/problem.h"
#include "planner/pack/pack.h"

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
 * `preds` or `closed_by`, an op of class effect or once runs twice, or first runs leave program order where that is
 * fixed. O(runs x operands). */
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

/* ==== addresses (place.c) ==== */

/* The offsets of all lifetimes and workspaces of a timeline. A lifetime and its successors share one box
 * (planner/pack/pack.h). Persistent storages lie below all boxes, in graph order. An empty placement is {.ctx = ctx}.
 */

typedef struct plim_placement {
  plim_context *ctx;
  int32_t n_boxes;
  int32_t *box_of_lifetime; /* [n_lifetimes] -1: no bytes */
  int32_t *box_of_run;      /* [n_runs] box of the run's workspace; -1: none */
  plim_box *box;            /* [n_boxes] lifetimes and sizes */
  int64_t *offset;          /* [n_boxes] bytes from the arena base */
  int64_t packed_bytes;     /* arena size: largest offset + size, persistent bytes included */
  int32_t box_capacity, lifetime_capacity, run_capacity;
} plim_placement;

/* Pack the lifetimes and workspaces of an evaluated timeline.
 *   target  in  arena size in bytes at which packing may stop; 0: as small as possible
 *   packing_rounds  in  as for plim_pack; 0: the first-fit orders alone
 * The placement may be one of an earlier schedule; its memory is used again. Deterministic. */
PLIM_MUST_USE plim_status plim_place(plim_placement *placement, const plim_timeline *timeline,
                                     const plim_schedule *schedule, int64_t target, int32_t packing_rounds);

/* Take over offsets that a placement of the same schedule had.
 *   offset  [n_offsets] in  by box
 *   fits    [1] out         0: the schedule has another number of boxes, or they overlap or are misaligned there; the
 *                           placement is then of no use
 * O(boxes log boxes). */
PLIM_MUST_USE plim_status plim_place_at(plim_placement *placement, const plim_timeline *timeline,
                                        const plim_schedule *schedule, int32_t n_offsets, const int64_t *offset,
                                        int *fits);
void plim_placement_free(plim_placement *placement); /* leaves it empty */

/* ==== plan (emit_plan.c) ==== */

/* The plan document of a schedule. */

/* What a plan document states beside the schedule. */
typedef struct plim_emission {
  const char *planner; /* name of the strategy */
  plim_plan_class plan_class;
  int64_t budget_bytes;
  int64_t bound_ns; /* proved lower bound on the time of a plan within the budget */
} plim_emission;

/* Write a schedule, its timeline and its placement (NULL: a plan without addresses) as a plan. The plan is not checked
 * here. O(runs + lifetimes). */
PLIM_MUST_USE plim_status plim_emit(const plim_timeline *timeline, const plim_schedule *schedule,
                                    const plim_placement *placement, const plim_emission *emission, plim_plan **out);

#endif
