/* Assigns offsets: turns the lifetimes and workspaces of a timeline into boxes, and packs the boxes (plim_pack).
 *
 * Invariant: box b of a placement is always the same buffer for the same schedule, since boxes are made in order of
 * lifetimes and then of runs. So offsets can be kept on disk by box (plim_place_at). The packer knows nothing of
 * persistent bytes: they are added to every offset afterwards. */
#include "planner/core/evaluation.h"

static plim_status grow(plim_context *ctx, void *array, int32_t *capacity, int32_t need, size_t size) {
  if (need <= *capacity) return PLIM_OK;
  PLIM_TRY(plim_resize_array(ctx, array, *capacity, need, size));
  *capacity = need;
  return PLIM_OK;
}

static plim_status reserve(plim_placement *placement, const plim_timeline *timeline) {
  int32_t boxes = timeline->n_lifetimes + timeline->n_runs, capacity = placement->box_capacity;
  PLIM_TRY(grow(placement->ctx, &placement->box_of_lifetime, &placement->lifetime_capacity, timeline->n_lifetimes,
                sizeof *placement->box_of_lifetime));
  PLIM_TRY(grow(placement->ctx, &placement->box_of_run, &placement->run_capacity, timeline->n_runs,
                sizeof *placement->box_of_run));
  if (boxes <= capacity) return PLIM_OK;
  /* the two arrays share one capacity: both are made before the old ones go, so that a failure leaves them */
  plim_box *box = NULL;
  int64_t *offset = NULL;
  PLIM_TRY(plim_allocate(placement->ctx, boxes, sizeof *box, &box));
  plim_status status = plim_allocate(placement->ctx, boxes, sizeof *offset, &offset);
  if (status != PLIM_OK) {
    plim_release(placement->ctx, box, boxes, sizeof *box);
    return status;
  }
  plim_release(placement->ctx, placement->box, capacity, sizeof *box);
  plim_release(placement->ctx, placement->offset, capacity, sizeof *offset);
  placement->box = box;
  placement->offset = offset;
  placement->box_capacity = boxes;
  return PLIM_OK;
}

/* One box for each chain of successors with bytes, and one for each workspace. */
static void make_boxes(plim_placement *placement, const plim_timeline *timeline, const plim_schedule *schedule) {
  const plim_problem *p = timeline->problem;
  placement->n_boxes = 0;
  for (int32_t c = 0; c < timeline->n_lifetimes; c++) placement->box_of_lifetime[c] = -1;
  for (int32_t c = 0; c < timeline->n_lifetimes; c++) { /* by begin: a successor follows its predecessor */
    const plim_lifetime *lifetime = &timeline->lifetime[c];
    if (p->item[lifetime->item].bytes == 0) continue;
    if (placement->box_of_lifetime[c] < 0) {
      placement->box_of_lifetime[c] = placement->n_boxes;
      placement->box[placement->n_boxes++] =
          (plim_box){lifetime->begin, lifetime->end, p->item[lifetime->item].bytes, -1};
    }
    placement->box[placement->box_of_lifetime[c]].end = lifetime->end;
    if (lifetime->successor >= 0) placement->box_of_lifetime[lifetime->successor] = placement->box_of_lifetime[c];
  }
  for (int32_t j = 0; j < schedule->n; j++) {
    int64_t bytes = p->op[schedule->op[j]].choice[schedule->choice[j]].workspace_bytes;
    placement->box_of_run[j] = bytes > 0 ? placement->n_boxes : -1;
    if (bytes > 0) placement->box[placement->n_boxes++] = (plim_box){j, j + 1, bytes, -1};
  }
}

plim_status plim_place(plim_placement *placement, const plim_timeline *timeline, const plim_schedule *schedule,
                       int64_t target, int32_t packing_rounds) {
  const plim_problem *p = timeline->problem;
  PLIM_TRY(reserve(placement, timeline));
  make_boxes(placement, timeline, schedule);
  const plim_boxes boxes = {.n = placement->n_boxes, .align = p->align, .box = placement->box};
  const plim_pack_goal goal = {.target_bytes = target > p->persistent_bytes ? target - p->persistent_bytes : 0,
                               .rounds = packing_rounds};
  PLIM_TRY(plim_pack(p->ctx, &boxes, goal, placement->offset, &placement->packed_bytes, NULL));
  for (int32_t b = 0; b < placement->n_boxes; b++) placement->offset[b] += p->persistent_bytes;
  placement->packed_bytes += p->persistent_bytes;
  return PLIM_OK;
}

plim_status plim_place_at(plim_placement *placement, const plim_timeline *timeline, const plim_schedule *schedule,
                          int32_t n_offsets, const int64_t *offset, int *fits) {
  const int64_t below = timeline->problem->persistent_bytes;
  int64_t packed = 0;
  PLIM_TRY(reserve(placement, timeline));
  make_boxes(placement, timeline, schedule);
  *fits = n_offsets == placement->n_boxes;
  for (int32_t b = 0; b < placement->n_boxes && *fits; b++) {
    int64_t top = plim_add_checked(offset[b], placement->box[b].bytes);
    *fits = offset[b] >= below && top >= 0;
    placement->offset[b] = offset[b] - below;
    if (*fits && top - below > packed) packed = top - below;
  }
  if (!*fits) return PLIM_OK;
  const plim_boxes boxes = {.n = placement->n_boxes, .align = timeline->problem->align, .box = placement->box};
  plim_status status = plim_boxes_check(timeline->problem->ctx, &boxes, placement->offset, packed, packed);
  *fits = status == PLIM_OK;
  for (int32_t b = 0; b < placement->n_boxes; b++) placement->offset[b] += below;
  placement->packed_bytes = packed + below;
  return status == PLIM_EPLAN ? PLIM_OK : status;
}

void plim_placement_free(plim_placement *placement) {
  plim_release(placement->ctx, placement->box_of_lifetime, placement->lifetime_capacity,
               sizeof *placement->box_of_lifetime);
  plim_release(placement->ctx, placement->box_of_run, placement->run_capacity, sizeof *placement->box_of_run);
  plim_release(placement->ctx, placement->box, placement->box_capacity, sizeof *placement->box);
  plim_release(placement->ctx, placement->offset, placement->box_capacity, sizeof *placement->offset);
  *placement = (plim_placement){.ctx = placement->ctx};
}
