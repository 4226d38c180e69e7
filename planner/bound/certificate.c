/* For multipliers m >= 0 every solution x has cost(x) >= sum of m demand + sum over columns of (cost - m weights) x,
 * and the least of the last sum is taken column by column. Everything is scaled by 2^shift. */
#include "planner/bound/cut_internal.h"

#include <math.h>
#include <string.h>

enum { MOST_SHIFT = 30, LEAST_SHIFT = 4 };
static const double too_large = 1e18; /* below 2^60: no sum of two such numbers overflows */

/* scratch[j]: scaled reduced cost of column j. *value: the scaled Lagrangian value. 0: a number would be too large. */
static int evaluate(const plim_cut_box *box, int32_t n_rows, const plim_cut_row *row, const double *multiplier,
                    int shift, int64_t *scratch, int64_t *value) {
  double size = 0, scale = ldexp(1, shift);
  for (int32_t j = 0; j < box->n_columns; j++) size += scale * (double)box->cost[j];
  for (int32_t r = 0; r < n_rows; r++) {
    double m = floor(multiplier[r] * scale);
    if (!(m > 0)) continue;
    size += m * (double)row[r].demand;
    for (int32_t k = 0; k < row[r].n; k++) size += m * (double)row[r].weight[k];
    if (size > too_large) return 0;
  }
  if (size > too_large) return 0;
  int64_t sum = 0;
  for (int32_t j = 0; j < box->n_columns; j++) scratch[j] = box->cost[j] << shift;
  for (int32_t r = 0; r < n_rows; r++) {
    if (!(multiplier[r] * scale >= 1)) continue;
    int64_t m = (int64_t)(multiplier[r] * scale);
    sum += m * row[r].demand;
    for (int32_t k = 0; k < row[r].n; k++) scratch[row[r].column[k]] -= m * row[r].weight[k];
  }
  for (int32_t j = 0; j < box->n_columns; j++) {
    sum += scratch[j] > 0 ? scratch[j] * box->low[j] : scratch[j] * box->high[j];
  }
  *value = sum;
  return 1;
}

int64_t plim_cut_certify(const plim_cut_box *box, int32_t n_rows, const plim_cut_row *row, const double *multiplier,
                         int64_t *scratch, int64_t *reduced) {
  int64_t value = 0;
  int shift = MOST_SHIFT;
  if (reduced) memset(reduced, 0, (size_t)box->n_columns * sizeof *reduced);
  while (shift >= LEAST_SHIFT && !evaluate(box, n_rows, row, multiplier, shift, scratch, &value)) shift--;
  if (shift < LEAST_SHIFT || value <= 0) return 0;
  int64_t one = (int64_t)1 << shift, bound = (value + one - 1) / one;
  for (int32_t j = 0; reduced && j < box->n_columns; j++) {
    int64_t more = scratch[j] < 0 ? -scratch[j] : scratch[j];
    /* the value and the step together, rounded up once, prove more than both rounded */
    reduced[j] = (value + more + one - 1) / one - bound;
  }
  return bound;
}
