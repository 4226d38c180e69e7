/* Columns and rows of the classes poet and xengine alone, and of copies within a stage, which fluid has too. Columns
 * that do not exist are -1 and left out. */
#include <math.h>

#include "planner/spaces/program/space_model.h"

static int32_t add_column(plim_space_model *model, double cost, int integer) {
  return plim_model_column(&model->linear, cost, 0, 1, integer);
}

void plim_space_page_budget(plim_space_model *model, int32_t space, int32_t t, int32_t n, const int32_t *const *grid,
                            const int32_t *plane) {
  int64_t budget = model->options->budget[space];
  int scaled = model->options->scaled && model->options->scaled[space];
  double unit = scaled ? 1 : (double)model->problem->bytes_unit, whole = fmax(1, floor((double)budget / unit));
  if (budget == INT64_MAX) return;
  for (int32_t i = 0; i < t; i++) {
    double bytes = (double)model->problem->node[i].bytes / unit / whole;
    for (int32_t g = 0; g < n; g++)
      plim_model_term(&model->linear, plim_space_column(model, grid[g], plane[g], t, i), bytes);
  }
  if (scaled) plim_model_term(&model->linear, model->factor, -1);
  plim_model_row(&model->linear, -INFINITY, scaled || budget < model->problem->bytes_unit ? 0 : 1);
}

/* ---- poet ---- */

static int can_page(const plim_space_model *model, int32_t t, int32_t i) {
  return model->page_out >= 0 && plim_space_useful(model, t, i);
}

void plim_space_poet_columns(plim_space_model *model) {
  for (int32_t t = 0; t < model->n; t++) {
    for (int32_t i = 0; i < t; i++) {
      int64_t at = plim_space_cell(model, 0, t, i);
      if (!can_page(model, t, i)) continue;
      model->stored[at] = add_column(model, 0, 1);
      model->out[at] = add_column(model, plim_space_link_cost(model, i, model->page_out), 1);
      model->in[at] = add_column(model, plim_space_link_cost(model, i, model->page_in), 1);
    }
  }
}

static void add_deadline(plim_space_model *model) {
  const plim_space_problem *p = model->problem;
  double deadline_ns =
      model->options->deadline_ns > 0 ? (double)model->options->deadline_ns : 0.5; /* in 0 ns nothing runs */
  if (model->options->deadline_ns == INT64_MAX) return;
  for (int32_t t = 0; t < model->n; t++) {
    for (int32_t i = 0; i <= t; i++) {
      double share = (double)plim_space_run_ns(p, i, 0) / deadline_ns;
      plim_model_term(&model->linear, plim_space_column(model, model->run, 0, t, i),
                      share < 2 ? share : 2); /* above 1 it is too late */
    }
  }
  plim_model_row(&model->linear, -INFINITY, 1);
}

void plim_space_poet_rows(plim_space_model *model) {
  plim_space_need_inputs(model);
  for (int32_t t = 0; t < model->n; t++) {
    for (int32_t i = 0; i < t; i++) {
      int32_t keep = plim_space_column(model, model->keep, 0, t, i),
              stored = plim_space_column(model, model->stored, 0, t, i);
      const int32_t kept_from[] = {plim_space_column(model, model->keep, 0, t - 1, i),
                                   plim_space_column(model, model->run, 0, t - 1, i),
                                   plim_space_column(model, model->in, 0, t - 1, i)};
      const int32_t stored_from[] = {plim_space_column(model, model->stored, 0, t - 1, i),
                                     plim_space_column(model, model->out, 0, t - 1, i)};
      plim_space_at_most(model, keep, 3, kept_from);
      plim_space_at_most(model, stored, 2, stored_from);
      plim_space_at_most(model, plim_space_column(model, model->in, 0, t, i), 1, &stored);
      plim_space_at_most(model, plim_space_column(model, model->out, 0, t, i), 1, &keep);
    }
    /* what is stored there, and what is on its way */
    const int32_t *const grids[] = {model->stored, model->out}, planes[] = {0, 0};
    if (model->page_out >= 0)
      plim_space_page_budget(model, model->problem->platform->link[model->page_out].to, t, 2, grids, planes);
  }
  add_deadline(model);
}

/* ---- xengine ---- */

void plim_space_arrive_columns(plim_space_model *model) {
  for (int32_t l = 0; l < model->n_links; l++) {
    if (!plim_platform_link_places(model->problem->platform, l) || !plim_space_link_taken(model, l)) continue;
    for (int32_t t = 0; t < model->n; t++) {
      for (int32_t i = 0; i <= t; i++) {
        if (!plim_space_useful(model, t, i) || plim_space_copy_ns(model->problem, i, l) < 0) continue;
        double cost = plim_space_link_cost(model, i, l);
        if (cost > 0) cost += 1e-3; /* of equal sums the one with fewer copies */
        model->arrive[plim_space_cell(model, l, t, i)] = add_column(model, cost, 1);
      }
    }
  }
}

void plim_space_xengine_columns(plim_space_model *model) {
  plim_space_arrive_columns(model);
}

/* Copies of node i in stage t are from what is there. */
void plim_space_arrive_rows(plim_space_model *model, int32_t t, int32_t i) {
  const plim_platform *p = model->problem->platform;
  for (int32_t l = 0; l < model->n_links; l++) {
    int32_t d = model->home[p->link[l].from], arrive = plim_space_column(model, model->arrive, l, t, i);
    if (arrive < 0) continue;
    const int32_t source[] = {plim_space_column(model, model->run, d, t, i),
                              plim_space_column(model, model->keep, d, t, i)};
    plim_space_at_most(model, arrive, 2, source);
  }
}

/* What was made, kept or brought may be kept. */
static void add_keep_row(plim_space_model *model, int32_t d, int32_t t, int32_t i) {
  const plim_platform *p = model->problem->platform;
  int32_t keep = plim_space_column(model, model->keep, d, t + 1, i);
  if (keep < 0) return;
  plim_model_term(&model->linear, keep, 1);
  plim_model_term(&model->linear, plim_space_column(model, model->run, d, t, i), -1);
  plim_model_term(&model->linear, plim_space_column(model, model->keep, d, t, i), -1);
  for (int32_t l = 0; l < model->n_links; l++) {
    if (p->link[l].to == p->device[d].space)
      plim_model_term(&model->linear, plim_space_column(model, model->arrive, l, t, i), -1);
  }
  plim_model_row(&model->linear, -INFINITY, 0);
}

void plim_space_xengine_rows(plim_space_model *model) {
  plim_space_need_inputs(model);
  for (int32_t t = 0; t < model->n; t++) {
    for (int32_t i = 0; i <= t; i++) {
      plim_space_arrive_rows(model, t, i);
      for (int32_t d = 0; d < model->n_devices; d++) add_keep_row(model, d, t, i);
    }
  }
  if (model->options->objective == PLIM_OBJECTIVE_TIME || model->options->deadline_ns < INT64_MAX)
    plim_space_makespan_rows(model);
}
