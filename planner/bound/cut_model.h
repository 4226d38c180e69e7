/* The cut model of a problem: which ops certainly come before which, the segments of time that divide their columns,
 * and the cuts with their rows. */
#ifndef PLIM_PLANNER_BOUND_CUT_MODEL_H
#define PLIM_PLANNER_BOUND_CUT_MODEL_H

#include "planner/core/problem.h"

/* ==== order (order.c) ==== */

/* What is certain of the order of first runs. */

/* The most ops of a model. Its two bit matrices take 50 MB each at that size, and the matrix of needed items as much
 * for ops of one output. With a second model for program order this is 300 MB. */
enum { PLIM_CUT_MAX_OPS = 20000 };

/* What is certain of the order of first runs: a row of bits for each op. In a fixed order all earlier ops, else the
 * ancestors by data and updates. */
typedef struct plim_cut_order {
  plim_context *ctx;
  int32_t n_ops;
  int64_t words;    /* of a row */
  uint64_t *before; /* [n_ops][words] bit u of row v: the first run of u comes before that of v in every plan */
  uint64_t *after;  /* [n_ops][words] the transpose: bit u of row v: u comes after v in every plan */
} plim_cut_order;

/* is_order_fixed 1: first runs follow program order. At most PLIM_CUT_MAX_OPS ops. O(n edges / 64). */
PLIM_MUST_USE plim_status plim_cut_order_make(const plim_problem *problem, int is_order_fixed, plim_cut_order *out);
void plim_cut_order_free(plim_cut_order *order); /* leaves it empty */

static inline int plim_cut_bit(const plim_cut_order *order, const uint64_t *rows, int32_t row, int32_t bit) {
  return (int)(rows[(int64_t)row * order->words + bit / 64] >> (bit % 64) & 1U);
}

/* Does the first run of u come before that of v in every plan? */
static inline int plim_cut_before(const plim_cut_order *order, int32_t u, int32_t v) {
  return plim_cut_bit(order, order->before, v, u);
}

/* ==== segments (segments.c) ==== */

/* Segments of time in which an op may run again: a column each.
 *
 * The time after an op's first run is divided by first runs of ops that read all its outputs and that certainly follow
 * one another. An output that is not alive at v is recomputed before the next of these readers. That run lies in the
 * segment of v, or in a later one that begins before that reader. A run lies in one segment only, so costs of segments
 * add up. In program order v lies in exactly one segment. */

typedef struct plim_cut_segments {
  plim_context *ctx;
  int32_t n_ops, n;
  int32_t *first;  /* [n_ops + 1] an op's segments are [first[op], first[op + 1]), in order */
  int32_t *begins; /* [n] at the first run of that op; an op's first segment at its own */
  int64_t capacity;
} plim_cut_segments;

/* O(operands). */
PLIM_MUST_USE plim_status plim_cut_segments_make(const plim_problem *problem, const plim_cut_order *order,
                                                 plim_cut_segments *out);
void plim_cut_segments_free(plim_cut_segments *segments); /* leaves it empty */

typedef struct plim_cut_segment_range {
  int32_t first, end; /* segments [first, end) */
} plim_cut_segment_range;

/* The segments [first, end) of an op one of which has a run of it when an output of it is gone at v's first run and
 * read later; v certainly comes after the op's own first run. O(log segments). */
plim_cut_segment_range plim_cut_segment_range_of(const plim_cut_segments *segments, const plim_cut_order *order,
                                                 int32_t op, int32_t v);

/* The op of a segment. O(log ops). */
int32_t plim_cut_segment_op(const plim_cut_segments *segments, int32_t segment);

/* ==== cuts (cut_model.c) ==== */

/* The cut model: what every plan within a budget must recompute.
 *
 * Look at the first run of op v. An item is *needed* at v when it was certainly made before, and certainly has a reader
 * after v. Either it is alive while v runs, or its producer is recomputed after v; then the producer's inputs are alive
 * at v, or are recomputed in turn. What is alive at v must fit beside v's working set.
 *
 * Example: op 0 writes a, op 1 reads a and writes b, op 2 reads b and writes c, op 3 reads a and c. Each item has 4
 * bytes, and the budget is 10. At op 2 the working set is b and c: 8 bytes. a was made before and is read after, so it
 * is needed, and 8 + 4 > 10: op 2 is a cut. Either a is alive there, or op 0 is recomputed after op 2. The segment of
 * op 0 from its reader op 1 on is the column x that costs the time of op 0. The cut is 2 bytes over, and x frees 4 of
 * them, so its row is 4 x >= 2. No plan has x = 0: each runs op 0 twice, and takes the time of all ops and of op 0.
 *
 * A *column* is something that costs time. First come those of ops: the op is recomputed in a segment. Then one for
 * each slower choice by which an op may save workspace. A *cut* is an op at which not everything needed fits. A *point*
 * has a value from 0 to 1 for each column, a *solution* has 0 or 1. */

typedef struct plim_cut {
  int32_t op;
  int64_t base_bytes;               /* persistent storages and the working set with the fastest choice */
  int64_t needed_bytes;             /* of all needed items that the working set does not have */
  int32_t first_column, end_column; /* of its slower choices */
} plim_cut;

typedef struct plim_cut_model {
  const plim_problem *problem;
  plim_cut_order order;
  plim_cut_segments segments; /* the first columns */
  int32_t n_columns;
  int64_t *cost_ns;     /* [n_columns] the least that a run more costs; for a slower choice: than the fastest */
  int64_t *saved_bytes; /* [n_columns] of workspace, by a slower choice instead of the fastest; 0 for ops */
  int32_t n_cuts;
  plim_cut *cut;    /* [n_cuts] by what is needed, the most first: a smaller budget's cuts start with a larger one's */
  int64_t least_ns; /* every op once */
  int32_t column_capacity;
  uint64_t *needed; /* [n_items][order.words] bit v: the item is needed at op v */
} plim_cut_model;

/* is_order_fixed 1: bounds for program order, else for every order. O(operands x n / 64 + what is needed anywhere). */
PLIM_MUST_USE plim_status plim_cut_model_make(const plim_problem *problem, int is_order_fixed, plim_cut_model **out);
void plim_cut_model_free(plim_cut_model *model); /* NULL is legal */

/* Is the item alive at the first run of v unless its producer is recomputed? Items that the working set counts are not.
 */
static inline int plim_cut_needed(const plim_cut_model *model, int32_t item, int32_t v) {
  return plim_cut_bit(&model->order, model->needed, item, v);
}

/* May the op run after the first run of v, when it certainly ran before? */
int plim_cut_may_repeat(const plim_cut_model *model, int32_t op, int32_t v);

/* The next slower choice of the op that saves workspace, -1: none has less than `choice`. */
int32_t plim_cut_next_choice(const plim_planned_op *op, int32_t choice);

#endif
