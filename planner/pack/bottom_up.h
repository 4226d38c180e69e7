/* Bottom-up packing: place boxes in nondecreasing order of offset, each as low as those below allow. */
#ifndef PLIM_PLANNER_PACK_BOTTOM_UP_H
#define PLIM_PLANNER_PACK_BOTTOM_UP_H

#include "planner/pack/units.h"

typedef struct plim_bottom_up plim_bottom_up;

/* Boxes that this can pack: plain, none fixed, not too many. */
int plim_bottom_up_can(const plim_units *units);

PLIM_MUST_USE plim_status plim_bottom_up_new(const plim_units *units, plim_bottom_up **out);
void plim_bottom_up_free(plim_bottom_up *bottom_up); /* NULL is legal */

/* Pack once more: a few fixed priorities first, then what the best of them learns by random changes. offset [n] in
 * units; returns the packed size, or INT64_MAX, offsets then without meaning, once it is above that of the best call
 * before, and when the context's effort is over. `goal`: the next priorities move boxes that end above it forward.
 * Deterministic, depends on the calls before. O(n^2 / 32), and n for each group of 32 boxes that begin at about the
 * same time as another is alive: O(n^2) at worst.
 */
int64_t plim_bottom_up_run(plim_bottom_up *bottom_up, int64_t goal, int64_t *offset);

#endif
