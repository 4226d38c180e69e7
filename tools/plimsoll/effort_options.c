/* The planner's table says what each of them obeys (plim_planner_obeys). */
#include "tools/plimsoll/effort_options.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/nearest.h"

static int32_t planner_row(const options *o) {
  return o->planner ? plim_name_find(plim_planner_name, o->planner) : 0;
}

plim_status effort_check(plim_context *ctx, const options *o) {
  int32_t row = planner_row(o);
  if (o->copies == 0 || plim_planner_obeys(row, PLIM_EFFORT_COPIES)) return PLIM_OK;
  return plim_fail(ctx, PLIM_EUSAGE,
                   "--copies requires --planner moccasin: \"%s\" computes an operation as often as it likes",
                   plim_planner_name(row));
}

/* Threads compute, too, where something is run; of a graph there is nothing but the plan. */
static int is_given(const options *o, plim_plan_effort effort) {
  switch (effort) {
    case PLIM_EFFORT_TIME:
      return o->time_limit > 0;
    case PLIM_EFFORT_ITERATIONS:
      return o->iterations > 0;
    case PLIM_EFFORT_THREADS:
      return o->graph && o->threads > 1;
    case PLIM_EFFORT_COPIES:
      return o->copies > 0;
  }
  return 0;
}

/* Who decides the schedule without planning: a policy, or a plan of earlier. A budget that changes, and on a GPU
 * retiming, ask the planner all the same. NULL: the planner. */
static const char *decided_by(const options *o) {
  int plans = o->memory_at.count > 0 || (o->plan && (o->retime > 0 || strncmp(o->device, "cuda", 4) == 0));
  return plans ? NULL : o->online ? o->online : o->plan;
}

void effort_figures(figures *f, int column, const options *o) {
  static const char *const name[] = {[PLIM_EFFORT_TIME] = "--time-limit",
                                     [PLIM_EFFORT_ITERATIONS] = "--iterations",
                                     [PLIM_EFFORT_THREADS] = "--threads",
                                     [PLIM_EFFORT_COPIES] = "--copies"};
  const char *other = decided_by(o);
  int32_t row = planner_row(o);
  char text[128];
  size_t used = 0;
  for (int e = PLIM_EFFORT_TIME; e <= PLIM_EFFORT_COPIES; e++) {
    if (!is_given(o, (plim_plan_effort)e) || (!other && plim_planner_obeys(row, (plim_plan_effort)e))) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "", name[e]);
  }
  if (used == 0) return;
  figures_text(f, column, "without_effect", "without effect", text);
  figures_note(f, column, ": %s ignores it", other ? other : plim_planner_name(row));
}
