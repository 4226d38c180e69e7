/* Repair: gives every event of a sequence what it reads, in one walk. What is not there is copied, along one link or
 * two, or recomputed, whichever is cheapest. Pruning: removes an event where the buffer before it can stay instead. */
#include "planner/spaces/search/space_search_internal.h"

#include <math.h>

#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

/* ---- what is missing ---- */

typedef struct repair_pass {
  const plim_space_problem *problem;
  const plim_space_rules *rules;
  const plim_space_weights *weights;
  plim_space_events repaired; /* the sequence so far */
  uint8_t *present;           /* [n_spaces][nodes] 1: the output is there */
  uint8_t *waits;             /* [nodes] 1: its run waits for inputs that are brought */
  int32_t n_waits;            /* depth of the calls */
} repair_pass;

static uint8_t *present_at(const repair_pass *pass, int32_t space, int32_t node) {
  return &pass->present[(int64_t)space * pass->problem->n + node];
}

static int can_run(const repair_pass *pass, int32_t node, int32_t space) {
  const plim_space_node *v = &pass->problem->node[node];
  if (plim_space_cheapest_device(pass->problem, pass->rules, pass->weights, node, space) < 0) return 0;
  for (int32_t i = 0; i < v->n_preds; i++) {
    if (!*present_at(pass, space, v->pred[i])) return 0;
  }
  return 1;
}

static void add_run(repair_pass *pass, int32_t node, int32_t device, int32_t space) {
  plim_space_events_add(&pass->repaired, PLIM_SPACE_RUN, node, device);
  *present_at(pass, space, node) = 1;
}

static void add_copy(repair_pass *pass, int32_t node, int32_t link) {
  plim_space_events_add(&pass->repaired, PLIM_SPACE_COPY, node, link);
  *present_at(pass, pass->problem->platform->link[link].to, node) = 1;
}

/* One copy or two, one after the other, that bring a node to a space. */
typedef struct route {
  int32_t first, second; /* links; -1: none */
  double cost;           /* INFINITY: no copies can */
} route;

/* Take the route of two copies that ends with link l where it costs less. */
static void try_second(const repair_pass *pass, int32_t node, int32_t l, route *best) {
  const plim_platform *platform = pass->problem->platform;
  const double cost = plim_space_copy_cost(pass->problem, pass->weights, node, l);
  for (int32_t k = 0; k < platform->n_links; k++) {
    if (platform->link[k].to != platform->link[l].from || !plim_space_copy_allowed(pass->problem, pass->rules, node, k))
      continue;
    double both = cost + plim_space_copy_cost(pass->problem, pass->weights, node, k);
    if (*present_at(pass, platform->link[k].from, node) && both < best->cost) *best = (route){k, l, both};
  }
}

static route find_route(const repair_pass *pass, int32_t node, int32_t space) {
  const plim_platform *platform = pass->problem->platform;
  route best = {-1, -1, INFINITY};
  for (int32_t l = 0; l < platform->n_links; l++) {
    if (platform->link[l].to != space || !plim_space_copy_allowed(pass->problem, pass->rules, node, l)) continue;
    double cost = plim_space_copy_cost(pass->problem, pass->weights, node, l);
    if (!*present_at(pass, platform->link[l].from, node)) {
      try_second(pass, node, l, &best);
    } else if (cost < best.cost) {
      best = (route){l, -1, cost};
    }
  }
  return best;
}

/* One copy, a run where all inputs are, or two copies: the cheapest. Returns 0 where there is none. */
static int bring_directly(repair_pass *pass, int32_t node, int32_t space) {
  const route copies = find_route(pass, node, space);
  int32_t device = -1;
  if (pass->rules->recompute && !pass->problem->node[node].once && can_run(pass, node, space)) {
    device = plim_space_cheapest_device(pass->problem, pass->rules, pass->weights, node, space);
    if (plim_space_run_cost(pass->problem, pass->weights, node, device) >= copies.cost) device = -1;
  }
  if (device >= 0) {
    add_run(pass, node, device, space);
    return 1;
  }
  if (copies.first >= 0) add_copy(pass, node, copies.first);
  if (copies.second >= 0) add_copy(pass, node, copies.second);
  return copies.first >= 0;
}

/* Bring node to the space; the inputs of a run first. spaces_tuning.cover.fetches bounds the depth of the calls. */
static int bring_node(repair_pass *pass, int32_t node, int32_t space) {
  const plim_space_node *v = &pass->problem->node[node];
  if (*present_at(pass, space, node) || bring_directly(pass, node, space)) return 1;
  int32_t device = plim_space_cheapest_device(pass->problem, pass->rules, pass->weights, node, space);
  if (device < 0 || !pass->rules->recompute || v->once || pass->waits[node]) return 0;
  if (pass->n_waits == spaces_tuning.cover.fetches) return 0;
  pass->n_waits++;
  pass->waits[node] = 1;
  int done = 1;
  for (int32_t i = 0; i < v->n_preds && done; i++) done = bring_node(pass, v->pred[i], space);
  pass->waits[node] = 0;
  pass->n_waits--;
  if (!done) return 0;
  add_run(pass, node, device, space);
  return 1;
}

static int repair_event(repair_pass *pass, const plim_space_event *event) {
  int32_t space = plim_space_event_space(pass->problem, event);
  const plim_space_node *v = &pass->problem->node[event->node];
  if (event->kind == PLIM_SPACE_COPY) {
    if (!*present_at(pass, pass->problem->platform->link[event->at].from, event->node)) return 1;
  } else {
    for (int32_t i = 0; i < v->n_preds; i++) {
      if (!bring_node(pass, v->pred[i], space)) return 0;
    }
  }
  plim_space_events_add(&pass->repaired, event->kind, event->node, event->at);
  *present_at(pass, space, event->node) = 1;
  return 1;
}

plim_status plim_space_repair(plim_space_sequence *s, const plim_space_rules *rules, const plim_space_weights *weights,
                              int32_t *legal) {
  const plim_space_problem *p = s->problem;
  int64_t cells = (int64_t)p->platform->n_spaces * p->n;
  repair_pass pass = {.problem = p, .rules = rules, .weights = weights, .repaired = {.ctx = p->ctx}};
  plim_status status;
  *legal = 1;
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, cells, sizeof *pass.present, &pass.present));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n, sizeof *pass.waits, &pass.waits));
  for (int32_t e = 0; e < s->n && *legal; e++) *legal = repair_event(&pass, &s->event[e]);
  PLIM_TRY_OR_DONE(pass.repaired.status);
  if (*legal) {
    PLIM_TRY_OR_DONE(plim_space_sequence_take(s, &pass.repaired));
    *legal = s->valid;
  }
done:
  plim_space_events_free(&pass.repaired);
  plim_release(p->ctx, pass.present, cells, sizeof *pass.present);
  plim_release(p->ctx, pass.waits, p->n, sizeof *pass.waits);
  return status;
}

/* ---- what can be left out ---- */

/* May event e go, when what read it reads the buffer before? Its bytes then stay from that one's last touch on. */
static int can_go(const plim_space_sequence *s, const plim_space_rules *rules, int32_t e) {
  int32_t space = plim_space_event_space(s->problem, &s->event[e]), before = s->previous_filler[e];
  if (before < 0 || s->last[before] < 0) return 0;
  return plim_space_sequence_fits(s, space, s->last[before] + 1, e, s->problem->node[s->event[e].node].bytes,
                                  rules->budget[space]);
}

plim_status plim_space_prune(plim_space_sequence *s, const plim_space_rules *rules) {
  int removed = 1;
  while (removed && s->valid) {
    removed = 0;
    for (int32_t e = s->n - 1; e >= 0 && !plim_effort_over(s->problem->ctx, 20); e--) {
      if (!can_go(s, rules, e)) continue;
      plim_space_sequence_void(s, e);
      removed = 1;
    }
    if (!removed) break; /* the sequence is analysed as it is */
    plim_space_sequence_close_up(s);
    PLIM_TRY(plim_space_sequence_analyse(s));
  }
  return PLIM_OK;
}
