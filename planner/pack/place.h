/* Places in the arena for the copies and workspaces of a timeline. A chain of copies written over each other is one
 * box. Persistent storages lie below all boxes. */
#ifndef PLIM_PLANNER_PLACE_H
#define PLIM_PLANNER_PLACE_H

#include "planner/pack/pack.h"
#include "planner/timeline.h"

typedef struct plim_placement {
  plim_context *ctx;
  int32_t n_boxes;
  int32_t *box_of_copy; /* [n_copies]; -1: no bytes */
  int32_t *box_of_step; /* [n_steps] the workspace; -1: none */
  plim_box *box;
  int64_t *offset;      /* [n_boxes] from the arena base */
  int64_t packed_bytes; /* of the arena, persistent bytes included */
  int32_t room_boxes, room_copies, room_steps;
} plim_placement;

/* Pack the boxes of an evaluated timeline; an empty placement is {.ctx = ctx}, its rooms are used again. `target` is
 * the packed size of the arena that is good enough, `effort` as for plim_pack. Deterministic. */
PLIM_MUST_USE plim_status plim_place(plim_placement *placement, const plim_timeline *timeline,
                                     const plim_schedule *schedule, int64_t target, int32_t effort);
/* Put the boxes at offsets [n_offsets] that a placement of the same schedule had. *fits is 0, and the placement of no
 * use, when their number is another. Overlaps are not looked for. */
PLIM_MUST_USE plim_status plim_place_at(plim_placement *placement, const plim_timeline *timeline,
                                        const plim_schedule *schedule, int32_t n_offsets, const int64_t *offset,
                                        int32_t *fits);
void plim_placement_free(plim_placement *placement);

#endif
