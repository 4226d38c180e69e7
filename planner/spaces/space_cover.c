/* Greedy covering. At the item that is most short of bytes every buffer that is not touched there may go between its
 * two touches: its node runs again before the second, with what that reads, or it is paged out and in. Of all these
 * the one with the least cost by what it relieves is taken, and the sequence looked at anew. A buffer that nothing read
 * before the gap loses its first filler, so that "again" then means "later". */
#include "planner/spaces/space_cover.h"
#include "planner/spaces/spaces_tuning.h"

#include <math.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/effort.h"

double plim_space_run_cost(const plim_space_problem *p, const plim_space_weights *w, int32_t node, int32_t device) {
  double cost = w->run_ns * (double)plim_space_run_ns(p, node, device);
  return w->run_joule > 0 ? cost + w->run_joule * plim_space_run_joule(p, node, device) : cost;
}

double plim_space_copy_cost(const plim_space_problem *p, const plim_space_weights *w, int32_t node, int32_t link) {
  double cost = w->copy_ns * (double)plim_space_copy_ns(p, node, link);
  return w->copy_joule > 0 ? cost + w->copy_joule * plim_space_copy_joule(p, node, link) : cost;
}

void plim_space_report(plim_context *ctx, const plim_space_rules *rules) {
  if (!rules->progress) return;
  rules->progress->elapsed_ns = plim_now_ns() - rules->started_ns;
  plim_context_report(ctx, rules->progress);
}

int32_t plim_space_cheapest_device(const plim_space_problem *p, const plim_space_rules *rules,
                                   const plim_space_weights *w, int32_t node, int32_t space) {
  int32_t best = -1;
  for (int32_t d = 0; d < rules->devices; d++) {
    if (p->platform->device[d].space != space || plim_space_run_ns(p, node, d) < 0) continue;
    if (best < 0 || plim_space_run_cost(p, w, node, d) < plim_space_run_cost(p, w, node, best)) best = d;
  }
  return best;
}

static int takes(const plim_space_problem *p, const plim_space_rules *rules, int32_t node, int32_t link) {
  return rules->link_taken[link] && plim_space_copy_ns(p, node, link) >= 0;
}

int plim_space_sequence_is_within(const plim_space_sequence *s, const int64_t *budget) {
  for (int32_t space = 0; space < s->problem->platform->n_spaces; space++) {
    if (!plim_space_sequence_fits(s, space, 0, s->n, 0, budget[space])) return 0;
  }
  return 1;
}

/* ---- one decision ---- */

typedef struct cover {
  plim_space_sequence *s;
  const plim_space_problem *p;
  const plim_space_rules *rules;
  const plim_space_weights *w;
  plim_random *random;
  int32_t at, space;        /* the item that is short of bytes */
  int32_t *previous, *next; /* [room] touches of a buffer around `at`; -1: it is touched there */
  int64_t *short_before;    /* [room + 1] items short of bytes in the space, before an item */
  int64_t room;             /* of the three */
  int32_t *seen, mark;      /* [nodes] refilled already in this decision: == mark */
  int32_t going;            /* the buffer that goes in this decision */
  int32_t moves;            /* 1: its run would be a later one, not another */
  int64_t extended;         /* bytes of those that stay for it across `at` */
  plim_space_event *fill;   /* [PLIM_SPACE_REFILLS + 1] of the decision being weighed */
  int32_t n_fill, n_open;   /* of them all, and runs that wait for what they read */
  double best;              /* least score so far */
  plim_space_event *chosen; /* [PLIM_SPACE_REFILLS + 1] items before `chosen_at` */
  int32_t n_chosen, chosen_at;
  plim_space_event out; /* and this one before out_at, -1: none */
  int32_t out_at;
} cover;

/* Is buffer `filler` there at item u, or can it stay until then? Within the gap of the buffer that goes, others may
 * stay in its place, as long as all of them are smaller. */
static int stays(cover *k, int32_t filler, int32_t u) {
  const plim_space_sequence *s = k->s;
  if (filler < 0 || filler == k->going) return 0;
  if (s->last[filler] >= u) return 1;
  int32_t space = plim_space_item_space(k->p, &s->item[filler]), from = s->last[filler] + 1, to = u;
  int64_t bytes = k->p->node[s->item[filler].node].bytes;
  int crosses = space == k->space && s->last[filler] < k->at;
  if (crosses) {
    if (k->extended + bytes >= k->p->node[s->item[k->going].node].bytes) return 0;
    if (to > k->previous[k->going] + 1) to = k->previous[k->going] + 1;
  }
  if (!plim_space_sequence_fits(s, space, from, to, bytes, k->rules->budget[space])) return 0;
  if (crosses) k->extended += bytes;
  return 1;
}

/* The cheapest link that brings node to `space` before item u from where it still is; -1: none. */
static int32_t find_reload(cover *k, int32_t node, int32_t space, int32_t u) {
  const plim_platform *platform = k->p->platform;
  int32_t best = -1;
  for (int32_t l = 0; l < platform->n_links; l++) {
    if (platform->link[l].to != space || !takes(k->p, k->rules, node, l)) continue;
    if (best >= 0 && plim_space_copy_cost(k->p, k->w, node, l) >= plim_space_copy_cost(k->p, k->w, node, best)) {
      continue;
    }
    int32_t filler = plim_space_sequence_find(k->s, node, platform->link[l].from, u);
    if (filler >= 0 && stays(k, filler, u)) best = l;
  }
  return best;
}

/* Add the run of `node` before item u to the decision, with what it reads and is not there. Returns the cost, INFINITY
 * where it is above `most` or impossible. Runs that wait count as refills: they bound the depth of the calls. */
static double refill(cover *k, int32_t node, int32_t u, double most) {
  const plim_space_node *v = &k->p->node[node];
  int32_t device = plim_space_cheapest_device(k->p, k->rules, k->w, node, k->space);
  int repeats = node != k->s->item[k->going].node || !k->moves;
  k->seen[node] = k->mark;
  if (repeats && (!k->rules->recompute || v->once)) return INFINITY;
  if (device < 0 || k->n_fill + k->n_open >= PLIM_SPACE_REFILLS) return INFINITY;
  double cost = plim_space_run_cost(k->p, k->w, node, device);
  k->n_open++;
  for (int32_t i = 0; i < v->n_preds && cost < most; i++) {
    int32_t j = v->pred[i];
    if (k->seen[j] == k->mark) continue;
    if (stays(k, plim_space_sequence_find(k->s, j, k->space, u), u)) continue;
    int32_t link = find_reload(k, j, k->space, u);
    if (link >= 0 && k->n_fill < PLIM_SPACE_REFILLS) {
      k->seen[j] = k->mark;
      cost += plim_space_copy_cost(k->p, k->w, j, link);
      k->fill[k->n_fill++] = (plim_space_event){PLIM_SPACE_COPY, j, link};
    } else {
      cost += refill(k, j, u, most - cost);
    }
  }
  k->n_open--;
  if (!(cost < most) || k->n_fill >= PLIM_SPACE_REFILLS) return INFINITY;
  k->fill[k->n_fill++] = (plim_space_event){PLIM_SPACE_RUN, node, device};
  return cost;
}

/* Exponents are 0, 0.5 and 1 nearly always, and pow is slow. */
static double power(double x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 0.5) return sqrt(x);
  return exponent == 0 ? 1 : pow(x, exponent);
}

/* What a decision relieves: its bytes, as far as they are short, over the items that are. */
static double relief(const cover *k, int32_t filler) {
  int64_t bytes = k->p->node[k->s->item[filler].node].bytes;
  int64_t excess = plim_space_live(k->s, k->space)[k->at] - k->rules->budget[k->space];
  int64_t items = k->short_before[k->next[filler]] - k->short_before[k->previous[filler] + 1];
  return power((double)(bytes < excess ? bytes : excess), k->w->by_bytes) * power((double)items, k->w->by_time);
}

static int is_better(cover *k, double cost, double relieved, double *score) {
  double noise = k->w->noise > 0 ? exp(k->w->noise * (plim_random_unit(k->random) - 0.5)) : 1;
  *score = (cost > 0 ? cost : 0) / relieved * noise;
  if (cost <= 0) *score = -relieved * noise; /* for nothing: the more the better */
  return *score < k->best;
}

static double item_cost(const cover *k, const plim_space_event *item) {
  return item->kind == PLIM_SPACE_RUN ? plim_space_run_cost(k->p, k->w, item->node, item->at)
                                      : plim_space_copy_cost(k->p, k->w, item->node, item->at);
}

static void weigh_recompute(cover *k, int32_t filler, double relieved, double credit) {
  int32_t u = k->next[filler];
  double score, most = k->best >= 0 ? k->best * relieved * exp(k->w->noise / 2) + credit : credit + 1e-300;
  /* its run moves: nothing reads it before */
  k->moves = k->s->item[filler].kind == PLIM_SPACE_RUN && k->previous[filler] == filler && !k->w->stay;
  k->mark++;
  k->n_fill = k->n_open = 0;
  k->extended = 0;
  double cost = refill(k, k->s->item[filler].node, u, most);
  if (isinf(cost)) return;
  double whole = (double)k->p->node[k->s->item[filler].node].bytes;
  relieved *= (whole - (double)k->extended) / whole;
  if (!is_better(k, cost - credit, relieved, &score)) return;
  k->best = score;
  memcpy(k->chosen, k->fill, (size_t)k->n_fill * sizeof *k->fill);
  k->n_chosen = k->n_fill;
  k->chosen_at = u;
  k->out_at = -1;
}

/* Out along link l and in along its opposite; or in alone where the other space has it. */
static void weigh_page(cover *k, int32_t filler, int32_t l, double relieved, double credit) {
  const plim_platform *platform = k->p->platform;
  const plim_space_sequence *s = k->s;
  int32_t node = s->item[filler].node, u = k->next[filler], there = platform->link[l].to;
  int32_t back = plim_platform_find_link(platform, there, k->space), out_at = -1;
  double score, cost;
  if (!takes(k->p, k->rules, node, l) || back < 0 || !takes(k->p, k->rules, node, back)) return;
  int32_t stored = plim_space_sequence_find(s, node, there, u);
  cost = plim_space_copy_cost(k->p, k->w, node, back);
  int from_there = s->item[filler].kind == PLIM_SPACE_COPY && s->item[filler].at == back;
  if (!from_there) credit = 0;
  if (stored < 0 || !stays(k, stored, u)) {
    out_at = k->previous[filler] + 1;
    cost += plim_space_copy_cost(k->p, k->w, node, l);
    if (!plim_space_sequence_fits(s, there, out_at, u, k->p->node[node].bytes, k->rules->budget[there])) return;
  }
  if (!is_better(k, cost - credit, relieved, &score)) return;
  k->best = score;
  k->chosen[0] = (plim_space_event){PLIM_SPACE_COPY, node, back};
  k->n_chosen = 1;
  k->chosen_at = u;
  k->out_at = out_at;
  k->out = (plim_space_event){PLIM_SPACE_COPY, node, l};
}

static void weigh(cover *k, int32_t filler) {
  const plim_platform *platform = k->p->platform;
  double relieved = relief(k, filler);
  /* nothing read it before the gap: its filler is no longer needed */
  double credit = k->previous[filler] == filler ? item_cost(k, &k->s->item[filler]) : 0;
  if (k->w->stay && k->s->item[filler].kind == PLIM_SPACE_RUN) credit = 0;
  if (!(relieved > 0)) return;
  k->going = filler;
  k->extended = 0;
  for (int32_t l = 0; l < platform->n_links; l++) {
    if (platform->link[l].from == k->space) weigh_page(k, filler, l, relieved, credit);
  }
  weigh_recompute(k, filler, relieved, credit);
}

/* ---- one step ---- */

static int find_short(cover *k) {
  const plim_space_sequence *s = k->s;
  double worst = 0;
  k->at = -1;
  for (int32_t space = 0; space < k->p->platform->n_spaces; space++) {
    const int64_t *live = plim_space_live(s, space);
    int64_t budget = k->rules->budget[space];
    if (budget == INT64_MAX) continue;
    for (int32_t e = 0; e < s->n; e++) {
      double share = (double)(live[e] - budget) / (double)(budget > 0 ? budget : 1);
      if (live[e] <= budget || share <= worst) continue;
      if (k->w->first && k->at >= 0 && e >= k->at) break;
      worst = k->w->first ? 0 : share;
      k->at = e;
      k->space = space;
      if (k->w->first) break;
    }
  }
  return k->at >= 0;
}

static void count_short(cover *k) {
  const int64_t *live = plim_space_live(k->s, k->space);
  k->short_before[0] = 0;
  for (int32_t e = 0; e < k->s->n; e++) {
    k->short_before[e + 1] = k->short_before[e] + (live[e] > k->rules->budget[k->space]);
  }
}

/* The touches of every buffer that is alive at the item. */
static void find_touches(cover *k) {
  const plim_space_sequence *s = k->s;
  for (int32_t e = 0; e < s->n; e++) {
    int there = e < k->at && s->last[e] > k->at && plim_space_item_space(k->p, &s->item[e]) == k->space;
    k->previous[e] = there ? e : -1;
    k->next[e] = -1;
  }
  for (int32_t e = 0; e < s->n; e++) {
    for (int32_t i = s->first_read[e]; i < s->first_read[e + 1]; i++) {
      int32_t filler = s->read[i];
      if (k->previous[filler] < 0 || k->next[filler] >= 0) continue;
      if (e < k->at) k->previous[filler] = e;
      if (e == k->at) k->previous[filler] = -1;
      if (e > k->at) k->next[filler] = e;
    }
  }
}

static plim_status reserve(cover *k) {
  plim_context *ctx = k->p->ctx;
  if (k->s->n < k->room) return PLIM_OK;
  plim_release(ctx, k->previous, k->room, sizeof *k->previous);
  plim_release(ctx, k->next, k->room, sizeof *k->next);
  plim_release(ctx, k->short_before, k->room + 1, sizeof *k->short_before);
  k->previous = k->next = NULL;
  k->short_before = NULL;
  k->room = 2 * (int64_t)k->s->n + 1;
  PLIM_TRY(plim_allocate(ctx, k->room, sizeof *k->previous, &k->previous));
  PLIM_TRY(plim_allocate(ctx, k->room, sizeof *k->next, &k->next));
  return plim_allocate(ctx, k->room + 1, sizeof *k->short_before, &k->short_before);
}

/* Insert what was chosen. What is copied out comes first, so that the copy in finds it. */
static plim_status decide(cover *k) {
  int32_t out = k->out_at >= 0, there = 0, done = 0;
  if (out) PLIM_TRY(plim_space_sequence_extend(k->s, k->out_at, 1, &k->out, &there));
  if (there || !out) PLIM_TRY(plim_space_sequence_extend(k->s, k->chosen_at + out, k->n_chosen, k->chosen, &done));
  int used = !out || (there && k->s->valid && k->s->last[k->out_at] > k->out_at); /* no later copy out is nearer */
  if (done && k->s->valid && used) return PLIM_OK;
  if (!done) PLIM_TRY(plim_space_sequence_insert(k->s, k->chosen_at + there, k->n_chosen, k->chosen));
  if (out && !there) PLIM_TRY(plim_space_sequence_insert(k->s, k->out_at, 1, &k->out));
  return plim_space_sequence_analyse(k->s);
}

/* *done: 1 where nothing is short, -1 where nothing can go. */
static plim_status step(cover *k, int32_t *done) {
  PLIM_TRY(reserve(k));
  *done = 1;
  if (!find_short(k)) return PLIM_OK;
  *done = -1;
  count_short(k);
  find_touches(k);
  k->best = INFINITY;
  k->n_chosen = 0;
  for (int32_t e = 0; e < k->at; e++) {
    if (k->previous[e] < 0 || k->next[e] <= k->at) continue;
    weigh(k, e);
    if (plim_effort_over(k->p->ctx, 200)) return PLIM_OK;
  }
  if (k->n_chosen == 0) return PLIM_OK;
  *done = 0;
  return decide(k);
}

plim_status plim_space_cover(plim_space_sequence *s, const plim_space_rules *rules, const plim_space_weights *weights,
                             plim_random *random, int32_t *fits) {
  plim_context *ctx = s->problem->ctx;
  cover k = {.s = s, .p = s->problem, .rules = rules, .w = weights, .random = random};
  int32_t done = 0, n = s->problem->n;
  plim_status status;
  *fits = 0;
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *k.seen, &k.seen));
  PLIM_CHECK(plim_allocate(ctx, PLIM_SPACE_REFILLS + 1, sizeof *k.fill, &k.fill));
  PLIM_CHECK(plim_allocate(ctx, PLIM_SPACE_REFILLS + 1, sizeof *k.chosen, &k.chosen));
  PLIM_CHECK(s->valid ? PLIM_OK : plim_space_sequence_analyse(s));
  for (int64_t i = 0; s->valid && done == 0 && i < tuning.cover.steps_a_node * (int64_t)n + 100; i++) {
    if (plim_effort_over(ctx, 10 * (int64_t)s->n)) break;
    PLIM_CHECK(step(&k, &done));
    if (i % tuning.cover.steps_a_report == 0) plim_space_report(ctx, rules);
  }
  *fits = done > 0;
done:
  plim_release(ctx, k.seen, n, sizeof *k.seen);
  plim_release(ctx, k.fill, PLIM_SPACE_REFILLS + 1, sizeof *k.fill);
  plim_release(ctx, k.chosen, PLIM_SPACE_REFILLS + 1, sizeof *k.chosen);
  plim_release(ctx, k.previous, k.room, sizeof *k.previous);
  plim_release(ctx, k.next, k.room, sizeof *k.next);
  plim_release(ctx, k.short_before, k.room + 1, sizeof *k.short_before);
  return status;
}

/* ---- what can be left out again ---- */

/* May item e go, when what read it reads the buffer before? Its bytes then stay from that one's last touch on. */
static int can_go(const plim_space_sequence *s, const plim_space_rules *rules, int32_t e) {
  int32_t space = plim_space_item_space(s->problem, &s->item[e]), before = s->before[e];
  if (before < 0 || s->last[before] < 0) return 0;
  return plim_space_sequence_fits(s, space, s->last[before] + 1, e, s->problem->node[s->item[e].node].bytes,
                                  rules->budget[space]);
}

plim_status plim_space_prune(plim_space_sequence *s, const plim_space_rules *rules) {
  int32_t removed = 1;
  while (removed > 0 && s->valid) {
    int32_t n = s->n;
    removed = 0;
    for (int32_t e = n - 1; e >= 0 && !plim_effort_over(s->problem->ctx, 20); e--) {
      if (!can_go(s, rules, e)) continue;
      int32_t before = s->before[e], space = plim_space_item_space(s->problem, &s->item[e]);
      plim_space_sequence_add(s, space, s->last[before] + 1, e, s->problem->node[s->item[e].node].bytes);
      s->last[before] = s->last[e];
      s->item[e].kind = PLIM_SPACE_DROP;
      /* later fillers of the same buffer now follow the one before */
      for (int32_t later = s->latest[(int64_t)space * s->problem->n + s->item[e].node]; later > e;
           later = s->before[later]) {
        if (s->before[later] == e) s->before[later] = before;
      }
      removed++;
    }
    s->n = 0;
    for (int32_t e = 0; e < n; e++) {
      if (s->item[e].kind != PLIM_SPACE_DROP) s->item[s->n++] = s->item[e];
    }
    PLIM_TRY(plim_space_sequence_analyse(s));
  }
  return PLIM_OK;
}

/* ---- what is missing ---- */

typedef struct repairing {
  const plim_space_problem *p;
  const plim_space_rules *rules;
  const plim_space_weights *w;
  plim_space_events to;
  uint8_t *open; /* [n_spaces][nodes] */
  uint8_t *busy; /* [nodes] being fetched */
  int32_t n_busy;
} repairing;

static uint8_t *open_of(const repairing *r, int32_t space, int32_t node) {
  return &r->open[(int64_t)space * r->p->n + node];
}

static int can_run(const repairing *r, int32_t node, int32_t space) {
  const plim_space_node *v = &r->p->node[node];
  if (plim_space_cheapest_device(r->p, r->rules, r->w, node, space) < 0) return 0;
  for (int32_t i = 0; i < v->n_preds; i++) {
    if (!*open_of(r, space, v->pred[i])) return 0;
  }
  return 1;
}

static void do_copy(repairing *r, int32_t node, int32_t link) {
  plim_space_events_add(&r->to, PLIM_SPACE_COPY, node, link);
  *open_of(r, r->p->platform->link[link].to, node) = 1;
}

/* One copy, a run where all inputs are, or two copies: the cheapest. */
static int fetch_directly(repairing *r, int32_t node, int32_t space) {
  const plim_platform *platform = r->p->platform;
  int32_t first = -1, second = -1, device = -1;
  double best = INFINITY;
  for (int32_t l = 0; l < platform->n_links; l++) {
    if (platform->link[l].to != space || !takes(r->p, r->rules, node, l)) continue;
    double cost = plim_space_copy_cost(r->p, r->w, node, l);
    if (*open_of(r, platform->link[l].from, node)) {
      if (cost >= best) continue;
      best = cost;
      first = l;
      second = -1;
      continue;
    }
    for (int32_t k = 0; k < platform->n_links; k++) {
      if (platform->link[k].to != platform->link[l].from || !takes(r->p, r->rules, node, k)) continue;
      double both = cost + plim_space_copy_cost(r->p, r->w, node, k);
      if (!*open_of(r, platform->link[k].from, node) || both >= best) continue;
      best = both;
      first = k;
      second = l;
    }
  }
  if (r->rules->recompute && !r->p->node[node].once && can_run(r, node, space)) {
    device = plim_space_cheapest_device(r->p, r->rules, r->w, node, space);
    if (plim_space_run_cost(r->p, r->w, node, device) >= best) device = -1;
  }
  if (device >= 0) {
    plim_space_events_add(&r->to, PLIM_SPACE_RUN, node, device);
    *open_of(r, space, node) = 1;
    return 1;
  }
  if (first >= 0) do_copy(r, node, first);
  if (second >= 0) do_copy(r, node, second);
  return first >= 0;
}

/* Bring node to the space; the inputs of a run first. tuning.cover.fetches bounds the depth of the calls. */
static int fetch(repairing *r, int32_t node, int32_t space) {
  const plim_space_node *v = &r->p->node[node];
  if (*open_of(r, space, node) || fetch_directly(r, node, space)) return 1;
  int32_t device = plim_space_cheapest_device(r->p, r->rules, r->w, node, space);
  if (device < 0 || !r->rules->recompute || v->once || r->busy[node]) return 0;
  if (r->n_busy == tuning.cover.fetches) return 0;
  r->n_busy++;
  r->busy[node] = 1;
  int done = 1;
  for (int32_t i = 0; i < v->n_preds && done; i++) done = fetch(r, v->pred[i], space);
  r->busy[node] = 0;
  r->n_busy--;
  if (!done) return 0;
  plim_space_events_add(&r->to, PLIM_SPACE_RUN, node, device);
  *open_of(r, space, node) = 1;
  return 1;
}

static int repair_item(repairing *r, const plim_space_event *item) {
  int32_t space = plim_space_item_space(r->p, item);
  const plim_space_node *v = &r->p->node[item->node];
  if (item->kind == PLIM_SPACE_COPY) {
    if (!*open_of(r, r->p->platform->link[item->at].from, item->node)) return 1;
  } else {
    for (int32_t i = 0; i < v->n_preds; i++) {
      if (!fetch(r, v->pred[i], space)) return 0;
    }
  }
  plim_space_events_add(&r->to, item->kind, item->node, item->at);
  *open_of(r, space, item->node) = 1;
  return 1;
}

plim_status plim_space_repair(plim_space_sequence *s, const plim_space_rules *rules, const plim_space_weights *weights,
                              int32_t *legal) {
  const plim_space_problem *p = s->problem;
  int64_t cells = (int64_t)p->platform->n_spaces * p->n;
  repairing r = {.p = p, .rules = rules, .w = weights, .to = {.ctx = p->ctx}};
  plim_status status;
  *legal = 1;
  PLIM_CHECK(plim_allocate(p->ctx, cells, sizeof *r.open, &r.open));
  PLIM_CHECK(plim_allocate(p->ctx, p->n, sizeof *r.busy, &r.busy));
  for (int32_t e = 0; e < s->n && *legal; e++) *legal = repair_item(&r, &s->item[e]);
  PLIM_CHECK(r.to.status);
  if (*legal) {
    PLIM_CHECK(plim_space_sequence_reserve(s, r.to.n));
    memcpy(s->item, r.to.event, (size_t)r.to.n * sizeof *s->item);
    s->n = (int32_t)r.to.n;
    PLIM_CHECK(plim_space_sequence_analyse(s));
    *legal = s->valid;
  }
done:
  plim_space_events_free(&r.to);
  plim_release(p->ctx, r.open, cells, sizeof *r.open);
  plim_release(p->ctx, r.busy, p->n, sizeof *r.busy);
  return status;
}
