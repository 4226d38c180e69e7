/* Bounds the makespan within an integer program. Rows under which the makespan cannot be: what each device and each
 * queue of links does in all, and the path of first ends. The first end of node v is no earlier than that of an input
 * u and a run of v; where v runs on one device alone and u never there, a copy of u comes between. Runs that nothing
 * needs may loosen these rows: they prove a bound, and the plan's makespan is the simulator's. */
#include <math.h>

#include "planner/spaces/program/space_model.h"

static double ns(const plim_space_model *m, int64_t time) {
  return plim_space_coefficient(m->time_scale * (double)time);
}

/* value x all runs of node i on device d. */
static void add_runs(plim_space_model *m, int32_t d, int32_t i, double value) {
  for (int32_t t = i; t < m->n; t++) plim_model_term(&m->linear, m->run[plim_space_cell(m, d, t, i)], value);
}

static void add_loads(plim_space_model *m, int32_t makespan) {
  for (int32_t d = 0; d < m->n_devices; d++) {
    for (int32_t i = 0; i < m->n; i++) add_runs(m, d, i, ns(m, plim_space_run_ns(m->problem, i, d)));
    plim_model_term(&m->linear, makespan, -1);
    plim_model_row(&m->linear, -INFINITY, 0);
  }
  for (int32_t q = 0; q < m->n_links; q++) {
    if (plim_platform_queue_link(m->problem->platform, q) != q) continue;
    for (int32_t l = q; l < m->n_links; l++) {
      if (plim_platform_queue_link(m->problem->platform, l) != q) continue;
      for (int32_t t = 0; t < m->n; t++) {
        for (int32_t i = 0; i <= t; i++) {
          plim_model_term(&m->linear, m->arrive[plim_space_cell(m, l, t, i)],
                          ns(m, plim_space_copy_ns(m->problem, i, l)));
        }
      }
    }
    plim_model_term(&m->linear, makespan, -1);
    plim_model_row(&m->linear, -INFINITY, 0);
  }
}

/* The least time of a copy of node i to a device; 0: there is none. */
static int64_t least_copy(const plim_space_model *m, int32_t i, int32_t d) {
  const plim_platform *p = m->problem->platform;
  int64_t least = -1;
  for (int32_t l = 0; l < m->n_links; l++) {
    int64_t time = plim_space_copy_ns(m->problem, i, l);
    if (p->link[l].to != p->device[d].space || !plim_space_link_places(m, l) || time < 0) continue;
    if (least < 0 || time < least) least = time;
  }
  return least > 0 ? least : 0;
}

/* end of v >= end of u + run of v on d + copy x (1 - runs of u on d), less all of it where v runs elsewhere.
 * u -1: v reads nothing. */
static void add_path_row(plim_space_model *m, int32_t d, int32_t v, int32_t u, int32_t end, int64_t copy) {
  double whole = ns(m, plim_space_run_ns(m->problem, v, d)) + ns(m, copy);
  plim_model_term(&m->linear, end + v, 1);
  if (u >= 0) plim_model_term(&m->linear, end + u, -1);
  if (copy > 0) add_runs(m, d, u, ns(m, copy));
  for (int32_t e = 0; e < m->n_devices; e++) {
    if (e != d) add_runs(m, e, v, whole);
  }
  plim_model_row(&m->linear, whole, INFINITY);
}

static void add_paths(plim_space_model *m, int32_t makespan, int32_t end) {
  for (int32_t v = 0; v < m->n; v++) {
    const plim_space_node *node = &m->problem->node[v];
    for (int32_t d = 0; d < m->n_devices; d++) {
      if (plim_space_run_ns(m->problem, v, d) < 0) continue;
      if (node->n_preds == 0) add_path_row(m, d, v, -1, end, 0);
      for (int32_t k = 0; k < node->n_preds; k++) {
        int64_t copy = least_copy(m, node->pred[k], d);
        add_path_row(m, d, v, node->pred[k], end, 0);
        if (copy > 0) add_path_row(m, d, v, node->pred[k], end, copy);
      }
    }
    plim_model_term(&m->linear, end + v, 1);
    plim_model_term(&m->linear, makespan, -1);
    plim_model_row(&m->linear, -INFINITY, 0);
  }
}

void plim_space_makespan_rows(plim_space_model *m) {
  int objective = m->options->objective == PLIM_OBJECTIVE_TIME && !m->options->scaled;
  double most = m->options->deadline_ns < INT64_MAX ? ns(m, m->options->deadline_ns) : INFINITY;
  int32_t makespan = plim_model_column(&m->linear, objective ? 1 : 0, 0, most, 0), end = -1;
  for (int32_t v = 0; v < m->n; v++) {
    int32_t column = plim_model_column(&m->linear, 0, 0, INFINITY, 0);
    if (v == 0) end = column;
  }
  add_loads(m, makespan);
  add_paths(m, makespan, end);
}
