/* Bounds the makespan within an integer program. Rows under which the makespan cannot be: what each device and each
 * queue of links does in all, and the path of first ends. The first end of node v is no earlier than that of an input
 * u and a run of v; where v runs on one device alone and u never there, a copy of u comes between. Runs that nothing
 * needs may loosen these rows: they prove a bound, and the plan's makespan is the simulator's. */
#include <math.h>

#include "planner/spaces/program/space_model.h"

static double ns(const plim_space_model *model, int64_t time) {
  return plim_space_coefficient(model->time_scale * (double)time);
}

/* value x all runs of node i on device d. */
static void add_runs(plim_space_model *model, int32_t d, int32_t i, double value) {
  for (int32_t t = i; t < model->n; t++)
    plim_model_term(&model->linear, model->run[plim_space_cell(model, d, t, i)], value);
}

static void add_loads(plim_space_model *model, int32_t makespan) {
  for (int32_t d = 0; d < model->n_devices; d++) {
    for (int32_t i = 0; i < model->n; i++) add_runs(model, d, i, ns(model, plim_space_run_ns(model->problem, i, d)));
    plim_model_term(&model->linear, makespan, -1);
    plim_model_row(&model->linear, -INFINITY, 0);
  }
  for (int32_t q = 0; q < model->n_links; q++) {
    if (plim_platform_queue_link(model->problem->platform, q) != q) continue;
    for (int32_t l = q; l < model->n_links; l++) {
      if (plim_platform_queue_link(model->problem->platform, l) != q) continue;
      for (int32_t t = 0; t < model->n; t++) {
        for (int32_t i = 0; i <= t; i++) {
          plim_model_term(&model->linear, model->arrive[plim_space_cell(model, l, t, i)],
                          ns(model, plim_space_copy_ns(model->problem, i, l)));
        }
      }
    }
    plim_model_term(&model->linear, makespan, -1);
    plim_model_row(&model->linear, -INFINITY, 0);
  }
}

/* The least time of a copy of node i to a device; 0: there is none. */
static int64_t least_copy(const plim_space_model *model, int32_t i, int32_t d) {
  const plim_platform *p = model->problem->platform;
  int64_t least = -1;
  for (int32_t l = 0; l < model->n_links; l++) {
    int64_t time = plim_space_copy_ns(model->problem, i, l);
    if (p->link[l].to != p->device[d].space || !plim_platform_link_places(model->problem->platform, l) || time < 0)
      continue;
    if (least < 0 || time < least) least = time;
  }
  return least > 0 ? least : 0;
}

/* end of v >= end of u + run of v on d + copy x (1 - runs of u on d), less all of it where v runs elsewhere.
 * u -1: v reads nothing. */
static void add_path_row(plim_space_model *model, int32_t d, int32_t v, int32_t u, int32_t end, int64_t copy) {
  double whole = ns(model, plim_space_run_ns(model->problem, v, d)) + ns(model, copy);
  plim_model_term(&model->linear, end + v, 1);
  if (u >= 0) plim_model_term(&model->linear, end + u, -1);
  if (copy > 0) add_runs(model, d, u, ns(model, copy));
  for (int32_t e = 0; e < model->n_devices; e++) {
    if (e != d) add_runs(model, e, v, whole);
  }
  plim_model_row(&model->linear, whole, INFINITY);
}

static void add_paths(plim_space_model *model, int32_t makespan, int32_t end) {
  for (int32_t v = 0; v < model->n; v++) {
    const plim_space_node *node = &model->problem->node[v];
    for (int32_t d = 0; d < model->n_devices; d++) {
      if (plim_space_run_ns(model->problem, v, d) < 0) continue;
      if (node->n_preds == 0) add_path_row(model, d, v, -1, end, 0);
      for (int32_t k = 0; k < node->n_preds; k++) {
        int64_t copy = least_copy(model, node->pred[k], d);
        add_path_row(model, d, v, node->pred[k], end, 0);
        if (copy > 0) add_path_row(model, d, v, node->pred[k], end, copy);
      }
    }
    plim_model_term(&model->linear, end + v, 1);
    plim_model_term(&model->linear, makespan, -1);
    plim_model_row(&model->linear, -INFINITY, 0);
  }
}

void plim_space_makespan_rows(plim_space_model *model) {
  int objective = model->options->objective == PLIM_OBJECTIVE_TIME && !model->options->scaled;
  double max_ns = model->options->deadline_ns < INT64_MAX ? ns(model, model->options->deadline_ns) : INFINITY;
  int32_t makespan = plim_model_column(&model->linear, objective ? 1 : 0, 0, max_ns, 0), end = -1;
  for (int32_t v = 0; v < model->n; v++) {
    int32_t column = plim_model_column(&model->linear, 0, 0, INFINITY, 0);
    if (v == 0) end = column;
  }
  add_loads(model, makespan);
  add_paths(model, makespan, end);
}
