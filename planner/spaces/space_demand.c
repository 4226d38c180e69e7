/* Makes a sequence within budgets in one pass, with memory as a cache. Runs are taken in program order. What a run
 * reads and is not there is brought: copied from another space, or run again with what that needs. Where there is no
 * room, the buffer is evicted whose return costs least by its bytes and by the runs until its next reader. A buffer is
 * copied out at that moment, where a link and room are there and copies cost less than a recompute.
 *
 * Invariant: `used` is at least what the sequence made so far has live, as a buffer of the sequence ends at its last
 * touch, and here only when it is evicted or has no reader left. After Kirisame et al., ICLR 2021, for the score. */
#include "planner/spaces/space_searching.h"

#include <math.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/effort.h"

/* MOST_LOOKED buffers and MOST_PREDS of what they need are looked at; MOST_LEAVE leave after one look. */
enum { MOST_LOOKED = 200, MOST_PREDS = 8, MOST_LEAVE = 32, ITEMS_A_NODE = 8 };

/* A run that waits for what it reads: preds before `pred` are there and pinned. */
typedef struct frame {
  int32_t node, device, pred;
} frame;

typedef struct candidate {
  int32_t node, out; /* out: the link that copies it out first, -1: none */
  double score, cost;
} candidate;

typedef struct demanding {
  plim_context *ctx;
  const plim_space_problem *problem;
  const plim_space_rules *rules;
  const plim_space_weights *weights;
  plim_space_events to;
  int64_t *used;  /* [n_spaces] */
  int32_t *place; /* [n_spaces][nodes] index in live + 1; 0: not there */
  int32_t *pins;  /* [n_spaces][nodes] runs that wait for others and read it */
  int32_t *live;  /* [n_spaces][nodes] what is there */
  int32_t *n_live;
  double *again;   /* [nodes] what the return of a node costs that was evicted, with all that was evicted before it */
  int32_t *next;   /* [nodes] index of the next reader among its readers */
  int32_t *extra;  /* [nodes] run again for the run in hand */
  uint8_t *listed; /* [nodes] stands in extra */
  int32_t n_extra, at, turn;
  candidate candidate[MOST_LEAVE]; /* of the space candidates_of, found before */
  int32_t n_candidates, candidates_of;
  frame *stack;
  int64_t n_stack, room_stack;
} demanding;

static int64_t cell(const demanding *k, int32_t space, int32_t node) {
  return (int64_t)space * k->problem->n + node;
}

static int is_there(const demanding *k, int32_t space, int32_t node) {
  return k->place[cell(k, space, node)] > 0;
}

static void enter(demanding *k, int32_t space, int32_t node) {
  k->live[cell(k, space, k->n_live[space]++)] = node;
  k->place[cell(k, space, node)] = k->n_live[space];
  k->used[space] += k->problem->node[node].bytes;
}

static void leave(demanding *k, int32_t space, int32_t node) {
  int32_t *place = &k->place[cell(k, space, node)], last = k->live[cell(k, space, --k->n_live[space])];
  k->live[cell(k, space, *place - 1)] = last;
  k->place[cell(k, space, last)] = *place;
  *place = 0;
  k->used[space] -= k->problem->node[node].bytes;
}

/* The next reader in program order, from the run in hand on; INT32_MAX: none. */
static int32_t next_reader(demanding *k, int32_t node) {
  const plim_space_node *v = &k->problem->node[node];
  while (k->next[node] < v->n_succs && v->succ[k->next[node]] < k->at) k->next[node]++;
  return k->next[node] < v->n_succs ? v->succ[k->next[node]] : INT32_MAX;
}

static void leave_everywhere(demanding *k, int32_t node) {
  for (int32_t s = 0; s < k->problem->platform->n_spaces; s++) {
    if (is_there(k, s, node)) leave(k, s, node);
  }
}

/* ---- eviction ---- */

static int takes(const demanding *k, int32_t node, int32_t link) {
  return k->rules->link_taken[link] && plim_space_copy_ns(k->problem, node, link) >= 0;
}

static int has_bytes(const demanding *k, int32_t space, int64_t bytes) {
  return k->rules->budget[space] == INT64_MAX || k->used[space] + bytes <= k->rules->budget[space];
}

/* What the copy that brings a node back costs, and the one that takes it out before, *out (-1: none is needed). */
static double reload_cost(const demanding *k, int32_t space, int32_t node, int32_t *out) {
  const plim_platform *platform = k->problem->platform;
  double best = INFINITY;
  *out = -1;
  for (int32_t l = 0; l < platform->n_links; l++) {
    int32_t there = platform->link[l].from, away = -1;
    if (platform->link[l].to != space || !takes(k, node, l)) continue;
    double cost = plim_space_copy_cost(k->problem, k->weights, node, l);
    if (!is_there(k, there, node)) {
      away = plim_platform_find_link(platform, space, there);
      if (away < 0 || !takes(k, node, away) || !has_bytes(k, there, k->problem->node[node].bytes)) continue;
      cost += plim_space_copy_cost(k->problem, k->weights, node, away);
    }
    if (cost >= best) continue;
    best = cost;
    *out = away;
  }
  return best;
}

/* What the return of a node to a space costs, once it is evicted. */
static double return_cost(const demanding *k, int32_t space, int32_t node, int32_t *out) {
  const plim_space_node *v = &k->problem->node[node];
  int32_t device = plim_space_cheapest_device(k->problem, k->rules, k->weights, node, space);
  int32_t n = v->n_preds < MOST_PREDS ? v->n_preds : MOST_PREDS;
  double copies = reload_cost(k, space, node, out), again, missing = 0;
  if (device < 0 || !k->rules->recompute || v->once) return copies;
  again = plim_space_run_cost(k->problem, k->weights, node, device);
  if (again >= copies) return copies;
  for (int32_t i = 0; i < n; i++) missing += is_there(k, space, v->pred[i]) ? 0 : k->again[v->pred[i]];
  if (n > 0) again += missing * v->n_preds / n;
  if (again >= copies) return copies;
  *out = -1;
  return again;
}

/* What evicting a node of the space costs: by its bytes and the runs until its next reader. INFINITY: it cannot. */
static candidate weigh(demanding *k, int32_t space, int32_t node) {
  candidate c = {.node = node, .out = -1, .score = -1};
  int32_t reader = next_reader(k, node);
  if (k->pins[cell(k, space, node)] > 0) c.score = INFINITY;
  if (k->pins[cell(k, space, node)] > 0 || reader == INT32_MAX) return c;
  double held = (double)k->problem->node[node].bytes * ((double)(reader - k->at) + 1);
  c.cost = return_cost(k, space, node, &c.out);
  c.score = c.cost / (held > 1 ? held : 1);
  return c;
}

/* Those that may leave the space next, the best last: of a part of what is there, each time another one. */
static void find_candidates(demanding *k, int32_t space) {
  int32_t n = k->n_live[space], stride = n / MOST_LOOKED + 1, found = 0;
  candidate *best = k->candidate;
  for (int32_t i = k->turn++ % stride; i < n; i += stride) {
    const candidate c = weigh(k, space, k->live[cell(k, space, i)]);
    if (isinf(c.score) || (found == MOST_LEAVE && c.score >= best[0].score)) continue;
    if (found == MOST_LEAVE) memmove(best, best + 1, (size_t)--found * sizeof *best);
    int32_t at = found++;
    for (; at > 0 && best[at - 1].score < c.score; at--) best[at] = best[at - 1];
    best[at] = c;
  }
  k->n_candidates = found;
  k->candidates_of = space;
}

/* The candidate with what evicting it costs now; score INFINITY: there is none. */
static candidate next_candidate(demanding *k, int32_t space) {
  while (k->candidates_of == space && k->n_candidates > 0) {
    const candidate old = k->candidate[--k->n_candidates];
    if (!is_there(k, space, old.node)) continue;
    const candidate now = weigh(k, space, old.node);
    if (now.score <= fmax(old.score, 2 * old.score)) return now;
  }
  find_candidates(k, space);
  return k->n_candidates > 0 ? k->candidate[--k->n_candidates] : (candidate){.score = INFINITY};
}

/* 0: nothing could leave the space. */
static int evict(demanding *k, int32_t space) {
  const candidate c = next_candidate(k, space);
  if (isinf(c.score)) return 0;
  if (c.out >= 0) {
    plim_space_events_add(&k->to, PLIM_SPACE_COPY, c.node, c.out);
    enter(k, k->problem->platform->link[c.out].to, c.node);
  }
  leave(k, space, c.node);
  k->again[c.node] = c.cost;
  return 1;
}

static int make_room(demanding *k, int32_t space, int64_t bytes) {
  while (!has_bytes(k, space, bytes)) {
    int32_t tries = k->n_live[space] / MOST_LOOKED + 1; /* each looks at others */
    if (plim_effort_over(k->ctx, 10 * MOST_LOOKED)) return 0;
    while (tries > 0 && !evict(k, space)) tries--;
    if (tries == 0) return 0;
  }
  return 1;
}

/* ---- bringing ---- */

static plim_status push(demanding *k, int32_t node, int32_t device) {
  PLIM_TRY(plim_array_reserve(k->ctx, &k->stack, &k->room_stack, k->n_stack + 1, sizeof *k->stack));
  k->stack[k->n_stack++] = (frame){node, device, 0};
  return PLIM_OK;
}

/* Copy the node to the space, or put its run on the stack; *able 0: neither. */
static plim_status bring(demanding *k, int32_t node, int32_t space, int32_t *able) {
  const plim_platform *platform = k->problem->platform;
  int32_t best = -1, device = plim_space_cheapest_device(k->problem, k->rules, k->weights, node, space);
  for (int32_t l = 0; l < platform->n_links; l++) {
    if (platform->link[l].to != space || !takes(k, node, l) || !is_there(k, platform->link[l].from, node)) continue;
    if (best < 0 || plim_space_copy_cost(k->problem, k->weights, node, l) <
                        plim_space_copy_cost(k->problem, k->weights, node, best))
      best = l;
  }
  if (best >= 0) {
    int32_t *pins = &k->pins[cell(k, platform->link[best].from, node)];
    ++*pins;
    *able = make_room(k, space, k->problem->node[node].bytes);
    --*pins;
    if (!*able) return PLIM_OK;
    plim_space_events_add(&k->to, PLIM_SPACE_COPY, node, best);
    enter(k, space, node);
    return PLIM_OK;
  }
  *able = device >= 0 && k->rules->recompute && !k->problem->node[node].once;
  if (!*able) return PLIM_OK;
  if (!k->listed[node]) k->extra[k->n_extra++] = node;
  k->listed[node] = 1;
  return push(k, node, device);
}

static void run_node(demanding *k, const frame *f, int32_t space) {
  const plim_space_node *v = &k->problem->node[f->node];
  plim_space_events_add(&k->to, PLIM_SPACE_RUN, f->node, f->device);
  enter(k, space, f->node);
  for (int32_t i = 0; i < v->n_preds; i++) k->pins[cell(k, space, v->pred[i])]--;
}

/* Work off the stack. */
static plim_status run_stack(demanding *k, int32_t *able) {
  while (k->n_stack > 0 && *able) {
    frame *f = &k->stack[k->n_stack - 1];
    const plim_space_node *v = &k->problem->node[f->node];
    int32_t space = k->problem->platform->device[f->device].space;
    if (plim_effort_over(k->ctx, 200)) {
      *able = 0;
      return PLIM_OK;
    }
    while (f->pred < v->n_preds && is_there(k, space, v->pred[f->pred])) {
      k->pins[cell(k, space, v->pred[f->pred++])]++;
    }
    if (f->pred < v->n_preds) {
      PLIM_TRY(bring(k, v->pred[f->pred], space, able));
      continue;
    }
    *able = *able && k->to.n < ITEMS_A_NODE * (int64_t)k->problem->n && make_room(k, space, v->bytes + v->workspace);
    if (!*able) return PLIM_OK;
    run_node(k, f, space);
    k->n_stack--;
  }
  return k->to.status;
}

/* What no later run reads leaves. */
static void release(demanding *k) {
  const plim_space_node *v = &k->problem->node[k->at];
  int32_t last = k->at++;
  for (int32_t i = 0; i < v->n_preds; i++) {
    if (next_reader(k, v->pred[i]) == INT32_MAX) leave_everywhere(k, v->pred[i]);
  }
  if (v->n_succs == 0) leave_everywhere(k, last);
  for (int32_t i = 0; i < k->n_extra; i++) {
    k->listed[k->extra[i]] = 0;
    if (next_reader(k, k->extra[i]) == INT32_MAX) leave_everywhere(k, k->extra[i]);
  }
  k->n_extra = 0;
}

/* ---- the whole ---- */

static plim_status allocate_state(demanding *k) {
  int64_t spaces = k->problem->platform->n_spaces, cells = spaces * k->problem->n;
  PLIM_TRY(plim_allocate(k->ctx, spaces, sizeof *k->used, &k->used));
  PLIM_TRY(plim_allocate(k->ctx, spaces, sizeof *k->n_live, &k->n_live));
  PLIM_TRY(plim_allocate(k->ctx, cells, sizeof *k->place, &k->place));
  PLIM_TRY(plim_allocate(k->ctx, cells, sizeof *k->pins, &k->pins));
  PLIM_TRY(plim_allocate(k->ctx, cells, sizeof *k->live, &k->live));
  PLIM_TRY(plim_allocate(k->ctx, k->problem->n, sizeof *k->again, &k->again));
  PLIM_TRY(plim_allocate(k->ctx, k->problem->n, sizeof *k->next, &k->next));
  PLIM_TRY(plim_allocate(k->ctx, k->problem->n, sizeof *k->listed, &k->listed));
  return plim_allocate(k->ctx, k->problem->n, sizeof *k->extra, &k->extra);
}

static void free_all(demanding *k) {
  int64_t spaces = k->problem->platform->n_spaces, cells = spaces * k->problem->n;
  plim_space_events_free(&k->to);
  plim_release(k->ctx, k->used, spaces, sizeof *k->used);
  plim_release(k->ctx, k->n_live, spaces, sizeof *k->n_live);
  plim_release(k->ctx, k->place, cells, sizeof *k->place);
  plim_release(k->ctx, k->pins, cells, sizeof *k->pins);
  plim_release(k->ctx, k->live, cells, sizeof *k->live);
  plim_release(k->ctx, k->again, k->problem->n, sizeof *k->again);
  plim_release(k->ctx, k->next, k->problem->n, sizeof *k->next);
  plim_release(k->ctx, k->listed, k->problem->n, sizeof *k->listed);
  plim_release(k->ctx, k->extra, k->problem->n, sizeof *k->extra);
  plim_release(k->ctx, k->stack, k->room_stack, sizeof *k->stack);
}

static plim_status read_events(const demanding *k, plim_space_sequence *s, int32_t *fits) {
  *fits = 0;
  PLIM_TRY(plim_space_sequence_reserve(s, k->to.n));
  memcpy(s->item, k->to.event, (size_t)k->to.n * sizeof *s->item);
  s->n = (int32_t)k->to.n;
  PLIM_TRY(plim_space_sequence_analyse(s));
  *fits = s->valid && plim_space_sequence_is_within(s, k->rules->budget);
  return PLIM_OK;
}

plim_status plim_space_demand(plim_space_sequence *s, const plim_space_rules *rules, const plim_space_weights *weights,
                              int32_t *fits) {
  const plim_space_problem *p = s->problem;
  demanding k = {.ctx = p->ctx, .problem = p, .rules = rules, .weights = weights, .to = {.ctx = p->ctx}};
  int32_t able = 1;
  plim_status status;
  *fits = 0;
  PLIM_CHECK(allocate_state(&k));
  for (int32_t e = 0; e < s->n && able; e++) {
    PLIM_CHECK(push(&k, s->item[e].node, s->item[e].at));
    PLIM_CHECK(run_stack(&k, &able));
    if (able) release(&k);
  }
  if (able && k.to.n > 0) PLIM_CHECK(read_events(&k, s, fits));
done:
  free_all(&k);
  return status;
}
