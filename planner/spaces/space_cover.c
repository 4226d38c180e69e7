/* Greedy covering. At the item that is most short of bytes every buffer that is not touched there may go between its
 * two touches: its node runs again before the second, with what that reads, or it is paged out and in. Of all these
 * the one with the least cost by what it relieves is taken, and the sequence looked at anew. A buffer that nothing read
 * before the gap loses its first filler, so that "again" then means "later".
 *
 * A copy out holds what it reads. Where it is to take place beside runs, the page leaves that much later, and its copy
 * in stands that much earlier: what else is there meanwhile then has room. */
#include "planner/spaces/space_searching.h"

#include <math.h>
#include <string.h>

#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

/* ---- one decision ---- */

typedef struct cover {
  plim_space_sequence *sequence;
  const plim_space_problem *problem;
  const plim_space_rules *rules;
  const plim_space_weights *weights;
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
  const plim_space_sequence *s = k->sequence;
  if (filler < 0 || filler == k->going) return 0;
  if (s->last[filler] >= u) return 1;
  int32_t space = plim_space_item_space(k->problem, &s->item[filler]), from = s->last[filler] + 1, to = u;
  int64_t bytes = k->problem->node[s->item[filler].node].bytes;
  int crosses = space == k->space && s->last[filler] < k->at;
  if (crosses) {
    if (k->extended + bytes >= k->problem->node[s->item[k->going].node].bytes) return 0;
    if (to > k->previous[k->going] + 1) to = k->previous[k->going] + 1;
  }
  if (!plim_space_sequence_fits(s, space, from, to, bytes, k->rules->budget[space])) return 0;
  if (crosses) k->extended += bytes;
  return 1;
}

/* The cheapest link that brings node to `space` before item u from where it still is; -1: none. */
static int32_t find_reload(cover *k, int32_t node, int32_t space, int32_t u) {
  const plim_platform *platform = k->problem->platform;
  int32_t best = -1;
  for (int32_t l = 0; l < platform->n_links; l++) {
    if (platform->link[l].to != space || !plim_space_copy_allowed(k->problem, k->rules, node, l)) continue;
    if (best >= 0 && plim_space_copy_cost(k->problem, k->weights, node, l) >=
                         plim_space_copy_cost(k->problem, k->weights, node, best)) {
      continue;
    }
    int32_t filler = plim_space_sequence_find(k->sequence, node, platform->link[l].from, u);
    if (filler >= 0 && stays(k, filler, u)) best = l;
  }
  return best;
}

/* Add the run of `node` before item u to the decision, with what it reads and is not there. Returns the cost, INFINITY
 * where it is above `most` or impossible. Runs that wait count as refills: they bound the depth of the calls. */
static double refill(cover *k, int32_t node, int32_t u, double most) {
  const plim_space_node *v = &k->problem->node[node];
  int32_t device = plim_space_cheapest_device(k->problem, k->rules, k->weights, node, k->space);
  int repeats = node != k->sequence->item[k->going].node || !k->moves;
  k->seen[node] = k->mark;
  if (repeats && (!k->rules->recompute || v->once)) return INFINITY;
  if (device < 0 || k->n_fill + k->n_open >= PLIM_SPACE_REFILLS) return INFINITY;
  double cost = plim_space_run_cost(k->problem, k->weights, node, device);
  k->n_open++;
  for (int32_t i = 0; i < v->n_preds && cost < most; i++) {
    int32_t j = v->pred[i];
    if (k->seen[j] == k->mark) continue;
    if (stays(k, plim_space_sequence_find(k->sequence, j, k->space, u), u)) continue;
    int32_t link = find_reload(k, j, k->space, u);
    if (link >= 0 && k->n_fill < PLIM_SPACE_REFILLS) {
      k->seen[j] = k->mark;
      cost += plim_space_copy_cost(k->problem, k->weights, j, link);
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

/* What a decision relieves: its bytes, as far as they are short, over the items from `from` to `to` that are. */
static double relief(const cover *k, int32_t filler, int32_t from, int32_t to) {
  int64_t bytes = k->problem->node[k->sequence->item[filler].node].bytes;
  int64_t excess = plim_space_live(k->sequence, k->space)[k->at] - k->rules->budget[k->space];
  int64_t items = k->short_before[to] - k->short_before[from];
  return power((double)(bytes < excess ? bytes : excess), k->weights->by_bytes) *
         power((double)items, k->weights->by_time);
}

static int is_better(cover *k, double cost, double relieved, double *score) {
  double noise = k->weights->noise > 0 ? exp(k->weights->noise * (plim_random_unit(k->random) - 0.5)) : 1;
  *score = (cost > 0 ? cost : 0) / relieved * noise;
  if (cost <= 0) *score = -relieved * noise; /* for nothing: the more the better */
  return *score < k->best;
}

static double item_cost(const cover *k, const plim_space_event *item) {
  return item->kind == PLIM_SPACE_RUN ? plim_space_run_cost(k->problem, k->weights, item->node, item->at)
                                      : plim_space_copy_cost(k->problem, k->weights, item->node, item->at);
}

static void weigh_recompute(cover *k, int32_t filler, double relieved, double credit) {
  int32_t u = k->next[filler];
  double score, most = k->best >= 0 ? k->best * relieved * exp(k->weights->noise / 2) + credit : credit + 1e-300;
  /* its run moves: nothing reads it before */
  k->moves = k->sequence->item[filler].kind == PLIM_SPACE_RUN && k->previous[filler] == filler && !k->weights->stay;
  k->mark++;
  k->n_fill = k->n_open = 0;
  k->extended = 0;
  double cost = refill(k, k->sequence->item[filler].node, u, most);
  if (isinf(cost)) return;
  double whole = (double)k->problem->node[k->sequence->item[filler].node].bytes;
  relieved *= (whole - (double)k->extended) / whole;
  if (!is_better(k, cost - credit, relieved, &score)) return;
  k->best = score;
  memcpy(k->chosen, k->fill, (size_t)k->n_fill * sizeof *k->fill);
  k->n_chosen = k->n_fill;
  k->chosen_at = u;
  k->out_at = -1;
}

static double run_ns(const cover *k, int32_t e) {
  const plim_space_event *v = &k->sequence->item[e];
  return v->kind == PLIM_SPACE_RUN ? (double)plim_space_run_ns(k->problem, v->node, v->at) : 0;
}

/* The item from `from` on, `at` at the latest, before which runs hide the share of a copy out. */
static int32_t leave_at(const cover *k, int32_t from, int64_t copy_ns) {
  double left = k->weights->beside * (double)copy_ns;
  while (left > 0 && from < k->at) left -= run_ns(k, from++);
  return from;
}

/* The item up to `to`, after `at`, from which on runs hide the share of a copy in. */
static int32_t return_at(const cover *k, int32_t to, int64_t copy_ns) {
  double left = k->weights->beside * (double)copy_ns;
  while (left > 0 && to > k->at + 1) left -= run_ns(k, --to);
  return to;
}

/* Out along link l and in along its opposite; or in alone where the other space has it. */
static void weigh_page(cover *k, int32_t filler, int32_t l, double credit) {
  const plim_platform *platform = k->problem->platform;
  const plim_space_sequence *s = k->sequence;
  int32_t node = s->item[filler].node, u = k->next[filler], there = platform->link[l].to,
          from = k->previous[filler] + 1;
  int32_t back = plim_platform_find_link(platform, there, k->space), out_at = -1;
  double score, cost;
  if (!plim_space_copy_allowed(k->problem, k->rules, node, l) || back < 0 ||
      !plim_space_copy_allowed(k->problem, k->rules, node, back))
    return;
  int32_t stored = plim_space_sequence_find(s, node, there, u);
  cost = plim_space_copy_cost(k->problem, k->weights, node, back);
  int from_there = s->item[filler].kind == PLIM_SPACE_COPY && s->item[filler].at == back;
  if (!from_there) credit = 0;
  u = return_at(k, u, plim_space_copy_ns(k->problem, node, back));
  if (stored < 0 || !stays(k, stored, u)) {
    out_at = from = leave_at(k, from, plim_space_copy_ns(k->problem, node, l));
    cost += plim_space_copy_cost(k->problem, k->weights, node, l);
    if (!plim_space_sequence_fits(s, there, out_at, u, k->problem->node[node].bytes, k->rules->budget[there])) return;
  }
  if (!is_better(k, cost - credit, relief(k, filler, from, u), &score)) return;
  k->best = score;
  k->chosen[0] = (plim_space_event){PLIM_SPACE_COPY, node, back};
  k->n_chosen = 1;
  k->chosen_at = u;
  k->out_at = out_at;
  k->out = (plim_space_event){PLIM_SPACE_COPY, node, l};
}

static void weigh(cover *k, int32_t filler) {
  const plim_platform *platform = k->problem->platform;
  double relieved = relief(k, filler, k->previous[filler] + 1, k->next[filler]);
  /* nothing read it before the gap: its filler is no longer needed */
  double credit = k->previous[filler] == filler ? item_cost(k, &k->sequence->item[filler]) : 0;
  if (k->weights->stay && k->sequence->item[filler].kind == PLIM_SPACE_RUN) credit = 0;
  if (!(relieved > 0)) return;
  k->going = filler;
  k->extended = 0;
  for (int32_t l = 0; l < platform->n_links; l++) {
    if (platform->link[l].from == k->space) weigh_page(k, filler, l, credit);
  }
  weigh_recompute(k, filler, relieved, credit);
}

/* ---- one step ---- */

static int find_short(cover *k) {
  const plim_space_sequence *s = k->sequence;
  double worst = 0;
  k->at = -1;
  for (int32_t space = 0; space < k->problem->platform->n_spaces; space++) {
    const int64_t *live = plim_space_live(s, space);
    int64_t budget = k->rules->budget[space];
    if (budget == INT64_MAX) continue;
    for (int32_t e = 0; e < s->n; e++) {
      double share = (double)(live[e] - budget) / (double)(budget > 0 ? budget : 1);
      if (live[e] <= budget || share <= worst) continue;
      if (k->weights->first && k->at >= 0 && e >= k->at) break;
      worst = k->weights->first ? 0 : share;
      k->at = e;
      k->space = space;
      if (k->weights->first) break;
    }
  }
  return k->at >= 0;
}

static void count_short(cover *k) {
  const int64_t *live = plim_space_live(k->sequence, k->space);
  k->short_before[0] = 0;
  for (int32_t e = 0; e < k->sequence->n; e++) {
    k->short_before[e + 1] = k->short_before[e] + (live[e] > k->rules->budget[k->space]);
  }
}

/* The touches of every buffer that is alive at the item. */
static void find_touches(cover *k) {
  const plim_space_sequence *s = k->sequence;
  for (int32_t e = 0; e < s->n; e++) {
    int there = e < k->at && s->last[e] > k->at && plim_space_item_space(k->problem, &s->item[e]) == k->space;
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
  plim_context *ctx = k->problem->ctx;
  if (k->sequence->n < k->room) return PLIM_OK;
  plim_release(ctx, k->previous, k->room, sizeof *k->previous);
  plim_release(ctx, k->next, k->room, sizeof *k->next);
  plim_release(ctx, k->short_before, k->room + 1, sizeof *k->short_before);
  k->previous = k->next = NULL;
  k->short_before = NULL;
  k->room = 2 * (int64_t)k->sequence->n + 1;
  PLIM_TRY(plim_allocate(ctx, k->room, sizeof *k->previous, &k->previous));
  PLIM_TRY(plim_allocate(ctx, k->room, sizeof *k->next, &k->next));
  return plim_allocate(ctx, k->room + 1, sizeof *k->short_before, &k->short_before);
}

/* Insert what was chosen. What is copied out comes first, so that the copy in finds it. */
static plim_status decide(cover *k) {
  int32_t out = k->out_at >= 0, there = 0, done = 0;
  if (out) PLIM_TRY(plim_space_sequence_extend(k->sequence, k->out_at, 1, &k->out, &there));
  if (there || !out)
    PLIM_TRY(plim_space_sequence_extend(k->sequence, k->chosen_at + out, k->n_chosen, k->chosen, &done));
  int used = !out || (there && k->sequence->valid &&
                      k->sequence->last[k->out_at] > k->out_at); /* no later copy out is nearer */
  if (done && used) plim_space_sequence_trim(k->sequence);
  if (done && k->sequence->valid && used) return PLIM_OK;
  if (!done) PLIM_TRY(plim_space_sequence_insert(k->sequence, k->chosen_at + there, k->n_chosen, k->chosen));
  if (out && !there) PLIM_TRY(plim_space_sequence_insert(k->sequence, k->out_at, 1, &k->out));
  return plim_space_sequence_analyse(k->sequence);
}

/* *done: 1 where nothing is short, -1 where nothing can go. */
static plim_status cover_once(cover *k, int32_t *done) {
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
    if (plim_effort_over(k->problem->ctx, tuning.cover.work_a_buffer)) return PLIM_OK;
  }
  if (k->n_chosen == 0) return PLIM_OK;
  *done = 0;
  return decide(k);
}

plim_status plim_space_cover(plim_space_sequence *s, const plim_space_rules *rules, const plim_space_weights *weights,
                             plim_random *random, int32_t *fits) {
  plim_context *ctx = s->problem->ctx;
  cover k = {.sequence = s, .problem = s->problem, .rules = rules, .weights = weights, .random = random};
  int32_t done = 0, n = s->problem->n;
  plim_status status;
  *fits = 0;
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *k.seen, &k.seen));
  PLIM_CHECK(plim_allocate(ctx, PLIM_SPACE_REFILLS + 1, sizeof *k.fill, &k.fill));
  PLIM_CHECK(plim_allocate(ctx, PLIM_SPACE_REFILLS + 1, sizeof *k.chosen, &k.chosen));
  PLIM_CHECK(s->valid ? PLIM_OK : plim_space_sequence_analyse(s));
  for (int64_t i = 0; s->valid && done == 0 && i < tuning.cover.steps_a_node * (int64_t)n + tuning.cover.steps_least;
       i++) {
    if (plim_effort_over(ctx, 10 * (int64_t)s->n)) break;
    PLIM_CHECK(cover_once(&k, &done));
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
