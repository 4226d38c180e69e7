/* Assigns offsets: turns the lifetimes and workspaces of a timeline into boxes, and packs the boxes (plim_pack).
 *
 * Invariant: box b of a placement is always the same buffer for the same schedule, since boxes are made in order of
 * lifetimes and then of runs. So offsets can be kept on disk by box (plim_place_at). The packer knows nothing of
 * persistent bytes: they are added to every offset afterwards. */
#include "planner/core/place.h"

static plim_status grow(plim_context *ctx, void *array, int32_t *room, int32_t need, size_t size) {
  if (need <= *room) return PLIM_OK;
  PLIM_TRY(plim_resize_array(ctx, array, *room, need, size));
  *room = need;
  return PLIM_OK;
}

static plim_status reserve(plim_placement *pl, const plim_timeline *t) {
  int32_t boxes = t->n_lifetimes + t->n_runs, room = pl->room_boxes;
  PLIM_TRY(grow(pl->ctx, &pl->box_of_lifetime, &pl->room_lifetimes, t->n_lifetimes, sizeof *pl->box_of_lifetime));
  PLIM_TRY(grow(pl->ctx, &pl->box_of_run, &pl->room_runs, t->n_runs, sizeof *pl->box_of_run));
  if (boxes <= room) return PLIM_OK;
  /* the two arrays share one room: both are made before the old ones go, so that a failure leaves them */
  plim_box *box = NULL;
  int64_t *offset = NULL;
  PLIM_TRY(plim_allocate(pl->ctx, boxes, sizeof *box, &box));
  plim_status status = plim_allocate(pl->ctx, boxes, sizeof *offset, &offset);
  if (status != PLIM_OK) {
    plim_release(pl->ctx, box, boxes, sizeof *box);
    return status;
  }
  plim_release(pl->ctx, pl->box, room, sizeof *box);
  plim_release(pl->ctx, pl->offset, room, sizeof *offset);
  pl->box = box;
  pl->offset = offset;
  pl->room_boxes = boxes;
  return PLIM_OK;
}

/* One box for each chain of successors with bytes, and one for each workspace. */
static void make_boxes(plim_placement *pl, const plim_timeline *t, const plim_schedule *s) {
  const plim_problem *p = t->problem;
  pl->n_boxes = 0;
  for (int32_t c = 0; c < t->n_lifetimes; c++) pl->box_of_lifetime[c] = -1;
  for (int32_t c = 0; c < t->n_lifetimes; c++) { /* by begin: a successor follows its predecessor */
    const plim_lifetime *lifetime = &t->lifetime[c];
    if (p->item[lifetime->item].bytes == 0) continue;
    if (pl->box_of_lifetime[c] < 0) {
      pl->box_of_lifetime[c] = pl->n_boxes;
      pl->box[pl->n_boxes++] = (plim_box){lifetime->begin, lifetime->end, p->item[lifetime->item].bytes, -1};
    }
    pl->box[pl->box_of_lifetime[c]].end = lifetime->end;
    if (lifetime->successor >= 0) pl->box_of_lifetime[lifetime->successor] = pl->box_of_lifetime[c];
  }
  for (int32_t j = 0; j < s->n; j++) {
    int64_t bytes = p->op[s->op[j]].choice[s->choice[j]].workspace_bytes;
    pl->box_of_run[j] = bytes > 0 ? pl->n_boxes : -1;
    if (bytes > 0) pl->box[pl->n_boxes++] = (plim_box){j, j + 1, bytes, -1};
  }
}

plim_status plim_place(plim_placement *pl, const plim_timeline *t, const plim_schedule *s, int64_t target,
                       int32_t effort) {
  const plim_problem *p = t->problem;
  PLIM_TRY(reserve(pl, t));
  make_boxes(pl, t, s);
  const plim_boxes boxes = {.n = pl->n_boxes, .align = p->align, .box = pl->box};
  const plim_pack_goal goal = {.target_bytes = target > p->persistent_bytes ? target - p->persistent_bytes : 0,
                               .effort = effort};
  PLIM_TRY(plim_pack(p->ctx, &boxes, goal, pl->offset, &pl->packed_bytes, NULL));
  for (int32_t b = 0; b < pl->n_boxes; b++) pl->offset[b] += p->persistent_bytes;
  pl->packed_bytes += p->persistent_bytes;
  return PLIM_OK;
}

plim_status plim_place_at(plim_placement *pl, const plim_timeline *t, const plim_schedule *s, int32_t n_offsets,
                          const int64_t *offset, int32_t *fits) {
  const int64_t below = t->problem->persistent_bytes;
  int64_t packed = 0;
  PLIM_TRY(reserve(pl, t));
  make_boxes(pl, t, s);
  *fits = n_offsets == pl->n_boxes;
  for (int32_t b = 0; b < pl->n_boxes && *fits; b++) {
    int64_t top = plim_add_checked(offset[b], pl->box[b].bytes);
    *fits = offset[b] >= below && top >= 0;
    pl->offset[b] = offset[b] - below;
    if (*fits && top - below > packed) packed = top - below;
  }
  if (!*fits) return PLIM_OK;
  const plim_boxes boxes = {.n = pl->n_boxes, .align = t->problem->align, .box = pl->box};
  plim_status status = plim_boxes_check(t->problem->ctx, &boxes, pl->offset, packed, packed);
  *fits = status == PLIM_OK;
  for (int32_t b = 0; b < pl->n_boxes; b++) pl->offset[b] += below;
  pl->packed_bytes = packed + below;
  return status == PLIM_EPLAN ? PLIM_OK : status;
}

void plim_placement_free(plim_placement *pl) {
  plim_release(pl->ctx, pl->box_of_lifetime, pl->room_lifetimes, sizeof *pl->box_of_lifetime);
  plim_release(pl->ctx, pl->box_of_run, pl->room_runs, sizeof *pl->box_of_run);
  plim_release(pl->ctx, pl->box, pl->room_boxes, sizeof *pl->box);
  plim_release(pl->ctx, pl->offset, pl->room_boxes, sizeof *pl->offset);
  *pl = (plim_placement){.ctx = pl->ctx};
}
