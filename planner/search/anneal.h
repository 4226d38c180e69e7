/* Simulated annealing over schedules. */
#ifndef PLIM_PLANNER_SEARCH_ANNEAL_H
#define PLIM_PLANNER_SEARCH_ANNEAL_H

#include "planner/search/moves.h"

typedef struct plim_anneal plim_anneal;

/* Is called for each schedule whose peak is within the limit and whose time is below faster_than_ns. It may set
 * faster_than_ns, the limit and `stop`. */
typedef plim_status plim_on_fit(void *user, plim_anneal *anneal);

/* Is called every few dozen moves. */
typedef void plim_on_moves(void *user);

struct plim_anneal {
  plim_mover mover;
  double hot, cold;          /* first and last temperature, in percentage points of overhead */
  double weight;             /* of bytes above the limit, in the cost (anneal.c) */
  double pace;               /* share by which the weight adapts while each op is moved once; 0: it is constant */
  double time_weight;        /* of overhead in the cost: 1; less where few bytes are the objective */
  int32_t strict;            /* 1: no schedule above the limit is accepted; the first one must be within it */
  int64_t iterations;        /* moves of this annealing run */
  int64_t deadline_ns;       /* by plim_now_ns; INT64_MAX: none. Temperature follows the larger share used up */
  int32_t share[PLIM_MOVES]; /* probability of each kind of move, relative to their sum */
  int32_t most_runs_an_op;   /* moves run no op more often; 0: no limit */
  plim_on_fit *on_fit;
  plim_on_moves *on_moves; /* NULL: none */
  void *user;              /* first argument of both */
  int64_t faster_than_ns;
  /* state and results */
  double cost;  /* of the schedule in the track */
  int64_t done; /* moves of all annealing runs so far */
  int32_t stop; /* 1: end after this move */
};

/* One annealing run, from the schedule in the track; the last accepted schedule stays there. PLIM_ECANCEL: the context
 * was cancelled. Deterministic without a deadline. */
PLIM_MUST_USE plim_status plim_anneal_run(plim_anneal *anneal);

#endif
