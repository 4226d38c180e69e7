/* A lower bound on the time of repeats that are not decided yet, and repeats that would take too long. */
#ifndef PLIM_PLANNER_EXACT_MOCCASIN_COST_H
#define PLIM_PLANNER_EXACT_MOCCASIN_COST_H

#include "planner/exact/moccasin_model.h"

enum { PLIM_MOCCASIN_MOST_ROWS = 16 };

/* A position at which live bytes exceed the limit, unless further repeats free some. */
typedef struct plim_moccasin_row {
  int32_t position, place; /* among the rows in order of their positions */
  int64_t excess;
  double price; /* time of a byte, in the bound */
  double tight; /* excess as a share of the bytes that repeats can free there: above 1 is a conflict */
} plim_moccasin_row;

typedef struct plim_moccasin_cost {
  plim_moccasin_row row[PLIM_MOCCASIN_MOST_ROWS]; /* of the last look, the most excess first */
  int32_t n_rows;
  int64_t present_ns; /* time of the repeats that are there for certain */
  double *left;       /* [room] of each use: what of its node's time no row has charged yet */
  /* scratch */
  struct plim_moccasin_relief *relief;               /* [room] of one row */
  int32_t *spared;                                   /* [room x rows] uses that repeats may spare, row by row */
  int32_t spared_begin[PLIM_MOCCASIN_MOST_ROWS + 1]; /* rows in order of their positions */
  int32_t *rows_before;                              /* [room_positions + 1] rows whose position is before this one */
  int32_t room, room_positions;
} plim_moccasin_cost;

void plim_moccasin_cost_free(plim_context *ctx, plim_moccasin_cost *k); /* {0} is an empty one */

/* List the rows of the last look; fail where all that is needed takes more than allowed_ns of repeats, and leave out
 * repeats that would. O(rows x uses log uses). */
PLIM_MUST_USE plim_status plim_moccasin_cost_bound(plim_moccasin_cost *k, plim_moccasin_model *c, int64_t allowed_ns);

#endif
