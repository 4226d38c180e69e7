/* What may be done to a schedule without making it wrong: an op runs after what it needs, and before the updates
 * of what it reads. */
#include "planner/track/track.h"

int plim_track_may_repeat(const plim_track *t, int32_t op, int32_t next) {
  const plim_planned_op *v = &t->problem->op[op];
  int32_t slot = next < 0 ? t->memory_profile->n_slots : t->run[next].slot;
  if (v->once || t->first[op] < 0 || t->run[t->first[op]].slot >= slot) return 0;
  for (int32_t i = 0; i < v->closed_by.n; i++) {
    if (t->run[t->first[v->closed_by.at[i]]].slot < slot) return 0;
  }
  return 1;
}

void plim_track_window(const plim_track *t, int32_t run, int32_t *low, int32_t *high) {
  int32_t op = t->run[run].op;
  const plim_planned_op *v = &t->problem->op[op];
  *low = -1;
  *high = t->memory_profile->n_slots;
  for (int32_t i = 0; i < v->preds.n; i++) {
    int32_t slot = t->run[t->first[v->preds.at[i]]].slot;
    if (slot > *low) *low = slot;
  }
  for (int32_t i = 0; i < v->closes.n; i++) {
    int32_t slot = t->run[t->last[v->closes.at[i]]].slot;
    if (slot > *low) *low = slot;
  }
  for (int32_t i = 0; i < v->succs.n; i++) {
    int32_t slot = t->run[t->first[v->succs.at[i]]].slot;
    if (slot < *high) *high = slot;
  }
  for (int32_t i = 0; i < v->closed_by.n; i++) {
    int32_t slot = t->run[t->first[v->closed_by.at[i]]].slot;
    if (slot < *high) *high = slot;
  }
  if (!t->problem->fixed_order) return;
  if (op > 0 && t->run[t->first[op - 1]].slot > *low) *low = t->run[t->first[op - 1]].slot;
  if (op + 1 < t->problem->n_ops && t->run[t->first[op + 1]].slot < *high) *high = t->run[t->first[op + 1]].slot;
}

int plim_track_may_remove(const plim_track *t, int32_t run) {
  const plim_track_run *r = &t->run[run];
  if (t->n_of[r->op] < 2) return 0;
  if (r->op_prev >= 0) return 1;
  int32_t low, high;
  plim_track_window(t, run, &low, &high); /* of first runs: would the second one do as the first? */
  return t->run[r->op_next].slot < high;
}
