/* Keep-all: every op once with its fastest choice. */
#include "planner/planning.h"

plim_status plim_keep_all_run(plim_planning *pl) {
  plim_schedule schedule = {.ctx = pl->problem->ctx};
  plim_status status = plim_schedule_program_order(pl->problem, &schedule);
  if (status == PLIM_OK) status = plim_planning_offer(pl, &schedule, NULL);
  plim_schedule_free(&schedule);
  return status;
}
