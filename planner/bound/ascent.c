/* Two phases. Blocking visits a few cuts. A cut whose free columns do not suffice gives a row. The multiplier of the
 * row is raised until one of its columns has no reduced cost; that column is free from then on. Every step yields a
 * bound. The volume algorithm follows. It moves the multipliers along the average violation of each row. The average of
 * the minimisers becomes a point of the relaxation. Cuts that this point violates give new rows; rows that never bind
 * are removed. Of 10,000 columns about a hundred rows remain; a simplex dictionary would fill with rows long before.
 * Sources: Erlenkotter, A dual-based procedure for uncapacitated facility location, 1978; Barahona, Anbil, The volume
 * algorithm, 2000. */
#include "planner/bound/cut_internal.h"

#include <math.h>
#include <string.h>

#include "runtime/base/array.h"

/* Of blocking: cuts that are asked, how often, and steps at one cut; of each step only a share is taken at first, so
 * that the cut asked first does not take all. */
enum { BLOCKED = 4, PASSES = 2, STEPS_A_CUT = 12 };
static const double shares[PASSES] = {0.5, 1}, free_below = 1e-9;

/* Of volume: moves between two looks at cuts, rows that a look adds, the distance between cuts asked one after the
 * other (a prime, so that all have their turn), rounds without a gain before the end, and before it when no cut is
 * violated. */
enum { MOVES_A_ROUND = 60, ROWS_A_ROUND = 32, FAR = 7919, IDLE_ROUNDS = 16, ROUNDS_LEFT = 2 };
enum { HALVES = 8 /* of multipliers to start from */ };
enum { MOST_ENTRIES = 12000000 /* of rows, 150 MB */ };
static const double average = 0.1 /* weight of a new point */, violated_above = 0.02, gains_little = 1.0001;
/* The way that a move aims at: a value somewhat above the best, by a stride that shrinks where nothing is gained. */
static const double target = 1.05, first_stride = 0.2, least_stride = 1e-3, longer = 1.1, shorter = 0.66;
enum { MISSES = 10 /* moves without a gain that shorten it */ };

struct plim_cut_ascent {
  const plim_cut_model *model;
  plim_context *ctx;
  plim_cut_flow *flow;
  const double *cost;
  int32_t n_cuts, passes, next;
  int64_t budget_bytes, work, entries;
  plim_cut_rows rows;
  double *multiplier, *best_multiplier, *step; /* [rows.n] */
  int64_t room[3];
  double *left, *x, *point; /* [n_columns] cost less what rows take; the least point; the average */
  double best, stride;
  int32_t worse; /* moves in a row that gained nothing */
  plim_block block;
};

static void carve(plim_cut_ascent *a, plim_block *b) {
  int64_t n = a->model->n_columns;
  a->left = plim_block_take(b, n, sizeof *a->left);
  a->x = plim_block_take(b, n, sizeof *a->x);
  a->point = plim_block_take(b, n, sizeof *a->point);
}

/* The row of the flow's last run, with that multiplier. */
static plim_status add_row(plim_cut_ascent *a, const plim_cut_row *row, double multiplier) {
  int64_t n = (int64_t)a->rows.n + 1;
  PLIM_TRY(plim_array_reserve(a->ctx, &a->multiplier, &a->room[0], n, sizeof *a->multiplier));
  PLIM_TRY(plim_array_reserve(a->ctx, &a->best_multiplier, &a->room[1], n, sizeof *a->best_multiplier));
  PLIM_TRY(plim_array_reserve(a->ctx, &a->step, &a->room[2], n, sizeof *a->step));
  PLIM_TRY(plim_cut_rows_add(&a->rows, row));
  a->multiplier[n - 1] = a->best_multiplier[n - 1] = multiplier;
  a->entries += row->n;
  return PLIM_OK;
}

/* What rows were worth at another budget is not far from what they are worth here. */
static plim_status take_start(plim_cut_ascent *a, const plim_cut_rows *start) {
  for (int32_t r = 0; r < start->n && a->entries < MOST_ENTRIES; r++) {
    const plim_cut_row *row = &start->row[r];
    if (row->price > 0) PLIM_TRY(add_row(a, row, row->price * plim_cut_row_unit(row, a->budget_bytes)));
  }
  return PLIM_OK;
}

plim_status plim_cut_ascent_new(const plim_cut_model *m, plim_cut_flow *flow, const double *cost, int32_t n_cuts,
                                int64_t budget_bytes, const plim_cut_rows *start, plim_cut_ascent **out) {
  plim_context *ctx = m->problem->ctx;
  plim_cut_ascent *a = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *a, &a));
  *a = (plim_cut_ascent){.model = m,
                         .ctx = ctx,
                         .flow = flow,
                         .cost = cost,
                         .n_cuts = n_cuts,
                         .budget_bytes = budget_bytes,
                         .rows = {.ctx = ctx},
                         .stride = first_stride};
  carve(a, &a->block);
  plim_status status = plim_block_allocate(ctx, &a->block);
  if (status != PLIM_OK) {
    plim_release(ctx, a, 1, sizeof *a);
    return status;
  }
  carve(a, &a->block);
  memcpy(a->left, cost, (size_t)m->n_columns * sizeof *cost);
  status = take_start(a, start);
  if (status != PLIM_OK) {
    plim_cut_ascent_free(a);
    return status;
  }
  *out = a;
  return PLIM_OK;
}

void plim_cut_ascent_free(plim_cut_ascent *a) {
  if (!a) return;
  plim_context *ctx = a->ctx;
  plim_cut_rows_free(&a->rows);
  plim_release(ctx, a->multiplier, a->room[0], sizeof *a->multiplier);
  plim_release(ctx, a->best_multiplier, a->room[1], sizeof *a->best_multiplier);
  plim_release(ctx, a->step, a->room[2], sizeof *a->step);
  plim_release(ctx, a->block.base, a->block.bytes, 1);
  plim_release(ctx, a, 1, sizeof *a);
}

const plim_cut_rows *plim_cut_ascent_rows(const plim_cut_ascent *a) {
  return &a->rows;
}

const double *plim_cut_ascent_multipliers(const plim_cut_ascent *a) {
  return a->best_multiplier;
}

const double *plim_cut_ascent_point(const plim_cut_ascent *a) {
  return a->point;
}

double plim_cut_ascent_bound(const plim_cut_ascent *a) {
  return a->best;
}

int64_t plim_cut_ascent_work(const plim_cut_ascent *a) {
  return a->work;
}

/* ---- by blocking ---- */

/* How far the row's multiplier can rise before a column that is not free costs nothing more. */
static double room_of_row(const plim_cut_ascent *a, const plim_cut_row *row) {
  double least = INFINITY;
  for (int32_t k = 0; k < row->n; k++) {
    double room = a->left[row->column[k]] / (double)row->weight[k];
    if (room < least) least = room;
  }
  return least;
}

static plim_status block_cut(plim_cut_ascent *a, const plim_cut *cut, double share, int32_t *impossible) {
  for (int32_t step = 0; step < STEPS_A_CUT && a->entries < MOST_ENTRIES; step++) {
    plim_cut_row row;
    if (plim_cut_flow_run(a->flow, cut, a->x, a->left, a->budget_bytes) <= 0) return PLIM_OK;
    plim_cut_flow_row(a->flow, &row);
    if (row.demand <= 0) return PLIM_OK;
    *impossible = row.n == 0;
    if (*impossible) return PLIM_OK;
    double rise = room_of_row(a, &row) * share;
    a->work += row.n;
    if (!(rise > 0)) return PLIM_OK;
    for (int32_t k = 0; k < row.n; k++) {
      int32_t j = row.column[k];
      a->left[j] -= rise * (double)row.weight[k];
      if (a->left[j] <= free_below * a->cost[j]) a->left[j] = 0;
      if (a->left[j] == 0) a->x[j] = 1;
    }
    PLIM_TRY(add_row(a, &row, rise));
    if (share < 1) return PLIM_OK;
  }
  return PLIM_OK;
}

static plim_status block(plim_cut_ascent *a, int (*stop)(void *user), void *user, int32_t *impossible) {
  for (int32_t j = 0; j < a->model->n_columns; j++) a->x[j] = a->left[j] <= 0;
  for (; a->passes < PASSES; a->passes++) {
    for (int32_t k = 0; k < BLOCKED && k < a->n_cuts; k++) {
      int32_t c = (int32_t)((int64_t)k * a->n_cuts / BLOCKED);
      if (stop(user)) return PLIM_OK;
      PLIM_TRY(block_cut(a, &a->model->cut[c], shares[a->passes], impossible));
      if (*impossible) return PLIM_OK;
    }
  }
  memcpy(a->point, a->x, (size_t)a->model->n_columns * sizeof *a->x);
  return PLIM_OK;
}

/* ---- by volume ---- */

/* The least point for the multipliers, and its value. */
static double evaluate(plim_cut_ascent *a) {
  double value = 0;
  memcpy(a->left, a->cost, (size_t)a->model->n_columns * sizeof *a->left);
  for (int32_t r = 0; r < a->rows.n; r++) {
    const plim_cut_row *row = &a->rows.row[r];
    double m = a->multiplier[r];
    if (m <= 0) continue;
    value += m * (double)row->demand;
    for (int32_t k = 0; k < row->n; k++) a->left[row->column[k]] -= m * (double)row->weight[k];
  }
  for (int32_t j = 0; j < a->model->n_columns; j++) {
    a->x[j] = a->left[j] < 0;
    if (a->left[j] < 0) value += a->left[j];
  }
  a->work += 2 * a->entries + 4 * (int64_t)a->model->n_columns;
  return value;
}

static double missed(const plim_cut_row *row, const double *point) {
  double miss = (double)row->demand;
  for (int32_t k = 0; k < row->n; k++) miss -= (double)row->weight[k] * point[row->column[k]];
  return miss / (double)row->demand;
}

/* From the best multipliers, along what the average point misses. Steps are measured in rows of demand 1. */
static void move(plim_cut_ascent *a) {
  double length = 0;
  for (int32_t r = 0; r < a->rows.n; r++) {
    double miss = missed(&a->rows.row[r], a->point);
    if (miss < 0 && a->best_multiplier[r] <= 0) miss = 0;
    a->step[r] = miss;
    length += miss * miss;
  }
  double stride = length > 0 ? a->stride * target * a->best / length : 0;
  for (int32_t r = 0; r < a->rows.n; r++) {
    double m = a->best_multiplier[r] + stride * a->step[r] / (double)a->rows.row[r].demand;
    a->multiplier[r] = m > 0 ? m : 0;
  }
  a->work += a->entries + a->rows.n;
}

static void take(plim_cut_ascent *a, double value) {
  if (value > a->best) {
    a->best = value;
    memcpy(a->best_multiplier, a->multiplier, (size_t)a->rows.n * sizeof *a->multiplier);
    a->worse = 0;
    a->stride *= longer;
    return;
  }
  if (++a->worse % MISSES == 0) a->stride *= shorter;
}

/* Rows of the cuts in turn that the average violates. */
static plim_status separate(plim_cut_ascent *a, int (*stop)(void *user), void *user, int32_t *added,
                            int32_t *impossible) {
  *added = 0;
  for (int32_t j = 0; j < a->model->n_columns; j++) a->left[j] = a->left[j] > 0 ? a->left[j] : 0;
  for (int32_t k = 0; k < a->n_cuts && *added < ROWS_A_ROUND && a->entries < MOST_ENTRIES; k++) {
    const plim_cut *cut = &a->model->cut[a->next];
    a->next = (int32_t)((a->next + (int64_t)(a->n_cuts % FAR > 0 ? FAR : 1)) % a->n_cuts);
    plim_cut_row row;
    if (stop(user)) return PLIM_OK;
    double over = plim_cut_flow_run(a->flow, cut, a->point, a->left, a->budget_bytes);
    if (over <= violated_above * (double)(cut->base_bytes + cut->needed_bytes - a->budget_bytes)) continue;
    plim_cut_flow_row(a->flow, &row);
    if (row.demand <= 0) continue;
    *impossible = row.n == 0;
    if (*impossible) return PLIM_OK;
    PLIM_TRY(add_row(a, &row, 0));
    ++*added;
  }
  return PLIM_OK;
}

/* Forget rows that bind nowhere. */
static plim_status sift(plim_cut_ascent *a) {
  uint8_t *keep = NULL;
  int32_t n = 0, all = a->rows.n;
  PLIM_TRY(plim_allocate(a->ctx, all, 1, &keep));
  a->entries = 0;
  for (int32_t r = 0; r < all; r++) {
    keep[r] = a->best_multiplier[r] > 0;
    if (!keep[r]) continue;
    a->entries += a->rows.row[r].n;
    a->best_multiplier[n++] = a->best_multiplier[r];
  }
  plim_cut_rows_sift(&a->rows, keep);
  plim_release(a->ctx, keep, all, 1);
  return PLIM_OK;
}

static plim_status volume(plim_cut_ascent *a, int (*stop)(void *user), void *user, int32_t *impossible) {
  int32_t added = 1, idle = 0;
  while (idle < IDLE_ROUNDS && !*impossible && !stop(user)) {
    double before = a->best;
    for (int32_t i = 0; i < MOVES_A_ROUND && !stop(user); i++) {
      move(a);
      double value = evaluate(a);
      for (int32_t j = 0; j < a->model->n_columns; j++) a->point[j] += average * (a->x[j] - a->point[j]);
      take(a, value);
    }
    if (a->stride < least_stride) a->stride = least_stride;
    PLIM_TRY(sift(a));
    PLIM_TRY(separate(a, stop, user, &added, impossible));
    if (a->best > before * gains_little) {
      idle = 0;
    } else if (++idle < IDLE_ROUNDS - ROUNDS_LEFT && added == 0) {
      idle = IDLE_ROUNDS - ROUNDS_LEFT;
    }
  }
  return PLIM_OK;
}

/* Multipliers of another budget may be too large together: of halves upon halves the best. */
static void find_scale(plim_cut_ascent *a) {
  double scale = 1;
  memcpy(a->multiplier, a->best_multiplier, (size_t)a->rows.n * sizeof *a->multiplier);
  a->best = evaluate(a);
  for (int i = 1; i <= HALVES; i++) {
    for (int32_t r = 0; r < a->rows.n; r++) a->multiplier[r] *= 0.5;
    double value = evaluate(a);
    if (value <= a->best) continue;
    a->best = value;
    scale = ldexp(1, -i);
  }
  for (int32_t r = 0; r < a->rows.n; r++) a->multiplier[r] = a->best_multiplier[r] *= scale;
  (void)evaluate(a);
}

/* Rows of another budget that prove nothing here are no start; blocking continues from what the others leave. */
static void begin_known(plim_cut_ascent *a) {
  if (a->rows.n > 0) find_scale(a);
  if (a->rows.n > 0 && a->best > 0) {
    for (int32_t j = 0; j < a->model->n_columns; j++) a->left[j] = a->left[j] > 0 ? a->left[j] : 0;
    return;
  }
  plim_cut_rows_free(&a->rows);
  memcpy(a->left, a->cost, (size_t)a->model->n_columns * sizeof *a->left);
  a->entries = 0;
}

plim_status plim_cut_ascend(plim_cut_ascent *a, int (*stop)(void *user), void *user, int32_t *impossible) {
  *impossible = 0;
  begin_known(a);
  PLIM_TRY(block(a, stop, user, impossible));
  if (*impossible || a->rows.n == 0) return PLIM_OK;
  memcpy(a->multiplier, a->best_multiplier, (size_t)a->rows.n * sizeof *a->multiplier);
  a->best = evaluate(a);
  return volume(a, stop, user, impossible);
}
