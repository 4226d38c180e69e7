/* Greedy clean-up. A repeat may become useless when others have gone, so that passes follow each other until one
 * changes nothing; each change makes the schedule faster, so that they end. */
#include "planner/search/search_internal.h"

#include <stdlib.h>

#include "runtime/base/effort.h"

enum { WORK_A_CHANGE = 500 /* nanoseconds, about */ };

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

typedef struct ranked {
  int64_t ns;
  int32_t run;
} ranked;

static int slowest_first(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
  return (x->run > y->run) - (x->run < y->run);
}

/* Try all runs that may go once, the slowest first. `rank` [room of the track] is scratch. */
static int remove_repeats(plim_track *t, int64_t limit, ranked *rank) {
  int32_t n = 0, removed = 0;
  for (int32_t i = 0; i < t->n_runs; i++) {
    int32_t r = t->alive[i];
    if (t->n_of[t->run[r].op] > 1) rank[n++] = (ranked){time_of(t, r), r};
  }
  qsort(rank, (size_t)n, sizeof *rank, slowest_first);
  for (int32_t i = 0; i < n && !plim_effort_over(t->problem->ctx, WORK_A_CHANGE); i++) {
    int32_t r = rank[i].run;
    if (!plim_track_may_remove(t, r)) continue;
    plim_track_remove(t, r);
    removed += settle_within(t, limit);
  }
  return removed;
}

static int improve_choices(plim_track *t, int64_t limit) {
  int32_t improved = 0;
  for (int32_t r = t->head; r >= 0 && !plim_effort_over(t->problem->ctx, WORK_A_CHANGE); r = t->run[r].next) {
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

plim_status plim_polish(plim_track *t, int64_t limit) {
  int changed = 1;
  ranked *rank = NULL;
  PLIM_TRY(plim_allocate(t->problem->ctx, t->room, sizeof *rank, &rank));
  plim_track_keep(t);
  while (changed && !plim_effort_over(t->problem->ctx, 0)) {
    changed = remove_repeats(t, limit, rank);
    changed += improve_choices(t, limit);
  }
  plim_release(t->problem->ctx, rank, t->room, sizeof *rank);
  return PLIM_OK;
}
