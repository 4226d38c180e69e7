/* Tries the commands of known plans under the budgets and rates of this call. The commands of a plan, and the ends of
 * its buffers, become events. These are lowered, so that waits, times and bytes are those of this call's problem. */
#include "planner/spaces/problem/space_problem.h"
#include "planner/spaces/problem/space_sequence.h"
#include "planner/spaces/search/space_search.h"

#include <math.h>
#include <string.h>

typedef struct known_reader {
  const plim_space_problem *problem;
  const plim_space_search_options *options;
  int32_t joins;
} known_reader;

/* ---- what is allowed ---- */

static int is_within(const known_reader *reader, const plim_space_plan *plan) {
  int64_t runs = 0;
  for (int32_t s = 0; s < plan->n_spaces; s++) {
    if (plan->space[s].peak_bytes > reader->options->budget[s]) return 0;
  }
  for (int32_t c = 0; c < plan->n_commands && reader->options->deadline_on_runs; c++) {
    runs += plan->command[c].kind == PLIM_SPACE_COMMAND_RUN ? plan->command[c].time_ns : 0;
  }
  return (reader->options->deadline_on_runs ? runs : plan->makespan_ns) <= reader->options->deadline_ns;
}

/* May a command stand in a plan of this platform, under what was asked for? */
static int is_allowed(const known_reader *reader, const plim_space_command *c, int32_t link) {
  const plim_platform *p = reader->problem->platform;
  if (c->kind == PLIM_SPACE_COMMAND_RUN) {
    return c->device < p->n_devices && (c->device == 0 || reader->options->place) &&
           plim_space_run_ns(reader->problem, c->op, c->device) >= 0;
  }
  if (link < 0 || (c->n_storages > 1 && !reader->joins)) return 0;
  return plim_platform_link_places(p, link) ? reader->options->place : reader->options->page;
}

/* ---- reading ---- */

/* Add a command. *allowed 0: it may not stand in a plan here. */
static void read_command(const known_reader *reader, const plim_space_command *c, plim_space_events *out,
                         int32_t *allowed) {
  const plim_graph *g = reader->problem->graph;
  int32_t link =
      c->kind == PLIM_SPACE_COMMAND_COPY ? plim_platform_find_link(reader->problem->platform, c->from, c->to) : -1;
  *allowed = is_allowed(reader, c, link);
  if (c->kind == PLIM_SPACE_COMMAND_RUN) plim_space_events_add(out, PLIM_SPACE_RUN, c->op, c->device);
  for (int32_t i = 0; c->kind == PLIM_SPACE_COMMAND_COPY && i < c->n_storages; i++) {
    plim_space_events_add(out, i == 0 ? PLIM_SPACE_COPY : PLIM_SPACE_JOIN, g->storage[c->storage[i]].producer, link);
  }
}

/* The commands of a plan, and before each the ends of buffers. first [n_commands + 1], next [n_buffers]: lists of
 * buffers by end. */
static void read_commands(const known_reader *reader, const plim_space_plan *plan, int32_t *first, int32_t *next,
                          plim_space_events *out, int32_t *allowed) {
  const plim_graph *g = reader->problem->graph;
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
    read_command(reader, &plan->command[c], out, allowed);
  }
  if (runs > reader->problem->n && !reader->options->recompute) *allowed = 0;
}

static plim_status read_plan(const known_reader *reader, const plim_space_plan *plan, plim_space_events *out,
                             int32_t *allowed) {
  plim_context *ctx = reader->problem->ctx;
  int32_t *first = NULL, *next = NULL;
  plim_status status;
  *allowed = plan->n_spaces == reader->problem->platform->n_spaces && plan->n_commands > 0 &&
             memcmp(plan->fingerprint, reader->problem->graph->fingerprint, sizeof plan->fingerprint) == 0;
  if (!*allowed) return PLIM_OK;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)plan->n_commands + 1, sizeof *first, &first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_buffers, sizeof *next, &next));
  read_commands(reader, plan, first, next, out, allowed);
  status = out->status;
done:
  plim_release(ctx, first, (int64_t)plan->n_commands + 1, sizeof *first);
  plim_release(ctx, next, plan->n_buffers, sizeof *next);
  return status;
}

/* ---- the best ---- */

static plim_status try_known(const known_reader *reader, const plim_space_plan *known, double *value,
                             plim_space_events *out) {
  const plim_space_plan draft = {
      .planner = "known", .objective = reader->options->objective, .deadline_ns = reader->options->deadline_ns};
  plim_space_events events = {.ctx = reader->problem->ctx};
  plim_space_plan *plan = NULL;
  int32_t allowed = 0;
  plim_status status = read_plan(reader, known, &events, &allowed);
  if (status == PLIM_OK && allowed)
    status = plim_space_lower(reader->problem, &events, &draft, reader->options->budget, 0, &plan);
  if (status == PLIM_EPLAN) status = PLIM_OK; /* copies that cannot be joined here */
  if (plan && is_within(reader, plan) && plim_space_plan_value(plan) < *value) {
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
  const known_reader reader = {.problem = problem, .options = options, .joins = joins};
  *value = INFINITY;
  for (int32_t i = 0; i < n; i++) {
    if (known[i]) PLIM_TRY(try_known(&reader, known[i], value, out));
  }
  return PLIM_OK;
}
