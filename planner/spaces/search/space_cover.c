/* Greedy covering: makes a sequence fit by one decision after another.
 *
 * A decision is about the event that is most short of bytes. A buffer that is not touched there may leave, from its
 * touch before the event to its touch after it. Before the second touch it is paged in, or its node is recomputed, with
 * what that reads. Of all these decisions the one of the least cost by what it relieves is taken. Where nothing reads
 * the buffer before it leaves, its node is not recomputed: its first run moves to the second touch.
 *
 * Example: the budget is 10 bytes. The sequence is a, b(a), c(b), d(a, c). Outputs have 4 bytes, that of d has 2. At
 * c there are a, b and c: 12 bytes, 2 too many. b is touched at c. a is not: its touches are b and d. Two things can
 * be done. A second run of a before d takes 6 ns and relieves 2 bytes at 1 event: its score is 3. A copy out after b
 * and a copy in before d take 4 ns together and relieve the same: their score is 2. So the copies win: a, b, out(a),
 * c, in(a), d. If b did not read a, the first run of a would move to before d, which costs nothing.
 *
 * A copy holds its bytes in both spaces while it runs. Where runs are to hide it, the buffer leaves later by the time
 * of the copy out, and comes back earlier by the time of the copy in. What it relieves is counted between these. */
#include "planner/spaces/search/space_search_internal.h"

#include <math.h>
#include <string.h>

#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

/* ---- one decision ---- */

/* A buffer leaves: events bring it back, and a copy out may come before. */
typedef struct cover_decision {
  double score;            /* cost by what is relieved: the least is taken; INFINITY: there is no decision */
  plim_space_event *event; /* [n], n <= PLIM_SPACE_REFILLS + 1: what is inserted before event `at` */
  int32_t n, at;
  plim_space_event out; /* the copy out, inserted before event `out_at`; -1: there is none */
  int32_t out_at;
} cover_decision;

typedef struct cover_pass {
  plim_space_sequence *sequence;
  const plim_space_problem *problem;
  const plim_space_rules *rules;
  const plim_space_weights *weights;
  plim_random *random;
  int32_t at, space;        /* the event that is short of bytes */
  int32_t *previous, *next; /* [capacity] touches of a buffer around `at`; -1: it is touched there */
  int64_t *short_before;    /* [capacity + 1] events short of bytes in the space, before an event */
  int64_t capacity;         /* of the three */
  int32_t *seen, mark;      /* [nodes] refilled already in this decision: == mark */
  int32_t *device;          /* [n_spaces][nodes] the cheapest in the space; -1: none */
  double *run_cost;         /* [n_spaces][nodes] there */
  int32_t leaving;          /* the buffer that leaves in this decision */
  int32_t runs_later;       /* 1: its node runs later instead of twice, as nothing reads it before the gap */
  int64_t stayed_bytes;     /* bytes of those that stay for it across `at` */
  plim_space_event *fill;   /* [PLIM_SPACE_REFILLS + 1] of the decision being weighed */
  int32_t n_fill, n_open;   /* of them all, and runs that wait for what they read */
  cover_decision best;      /* of those weighed so far */
} cover_pass;

/* A buffer is named by the event that fills it. */
static int64_t bytes_of(const cover_pass *pass, int32_t filler) {
  return pass->problem->node[pass->sequence->event[filler].node].bytes;
}

/* Is buffer `filler` there at event u, or can it stay until then? Within the gap of the buffer that leaves, others may
 * stay in its place, as long as all of them are smaller. */
static int can_stay(cover_pass *pass, int32_t filler, int32_t u) {
  const plim_space_sequence *s = pass->sequence;
  if (filler < 0 || filler == pass->leaving) return 0;
  if (s->last[filler] >= u) return 1;
  int32_t space = plim_space_event_space(pass->problem, &s->event[filler]), from = s->last[filler] + 1, to = u;
  int64_t bytes = bytes_of(pass, filler);
  int crosses = space == pass->space && s->last[filler] < pass->at;
  if (crosses) {
    if (pass->stayed_bytes + bytes >= bytes_of(pass, pass->leaving)) return 0;
    if (to > pass->previous[pass->leaving] + 1) to = pass->previous[pass->leaving] + 1;
  }
  if (!plim_space_sequence_fits(s, space, from, to, bytes, pass->rules->budget[space])) return 0;
  if (crosses) pass->stayed_bytes += bytes;
  return 1;
}

/* The cheapest link that brings node to `space` before event u from where it still is; -1: none. */
static int32_t find_reload(cover_pass *pass, int32_t node, int32_t space, int32_t u) {
  const plim_platform *platform = pass->problem->platform;
  int32_t best = -1;
  for (int32_t l = 0; l < platform->n_links; l++) {
    if (platform->link[l].to != space || !plim_space_copy_allowed(pass->problem, pass->rules, node, l)) continue;
    if (best >= 0 && plim_space_copy_cost(pass->problem, pass->weights, node, l) >=
                         plim_space_copy_cost(pass->problem, pass->weights, node, best)) {
      continue;
    }
    int32_t filler = plim_space_sequence_find(pass->sequence, node, platform->link[l].from, u);
    if (filler >= 0 && can_stay(pass, filler, u)) best = l;
  }
  return best;
}

/* Add the run of `node` before event u to the decision, after what it reads that is not there. Returns the cost;
 * INFINITY: it is above max_cost, or there is no way. Runs that wait count as refills: this bounds the depth. */
static double refill(cover_pass *pass, int32_t node, int32_t u, double max_cost) {
  const plim_space_node *v = &pass->problem->node[node];
  const int64_t cell = (int64_t)pass->space * pass->problem->n + node;
  const int32_t device = pass->device[cell];
  int repeats = node != pass->sequence->event[pass->leaving].node || !pass->runs_later;
  pass->seen[node] = pass->mark;
  if (repeats && (!pass->rules->recompute || v->once)) return INFINITY;
  if (device < 0 || pass->n_fill + pass->n_open >= PLIM_SPACE_REFILLS) return INFINITY;
  double cost = pass->run_cost[cell];
  pass->n_open++;
  for (int32_t i = 0; i < v->n_preds && cost < max_cost; i++) {
    int32_t j = v->pred[i];
    if (pass->seen[j] == pass->mark) continue;
    if (can_stay(pass, plim_space_sequence_find(pass->sequence, j, pass->space, u), u)) continue;
    int32_t link = find_reload(pass, j, pass->space, u);
    if (link >= 0 && pass->n_fill < PLIM_SPACE_REFILLS) {
      pass->seen[j] = pass->mark;
      cost += plim_space_copy_cost(pass->problem, pass->weights, j, link);
      pass->fill[pass->n_fill++] = (plim_space_event){PLIM_SPACE_COPY, j, link};
    } else {
      cost += refill(pass, j, u, max_cost - cost);
    }
  }
  pass->n_open--;
  if (!(cost < max_cost) || pass->n_fill >= PLIM_SPACE_REFILLS) return INFINITY;
  pass->fill[pass->n_fill++] = (plim_space_event){PLIM_SPACE_RUN, node, device};
  return cost;
}

/* Exponents are 0, 0.5 and 1 nearly always, and pow is slow. */
static double power(double x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 0.5) return sqrt(x);
  return exponent == 0 ? 1 : pow(x, exponent);
}

/* What a decision relieves: its bytes, as far as they are short, over the events from `from` to `to` that are. */
static double relief(const cover_pass *pass, int32_t filler, int32_t from, int32_t to) {
  int64_t bytes = bytes_of(pass, filler);
  int64_t excess = plim_space_live(pass->sequence, pass->space)[pass->at] - pass->rules->budget[pass->space];
  int64_t events = pass->short_before[to] - pass->short_before[from];
  return power((double)(bytes < excess ? bytes : excess), pass->weights->by_bytes) *
         power((double)events, pass->weights->by_time);
}

static int is_better(cover_pass *pass, double cost, double relieved, double *score) {
  double noise = pass->weights->noise > 0 ? exp(pass->weights->noise * (plim_random_unit(pass->random) - 0.5)) : 1;
  *score = (cost > 0 ? cost : 0) / relieved * noise;
  if (cost <= 0) *score = -relieved * noise; /* for nothing: the more the better */
  return *score < pass->best.score;
}

static double event_cost(const cover_pass *pass, const plim_space_event *event) {
  return event->kind == PLIM_SPACE_RUN ? plim_space_run_cost(pass->problem, pass->weights, event->node, event->at)
                                       : plim_space_copy_cost(pass->problem, pass->weights, event->node, event->at);
}

static void weigh_recompute(cover_pass *pass, int32_t filler, double relieved, double credit) {
  int32_t u = pass->next[filler];
  double score, max_cost = pass->best.score >= 0 ? pass->best.score * relieved * exp(pass->weights->noise / 2) + credit
                                                 : credit + 1e-300;
  pass->runs_later =
      pass->sequence->event[filler].kind == PLIM_SPACE_RUN && pass->previous[filler] == filler && !pass->weights->stay;
  pass->mark++;
  pass->n_fill = pass->n_open = 0;
  pass->stayed_bytes = 0;
  double cost = refill(pass, pass->sequence->event[filler].node, u, max_cost);
  if (isinf(cost)) return;
  double whole = (double)bytes_of(pass, filler);
  relieved *= (whole - (double)pass->stayed_bytes) / whole;
  if (!is_better(pass, cost - credit, relieved, &score)) return;
  pass->best.score = score;
  memcpy(pass->best.event, pass->fill, (size_t)pass->n_fill * sizeof *pass->fill);
  pass->best.n = pass->n_fill;
  pass->best.at = u;
  pass->best.out_at = -1;
}

static double run_ns(const cover_pass *pass, int32_t e) {
  const plim_space_event *v = &pass->sequence->event[e];
  return v->kind == PLIM_SPACE_RUN ? (double)plim_space_run_ns(pass->problem, v->node, v->at) : 0;
}

/* The event from `from` on, `at` at the latest, before which runs hide the share of a copy out. */
static int32_t leave_at(const cover_pass *pass, int32_t from, int64_t copy_ns) {
  double left = pass->weights->hidden_share * (double)copy_ns;
  while (left > 0 && from < pass->at) left -= run_ns(pass, from++);
  return from;
}

/* The event up to `to`, after `at`, from which on runs hide the share of a copy in. */
static int32_t return_at(const cover_pass *pass, int32_t to, int64_t copy_ns) {
  double left = pass->weights->hidden_share * (double)copy_ns;
  while (left > 0 && to > pass->at + 1) left -= run_ns(pass, --to);
  return to;
}

/* Weigh a copy out along link l, unless the other space has the bytes, and a copy in along the opposite link. */
static void weigh_page(cover_pass *pass, int32_t filler, int32_t l, double credit) {
  const plim_platform *platform = pass->problem->platform;
  const plim_space_sequence *s = pass->sequence;
  const int32_t node = s->event[filler].node, there = platform->link[l].to;
  const int32_t back = plim_platform_find_link(platform, there, pass->space);
  int32_t u = pass->next[filler], from = pass->previous[filler] + 1, out_at = -1;
  double score, cost;
  if (!plim_space_copy_allowed(pass->problem, pass->rules, node, l) || back < 0 ||
      !plim_space_copy_allowed(pass->problem, pass->rules, node, back)) {
    return;
  }
  const int32_t stored = plim_space_sequence_find(s, node, there, u);
  cost = plim_space_copy_cost(pass->problem, pass->weights, node, back);
  const int came_from_there = s->event[filler].kind == PLIM_SPACE_COPY && s->event[filler].at == back;
  if (!came_from_there) credit = 0;
  u = return_at(pass, u, plim_space_copy_ns(pass->problem, node, back));
  if (stored < 0 || !can_stay(pass, stored, u)) {
    out_at = from = leave_at(pass, from, plim_space_copy_ns(pass->problem, node, l));
    cost += plim_space_copy_cost(pass->problem, pass->weights, node, l);
    if (!plim_space_sequence_fits(s, there, out_at, u, bytes_of(pass, filler), pass->rules->budget[there])) return;
  }
  if (!is_better(pass, cost - credit, relief(pass, filler, from, u), &score)) return;
  pass->best.score = score;
  pass->best.event[0] = (plim_space_event){PLIM_SPACE_COPY, node, back};
  pass->best.n = 1;
  pass->best.at = u;
  pass->best.out_at = out_at;
  pass->best.out = (plim_space_event){PLIM_SPACE_COPY, node, l};
}

static void weigh_decisions(cover_pass *pass, int32_t filler) {
  const plim_platform *platform = pass->problem->platform;
  double relieved = relief(pass, filler, pass->previous[filler] + 1, pass->next[filler]);
  /* nothing read it before the gap: its filler is no longer needed */
  double credit = pass->previous[filler] == filler ? event_cost(pass, &pass->sequence->event[filler]) : 0;
  if (pass->weights->stay && pass->sequence->event[filler].kind == PLIM_SPACE_RUN) credit = 0;
  if (!(relieved > 0)) return;
  pass->leaving = filler;
  pass->stayed_bytes = 0;
  for (int32_t l = 0; l < platform->n_links; l++) {
    if (platform->link[l].from == pass->space) weigh_page(pass, filler, l, credit);
  }
  weigh_recompute(pass, filler, relieved, credit);
}

/* ---- one step ---- */

/* Find where each node runs cheapest, once in a covering. */
static plim_status find_devices(cover_pass *pass) {
  const plim_space_problem *p = pass->problem;
  const int64_t cells = (int64_t)p->platform->n_spaces * p->n;
  PLIM_TRY(plim_allocate(p->ctx, cells, sizeof *pass->device, &pass->device));
  PLIM_TRY(plim_allocate(p->ctx, cells, sizeof *pass->run_cost, &pass->run_cost));
  for (int64_t i = 0; i < cells; i++) {
    const int32_t node = (int32_t)(i % p->n);
    pass->device[i] = plim_space_cheapest_device(p, pass->rules, pass->weights, node, (int32_t)(i / p->n));
    if (pass->device[i] >= 0) pass->run_cost[i] = plim_space_run_cost(p, pass->weights, node, pass->device[i]);
  }
  return PLIM_OK;
}

static int find_short(cover_pass *pass) {
  const plim_space_sequence *s = pass->sequence;
  double worst = 0;
  pass->at = -1;
  for (int32_t space = 0; space < pass->problem->platform->n_spaces; space++) {
    const int64_t *live = plim_space_live(s, space);
    int64_t budget = pass->rules->budget[space];
    if (budget == INT64_MAX) continue;
    for (int32_t e = -1; (e = plim_space_sequence_first_above(s, space, e + 1, budget)) < s->n;) {
      double share = (double)(live[e] - budget) / (double)(budget > 0 ? budget : 1);
      if (share <= worst) continue;
      if (pass->weights->first && pass->at >= 0 && e >= pass->at) break;
      worst = pass->weights->first ? 0 : share;
      pass->at = e;
      pass->space = space;
      if (pass->weights->first) break;
    }
  }
  return pass->at >= 0;
}

static void count_short(cover_pass *pass) {
  const int64_t *live = plim_space_live(pass->sequence, pass->space);
  pass->short_before[0] = 0;
  for (int32_t e = 0; e < pass->sequence->n; e++) {
    pass->short_before[e + 1] = pass->short_before[e] + (live[e] > pass->rules->budget[pass->space]);
  }
}

/* The touches of every buffer that is alive at the event. */
static void find_touches(cover_pass *pass) {
  const plim_space_sequence *s = pass->sequence;
  for (int32_t e = 0; e < s->n; e++) {
    int there =
        e < pass->at && s->last[e] > pass->at && plim_space_event_space(pass->problem, &s->event[e]) == pass->space;
    pass->previous[e] = there ? e : -1;
    pass->next[e] = -1;
  }
  for (int32_t e = 0; e < s->n; e++) {
    for (int32_t i = s->first_read[e]; i < s->first_read[e + 1]; i++) {
      int32_t filler = s->read[i];
      if (pass->previous[filler] < 0 || pass->next[filler] >= 0) continue;
      if (e < pass->at) pass->previous[filler] = e;
      if (e == pass->at) pass->previous[filler] = -1;
      if (e > pass->at) pass->next[filler] = e;
    }
  }
}

static plim_status reserve(cover_pass *pass) {
  plim_context *ctx = pass->problem->ctx;
  if (pass->sequence->n < pass->capacity) return PLIM_OK;
  plim_release(ctx, pass->previous, pass->capacity, sizeof *pass->previous);
  plim_release(ctx, pass->next, pass->capacity, sizeof *pass->next);
  plim_release(ctx, pass->short_before, pass->capacity + 1, sizeof *pass->short_before);
  pass->previous = pass->next = NULL;
  pass->short_before = NULL;
  pass->capacity = 2 * (int64_t)pass->sequence->n + 1;
  PLIM_TRY(plim_allocate(ctx, pass->capacity, sizeof *pass->previous, &pass->previous));
  PLIM_TRY(plim_allocate(ctx, pass->capacity, sizeof *pass->next, &pass->next));
  return plim_allocate(ctx, pass->capacity + 1, sizeof *pass->short_before, &pass->short_before);
}

/* Insert what was chosen. What is copied out comes first, so that the copy in finds it. Where the sequence cannot be
 * extended as it is, it is analysed anew. */
static plim_status decide(cover_pass *pass) {
  plim_space_sequence *s = pass->sequence;
  const int32_t pages_out = pass->best.out_at >= 0;
  int32_t has_out = 0, has_rest = 0;
  if (pages_out) PLIM_TRY(plim_space_sequence_extend(s, pass->best.out_at, 1, &pass->best.out, &has_out));
  if (has_out || !pages_out)
    PLIM_TRY(plim_space_sequence_extend(s, pass->best.at + pages_out, pass->best.n, pass->best.event, &has_rest));
  /* no later copy out is nearer */
  const int is_used = !pages_out || (has_out && s->valid && s->last[pass->best.out_at] > pass->best.out_at);
  if (has_rest && is_used) plim_space_sequence_trim(s);
  if (has_rest && is_used && s->valid) return PLIM_OK;
  if (!has_rest) PLIM_TRY(plim_space_sequence_insert(s, pass->best.at + has_out, pass->best.n, pass->best.event));
  if (pages_out && !has_out) PLIM_TRY(plim_space_sequence_insert(s, pass->best.out_at, 1, &pass->best.out));
  return plim_space_sequence_analyse(s);
}

typedef enum cover_state { COVERING, COVERED, STUCK /* nothing can go, or the time is over */ } cover_state;

static plim_status cover_once(cover_pass *pass, cover_state *state) {
  *state = COVERED;
  if (!find_short(pass)) return PLIM_OK;
  PLIM_TRY(reserve(pass));
  *state = STUCK;
  if (!pass->device) PLIM_TRY(find_devices(pass));
  count_short(pass);
  find_touches(pass);
  pass->best.score = INFINITY;
  pass->best.n = 0;
  for (int32_t e = 0; e < pass->at; e++) {
    if (pass->previous[e] < 0 || pass->next[e] <= pass->at) continue;
    weigh_decisions(pass, e);
    if (plim_effort_over(pass->problem->ctx, spaces_tuning.cover.work_a_buffer)) return PLIM_OK;
  }
  if (pass->best.n == 0) return PLIM_OK;
  *state = COVERING;
  return decide(pass);
}

static plim_status cover(cover_pass *pass, cover_state *state) {
  const int64_t steps = spaces_tuning.cover.steps_a_node * (int64_t)pass->problem->n + spaces_tuning.cover.steps_more;
  *state = COVERING;
  for (int64_t i = 0; pass->sequence->valid && *state == COVERING && i < steps; i++) {
    if (plim_effort_over(pass->problem->ctx, 10 * (int64_t)pass->sequence->n)) break;
    PLIM_TRY(cover_once(pass, state));
    if (i % spaces_tuning.cover.steps_a_report == 0) plim_space_report(pass->problem->ctx, pass->rules);
  }
  return PLIM_OK;
}

plim_status plim_space_cover(plim_space_sequence *s, const plim_space_rules *rules, const plim_space_weights *weights,
                             plim_random *random, int32_t *fits) {
  plim_context *ctx = s->problem->ctx;
  cover_pass pass = {.sequence = s, .problem = s->problem, .rules = rules, .weights = weights, .random = random};
  cover_state state = STUCK;
  int32_t n = s->problem->n;
  plim_status status;
  *fits = 0;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *pass.seen, &pass.seen));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, PLIM_SPACE_REFILLS + 1, sizeof *pass.fill, &pass.fill));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, PLIM_SPACE_REFILLS + 1, sizeof *pass.best.event, &pass.best.event));
  PLIM_TRY_OR_DONE(s->valid ? PLIM_OK : plim_space_sequence_analyse(s));
  PLIM_TRY_OR_DONE(cover(&pass, &state));
  *fits = state == COVERED;
done:
  plim_release(ctx, pass.seen, n, sizeof *pass.seen);
  plim_release(ctx, pass.device, (int64_t)n * s->problem->platform->n_spaces, sizeof *pass.device);
  plim_release(ctx, pass.run_cost, (int64_t)n * s->problem->platform->n_spaces, sizeof *pass.run_cost);
  plim_release(ctx, pass.fill, PLIM_SPACE_REFILLS + 1, sizeof *pass.fill);
  plim_release(ctx, pass.best.event, PLIM_SPACE_REFILLS + 1, sizeof *pass.best.event);
  plim_release(ctx, pass.previous, pass.capacity, sizeof *pass.previous);
  plim_release(ctx, pass.next, pass.capacity, sizeof *pass.next);
  plim_release(ctx, pass.short_before, pass.capacity + 1, sizeof *pass.short_before);
  return status;
}
