/* Between the parts of track.c: copies and their ends (track_copies.c), places in the sequence (track_slots.c). */
#ifndef PLIM_PLANNER_TRACK_PARTS_H
#define PLIM_PLANNER_TRACK_PARTS_H

#include "planner/search/track.h"

/* Give run r a slot in front of run `next` (-1: at the end), links and a place in the lists; take them away. A run that
 * leaves has no bytes at its slot any more. */
void plim_track_enter(plim_track *track, int32_t r, int32_t next);
void plim_track_leave(plim_track *track, int32_t r);
/* Spread the `n` runs of the slots [low, low + size) evenly over them. */
void plim_track_spread(plim_track *track, int32_t low, int32_t size, int32_t n);

/* Let the copies that run r reads end no earlier than there, or, when it goes, at the reader before it. */
void plim_track_add_reads(plim_track *track, int32_t r);
void plim_track_remove_reads(plim_track *track, int32_t r);
/* Begin the copies that run r makes; join them to the ones before. */
void plim_track_add_writes(plim_track *track, int32_t r);
void plim_track_remove_writes(plim_track *track, int32_t r);
/* The in-place pairs of the run are to be looked at again (-1: none), which settling does. */
void plim_track_touch(plim_track *track, int32_t run);
void plim_track_settle_touched(plim_track *track);

#endif
