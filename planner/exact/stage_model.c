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

static size_t cell(const plim_stage_model *m, int32_t t, int32_t i) {
  return (size_t)t * (size_t)m->n + (size_t)i;
}

static double units(const plim_dag *d, int64_t bytes) {
  int64_t n = bytes / d->bytes_unit;
  return (double)n;
}

/* The last stage in which a copy is of use: where its last reader may run for something of use; the last one of all for
 * an output. */
static void find_last_uses(plim_stage_model *m) {
  const plim_dag *d = m->dag;
  for (int32_t v = d->n - 1; v >= 0; v--) {
    m->last_use[v] = d->node[v].is_output ? d->n - 1 : v;
    for (int32_t k = 0; k < d->node[v].succs.n; k++) {
      int32_t reader = d->node[v].succs.at[k], until = m->last_use[reader];
      if (d->node[reader].last_stage < until) until = d->node[reader].last_stage;
      if (until < reader) until = reader;
      if (until > m->last_use[v]) m->last_use[v] = until;
    }
  }
}

static void add_run_and_keep(plim_stage_model *m, int32_t t) {
  const plim_dag *d = m->dag;
  for (int32_t i = 0; i <= t; i++) {
    const plim_dag_node *node = &d->node[i];
    m->run[cell(m, t, i)] = m->keep[cell(m, t, i)] = -1;
    if (i == t) m->run[cell(m, t, i)] = plim_model_column(&m->linear, 0, 1, 1, 1);
    if (i == t || t > m->last_use[i]) continue;
    m->keep[cell(m, t, i)] = plim_model_column(&m->linear, 0, 0, 1, 1);
    if (t > node->last_stage || node->time_ns > m->max_repeat_ns) continue;
    int64_t cost = node->time_ns / d->time_unit;
    m->run[cell(m, t, i)] = plim_model_column(&m->linear, (double)cost, 0, 1, 1);
  }
}

/* May reader k run in stage t? */
static int may_run(const plim_stage_model *m, int32_t t, int32_t k) {
  return k <= t && m->run[cell(m, t, k)] >= 0;
}

static void add_releases(plim_stage_model *m, int32_t t) {
  for (int32_t i = 0; i <= t; i++) {
    const plim_ids *succs = &m->dag->node[i].succs;
    m->release[cell(m, t, i)] = m->linear.n_columns;
    for (int32_t k = 0; k < succs->n && t <= m->last_use[i]; k++) {
      if (may_run(m, t, succs->at[k])) (void)plim_model_column(&m->linear, 0, 0, 1, 0);
    }
  }
}

static void add_used(plim_stage_model *m, int32_t t) {
  const plim_dag *d = m->dag;
  for (int32_t k = 0; k <= t; k++) {
    m->used[cell(m, t, k)] = -1;
    double high = 1 - units(d, d->node[k].workspace_bytes) / m->budget;
    /* a workspace that a repeat may need is a row of its own */
    if (may_run(m, t, k)) m->used[cell(m, t, k)] = plim_model_column(&m->linear, 0, 0, k == t ? high : 1, 0);
  }
}

/* End a row "terms <= what comes in" of node i in stage t. */
static void end_balance(plim_stage_model *m, int32_t t, int32_t i) {
  plim_model_term(&m->linear, m->run[cell(m, t, i)], -1);
  if (i < t) plim_model_term(&m->linear, m->keep[cell(m, t, i)], -1);
  plim_model_row(&m->linear, -INFINITY, 0);
}

static void add_balances(plim_stage_model *m, int32_t t) {
  const plim_dag *d = m->dag;
  for (int32_t i = 0; i <= t; i++) {
    const plim_ids *succs = &d->node[i].succs;
    int32_t first = m->release[cell(m, t, i)], n = 0;
    if (t > m->last_use[i]) continue;
    for (int32_t k = 0; k < succs->n; k++) {
      if (!may_run(m, t, succs->at[k])) continue;
      plim_model_term(&m->linear, m->run[cell(m, t, succs->at[k])], 1);
      for (int32_t e = 0; e < n; e++) plim_model_term(&m->linear, first + e, 1);
      end_balance(m, t, i);
      n++;
    }
    int32_t next = t + 1 < m->n ? m->keep[cell(m, t + 1, i)] : -1;
    int to_the_end = t + 1 == m->n && d->node[i].is_output;
    if (next < 0 && n == 0 && !to_the_end) continue;
    for (int32_t e = 0; e < n; e++) plim_model_term(&m->linear, first + e, 1);
    plim_model_term(&m->linear, next, 1);
    plim_model_term(&m->linear, m->run[cell(m, t, i)], -1);
    if (i < t) plim_model_term(&m->linear, m->keep[cell(m, t, i)], -1);
    plim_model_row(&m->linear, -INFINITY, to_the_end ? -1 : 0);
  }
}

/* Column of the release of node i after its reader k in stage t. */
static int32_t release_after(const plim_stage_model *m, int32_t t, int32_t i, int32_t k) {
  const plim_ids *succs = &m->dag->node[i].succs;
  int32_t column = m->release[cell(m, t, i)];
  for (int32_t s = 0; succs->at[s] != k; s++) column += may_run(m, t, succs->at[s]);
  return column;
}

/* Bytes in use at each run of the stage, from the run before. */
static void add_bytes(plim_stage_model *m, int32_t t) {
  const plim_dag *d = m->dag;
  int32_t before = -1;
  for (int32_t k = 0; k <= t; k++) {
    int32_t used = m->used[cell(m, t, k)];
    double workspace = units(d, d->node[k].workspace_bytes) / m->budget;
    if (used < 0) continue;
    if (before < 0) {
      for (int32_t i = 0; i < t; i++) {
        plim_model_term(&m->linear, m->keep[cell(m, t, i)], units(d, d->node[i].bytes) / m->budget);
      }
    } else {
      plim_model_term(&m->linear, m->used[cell(m, t, before)], 1);
      for (int32_t p = 0; p < d->node[before].preds.n; p++) {
        int32_t i = d->node[before].preds.at[p];
        plim_model_term(&m->linear, release_after(m, t, i, before), -units(d, d->node[i].bytes) / m->budget);
      }
    }
    plim_model_term(&m->linear, m->run[cell(m, t, k)], units(d, d->node[k].bytes) / m->budget);
    plim_model_term(&m->linear, used, -1);
    plim_model_row(&m->linear, 0, 0);
    before = k;
    if (k == t || workspace <= 0) continue;
    plim_model_term(&m->linear, used, 1);
    plim_model_term(&m->linear, m->run[cell(m, t, k)], workspace);
    plim_model_row(&m->linear, -INFINITY, 1);
  }
}

/* What is kept into the next stage is there while node t runs for the first time, beside its operands. */
static void add_knapsack(plim_stage_model *m, int32_t t) {
  const plim_dag *d = m->dag;
  const plim_ids *preds = &d->node[t].preds;
  double room = m->budget - units(d, plim_dag_working_set(d, t) - d->base_bytes);
  int32_t p = 0;
  if (t + 1 >= m->n) return;
  for (int32_t i = 0; i < t; i++) {
    while (p < preds->n && preds->at[p] < i) p++;
    if (p < preds->n && preds->at[p] == i) continue;
    plim_model_term(&m->linear, m->keep[cell(m, t + 1, i)], units(d, d->node[i].bytes));
  }
  plim_model_row(&m->linear, -INFINITY, room);
}

static void add_rows(plim_stage_model *m) {
  for (int32_t t = 0; t < m->n; t++) {
    add_balances(m, t);
    add_bytes(m, t);
    add_knapsack(m, t);
  }
}

/* Upper estimates: runs, kept ones and bytes, and a release an edge; terms of balances, of which a reader has as many
 * as there are readers before it. */
static void count(const plim_dag *d, int64_t *columns, int64_t *terms) {
  *columns = 3 * (int64_t)d->n * d->n / 2;
  *terms = 3 * (int64_t)d->n * d->n;
  for (int32_t v = 0; v < d->n; v++) {
    int64_t readers = d->node[v].succs.n, stages = d->n - v;
    *columns += readers * stages;
    *terms += readers * (readers + 7) / 2 * stages;
  }
}

int plim_stage_model_fits(const plim_dag *d) {
  int64_t columns, terms;
  count(d, &columns, &terms);
  return columns <= exact_tuning.model.columns && terms <= exact_tuning.model.terms;
}

plim_status plim_stage_model_make(const plim_dag *d, int64_t budget, int64_t max_repeat_ns, plim_stage_model **out) {
  plim_context *ctx = d->ctx;
  int64_t cells = (int64_t)d->n * d->n;
  plim_stage_model *m = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *m, &m));
  *m = (plim_stage_model){.dag = d, .n = d->n, .linear = {.ctx = ctx}, .max_repeat_ns = max_repeat_ns};
  m->budget = fmax(1, units(d, budget - d->base_bytes));
  PLIM_CHECK(plim_allocate(ctx, d->n, sizeof *m->last_use, &m->last_use));
  PLIM_CHECK(plim_allocate(ctx, cells, sizeof *m->run, &m->run));
  PLIM_CHECK(plim_allocate(ctx, cells, sizeof *m->keep, &m->keep));
  PLIM_CHECK(plim_allocate(ctx, cells, sizeof *m->release, &m->release));
  PLIM_CHECK(plim_allocate(ctx, cells, sizeof *m->used, &m->used));
  find_last_uses(m);
  for (int32_t t = 0; t < m->n; t++) {
    add_run_and_keep(m, t);
    add_releases(m, t);
    add_used(m, t);
  }
  add_rows(m);
  PLIM_CHECK(m->linear.status);
  *out = m;
done:
  if (status != PLIM_OK) plim_stage_model_free(m);
  return status;
}

void plim_stage_model_free(plim_stage_model *m) {
  if (!m) return;
  plim_context *ctx = m->dag->ctx;
  int64_t cells = (int64_t)m->n * m->n;
  plim_model_free(&m->linear);
  plim_release(ctx, m->last_use, m->n, sizeof *m->last_use);
  plim_release(ctx, m->run, cells, sizeof *m->run);
  plim_release(ctx, m->keep, cells, sizeof *m->keep);
  plim_release(ctx, m->release, cells, sizeof *m->release);
  plim_release(ctx, m->used, cells, sizeof *m->used);
  plim_release(ctx, m, 1, sizeof *m);
}

/* Releases of node i in stage t of a schedule: after its last reader there, unless it is kept further on. */
static void point_releases(const plim_stage_model *m, const plim_stage_schedule *s, int32_t t, int32_t i,
                           double *point) {
  const plim_ids *succs = &m->dag->node[i].succs;
  int32_t column = m->release[cell(m, t, i)], last = -1;
  if (t > m->last_use[i]) return;
  for (int32_t k = 0; k < succs->n; k++) {
    if (!may_run(m, t, succs->at[k])) continue;
    if (s->run[cell(m, t, succs->at[k])]) last = column;
    column++;
  }
  int kept = t + 1 < m->n ? s->keep[cell(m, t + 1, i)] : m->dag->node[i].is_output;
  if (last >= 0 && !kept) point[last] = 1;
}

static void point_bytes(const plim_stage_model *m, int32_t t, double *point) {
  const plim_dag *d = m->dag;
  double used = 0;
  for (int32_t i = 0; i < t; i++) {
    int32_t keep = m->keep[cell(m, t, i)];
    if (keep >= 0 && point[keep] > 0) used += units(d, d->node[i].bytes);
  }
  for (int32_t k = 0; k <= t; k++) {
    if (!may_run(m, t, k)) continue;
    used += point[m->run[cell(m, t, k)]] * units(d, d->node[k].bytes);
    point[m->used[cell(m, t, k)]] = used / m->budget;
    for (int32_t p = 0; p < d->node[k].preds.n; p++) {
      int32_t i = d->node[k].preds.at[p];
      used -= point[release_after(m, t, i, k)] * units(d, d->node[i].bytes);
    }
  }
}

void plim_stage_model_point(const plim_stage_model *m, const plim_stage_schedule *s, double *point) {
  memset(point, 0, (size_t)m->linear.n_columns * sizeof *point);
  for (int32_t t = 0; t < m->n; t++) {
    for (int32_t i = 0; i <= t; i++) {
      int32_t run = m->run[cell(m, t, i)], keep = i < t ? m->keep[cell(m, t, i)] : -1;
      if (run >= 0) point[run] = s->run[cell(m, t, i)];
      if (keep >= 0) point[keep] = s->keep[cell(m, t, i)];
      point_releases(m, s, t, i, point);
    }
    point_bytes(m, t, point);
  }
}

plim_status plim_stage_model_read(const plim_stage_model *m, const double *point, double threshold,
                                  plim_stage_schedule *s) {
  for (int32_t t = 0; t < m->n; t++) {
    for (int32_t i = 0; i < t; i++) {
      int32_t keep = m->keep[cell(m, t, i)];
      s->keep[cell(m, t, i)] = keep >= 0 && point[keep] >= threshold;
    }
  }
  PLIM_TRY(plim_stage_schedule_derive(s));
  return plim_stage_schedule_prune(s);
}

int64_t plim_stage_model_bound(const plim_stage_model *m, double bound) {
  /* objectives are whole units: what a solver's tolerances may have added is taken off, the rest is rounded up */
  double repeats = ceil(bound * (1 - 1e-9) - 1e-4);
  if (!(repeats > 0)) return m->dag->time_ns;
  int64_t max_repeats = INT64_MAX / 4 / m->dag->time_unit;
  return m->dag->time_ns + (repeats < (double)max_repeats ? (int64_t)repeats : max_repeats) * m->dag->time_unit;
}
