/* What a program and the plimsoll-solver that it starts have in common: a piece of memory and a socket. */
#ifndef PLIM_PLANNER_EXACT_SHARE_H
#define PLIM_PLANNER_EXACT_SHARE_H

#include <stdatomic.h>

#include "planner/exact/solver.h"

enum { PLIM_SHARE_SOCKET = 0, PLIM_SHARE_MEMORY = 3 };                       /* descriptors of the solver's process */
enum { PLIM_SHARE_ANSWER = 2, PLIM_SHARE_POINTS = 3, PLIM_SHARE_NAME = 16 }; /* points: two better ones, the answer's */

/* The head; the arrays of plim_share_view follow. Both programs must be of one version. */
typedef struct plim_share {
  char version[PLIM_SHARE_NAME];  /* PLIM_VERSION, first in every version */
  char back_end[PLIM_SHARE_NAME]; /* its name */
  int32_t n_columns, n_rows, n_entries;
  int32_t relax, threads, has_start;
  int64_t steps;
  double seconds, gap, absolute_gap, cutoff;
  atomic_int stop;              /* the caller asks for an end */
  plim_status status;           /* of the answer */
  char error[PLIM_ERROR_BYTES]; /* its sentence */
} plim_share;

typedef struct plim_share_view {
  double *cost, *low, *high;   /* [n_columns] */
  double *row_low, *row_high;  /* [n_rows] */
  double *value;               /* [n_entries] */
  double *start;               /* [n_columns] */
  double *point;               /* [PLIM_SHARE_POINTS][n_columns] */
  int32_t *integer;            /* [n_columns] */
  int32_t *row_first, *column; /* [n_rows + 1], [n_entries] */
  int64_t bytes;               /* of all of it, with the head */
} plim_share_view;

/* Where the arrays of a head with these counts are; `base` may be NULL when the bytes alone are asked for. */
plim_share_view plim_share_look(void *base, int64_t n_columns, int64_t n_rows, int64_t n_entries);

/* What the solver tells; a message is one packet. */
typedef enum plim_share_subject { PLIM_TOLD_FIGURES, PLIM_TOLD_POINT, PLIM_TOLD_END } plim_share_subject;

typedef struct plim_share_message {
  plim_share_subject subject;
  int32_t place; /* of the point */
  plim_solution solution;
} plim_share_message;

#endif
