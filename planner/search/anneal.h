/* Simulated annealing over schedules. */
#ifndef PLIM_PLANNER_ANNEAL_H
#define PLIM_PLANNER_ANNEAL_H

#include "planner/search/moves.h"

typedef struct plim_anneal plim_anneal;

/* Called with a schedule whose peak is within the limit and which is faster than faster_than_ns. It sets
 * faster_than_ns (to be called for faster ones only) and may change the limit. */
typedef plim_status plim_on_fit(void *user, plim_anneal *anneal);

/* Called now and then while moves are made. */
typedef void plim_on_moves(void *user);

struct plim_anneal {
  plim_mover mover;
  double hot, cold;          /* temperatures, in percent of overhead */
  double weight;             /* of bytes above the limit */
  double pace;               /* of adapting the weight, in parts a move of each op; 0: it stays */
  double time_weight;        /* of overhead: 1; near 0 when bytes are what is searched */
  int32_t strict;            /* 1: nothing above the limit is accepted; start from a schedule within it */
  int64_t iterations;        /* moves of this annealing run */
  int64_t deadline_ns;       /* by plim_now_ns; INT64_MAX: none. Temperature follows what is used up faster */
  int32_t share[PLIM_MOVES]; /* of the kinds of moves */
  int32_t most_runs;         /* moves do not raise the runs of an op above it; 0: no limit */
  plim_on_fit *on_fit;
  plim_on_moves *on_moves; /* NULL: none */
  void *user;
  int64_t faster_than_ns;
  /* state and results */
  double cost;
  int64_t done;
  int32_t stop; /* on_fit may set it */
};

/* Cool down once, from the schedule in the track. PLIM_ECANCEL when the context was cancelled. */
PLIM_MUST_USE plim_status plim_anneal_run(plim_anneal *anneal);

#endif
