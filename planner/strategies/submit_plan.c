/* Submits a plan that a caller has, with its addresses. Each lifetime of the timeline looks for the plan's buffer with
 * the same storage, begin and end, and gives its box the offset of that buffer. A box whose lifetimes lie at different
 * places is none. So the placement is the plan's, where the checker found no overlap. */
#include "planner/strategies/strategies_internal.h"

enum { NOWHERE = -1 };

/* Offset of the buffer, NOWHERE when the plan has none like it. */
static int64_t find_offset(const plim_plan *plan, int32_t storage, int32_t begin, int32_t end) {
  const int32_t first = plim_plan_first_buffer(plan, begin);
  for (int32_t i = first; i < plan->n_buffers && plan->buffer[i].begin == begin; i++) {
    if (plan->buffer[i].storage == storage && plan->buffer[i].end == end) return plan->buffer[i].offset;
  }
  return NOWHERE;
}

static int set_offset(plim_placement *placement, int32_t box, int64_t offset) {
  if (offset == NOWHERE || (placement->offset[box] != NOWHERE && placement->offset[box] != offset)) return 0;
  placement->offset[box] = offset;
  return 1;
}

/* The plan's offsets for the boxes of the placement; 0 when it has other buffers. */
static int take_offsets(const plim_timeline *timeline, const plim_plan *plan, plim_placement *placement) {
  for (int32_t b = 0; b < placement->n_boxes; b++) placement->offset[b] = NOWHERE;
  for (int32_t c = 0; c < timeline->n_lifetimes; c++) {
    const plim_lifetime *lifetime = &timeline->lifetime[c];
    int32_t box = placement->box_of_lifetime[c], storage = timeline->problem->item[lifetime->item].storage;
    if (box >= 0 && !set_offset(placement, box, find_offset(plan, storage, lifetime->begin, lifetime->end))) return 0;
  }
  for (int32_t j = 0; j < timeline->n_runs; j++) {
    int32_t box = placement->box_of_run[j];
    if (box >= 0 && !set_offset(placement, box, find_offset(plan, PLIM_WORKSPACE, j, j + 1))) return 0;
  }
  return 1;
}

/* Persistent storages must lie where our plans have them. */
static int persistent_at_low_end(const plim_problem *p, const plim_plan *plan) {
  int64_t below = 0;
  for (int32_t s = 0; s < p->graph->n_storages; s++) {
    if (!plim_role_persistent(p->graph->storage[s].role)) continue;
    int64_t bytes = plim_align_up(p->graph->storage[s].bytes, p->align);
    if (bytes > 0 && find_offset(plan, s, 0, plan->n_commands) != below) return 0;
    below += bytes;
  }
  return 1;
}

plim_status plim_submit_plan(plim_incumbent *incumbent, const plim_plan *plan, const plim_schedule *schedule,
                             int *taken) {
  const plim_problem *p = incumbent->problem;
  plim_front *front = incumbent->shared.front;
  plim_placement scratch = {.ctx = p->ctx};
  const plim_timeline *timeline = NULL;
  *taken = 0;
  if (!persistent_at_low_end(p, plan)) return PLIM_OK;
  PLIM_TRY(plim_incumbent_evaluate(incumbent, schedule, &timeline));
  plim_status status = plim_place(&scratch, timeline, schedule, INT64_MAX, 0);
  if (status == PLIM_OK && take_offsets(timeline, plan, &scratch)) {
    plim_front_point point = {.bytes = plan->arena_bytes,
                              .time_ns = timeline->time_ns,
                              .n_commands = schedule->n,
                              .n_offsets = scratch.n_boxes,
                              .op = schedule->op,
                              .choice = schedule->choice,
                              .offset = scratch.offset};
    status = plim_incumbent_submit_point(incumbent, &point, taken);
    if (status == PLIM_OK && *taken && front) status = plim_front_insert(front, &point, NULL);
  }
  plim_placement_free(&scratch);
  return status;
}
