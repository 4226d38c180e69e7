/* Between the parts of track.c: lifetimes and their ends (track_lifetimes.c), places in the sequence (track_slots.c).
 */
#ifndef PLIM_PLANNER_TRACK_TRACK_INTERNAL_H
#define PLIM_PLANNER_TRACK_TRACK_INTERNAL_H

#include "planner/track/track.h"

/* A free slot before run `next` (-1: at the end); runs around it are moved where there is none. */
int32_t plim_track_free_slot(plim_track *track, int32_t next);
/* The slot of run i of n where they stand evenly in all slots. */
int32_t plim_track_even_slot(const plim_track *track, int32_t i, int32_t n);
/* Give run r a free slot before run `next` (-1: at the end), links and a place in the lists; take them away. A run
 * that leaves has no bytes at its slot any more. */
void plim_track_enter(plim_track *track, int32_t r, int32_t slot, int32_t next);
void plim_track_leave(plim_track *track, int32_t r);

/* Let the lifetimes that run r reads end no earlier than there, or, when it goes, at the reader before it. */
void plim_track_add_reads(plim_track *track, int32_t r);
void plim_track_remove_reads(plim_track *track, int32_t r);
/* Begin the lifetimes that run r makes; join them to the ones before. */
void plim_track_add_writes(plim_track *track, int32_t r);
void plim_track_remove_writes(plim_track *track, int32_t r);
/* The in-place pairs of the run are to be looked at again (-1: none), which settling does. */
void plim_track_touch(plim_track *track, int32_t run);
void plim_track_settle_touched(plim_track *track);

#endif
