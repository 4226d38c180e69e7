/* The energy that a plan over spaces takes: the idle power for all of its time, and the power of the device or link for
 * the time of each command. */
#include "planner/planner.h"

double plim_plan_energy(const plim_plan *plan, const plim_powers *powers) {
  double joule = powers->idle_watt * (double)plan->time_ns;
  for (int32_t c = 0; c < plan->n_commands; c++) {
    const plim_command *m = &plan->command[c];
    if (m->kind == PLIM_COMMAND_RUN) {
      joule += powers->device_watt[m->space] * (double)plan->variant[m->variant].variant.time_ns;
    } else {
      joule += powers->link_watt[m->from][m->to] * (double)m->time_ns;
    }
  }
  return joule * 1e-9;
}
