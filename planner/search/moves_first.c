/* Moves of first runs, where the order is free. One run alone moves between the first runs of its predecessors and of
 * its successors. A group moves farther: on the way to its goal, a run takes along those that it may not pass. */
#include "planner/search/moves.h"

#include <string.h>

#include "planner/search/search_tuning.h"

/* Most runs that move together. Each is removed and inserted again, which is two changes. */
enum { GROUP_MAX = PLIM_TRACK_PART_CHANGES / 2 };

/* Move a run before run `next`; -1: to the end. */
static void move_run(plim_track *track, int32_t r, int32_t next) {
  int32_t op = track->run[r].op, choice = track->run[r].choice;
  plim_track_remove(track, r);
  (void)plim_track_insert(track, op, choice, next);
}

int plim_move_first(plim_mover *mover) {
  plim_track *track = mover->track;
  int32_t r = track->first[plim_random_below(&mover->random, track->problem->n_ops)], low, high, next;
  plim_track_window(track, r, &low, &high);
  if (track->run[r].op_next >= 0 && track->run[track->run[r].op_next].slot < high) {
    high = track->run[track->run[r].op_next].slot;
  }
  if (plim_random_percent(&mover->random, search_tuning.first.short_percent)) {
    next = plim_move_neighbour(mover, r, search_tuning.first.short_places);
  } else {
    /* a random slot of the window, then the next one with a run */
    int32_t slot = low + 1 + plim_random_below(&mover->random, high - low);
    while (slot < track->memory_profile->n_slots && track->run_at[slot] < 0) slot++;
    next = slot < track->memory_profile->n_slots ? track->run_at[slot] : -1;
  }
  int32_t to = next < 0 ? track->memory_profile->n_slots : track->run[next].slot;
  if (next == r || next == track->run[r].next || to <= low || to > high) return 0;
  move_run(track, r, next);
  return 1;
}

typedef struct group {
  int32_t n, run[GROUP_MAX];
} group;

/* Stamps of ops while a group is gathered. An op with both has the second. */
typedef struct marks {
  int32_t along; /* it moves with the group */
  int32_t wall;  /* the group may not pass it */
} marks;

static marks new_marks(plim_track *track) {
  if (track->last_stamp > INT32_MAX - 2) { /* stamps start anew after 2^30 groups */
    memset(track->stamp, 0, (size_t)track->problem->n_ops * sizeof *track->stamp);
    track->last_stamp = 0;
  }
  track->last_stamp += 2;
  return (marks){track->last_stamp - 1, track->last_stamp};
}

static void stamp_ops(plim_track *track, const plim_ids *ops, int32_t mark, int32_t wall) {
  for (int32_t i = 0; i < ops->n; i++) {
    if (track->stamp[ops->at[i]] != wall) track->stamp[ops->at[i]] = mark;
  }
}

/* Walk from r up to `places` runs backwards, and gather r with the first runs of its predecessors on the way.
 * Returns 0 where an op is in the way, or the group is full.
 *   goal  [1] out  the run before which the group goes */
static int gather_backwards(plim_track *track, int32_t r, int32_t places, group *g, int32_t *goal) {
  marks m = new_marks(track);
  g->n = 0;
  for (int32_t x = r; x >= 0 && places >= 0; x = track->run[x].prev, places--) {
    int32_t op = track->run[x].op;
    if (track->stamp[op] == m.wall) return 0;
    *goal = x;
    if (x != r && (track->stamp[op] != m.along || track->first[op] != x)) continue;
    if (g->n == GROUP_MAX) return 0;
    g->run[g->n++] = x;
    stamp_ops(track, &track->problem->op[op].closes, m.wall, m.wall);
    stamp_ops(track, &track->problem->op[op].preds, m.along, m.wall);
  }
  return 1;
}

/* The same forwards, with all runs of its successors. *goal -1: the group goes to the end. */
static int gather_forwards(plim_track *track, int32_t r, int32_t places, group *g, int32_t *goal) {
  marks m = new_marks(track);
  int32_t x = r;
  g->n = 0;
  for (; x >= 0 && places >= 0; x = track->run[x].next, places--) {
    int32_t op = track->run[x].op;
    if (track->stamp[op] == m.wall) return 0;
    if (x != r && track->stamp[op] != m.along) continue;
    if (g->n == GROUP_MAX) return 0;
    g->run[g->n++] = x;
    stamp_ops(track, &track->problem->op[op].closed_by, m.wall, m.wall);
    if (track->first[op] != x) continue;
    stamp_ops(track, &track->problem->op[op].succs, m.along, m.wall);
    track->stamp[op] = m.wall; /* a repeat may not overtake the first run */
  }
  *goal = x;
  return 1;
}

int plim_move_group(plim_mover *mover) {
  plim_track *track = mover->track;
  group g = {.n = 0};
  if (track->problem->has_fixed_order) return 0;
  int32_t r = track->first[plim_random_below(&mover->random, track->problem->n_ops)];
  int32_t far = plim_random_percent(&mover->random, search_tuning.first.group_short_percent)
                    ? search_tuning.first.group_short_places
                    : search_tuning.first.group_long_places;
  int32_t places = 1 + plim_random_below(&mover->random, far), goal = -1;
  if (plim_random_percent(&mover->random, search_tuning.first.backwards_percent)) {
    if (!gather_backwards(track, r, places, &g, &goal)) return 0;
    if (goal == g.run[g.n - 1]) return 0; /* the group stands there already */
    while (g.n > 0) move_run(track, g.run[--g.n], goal);
  } else {
    if (!gather_forwards(track, r, places, &g, &goal)) return 0;
    if (g.run[g.n - 1] == (goal < 0 ? track->tail : track->run[goal].prev)) return 0;
    for (int32_t i = 0; i < g.n; i++) move_run(track, g.run[i], goal);
  }
  return 1;
}
