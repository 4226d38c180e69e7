/* Bounds of plans that may page or use several devices, whichever plan was found. The bound of a plan of one arena does
 * not hold for them. */
#include <math.h>

#include "planner/paging/paging.h"

/* Every op runs once at least, on the device that draws least, and n devices take the n-th part of keep-all's time. */
static double least_joule(const plim_plan *plan, const plim_paging *paging) {
  const plim_powers *powers = paging->powers;
  const int32_t n = paging->n_devices + 1;
  double watt = powers->device_watt[0];
  for (int32_t d = 1; d < n; d++) watt = fmin(watt, powers->device_watt[d]);
  return 1e-9 * (double)plan->keep_all_ns * (watt + powers->idle_watt / n);
}

static double joule_percent(double joule, double keep_all_joule) {
  return keep_all_joule > 0 ? 100 * joule / keep_all_joule - 100 : 0;
}

/* A plan on several devices has a bound that holds for all of them; else keep-all's time holds, and on n devices the
 * n-th part of it. */
static double time_bound_percent(const plim_plan *plan, const plim_paging *paging) {
  if (!paging || plim_plan_other_devices(plan) > 0) return plim_plan_bound_percent(plan);
  return 100.0 / (paging->n_devices + 1) - 100;
}

plim_paging_overhead plim_paging_overhead_of(const plim_plan *plan, const plim_paging *paging, double keep_all_joule) {
  plim_paging_overhead o;
  if (paging && paging->powers) {
    o.percent = joule_percent(plim_plan_energy(plan, paging->powers), keep_all_joule);
    o.bound_percent = joule_percent(least_joule(plan, paging), keep_all_joule);
  } else {
    o.percent = plim_plan_overhead_percent(plan);
    o.bound_percent = time_bound_percent(plan, paging);
  }
  o.proved = paging ? o.percent <= o.bound_percent : plan->proved;
  return o;
}
