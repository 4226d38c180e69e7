/* A lower bound by multipliers of rows, for programs that are too large for the simplex method. Two phases:
 *
 * Blocking visits a few cuts. A cut whose free columns do not suffice gives a row. The multiplier of the row is raised
 * until one of its columns has no reduced cost; that column is free from then on. Every step yields a bound.
 * The volume algorithm moves the multipliers along the average violation of each row. The average of the minimisers
 * becomes a point of the relaxation. Cuts that this point violates give new rows; rows that never bind are removed.
 * For 10,000 columns about a hundred rows remain; a simplex dictionary would be full long before.
 * Sources: Erlenkotter, A dual-based procedure for uncapacitated facility location, 1978; Barahona, Anbil, The volume
 * algorithm, 2000. */
#include "planner/bound/cut_solver.h"

#include <math.h>
#include <string.h>

#include "planner/bound/bound_tuning.h"
#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"
#include "runtime/base/array.h"

struct plim_cut_ascent {
  const plim_cut_model *model;
  plim_context *ctx;
  plim_cut_flow *flow;
  const double *cost;           /* [n_columns] borrowed */
  int32_t n_cuts, passes, next; /* cuts of the budget; passes of blocking made; the cut to look at next */
  int64_t budget_bytes;
  int64_t work;                                /* steps so far */
  int64_t entries;                             /* of all rows */
  plim_cut_rows rows;                          /* fitted to the budget */
  double *multiplier, *best_multiplier, *step; /* [rows.n] of the last move, of the best bound; direction */
  int64_t room[3];                             /* of these three */
  double *left;                                /* [n_columns] reduced cost: the cost minus what the rows take of it */
  double *x;                                   /* [n_columns] minimiser for the multipliers, 0 or 1 */
  double *point;                               /* [n_columns] average of the minimisers */
  double best;                                 /* the best bound */
  double stride;
  int32_t worse; /* moves in succession that gained nothing */
  plim_block block;
};

static void lay_out(plim_cut_ascent *a, plim_block *b) {
  int64_t n = a->model->n_columns;
  a->left = plim_block_take(b, n, sizeof *a->left);
  a->x = plim_block_take(b, n, sizeof *a->x);
  a->point = plim_block_take(b, n, sizeof *a->point);
}

/* Add a row with its multiplier. */
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

/* Start from the rows and prices of another budget: they are near those of this one. */
static plim_status take_start(plim_cut_ascent *a, const plim_cut_rows *start) {
  for (int32_t r = 0; r < start->n && a->entries < bound_tuning.volume.entries; r++) {
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
                         .stride = bound_tuning.volume.stride_first};
  lay_out(a, &a->block);
  plim_status status = plim_block_allocate(ctx, &a->block);
  if (status != PLIM_OK) {
    plim_release(ctx, a, 1, sizeof *a);
    return status;
  }
  lay_out(a, &a->block);
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
  plim_block_release(ctx, &a->block);
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

/* ---- blocking ---- */

/* How far the row's multiplier can rise before a column that is not free costs nothing more. */
static double room_of_row(const plim_cut_ascent *a, const plim_cut_row *row) {
  double least = INFINITY;
  for (int32_t k = 0; k < row->n; k++) {
    double room = a->left[row->column[k]] / (double)row->weight[k];
    if (room < least) least = room;
  }
  return least;
}

/* Raise multipliers of rows of one cut, until its free columns suffice. */
static plim_status block_cut(plim_cut_ascent *a, const plim_cut *cut, double share, int32_t *impossible) {
  for (int32_t step = 0; step < bound_tuning.block.steps_a_cut && a->entries < bound_tuning.volume.entries; step++) {
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
      if (a->left[j] <= bound_tuning.block.free_below * a->cost[j]) a->left[j] = 0;
      if (a->left[j] == 0) a->x[j] = 1;
    }
    PLIM_TRY(add_row(a, &row, rise));
    if (share < 1) return PLIM_OK;
  }
  return PLIM_OK;
}

static plim_status block(plim_cut_ascent *a, int (*stop)(void *user), void *user, int32_t *impossible) {
  for (int32_t j = 0; j < a->model->n_columns; j++) a->x[j] = a->left[j] <= 0;
  for (; a->passes < PLIM_BLOCK_PASSES; a->passes++) {
    for (int32_t k = 0; k < bound_tuning.block.cuts && k < a->n_cuts; k++) {
      int32_t c = (int32_t)((int64_t)k * a->n_cuts / bound_tuning.block.cuts);
      if (stop(user)) return PLIM_OK;
      PLIM_TRY(block_cut(a, &a->model->cut[c], bound_tuning.block.share[a->passes], impossible));
      if (*impossible) return PLIM_OK;
    }
  }
  memcpy(a->point, a->x, (size_t)a->model->n_columns * sizeof *a->x);
  return PLIM_OK;
}

/* ---- volume algorithm ---- */

/* The minimiser for the multipliers; returns its value, which is a bound. */
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

/* By how much the point misses the demand of the row, as a share of it. */
static double missed(const plim_cut_row *row, const double *point) {
  double miss = (double)row->demand;
  for (int32_t k = 0; k < row->n; k++) miss -= (double)row->weight[k] * point[row->column[k]];
  return miss / (double)row->demand;
}

/* New multipliers: from the best ones, along what the average point misses of each row. */
static void move(plim_cut_ascent *a) {
  double length = 0;
  for (int32_t r = 0; r < a->rows.n; r++) {
    double miss = missed(&a->rows.row[r], a->point);
    if (miss < 0 && a->best_multiplier[r] <= 0) miss = 0;
    a->step[r] = miss;
    length += miss * miss;
  }
  double stride = length > 0 ? a->stride * bound_tuning.volume.target * a->best / length : 0;
  for (int32_t r = 0; r < a->rows.n; r++) {
    double m = a->best_multiplier[r] + stride * a->step[r] / (double)a->rows.row[r].demand;
    a->multiplier[r] = m > 0 ? m : 0;
  }
  a->work += a->entries + a->rows.n;
}

/* Take the value of a move: a new best makes the stride longer, several misses make it shorter. */
static void note_value(plim_cut_ascent *a, double value) {
  if (value > a->best) {
    a->best = value;
    memcpy(a->best_multiplier, a->multiplier, (size_t)a->rows.n * sizeof *a->multiplier);
    a->worse = 0;
    a->stride *= bound_tuning.volume.stride_longer;
    return;
  }
  if (++a->worse % bound_tuning.volume.misses == 0) a->stride *= bound_tuning.volume.stride_shorter;
}

/* Add rows of cuts that the average point violates. Cuts take turns. */
static plim_status separate(plim_cut_ascent *a, int (*stop)(void *user), void *user, int32_t *added,
                            int32_t *impossible) {
  *added = 0;
  for (int32_t j = 0; j < a->model->n_columns; j++) a->left[j] = a->left[j] > 0 ? a->left[j] : 0;
  for (int32_t k = 0;
       k < a->n_cuts && *added < bound_tuning.volume.rows_a_round && a->entries < bound_tuning.volume.entries; k++) {
    const plim_cut *cut = &a->model->cut[a->next];
    a->next = (int32_t)((a->next +
                         (int64_t)(a->n_cuts % bound_tuning.volume.cut_step > 0 ? bound_tuning.volume.cut_step : 1)) %
                        a->n_cuts);
    plim_cut_row row;
    if (stop(user)) return PLIM_OK;
    double over = plim_cut_flow_run(a->flow, cut, a->point, a->left, a->budget_bytes);
    if (over <= bound_tuning.volume.violated_above * (double)(cut->base_bytes + cut->needed_bytes - a->budget_bytes))
      continue;
    plim_cut_flow_row(a->flow, &row);
    if (row.demand <= 0) continue;
    *impossible = row.n == 0;
    if (*impossible) return PLIM_OK;
    PLIM_TRY(add_row(a, &row, 0));
    ++*added;
  }
  return PLIM_OK;
}

/* Remove rows whose multiplier is 0. */
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
  while (idle < bound_tuning.volume.idle_rounds && !*impossible && !stop(user)) {
    double before = a->best;
    for (int32_t i = 0; i < bound_tuning.volume.moves_a_round && !stop(user); i++) {
      move(a);
      double value = evaluate(a);
      for (int32_t j = 0; j < a->model->n_columns; j++)
        a->point[j] += bound_tuning.volume.average * (a->x[j] - a->point[j]);
      note_value(a, value);
    }
    if (a->stride < bound_tuning.volume.stride_min) a->stride = bound_tuning.volume.stride_min;
    PLIM_TRY(sift(a));
    PLIM_TRY(separate(a, stop, user, &added, impossible));
    if (a->best > before * bound_tuning.volume.gain) {
      idle = 0;
    } else if (++idle < bound_tuning.volume.idle_rounds - bound_tuning.volume.rounds_left && added == 0) {
      idle = bound_tuning.volume.idle_rounds - bound_tuning.volume.rounds_left;
    }
  }
  return PLIM_OK;
}

/* Multipliers of another budget may all be too large: halve them as often as gives the best bound. */
static void find_scale(plim_cut_ascent *a) {
  double scale = 1;
  memcpy(a->multiplier, a->best_multiplier, (size_t)a->rows.n * sizeof *a->multiplier);
  a->best = evaluate(a);
  for (int i = 1; i <= bound_tuning.volume.halvings; i++) {
    for (int32_t r = 0; r < a->rows.n; r++) a->multiplier[r] *= 0.5;
    double value = evaluate(a);
    if (value <= a->best) continue;
    a->best = value;
    scale = ldexp(1, -i);
  }
  for (int32_t r = 0; r < a->rows.n; r++) a->multiplier[r] = a->best_multiplier[r] *= scale;
  (void)evaluate(a);
}

/* Begin from the rows of another budget; where they prove nothing here, from no rows. */
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
