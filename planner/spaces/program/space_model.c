/* Makes the integer program of a class. What the classes share: columns of runs and of what is kept, releases, and
 * bytes in use.
 *
 * A release [t, (i, k)] says that node i's output is freed after its reader k ran in stage t. It may be 1 only where k
 * runs, no later reader of i does, and i is not kept into the next stage: fractions win nothing, so the column is no
 * integer. Bytes in use are shares of the budget, so that a solver's tolerance is one of the budget. */
#include "planner/spaces/program/space_model.h"

#include <math.h>
#include <string.h>

#include "planner/spaces/spaces_tuning.h"

static void set_none(int32_t *column, int64_t n) {
  for (int64_t i = 0; i < n; i++) column[i] = -1;
}

static int64_t cells(const plim_space_model *m, int32_t planes) {
  return (int64_t)planes * m->n * m->n;
}

static plim_status allocate_grid(plim_space_model *m, int32_t planes, int32_t **out) {
  PLIM_TRY(plim_allocate(m->problem->ctx, cells(m, planes), sizeof **out, out));
  set_none(*out, cells(m, planes));
  return PLIM_OK;
}

static plim_status allocate_columns(plim_space_model *m) {
  PLIM_TRY(plim_allocate(m->problem->ctx, m->n, sizeof *m->last, &m->last));
  PLIM_TRY(plim_allocate(m->problem->ctx, m->n_spaces, sizeof *m->home, &m->home));
  PLIM_TRY(allocate_grid(m, m->n_devices, &m->run));
  PLIM_TRY(allocate_grid(m, m->n_devices, &m->keep));
  PLIM_TRY(allocate_grid(m, m->n_links, &m->arrive));
  PLIM_TRY(allocate_grid(m, m->n_spaces, &m->stored));
  PLIM_TRY(allocate_grid(m, 1, &m->out));
  PLIM_TRY(allocate_grid(m, 1, &m->in));
  if (m->options->model_class == PLIM_SPACE_FLUID) {
    PLIM_TRY(allocate_grid(m, m->n_links, &m->flow));
    PLIM_TRY(allocate_grid(m, m->n_spaces, &m->whole));
    PLIM_TRY(allocate_grid(m, m->n_spaces, &m->reload));
  }
  PLIM_TRY(allocate_grid(m, m->n_devices, &m->release));
  return allocate_grid(m, m->n_devices, &m->used);
}

void plim_space_model_free(plim_space_model *m) {
  if (!m) return;
  plim_context *ctx = m->problem->ctx;
  const struct {
    int32_t *grid, planes;
  } grids[] = {{m->run, m->n_devices},
               {m->keep, m->n_devices},
               {m->release, m->n_devices},
               {m->used, m->n_devices},
               {m->arrive, m->n_links},
               {m->stored, m->n_spaces},
               {m->out, 1},
               {m->in, 1},
               {m->flow, m->n_links},
               {m->whole, m->n_spaces},
               {m->reload, m->n_spaces}};
  plim_model_free(&m->linear);
  plim_release(ctx, m->last, m->n, sizeof *m->last);
  plim_release(ctx, m->home, m->n_spaces, sizeof *m->home);
  for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
    plim_release(ctx, grids[i].grid, cells(m, grids[i].planes), sizeof *grids[i].grid);
  }
  plim_release(ctx, m, 1, sizeof *m);
}

/* ---- objective ---- */

static int by_energy(const plim_space_model *m) {
  return m->options->objective == PLIM_OBJECTIVE_ENERGY;
}

/* Solvers stop when objectives differ by less than a fixed step, CBC's is 1e-5: keep-all becomes 1e6. */
static void set_scale(plim_space_model *m) {
  const plim_space_problem *p = m->problem;
  double whole = 0, whole_ns = 0;
  for (int32_t i = 0; i < m->n; i++) {
    double joule = 0, ns = 0;
    for (int32_t d = 0; d < m->n_devices; d++) {
      joule = fmax(joule, plim_space_run_joule(p, i, d));
      ns = fmax(ns, (double)plim_space_run_ns(p, i, d));
    }
    whole += by_energy(m) ? joule : ns;
    whole_ns += ns;
  }
  m->scale = whole > 0 ? 1e6 / whole : 1;
  m->time_scale = whole_ns > 0 ? 1e6 / whole_ns : 1;
}

/* Does a column of its own stand for the time, in place of the commands'? */
static int counts_makespan(const plim_space_model *m) {
  return m->options->objective == PLIM_OBJECTIVE_TIME && m->options->model_class != PLIM_SPACE_POET;
}

static double run_cost(const plim_space_model *m, int32_t i, int32_t d) {
  if (m->options->scaled || counts_makespan(m)) return 0;
  double cost = by_energy(m) ? plim_space_run_joule(m->problem, i, d) : (double)plim_space_run_ns(m->problem, i, d);
  return plim_space_coefficient(m->scale * cost);
}

double plim_space_link_cost(const plim_space_model *model, int32_t node, int32_t link) {
  const plim_space_problem *p = model->problem;
  if (model->options->scaled || counts_makespan(model)) return 0;
  if (model->options->model_class == PLIM_SPACE_POET && !by_energy(model)) return 0; /* copies take no time */
  double cost = by_energy(model) ? plim_space_copy_joule(p, node, link) : (double)plim_space_copy_ns(p, node, link);
  return plim_space_coefficient(model->scale * cost);
}

/* ---- columns ---- */

/* A repeat of a reader reads again: an output is of use as long as one of its readers may run. */
static void find_last(plim_space_model *m) {
  for (int32_t i = m->n - 1; i >= 0; i--) {
    const plim_space_node *v = &m->problem->node[i];
    m->last[i] = i;
    for (int32_t k = 0; k < v->n_succs; k++) {
      if (m->last[v->succ[k]] > m->last[i]) m->last[i] = m->last[v->succ[k]];
    }
  }
}

static void add_run_and_keep(plim_space_model *m, int32_t t) {
  for (int32_t d = 0; d < m->n_devices; d++) {
    for (int32_t i = 0; i <= t; i++) {
      int runs =
          plim_space_run_ns(m->problem, i, d) >= 0 && (i == t || (m->options->recompute && !m->problem->node[i].once));
      if (!m->options->place && d > 0) runs = 0;
      if (!plim_space_useful(m, t, i)) continue;
      if (runs) m->run[plim_space_cell(m, d, t, i)] = plim_model_column(&m->linear, run_cost(m, i, d), 0, 1, 1);
      if (i < t) m->keep[plim_space_cell(m, d, t, i)] = plim_model_column(&m->linear, 0, 0, 1, 1);
    }
  }
}

static int64_t budget_of(const plim_space_model *m, int32_t d) {
  return m->options->budget[m->problem->platform->device[d].space];
}

static int is_bounded(const plim_space_model *m, int32_t d) {
  return budget_of(m, d) < INT64_MAX;
}

static int is_scaled(const plim_space_model *m, int32_t d) {
  return m->options->scaled && m->options->scaled[m->problem->platform->device[d].space];
}

/* Readers of i among the nodes of stage t. */
static int32_t readers(const plim_space_model *m, int32_t t, int32_t i) {
  const plim_space_node *v = &m->problem->node[i];
  int32_t n = 0;
  while (n < v->n_succs && v->succ[n] <= t) n++;
  return n;
}

static void add_memory_columns(plim_space_model *m, int32_t t) {
  for (int32_t d = 0; d < m->n_devices; d++) {
    double most = is_scaled(m, d) ? INFINITY : (budget_of(m, d) >= m->problem->bytes_unit ? 1 : 0);
    for (int32_t i = 0; i <= t && is_bounded(m, d); i++) {
      if (!plim_space_useful(m, t, i)) continue;
      m->used[plim_space_cell(m, d, t, i)] = plim_model_column(&m->linear, 0, 0, most, 0);
      for (int32_t k = 0; k < readers(m, t, i); k++) {
        int32_t column = plim_model_column(&m->linear, 0, 0, 1, 0);
        if (k == 0) m->release[plim_space_cell(m, d, t, i)] = column;
      }
    }
  }
}

/* ---- rows ---- */

static double share(const plim_space_model *m, int32_t d, int64_t bytes) {
  double unit = (double)m->problem->bytes_unit, budget = floor((double)budget_of(m, d) / unit);
  if (is_scaled(m, d)) return (double)bytes / (double)budget_of(m, d);
  return (double)bytes / unit / fmax(1, budget);
}

/* 1 where node k runs in stage t on any device. */
static void add_any_run(plim_space_model *m, int32_t t, int32_t k, double value) {
  for (int32_t d = 0; d < m->n_devices; d++) {
    plim_model_term(&m->linear, m->run[plim_space_cell(m, d, t, k)], value);
  }
}

/* What brings node i to device d in stage t. */
static void add_presence(plim_space_model *m, int32_t d, int32_t t, int32_t i, double value) {
  const plim_platform *p = m->problem->platform;
  plim_model_term(&m->linear, m->run[plim_space_cell(m, d, t, i)], value);
  plim_model_term(&m->linear, m->keep[plim_space_cell(m, d, t, i)], value);
  for (int32_t l = 0; l < m->n_links; l++) {
    if (p->link[l].to != p->device[d].space) continue;
    plim_model_term(&m->linear, m->arrive[plim_space_cell(m, l, t, i)], value);
  }
}

void plim_space_need_inputs(plim_space_model *m) {
  for (int32_t d = 0; d < m->n_devices; d++) {
    for (int32_t t = 0; t < m->n; t++) {
      for (int32_t v = 0; v <= t; v++) {
        const plim_space_node *node = &m->problem->node[v];
        int32_t run = m->run[plim_space_cell(m, d, t, v)];
        for (int32_t k = 0; k < node->n_preds && run >= 0; k++) {
          plim_model_term(&m->linear, run, 1);
          add_presence(m, d, t, node->pred[k], -1);
          plim_model_row(&m->linear, -INFINITY, 0);
        }
      }
    }
  }
}

void plim_space_at_most(plim_space_model *m, int32_t column, int32_t n, const int32_t *minus) {
  if (column < 0) return;
  plim_model_term(&m->linear, column, 1);
  for (int32_t i = 0; i < n; i++) plim_model_term(&m->linear, minus[i], -1);
  plim_model_row(&m->linear, -INFINITY, 0);
}

/* What is being sent stays. */
static void add_sent_rows(plim_space_model *m, int32_t d, int32_t t, int32_t i, int32_t release) {
  const plim_platform *p = m->problem->platform;
  for (int32_t l = 0; l < m->n_links; l++) {
    int32_t sent = m->flow[plim_space_cell(m, l, t, i)];
    if (sent < 0 || p->link[l].from != p->device[d].space) continue;
    plim_model_term(&m->linear, release, 1);
    plim_model_term(&m->linear, sent, 1);
    plim_model_row(&m->linear, -INFINITY, 1);
  }
}

static void add_release_rows(plim_space_model *m, int32_t d, int32_t t, int32_t i) {
  const plim_space_node *v = &m->problem->node[i];
  int32_t first = m->release[plim_space_cell(m, d, t, i)], n = first < 0 ? 0 : readers(m, t, i);
  int32_t next = plim_space_column(m, m->keep, d, t + 1, i);
  for (int32_t k = 0; k < n; k++) {
    plim_model_term(&m->linear, first + k, 1);
    add_any_run(m, t, v->succ[k], -1);
    plim_model_row(&m->linear, -INFINITY, 0);
    if (m->n_devices > 1) {
      plim_model_term(&m->linear, first + k, 1);
      add_presence(m, d, t, i, -1);
      plim_model_row(&m->linear, -INFINITY, 0);
    }
    for (int32_t j = k + 1; j < n; j++) {
      plim_model_term(&m->linear, first + k, 1);
      plim_model_term(&m->linear, m->run[plim_space_cell(m, d, t, v->succ[j])], 1);
      plim_model_row(&m->linear, -INFINITY, 1);
    }
    if (m->flow) add_sent_rows(m, d, t, i, first + k);
  }
  if (n == 0) return;
  for (int32_t k = 0; k < n; k++) plim_model_term(&m->linear, first + k, 1);
  plim_model_term(&m->linear, next, 1);
  plim_model_row(&m->linear, -INFINITY, 1);
}

/* Bytes that are there, or reserved, when stage t begins. */
static void add_entry(plim_space_model *m, int32_t d, int32_t t) {
  const plim_platform *p = m->problem->platform;
  for (int32_t i = 0; i <= t; i++) {
    double bytes = share(m, d, m->problem->node[i].bytes);
    plim_model_term(&m->linear, m->keep[plim_space_cell(m, d, t, i)], bytes);
    if (m->reload) plim_model_term(&m->linear, m->reload[plim_space_cell(m, p->device[d].space, t, i)], bytes);
    for (int32_t l = 0; l < m->n_links; l++) {
      if (p->link[l].to != p->device[d].space) continue;
      plim_model_term(&m->linear, m->arrive[plim_space_cell(m, l, t, i)], bytes);
    }
  }
}

/* What its readers release after node k. */
static void add_releases_after(plim_space_model *m, int32_t d, int32_t t, int32_t k) {
  const plim_space_node *v = &m->problem->node[k];
  for (int32_t p = 0; p < v->n_preds; p++) {
    const plim_space_node *u = &m->problem->node[v->pred[p]];
    int32_t first = m->release[plim_space_cell(m, d, t, v->pred[p])], s = 0;
    while (u->succ[s] != k) s++;
    if (first >= 0) plim_model_term(&m->linear, first + s, -share(m, d, u->bytes));
  }
}

/* While node k runs its workspace is in use beside what is. */
static void add_workspace_row(plim_space_model *m, int32_t d, int32_t t, int32_t k) {
  int64_t workspace = m->problem->node[k].workspace;
  int32_t run = m->run[plim_space_cell(m, d, t, k)];
  if (workspace == 0 || run < 0) return;
  plim_model_term(&m->linear, m->used[plim_space_cell(m, d, t, k)], 1);
  plim_model_term(&m->linear, run, share(m, d, workspace));
  if (is_scaled(m, d)) plim_model_term(&m->linear, m->factor, -1);
  plim_model_row(&m->linear, -INFINITY, is_scaled(m, d) || budget_of(m, d) < m->problem->bytes_unit ? 0 : 1);
}

static void add_used_rows(plim_space_model *m, int32_t d, int32_t t) {
  int32_t before = -1;
  for (int32_t k = 0; k <= t; k++) {
    int32_t used = m->used[plim_space_cell(m, d, t, k)];
    if (used < 0) continue;
    if (before < 0) {
      add_entry(m, d, t);
    } else {
      plim_model_term(&m->linear, m->used[plim_space_cell(m, d, t, before)], 1);
      add_releases_after(m, d, t, before);
    }
    plim_model_term(&m->linear, m->run[plim_space_cell(m, d, t, k)], share(m, d, m->problem->node[k].bytes));
    plim_model_term(&m->linear, used, -1);
    plim_model_row(&m->linear, 0, 0);
    before = k;
    add_workspace_row(m, d, t, k);
    if (!is_scaled(m, d)) continue;
    plim_model_term(&m->linear, used, 1);
    plim_model_term(&m->linear, m->factor, -1);
    plim_model_row(&m->linear, -INFINITY, 0);
  }
}

static void add_common_rows(plim_space_model *m) {
  for (int32_t t = 0; t < m->n; t++) {
    add_any_run(m, t, t, 1);
    plim_model_row(&m->linear, 1, m->problem->node[t].once ? 1 : INFINITY);
    for (int32_t d = 0; d < m->n_devices; d++) {
      if (!is_bounded(m, d)) continue;
      for (int32_t i = 0; i <= t; i++) add_release_rows(m, d, t, i);
      add_used_rows(m, d, t);
    }
  }
}

/* ---- the whole ---- */

static plim_status need_platform(const plim_space_model *m) {
  const plim_platform *p = m->problem->platform;
  if (m->options->model_class == PLIM_SPACE_POET && p->n_devices != 1) {
    return plim_fail(m->problem->ctx, PLIM_EDATA,
                     "this planner is for one device, platform %s has %d; planners xengine and milp place", p->name,
                     p->n_devices);
  }
  for (int32_t d = 0; d < p->n_devices; d++) {
    for (int32_t e = 0; e < d; e++) {
      if (p->device[d].space != p->device[e].space) continue;
      return plim_fail(m->problem->ctx, PLIM_EDATA, "devices %s and %s compute in one space, %s: each needs its own",
                       p->device[e].name, p->device[d].name, p->space[p->device[d].space].name);
    }
  }
  double copies = m->options->model_class == PLIM_SPACE_FLUID ? 2.0 * m->n_links + 2.0 * m->n_spaces : m->n_links + 3;
  double columns =
      (double)m->n * m->n * (2.5 * m->n_devices + copies) + (double)m->problem->n_edges * m->n * m->n_devices;
  if (columns < spaces_tuning.program.columns) return PLIM_OK;
  return plim_fail(m->problem->ctx, PLIM_EUSAGE,
                   "planners over spaces take integer programs of at most %d columns; that of these %d ops would have "
                   "%.0f",
                   spaces_tuning.program.columns, m->n, columns);
}

static void find_homes(plim_space_model *m) {
  for (int32_t s = 0; s < m->n_spaces; s++) m->home[s] = -1;
  for (int32_t d = 0; d < m->n_devices; d++) m->home[m->problem->platform->device[d].space] = d;
}

int plim_space_link_places(const plim_space_model *m, int32_t l) {
  const plim_platform_link *link = &m->problem->platform->link[l];
  return m->home[link->from] >= 0 && m->home[link->to] >= 0;
}

int plim_space_link_taken(const plim_space_model *m, int32_t l) {
  return plim_space_link_places(m, l) ? m->options->place : m->options->page;
}

/* The first space that a link leads to from the device's and another leads back from. */
static void find_page_links(plim_space_model *m) {
  const plim_platform *p = m->problem->platform;
  m->page_out = m->page_in = -1;
  if (!m->options->page) return;
  for (int32_t l = 0; l < p->n_links && m->page_out < 0; l++) {
    int32_t back = plim_platform_find_link(p, p->link[l].to, p->link[l].from);
    if (p->link[l].from != p->device[0].space || back < 0) continue;
    m->page_out = l;
    m->page_in = back;
  }
}

static void (*const class_columns[])(plim_space_model *) = {plim_space_poet_columns, plim_space_xengine_columns,
                                                            plim_space_fluid_columns};
static void (*const class_rows[])(plim_space_model *) = {plim_space_poet_rows, plim_space_xengine_rows,
                                                         plim_space_fluid_rows};

plim_status plim_space_model_make(const plim_space_problem *problem, const plim_space_model_options *options,
                                  plim_space_model **out) {
  plim_space_model *m = NULL;
  PLIM_TRY(plim_allocate(problem->ctx, 1, sizeof *m, &m));
  *m = (plim_space_model){.problem = problem,
                          .options = options,
                          .linear = {.ctx = problem->ctx},
                          .n = problem->n,
                          .n_devices = problem->platform->n_devices,
                          .n_links = problem->platform->n_links,
                          .n_spaces = problem->platform->n_spaces,
                          .factor = -1};
  plim_status status = need_platform(m);
  if (status == PLIM_OK) status = allocate_columns(m);
  if (status == PLIM_OK) {
    find_last(m);
    find_homes(m);
    find_page_links(m);
    set_scale(m);
    if (options->scaled) m->factor = plim_model_column(&m->linear, 1000, 0, INFINITY, 0);
    for (int32_t t = 0; t < m->n; t++) add_run_and_keep(m, t);
    class_columns[options->model_class](m);
    for (int32_t t = 0; t < m->n; t++) add_memory_columns(m, t);
    class_rows[options->model_class](m);
    add_common_rows(m);
    status = m->linear.status;
  }
  if (status != PLIM_OK) {
    plim_space_model_free(m);
    return status;
  }
  *out = m;
  return PLIM_OK;
}
