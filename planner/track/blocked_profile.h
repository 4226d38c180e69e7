/* Blocked memory profile: live bytes at each position of a sequence, changed and summed over ranges, for greedy
 * covering.
 *
 * Positions lie in blocks that know their least, largest and summed level, and what was added to all of them at once.
 * A block that is wholly below, within or above the range asked for is answered without a look at its positions, so
 * that a long span costs O(blocks) where hardly anything in it is near the limit. */
#ifndef PLIM_PLANNER_TRACK_BLOCKED_PROFILE_H
#define PLIM_PLANNER_TRACK_BLOCKED_PROFILE_H

#include "runtime/base/context.h"

enum { PLIM_BLOCKED_PROFILE_BLOCK = 64 };

typedef struct plim_profile_block {
  int64_t added;                    /* on top of `level` of each of its positions */
  int64_t least, most, above_least; /* without `added`; above_least: sum of level - least, at most INT64_MAX */
} plim_profile_block;

typedef struct plim_blocked_profile {
  plim_context *ctx;
  int32_t room, n;           /* positions */
  int64_t *level;            /* [room] */
  plim_profile_block *block; /* [room / PLIM_BLOCKED_PROFILE_BLOCK + 1] */
} plim_blocked_profile;

/* An empty sequence of at most `room` positions. */
PLIM_MUST_USE plim_status plim_blocked_profile_begin(plim_context *ctx, int32_t room, plim_blocked_profile *out);
void plim_blocked_profile_end(plim_blocked_profile *blocked_profile);

/* Write level[0, n) first, then call this. O(n). */
void plim_blocked_profile_set(plim_blocked_profile *blocked_profile, int32_t n);

int64_t plim_blocked_profile_at(const plim_blocked_profile *blocked_profile, int32_t at);

/* For positions from < k < to: add bytes to each; or the sum of what its level exceeds `limit` by, but at most `bytes`
 * (>= 0) of each, INT64_MAX where that sum is larger. O(to - from) at most. */
void plim_blocked_profile_add(plim_blocked_profile *blocked_profile, int64_t bytes, int32_t from, int32_t to);
int64_t plim_blocked_profile_excess(const plim_blocked_profile *blocked_profile, int64_t limit, int64_t bytes,
                                    int32_t from, int32_t to);

#endif
