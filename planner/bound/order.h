/* What is certain of the order of first runs. */
#ifndef PLIM_PLANNER_BOUND_ORDER_H
#define PLIM_PLANNER_BOUND_ORDER_H

#include "planner/core/problem.h"

/* The most ops of a model. Its two bit matrices take 50 MB each at that size, and the matrix of needed items as much
 * for ops of one output. With a second model for program order this is 300 MB. */
enum { PLIM_CUT_MOST_OPS = 20000 };

/* What is certain of the order of first runs: a row of bits for each op. In a fixed order all earlier ops, else the
 * ancestors by data and updates. */
typedef struct plim_cut_order {
  plim_context *ctx;
  int32_t n_ops;
  int64_t words;    /* of a row */
  uint64_t *before; /* [n_ops][words] bit u of row v: the first run of u comes before that of v in every plan */
  uint64_t *after;  /* [n_ops][words] the transpose: bit u of row v: u comes after v in every plan */
} plim_cut_order;

/* `fixed` 1: first runs follow program order. At most PLIM_CUT_MOST_OPS ops. O(n edges / 64). */
PLIM_MUST_USE plim_status plim_cut_order_make(const plim_problem *problem, int32_t fixed, plim_cut_order *out);
void plim_cut_order_free(plim_cut_order *order); /* leaves it empty */

static inline int plim_cut_bit(const plim_cut_order *order, const uint64_t *rows, int32_t row, int32_t bit) {
  return (int)(rows[(int64_t)row * order->words + bit / 64] >> (bit % 64) & 1U);
}

/* Does the first run of u come before that of v in every plan? */
static inline int plim_cut_before(const plim_cut_order *order, int32_t u, int32_t v) {
  return plim_cut_bit(order, order->before, v, u);
}

#endif
