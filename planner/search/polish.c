/* Polishing: removes repeats that a schedule within the limit does not need, and gives runs faster variants.
 *
 * A repeat may become useless when others are removed. So passes follow each other until one changes nothing. They end,
 * since each change makes the schedule faster. The peak is within the limit after every change. */
#include "planner/search/searches.h"

#include <stdlib.h>

#include "planner/search/search_tuning.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

/* Keep the change in the journal where the peak is within the limit, else undo it. */
static int settle_within(plim_track *track, int64_t limit) {
  plim_track_settle(track);
  if (plim_track_peak(track) <= limit) {
    plim_track_keep(track);
    return 1;
  }
  plim_track_undo(track);
  return 0;
}

/* Time of a run, in ns. */
static int64_t time_of(const plim_track *track, int32_t run) {
  return track->problem->op[track->run[run].op].choice[track->run[run].choice].time_ns;
}

typedef struct ranked {
  int64_t ns;
  int32_t run;
} ranked;

static int slowest_first(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
  return plim_integers_compare(x->run, y->run);
}

/* Try to remove each run of an op that runs more than once, the slowest first. `rank` [capacity] is scratch.
 */
static int remove_repeats(plim_track *track, int64_t limit, ranked *rank) {
  int32_t n = 0, removed = 0;
  for (int32_t i = 0; i < track->n_runs; i++) {
    int32_t r = track->alive[i];
    if (track->n_of[track->run[r].op] > 1) rank[n++] = (ranked){time_of(track, r), r};
  }
  qsort(rank, (size_t)n, sizeof *rank, slowest_first);
  for (int32_t i = 0; i < n && !plim_effort_over(track->problem->ctx, search_tuning.polish.work_a_change); i++) {
    int32_t r = rank[i].run;
    if (!plim_track_may_remove(track, r)) continue;
    plim_track_remove(track, r);
    removed += settle_within(track, limit);
  }
  return removed;
}

/* Try every faster variant of every run. Only an op with one run may change its numerics key. */
static int improve_choices(plim_track *track, int64_t limit) {
  int32_t improved = 0;
  for (int32_t r = track->head; r >= 0 && !plim_effort_over(track->problem->ctx, search_tuning.polish.work_a_change);
       r = track->run[r].next) {
    const plim_planned_op *op = &track->problem->op[track->run[r].op];
    for (int32_t c = 0; c < op->n_choices; c++) {
      const plim_choice *now = &op->choice[track->run[r].choice];
      int other_key = op->choice[c].numerics_key != now->numerics_key;
      if (op->choice[c].time_ns >= now->time_ns || (other_key && track->n_of[track->run[r].op] > 1)) continue;
      plim_track_set_choice(track, r, c);
      improved += settle_within(track, limit);
    }
  }
  return improved;
}

plim_status plim_polish(plim_track *track, int64_t limit) {
  int changed = 1;
  ranked *rank = NULL;
  PLIM_TRY(plim_allocate(track->problem->ctx, track->capacity, sizeof *rank, &rank));
  plim_track_keep(track);
  while (changed && !plim_effort_over(track->problem->ctx, 0)) {
    changed = remove_repeats(track, limit, rank);
    changed += improve_choices(track, limit);
  }
  plim_release(track->problem->ctx, rank, track->capacity, sizeof *rank);
  return PLIM_OK;
}
