/* Stages with copies beside compute, over any devices, spaces and links. Of a value that leaves a space in stage t, a
 * share is copied there; the rest may follow in later stages. Where it arrives a device computes in a reserved buffer,
 * or none does. A copy out of a space has its source whole and in place when the stage begins. */
#include <math.h>

#include "planner/spaces/program/space_model.h"

#define column plim_space_column

static int32_t add_column(plim_space_model *m, double cost, int integer) {
  return plim_model_column(&m->linear, cost, 0, 1, integer);
}

/* ---- columns ---- */

/* Where copies of node i arrive in stage t. */
static void add_arrival(plim_space_model *m, int32_t space, int32_t t, int32_t i) {
  int64_t at = plim_space_cell(m, space, t, i);
  int32_t *place = m->home[space] >= 0 ? m->reload : m->whole;
  if (place[at] >= 0) return; /* of another link */
  place[at] = add_column(m, 0, 1);
  if (t > i + 1) m->stored[at] = add_column(m, 0, 0);
}

void plim_space_fluid_columns(plim_space_model *m) {
  const plim_platform *p = m->problem->platform;
  plim_space_arrive_columns(m);
  for (int32_t l = 0; l < m->n_links; l++) {
    if (!plim_space_link_taken(m, l)) continue;
    for (int32_t t = 0; t < m->n; t++) {
      for (int32_t i = 0; i < t; i++) {
        if (!plim_space_useful(m, t, i) || plim_space_copy_ns(m->problem, i, l) < 0) continue;
        m->flow[plim_space_cell(m, l, t, i)] = add_column(m, plim_space_link_cost(m, i, l), 0);
        add_arrival(m, p->link[l].to, t, i);
      }
    }
  }
}

/* ---- the time of a stage ---- */

/* What the objective pays for a stage's time: the time itself, or what all devices draw meanwhile. */
static double time_cost(const plim_space_model *m) {
  const plim_platform *p = m->problem->platform;
  double watt = 0;
  if (m->options->scaled || m->options->objective == PLIM_OBJECTIVE_SERIAL) return 0;
  if (m->options->objective == PLIM_OBJECTIVE_TIME) return 1;
  for (int32_t d = 0; d < p->n_devices; d++) watt += p->device[d].idle_watt;
  return m->scale * watt * 1e-9 / m->time_scale;
}

static void add_copies(plim_space_model *m, const int32_t *grid, int32_t l, int32_t t) {
  for (int32_t i = 0; i <= t; i++) {
    plim_model_term(&m->linear, column(m, grid, l, t, i), m->time_scale * (double)plim_space_copy_ns(m->problem, i, l));
  }
}

/* The stage takes at least as long as its runs and the copies that they wait for, one after another, and as what each
 * queue of links carries. */
static int32_t add_stage_time(plim_space_model *m, int32_t t) {
  int32_t time = plim_model_column(&m->linear, time_cost(m), 0, INFINITY, 0);
  for (int32_t d = 0; d < m->n_devices; d++) {
    for (int32_t i = 0; i <= t; i++) {
      plim_model_term(&m->linear, column(m, m->run, d, t, i),
                      plim_space_coefficient(m->time_scale * (double)plim_space_run_ns(m->problem, i, d)));
    }
  }
  for (int32_t l = 0; l < m->n_links; l++) add_copies(m, m->arrive, l, t);
  plim_model_term(&m->linear, time, -1);
  plim_model_row(&m->linear, -INFINITY, 0);
  for (int32_t q = 0; q < m->n_links; q++) {
    if (plim_platform_queue_link(m->problem->platform, q) != q) continue;
    for (int32_t l = q; l < m->n_links; l++) {
      if (plim_platform_queue_link(m->problem->platform, l) != q) continue;
      add_copies(m, m->flow, l, t);
      add_copies(m, m->arrive, l, t);
    }
    plim_model_term(&m->linear, time, -1);
    plim_model_row(&m->linear, -INFINITY, 0);
  }
  return time;
}

/* ---- copies ---- */

/* The row column <= what of node i came to a space before stage t: it was kept, made, waited for or stored there, or
 * copied in stage t - 1. */
static void add_came_row(plim_space_model *m, int32_t space, int32_t t, int32_t i, int32_t came, int whole) {
  const plim_platform *p = m->problem->platform;
  int32_t d = m->home[space];
  if (came < 0) return;
  plim_model_term(&m->linear, came, 1);
  plim_model_term(&m->linear, column(m, m->stored, space, t - 1, i), -1);
  for (int32_t l = 0; l < m->n_links; l++) {
    if (p->link[l].to != space) continue;
    plim_model_term(&m->linear, column(m, m->flow, l, t - 1, i), -1);
    if (whole) plim_model_term(&m->linear, column(m, m->arrive, l, t - 1, i), -1);
  }
  if (whole) plim_model_term(&m->linear, column(m, m->keep, d, t - 1, i), -1);
  if (whole) plim_model_term(&m->linear, column(m, m->run, d, t - 1, i), -1);
  plim_model_row(&m->linear, -INFINITY, 0);
}

static void add_space_rows(plim_space_model *m, int32_t space, int32_t t, int32_t i) {
  int32_t d = m->home[space], stored = column(m, m->stored, space, t, i);
  int32_t reload = column(m, m->reload, space, t, i), reserved = column(m, m->reload, space, t - 1, i);
  add_came_row(m, space, t, i, stored, 0);
  if (d < 0) {
    plim_space_at_most(m, column(m, m->whole, space, t, i), 1, &stored);
    return;
  }
  add_came_row(m, space, t, i, column(m, m->keep, d, t, i), 1);
  plim_space_at_most(m, stored, 1, &reserved);
  plim_space_at_most(m, stored, 1, &reload);
}

static void add_flow_rows(plim_space_model *m, int32_t l, int32_t t, int32_t i) {
  const plim_platform_link *link = &m->problem->platform->link[l];
  int32_t flow = column(m, m->flow, l, t, i), from = m->home[link->from];
  int32_t source = from >= 0 ? column(m, m->keep, from, t, i) : column(m, m->whole, link->from, t, i);
  int32_t reload = column(m, m->reload, link->to, t, i);
  plim_space_at_most(m, flow, 1, &source);
  if (m->home[link->to] >= 0) plim_space_at_most(m, flow, 1, &reload);
}

/* Spaces without a device: what is stored there, and what is on its way. */
static void add_page_budgets(plim_space_model *m, int32_t t) {
  const plim_platform *p = m->problem->platform;
  const int32_t *grid[PLIM_PLATFORM_LINKS + 1];
  int32_t plane[PLIM_PLATFORM_LINKS + 1];
  for (int32_t s = 0; s < m->n_spaces; s++) {
    int32_t n = 1;
    if (m->home[s] >= 0) continue;
    grid[0] = m->stored;
    plane[0] = s;
    for (int32_t l = 0; l < m->n_links; l++) {
      if (p->link[l].to != s) continue;
      grid[n] = m->flow;
      plane[n++] = l;
    }
    plim_space_page_budget(m, s, t, n, grid, plane);
  }
}

void plim_space_fluid_rows(plim_space_model *m) {
  int32_t first = -1, deadline = m->options->deadline_ns < INT64_MAX, timed = deadline || time_cost(m) > 0;
  plim_space_need_inputs(m);
  for (int32_t t = 0; t < m->n; t++) {
    int32_t time = timed ? add_stage_time(m, t) : -1;
    if (t == 0) first = time;
    for (int32_t i = 0; i <= t; i++) plim_space_arrive_rows(m, t, i);
    for (int32_t i = 0; i < t; i++) {
      for (int32_t s = 0; s < m->n_spaces; s++) add_space_rows(m, s, t, i);
      for (int32_t l = 0; l < m->n_links; l++) add_flow_rows(m, l, t, i);
    }
    add_page_budgets(m, t);
  }
  for (int32_t t = 0; t < m->n && deadline; t++) plim_model_term(&m->linear, first + t, 1);
  if (deadline) plim_model_row(&m->linear, -INFINITY, m->time_scale * (double)m->options->deadline_ns);
}
