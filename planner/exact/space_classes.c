/* The rows in which the three classes of plans over spaces differ. Columns that do not exist are -1 and left out. */
#include <math.h>

#include "planner/exact/space_model.h"

static int32_t column(const plim_space_model *m, const int32_t *grid, int32_t plane, int32_t t, int32_t i) {
  return t < m->n ? grid[plim_space_cell(m, plane, t, i)] : -1;
}

static int32_t add(plim_space_model *m, double cost, int integer) {
  return plim_model_column(&m->linear, cost, 0, 1, integer);
}

/* Bytes of a page space: what is stored there, and what is on its way. */
static void add_page_budget(plim_space_model *m, int32_t t) {
  const plim_platform_link *out = &m->problem->platform->link[m->page_out];
  int64_t budget = m->options->budget[out->to];
  double unit = (double)m->problem->bytes_unit;
  int scaled = m->options->scaled && m->options->scaled[out->to];
  if (budget == INT64_MAX) return;
  double whole = fmax(1, floor((double)budget / unit));
  for (int32_t i = 0; i < t; i++) {
    double bytes = (double)m->problem->node[i].bytes / unit / whole;
    plim_model_term(&m->linear, column(m, m->stored, 0, t, i), bytes);
    plim_model_term(&m->linear, column(m, m->out, 0, t, i), bytes);
  }
  if (scaled) plim_model_term(&m->linear, m->factor, -1);
  plim_model_row(&m->linear, -INFINITY, scaled ? 0 : 1);
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
      m->stored[at] = add(m, 0, 1);
      m->out[at] = add(m, plim_space_link_cost(m, i, m->page_out), 1);
      m->in[at] = add(m, plim_space_link_cost(m, i, m->page_in), 1);
    }
  }
}

static void add_deadline(plim_space_model *m) {
  const plim_space_problem *p = m->problem;
  double most = (double)m->options->deadline_ns;
  if (m->options->deadline_ns == INT64_MAX || most <= 0) return;
  for (int32_t t = 0; t < m->n; t++) {
    for (int32_t i = 0; i <= t; i++) {
      plim_model_term(&m->linear, column(m, m->run, 0, t, i), (double)plim_space_run_ns(p, i, 0) / most);
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
    if (m->page_out >= 0) add_page_budget(m, t);
  }
  add_deadline(m);
}

/* ---- xengine ---- */

/* Does a device compute in the space? */
static int is_home(const plim_platform *p, int32_t space) {
  int32_t d = p->n_devices - 1;
  while (d >= 0 && p->device[d].space != space) d--;
  return d >= 0;
}

void plim_space_xengine_columns(plim_space_model *m) {
  const plim_platform *p = m->problem->platform;
  for (int32_t l = 0; l < m->n_links && m->options->place; l++) {
    if (!is_home(p, p->link[l].from) || !is_home(p, p->link[l].to)) continue;
    for (int32_t t = 0; t < m->n; t++) {
      for (int32_t i = 0; i <= t; i++) {
        if (!plim_space_useful(m, t, i) || plim_space_copy_ns(m->problem, i, l) < 0) continue;
        /* of equal sums the one with fewer copies */
        double cost = plim_space_link_cost(m, i, l) + (m->options->scaled ? 0 : 1e-3);
        m->arrive[plim_space_cell(m, l, t, i)] = add(m, cost, 1);
      }
    }
  }
}

/* One copy of node i along link l in stage t: from what is there, and what it brings may be kept. */
static void add_copy_rows(plim_space_model *m, int32_t d, int32_t t, int32_t i) {
  const plim_platform *p = m->problem->platform;
  const int32_t source[] = {column(m, m->run, d, t, i), column(m, m->keep, d, t, i)};
  for (int32_t l = 0; l < m->n_links; l++) {
    if (p->link[l].from == p->device[d].space) plim_space_at_most(m, column(m, m->arrive, l, t, i), 2, source);
  }
  int32_t keep = column(m, m->keep, d, t + 1, i);
  if (keep < 0) return;
  plim_model_term(&m->linear, keep, 1);
  plim_model_term(&m->linear, source[0], -1);
  plim_model_term(&m->linear, source[1], -1);
  for (int32_t l = 0; l < m->n_links; l++) {
    if (p->link[l].to == p->device[d].space) plim_model_term(&m->linear, column(m, m->arrive, l, t, i), -1);
  }
  plim_model_row(&m->linear, -INFINITY, 0);
}

void plim_space_xengine_rows(plim_space_model *m) {
  plim_space_need_inputs(m);
  for (int32_t d = 0; d < m->n_devices; d++) {
    for (int32_t t = 0; t < m->n; t++) {
      for (int32_t i = 0; i <= t; i++) add_copy_rows(m, d, t, i);
    }
  }
  if (m->options->deadline_ns == INT64_MAX) return;
  /* the sum of all times is no less than the makespan */
  double most = fmax(1, (double)m->options->deadline_ns);
  for (int32_t t = 0; t < m->n; t++) {
    for (int32_t i = 0; i <= t; i++) {
      for (int32_t d = 0; d < m->n_devices; d++) {
        plim_model_term(&m->linear, column(m, m->run, d, t, i), (double)plim_space_run_ns(m->problem, i, d) / most);
      }
      for (int32_t l = 0; l < m->n_links; l++) {
        plim_model_term(&m->linear, column(m, m->arrive, l, t, i), (double)plim_space_copy_ns(m->problem, i, l) / most);
      }
    }
  }
  plim_model_row(&m->linear, -INFINITY, 1);
}

/* ---- fluid ---- */

void plim_space_fluid_columns(plim_space_model *m) {
  int energy = m->options->objective == PLIM_OBJECTIVE_ENERGY;
  for (int32_t t = 0; t < m->n; t++) {
    for (int32_t i = 0; i < t; i++) {
      int64_t at = plim_space_cell(m, 0, t, i);
      if (!can_page(m, t, i)) continue;
      m->out[at] = add(m, energy ? plim_space_link_cost(m, i, m->page_out) : 0, 0);
      m->in[at] = add(m, energy ? plim_space_link_cost(m, i, m->page_in) : 0, 0);
      if (t > i + 1) m->stored[at] = add(m, 0, 0);
      if (t > i + 1) m->loaded[at] = add(m, 0, 0);
      m->whole[at] = add(m, 0, 1);
      m->reload[at] = add(m, 0, 1);
    }
  }
}

/* The stage takes at least as long as its runs, and as what each direction of the link carries. */
static int32_t add_stage_time(plim_space_model *m, int32_t t) {
  const plim_space_problem *p = m->problem;
  double cost = 1;
  if (m->options->objective == PLIM_OBJECTIVE_ENERGY) { /* what the device draws meanwhile */
    cost = m->scale * p->platform->device[0].idle_watt * 1e-9 / m->time_scale;
  }
  int32_t time = plim_model_column(&m->linear, m->options->scaled ? 0 : cost, 0, INFINITY, 0);
  int shared = m->page_out >= 0 && !(p->platform->link[m->page_out].duplex && p->platform->link[m->page_in].duplex);
  for (int32_t i = 0; i <= t; i++) {
    plim_model_term(&m->linear, column(m, m->run, 0, t, i), m->time_scale * (double)plim_space_run_ns(p, i, 0));
  }
  plim_model_term(&m->linear, time, -1);
  plim_model_row(&m->linear, -INFINITY, 0);
  for (int way = 0; way < 2 && m->page_out >= 0; way++) {
    if (way == 0 || !shared) plim_model_term(&m->linear, time, -1);
    int32_t link = way == 0 ? m->page_out : m->page_in;
    for (int32_t i = 0; i < t; i++) {
      plim_model_term(&m->linear, column(m, way == 0 ? m->out : m->in, 0, t, i),
                      m->time_scale * (double)plim_space_copy_ns(p, i, link));
    }
    if (way == 1 || !shared) plim_model_row(&m->linear, -INFINITY, 0);
  }
  return time;
}

static void add_fluid_rows(plim_space_model *m, int32_t t, int32_t i) {
  int32_t keep = column(m, m->keep, 0, t, i), out = column(m, m->out, 0, t, i), in = column(m, m->in, 0, t, i);
  int32_t stored = column(m, m->stored, 0, t, i), whole = column(m, m->whole, 0, t, i);
  int32_t reload = column(m, m->reload, 0, t, i), loaded = column(m, m->loaded, 0, t, i);
  const int32_t kept_from[] = {column(m, m->keep, 0, t - 1, i), column(m, m->run, 0, t - 1, i),
                               column(m, m->loaded, 0, t - 1, i), column(m, m->in, 0, t - 1, i)};
  const int32_t stored_from[] = {column(m, m->stored, 0, t - 1, i), column(m, m->out, 0, t - 1, i)};
  const int32_t loaded_from[] = {kept_from[2], kept_from[3]};
  const int32_t reserved = column(m, m->reload, 0, t - 1, i);
  plim_space_at_most(m, keep, 4, kept_from);
  plim_space_at_most(m, out, 1, &keep);
  plim_space_at_most(m, stored, 2, stored_from);
  plim_space_at_most(m, whole, 1, &stored);
  plim_space_at_most(m, in, 1, &whole);
  plim_space_at_most(m, loaded, 2, loaded_from);
  plim_space_at_most(m, loaded, 1, &reserved);
  plim_space_at_most(m, loaded, 1, &reload);
  plim_space_at_most(m, in, 1, &reload);
}

void plim_space_fluid_rows(plim_space_model *m) {
  int32_t first = -1, deadline = m->options->deadline_ns < INT64_MAX;
  plim_space_need_inputs(m);
  for (int32_t t = 0; t < m->n; t++) {
    int32_t time = add_stage_time(m, t);
    if (t == 0) first = time;
    for (int32_t i = 0; i < t; i++) add_fluid_rows(m, t, i);
    if (m->page_out >= 0) add_page_budget(m, t);
  }
  for (int32_t t = 0; t < m->n && deadline; t++) plim_model_term(&m->linear, first + t, 1);
  if (deadline) plim_model_row(&m->linear, -INFINITY, m->time_scale * (double)m->options->deadline_ns);
}
