/* Proofs in integers: what multipliers of rows prove of every choice of columns. */
#ifndef PLIM_PLANNER_BOUND_CERTIFICATE_H
#define PLIM_PLANNER_BOUND_CERTIFICATE_H

#include "planner/bound/rows.h"

typedef struct plim_cut_box {
  int32_t n_columns;
  const int64_t *cost;       /* [n_columns] >= 0 */
  const uint8_t *low, *high; /* [n_columns] 0 or 1 */
} plim_cut_box;

/* Whatever columns between low and high satisfy the rows cost at least the returned number: the Lagrangian value, for
 * multipliers rounded to fixed point, rounded up to the next integer, since costs are integers. All in 64-bit integers
 * that cannot overflow; multipliers too large for that prove 0.
 *   multiplier  [n_rows]     in   cost for one unit of demand; any numbers are right, those of the LP are good
 *   reduced     [n_columns]  out  (may be NULL) what is proven besides: a column at the bound that it is not at for
 *                                 this value costs reduced[j] more, rounded down */
int64_t plim_cut_certify(const plim_cut_box *box, int32_t n_rows, const plim_cut_row *row, const double *multiplier,
                         int64_t *scratch, int64_t *reduced);

#endif
