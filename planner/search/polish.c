/* Greedy clean-up. A repeat may become useless when others have gone, so that passes follow each other until one
 * changes nothing; each change makes the schedule faster, so that they end. */
#include "planner/search/polish.h"

/* Keep the change in the journal if the peak stays within the limit. */
static int settle_within(plim_track *t, int64_t limit) {
  plim_track_settle(t);
  if (plim_track_peak(t) <= limit) {
    plim_track_keep(t);
    return 1;
  }
  plim_track_undo(t);
  return 0;
}

static int64_t time_of(const plim_track *t, int32_t run) {
  return t->problem->op[t->run[run].op].choice[t->run[run].choice].time_ns;
}

/* Try all runs that may go once, in the order of their time: always the slowest that is faster than the last tried, or
 * as slow and later in the list. */
static int remove_repeats(plim_track *t, int64_t limit) {
  int64_t last_ns = INT64_MAX;
  int32_t last_run = -1, removed = 0;
  for (;;) {
    int32_t best = -1;
    for (int32_t i = 0; i < t->n_runs; i++) {
      int32_t r = t->alive[i];
      int64_t ns = time_of(t, r);
      int behind = ns < last_ns || (ns == last_ns && r > last_run);
      if (t->n_of[t->run[r].op] < 2 || !behind) continue;
      if (best < 0 || ns > time_of(t, best) || (ns == time_of(t, best) && r < best)) best = r;
    }
    if (best < 0) return removed;
    last_ns = time_of(t, best);
    last_run = best;
    if (!plim_track_may_remove(t, best)) continue;
    plim_track_remove(t, best);
    removed += settle_within(t, limit);
  }
}

static int improve_choices(plim_track *t, int64_t limit) {
  int32_t improved = 0;
  for (int32_t r = t->head; r >= 0; r = t->run[r].next) {
    const plim_planned_op *op = &t->problem->op[t->run[r].op];
    for (int32_t c = 0; c < op->n_choices; c++) {
      const plim_choice *now = &op->choice[t->run[r].choice];
      int other_label = op->choice[c].label != now->label;
      if (op->choice[c].time_ns >= now->time_ns || (other_label && t->n_of[t->run[r].op] > 1)) continue;
      plim_track_set_choice(t, r, c);
      improved += settle_within(t, limit);
    }
  }
  return improved;
}

void plim_polish(plim_track *t, int64_t limit) {
  int changed = 1;
  plim_track_keep(t);
  while (changed) {
    changed = remove_repeats(t, limit);
    changed += improve_choices(t, limit);
  }
}
