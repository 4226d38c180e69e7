/* First-fit and best-fit: place boxes one after the other in a given order. */
#ifndef PLIM_PLANNER_PACK_FIT_H
#define PLIM_PLANNER_PACK_FIT_H

#include "planner/pack/units.h"

/* What placing needs besides the boxes; used again from order to order. */
typedef struct plim_fit plim_fit;

PLIM_MUST_USE plim_status plim_fit_new(const plim_units *units, plim_fit **out);
void plim_fit_free(plim_fit *fit); /* NULL is legal */

/* Place the boxes in `order`, each at the lowest free offset (first-fit) or in the tightest gap (best_fit 1); fixed
 * ones keep their offset and are placed first, then those whose hint is free and the top there not above `hint_limit`
 * (negative: no hints). Writes offsets in units, returns the packed size; with `may_stop` INT64_MAX, offsets then
 * without meaning, when the context's effort is over. Plain boxes are searched in a list, O(n^2) with a small constant;
 * others, and very many, in a tree over time, O(n log n + pairs that overlap in time x log). */
int64_t plim_fit_run(plim_fit *fit, const int32_t *order, int best_fit, int64_t hint_limit, int may_stop,
                     int64_t *offset);

#endif
