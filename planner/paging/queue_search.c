/* Searches for the fastest devices and order of a base plan's runs. A candidate is a device for each run of the base
 * plan; decoding it gives the copies (queue_decode.c). Starts: all runs on one device, each run where it ends first,
 * and an order and devices by list scheduling (queue_order.c), in which the search goes on where it is faster. Moves
 * put some neighbouring runs on another device. A candidate is weighed by a simulation of its list, in which no
 * command waits for bytes; what is better than the best plan by that is lowered, packed and simulated as a plan.
 * Without a second device the candidates differ in what is paged. */
#include <string.h>

#include "planner/paging/command_list.h"
#include "planner/paging/paging.h"
#include "planner/paging/paging_tuning.h"
#include "planner/paging/queue_search.h"
#include "runtime/base/effort.h"

typedef struct searching {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan_options *options;
  const plim_paging *paging;
  plim_queue_spaces spaces;
  plim_queue_runs runs;
  plim_plan ordered;     /* the base plan with its runs in another order */
  plim_command *command; /* [runs] of it */
  int64_t keep_all_ns, bound_ns;
  int32_t *space, *next; /* [runs] of the candidate in hand, and of the one tried */
  uint8_t *fixed;        /* [runs] 1: it updates, in space 0 */
  int64_t *ready_ns;     /* [spaces][n_storages] */
  plim_random random;
  int64_t started_ns;
  plim_plan **best;
} searching;

/* ---- weighing ---- */

/* When the last command of the list ends, if commands wait for what they read and write, and never for bytes. ended
 * [2][n_buffers] scratch. */
static int64_t simulate(const plim_command_list *l, int64_t *ended) {
  int64_t free_ns[PLIM_PLAN_QUEUES] = {0}, *written = ended, *touched = ended + l->n_buffers, last_ns = 0;
  memset(ended, 0, 2 * (size_t)l->n_buffers * sizeof *ended);
  for (int32_t u = 0, c = 0; c < l->n; c++) {
    int32_t first = u;
    int64_t begin_ns = free_ns[l->command[c].queue];
    for (; u < l->n_uses && l->use[u].command == c; u++) {
      int64_t ns = l->use[u].writes ? touched[l->use[u].buffer] : written[l->use[u].buffer];
      if (ns > begin_ns) begin_ns = ns;
    }
    int64_t end_ns = plim_add_checked(begin_ns, l->time_ns[c]);
    if (end_ns < 0) return INT64_MAX;
    for (int32_t i = first; i < u; i++) {
      int32_t b = l->use[i].buffer;
      if (end_ns > touched[b]) touched[b] = end_ns;
      if (l->use[i].writes) written[b] = end_ns;
    }
    free_ns[l->command[c].queue] = end_ns;
    if (end_ns > last_ns) last_ns = end_ns;
  }
  return last_ns;
}

/* What copies to and from the page space take from runs, if all of them run beside runs. */
static int64_t delay_of(const searching *k, const plim_command_list *l) {
  double copies_ns = 0;
  for (int32_t c = 0; c < l->n; c++) {
    const plim_command *s = &l->command[c];
    if (s->kind != PLIM_COMMAND_COPY || (k->spaces.computes[s->from] && k->spaces.computes[s->to])) continue;
    copies_ns += (double)l->time_ns[c];
  }
  double delay_ns = k->paging->delay_share * copies_ns;
  return delay_ns < 0x1p61 ? (int64_t)delay_ns : INT64_C(1) << 61;
}

/* *out: INT64_MAX where it does not fit. */
static plim_status weigh(const searching *k, const plim_command_list *l, int32_t fits, int64_t *out) {
  int64_t *ended = NULL;
  *out = INT64_MAX;
  if (!fits) return PLIM_OK;
  PLIM_TRY(plim_allocate(k->ctx, 2 * (int64_t)l->n_buffers, sizeof *ended, &ended));
  int64_t cost_ns = plim_add_checked(simulate(l, ended), delay_of(k, l));
  if (cost_ns >= 0) *out = cost_ns;
  plim_release(k->ctx, ended, 2 * (int64_t)l->n_buffers, sizeof *ended);
  return PLIM_OK;
}

static plim_status decode(searching *k, const int32_t *space, double share, double noise, plim_command_list *list,
                          int64_t *time_ns) {
  plim_queue_spaces tight = k->spaces;
  int32_t fits;
  for (int32_t s = 0; s < tight.n; s++) {
    if (tight.budget_bytes[s] < INT64_MAX) tight.budget_bytes[s] = (int64_t)((double)tight.budget_bytes[s] * share);
  }
  *list = (plim_command_list){.ctx = k->ctx, .graph = k->graph};
  PLIM_TRY(plim_queue_decode(&k->runs, &tight, space, noise, &k->random, list, &fits));
  return weigh(k, list, fits, time_ns);
}

/* The plan of a candidate, where it is faster than the best. */
static plim_status lower_candidate(const searching *k, plim_command_list *list, int *fits) {
  const plim_lowering lowering = {.paging = k->paging,
                                  .spaces = &k->spaces,
                                  .base = k->runs.plan,
                                  .name = k->runs.plan->planner,
                                  .how = k->paging->device ? "placed" : "paged",
                                  .keep_all_ns = k->keep_all_ns,
                                  .bound_ns = k->bound_ns,
                                  .n_shares = PLIM_QUEUE_SPREADS,
                                  .share = tuning.queue.share,
                                  .compares = k->paging->device != NULL};
  plim_plan *plan = NULL;
  PLIM_TRY(plim_lower(&lowering, list, fits, &plan));
  plim_paging_keep_better(k->paging, k->best, plan);
  return PLIM_OK;
}

static void report(const searching *k) {
  double bound = k->keep_all_ns > 0 ? 100 * ((double)k->bound_ns / (double)k->keep_all_ns - 1) : 0;
  const plim_progress progress = {.stage = "copies",
                                  .total = -1,
                                  .elapsed_ns = plim_now_ns() - k->started_ns,
                                  .best_percent = *k->best ? plim_plan_overhead_percent(*k->best) : -1,
                                  .bound_percent = bound > 0 ? bound : 0};
  plim_context_report(k->ctx, &progress);
}

/* A plan that is no faster may take less energy. */
static int may_be_better(const searching *k, int64_t time_ns) {
  return !*k->best || k->paging->powers || time_ns < (*k->best)->time_ns;
}

/* Lower a candidate, with less and less room for the decoder where packing fails. *time_ns: that of the decoded list,
 * INT64_MAX where it does not fit. */
static plim_status try_candidate(searching *k, const int32_t *space, double noise, int64_t *time_ns) {
  int fits = 0;
  report(k);
  for (int32_t i = 0; i < tuning.queue.tightenings && !fits; i++) {
    plim_command_list list;
    int64_t now_ns = INT64_MAX;
    plim_status status = decode(k, space, 1 - tuning.queue.tighter * i, noise, &list, &now_ns);
    if (i == 0) *time_ns = now_ns;
    if (status == PLIM_OK && now_ns < INT64_MAX && may_be_better(k, now_ns)) {
      status = lower_candidate(k, &list, &fits);
    } else {
      fits = 1;
    }
    plim_command_list_free(&list);
    PLIM_TRY(status);
    if (plim_effort_over(k->ctx, PLIM_EFFORT_LOOK)) return PLIM_OK;
  }
  return PLIM_OK;
}

/* ---- starts ---- */

static int64_t ready_at(const searching *k, int32_t storage, int32_t space) {
  int64_t least = k->ready_ns[(int64_t)space * k->graph->n_storages + storage];
  for (int32_t s = 0; s < k->spaces.n; s++) {
    int64_t there = k->ready_ns[(int64_t)s * k->graph->n_storages + storage];
    if (s == space || k->spaces.bytes_per_ns[s][space] <= 0 || there == INT64_MAX) continue;
    int64_t ns = there + plim_queue_copy_ns(&k->spaces, s, space, k->graph->storage[storage].bytes);
    if (ns < least) least = ns;
  }
  return least;
}

static int64_t begin_on(const searching *k, const plim_op *op, int32_t space, int64_t free_ns) {
  for (int32_t i = 0; i < op->n_reads; i++) {
    int64_t ns = ready_at(k, op->reads[i], space);
    if (ns > free_ns) free_ns = ns;
  }
  return free_ns;
}

static void set_ready(const searching *k, int32_t n, const int32_t *storage, int32_t space, int64_t ns) {
  for (int32_t i = 0; i < n; i++) {
    for (int32_t s = 0; s < k->spaces.n; s++) {
      k->ready_ns[(int64_t)s * k->graph->n_storages + storage[i]] = s == space ? ns : INT64_MAX;
    }
  }
}

/* Each run where it ends first, if copies never wait. */
static void place_by_end(searching *k) {
  int64_t free_ns[PLIM_PLAN_SPACES] = {0};
  int32_t storages = k->graph->n_storages;
  for (int64_t i = 0; i < (int64_t)storages * k->spaces.n; i++) k->ready_ns[i] = i < storages ? 0 : INT64_MAX;
  for (int32_t r = 0; r < k->runs.n; r++) {
    const plim_command *command = &k->runs.plan->command[r];
    const plim_op *op = &k->graph->op[command->op];
    int32_t to = 0;
    int64_t begin_ns = begin_on(k, op, 0, free_ns[0]);
    for (int32_t s = 1; s < k->spaces.n && !k->fixed[r]; s++) {
      if (!k->spaces.computes[s]) continue;
      int64_t ns = begin_on(k, op, s, free_ns[s]);
      if (ns >= begin_ns) continue;
      begin_ns = ns;
      to = s;
    }
    for (int32_t i = 0; i < op->n_reads; i++) {
      int64_t *ready = &k->ready_ns[(int64_t)to * storages + op->reads[i]], arrived = ready_at(k, op->reads[i], to);
      *ready = arrived;
    }
    free_ns[to] = begin_ns + k->runs.plan->variant[command->variant].variant.time_ns;
    set_ready(k, op->n_writes, op->writes, to, free_ns[to]);
    set_ready(k, op->n_updates, op->updates, to, free_ns[to]);
    k->space[r] = to;
  }
}

static void set_fixed(const searching *k) {
  for (int32_t r = 0; r < k->runs.n; r++) k->fixed[r] = k->graph->op[k->runs.plan->command[r].op].n_updates > 0;
}

/* The runs become those of a plan; k->space is not changed. */
static plim_status set_runs(searching *k, const plim_plan *plan) {
  plim_queue_runs runs;
  PLIM_TRY(plim_queue_runs_make(k->graph, plan, &runs));
  plim_queue_runs_free(&k->runs);
  k->runs = runs;
  set_fixed(k);
  return PLIM_OK;
}

/* Runs in the order of list scheduling, on its devices, where that is faster than *time_ns. */
static plim_status try_order(searching *k, int64_t *time_ns) {
  const plim_plan *base = k->runs.plan;
  int32_t n = k->runs.n, *order = NULL, *space = NULL;
  int64_t now_ns = INT64_MAX;
  plim_status status;
  PLIM_CHECK(plim_allocate(k->ctx, n, sizeof *order, &order));
  PLIM_CHECK(plim_allocate(k->ctx, n, sizeof *space, &space));
  PLIM_CHECK(plim_queue_order(&k->runs, &k->spaces, k->fixed, order, space));
  k->ordered = *base;
  k->ordered.command = k->command;
  for (int32_t i = 0; i < n; i++) {
    k->command[i] = base->command[order[i]];
    k->next[i] = space[order[i]];
  }
  PLIM_CHECK(set_runs(k, &k->ordered));
  status = try_candidate(k, k->next, 0, &now_ns);
  if (status == PLIM_OK && now_ns < *time_ns) {
    *time_ns = now_ns;
    memcpy(k->space, k->next, (size_t)n * sizeof *k->space);
  } else if (status == PLIM_OK || status == PLIM_ECANCEL) { /* the base order holds */
    plim_status restored = set_runs(k, base);
    if (restored != PLIM_OK) status = restored;
  }
done:
  if (status == PLIM_ECANCEL && !plim_context_cancelled(k->ctx)) status = PLIM_OK; /* out of time */
  plim_release(k->ctx, order, n, sizeof *order);
  plim_release(k->ctx, space, n, sizeof *space);
  return status;
}

static plim_status try_starts(searching *k, int64_t *time_ns) {
  int64_t one_ns = INT64_MAX, two_ns = INT64_MAX;
  memset(k->space, 0, (size_t)k->runs.n * sizeof *k->space);
  PLIM_TRY(try_candidate(k, k->space, 0, &one_ns));
  *time_ns = one_ns;
  int32_t draws = k->runs.n <= tuning.queue.many_runs ? tuning.queue.draws : 0;
  for (int32_t i = 0; i < draws && !k->paging->device; i++) {
    int64_t now_ns = INT64_MAX;
    PLIM_TRY(try_candidate(k, k->space, tuning.queue.noise * (i + 1), &now_ns));
    if (plim_effort_over(k->ctx, PLIM_EFFORT_LOOK)) return PLIM_OK;
  }
  if (!k->paging->device) return PLIM_OK;
  place_by_end(k);
  PLIM_TRY(try_candidate(k, k->space, 0, &two_ns));
  if (two_ns < one_ns) *time_ns = two_ns;
  if (two_ns >= one_ns) memset(k->space, 0, (size_t)k->runs.n * sizeof *k->space);
  int ordered = k->options->order != PLIM_ORDER_FIXED && k->runs.n <= tuning.queue.ordered_runs;
  return ordered ? try_order(k, time_ns) : PLIM_OK;
}

/* ---- rounds ---- */

static void change(searching *k) {
  int32_t width = 1 + plim_random_below(&k->random, plim_random_percent(&k->random, 50) ? 2 : tuning.queue.window);
  int32_t from = plim_random_below(&k->random, k->runs.n), to = plim_random_below(&k->random, 2);
  memcpy(k->next, k->space, (size_t)k->runs.n * sizeof *k->space);
  if (width == 1) to = !k->space[from];
  for (int32_t r = from; r < from + width && r < k->runs.n; r++) {
    if (!k->fixed[r]) k->next[r] = to;
  }
}

/* Space 1 is the second device. */
static plim_status search_rounds(searching *k, int64_t time_ns) {
  int64_t rounds = tuning.queue.round_work / (k->runs.n + 1) + 1;
  if (rounds > tuning.queue.most_rounds) rounds = tuning.queue.most_rounds;
  if (k->options->iterations > 0 && rounds > k->options->iterations) rounds = k->options->iterations;
  for (int64_t round = 0; round < rounds && !plim_effort_over(k->ctx, PLIM_EFFORT_LOOK); round++) {
    plim_command_list list;
    int64_t now_ns = INT64_MAX;
    if (!may_be_better(k, k->bound_ns)) break;
    change(k);
    plim_status status = decode(k, k->next, 1, 0, &list, &now_ns);
    plim_command_list_free(&list);
    PLIM_TRY(status);
    double slack = tuning.queue.slack * plim_random_unit(&k->random) * (1 - (double)round / (double)rounds);
    if (now_ns == INT64_MAX || (time_ns < INT64_MAX && (double)now_ns > (double)time_ns * (1 + slack))) continue;
    int better = now_ns < time_ns;
    time_ns = now_ns;
    int32_t *space = k->space;
    k->space = k->next;
    k->next = space;
    if (better) PLIM_TRY(try_candidate(k, k->space, 0, &now_ns));
  }
  return PLIM_OK;
}

static plim_status search_devices(searching *k, const plim_profile *profile) {
  int64_t time_ns = INT64_MAX;
  plim_queue_spaces_make(k->options, &k->spaces);
  PLIM_TRY(plim_queue_bound(k->graph, profile, k->paging, k->keep_all_ns, &k->bound_ns));
  set_fixed(k);
  PLIM_TRY(try_starts(k, &time_ns));
  return k->paging->device ? search_rounds(k, time_ns) : PLIM_OK;
}

plim_status plim_queue_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, const plim_plan *base, int64_t keep_all_ns,
                              plim_plan **best) {
  searching k = {.ctx = ctx,
                 .graph = graph,
                 .options = options,
                 .paging = options->paging,
                 .keep_all_ns = keep_all_ns,
                 .random = {options->seed},
                 .started_ns = plim_now_ns(),
                 .best = best};
  int64_t cells = (int64_t)graph->n_storages * PLIM_PLAN_SPACES, n = base->n_commands;
  plim_status status;
  PLIM_CHECK(plim_queue_runs_make(graph, base, &k.runs));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *k.space, &k.space));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *k.next, &k.next));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *k.fixed, &k.fixed));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *k.command, &k.command));
  PLIM_CHECK(plim_allocate(ctx, cells, sizeof *k.ready_ns, &k.ready_ns));
  PLIM_CHECK(search_devices(&k, profile));
done:
  plim_release(ctx, k.space, n, sizeof *k.space);
  plim_release(ctx, k.next, n, sizeof *k.next);
  plim_release(ctx, k.fixed, n, sizeof *k.fixed);
  plim_release(ctx, k.command, n, sizeof *k.command);
  plim_release(ctx, k.ready_ns, cells, sizeof *k.ready_ns);
  plim_queue_runs_free(&k.runs);
  return status;
}
