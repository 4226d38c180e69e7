/* From a schedule to a plan: its addresses, and the document that states them. */
#ifndef PLIM_PLANNER_CORE_PLACEMENT_H
#define PLIM_PLANNER_CORE_PLACEMENT_H

#include "planner/core/timeline.h"
#include "planner/pack/pack.h"

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
 *   packing_rounds  in  as for plim_pack; 0: first-fit once
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
