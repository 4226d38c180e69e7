/* Makes the integer program of a class. What the classes share: columns of runs and of what is kept, releases, and
 * bytes in use.
 *
 * A release [t, (i, k)] says that node i's output is freed after its reader k ran in stage t. It may be 1 only where k
 * runs, no later reader of i does, and i is not kept into the next stage: fractions win nothing, so the column is no
 * integer. Bytes in use are shares of the budget, so that a solver's tolerance is one of the budget.
 *
 * Example: one device, a budget of 12 bytes, outputs of 4 bytes. b reads a, c reads a and b. Stage 2, of c, has columns
 * run(a), run(b), run(c), keep(a) and keep(b), each 0 or 1; run(c) is 1. Inputs: run(c) <= keep(a) + run(a), and
 * run(c) <= keep(b) + run(b). Bytes in use while a, b and c run, before they are divided by the budget:
 *     used(a) = 4 keep(a) + 4 keep(b) + 4 run(a)
 *     used(b) = used(a) + 4 run(b)
 *     used(c) = used(b) - 4 release(a, b) + 4 run(c)
 * Each is at most 12. release(a, b), a freed after b, is at most run(b), and at most 1 - run(c), as c reads a too. */
#include "planner/spaces/program/space_model.h"

#include <math.h>

#include "planner/spaces/spaces_tuning.h"

static void set_none(int32_t *column, int64_t n) {
  for (int64_t i = 0; i < n; i++) column[i] = -1;
}

static int64_t cells(const plim_space_model *model, int32_t planes) {
  return (int64_t)planes * model->n * model->n;
}

static plim_status allocate_grid(plim_space_model *model, int32_t planes, int32_t **out) {
  PLIM_TRY(plim_allocate(model->problem->ctx, cells(model, planes), sizeof **out, out));
  set_none(*out, cells(model, planes));
  return PLIM_OK;
}

static plim_status allocate_columns(plim_space_model *model) {
  PLIM_TRY(plim_allocate(model->problem->ctx, model->n, sizeof *model->last, &model->last));
  PLIM_TRY(plim_allocate(model->problem->ctx, model->n_spaces, sizeof *model->home, &model->home));
  PLIM_TRY(allocate_grid(model, model->n_devices, &model->run));
  PLIM_TRY(allocate_grid(model, model->n_devices, &model->keep));
  PLIM_TRY(allocate_grid(model, model->n_links, &model->arrive));
  PLIM_TRY(allocate_grid(model, model->n_spaces, &model->stored));
  PLIM_TRY(allocate_grid(model, 1, &model->out));
  PLIM_TRY(allocate_grid(model, 1, &model->in));
  if (model->options->model_class == PLIM_SPACE_FLUID) {
    PLIM_TRY(allocate_grid(model, model->n_links, &model->flow));
    PLIM_TRY(allocate_grid(model, model->n_spaces, &model->whole));
    PLIM_TRY(allocate_grid(model, model->n_spaces, &model->reload));
  }
  PLIM_TRY(allocate_grid(model, model->n_devices, &model->release));
  return allocate_grid(model, model->n_devices, &model->used);
}

void plim_space_model_free(plim_space_model *model) {
  if (!model) return;
  plim_context *ctx = model->problem->ctx;
  const struct {
    int32_t *grid, planes;
  } grids[] = {{model->run, model->n_devices},
               {model->keep, model->n_devices},
               {model->release, model->n_devices},
               {model->used, model->n_devices},
               {model->arrive, model->n_links},
               {model->stored, model->n_spaces},
               {model->out, 1},
               {model->in, 1},
               {model->flow, model->n_links},
               {model->whole, model->n_spaces},
               {model->reload, model->n_spaces}};
  plim_model_free(&model->linear);
  plim_release(ctx, model->last, model->n, sizeof *model->last);
  plim_release(ctx, model->home, model->n_spaces, sizeof *model->home);
  for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
    plim_release(ctx, grids[i].grid, cells(model, grids[i].planes), sizeof *grids[i].grid);
  }
  plim_release(ctx, model, 1, sizeof *model);
}

/* ---- objective ---- */

static int is_for_energy(const plim_space_model *model) {
  return model->options->objective == PLIM_OBJECTIVE_ENERGY;
}

/* Solvers stop when objectives differ by less than a fixed step, CBC's is 1e-5: keep-all becomes 1e6. */
static void set_scale(plim_space_model *model) {
  const plim_space_problem *p = model->problem;
  double whole = 0, whole_ns = 0;
  for (int32_t i = 0; i < model->n; i++) {
    double joule = 0, ns = 0;
    for (int32_t d = 0; d < model->n_devices; d++) {
      joule = fmax(joule, plim_space_run_joule(p, i, d));
      ns = fmax(ns, (double)plim_space_run_ns(p, i, d));
    }
    whole += is_for_energy(model) ? joule : ns;
    whole_ns += ns;
  }
  model->scale = whole > 0 ? 1e6 / whole : 1;
  model->time_scale = whole_ns > 0 ? 1e6 / whole_ns : 1;
}

/* Does a column of its own stand for the time, in place of the commands'? */
static int has_time_column(const plim_space_model *model) {
  return model->options->objective == PLIM_OBJECTIVE_TIME && model->options->model_class != PLIM_SPACE_POET;
}

static double run_cost(const plim_space_model *model, int32_t i, int32_t d) {
  if (model->options->scaled || has_time_column(model)) return 0;
  double cost = is_for_energy(model) ? plim_space_run_joule(model->problem, i, d)
                                     : (double)plim_space_run_ns(model->problem, i, d);
  return plim_space_coefficient(model->scale * cost);
}

double plim_space_link_cost(const plim_space_model *model, int32_t node, int32_t link) {
  const plim_space_problem *p = model->problem;
  if (model->options->scaled || has_time_column(model)) return 0;
  if (model->options->model_class == PLIM_SPACE_POET && !is_for_energy(model)) return 0; /* copies take no time */
  double cost = is_for_energy(model) ? plim_space_copy_joule(p, node, link) : (double)plim_space_copy_ns(p, node, link);
  return plim_space_coefficient(model->scale * cost);
}

/* ---- columns ---- */

/* A repeat of a reader reads again: an output is of use as long as one of its readers may run. */
static void find_last(plim_space_model *model) {
  for (int32_t i = model->n - 1; i >= 0; i--) {
    const plim_space_node *v = &model->problem->node[i];
    model->last[i] = i;
    for (int32_t k = 0; k < v->n_succs; k++) {
      if (model->last[v->succ[k]] > model->last[i]) model->last[i] = model->last[v->succ[k]];
    }
  }
}

static void add_run_and_keep(plim_space_model *model, int32_t t) {
  for (int32_t d = 0; d < model->n_devices; d++) {
    for (int32_t i = 0; i <= t; i++) {
      int runs = plim_space_run_ns(model->problem, i, d) >= 0 &&
                 (i == t || (model->options->recompute && !model->problem->node[i].once));
      if (!model->options->place && d > 0) runs = 0;
      if (!plim_space_useful(model, t, i)) continue;
      if (runs)
        model->run[plim_space_cell(model, d, t, i)] = plim_model_column(&model->linear, run_cost(model, i, d), 0, 1, 1);
      if (i < t) model->keep[plim_space_cell(model, d, t, i)] = plim_model_column(&model->linear, 0, 0, 1, 1);
    }
  }
}

static int64_t budget_of(const plim_space_model *model, int32_t d) {
  return model->options->budget[model->problem->platform->device[d].space];
}

static int is_bounded(const plim_space_model *model, int32_t d) {
  return budget_of(model, d) < INT64_MAX;
}

static int is_scaled(const plim_space_model *model, int32_t d) {
  return model->options->scaled && model->options->scaled[model->problem->platform->device[d].space];
}

/* Readers of i among the nodes of stage t. */
static int32_t readers(const plim_space_model *model, int32_t t, int32_t i) {
  const plim_space_node *v = &model->problem->node[i];
  int32_t n = 0;
  while (n < v->n_succs && v->succ[n] <= t) n++;
  return n;
}

static void add_memory_columns(plim_space_model *model, int32_t t) {
  for (int32_t d = 0; d < model->n_devices; d++) {
    double max_share = is_scaled(model, d) ? INFINITY : (budget_of(model, d) >= model->problem->bytes_unit ? 1 : 0);
    for (int32_t i = 0; i <= t && is_bounded(model, d); i++) {
      if (!plim_space_useful(model, t, i)) continue;
      model->used[plim_space_cell(model, d, t, i)] = plim_model_column(&model->linear, 0, 0, max_share, 0);
      for (int32_t k = 0; k < readers(model, t, i); k++) {
        int32_t column = plim_model_column(&model->linear, 0, 0, 1, 0);
        if (k == 0) model->release[plim_space_cell(model, d, t, i)] = column;
      }
    }
  }
}

/* ---- rows ---- */

static double share_of_budget(const plim_space_model *model, int32_t d, int64_t bytes) {
  double unit = (double)model->problem->bytes_unit, budget = floor((double)budget_of(model, d) / unit);
  if (is_scaled(model, d)) return (double)bytes / (double)budget_of(model, d);
  return (double)bytes / unit / fmax(1, budget);
}

/* 1 where node k runs in stage t on any device. */
static void add_any_run(plim_space_model *model, int32_t t, int32_t k, double value) {
  for (int32_t d = 0; d < model->n_devices; d++) {
    plim_model_term(&model->linear, model->run[plim_space_cell(model, d, t, k)], value);
  }
}

/* What brings node i to device d in stage t. */
static void add_presence(plim_space_model *model, int32_t d, int32_t t, int32_t i, double value) {
  const plim_platform *p = model->problem->platform;
  plim_model_term(&model->linear, model->run[plim_space_cell(model, d, t, i)], value);
  plim_model_term(&model->linear, model->keep[plim_space_cell(model, d, t, i)], value);
  for (int32_t l = 0; l < model->n_links; l++) {
    if (p->link[l].to != p->device[d].space) continue;
    plim_model_term(&model->linear, model->arrive[plim_space_cell(model, l, t, i)], value);
  }
}

void plim_space_need_inputs(plim_space_model *model) {
  for (int32_t d = 0; d < model->n_devices; d++) {
    for (int32_t t = 0; t < model->n; t++) {
      for (int32_t v = 0; v <= t; v++) {
        const plim_space_node *node = &model->problem->node[v];
        int32_t run = model->run[plim_space_cell(model, d, t, v)];
        for (int32_t k = 0; k < node->n_preds && run >= 0; k++) {
          plim_model_term(&model->linear, run, 1);
          add_presence(model, d, t, node->pred[k], -1);
          plim_model_row(&model->linear, -INFINITY, 0);
        }
      }
    }
  }
}

void plim_space_at_most(plim_space_model *model, int32_t column, int32_t n, const int32_t *minus) {
  if (column < 0) return;
  plim_model_term(&model->linear, column, 1);
  for (int32_t i = 0; i < n; i++) plim_model_term(&model->linear, minus[i], -1);
  plim_model_row(&model->linear, -INFINITY, 0);
}

/* What is being sent stays. */
static void add_sent_rows(plim_space_model *model, int32_t d, int32_t t, int32_t i, int32_t release) {
  const plim_platform *p = model->problem->platform;
  for (int32_t l = 0; l < model->n_links; l++) {
    int32_t sent = model->flow[plim_space_cell(model, l, t, i)];
    if (sent < 0 || p->link[l].from != p->device[d].space) continue;
    plim_model_term(&model->linear, release, 1);
    plim_model_term(&model->linear, sent, 1);
    plim_model_row(&model->linear, -INFINITY, 1);
  }
}

static void add_release_rows(plim_space_model *model, int32_t d, int32_t t, int32_t i) {
  const plim_space_node *v = &model->problem->node[i];
  int32_t first = model->release[plim_space_cell(model, d, t, i)], n = first < 0 ? 0 : readers(model, t, i);
  int32_t next = plim_space_column(model, model->keep, d, t + 1, i);
  for (int32_t k = 0; k < n; k++) {
    plim_model_term(&model->linear, first + k, 1);
    add_any_run(model, t, v->succ[k], -1);
    plim_model_row(&model->linear, -INFINITY, 0);
    if (model->n_devices > 1) {
      plim_model_term(&model->linear, first + k, 1);
      add_presence(model, d, t, i, -1);
      plim_model_row(&model->linear, -INFINITY, 0);
    }
    for (int32_t j = k + 1; j < n; j++) {
      plim_model_term(&model->linear, first + k, 1);
      plim_model_term(&model->linear, model->run[plim_space_cell(model, d, t, v->succ[j])], 1);
      plim_model_row(&model->linear, -INFINITY, 1);
    }
    if (model->flow) add_sent_rows(model, d, t, i, first + k);
  }
  if (n == 0) return;
  for (int32_t k = 0; k < n; k++) plim_model_term(&model->linear, first + k, 1);
  plim_model_term(&model->linear, next, 1);
  plim_model_row(&model->linear, -INFINITY, 1);
}

/* Bytes that are there, or reserved, when stage t begins. */
static void add_entry(plim_space_model *model, int32_t d, int32_t t) {
  const plim_platform *p = model->problem->platform;
  for (int32_t i = 0; i <= t; i++) {
    double bytes = share_of_budget(model, d, model->problem->node[i].bytes);
    plim_model_term(&model->linear, model->keep[plim_space_cell(model, d, t, i)], bytes);
    if (model->reload)
      plim_model_term(&model->linear, model->reload[plim_space_cell(model, p->device[d].space, t, i)], bytes);
    for (int32_t l = 0; l < model->n_links; l++) {
      if (p->link[l].to != p->device[d].space) continue;
      plim_model_term(&model->linear, model->arrive[plim_space_cell(model, l, t, i)], bytes);
    }
  }
}

/* What its readers release after node k. */
static void add_releases_after(plim_space_model *model, int32_t d, int32_t t, int32_t k) {
  const plim_space_node *v = &model->problem->node[k];
  for (int32_t p = 0; p < v->n_preds; p++) {
    const plim_space_node *u = &model->problem->node[v->pred[p]];
    int32_t first = model->release[plim_space_cell(model, d, t, v->pred[p])], s = 0;
    while (u->succ[s] != k) s++;
    if (first >= 0) plim_model_term(&model->linear, first + s, -share_of_budget(model, d, u->bytes));
  }
}

/* While node k runs its workspace is in use beside what is. */
static void add_workspace_row(plim_space_model *model, int32_t d, int32_t t, int32_t k) {
  int64_t workspace = model->problem->node[k].workspace;
  int32_t run = model->run[plim_space_cell(model, d, t, k)];
  if (workspace == 0 || run < 0) return;
  plim_model_term(&model->linear, model->used[plim_space_cell(model, d, t, k)], 1);
  plim_model_term(&model->linear, run, share_of_budget(model, d, workspace));
  if (is_scaled(model, d)) plim_model_term(&model->linear, model->factor, -1);
  plim_model_row(&model->linear, -INFINITY,
                 is_scaled(model, d) || budget_of(model, d) < model->problem->bytes_unit ? 0 : 1);
}

static void add_used_rows(plim_space_model *model, int32_t d, int32_t t) {
  int32_t before = -1;
  for (int32_t k = 0; k <= t; k++) {
    int32_t used = model->used[plim_space_cell(model, d, t, k)];
    if (used < 0) continue;
    if (before < 0) {
      add_entry(model, d, t);
    } else {
      plim_model_term(&model->linear, model->used[plim_space_cell(model, d, t, before)], 1);
      add_releases_after(model, d, t, before);
    }
    plim_model_term(&model->linear, model->run[plim_space_cell(model, d, t, k)],
                    share_of_budget(model, d, model->problem->node[k].bytes));
    plim_model_term(&model->linear, used, -1);
    plim_model_row(&model->linear, 0, 0);
    before = k;
    add_workspace_row(model, d, t, k);
    if (!is_scaled(model, d)) continue;
    plim_model_term(&model->linear, used, 1);
    plim_model_term(&model->linear, model->factor, -1);
    plim_model_row(&model->linear, -INFINITY, 0);
  }
}

static void add_common_rows(plim_space_model *model) {
  for (int32_t t = 0; t < model->n; t++) {
    add_any_run(model, t, t, 1);
    plim_model_row(&model->linear, 1, model->problem->node[t].once ? 1 : INFINITY);
    for (int32_t d = 0; d < model->n_devices; d++) {
      if (!is_bounded(model, d)) continue;
      for (int32_t i = 0; i <= t; i++) add_release_rows(model, d, t, i);
      add_used_rows(model, d, t);
    }
  }
}

/* ---- the whole ---- */

static plim_status need_platform(const plim_space_model *model) {
  const plim_platform *p = model->problem->platform;
  if (model->options->model_class == PLIM_SPACE_POET && p->n_devices != 1) {
    return plim_fail(model->problem->ctx, PLIM_EDATA,
                     "this planner is for one device, platform %s has %d; planners xengine and milp place", p->name,
                     p->n_devices);
  }
  for (int32_t d = 0; d < p->n_devices; d++) {
    for (int32_t e = 0; e < d; e++) {
      if (p->device[d].space != p->device[e].space) continue;
      return plim_fail(model->problem->ctx, PLIM_EDATA,
                       "devices %s and %s compute in one space, %s: each needs its own", p->device[e].name,
                       p->device[d].name, p->space[p->device[d].space].name);
    }
  }
  double copies = model->options->model_class == PLIM_SPACE_FLUID ? 2.0 * model->n_links + 2.0 * model->n_spaces
                                                                  : model->n_links + 3;
  double columns = (double)model->n * model->n * (2.5 * model->n_devices + copies) +
                   (double)model->problem->n_edges * model->n * model->n_devices;
  if (columns < spaces_tuning.program.columns) return PLIM_OK;
  return plim_fail(model->problem->ctx, PLIM_EUSAGE,
                   "planners over spaces take integer programs of at most %d columns; that of these %d ops would have "
                   "%.0f",
                   spaces_tuning.program.columns, model->n, columns);
}

static void find_homes(plim_space_model *model) {
  for (int32_t s = 0; s < model->n_spaces; s++) model->home[s] = -1;
  for (int32_t d = 0; d < model->n_devices; d++) model->home[model->problem->platform->device[d].space] = d;
}

int plim_space_link_taken(const plim_space_model *model, int32_t l) {
  return plim_platform_link_places(model->problem->platform, l) ? model->options->place : model->options->page;
}

/* The first space that a link leads to from the device's and another leads back from. */
static void find_page_links(plim_space_model *model) {
  const plim_platform *p = model->problem->platform;
  model->page_out = model->page_in = -1;
  if (!model->options->page) return;
  for (int32_t l = 0; l < p->n_links && model->page_out < 0; l++) {
    int32_t back = plim_platform_find_link(p, p->link[l].to, p->link[l].from);
    if (p->link[l].from != p->device[0].space || back < 0) continue;
    model->page_out = l;
    model->page_in = back;
  }
}

static void (*const class_columns[])(plim_space_model *) = {plim_space_poet_columns, plim_space_xengine_columns,
                                                            plim_space_fluid_columns};
static void (*const class_rows[])(plim_space_model *) = {plim_space_poet_rows, plim_space_xengine_rows,
                                                         plim_space_fluid_rows};

plim_status plim_space_model_make(const plim_space_problem *problem, const plim_space_model_options *options,
                                  plim_space_model **out) {
  plim_space_model *model = NULL;
  PLIM_TRY(plim_allocate(problem->ctx, 1, sizeof *model, &model));
  *model = (plim_space_model){.problem = problem,
                              .options = options,
                              .linear = {.ctx = problem->ctx},
                              .n = problem->n,
                              .n_devices = problem->platform->n_devices,
                              .n_links = problem->platform->n_links,
                              .n_spaces = problem->platform->n_spaces,
                              .factor = -1};
  plim_status status = need_platform(model);
  if (status == PLIM_OK) status = allocate_columns(model);
  if (status == PLIM_OK) {
    find_last(model);
    find_homes(model);
    find_page_links(model);
    set_scale(model);
    if (options->scaled) model->factor = plim_model_column(&model->linear, 1000, 0, INFINITY, 0);
    for (int32_t t = 0; t < model->n; t++) add_run_and_keep(model, t);
    class_columns[options->model_class](model);
    for (int32_t t = 0; t < model->n; t++) add_memory_columns(model, t);
    class_rows[options->model_class](model);
    add_common_rows(model);
    status = model->linear.status;
  }
  if (status != PLIM_OK) {
    plim_space_model_free(model);
    return status;
  }
  *out = model;
  return PLIM_OK;
}
