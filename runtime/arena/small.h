/* Finds which storages are small, and the size of the area that an arena may have for them. Functions run on the thread
 * of the context, and are deterministic. */
#ifndef PLIM_RUNTIME_ARENA_SMALL_H
#define PLIM_RUNTIME_ARENA_SMALL_H

#include "runtime/arena/forecast.h"

/* Set small_bytes and small_peak_bytes of a forecast whose reads have been found. Inputs and persistent storages do
 * not count. PLIM_ENOMEM. O(storages x log storages + uses). Deterministic. */
PLIM_MUST_USE plim_status plim_forecast_find_small(plim_forecast *forecast);

#endif
