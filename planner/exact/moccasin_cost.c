/* A lower bound on the time of further repeats.
 *
 * At a position where live bytes would exceed the limit, repeats must free buffers whose bytes add up to the excess: a
 * covering row. A repeat frees one use of one node. So each use pays once, with the time of its node, however many rows
 * it helps; repeats that are decided already pay nothing. Rows are taken one after the other, the largest excess first.
 * Each is charged at its fractional optimum, and leaves the rest of the uses' times to later rows. That is a feasible
 * point of the dual of all rows together, so the sum is a bound. Example: a row has 10 bytes too many. Use a frees 6
 * bytes for 3 ns, use b 6 bytes for 6 ns. All of a and 4 / 6 of b are 3 + 4 ns. A later row may still charge b 2 ns. A
 * use that cannot be freed, but would have been too costly for its rows, needs no reason. */
#include "planner/exact/moccasin_internal.h"

#include <stdlib.h>

#include "runtime/base/groups.h"
#include "runtime/base/integers.h"

typedef struct plim_moccasin_relief {
  int32_t use;
  int64_t bytes;
  double price; /* of a byte */
} plim_moccasin_relief;

void plim_moccasin_cost_free(plim_context *ctx, plim_moccasin_cost *cost) {
  plim_release(ctx, cost->left, cost->capacity, sizeof *cost->left);
  plim_release(ctx, cost->relief, cost->capacity, sizeof *cost->relief);
  plim_release(ctx, cost->spared, (int64_t)cost->capacity * PLIM_MOCCASIN_MAX_ROWS, sizeof *cost->spared);
  plim_release(ctx, cost->rows_before, (int64_t)cost->position_capacity + 1, sizeof *cost->rows_before);
  *cost = (plim_moccasin_cost){0};
}

static plim_status reserve(plim_moccasin_cost *cost, const plim_moccasin_model *model) {
  plim_context *ctx = model->dag->ctx;
  if (model->n_uses <= cost->capacity && model->n_positions <= cost->position_capacity) return PLIM_OK;
  plim_moccasin_cost_free(ctx, cost);
  cost->capacity = model->n_uses + model->n_uses / 2;
  cost->position_capacity = model->n_positions + model->n_positions / 2;
  PLIM_TRY(plim_allocate(ctx, (int64_t)cost->capacity * PLIM_MOCCASIN_MAX_ROWS, sizeof *cost->spared, &cost->spared));
  PLIM_TRY(plim_allocate(ctx, (int64_t)cost->position_capacity + 1, sizeof *cost->rows_before, &cost->rows_before));
  PLIM_TRY(plim_allocate(ctx, cost->capacity, sizeof *cost->left, &cost->left));
  return plim_allocate(ctx, cost->capacity, sizeof *cost->relief, &cost->relief);
}

/* One position of each stretch above the limit: its highest. */
static void list_rows(plim_moccasin_cost *cost, const plim_moccasin_model *model) {
  cost->n_rows = 0;
  for (int32_t j = 0; j < model->n_positions; j++) {
    if (model->decided_bytes[j] <= model->limit_bytes) continue;
    int32_t highest = j;
    for (; j < model->n_positions && model->decided_bytes[j] > model->limit_bytes; j++) {
      highest = model->decided_bytes[j] > model->decided_bytes[highest] ? j : highest;
    }
    plim_moccasin_row row = {.position = highest, .excess = model->decided_bytes[highest] - model->limit_bytes};
    int32_t at = cost->n_rows < PLIM_MOCCASIN_MAX_ROWS ? cost->n_rows++ : PLIM_MOCCASIN_MAX_ROWS;
    for (; at > 0 && cost->row[at - 1].excess < row.excess; at--) {
      if (at < PLIM_MOCCASIN_MAX_ROWS) cost->row[at] = cost->row[at - 1];
    }
    if (at < PLIM_MOCCASIN_MAX_ROWS) cost->row[at] = row;
  }
}

/* The rows at which a use may be spared are neighbours in the order of positions. */
static void list_spared(plim_moccasin_cost *cost, const plim_moccasin_model *model) {
  int32_t count[PLIM_MOCCASIN_MAX_ROWS] = {0}, *begin = cost->spared_begin;
  for (int32_t j = 0; j <= model->n_positions; j++) cost->rows_before[j] = 0;
  for (int32_t r = 0; r < cost->n_rows; r++) cost->rows_before[cost->row[r].position + 1]++;
  plim_groups_sum(cost->rows_before, model->n_positions);
  for (int32_t r = 0; r < cost->n_rows; r++) cost->row[r].place = cost->rows_before[cost->row[r].position];
  for (int32_t i = 0; i < model->n_uses; i++) {
    const plim_moccasin_use *use = &model->use[i];
    for (int32_t at = cost->rows_before[use->begin]; at < cost->rows_before[use->certain_from]; at++) count[at]++;
  }
  begin[0] = 0;
  for (int32_t at = 0; at < cost->n_rows; at++) begin[at + 1] = begin[at] + count[at];
  for (int32_t at = 0; at < cost->n_rows; at++) count[at] = begin[at];
  for (int32_t i = 0; i < model->n_uses; i++) {
    const plim_moccasin_use *use = &model->use[i];
    for (int32_t at = cost->rows_before[use->begin]; at < cost->rows_before[use->certain_from]; at++) {
      cost->spared[count[at]++] = i;
    }
  }
}

static int64_t time_of(const plim_moccasin_model *model, int32_t x) {
  return model->dag->node[model->node_of[x]].time_ns;
}

/* Can a repeat that is there for certain spare use `u` at position j? */
static int is_free(const plim_moccasin_model *model, const plim_moccasin_use *use, int32_t j) {
  int32_t low = plim_moccasin_stage_after(&model->position[j], use->node),
          high = plim_moccasin_stage_before(model, use);
  for (int32_t x = model->first[use->node]; x < model->first[use->node + 1]; x++) {
    if (plim_moccasin_present(model, x) && plim_moccasin_may_run(model, x, low, high)) return 1;
  }
  return 0;
}

static int by_price(const void *a, const void *b) {
  const plim_moccasin_relief *x = a, *y = b;
  if (x->price < y->price || x->price > y->price) return x->price < y->price ? -1 : 1;
  return plim_integers_compare(x->use, y->use);
}

/* List the reliefs that cost time. *excess falls by the bytes of those that are free. */
static int32_t list_reliefs(plim_moccasin_cost *cost, const plim_moccasin_model *model, const plim_moccasin_row *row,
                            int64_t *excess) {
  int32_t n = 0;
  for (int32_t at = cost->spared_begin[row->place]; at < cost->spared_begin[row->place + 1]; at++) {
    int32_t i = cost->spared[at];
    const plim_moccasin_use *use = &model->use[i];
    int64_t bytes = model->bytes[use->node];
    if (bytes == 0) continue;
    if (is_free(model, use, row->position)) {
      *excess -= bytes;
    } else {
      cost->relief[n++] = (plim_moccasin_relief){i, bytes, cost->left[i] / (double)bytes};
    }
  }
  return n;
}

/* The fractional optimum of a row. What it charges is subtracted from the times of the uses. *lacks: bytes that no
 * relief frees. */
static double charge_row(plim_moccasin_cost *cost, const plim_moccasin_model *model, plim_moccasin_row *row,
                         int64_t *lacks) {
  int64_t open = row->excess;
  int32_t n = list_reliefs(cost, model, row, &open);
  double total = 0, spared = 0;
  row->price = 0;
  if (n > 0) qsort(cost->relief, (size_t)n, sizeof *cost->relief, by_price);
  for (int32_t i = 0; i < n && open > 0; i++) {
    int64_t part = cost->relief[i].bytes < open ? cost->relief[i].bytes : open;
    row->price = cost->relief[i].price;
    total += row->price * (double)part;
    open -= part;
  }
  *lacks = open > 0 ? open : 0;
  for (int32_t i = 0; i < n; i++) {
    spared += (double)cost->relief[i].bytes;
    double *left = &cost->left[cost->relief[i].use], charged = row->price * (double)cost->relief[i].bytes;
    *left = charged < *left ? *left - charged : 0;
  }
  row->tight = spared > 0 ? (double)row->excess / spared : 0;
  return total;
}

/* ---- reasons ---- */

/* A repeat that is paid for already must not be the one that spares the use. */
static plim_status note_paid(plim_moccasin_model *model, const plim_moccasin_use *use, int32_t j) {
  int32_t low = plim_moccasin_stage_after(&model->position[j], use->node),
          high = plim_moccasin_stage_before(model, use);
  for (int32_t x = model->first[use->node]; x < model->first[use->node + 1]; x++) {
    if (!plim_moccasin_present(model, x) || plim_moccasin_may_run(model, x, low, high)) continue;
    plim_lazy_clauses_bound b = plim_lazy_clauses_high(&model->clauses, x) < low
                                    ? plim_lazy_clauses_at_most(x, low - 1)
                                    : plim_lazy_clauses_at_least(x, high + 1);
    PLIM_TRY(plim_lazy_clauses_note(&model->clauses, b));
  }
  return PLIM_OK;
}

static int has_present(const plim_moccasin_model *model, int32_t v) {
  for (int32_t x = model->first[v]; x < model->first[v + 1]; x++) {
    if (plim_moccasin_present(model, x)) return 1;
  }
  return 0;
}

/* Why the row is there; `spare` bytes of it need not be told. */
static plim_status note_row(plim_moccasin_cost *cost, plim_moccasin_model *model, const plim_moccasin_row *row,
                            int64_t spare) {
  int32_t j = row->position;
  PLIM_TRY(plim_moccasin_note_position(model, j));
  for (int32_t i = 0; i < model->n_uses; i++) {
    const plim_moccasin_use *use = &model->use[i];
    int64_t bytes = model->bytes[use->node];
    double price = row->price * (double)bytes;
    if (use->begin > j || use->reader <= j || bytes == 0) continue;
    if (use->certain_from > j) { /* it may be spared */
      PLIM_TRY(plim_moccasin_note_use(model, i, j, 0));
      if (!is_free(model, use, j)) PLIM_TRY(note_paid(model, use, j));
    } else if (bytes <= spare) {
      spare -= bytes;
    } else if (row->price > 0 && cost->left[i] >= price && !has_present(model, use->node)) {
      cost->left[i] -= price; /* too costly to be a relief */
      PLIM_TRY(plim_moccasin_note_use(model, i, j, 0));
    } else {
      PLIM_TRY(plim_moccasin_note_use(model, i, j, 1));
    }
  }
  return PLIM_OK;
}

/* The repeats that are there; `spare` ns of them need not be told. */
static plim_status note_present(plim_moccasin_model *model, int64_t spare) {
  for (int32_t x = model->n_variables - 1; x >= 0; x--) {
    if (!plim_moccasin_present(model, x) || time_of(model, x) == 0) continue;
    if (time_of(model, x) <= spare) {
      spare -= time_of(model, x);
    } else {
      PLIM_TRY(plim_lazy_clauses_note(&model->clauses, plim_lazy_clauses_at_most(x, model->absent[x] - 1)));
    }
  }
  return PLIM_OK;
}

/* ---- the bound ---- */

static void add_present(plim_moccasin_cost *cost, const plim_moccasin_model *model) {
  cost->present_ns = 0;
  for (int32_t x = 0; x < model->n_variables; x++) {
    if (plim_moccasin_present(model, x)) cost->present_ns += time_of(model, x);
  }
}

/* Repeats that alone take more than what is left. */
static plim_status leave_out(plim_moccasin_cost *cost, plim_moccasin_model *model, int64_t allowed_ns) {
  int64_t least = INT64_MAX, left = allowed_ns - cost->present_ns;
  int32_t begin = model->clauses.reasons.n;
  for (int32_t x = 0; x < model->n_variables; x++) {
    if (plim_moccasin_present(model, x) || plim_moccasin_fixed(model, x) || time_of(model, x) <= left) continue;
    if (time_of(model, x) < least) least = time_of(model, x);
  }
  if (least == INT64_MAX) return PLIM_OK;
  PLIM_TRY(note_present(model, least - left - 1));
  for (int32_t x = 0; x < model->n_variables; x++) {
    if (plim_moccasin_present(model, x) || time_of(model, x) <= left) continue;
    PLIM_TRY(plim_lazy_clauses_imply(&model->clauses, plim_lazy_clauses_at_least(x, model->absent[x]), begin));
  }
  return PLIM_OK;
}

static plim_status fail_row(plim_moccasin_cost *cost, plim_moccasin_model *model, plim_moccasin_row *row,
                            int64_t lacks) {
  int32_t begin = model->clauses.reasons.n;
  row->price = 0;
  PLIM_TRY(note_row(cost, model, row, lacks - 1));
  return plim_lazy_clauses_fail(&model->clauses, begin);
}

static plim_status charge_rows(plim_moccasin_cost *cost, plim_moccasin_model *model, int64_t allowed_ns) {
  double total = 0, most = (double)(allowed_ns - cost->present_ns);
  for (int32_t i = 0; i < model->n_uses; i++) cost->left[i] = (double)model->dag->node[model->use[i].node].time_ns;
  for (int32_t r = 0; r < cost->n_rows; r++) {
    int64_t lacks;
    total += charge_row(cost, model, &cost->row[r], &lacks);
    if (lacks > 0) return fail_row(cost, model, &cost->row[r], lacks);
    if (total * (1 - 1e-9) <= most) continue; /* rounding never raises it */
    int32_t begin = model->clauses.reasons.n;
    PLIM_TRY(note_present(model, 0));
    for (int32_t i = 0; i <= r; i++) PLIM_TRY(note_row(cost, model, &cost->row[i], 0));
    return plim_lazy_clauses_fail(&model->clauses, begin);
  }
  return PLIM_OK;
}

plim_status plim_moccasin_cost_bound(plim_moccasin_cost *cost, plim_moccasin_model *model, int64_t allowed_ns) {
  PLIM_TRY(reserve(cost, model));
  add_present(cost, model);
  if (cost->present_ns > allowed_ns) {
    int32_t begin = model->clauses.reasons.n;
    PLIM_TRY(note_present(model, cost->present_ns - allowed_ns - 1));
    return plim_lazy_clauses_fail(&model->clauses, begin);
  }
  list_rows(cost, model);
  if (cost->n_rows > 0) list_spared(cost, model);
  PLIM_TRY(charge_rows(cost, model, allowed_ns));
  return model->clauses.has_failed ? PLIM_OK : leave_out(cost, model, allowed_ns);
}
