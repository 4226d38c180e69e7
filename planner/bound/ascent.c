/* A lower bound by multipliers of rows, for programs that are too large for the simplex method. Two phases:
 *
 * Blocking visits a few cuts. A cut whose free columns do not suffice gives a row. The multiplier of the row is raised
 * until one of its columns has no reduced cost; that column is free from then on. Each row yields a bound.
 * The volume algorithm moves the multipliers along the average violation of each row. The average of the minimisers
 * becomes a point of the relaxation. Cuts that this point violates give new rows; rows that never bind are removed.
 * For 10,000 columns about a hundred rows remain; a simplex dictionary would be full long before.
 * Sources: Erlenkotter, A dual-based procedure for uncapacitated facility location, 1978; Barahona, Anbil, The volume
 * algorithm, 2000. */
#include "planner/bound/cut_model.h"

#include <math.h>
#include <string.h>

#include "planner/bound/bound_tuning.h"
#include "planner/bound/lp.h"
#include "runtime/base/array.h"

struct plim_cut_ascent {
  const plim_cut_model *model;
  plim_context *ctx;
  plim_cut_flow *flow;
  const double *cost;           /* [n_columns] borrowed */
  int32_t n_cuts, passes, next; /* cuts of the budget; passes of blocking made; the cut to look at next */
  int64_t budget_bytes;
  int64_t work;                                     /* entries visited so far */
  int64_t entries;                                  /* of all rows */
  plim_cut_rows rows;                               /* fitted to the budget */
  double *multiplier, *best_multiplier, *direction; /* [rows.n] of the last move, of the best bound; direction */
  int64_t capacity[3];                              /* of these three */
  double *left;  /* [n_columns] reduced cost: the cost minus what the rows take of it */
  double *x;     /* [n_columns] minimiser for the multipliers, 0 or 1 */
  double *point; /* [n_columns] average of the minimisers */
  double best;   /* the best bound */
  double stride;
  int32_t worse; /* moves in succession that gained nothing */
  plim_block block;
};

static void lay_out(plim_cut_ascent *ascent, plim_block *memory) {
  int64_t n = ascent->model->n_columns;
  ascent->left = plim_block_take(memory, n, sizeof *ascent->left);
  ascent->x = plim_block_take(memory, n, sizeof *ascent->x);
  ascent->point = plim_block_take(memory, n, sizeof *ascent->point);
}

/* Add a row with its multiplier. */
static plim_status add_row(plim_cut_ascent *ascent, const plim_cut_row *row, double multiplier) {
  int64_t n = (int64_t)ascent->rows.n + 1;
  PLIM_TRY(plim_array_reserve(ascent->ctx, &ascent->multiplier, &ascent->capacity[0], n, sizeof *ascent->multiplier));
  PLIM_TRY(plim_array_reserve(ascent->ctx, &ascent->best_multiplier, &ascent->capacity[1], n,
                              sizeof *ascent->best_multiplier));
  PLIM_TRY(plim_array_reserve(ascent->ctx, &ascent->direction, &ascent->capacity[2], n, sizeof *ascent->direction));
  PLIM_TRY(plim_cut_rows_add(&ascent->rows, row));
  ascent->multiplier[n - 1] = ascent->best_multiplier[n - 1] = multiplier;
  ascent->entries += row->n;
  return PLIM_OK;
}

/* Start from the rows and prices of another budget: they are near those of this one. */
static plim_status take_start(plim_cut_ascent *ascent, const plim_cut_rows *start) {
  for (int32_t r = 0; r < start->n && ascent->entries < bound_tuning.volume.entries; r++) {
    const plim_cut_row *row = &start->row[r];
    if (row->price > 0) PLIM_TRY(add_row(ascent, row, row->price * plim_cut_row_unit(row, ascent->budget_bytes)));
  }
  return PLIM_OK;
}

plim_status plim_cut_ascent_new(const plim_cut_model *model, plim_cut_flow *flow, const double *cost, int32_t n_cuts,
                                int64_t budget_bytes, const plim_cut_rows *start, plim_cut_ascent **out) {
  plim_context *ctx = model->problem->ctx;
  plim_cut_ascent *ascent = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *ascent, &ascent));
  *ascent = (plim_cut_ascent){.model = model,
                              .ctx = ctx,
                              .flow = flow,
                              .cost = cost,
                              .n_cuts = n_cuts,
                              .budget_bytes = budget_bytes,
                              .rows = {.ctx = ctx},
                              .stride = bound_tuning.volume.stride_first};
  lay_out(ascent, &ascent->block);
  plim_status status = plim_block_allocate(ctx, &ascent->block);
  if (status != PLIM_OK) {
    plim_release(ctx, ascent, 1, sizeof *ascent);
    return status;
  }
  lay_out(ascent, &ascent->block);
  memcpy(ascent->left, cost, (size_t)model->n_columns * sizeof *cost);
  status = take_start(ascent, start);
  if (status != PLIM_OK) {
    plim_cut_ascent_free(ascent);
    return status;
  }
  *out = ascent;
  return PLIM_OK;
}

void plim_cut_ascent_free(plim_cut_ascent *ascent) {
  if (!ascent) return;
  plim_context *ctx = ascent->ctx;
  plim_cut_rows_free(&ascent->rows);
  plim_release(ctx, ascent->multiplier, ascent->capacity[0], sizeof *ascent->multiplier);
  plim_release(ctx, ascent->best_multiplier, ascent->capacity[1], sizeof *ascent->best_multiplier);
  plim_release(ctx, ascent->direction, ascent->capacity[2], sizeof *ascent->direction);
  plim_block_release(ctx, &ascent->block);
  plim_release(ctx, ascent, 1, sizeof *ascent);
}

const plim_cut_rows *plim_cut_ascent_rows(const plim_cut_ascent *ascent) {
  return &ascent->rows;
}

const double *plim_cut_ascent_multipliers(const plim_cut_ascent *ascent) {
  return ascent->best_multiplier;
}

const double *plim_cut_ascent_point(const plim_cut_ascent *ascent) {
  return ascent->point;
}

double plim_cut_ascent_bound(const plim_cut_ascent *ascent) {
  return ascent->best;
}

int64_t plim_cut_ascent_work(const plim_cut_ascent *ascent) {
  return ascent->work;
}

/* ---- blocking ---- */

/* How far the row's multiplier can rise before a column that is not free costs nothing more. */
static double room_of_row(const plim_cut_ascent *ascent, const plim_cut_row *row) {
  double least = INFINITY;
  for (int32_t k = 0; k < row->n; k++) {
    double room = ascent->left[row->column[k]] / (double)row->weight[k];
    if (room < least) least = room;
  }
  return least;
}

/* Raise multipliers of rows of one cut, until its free columns suffice. */
static plim_status block_cut(plim_cut_ascent *ascent, const plim_cut *cut, double share, int32_t *impossible) {
  for (int32_t i = 0; i < bound_tuning.block.rows_a_cut && ascent->entries < bound_tuning.volume.entries; i++) {
    plim_cut_row row;
    if (plim_cut_flow_run(ascent->flow, cut, ascent->x, ascent->left, ascent->budget_bytes) <= 0) return PLIM_OK;
    plim_cut_flow_row(ascent->flow, &row);
    if (row.demand <= 0) return PLIM_OK;
    *impossible = row.n == 0;
    if (*impossible) return PLIM_OK;
    double rise = room_of_row(ascent, &row) * share;
    ascent->work += row.n;
    if (!(rise > 0)) return PLIM_OK;
    for (int32_t k = 0; k < row.n; k++) {
      int32_t j = row.column[k];
      ascent->left[j] -= rise * (double)row.weight[k];
      if (ascent->left[j] <= bound_tuning.block.free_below * ascent->cost[j]) ascent->left[j] = 0;
      if (ascent->left[j] == 0) ascent->x[j] = 1;
    }
    PLIM_TRY(add_row(ascent, &row, rise));
    if (share < 1) return PLIM_OK;
  }
  return PLIM_OK;
}

static plim_status run_blocking(plim_cut_ascent *ascent, int (*stop)(void *user), void *user, int32_t *impossible) {
  for (int32_t j = 0; j < ascent->model->n_columns; j++) ascent->x[j] = ascent->left[j] <= 0;
  for (; ascent->passes < PLIM_BLOCK_PASSES; ascent->passes++) {
    for (int32_t k = 0; k < bound_tuning.block.cuts && k < ascent->n_cuts; k++) {
      int32_t c = (int32_t)((int64_t)k * ascent->n_cuts / bound_tuning.block.cuts);
      if (stop(user)) return PLIM_OK;
      PLIM_TRY(block_cut(ascent, &ascent->model->cut[c], bound_tuning.block.share[ascent->passes], impossible));
      if (*impossible) return PLIM_OK;
    }
  }
  memcpy(ascent->point, ascent->x, (size_t)ascent->model->n_columns * sizeof *ascent->x);
  return PLIM_OK;
}

/* ---- volume algorithm ---- */

/* The minimiser for the multipliers; returns its value, which is a bound. */
static double evaluate(plim_cut_ascent *ascent) {
  double value = 0;
  memcpy(ascent->left, ascent->cost, (size_t)ascent->model->n_columns * sizeof *ascent->left);
  for (int32_t r = 0; r < ascent->rows.n; r++) {
    const plim_cut_row *row = &ascent->rows.row[r];
    double m = ascent->multiplier[r];
    if (m <= 0) continue;
    value += m * (double)row->demand;
    for (int32_t k = 0; k < row->n; k++) ascent->left[row->column[k]] -= m * (double)row->weight[k];
  }
  for (int32_t j = 0; j < ascent->model->n_columns; j++) {
    ascent->x[j] = ascent->left[j] < 0;
    if (ascent->left[j] < 0) value += ascent->left[j];
  }
  ascent->work += 2 * ascent->entries + 4 * (int64_t)ascent->model->n_columns;
  return value;
}

/* By how much the point misses the demand of the row, as a share of it. */
static double missed_share(const plim_cut_row *row, const double *point) {
  double miss = (double)row->demand;
  for (int32_t k = 0; k < row->n; k++) miss -= (double)row->weight[k] * point[row->column[k]];
  return miss / (double)row->demand;
}

/* New multipliers: from the best ones, along what the average point misses of each row. */
static void move_multipliers(plim_cut_ascent *ascent) {
  double length = 0;
  for (int32_t r = 0; r < ascent->rows.n; r++) {
    double miss = missed_share(&ascent->rows.row[r], ascent->point);
    if (miss < 0 && ascent->best_multiplier[r] <= 0) miss = 0;
    ascent->direction[r] = miss;
    length += miss * miss;
  }
  double stride = length > 0 ? ascent->stride * bound_tuning.volume.target * ascent->best / length : 0;
  for (int32_t r = 0; r < ascent->rows.n; r++) {
    double m = ascent->best_multiplier[r] + stride * ascent->direction[r] / (double)ascent->rows.row[r].demand;
    ascent->multiplier[r] = m > 0 ? m : 0;
  }
  ascent->work += ascent->entries + ascent->rows.n;
}

/* Take the value of a move: a new best makes the stride longer, several misses make it shorter. */
static void note_value(plim_cut_ascent *ascent, double value) {
  if (value > ascent->best) {
    ascent->best = value;
    memcpy(ascent->best_multiplier, ascent->multiplier, (size_t)ascent->rows.n * sizeof *ascent->multiplier);
    ascent->worse = 0;
    ascent->stride *= bound_tuning.volume.stride_longer;
    return;
  }
  if (++ascent->worse % bound_tuning.volume.misses == 0) ascent->stride *= bound_tuning.volume.stride_shorter;
}

/* Add rows of cuts that the average point violates. Cuts take turns. */
static plim_status separate(plim_cut_ascent *ascent, int (*stop)(void *user), void *user, int32_t *added,
                            int32_t *impossible) {
  *added = 0;
  for (int32_t j = 0; j < ascent->model->n_columns; j++) ascent->left[j] = ascent->left[j] > 0 ? ascent->left[j] : 0;
  for (int32_t k = 0;
       k < ascent->n_cuts && *added < bound_tuning.volume.rows_a_round && ascent->entries < bound_tuning.volume.entries;
       k++) {
    const plim_cut *cut = &ascent->model->cut[ascent->next];
    ascent->next =
        (int32_t)((ascent->next +
                   (int64_t)(ascent->n_cuts % bound_tuning.volume.cut_step > 0 ? bound_tuning.volume.cut_step : 1)) %
                  ascent->n_cuts);
    plim_cut_row row;
    if (stop(user)) return PLIM_OK;
    double over = plim_cut_flow_run(ascent->flow, cut, ascent->point, ascent->left, ascent->budget_bytes);
    if (over <=
        bound_tuning.volume.violated_above * (double)(cut->base_bytes + cut->needed_bytes - ascent->budget_bytes)) {
      continue;
    }
    plim_cut_flow_row(ascent->flow, &row);
    if (row.demand <= 0) continue;
    *impossible = row.n == 0;
    if (*impossible) return PLIM_OK;
    PLIM_TRY(add_row(ascent, &row, 0));
    ++*added;
  }
  return PLIM_OK;
}

/* Remove rows whose multiplier is 0. */
static plim_status sift(plim_cut_ascent *ascent) {
  uint8_t *keep = NULL;
  int32_t n = 0, all = ascent->rows.n;
  PLIM_TRY(plim_allocate(ascent->ctx, all, 1, &keep));
  ascent->entries = 0;
  for (int32_t r = 0; r < all; r++) {
    keep[r] = ascent->best_multiplier[r] > 0;
    if (!keep[r]) continue;
    ascent->entries += ascent->rows.row[r].n;
    ascent->best_multiplier[n++] = ascent->best_multiplier[r];
  }
  plim_cut_rows_sift(&ascent->rows, keep);
  plim_release(ascent->ctx, keep, all, 1);
  return PLIM_OK;
}

static plim_status run_volume(plim_cut_ascent *ascent, int (*stop)(void *user), void *user, int32_t *impossible) {
  int32_t added = 1, idle = 0;
  while (idle < bound_tuning.volume.idle_rounds && !*impossible && !stop(user)) {
    double before = ascent->best;
    for (int32_t i = 0; i < bound_tuning.volume.moves_a_round && !stop(user); i++) {
      move_multipliers(ascent);
      double value = evaluate(ascent);
      for (int32_t j = 0; j < ascent->model->n_columns; j++) {
        ascent->point[j] += bound_tuning.volume.average * (ascent->x[j] - ascent->point[j]);
      }
      note_value(ascent, value);
    }
    if (ascent->stride < bound_tuning.volume.stride_min) ascent->stride = bound_tuning.volume.stride_min;
    PLIM_TRY(sift(ascent));
    PLIM_TRY(separate(ascent, stop, user, &added, impossible));
    if (ascent->best > before * bound_tuning.volume.gain) {
      idle = 0;
    } else if (++idle < bound_tuning.volume.idle_rounds - bound_tuning.volume.rounds_left && added == 0) {
      idle = bound_tuning.volume.idle_rounds - bound_tuning.volume.rounds_left;
    }
  }
  return PLIM_OK;
}

/* Multipliers of another budget may all be too large: halve them as often as gives the best bound. */
static void find_scale(plim_cut_ascent *ascent) {
  double scale = 1;
  memcpy(ascent->multiplier, ascent->best_multiplier, (size_t)ascent->rows.n * sizeof *ascent->multiplier);
  ascent->best = evaluate(ascent);
  for (int i = 1; i <= bound_tuning.volume.halvings; i++) {
    for (int32_t r = 0; r < ascent->rows.n; r++) ascent->multiplier[r] *= 0.5;
    double value = evaluate(ascent);
    if (value <= ascent->best) continue;
    ascent->best = value;
    scale = ldexp(1, -i);
  }
  for (int32_t r = 0; r < ascent->rows.n; r++) ascent->multiplier[r] = ascent->best_multiplier[r] *= scale;
  (void)evaluate(ascent);
}

/* Begin from the rows of another budget; where they prove nothing here, from no rows. */
static void begin_known(plim_cut_ascent *ascent) {
  if (ascent->rows.n > 0) find_scale(ascent);
  if (ascent->rows.n > 0 && ascent->best > 0) {
    for (int32_t j = 0; j < ascent->model->n_columns; j++) ascent->left[j] = ascent->left[j] > 0 ? ascent->left[j] : 0;
    return;
  }
  plim_cut_rows_free(&ascent->rows);
  memcpy(ascent->left, ascent->cost, (size_t)ascent->model->n_columns * sizeof *ascent->left);
  ascent->entries = 0;
}

plim_status plim_cut_ascend(plim_cut_ascent *ascent, int (*stop)(void *user), void *user, int32_t *impossible) {
  *impossible = 0;
  begin_known(ascent);
  PLIM_TRY(run_blocking(ascent, stop, user, impossible));
  if (*impossible || ascent->rows.n == 0) return PLIM_OK;
  memcpy(ascent->multiplier, ascent->best_multiplier, (size_t)ascent->rows.n * sizeof *ascent->multiplier);
  ascent->best = evaluate(ascent);
  return run_volume(ascent, stop, user, impossible);
}
