/* Reads a point of an integer program as a sequence.
 *
 * xengine: copies of what is kept go first in their stage, those of what runs there right after the run. poet: what is
 * paged out goes when its stage begins, what is paged in comes between two stages. fluid: a copy goes in the stage
 * where its first share does. A drop stands where the model releases, or at the end of the stage. */
#include "planner/spaces/program/space_model.h"

static int is_one(const plim_space_model *model, const double *point, const int32_t *grid, int32_t plane, int32_t t,
                  int32_t i) {
  int32_t column = t < model->n ? grid[plim_space_cell(model, plane, t, i)] : -1;
  return column >= 0 && point[column] > 0.5;
}

static int is_some(const plim_space_model *model, const double *point, const int32_t *grid, int32_t plane, int32_t t,
                   int32_t i) {
  int32_t column = t < model->n ? grid[plim_space_cell(model, plane, t, i)] : -1;
  return column >= 0 && point[column] > 1e-6;
}

/* Copies along every link of node i, whose source is kept (`kept` 1) or was just run (0). */
static void read_copies(const plim_space_model *model, const double *point, int32_t t, int32_t i, int kept,
                        plim_space_events *out) {
  const plim_platform *p = model->problem->platform;
  for (int32_t d = 0; d < model->n_devices; d++) {
    if (is_one(model, point, model->keep, d, t, i) != kept) continue;
    for (int32_t l = 0; l < model->n_links; l++) {
      if (p->link[l].from != p->device[d].space || !is_one(model, point, model->arrive, l, t, i)) continue;
      plim_space_events_add(out, PLIM_SPACE_COPY, i, l);
    }
  }
}

/* What the readers of stage t release after node k. What arrives in a reserved buffer meanwhile stays. */
static void read_releases(const plim_space_model *model, const double *point, int32_t t, int32_t k,
                          plim_space_events *out) {
  const plim_space_node *v = &model->problem->node[k];
  for (int32_t p = 0; p < v->n_preds; p++) {
    const plim_space_node *u = &model->problem->node[v->pred[p]];
    int32_t s = 0;
    while (u->succ[s] != k) s++;
    for (int32_t d = 0; d < model->n_devices; d++) {
      int32_t first = model->release[plim_space_cell(model, d, t, v->pred[p])],
              space = model->problem->platform->device[d].space;
      if (first < 0 || point[first + s] <= 0.5) continue;
      if (model->reload && is_one(model, point, model->reload, space, t, v->pred[p])) continue;
      plim_space_events_add(out, PLIM_SPACE_DROP, v->pred[p], space);
    }
  }
}

static void read_runs(const plim_space_model *model, const double *point, int32_t t, plim_space_events *out) {
  for (int32_t k = 0; k <= t; k++) {
    int ran = 0;
    for (int32_t d = 0; d < model->n_devices; d++) {
      if (!is_one(model, point, model->run, d, t, k)) continue;
      plim_space_events_add(out, PLIM_SPACE_RUN, k, d);
      ran = 1;
    }
    if (ran) read_copies(model, point, t, k, 0, out);
    if (ran) read_releases(model, point, t, k, out);
  }
}

/* What is not kept into the next stage, nor reserved there. */
static void read_drops(const plim_space_model *model, const double *point, int32_t t, plim_space_events *out) {
  for (int32_t d = 0; d < model->n_devices; d++) {
    int32_t space = model->problem->platform->device[d].space;
    for (int32_t i = 0; i <= t; i++) {
      if (is_one(model, point, model->keep, d, t + 1, i)) continue;
      if (model->reload && is_one(model, point, model->reload, space, t + 1, i)) continue;
      plim_space_events_add(out, PLIM_SPACE_DROP, i, space);
    }
  }
}

/* fluid: copies beside the stage begin with it. */
static void read_flows(const plim_space_model *model, const double *point, int32_t t, plim_space_events *out) {
  for (int32_t l = 0; l < model->n_links; l++) {
    for (int32_t i = 0; i < t; i++) {
      if (is_some(model, point, model->flow, l, t, i)) plim_space_events_add(out, PLIM_SPACE_COPY, i, l);
    }
  }
}

/* poet: out when a stage begins, in between two stages. */
static void read_page_out(const plim_space_model *model, const double *point, int32_t t, plim_space_events *out) {
  for (int32_t i = 0; i < t && model->page_out >= 0; i++) {
    if (is_one(model, point, model->out, 0, t, i)) plim_space_events_add(out, PLIM_SPACE_COPY, i, model->page_out);
  }
}

static void read_page_in(const plim_space_model *model, const double *point, int32_t t, plim_space_events *out) {
  for (int32_t i = 0; i < t && model->page_out >= 0; i++) {
    int wanted = is_one(model, point, model->in, 0, t, i) && is_one(model, point, model->keep, 0, t + 1, i);
    if (wanted) plim_space_events_add(out, PLIM_SPACE_COPY, i, model->page_in);
  }
}

/* What spaces without a device no longer have ends with the stage. */
static void read_page_drops(const plim_space_model *model, const double *point, int32_t t, plim_space_events *out) {
  int fluid = model->options->model_class == PLIM_SPACE_FLUID;
  for (int32_t s = 0; s < model->n_spaces; s++) {
    int pages =
        fluid ? model->home[s] < 0 : model->page_out >= 0 && model->problem->platform->link[model->page_out].to == s;
    for (int32_t i = 0; i < t && pages; i++) {
      if (is_some(model, point, model->stored, fluid ? s : 0, t + 1, i)) continue;
      plim_space_events_add(out, PLIM_SPACE_DROP, i, s);
    }
  }
}

plim_status plim_space_model_read(const plim_space_model *model, const double *point, plim_space_events *out) {
  for (int32_t t = 0; t < model->n; t++) {
    if (model->options->model_class == PLIM_SPACE_POET) read_page_out(model, point, t, out);
    if (model->options->model_class == PLIM_SPACE_FLUID) read_flows(model, point, t, out);
    for (int32_t i = 0; i < t; i++) read_copies(model, point, t, i, 1, out);
    read_runs(model, point, t, out);
    read_drops(model, point, t, out);
    if (model->options->model_class == PLIM_SPACE_POET) read_page_in(model, point, t, out);
    read_page_drops(model, point, t, out);
  }
  return out->status;
}
