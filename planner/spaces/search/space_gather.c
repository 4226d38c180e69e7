/* Joins copies of one link, since each copy pays the link's latency. From the first copy on: the next copies of its
 * link come up to it, or it goes down to them with what drops its source. Each change is lowered and simulated, so
 * that bytes and times are those of the plan.
 *
 * Example: run x, out x, run y, out y. y is not there yet at the first copy and cannot come up to it. So the first copy
 * goes down to the second: run x, run y, out x and y. x then lives for one run more, and the latency is paid once. */
#include "planner/spaces/search/space_search_internal.h"
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
static plim_status lower_events(const gather_pass *pass, const plim_space_events *events, plim_space_plan **out) {
  plim_status status = plim_space_lower(pass->problem, events, pass->draft, pass->budget, 0, out);
  return status == PLIM_EPLAN ? PLIM_OK : status;
}

static plim_status set_limits(gather_pass *pass) {
  plim_space_plan *plan = NULL;
  int64_t n_spaces = pass->problem->platform->n_spaces;
  PLIM_TRY(plim_allocate(pass->problem->ctx, n_spaces, sizeof *pass->limit_bytes, &pass->limit_bytes));
  PLIM_TRY(plim_space_lower(pass->problem, pass->now, pass->draft, pass->budget, 0, &plan));
  for (int32_t s = 0; s < n_spaces; s++) {
    int64_t peak = plan->space[s].peak_bytes;
    pass->limit_bytes[s] = peak > pass->budget[s] ? peak : pass->budget[s];
  }
  pass->limit_ns = plan->makespan_ns > pass->draft->deadline_ns ? plan->makespan_ns : pass->draft->deadline_ns;
  pass->value = plim_space_plan_value(plan);
  pass->serial_ns = plan->serial_ns;
  plim_space_plan_free(plan);
  return PLIM_OK;
}

static int is_better(const gather_pass *pass, const plim_space_plan *plan) {
  for (int32_t s = 0; s < plan->n_spaces; s++) {
    if (plan->space[s].peak_bytes > pass->limit_bytes[s]) return 0;
  }
  if (plan->makespan_ns > pass->limit_ns) return 0;
  double value = plim_space_plan_value(plan);
  return value <= pass->value && plan->serial_ns < pass->serial_ns;
}

/* Is `next` better? Then it becomes `now`. */
static plim_status take_better(gather_pass *pass, int32_t *took) {
  plim_space_plan *plan = NULL;
  *took = 0;
  PLIM_TRY(pass->next.status);
  PLIM_TRY(lower_events(pass, &pass->next, &plan));
  pass->looked_at += pass->next.n;
  if (!plan) return PLIM_OK;
  if (is_better(pass, plan)) {
    const plim_space_events now = *pass->now;
    *took = 1;
    *pass->now = pass->next;
    pass->next = now;
    pass->value = plim_space_plan_value(plan);
    pass->serial_ns = plan->serial_ns;
  }
  plim_space_plan_free(plan);
  return PLIM_OK;
}

static void add_event(gather_pass *pass, int64_t e, plim_space_event_kind kind) {
  const plim_space_event *v = &pass->now->event[e];
  plim_space_events_add(&pass->next, kind, v->node, v->at);
}

static int64_t end_of_command(const plim_space_events *events, int64_t e) {
  for (e++; e < events->n && events->event[e].kind == PLIM_SPACE_JOIN;) e++;
  return e;
}

/* The commands at e and f become one, where the first was. */
static void bring_up(gather_pass *pass, int64_t e, int64_t f) {
  int64_t end_e = end_of_command(pass->now, e), end_f = end_of_command(pass->now, f);
  pass->next.n = 0;
  for (int64_t i = 0; i < end_e; i++) add_event(pass, i, pass->now->event[i].kind);
  for (int64_t i = f; i < end_f; i++) add_event(pass, i, PLIM_SPACE_JOIN);
  for (int64_t i = end_e; i < pass->now->n; i++) {
    if (i < f || i >= end_f) add_event(pass, i, pass->now->event[i].kind);
  }
}

/* Does event i drop what the command [e, end) reads? */
static int drops_source(const gather_pass *pass, int64_t i, int64_t e, int64_t end) {
  const plim_space_event *v = &pass->now->event[i];
  if (v->kind != PLIM_SPACE_DROP || v->at != pass->problem->platform->link[pass->now->event[e].at].from) return 0;
  for (; e < end; e++) {
    if (pass->now->event[e].node == v->node) return 1;
  }
  return 0;
}

/* The same, where the second was; what is read stays as long. */
static void bring_down(gather_pass *pass, int64_t e, int64_t f) {
  int64_t end_e = end_of_command(pass->now, e), end_f = end_of_command(pass->now, f);
  pass->next.n = 0;
  for (int64_t i = 0; i < f; i++) {
    if ((i < e || i >= end_e) && !drops_source(pass, i, e, end_e)) add_event(pass, i, pass->now->event[i].kind);
  }
  for (int64_t i = e; i < end_e; i++) add_event(pass, i, pass->now->event[i].kind);
  for (int64_t i = f; i < end_f; i++) add_event(pass, i, PLIM_SPACE_JOIN);
  for (int64_t i = end_e; i < f; i++) {
    if (drops_source(pass, i, e, end_e)) add_event(pass, i, PLIM_SPACE_DROP);
  }
  for (int64_t i = end_f; i < pass->now->n; i++) add_event(pass, i, pass->now->event[i].kind);
}

static int is_out_of_time(const gather_pass *pass) {
  return pass->looked_at > spaces_tuning.gather.events || plim_effort_over(pass->problem->ctx, PLIM_EFFORT_LOOK);
}

static int can_join(const gather_pass *pass, int64_t e, int32_t link) {
  const plim_space_event *v = &pass->now->event[e];
  return v->kind == PLIM_SPACE_COPY && v->at == link && plim_space_can_join(pass->problem, v->node, link);
}

typedef enum joined { NONE, UP /* another copy came up to e */, DOWN /* the copy at e went down */ } joined;

/* Join the command at e with one of the next of its link. */
static plim_status join_next(gather_pass *pass, int64_t e, joined *out) {
  const int32_t link = pass->now->event[e].at;
  int32_t tried = 0, took;
  *out = NONE;
  for (int64_t f = e + 1; f < pass->now->n && tried < spaces_tuning.gather.candidates && !is_out_of_time(pass); f++) {
    if (!can_join(pass, f, link)) continue;
    tried++;
    bring_up(pass, e, f);
    PLIM_TRY(take_better(pass, &took));
    if (took) *out = UP;
    if (took) return PLIM_OK;
    bring_down(pass, e, f);
    PLIM_TRY(take_better(pass, &took));
    if (took) *out = DOWN;
    if (took) return PLIM_OK;
  }
  return PLIM_OK;
}

static plim_status gather(gather_pass *pass) {
  PLIM_TRY(set_limits(pass));
  for (int64_t e = 0; e < pass->now->n && !is_out_of_time(pass); e++) {
    joined now = UP;
    if (!can_join(pass, e, pass->now->event[e].at)) continue;
    while (now == UP) PLIM_TRY(join_next(pass, e, &now));
    if (now == DOWN) e--; /* another event is there */
  }
  return PLIM_OK;
}

plim_status plim_space_gather(const plim_space_problem *problem, const plim_space_plan *draft, const int64_t *budget,
                              plim_space_events *events) {
  gather_pass pass = {
      .problem = problem, .draft = draft, .budget = budget, .now = events, .next = {.ctx = problem->ctx}};
  PLIM_TRY(events->status);
  plim_status status = gather(&pass);
  plim_space_events_free(&pass.next);
  plim_release(problem->ctx, pass.limit_bytes, problem->platform->n_spaces, sizeof *pass.limit_bytes);
  return status;
}
