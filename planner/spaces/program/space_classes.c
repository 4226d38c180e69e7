/* The rows in which the three classes of plans over spaces differ. Columns that do not exist are -1 and left out. */
#include <math.h>

#include "planner/spaces/program/space_model.h"

#define column plim_space_column

static int32_t add_column(plim_space_model *m, double cost, int integer) {
  return plim_model_column(&m->linear, cost, 0, 1, integer);
}

void plim_space_page_budget(plim_space_model *m, int32_t space, int32_t t, int32_t n, const int32_t *const *grid,
                            const int32_t *plane) {
  int64_t budget = m->options->budget[space];
  int scaled = m->options->scaled && m->options->scaled[space];
  double unit = scaled ? 1 : (double)m->problem->bytes_unit, whole = fmax(1, floor((double)budget / unit));
  if (budget == INT64_MAX) return;
  for (int32_t i = 0; i < t; i++) {
    double bytes = (double)m->problem->node[i].bytes / unit / whole;
    for (int32_t g = 0; g < n; g++) plim_model_term(&m->linear, column(m, grid[g], plane[g], t, i), bytes);
  }
  if (scaled) plim_model_term(&m->linear, m->factor, -1);
  plim_model_row(&m->linear, -INFINITY, scaled || budget < m->problem->bytes_unit ? 0 : 1);
}

/* ---- poet ---- */

static int can_page(const plim_space_model *m, int32_t t, int32_t i) {
  return m->page_out >= 0 && plim_space_useful(m, t, i);
}

void plim_space_poet_columns(plim_space_model *m) {
  for (int32_t t = 0; t < m->n; t++) {
    for (int32_t i = 0; i < t; i++) {
      int64_t at = plim_space_cell(m, 0, t, i);
      if (!can_page(m, t, i)) continue;
      m->stored[at] = add_column(m, 0, 1);
      m->out[at] = add_column(m, plim_space_link_cost(m, i, m->page_out), 1);
      m->in[at] = add_column(m, plim_space_link_cost(m, i, m->page_in), 1);
    }
  }
}

static void add_deadline(plim_space_model *m) {
  const plim_space_problem *p = m->problem;
  double most = m->options->deadline_ns > 0 ? (double)m->options->deadline_ns : 0.5; /* in 0 ns nothing runs */
  if (m->options->deadline_ns == INT64_MAX) return;
  for (int32_t t = 0; t < m->n; t++) {
    for (int32_t i = 0; i <= t; i++) {
      double share = (double)plim_space_run_ns(p, i, 0) / most;
      plim_model_term(&m->linear, column(m, m->run, 0, t, i), share < 2 ? share : 2); /* above 1 it is too late */
    }
  }
  plim_model_row(&m->linear, -INFINITY, 1);
}

void plim_space_poet_rows(plim_space_model *m) {
  plim_space_need_inputs(m);
  for (int32_t t = 0; t < m->n; t++) {
    for (int32_t i = 0; i < t; i++) {
      int32_t keep = column(m, m->keep, 0, t, i), stored = column(m, m->stored, 0, t, i);
      const int32_t kept_from[] = {column(m, m->keep, 0, t - 1, i), column(m, m->run, 0, t - 1, i),
                                   column(m, m->in, 0, t - 1, i)};
      const int32_t stored_from[] = {column(m, m->stored, 0, t - 1, i), column(m, m->out, 0, t - 1, i)};
      plim_space_at_most(m, keep, 3, kept_from);
      plim_space_at_most(m, stored, 2, stored_from);
      plim_space_at_most(m, column(m, m->in, 0, t, i), 1, &stored);
      plim_space_at_most(m, column(m, m->out, 0, t, i), 1, &keep);
    }
    /* what is stored there, and what is on its way */
    const int32_t *const grids[] = {m->stored, m->out}, planes[] = {0, 0};
    if (m->page_out >= 0) plim_space_page_budget(m, m->problem->platform->link[m->page_out].to, t, 2, grids, planes);
  }
  add_deadline(m);
}

/* ---- xengine ---- */

void plim_space_arrive_columns(plim_space_model *m) {
  for (int32_t l = 0; l < m->n_links; l++) {
    if (!plim_space_link_places(m, l) || !plim_space_link_taken(m, l)) continue;
    for (int32_t t = 0; t < m->n; t++) {
      for (int32_t i = 0; i <= t; i++) {
        if (!plim_space_useful(m, t, i) || plim_space_copy_ns(m->problem, i, l) < 0) continue;
        double cost = plim_space_link_cost(m, i, l);
        if (cost > 0) cost += 1e-3; /* of equal sums the one with fewer copies */
        m->arrive[plim_space_cell(m, l, t, i)] = add_column(m, cost, 1);
      }
    }
  }
}

void plim_space_xengine_columns(plim_space_model *m) {
  plim_space_arrive_columns(m);
}

/* Copies of node i in stage t are from what is there. */
void plim_space_arrive_rows(plim_space_model *m, int32_t t, int32_t i) {
  const plim_platform *p = m->problem->platform;
  for (int32_t l = 0; l < m->n_links; l++) {
    int32_t d = m->home[p->link[l].from], arrive = column(m, m->arrive, l, t, i);
    if (arrive < 0) continue;
    const int32_t source[] = {column(m, m->run, d, t, i), column(m, m->keep, d, t, i)};
    plim_space_at_most(m, arrive, 2, source);
  }
}

/* What was made, kept or brought may be kept. */
static void add_keep_row(plim_space_model *m, int32_t d, int32_t t, int32_t i) {
  const plim_platform *p = m->problem->platform;
  int32_t keep = column(m, m->keep, d, t + 1, i);
  if (keep < 0) return;
  plim_model_term(&m->linear, keep, 1);
  plim_model_term(&m->linear, column(m, m->run, d, t, i), -1);
  plim_model_term(&m->linear, column(m, m->keep, d, t, i), -1);
  for (int32_t l = 0; l < m->n_links; l++) {
    if (p->link[l].to == p->device[d].space) plim_model_term(&m->linear, column(m, m->arrive, l, t, i), -1);
  }
  plim_model_row(&m->linear, -INFINITY, 0);
}

void plim_space_xengine_rows(plim_space_model *m) {
  plim_space_need_inputs(m);
  for (int32_t t = 0; t < m->n; t++) {
    for (int32_t i = 0; i <= t; i++) {
      plim_space_arrive_rows(m, t, i);
      for (int32_t d = 0; d < m->n_devices; d++) add_keep_row(m, d, t, i);
    }
  }
  if (m->options->objective == PLIM_OBJECTIVE_TIME || m->options->deadline_ns < INT64_MAX) plim_space_makespan_rows(m);
}
