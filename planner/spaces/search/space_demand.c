/* Makes a sequence within budgets in one pass, with memory as a cache. Runs are taken in program order. What a run
 * reads and is not there is brought: copied from another space, or recomputed with what that needs. Where there is no
 * room, the buffer is evicted whose return costs least by its bytes and by the runs until its next reader. A buffer is
 * copied out at that moment, where a link and room are there and copies cost less than a recompute.
 *
 * Example: there is room for two outputs. The runs are a, b(a), c(b), d(a, c); d has no output. At c there are a and b,
 * so there is no room for c. b is read, so a leaves. Another run of a costs 6, a copy out and one in 4 together: a is
 * copied out. After c nothing reads b any more, and it is gone. At d a is copied in.
 *
 * Invariant: `used` is at least what the sequence made so far has live, as a buffer of the sequence ends at its last
 * touch, and here only when it is evicted or has no reader left. After Kirisame et al., ICLR 2021, for the score.
 *
 * planner/paging/queue_decode.c makes room in the same way for runs that are given, and says how it differs. */
#include "planner/spaces/search/space_search_internal.h"

#include <math.h>
#include <string.h>

#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/array.h"
#include "runtime/base/effort.h"

/* A run that waits for what it reads: preds before `pred` are there and pinned. */
typedef struct frame {
  int32_t node, device, pred;
} frame;

typedef struct candidate {
  int32_t node, out; /* out: the link that copies it out first, -1: none */
  double score, cost;
} candidate;

typedef struct demand_pass {
  plim_context *ctx;
  const plim_space_problem *problem;
  const plim_space_rules *rules;
  const plim_space_weights *weights;
  plim_space_events made; /* the sequence so far */
  plim_block block;       /* of the arrays but the stack */
  int64_t *used;          /* [n_spaces] */
  int32_t *place;         /* [n_spaces][nodes] index in live + 1; 0: not there */
  int32_t *pins;          /* [n_spaces][nodes] runs that wait for others and read it */
  int32_t *live;          /* [n_spaces][nodes] what is there */
  int32_t *n_live;
  double *return_cost;  /* [nodes] of what was evicted: what its return costs, with all that was evicted before it */
  int32_t *next;        /* [nodes] index of the next reader among its readers */
  int32_t *repeated;    /* [n_repeated] nodes that are recomputed for the run in hand */
  uint8_t *is_repeated; /* [nodes] */
  int32_t n_repeated;
  int32_t at;                              /* the run in hand: a node */
  int32_t look;                            /* number of the next look for candidates, each of which begins elsewhere */
  candidate candidate[PLIM_SPACE_LEAVERS]; /* of the space candidates_of, found before */
  int32_t n_candidates, candidates_of;
  frame *stack;
  int64_t n_stack, stack_capacity;
} demand_pass;

static int64_t cell(const demand_pass *pass, int32_t space, int32_t node) {
  return (int64_t)space * pass->problem->n + node;
}

static int is_there(const demand_pass *pass, int32_t space, int32_t node) {
  return pass->place[cell(pass, space, node)] > 0;
}

static void enter_space(demand_pass *pass, int32_t space, int32_t node) {
  pass->live[cell(pass, space, pass->n_live[space]++)] = node;
  pass->place[cell(pass, space, node)] = pass->n_live[space];
  pass->used[space] += pass->problem->node[node].bytes;
}

static void leave_space(demand_pass *pass, int32_t space, int32_t node) {
  int32_t *place = &pass->place[cell(pass, space, node)], last = pass->live[cell(pass, space, --pass->n_live[space])];
  pass->live[cell(pass, space, *place - 1)] = last;
  pass->place[cell(pass, space, last)] = *place;
  *place = 0;
  pass->used[space] -= pass->problem->node[node].bytes;
}

/* The next reader in program order, from the run in hand on; INT32_MAX: none. */
static int32_t next_reader(demand_pass *pass, int32_t node) {
  const plim_space_node *v = &pass->problem->node[node];
  while (pass->next[node] < v->n_succs && v->succ[pass->next[node]] < pass->at) pass->next[node]++;
  return pass->next[node] < v->n_succs ? v->succ[pass->next[node]] : INT32_MAX;
}

static void leave_everywhere(demand_pass *pass, int32_t node) {
  for (int32_t s = 0; s < pass->problem->platform->n_spaces; s++) {
    if (is_there(pass, s, node)) leave_space(pass, s, node);
  }
}

/* ---- eviction ---- */

static int has_bytes(const demand_pass *pass, int32_t space, int64_t bytes) {
  return pass->rules->budget[space] == INT64_MAX || pass->used[space] + bytes <= pass->rules->budget[space];
}

/* What the copy that brings a node back costs, and the one that takes it out before, *out (-1: none is needed). */
static double reload_cost(const demand_pass *pass, int32_t space, int32_t node, int32_t *out) {
  const plim_platform *platform = pass->problem->platform;
  double best = INFINITY;
  *out = -1;
  for (int32_t l = 0; l < platform->n_links; l++) {
    int32_t there = platform->link[l].from, away = -1;
    if (platform->link[l].to != space || !plim_space_copy_allowed(pass->problem, pass->rules, node, l)) continue;
    double cost = plim_space_copy_cost(pass->problem, pass->weights, node, l);
    if (!is_there(pass, there, node)) {
      away = plim_platform_find_link(platform, space, there);
      if (away < 0 || !plim_space_copy_allowed(pass->problem, pass->rules, node, away) ||
          !has_bytes(pass, there, pass->problem->node[node].bytes))
        continue;
      cost += plim_space_copy_cost(pass->problem, pass->weights, node, away);
    }
    if (cost >= best) continue;
    best = cost;
    *out = away;
  }
  return best;
}

/* What the return of a node to a space costs, once it is evicted. */
static double find_return_cost(const demand_pass *pass, int32_t space, int32_t node, int32_t *out) {
  const plim_space_node *v = &pass->problem->node[node];
  int32_t device = plim_space_cheapest_device(pass->problem, pass->rules, pass->weights, node, space);
  int32_t n = v->n_preds < spaces_tuning.demand.preds_max ? v->n_preds : spaces_tuning.demand.preds_max;
  double copies = reload_cost(pass, space, node, out), again, missing = 0;
  if (device < 0 || !pass->rules->recompute || v->once) return copies;
  again = plim_space_run_cost(pass->problem, pass->weights, node, device);
  if (again >= copies) return copies;
  for (int32_t i = 0; i < n; i++) missing += is_there(pass, space, v->pred[i]) ? 0 : pass->return_cost[v->pred[i]];
  if (n > 0) again += missing * v->n_preds / n;
  if (again >= copies) return copies;
  *out = -1;
  return again;
}

/* What evicting a node of the space costs: by its bytes and the runs until its next reader. INFINITY: it cannot. */
static candidate weigh_eviction(demand_pass *pass, int32_t space, int32_t node) {
  candidate c = {.node = node, .out = -1, .score = -1};
  int32_t reader = next_reader(pass, node);
  if (pass->pins[cell(pass, space, node)] > 0) c.score = INFINITY;
  if (pass->pins[cell(pass, space, node)] > 0 || reader == INT32_MAX) return c;
  double held = (double)pass->problem->node[node].bytes * ((double)(reader - pass->at) + 1);
  c.cost = find_return_cost(pass, space, node, &c.out);
  c.score = c.cost / (held > 1 ? held : 1);
  return c;
}

/* List what may leave the space next, the best last. Each look weighs another part of what is there. */
static void find_candidates(demand_pass *pass, int32_t space) {
  int32_t n = pass->n_live[space], stride = n / spaces_tuning.demand.looked_max + 1, found = 0;
  candidate *best = pass->candidate;
  for (int32_t i = pass->look++ % stride; i < n; i += stride) {
    const candidate c = weigh_eviction(pass, space, pass->live[cell(pass, space, i)]);
    if (isinf(c.score) || (found == PLIM_SPACE_LEAVERS && c.score >= best[0].score)) continue;
    if (found == PLIM_SPACE_LEAVERS) memmove(best, best + 1, (size_t)--found * sizeof *best);
    int32_t at = found++;
    for (; at > 0 && best[at - 1].score < c.score; at--) best[at] = best[at - 1];
    best[at] = c;
  }
  pass->n_candidates = found;
  pass->candidates_of = space;
}

/* The candidate with what evicting it costs now; score INFINITY: there is none. Costs have changed since candidates
 * were found: one whose score has more than doubled is passed over. A score of -1, of a buffer without readers, may not
 * have risen at all. */
static candidate next_candidate(demand_pass *pass, int32_t space) {
  while (pass->candidates_of == space && pass->n_candidates > 0) {
    const candidate old = pass->candidate[--pass->n_candidates];
    if (!is_there(pass, space, old.node)) continue;
    const candidate now = weigh_eviction(pass, space, old.node);
    if (now.score <= fmax(old.score, 2 * old.score)) return now;
  }
  find_candidates(pass, space);
  return pass->n_candidates > 0 ? pass->candidate[--pass->n_candidates] : (candidate){.score = INFINITY};
}

/* 0: nothing could leave the space. */
static int evict(demand_pass *pass, int32_t space) {
  const candidate c = next_candidate(pass, space);
  if (isinf(c.score)) return 0;
  if (c.out >= 0) {
    plim_space_events_add(&pass->made, PLIM_SPACE_COPY, c.node, c.out);
    enter_space(pass, pass->problem->platform->link[c.out].to, c.node);
  }
  leave_space(pass, space, c.node);
  pass->return_cost[c.node] = c.cost;
  return 1;
}

static int make_room(demand_pass *pass, int32_t space, int64_t bytes) {
  while (!has_bytes(pass, space, bytes)) {
    int32_t tries = pass->n_live[space] / spaces_tuning.demand.looked_max + 1; /* each looks at others */
    if (plim_effort_over(pass->ctx, 10 * spaces_tuning.demand.looked_max)) return 0;
    while (tries > 0 && !evict(pass, space)) tries--;
    if (tries == 0) return 0;
  }
  return 1;
}

/* ---- bringing ---- */

static plim_status push_run(demand_pass *pass, int32_t node, int32_t device) {
  PLIM_TRY(plim_array_reserve(pass->ctx, &pass->stack, &pass->stack_capacity, pass->n_stack + 1, sizeof *pass->stack));
  pass->stack[pass->n_stack++] = (frame){node, device, 0};
  return PLIM_OK;
}

/* Copy the node to the space, or put its run on the stack; *able 0: neither. */
static plim_status bring_node(demand_pass *pass, int32_t node, int32_t space, int32_t *able) {
  const plim_platform *platform = pass->problem->platform;
  int32_t best = -1, device = plim_space_cheapest_device(pass->problem, pass->rules, pass->weights, node, space);
  for (int32_t l = 0; l < platform->n_links; l++) {
    if (platform->link[l].to != space || !plim_space_copy_allowed(pass->problem, pass->rules, node, l) ||
        !is_there(pass, platform->link[l].from, node))
      continue;
    if (best < 0 || plim_space_copy_cost(pass->problem, pass->weights, node, l) <
                        plim_space_copy_cost(pass->problem, pass->weights, node, best))
      best = l;
  }
  if (best >= 0) {
    int32_t *pins = &pass->pins[cell(pass, platform->link[best].from, node)];
    ++*pins;
    *able = make_room(pass, space, pass->problem->node[node].bytes);
    --*pins;
    if (!*able) return PLIM_OK;
    plim_space_events_add(&pass->made, PLIM_SPACE_COPY, node, best);
    enter_space(pass, space, node);
    return PLIM_OK;
  }
  *able = device >= 0 && pass->rules->recompute && !pass->problem->node[node].once;
  if (!*able) return PLIM_OK;
  if (!pass->is_repeated[node]) pass->repeated[pass->n_repeated++] = node;
  pass->is_repeated[node] = 1;
  return push_run(pass, node, device);
}

static void run_node(demand_pass *pass, const frame *f, int32_t space) {
  const plim_space_node *v = &pass->problem->node[f->node];
  plim_space_events_add(&pass->made, PLIM_SPACE_RUN, f->node, f->device);
  enter_space(pass, space, f->node);
  for (int32_t i = 0; i < v->n_preds; i++) pass->pins[cell(pass, space, v->pred[i])]--;
}

/* Work off the stack. */
static plim_status run_stack(demand_pass *pass, int32_t *able) {
  while (pass->n_stack > 0 && *able) {
    frame *f = &pass->stack[pass->n_stack - 1];
    const plim_space_node *v = &pass->problem->node[f->node];
    int32_t space = pass->problem->platform->device[f->device].space;
    if (plim_effort_over(pass->ctx, 200)) {
      *able = 0;
      return PLIM_OK;
    }
    while (f->pred < v->n_preds && is_there(pass, space, v->pred[f->pred])) {
      pass->pins[cell(pass, space, v->pred[f->pred++])]++;
    }
    if (f->pred < v->n_preds) {
      PLIM_TRY(bring_node(pass, v->pred[f->pred], space, able));
      continue;
    }
    *able = *able && pass->made.n < spaces_tuning.demand.events_a_node * (int64_t)pass->problem->n &&
            make_room(pass, space, v->bytes + v->workspace);
    if (!*able) return PLIM_OK;
    run_node(pass, f, space);
    pass->n_stack--;
  }
  return pass->made.status;
}

/* What no later run reads leaves. */
static void drop_unread(demand_pass *pass) {
  const plim_space_node *v = &pass->problem->node[pass->at];
  int32_t last = pass->at++;
  for (int32_t i = 0; i < v->n_preds; i++) {
    if (next_reader(pass, v->pred[i]) == INT32_MAX) leave_everywhere(pass, v->pred[i]);
  }
  if (v->n_succs == 0) leave_everywhere(pass, last);
  for (int32_t i = 0; i < pass->n_repeated; i++) {
    pass->is_repeated[pass->repeated[i]] = 0;
    if (next_reader(pass, pass->repeated[i]) == INT32_MAX) leave_everywhere(pass, pass->repeated[i]);
  }
  pass->n_repeated = 0;
}

/* ---- the whole ---- */

static void lay_out(demand_pass *pass) {
  const int64_t n = pass->problem->n, spaces = pass->problem->platform->n_spaces;
  plim_block *b = &pass->block;
  pass->used = plim_block_take(b, spaces, sizeof *pass->used);
  pass->n_live = plim_block_take(b, spaces, sizeof *pass->n_live);
  pass->place = plim_block_take(b, spaces * n, sizeof *pass->place);
  pass->pins = plim_block_take(b, spaces * n, sizeof *pass->pins);
  pass->live = plim_block_take(b, spaces * n, sizeof *pass->live);
  pass->return_cost = plim_block_take(b, n, sizeof *pass->return_cost);
  pass->next = plim_block_take(b, n, sizeof *pass->next);
  pass->is_repeated = plim_block_take(b, n, sizeof *pass->is_repeated);
  pass->repeated = plim_block_take(b, n, sizeof *pass->repeated);
}

plim_status plim_space_demand(plim_space_sequence *s, const plim_space_rules *rules, const plim_space_weights *weights,
                              int32_t *fits) {
  const plim_space_problem *p = s->problem;
  demand_pass pass = {.ctx = p->ctx, .problem = p, .rules = rules, .weights = weights, .made = {.ctx = p->ctx}};
  int32_t able = 1;
  plim_status status;
  *fits = 0;
  lay_out(&pass);
  PLIM_TRY_OR_DONE(plim_block_allocate(pass.ctx, &pass.block));
  lay_out(&pass);
  for (int32_t e = 0; e < s->n && able; e++) {
    PLIM_TRY_OR_DONE(push_run(&pass, s->event[e].node, s->event[e].at));
    PLIM_TRY_OR_DONE(run_stack(&pass, &able));
    if (able) drop_unread(&pass);
  }
  if (able && pass.made.n > 0) {
    PLIM_TRY_OR_DONE(plim_space_sequence_take(s, &pass.made));
    *fits = s->valid && plim_space_sequence_is_within(s, rules->budget);
  }
done:
  plim_space_events_free(&pass.made);
  plim_block_release(pass.ctx, &pass.block);
  plim_release(pass.ctx, pass.stack, pass.stack_capacity, sizeof *pass.stack);
  return status;
}
