/* Rising water: place boxes from the bottom up, each where the ones below let it lie. Planner-internal. */
#ifndef PLIM_PLANNER_PACK_RISE_H
#define PLIM_PLANNER_PACK_RISE_H

#include "planner/pack/units.h"

typedef struct plim_rise plim_rise;

/* Boxes that this can pack: plain, none fixed, not too many. */
int plim_rise_can(const plim_units *units);

PLIM_MUST_USE plim_status plim_rise_new(const plim_units *units, plim_rise **out);
void plim_rise_free(plim_rise *rise); /* NULL is legal */

/* Pack once more: a few fixed priorities first, then what the best of them learns by random changes. offset [n] in
 * units; returns the height, or INT64_MAX, offsets then without meaning, once it is above that of the best call before,
 * and when the context's effort is over.
 * `goal`: what sticks out above it is what the next priorities care about. Deterministic, depends on the calls before.
 * O(n^2 / 32), and n for each group of 32 boxes that begin at about the same time as another is alive: O(n^2) at worst.
 */
int64_t plim_rise_run(plim_rise *rise, int64_t goal, int64_t *offset);

#endif
