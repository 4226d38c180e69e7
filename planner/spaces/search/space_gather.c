/* Joins copies of one link, since each copy pays the link's latency. From the first copy on: the next copies of its
 * link come up to it, or it goes down to them with what drops its source. Each change is lowered and simulated, so
 * that bytes and times are those of the plan. */
#include "planner/spaces/search/space_search_state.h"

#include <string.h>

#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

typedef struct gather_pass {
  const plim_space_problem *problem;
  const plim_space_plan *draft;
  const int64_t *budget;
  int64_t *limit_bytes; /* [n_spaces] */
  int64_t limit_ns;
  double value; /* of the plan so far */
  int64_t serial_ns;
  int64_t looked_at;
  plim_space_events *now, next;
} gather_pass;

/* The plan of the events; *out NULL: they read what is not there. */
static plim_status lower_events(const gather_pass *g, const plim_space_events *events, plim_space_plan **out) {
  plim_status status = plim_space_lower(g->problem, events, g->draft, g->budget, 0, out);
  return status == PLIM_EPLAN ? PLIM_OK : status;
}

static plim_status set_limits(gather_pass *g) {
  plim_space_plan *plan = NULL;
  int64_t n_spaces = g->problem->platform->n_spaces;
  PLIM_TRY(plim_allocate(g->problem->ctx, n_spaces, sizeof *g->limit_bytes, &g->limit_bytes));
  PLIM_TRY(plim_space_lower(g->problem, g->now, g->draft, g->budget, 0, &plan));
  for (int32_t s = 0; s < n_spaces; s++) {
    int64_t peak = plan->space[s].peak_bytes;
    g->limit_bytes[s] = peak > g->budget[s] ? peak : g->budget[s];
  }
  g->limit_ns = plan->makespan_ns > g->draft->deadline_ns ? plan->makespan_ns : g->draft->deadline_ns;
  g->value = plim_space_plan_value(plan);
  g->serial_ns = plan->serial_ns;
  plim_space_plan_free(plan);
  return PLIM_OK;
}

static int is_better(const gather_pass *g, const plim_space_plan *plan) {
  for (int32_t s = 0; s < plan->n_spaces; s++) {
    if (plan->space[s].peak_bytes > g->limit_bytes[s]) return 0;
  }
  if (plan->makespan_ns > g->limit_ns) return 0;
  double value = plim_space_plan_value(plan);
  return value <= g->value && plan->serial_ns < g->serial_ns;
}

/* Is `next` better? Then it becomes `now`. */
static plim_status take_better(gather_pass *g, int32_t *took) {
  plim_space_plan *plan = NULL;
  *took = 0;
  PLIM_TRY(g->next.status);
  PLIM_TRY(lower_events(g, &g->next, &plan));
  g->looked_at += g->next.n;
  if (!plan) return PLIM_OK;
  if (is_better(g, plan)) {
    const plim_space_events now = *g->now;
    *took = 1;
    *g->now = g->next;
    g->next = now;
    g->value = plim_space_plan_value(plan);
    g->serial_ns = plan->serial_ns;
  }
  plim_space_plan_free(plan);
  return PLIM_OK;
}

static void add_event(gather_pass *g, int64_t e, plim_space_event_kind kind) {
  const plim_space_event *v = &g->now->event[e];
  plim_space_events_add(&g->next, kind, v->node, v->at);
}

static int64_t end_of_command(const plim_space_events *events, int64_t e) {
  for (e++; e < events->n && events->event[e].kind == PLIM_SPACE_JOIN;) e++;
  return e;
}

/* The commands at e and f become one, where the first was. */
static void bring_up(gather_pass *g, int64_t e, int64_t f) {
  int64_t end_e = end_of_command(g->now, e), end_f = end_of_command(g->now, f);
  g->next.n = 0;
  for (int64_t i = 0; i < end_e; i++) add_event(g, i, g->now->event[i].kind);
  for (int64_t i = f; i < end_f; i++) add_event(g, i, PLIM_SPACE_JOIN);
  for (int64_t i = end_e; i < g->now->n; i++) {
    if (i < f || i >= end_f) add_event(g, i, g->now->event[i].kind);
  }
}

/* Does event i drop what the command [e, end) reads? */
static int drops_source(const gather_pass *g, int64_t i, int64_t e, int64_t end) {
  const plim_space_event *v = &g->now->event[i];
  if (v->kind != PLIM_SPACE_DROP || v->at != g->problem->platform->link[g->now->event[e].at].from) return 0;
  for (; e < end; e++) {
    if (g->now->event[e].node == v->node) return 1;
  }
  return 0;
}

/* The same, where the second was; what is read stays as long. */
static void bring_down(gather_pass *g, int64_t e, int64_t f) {
  int64_t end_e = end_of_command(g->now, e), end_f = end_of_command(g->now, f);
  g->next.n = 0;
  for (int64_t i = 0; i < f; i++) {
    if ((i < e || i >= end_e) && !drops_source(g, i, e, end_e)) add_event(g, i, g->now->event[i].kind);
  }
  for (int64_t i = e; i < end_e; i++) add_event(g, i, g->now->event[i].kind);
  for (int64_t i = f; i < end_f; i++) add_event(g, i, PLIM_SPACE_JOIN);
  for (int64_t i = end_e; i < f; i++) {
    if (drops_source(g, i, e, end_e)) add_event(g, i, PLIM_SPACE_DROP);
  }
  for (int64_t i = end_f; i < g->now->n; i++) add_event(g, i, g->now->event[i].kind);
}

static int is_out_of_time(const gather_pass *g) {
  return g->looked_at > spaces_tuning.gather.events || plim_effort_over(g->problem->ctx, PLIM_EFFORT_LOOK);
}

static int can_join(const gather_pass *g, int64_t e, int32_t link) {
  const plim_space_event *v = &g->now->event[e];
  return v->kind == PLIM_SPACE_COPY && v->at == link && plim_space_can_join(g->problem, v->node, link);
}

/* Join the command at e with one of the next of its link. *took 1: done; 2: done, and it is no longer at e. */
static plim_status join_next(gather_pass *g, int64_t e, int32_t *took) {
  int32_t link = g->now->event[e].at, tried = 0;
  *took = 0;
  for (int64_t f = e + 1; f < g->now->n && tried < spaces_tuning.gather.candidates && !is_out_of_time(g); f++) {
    if (!can_join(g, f, link)) continue;
    tried++;
    bring_up(g, e, f);
    PLIM_TRY(take_better(g, took));
    if (*took) return PLIM_OK;
    bring_down(g, e, f);
    PLIM_TRY(take_better(g, took));
    if (*took) *took = 2;
    if (*took) return PLIM_OK;
  }
  return PLIM_OK;
}

static plim_status gather(gather_pass *g) {
  PLIM_TRY(set_limits(g));
  for (int64_t e = 0; e < g->now->n && !is_out_of_time(g); e++) {
    int32_t took = 1;
    if (!can_join(g, e, g->now->event[e].at)) continue;
    while (took == 1) PLIM_TRY(join_next(g, e, &took));
    if (took == 2) e--;
  }
  return PLIM_OK;
}

plim_status plim_space_gather(const plim_space_problem *problem, const plim_space_plan *draft, const int64_t *budget,
                              plim_space_events *events) {
  gather_pass g = {.problem = problem, .draft = draft, .budget = budget, .now = events, .next = {.ctx = problem->ctx}};
  PLIM_TRY(events->status);
  plim_status status = gather(&g);
  plim_space_events_free(&g.next);
  plim_release(problem->ctx, g.limit_bytes, problem->platform->n_spaces, sizeof *g.limit_bytes);
  return status;
}
