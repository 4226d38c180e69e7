/* Packing in O(n log n), for what has to be packed when there is no time: each box in turn lies on whatever is highest
 * among the boxes placed before that overlap it in time, so holes below stay empty. */
#ifndef PLIM_PLANNER_PACK_SKYLINE_H
#define PLIM_PLANNER_PACK_SKYLINE_H

#include "planner/pack/units.h"

typedef struct plim_skyline plim_skyline;

PLIM_MUST_USE plim_status plim_skyline_new(const plim_units *units, plim_skyline **out);
void plim_skyline_free(plim_skyline *skyline); /* NULL is legal */

/* May it pack these? Not boxes with fixed offsets. Gaps are packed as if they were not there, hints are not read. */
int plim_skyline_can(const plim_units *units);

/*   order   [n] in
 *   offset  [n] out  in units
 * Returns the packed size in units. O(n log n), deterministic. */
int64_t plim_skyline_run(plim_skyline *skyline, const int32_t *order, int64_t *offset);

#endif
