/* The library's heuristics name configurations in the order of the time that they expect, in three modes. Each is
 * looked at once: what its engine says of itself, and the workspace that it needs. No plan is built for that, because
 * some are compiled: a plan that cannot be built is found when it is first wanted.
 *
 * Those kept are few, because each becomes a variant that is timed and planned with. One that needs no less workspace
 * than one before it is dominated, as far as the heuristics know; they may err, so a few such are kept for the
 * profiler to judge. Each that needs less than all before it is kept: it is what a small budget asks for. */
#include "kernels/cuda/dnn_engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fnv.h"

enum { RESULTS = 64, NOTES = 32, KNOBS = 64, TRIED = 64, DOMINATED = 5 };
enum { CUDNN_BAD_PARAM = 2000 /* CUDNN_STATUS_BAD_PARAM */ };

/* What is known while the configurations of one graph are collected. */
typedef struct collection {
  const plim_cudnn_api *api;
  void *handle;
  int strict;
  int n, dominated, tried;
  char seen[TRIED][sizeof((plim_dnn_config *)0)->name]; /* names that were looked at */
  plim_dnn_config *config;
} collection;

static int read_one(const plim_cudnn_api *api, const void *descriptor, int attribute, int type, void *value) {
  int64_t count = 0;
  int code = api->get(descriptor, attribute, type, 1, &count, value);
  return code == 0 && count == 1;
}

/* ---- what an engine says of itself ---- */

static int has_note(const int32_t *note, int64_t n, int32_t wanted) {
  for (int64_t i = 0; i < n; i++) {
    if (note[i] == wanted) return 1;
  }
  return 0;
}

static int read_notes(const collection *c, const void *engine, int attribute, int type, int32_t note[NOTES],
                      int64_t *n) {
  int code = c->api->get(engine, attribute, type, NOTES, n, note);
  if (*n > NOTES) *n = NOTES;
  return code == 0;
}

static int is_reliable(const collection *c, const void *engine) {
  static const int32_t never[] = {DNN_NUMERICAL_NOTE_NONDETERMINISTIC, DNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
                                  DNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION};
  int32_t note[NOTES];
  int64_t n = 0;
  if (!read_notes(c, engine, DNN_ATTR_ENGINE_NUMERICAL_NOTE, DNN_TYPE_NUMERICAL_NOTE, note, &n)) return 0;
  for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
    if (has_note(note, n, never[i])) return 0;
  }
  if (c->strict && has_note(note, n, DNN_NUMERICAL_NOTE_TENSOR_CORE)) return 0;
  if (!read_notes(c, engine, DNN_ATTR_ENGINE_BEHAVIOR_NOTE, DNN_TYPE_BEHAVIOR_NOTE, note, &n)) return 0;
  return !has_note(note, n, DNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER) &&
         !has_note(note, n, DNN_BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER);
}

/* ---- names ---- */

static uint32_t hash_more(uint32_t hash, uint64_t value) {
  unsigned char byte[8];
  for (int i = 0; i < 8; i++) byte[i] = (unsigned char)(value >> (8 * i) & 255);
  return plim_fnv32(hash, byte, sizeof byte);
}

/* Engine and knobs of a configuration. */
typedef struct recipe {
  int64_t engine;
  int n;
  int32_t type[KNOBS];
  int64_t value[KNOBS];
} recipe;

static int read_knob(const plim_cudnn_api *api, const void *knob, recipe *r) {
  const int well = read_one(api, knob, DNN_ATTR_KNOB_CHOICE_KNOB_TYPE, DNN_TYPE_KNOB_TYPE, &r->type[r->n]) &&
                   read_one(api, knob, DNN_ATTR_KNOB_CHOICE_KNOB_VALUE, DNN_TYPE_INT64, &r->value[r->n]);
  r->n += well;
  return well;
}

/* The library does not tell how many there are before it has room for them. */
static int read_knobs(const plim_cudnn_api *api, const void *config, recipe *r) {
  void *knob[KNOBS] = {NULL};
  int64_t n = 0;
  int well = 1;
  for (int i = 0; i < KNOBS && well; i++) well = api->make(DNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &knob[i]) == 0;
  if (well) {
    well = api->get(config, DNN_ATTR_ENGINECFG_KNOB_CHOICES, DNN_TYPE_BACKEND_DESCRIPTOR, KNOBS, &n, knob) == 0;
  }
  for (int64_t i = 0; i < n && i < KNOBS && well; i++) well = read_knob(api, knob[i], r);
  for (int i = 0; i < KNOBS; i++) plim_dnn_unmake(api, &knob[i]);
  return well;
}

static void write_names(const recipe *r, plim_dnn_config *row) {
  uint32_t hash = PLIM_FNV32;
  int at = snprintf(row->how, sizeof row->how, "%lld", (long long)r->engine);
  for (int i = 0; i < r->n; i++) {
    hash = hash_more(hash_more(hash, (uint64_t)r->type[i]), (uint64_t)r->value[i]);
    if (at >= (int)sizeof row->how) continue;
    at += snprintf(row->how + at, sizeof row->how - (size_t)at, " %d=%lld", (int)r->type[i], (long long)r->value[i]);
  }
  if (at >= (int)sizeof row->how) row->how[0] = '\0';
  (void)snprintf(row->name, sizeof row->name, "cudnn-e%d-%08x", (int)r->engine, (unsigned)hash);
}

/* Name the configuration when its engine may be used. */
static int examine(const collection *c, const void *config, plim_dnn_config *row) {
  void *engine = NULL;
  int64_t count = 0;
  recipe r = {.n = 0};
  int well = c->api->make(DNN_BACKEND_ENGINE_DESCRIPTOR, &engine) == 0 &&
             c->api->get(config, DNN_ATTR_ENGINECFG_ENGINE, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine) == 0;
  well = well && read_one(c->api, engine, DNN_ATTR_ENGINE_GLOBAL_INDEX, DNN_TYPE_INT64, &r.engine);
  well = well && is_reliable(c, engine) && read_knobs(c->api, config, &r);
  plim_dnn_unmake(c->api, &engine);
  if (well) write_names(&r, row);
  return well;
}

/* ---- configurations by hand ---- */

static int read_recipe(const char *how, recipe *r) {
  char *end;
  r->engine = strtoll(how, &end, 10);
  for (r->n = 0; *end == ' ' && r->n < KNOBS; r->n++) {
    r->type[r->n] = (int32_t)strtol(end + 1, &end, 10);
    if (*end != '=') return 0;
    r->value[r->n] = strtoll(end + 1, &end, 10);
  }
  return how[0] && !*end;
}

static int make_knob(const plim_cudnn_api *api, const recipe *r, int i, void **knob) {
  const plim_dnn_attribute attribute[] = {{DNN_ATTR_KNOB_CHOICE_KNOB_TYPE, DNN_TYPE_KNOB_TYPE, 1, &r->type[i]},
                                          {DNN_ATTR_KNOB_CHOICE_KNOB_VALUE, DNN_TYPE_INT64, 1, &r->value[i]}};
  return plim_dnn_build(api, DNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, attribute, 2, knob);
}

int plim_dnn_config_make(const plim_cudnn_api *api, void *graph, plim_dnn_config *row) {
  recipe r;
  void *engine = NULL, *knob[KNOBS] = {NULL};
  if (!read_recipe(row->how, &r)) return CUDNN_BAD_PARAM;
  const plim_dnn_attribute of_engine[] = {{DNN_ATTR_ENGINE_OPERATION_GRAPH, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph},
                                          {DNN_ATTR_ENGINE_GLOBAL_INDEX, DNN_TYPE_INT64, 1, &r.engine}};
  int code = plim_dnn_build(api, DNN_BACKEND_ENGINE_DESCRIPTOR, of_engine, 2, &engine);
  for (int i = 0; i < r.n && code == 0; i++) code = make_knob(api, &r, i, &knob[i]);
  const plim_dnn_attribute of_config[] = {{DNN_ATTR_ENGINECFG_ENGINE, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine},
                                          {DNN_ATTR_ENGINECFG_KNOB_CHOICES, DNN_TYPE_BACKEND_DESCRIPTOR, r.n, knob}};
  if (code == 0) code = plim_dnn_build(api, DNN_BACKEND_ENGINECFG_DESCRIPTOR, of_config, r.n > 0 ? 2 : 1, &row->config);
  for (int i = 0; i < r.n; i++) plim_dnn_unmake(api, &knob[i]);
  plim_dnn_unmake(api, &engine);
  return code;
}

/* ---- plans ---- */

static int build_plan(const plim_cudnn_api *api, void *handle, void *config, void **plan, int64_t *workspace_bytes) {
  const plim_dnn_attribute attribute[] = {
      {DNN_ATTR_EXECUTION_PLAN_HANDLE, DNN_TYPE_HANDLE, 1, &handle},
      {DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &config}};
  int64_t count = 0;
  int code = plim_dnn_build(api, DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, attribute, 2, plan);
  if (code != 0) return code;
  code = api->get(*plan, DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, DNN_TYPE_INT64, 1, &count, workspace_bytes);
  if (code != 0) plim_dnn_unmake(api, plan);
  return code;
}

int plim_dnn_plan_make(const plim_cudnn_api *api, void *handle, plim_dnn_config *config) {
  int64_t workspace_bytes = 0;
  int code = build_plan(api, handle, config->config, &config->plan, &workspace_bytes);
  if (code != 0 || workspace_bytes <= config->workspace_bytes) return code;
  plim_dnn_unmake(api, &config->plan);
  return PLIM_DNN_ROOM;
}

/* What a configuration needs: told by itself, or else by its plan, which is kept. */
static int find_workspace(const collection *c, plim_dnn_config *row) {
  int known = read_one(c->api, row->config, DNN_ATTR_ENGINECFG_WORKSPACE_SIZE, DNN_TYPE_INT64, &row->workspace_bytes);
  if (!known) known = build_plan(c->api, c->handle, row->config, &row->plan, &row->workspace_bytes) == 0;
  return known && row->workspace_bytes >= 0;
}

static int is_dominated(const collection *c, int64_t workspace_bytes) {
  for (int i = 0; i < c->n; i++) {
    if (c->config[i].workspace_bytes <= workspace_bytes) return 1;
  }
  return 0;
}

/* Of what needs so much workspace, may one more become a variant? */
static int is_wanted(const collection *c, int64_t workspace_bytes) {
  return c->dominated < DOMINATED || !is_dominated(c, workspace_bytes);
}

/* Keep the configuration, or return 0. */
static int consider(collection *c, void *config) {
  plim_dnn_config row = {.config = config};
  if (c->n == PLIM_DNN_CONFIGS || c->tried == TRIED || !examine(c, config, &row)) return 0;
  for (int i = 0; i < c->tried; i++) {
    if (strcmp(c->seen[i], row.name) == 0) return 0;
  }
  memcpy(c->seen[c->tried++], row.name, sizeof row.name);
  if (!find_workspace(c, &row) || !is_wanted(c, row.workspace_bytes)) {
    plim_dnn_unmake(c->api, &row.plan);
    return 0;
  }
  c->dominated += is_dominated(c, row.workspace_bytes);
  c->config[c->n++] = row;
  return 1;
}

/* ---- heuristics ---- */

static void collect_results(collection *c, const void *heuristics) {
  void *result[RESULTS] = {NULL};
  int64_t n = 0, got = 0;
  const int type = DNN_TYPE_BACKEND_DESCRIPTOR;
  if (c->api->get(heuristics, DNN_ATTR_ENGINEHEUR_RESULTS, type, 0, &n, NULL) != 0) return;
  if (n > RESULTS) n = RESULTS;
  for (int64_t i = 0; i < n; i++) {
    if (c->api->make(DNN_BACKEND_ENGINECFG_DESCRIPTOR, &result[i]) != 0) n = i;
  }
  if (n > 0 && c->api->get(heuristics, DNN_ATTR_ENGINEHEUR_RESULTS, type, n, &got, result) != 0) got = 0;
  for (int64_t i = 0; i < n; i++) {
    if (i >= got || !consider(c, result[i])) plim_dnn_unmake(c->api, &result[i]);
  }
}

int plim_dnn_configs_make(const plim_cudnn_api *api, void *handle, void *graph, int strict, plim_dnn_config *config) {
  static const int32_t modes[] = {DNN_HEUR_MODE_A, DNN_HEUR_MODE_INSTANT, DNN_HEUR_MODE_FALLBACK};
  collection c = {.api = api, .handle = handle, .strict = strict, .config = config};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    void *heuristics = NULL;
    const plim_dnn_attribute attribute[] = {
        {DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph},
        {DNN_ATTR_ENGINEHEUR_MODE, DNN_TYPE_HEUR_MODE, 1, &modes[i]}};
    if (plim_dnn_build(api, DNN_BACKEND_ENGINEHEUR_DESCRIPTOR, attribute, 2, &heuristics) != 0) continue;
    collect_results(&c, heuristics);
    plim_dnn_unmake(api, &heuristics);
  }
  return c.n;
}

void plim_dnn_configs_free(const plim_cudnn_api *api, plim_dnn_config *config, int n) {
  for (int i = 0; i < n; i++) {
    plim_dnn_unmake(api, &config[i].plan);
    plim_dnn_unmake(api, &config[i].config);
  }
}
