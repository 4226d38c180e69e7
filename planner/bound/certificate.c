/* Proofs in integers. For multipliers m >= 0, every solution x has
 *   cost(x) >= sum over rows of m x demand + sum over columns of (cost - sum over rows of m x weight) x
 * and the least value of the last sum is found column by column. Multipliers are rounded to fixed point with `shift`
 * bits. Invariant: no sum overflows, since a sum of absolute values in floating point is checked first. */
#include "planner/bound/cut_model.h"

#include <math.h>
#include <string.h>

#include "planner/bound/bound_tuning.h"
#include "planner/bound/lp.h"

/* *value: the scaled Lagrangian value. 0: a number would be too large. */
static int evaluate(const plim_cut_bounds *bounds, int32_t n_rows, const plim_cut_row *row, const double *multiplier,
                    int shift, int64_t *scaled_cost, int64_t *value) {
  double size = 0, scale = ldexp(1, shift);
  for (int32_t j = 0; j < bounds->n_columns; j++) size += scale * (double)bounds->cost[j];
  for (int32_t r = 0; r < n_rows; r++) {
    double m = floor(multiplier[r] * scale);
    if (!(m > 0)) continue;
    size += m * (double)row[r].demand;
    for (int32_t k = 0; k < row[r].n; k++) size += m * (double)row[r].weight[k];
    if (size > bound_tuning.certificate.too_large) return 0;
  }
  if (size > bound_tuning.certificate.too_large) return 0;
  int64_t sum = 0;
  for (int32_t j = 0; j < bounds->n_columns; j++) scaled_cost[j] = bounds->cost[j] << shift;
  for (int32_t r = 0; r < n_rows; r++) {
    if (!(multiplier[r] * scale >= 1)) continue;
    int64_t m = (int64_t)(multiplier[r] * scale);
    sum += m * row[r].demand;
    for (int32_t k = 0; k < row[r].n; k++) scaled_cost[row[r].column[k]] -= m * row[r].weight[k];
  }
  for (int32_t j = 0; j < bounds->n_columns; j++) {
    sum += scaled_cost[j] > 0 ? scaled_cost[j] * bounds->low[j] : scaled_cost[j] * bounds->high[j];
  }
  *value = sum;
  return 1;
}

int64_t plim_cut_certify(const plim_cut_bounds *bounds, int32_t n_rows, const plim_cut_row *row,
                         const double *multiplier, int64_t *scaled_cost, int64_t *reduced) {
  int64_t value = 0;
  int shift = bound_tuning.certificate.shift_max;
  if (reduced) memset(reduced, 0, (size_t)bounds->n_columns * sizeof *reduced);
  while (shift >= bound_tuning.certificate.shift_min &&
         !evaluate(bounds, n_rows, row, multiplier, shift, scaled_cost, &value)) {
    shift--;
  }
  if (shift < bound_tuning.certificate.shift_min || value <= 0) return 0;
  int64_t one = (int64_t)1 << shift, bound = (value + one - 1) / one;
  for (int32_t j = 0; reduced && j < bounds->n_columns; j++) {
    int64_t more = scaled_cost[j] < 0 ? -scaled_cost[j] : scaled_cost[j];
    /* the value and what more it becomes are added before they are rounded up: that proves more */
    reduced[j] = (value + more + one - 1) / one - bound;
  }
  return bound;
}
