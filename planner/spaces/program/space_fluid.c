/* Stages with copies beside compute, over any devices, spaces and links. Of a value that leaves a space in stage t, a
 * share is copied there; the rest may follow in later stages. Where it arrives a device computes in a reserved buffer,
 * or none does. A copy out of a space has its source whole and in place when the stage begins.
 *
 * Example: half of a value is copied out in stage 3 and half in stage 4. Then flow is 0.5 in both, stored, the share
 * that has arrived, is 0.5 in stage 4 and 1 in stage 5, and whole may be 1 from stage 5 on: from there it may be copied
 * in. Each of the two stages takes at least half of the copy's time. */
#include <math.h>

#include "planner/spaces/program/space_model.h"

static int32_t add_column(plim_space_model *model, double cost, int integer) {
  return plim_model_column(&model->linear, cost, 0, 1, integer);
}

/* ---- columns ---- */

/* Where copies of node i arrive in stage t. */
static void add_arrival(plim_space_model *model, int32_t space, int32_t t, int32_t i) {
  int64_t at = plim_space_cell(model, space, t, i);
  int32_t *place = model->home[space] >= 0 ? model->reload : model->whole;
  if (place[at] >= 0) return; /* of another link */
  place[at] = add_column(model, 0, 1);
  if (t > i + 1) model->stored[at] = add_column(model, 0, 0);
}

void plim_space_fluid_columns(plim_space_model *model) {
  const plim_platform *p = model->problem->platform;
  plim_space_arrive_columns(model);
  for (int32_t l = 0; l < model->n_links; l++) {
    if (!plim_space_link_taken(model, l)) continue;
    for (int32_t t = 0; t < model->n; t++) {
      for (int32_t i = 0; i < t; i++) {
        if (!plim_space_useful(model, t, i) || plim_space_copy_ns(model->problem, i, l) < 0) continue;
        model->flow[plim_space_cell(model, l, t, i)] = add_column(model, plim_space_link_cost(model, i, l), 0);
        add_arrival(model, p->link[l].to, t, i);
      }
    }
  }
}

/* ---- the time of a stage ---- */

/* What the objective pays for a stage's time: the time itself, or what all devices draw meanwhile. */
static double time_cost(const plim_space_model *model) {
  const plim_platform *p = model->problem->platform;
  double watt = 0;
  if (model->options->scaled || model->options->objective == PLIM_OBJECTIVE_SERIAL) return 0;
  if (model->options->objective == PLIM_OBJECTIVE_TIME) return 1;
  for (int32_t d = 0; d < p->n_devices; d++) watt += p->device[d].idle_watt;
  return model->scale * watt * 1e-9 / model->time_scale;
}

static void add_copies(plim_space_model *model, const int32_t *grid, int32_t l, int32_t t) {
  for (int32_t i = 0; i <= t; i++) {
    plim_model_term(&model->linear, plim_space_column(model, grid, l, t, i),
                    model->time_scale * (double)plim_space_copy_ns(model->problem, i, l));
  }
}

/* The stage takes at least as long as its runs and the copies that they wait for, one after another, and as what each
 * queue of links carries. */
static int32_t add_stage_time(plim_space_model *model, int32_t t) {
  int32_t time = plim_model_column(&model->linear, time_cost(model), 0, INFINITY, 0);
  for (int32_t d = 0; d < model->n_devices; d++) {
    for (int32_t i = 0; i <= t; i++) {
      plim_model_term(&model->linear, plim_space_column(model, model->run, d, t, i),
                      plim_space_coefficient(model->time_scale * (double)plim_space_run_ns(model->problem, i, d)));
    }
  }
  for (int32_t l = 0; l < model->n_links; l++) add_copies(model, model->arrive, l, t);
  plim_model_term(&model->linear, time, -1);
  plim_model_row(&model->linear, -INFINITY, 0);
  for (int32_t q = 0; q < model->n_links; q++) {
    if (plim_platform_queue_link(model->problem->platform, q) != q) continue;
    for (int32_t l = q; l < model->n_links; l++) {
      if (plim_platform_queue_link(model->problem->platform, l) != q) continue;
      add_copies(model, model->flow, l, t);
      add_copies(model, model->arrive, l, t);
    }
    plim_model_term(&model->linear, time, -1);
    plim_model_row(&model->linear, -INFINITY, 0);
  }
  return time;
}

/* ---- copies ---- */

/* The row column <= what of node i came to a space before stage t: it was kept, made, waited for or stored there, or
 * copied in stage t - 1. */
static void add_came_row(plim_space_model *model, int32_t space, int32_t t, int32_t i, int32_t came, int whole) {
  const plim_platform *p = model->problem->platform;
  int32_t d = model->home[space];
  if (came < 0) return;
  plim_model_term(&model->linear, came, 1);
  plim_model_term(&model->linear, plim_space_column(model, model->stored, space, t - 1, i), -1);
  for (int32_t l = 0; l < model->n_links; l++) {
    if (p->link[l].to != space) continue;
    plim_model_term(&model->linear, plim_space_column(model, model->flow, l, t - 1, i), -1);
    if (whole) plim_model_term(&model->linear, plim_space_column(model, model->arrive, l, t - 1, i), -1);
  }
  if (whole) plim_model_term(&model->linear, plim_space_column(model, model->keep, d, t - 1, i), -1);
  if (whole) plim_model_term(&model->linear, plim_space_column(model, model->run, d, t - 1, i), -1);
  plim_model_row(&model->linear, -INFINITY, 0);
}

static void add_space_rows(plim_space_model *model, int32_t space, int32_t t, int32_t i) {
  int32_t d = model->home[space], stored = plim_space_column(model, model->stored, space, t, i);
  int32_t reload = plim_space_column(model, model->reload, space, t, i),
          reserved = plim_space_column(model, model->reload, space, t - 1, i);
  add_came_row(model, space, t, i, stored, 0);
  if (d < 0) {
    plim_space_at_most(model, plim_space_column(model, model->whole, space, t, i), 1, &stored);
    return;
  }
  add_came_row(model, space, t, i, plim_space_column(model, model->keep, d, t, i), 1);
  plim_space_at_most(model, stored, 1, &reserved);
  plim_space_at_most(model, stored, 1, &reload);
}

static void add_flow_rows(plim_space_model *model, int32_t l, int32_t t, int32_t i) {
  const plim_platform_link *link = &model->problem->platform->link[l];
  int32_t flow = plim_space_column(model, model->flow, l, t, i), from = model->home[link->from];
  int32_t source = from >= 0 ? plim_space_column(model, model->keep, from, t, i)
                             : plim_space_column(model, model->whole, link->from, t, i);
  int32_t reload = plim_space_column(model, model->reload, link->to, t, i);
  plim_space_at_most(model, flow, 1, &source);
  if (model->home[link->to] >= 0) plim_space_at_most(model, flow, 1, &reload);
}

/* Spaces without a device: what is stored there, and what is on its way. */
static void add_page_budgets(plim_space_model *model, int32_t t) {
  const plim_platform *p = model->problem->platform;
  const int32_t *grid[PLIM_PLATFORM_LINKS + 1];
  int32_t plane[PLIM_PLATFORM_LINKS + 1];
  for (int32_t s = 0; s < model->n_spaces; s++) {
    int32_t n = 1;
    if (model->home[s] >= 0) continue;
    grid[0] = model->stored;
    plane[0] = s;
    for (int32_t l = 0; l < model->n_links; l++) {
      if (p->link[l].to != s) continue;
      grid[n] = model->flow;
      plane[n++] = l;
    }
    plim_space_page_budget(model, s, t, n, grid, plane);
  }
}

void plim_space_fluid_rows(plim_space_model *model) {
  int32_t first = -1, deadline = model->options->deadline_ns < INT64_MAX, timed = deadline || time_cost(model) > 0;
  plim_space_need_inputs(model);
  for (int32_t t = 0; t < model->n; t++) {
    int32_t time = timed ? add_stage_time(model, t) : -1;
    if (t == 0) first = time;
    for (int32_t i = 0; i <= t; i++) plim_space_arrive_rows(model, t, i);
    for (int32_t i = 0; i < t; i++) {
      for (int32_t s = 0; s < model->n_spaces; s++) add_space_rows(model, s, t, i);
      for (int32_t l = 0; l < model->n_links; l++) add_flow_rows(model, l, t, i);
    }
    add_page_budgets(model, t);
  }
  for (int32_t t = 0; t < model->n && deadline; t++) plim_model_term(&model->linear, first + t, 1);
  if (deadline) plim_model_row(&model->linear, -INFINITY, model->time_scale * (double)model->options->deadline_ns);
}
