/* Builds Checkmate's integer program. Columns exist where stage, order and last uses allow them.
 *
 * A value that is in use in a stage is a balance: what comes in (kept from before, or run) covers each later use, minus
 * what was released until then, and in the end what is kept further on:
 *   for the readers k1 < k2 < ... of i in stage t:   run[t,k1]                          <= keep[t,i] + run[t,i]
 *                                                    run[t,k2] + release[t,i,k1]        <= keep[t,i] + run[t,i]   ...
 *                                                    keep[t+1,i] + sum of release[t,i,] <= keep[t,i] + run[t,i]
 * These rows imply all of the published ones (operands, keeping, the four kinds for releases), are fewer (one an edge
 * and stage instead of one a pair of readers) and give a better relaxation: fractions cannot be released twice. Bytes
 * in use follow run by run. One redundant row a stage, the knapsack of what is kept across the first run of its node,
 * is there for the solver's cover cuts. Source: Jain et al., Checkmate, MLSys 2020, section 4; the balance rows are
 * ours. */
#include "planner/exact/stage_model.h"

#include <math.h>
#include <string.h>

#include "planner/exact/dag.h"
#include "planner/exact/exact_tuning.h"

static size_t cell(const plim_stage_model *model, int32_t t, int32_t i) {
  return plim_stage_cell(model->n, t, i);
}

static double in_units(const plim_dag *dag, int64_t bytes) {
  int64_t n = bytes / dag->bytes_unit;
  return (double)n;
}

/* Bytes as a share of the budget. */
static double share_of(const plim_stage_model *model, int64_t bytes) {
  return in_units(model->dag, bytes) / model->budget;
}

/* The last stage in which a copy is of use: where its last reader may run for something of use; the last one of all for
 * an output. */
static void find_last_uses(plim_stage_model *model) {
  const plim_dag *dag = model->dag;
  for (int32_t v = dag->n - 1; v >= 0; v--) {
    model->last_use[v] = dag->node[v].is_output ? dag->n - 1 : v;
    for (int32_t k = 0; k < dag->node[v].succs.n; k++) {
      int32_t reader = dag->node[v].succs.at[k], until = model->last_use[reader];
      if (dag->node[reader].last_stage < until) until = dag->node[reader].last_stage;
      if (until < reader) until = reader;
      if (until > model->last_use[v]) model->last_use[v] = until;
    }
  }
}

static void add_run_and_keep(plim_stage_model *model, int32_t t) {
  const plim_dag *dag = model->dag;
  for (int32_t i = 0; i <= t; i++) {
    const plim_dag_node *node = &dag->node[i];
    model->run[cell(model, t, i)] = model->keep[cell(model, t, i)] = -1;
    if (i == t) model->run[cell(model, t, i)] = plim_model_column(&model->linear, 0, 1, 1, 1);
    if (i == t || t > model->last_use[i]) continue;
    model->keep[cell(model, t, i)] = plim_model_column(&model->linear, 0, 0, 1, 1);
    if (t > node->last_stage || node->time_ns > model->max_repeat_ns) continue;
    int64_t cost = node->time_ns / dag->time_unit;
    model->run[cell(model, t, i)] = plim_model_column(&model->linear, (double)cost, 0, 1, 1);
  }
}

/* May reader k run in stage t? */
static int may_run(const plim_stage_model *model, int32_t t, int32_t k) {
  return k <= t && model->run[cell(model, t, k)] >= 0;
}

static void add_releases(plim_stage_model *model, int32_t t) {
  for (int32_t i = 0; i <= t; i++) {
    const plim_ids *succs = &model->dag->node[i].succs;
    model->release[cell(model, t, i)] = model->linear.n_columns;
    for (int32_t k = 0; k < succs->n && t <= model->last_use[i]; k++) {
      if (may_run(model, t, succs->at[k])) (void)plim_model_column(&model->linear, 0, 0, 1, 0);
    }
  }
}

static void add_used(plim_stage_model *model, int32_t t) {
  const plim_dag *dag = model->dag;
  for (int32_t k = 0; k <= t; k++) {
    model->used[cell(model, t, k)] = -1;
    double high = 1 - share_of(model, dag->node[k].workspace_bytes);
    /* a workspace that a repeat may need is a row of its own */
    if (may_run(model, t, k)) {
      model->used[cell(model, t, k)] = plim_model_column(&model->linear, 0, 0, k == t ? high : 1, 0);
    }
  }
}

/* End a row "terms <= what comes in" of node i in stage t. */
static void end_balance(plim_stage_model *model, int32_t t, int32_t i) {
  plim_model_term(&model->linear, model->run[cell(model, t, i)], -1);
  if (i < t) plim_model_term(&model->linear, model->keep[cell(model, t, i)], -1);
  plim_model_row(&model->linear, -INFINITY, 0);
}

static void add_balances(plim_stage_model *model, int32_t t) {
  const plim_dag *dag = model->dag;
  for (int32_t i = 0; i <= t; i++) {
    const plim_ids *succs = &dag->node[i].succs;
    int32_t first = model->release[cell(model, t, i)], n = 0;
    if (t > model->last_use[i]) continue;
    for (int32_t k = 0; k < succs->n; k++) {
      if (!may_run(model, t, succs->at[k])) continue;
      plim_model_term(&model->linear, model->run[cell(model, t, succs->at[k])], 1);
      for (int32_t e = 0; e < n; e++) plim_model_term(&model->linear, first + e, 1);
      end_balance(model, t, i);
      n++;
    }
    int32_t next = t + 1 < model->n ? model->keep[cell(model, t + 1, i)] : -1;
    int to_the_end = t + 1 == model->n && dag->node[i].is_output;
    if (next < 0 && n == 0 && !to_the_end) continue;
    for (int32_t e = 0; e < n; e++) plim_model_term(&model->linear, first + e, 1);
    plim_model_term(&model->linear, next, 1);
    plim_model_term(&model->linear, model->run[cell(model, t, i)], -1);
    if (i < t) plim_model_term(&model->linear, model->keep[cell(model, t, i)], -1);
    plim_model_row(&model->linear, -INFINITY, to_the_end ? -1 : 0);
  }
}

/* Column of the release of node i after its reader k in stage t. */
static int32_t release_after(const plim_stage_model *model, int32_t t, int32_t i, int32_t k) {
  const plim_ids *succs = &model->dag->node[i].succs;
  int32_t column = model->release[cell(model, t, i)];
  for (int32_t s = 0; succs->at[s] != k; s++) column += may_run(model, t, succs->at[s]);
  return column;
}

/* Bytes in use at each run of the stage, from the run before. */
static void add_bytes(plim_stage_model *model, int32_t t) {
  const plim_dag *dag = model->dag;
  int32_t before = -1;
  for (int32_t k = 0; k <= t; k++) {
    int32_t used = model->used[cell(model, t, k)];
    double workspace = share_of(model, dag->node[k].workspace_bytes);
    if (used < 0) continue;
    if (before < 0) {
      for (int32_t i = 0; i < t; i++) {
        plim_model_term(&model->linear, model->keep[cell(model, t, i)], share_of(model, dag->node[i].bytes));
      }
    } else {
      plim_model_term(&model->linear, model->used[cell(model, t, before)], 1);
      for (int32_t p = 0; p < dag->node[before].preds.n; p++) {
        int32_t i = dag->node[before].preds.at[p];
        plim_model_term(&model->linear, release_after(model, t, i, before), -share_of(model, dag->node[i].bytes));
      }
    }
    plim_model_term(&model->linear, model->run[cell(model, t, k)], share_of(model, dag->node[k].bytes));
    plim_model_term(&model->linear, used, -1);
    plim_model_row(&model->linear, 0, 0);
    before = k;
    if (k == t || workspace <= 0) continue;
    plim_model_term(&model->linear, used, 1);
    plim_model_term(&model->linear, model->run[cell(model, t, k)], workspace);
    plim_model_row(&model->linear, -INFINITY, 1);
  }
}

/* What is kept into the next stage is there while node t runs for the first time, beside its operands. */
static void add_knapsack(plim_stage_model *model, int32_t t) {
  const plim_dag *dag = model->dag;
  const plim_ids *preds = &dag->node[t].preds;
  double room = model->budget - in_units(dag, plim_dag_working_set(dag, t) - dag->base_bytes);
  int32_t p = 0;
  if (t + 1 >= model->n) return;
  for (int32_t i = 0; i < t; i++) {
    while (p < preds->n && preds->at[p] < i) p++;
    if (p < preds->n && preds->at[p] == i) continue;
    plim_model_term(&model->linear, model->keep[cell(model, t + 1, i)], in_units(dag, dag->node[i].bytes));
  }
  plim_model_row(&model->linear, -INFINITY, room);
}

static void add_rows(plim_stage_model *model) {
  for (int32_t t = 0; t < model->n; t++) {
    add_balances(model, t);
    add_bytes(model, t);
    add_knapsack(model, t);
  }
}

/* Upper estimates: runs, kept ones and bytes, and a release an edge; terms of balances, of which a reader has as many
 * as there are readers before it. */
static void count(const plim_dag *dag, int64_t *columns, int64_t *terms) {
  *columns = 3 * (int64_t)dag->n * dag->n / 2;
  *terms = 3 * (int64_t)dag->n * dag->n;
  for (int32_t v = 0; v < dag->n; v++) {
    int64_t readers = dag->node[v].succs.n, stages = dag->n - v;
    *columns += readers * stages;
    *terms += readers * (readers + 7) / 2 * stages;
  }
}

int plim_stage_model_fits(const plim_dag *dag) {
  int64_t columns, terms;
  count(dag, &columns, &terms);
  return columns <= exact_tuning.model.columns && terms <= exact_tuning.model.terms;
}

plim_status plim_stage_model_make(const plim_dag *dag, int64_t budget, int64_t max_repeat_ns, plim_stage_model **out) {
  plim_context *ctx = dag->ctx;
  int64_t cells = (int64_t)dag->n * dag->n;
  plim_stage_model *model = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *model, &model));
  *model = (plim_stage_model){.dag = dag, .n = dag->n, .linear = {.ctx = ctx}, .max_repeat_ns = max_repeat_ns};
  model->budget = fmax(1, in_units(dag, budget - dag->base_bytes));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, dag->n, sizeof *model->last_use, &model->last_use));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, cells, sizeof *model->run, &model->run));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, cells, sizeof *model->keep, &model->keep));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, cells, sizeof *model->release, &model->release));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, cells, sizeof *model->used, &model->used));
  find_last_uses(model);
  for (int32_t t = 0; t < model->n; t++) {
    add_run_and_keep(model, t);
    add_releases(model, t);
    add_used(model, t);
  }
  add_rows(model);
  PLIM_TRY_OR_DONE(model->linear.status);
  *out = model;
done:
  if (status != PLIM_OK) plim_stage_model_free(model);
  return status;
}

void plim_stage_model_free(plim_stage_model *model) {
  if (!model) return;
  plim_context *ctx = model->dag->ctx;
  int64_t cells = (int64_t)model->n * model->n;
  plim_model_free(&model->linear);
  plim_release(ctx, model->last_use, model->n, sizeof *model->last_use);
  plim_release(ctx, model->run, cells, sizeof *model->run);
  plim_release(ctx, model->keep, cells, sizeof *model->keep);
  plim_release(ctx, model->release, cells, sizeof *model->release);
  plim_release(ctx, model->used, cells, sizeof *model->used);
  plim_release(ctx, model, 1, sizeof *model);
}

/* Releases of node i in stage t of a schedule: after its last reader there, unless it is kept further on. */
static void point_releases(const plim_stage_model *model, const plim_stage_schedule *stages, int32_t t, int32_t i,
                           double *point) {
  const plim_ids *succs = &model->dag->node[i].succs;
  int32_t column = model->release[cell(model, t, i)], last = -1;
  if (t > model->last_use[i]) return;
  for (int32_t k = 0; k < succs->n; k++) {
    if (!may_run(model, t, succs->at[k])) continue;
    if (stages->run[cell(model, t, succs->at[k])]) last = column;
    column++;
  }
  int kept = t + 1 < model->n ? stages->keep[cell(model, t + 1, i)] : model->dag->node[i].is_output;
  if (last >= 0 && !kept) point[last] = 1;
}

static void point_bytes(const plim_stage_model *model, int32_t t, double *point) {
  const plim_dag *dag = model->dag;
  double used = 0;
  for (int32_t i = 0; i < t; i++) {
    int32_t keep = model->keep[cell(model, t, i)];
    if (keep >= 0 && point[keep] > 0) used += in_units(dag, dag->node[i].bytes);
  }
  for (int32_t k = 0; k <= t; k++) {
    if (!may_run(model, t, k)) continue;
    used += point[model->run[cell(model, t, k)]] * in_units(dag, dag->node[k].bytes);
    point[model->used[cell(model, t, k)]] = used / model->budget;
    for (int32_t p = 0; p < dag->node[k].preds.n; p++) {
      int32_t i = dag->node[k].preds.at[p];
      used -= point[release_after(model, t, i, k)] * in_units(dag, dag->node[i].bytes);
    }
  }
}

void plim_stage_model_point(const plim_stage_model *model, const plim_stage_schedule *stages, double *point) {
  memset(point, 0, (size_t)model->linear.n_columns * sizeof *point);
  for (int32_t t = 0; t < model->n; t++) {
    for (int32_t i = 0; i <= t; i++) {
      int32_t run = model->run[cell(model, t, i)], keep = i < t ? model->keep[cell(model, t, i)] : -1;
      if (run >= 0) point[run] = stages->run[cell(model, t, i)];
      if (keep >= 0) point[keep] = stages->keep[cell(model, t, i)];
      point_releases(model, stages, t, i, point);
    }
    point_bytes(model, t, point);
  }
}

plim_status plim_stage_model_read(const plim_stage_model *model, const double *point, double threshold,
                                  plim_stage_schedule *stages) {
  for (int32_t t = 0; t < model->n; t++) {
    for (int32_t i = 0; i < t; i++) {
      int32_t keep = model->keep[cell(model, t, i)];
      stages->keep[cell(model, t, i)] = keep >= 0 && point[keep] >= threshold;
    }
  }
  PLIM_TRY(plim_stage_schedule_derive(stages));
  return plim_stage_schedule_prune(stages);
}

int64_t plim_stage_model_bound(const plim_stage_model *model, double bound) {
  /* objectives are whole units: what a solver's tolerances may have added is taken off, the rest is rounded up */
  double repeats = ceil(bound * (1 - 1e-9) - 1e-4);
  if (!(repeats > 0)) return model->dag->time_ns;
  int64_t max_repeats = INT64_MAX / 4 / model->dag->time_unit;
  return model->dag->time_ns + (repeats < (double)max_repeats ? (int64_t)repeats : max_repeats) * model->dag->time_unit;
}
