/* Tries the commands of known plans under the budgets and rates of this call. A known plan is read as the events that
 * its commands and the ends of its buffers are, and lowered: waits, times and bytes are then those of the problem in
 * hand. */
#include "planner/spaces/space_request.h"

#include <math.h>
#include <string.h>

typedef struct knowing {
  const plim_space_problem *problem;
  const plim_space_search_options *options;
  int joins;
} knowing;

/* ---- what is allowed ---- */

static int is_within(const knowing *k, const plim_space_plan *plan) {
  int64_t runs = 0;
  for (int32_t s = 0; s < plan->n_spaces; s++) {
    if (plan->space[s].peak_bytes > k->options->budget[s]) return 0;
  }
  for (int32_t c = 0; c < plan->n_commands && k->options->deadline_on_runs; c++) {
    runs += plan->command[c].kind == PLIM_SPACE_COMMAND_RUN ? plan->command[c].time_ns : 0;
  }
  return (k->options->deadline_on_runs ? runs : plan->makespan_ns) <= k->options->deadline_ns;
}

/* May a command stand in a plan of this platform, under what was asked for? */
static int is_allowed(const knowing *k, const plim_space_command *c, int32_t link) {
  const plim_platform *p = k->problem->platform;
  if (c->kind == PLIM_SPACE_COMMAND_RUN) {
    return c->device < p->n_devices && (c->device == 0 || k->options->place) &&
           plim_space_run_ns(k->problem, c->op, c->device) >= 0;
  }
  if (link < 0 || (c->n_storages > 1 && !k->joins)) return 0;
  return plim_platform_link_places(p, link) ? k->options->place : k->options->page;
}

/* ---- reading ---- */

/* Add a command. *allowed 0: it may not stand in a plan here. */
static void read_command(const knowing *k, const plim_space_command *c, plim_space_events *out, int *allowed) {
  const plim_graph *g = k->problem->graph;
  int32_t link =
      c->kind == PLIM_SPACE_COMMAND_COPY ? plim_platform_find_link(k->problem->platform, c->from, c->to) : -1;
  *allowed = is_allowed(k, c, link);
  if (c->kind == PLIM_SPACE_COMMAND_RUN) plim_space_events_add(out, PLIM_SPACE_RUN, c->op, c->device);
  for (int32_t i = 0; c->kind == PLIM_SPACE_COMMAND_COPY && i < c->n_storages; i++) {
    plim_space_events_add(out, i == 0 ? PLIM_SPACE_COPY : PLIM_SPACE_JOIN, g->storage[c->storage[i]].producer, link);
  }
}

/* The commands of a plan, and before each the ends of buffers. first [n_commands + 1], next [n_buffers]: lists of
 * buffers by end. */
static void read_commands(const knowing *k, const plim_space_plan *plan, int32_t *first, int32_t *next,
                          plim_space_events *out, int *allowed) {
  const plim_graph *g = k->problem->graph;
  int32_t runs = 0;
  for (int32_t c = 0; c <= plan->n_commands; c++) first[c] = -1;
  for (int32_t b = 0; b < plan->n_buffers; b++) {
    next[b] = first[plan->buffer[b].end];
    first[plan->buffer[b].end] = b;
  }
  for (int32_t c = 0; c < plan->n_commands && *allowed; c++) {
    for (int32_t b = first[c]; b >= 0; b = next[b]) {
      const plim_space_buffer *v = &plan->buffer[b];
      if (v->storage >= 0) plim_space_events_add(out, PLIM_SPACE_DROP, g->storage[v->storage].producer, v->space);
    }
    runs += plan->command[c].kind == PLIM_SPACE_COMMAND_RUN;
    read_command(k, &plan->command[c], out, allowed);
  }
  if (runs > k->problem->n && !k->options->recompute) *allowed = 0;
}

static plim_status read_plan(const knowing *k, const plim_space_plan *plan, plim_space_events *out, int *allowed) {
  plim_context *ctx = k->problem->ctx;
  int32_t *first = NULL, *next = NULL;
  plim_status status;
  *allowed = plan->n_spaces == k->problem->platform->n_spaces && plan->n_commands > 0 &&
             memcmp(plan->fingerprint, k->problem->graph->fingerprint, sizeof plan->fingerprint) == 0;
  if (!*allowed) return PLIM_OK;
  PLIM_CHECK(plim_allocate(ctx, (int64_t)plan->n_commands + 1, sizeof *first, &first));
  PLIM_CHECK(plim_allocate(ctx, plan->n_buffers, sizeof *next, &next));
  read_commands(k, plan, first, next, out, allowed);
  status = out->status;
done:
  plim_release(ctx, first, (int64_t)plan->n_commands + 1, sizeof *first);
  plim_release(ctx, next, plan->n_buffers, sizeof *next);
  return status;
}

/* ---- the best ---- */

static plim_status try_known(const knowing *k, const plim_space_plan *known, double *value, plim_space_events *out) {
  const plim_space_plan draft = {
      .planner = "known", .objective = k->options->objective, .deadline_ns = k->options->deadline_ns};
  plim_space_events events = {.ctx = k->problem->ctx};
  plim_space_plan *plan = NULL;
  int allowed = 0;
  plim_status status = read_plan(k, known, &events, &allowed);
  if (status == PLIM_OK && allowed)
    status = plim_space_lower(k->problem, &events, &draft, k->options->budget, 0, &plan);
  if (status == PLIM_EPLAN) status = PLIM_OK; /* copies that cannot be joined here */
  if (plan && is_within(k, plan) && plim_space_plan_value(plan) < *value) {
    const plim_space_events before = *out;
    *value = plim_space_plan_value(plan);
    *out = events;
    events = before;
  }
  plim_space_plan_free(plan);
  plim_space_events_free(&events);
  return status;
}

plim_status plim_space_known_best(const plim_space_problem *problem, const plim_space_search_options *options,
                                  int joins, int32_t n, const plim_space_plan *const *known, double *value,
                                  plim_space_events *out) {
  const knowing k = {.problem = problem, .options = options, .joins = joins};
  *value = INFINITY;
  for (int32_t i = 0; i < n; i++) {
    if (known[i]) PLIM_TRY(try_known(&k, known[i], value, out));
  }
  return PLIM_OK;
}
