/* Rows of the cut model: what a set of columns must reach. */
#ifndef PLIM_PLANNER_CUT_ROW_H
#define PLIM_PLANNER_CUT_ROW_H

#include "planner/problem.h"

/* sum of weight[k] over the chosen columns >= demand. Weights and demand are positive, no weight above the demand.
 *
 * What stands after a row does not know the budget: without any column so many bytes are alive at its cut, and a
 * column takes so many away. So a row found for one budget holds for all of them, with weights and demand of their
 * own. */
typedef struct plim_cut_row {
  int32_t n;
  int32_t *column; /* [n] ascending */
  int64_t *weight; /* [n] */
  int64_t demand;
  int64_t *bytes; /* [n] */
  int64_t needed_bytes;
  double price; /* what a byte was worth where the row was used last; 0: nothing */
} plim_cut_row;

/* Greatest common divisor of numbers >= 0. */
static inline int64_t plim_cut_divisor(int64_t a, int64_t b) {
  while (b > 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

#endif
