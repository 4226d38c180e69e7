/* What may be done to a schedule without making it wrong: an op runs after what it needs, and before the updates
 * of what it reads. */
#include "planner/track/track.h"

int plim_track_may_repeat(const plim_track *track, int32_t op, int32_t next) {
  const plim_planned_op *planned = &track->problem->op[op];
  int32_t slot = next < 0 ? track->memory_profile->n_slots : track->run[next].slot;
  if (planned->runs_once || track->first[op] < 0 || track->run[track->first[op]].slot >= slot) return 0;
  for (int32_t i = 0; i < planned->closed_by.n; i++) {
    if (track->run[track->first[planned->closed_by.at[i]]].slot < slot) return 0;
  }
  return 1;
}

void plim_track_window(const plim_track *track, int32_t run, int32_t *low, int32_t *high) {
  int32_t op = track->run[run].op;
  const plim_planned_op *planned = &track->problem->op[op];
  *low = -1;
  *high = track->memory_profile->n_slots;
  for (int32_t i = 0; i < planned->preds.n; i++) {
    int32_t slot = track->run[track->first[planned->preds.at[i]]].slot;
    if (slot > *low) *low = slot;
  }
  for (int32_t i = 0; i < planned->closes.n; i++) {
    int32_t slot = track->run[track->last[planned->closes.at[i]]].slot;
    if (slot > *low) *low = slot;
  }
  for (int32_t i = 0; i < planned->succs.n; i++) {
    int32_t slot = track->run[track->first[planned->succs.at[i]]].slot;
    if (slot < *high) *high = slot;
  }
  for (int32_t i = 0; i < planned->closed_by.n; i++) {
    int32_t slot = track->run[track->first[planned->closed_by.at[i]]].slot;
    if (slot < *high) *high = slot;
  }
  if (!track->problem->has_fixed_order) return;
  if (op > 0 && track->run[track->first[op - 1]].slot > *low) *low = track->run[track->first[op - 1]].slot;
  if (op + 1 < track->problem->n_ops && track->run[track->first[op + 1]].slot < *high) {
    *high = track->run[track->first[op + 1]].slot;
  }
}

int plim_track_may_remove(const plim_track *track, int32_t run) {
  const plim_track_run *r = &track->run[run];
  if (track->n_of[r->op] < 2) return 0;
  if (r->op_prev >= 0) return 1;
  int32_t low, high;
  plim_track_window(track, run, &low, &high); /* of first runs: would the second one do as the first? */
  return track->run[r->op_next].slot < high;
}
