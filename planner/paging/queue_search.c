/* Searches for the fastest devices and order of a base plan's runs. A candidate is a device for each run of the base
 * plan; decoding it gives the copies (queue_decode.c). Starts: all runs on one device, each run where it ends first,
 * and an order and devices by list scheduling (queue_order.c), in which the search goes on where it is faster. Moves
 * put some neighbouring runs on another device. A candidate is weighed by a simulation of its list, in which no
 * command waits for bytes; what is better than the best plan by that is lowered, packed and simulated as a plan.
 * With one device the candidates differ in what is paged. */
#include <string.h>

#include "planner/paging/paging_internal.h"
#include "planner/paging/paging_tuning.h"
#include "runtime/base/effort.h"

typedef struct device_search {
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
  plim_random random;
  int64_t started_ns;
  plim_plan **best;
} device_search;

/* ---- weighing ---- */

/* When the last command of the list ends, if commands wait for what they read and write, and never for bytes. ended
 * [2][n_buffers] scratch. */
static int64_t simulate(const plim_command_list *list, int64_t *ended) {
  int64_t free_ns[PLIM_PLAN_QUEUES] = {0}, *written = ended, *touched = ended + list->n_buffers, last_ns = 0;
  memset(ended, 0, 2 * (size_t)list->n_buffers * sizeof *ended);
  for (int32_t u = 0, c = 0; c < list->n; c++) {
    int32_t first = u;
    int64_t begin_ns = free_ns[list->command[c].queue];
    for (; u < list->n_uses && list->use[u].command == c; u++) {
      int64_t ns = list->use[u].writes ? touched[list->use[u].buffer] : written[list->use[u].buffer];
      if (ns > begin_ns) begin_ns = ns;
    }
    int64_t end_ns = plim_add_checked(begin_ns, list->time_ns[c]);
    if (end_ns < 0) return INT64_MAX;
    for (int32_t i = first; i < u; i++) {
      int32_t b = list->use[i].buffer;
      if (end_ns > touched[b]) touched[b] = end_ns;
      if (list->use[i].writes) written[b] = end_ns;
    }
    free_ns[list->command[c].queue] = end_ns;
    if (end_ns > last_ns) last_ns = end_ns;
  }
  return last_ns;
}

/* What copies to and from the page space take from runs, if all of them run beside runs. */
static int64_t delay_of(const device_search *search, const plim_command_list *list) {
  double copies_ns = 0;
  for (int32_t c = 0; c < list->n; c++) {
    const plim_command *s = &list->command[c];
    if (s->kind != PLIM_COMMAND_COPY || (search->spaces.computes[s->from] && search->spaces.computes[s->to])) continue;
    copies_ns += (double)list->time_ns[c];
  }
  double delay_ns = search->paging->delay_share * copies_ns;
  return delay_ns < 0x1p61 ? (int64_t)delay_ns : INT64_C(1) << 61;
}

/* Set *out to the simulated time of the list and what copies delay; INT64_MAX: the list does not fit. */
static plim_status weigh(const device_search *search, const plim_command_list *list, int32_t fits, int64_t *out) {
  int64_t *ended = NULL;
  *out = INT64_MAX;
  if (!fits) return PLIM_OK;
  PLIM_TRY(plim_allocate(search->ctx, 2 * (int64_t)list->n_buffers, sizeof *ended, &ended));
  int64_t cost_ns = plim_add_checked(simulate(list, ended), delay_of(search, list));
  if (cost_ns >= 0) *out = cost_ns;
  plim_release(search->ctx, ended, 2 * (int64_t)list->n_buffers, sizeof *ended);
  return PLIM_OK;
}

static plim_status decode(device_search *search, const int32_t *space, double share, double noise,
                          plim_command_list *list, int64_t *time_ns) {
  plim_queue_spaces tight = search->spaces;
  int32_t fits;
  for (int32_t s = 0; s < tight.n; s++) {
    if (tight.budget_bytes[s] < INT64_MAX) tight.budget_bytes[s] = (int64_t)((double)tight.budget_bytes[s] * share);
  }
  *list = (plim_command_list){.ctx = search->ctx, .graph = search->graph};
  PLIM_TRY(plim_queue_decode(&search->runs, &tight, space, noise, &search->random, list, &fits));
  return weigh(search, list, fits, time_ns);
}

/* Make the plan of a candidate's list, and keep it where it is better. */
static plim_status lower_candidate(const device_search *search, plim_command_list *list, int32_t *fits) {
  const plim_lowering lowering = {.paging = search->paging,
                                  .spaces = &search->spaces,
                                  .base = search->runs.plan,
                                  .planner = search->runs.plan->planner,
                                  .suffix = search->paging->n_devices > 0 ? "placed" : "paged",
                                  .keep_all_ns = search->keep_all_ns,
                                  .bound_ns = search->bound_ns,
                                  .n_shares = PLIM_QUEUE_SPREADS,
                                  .share = paging_tuning.queue.share,
                                  .compares = search->paging->n_devices > 0};
  plim_plan *plan = NULL;
  PLIM_TRY(plim_lower(&lowering, list, fits, &plan));
  plim_paging_keep_better(search->paging, search->best, plan);
  return PLIM_OK;
}

static void report(const device_search *search) {
  double bound = search->keep_all_ns > 0 ? 100 * ((double)search->bound_ns / (double)search->keep_all_ns - 1) : 0;
  const plim_progress progress = {.stage = "copies",
                                  .total = -1,
                                  .elapsed_ns = plim_now_ns() - search->started_ns,
                                  .best_percent = *search->best ? plim_plan_overhead_percent(*search->best) : -1,
                                  .bound_percent = bound > 0 ? bound : 0};
  plim_context_report(search->ctx, &progress);
}

/* A plan that is no faster may take less energy. */
static int may_be_better(const device_search *search, int64_t time_ns) {
  return !*search->best || search->paging->powers || time_ns < (*search->best)->time_ns;
}

/* Decode and lower a candidate. Where packing fails, the decoder gets less room, and both are tried again.
 *   time_ns  [1] out  of the list that was decoded first; INT64_MAX: it does not fit */
static plim_status try_candidate(device_search *search, const int32_t *space, double noise, int64_t *time_ns) {
  int32_t fits = 0;
  report(search);
  for (int32_t i = 0; i < paging_tuning.queue.tightenings && !fits; i++) {
    plim_command_list list;
    int64_t now_ns = INT64_MAX;
    plim_status status = decode(search, space, 1 - paging_tuning.queue.tighter * i, noise, &list, &now_ns);
    if (i == 0) *time_ns = now_ns;
    if (status == PLIM_OK && now_ns < INT64_MAX && may_be_better(search, now_ns)) {
      status = lower_candidate(search, &list, &fits);
    } else {
      fits = 1;
    }
    plim_command_list_free(&list);
    PLIM_TRY(status);
    if (plim_effort_over(search->ctx, PLIM_EFFORT_LOOK)) return PLIM_OK;
  }
  return PLIM_OK;
}

/* ---- starts ---- */

static void set_fixed(const device_search *search) {
  for (int32_t r = 0; r < search->runs.n; r++)
    search->fixed[r] = search->graph->op[search->runs.plan->command[r].op].n_updates > 0;
}

/* The runs become those of a plan; search->space is not changed. */
static plim_status set_runs(device_search *search, const plim_plan *plan) {
  plim_queue_runs runs;
  PLIM_TRY(plim_queue_runs_make(search->graph, plan, &runs));
  plim_queue_runs_free(&search->runs);
  search->runs = runs;
  set_fixed(search);
  return PLIM_OK;
}

/* Take the order and the devices of list scheduling, where they are faster than *time_ns. */
static plim_status try_order(device_search *search, int64_t *time_ns) {
  const plim_plan *base = search->runs.plan;
  int32_t n = search->runs.n, *order = NULL, *space = NULL;
  int64_t now_ns = INT64_MAX;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(search->ctx, n, sizeof *order, &order));
  PLIM_TRY_OR_DONE(plim_allocate(search->ctx, n, sizeof *space, &space));
  PLIM_TRY_OR_DONE(plim_queue_order(&search->runs, &search->spaces, search->fixed, order, space));
  search->ordered = *base;
  search->ordered.command = search->command;
  for (int32_t i = 0; i < n; i++) {
    search->command[i] = base->command[order[i]];
    search->next[i] = space[order[i]];
  }
  PLIM_TRY_OR_DONE(set_runs(search, &search->ordered));
  status = try_candidate(search, search->next, 0, &now_ns);
  if (status == PLIM_OK && now_ns < *time_ns) {
    *time_ns = now_ns;
    memcpy(search->space, search->next, (size_t)n * sizeof *search->space);
  } else if (status == PLIM_OK || status == PLIM_ECANCEL) { /* the base order holds */
    plim_status restored = set_runs(search, base);
    if (restored != PLIM_OK) status = restored;
  }
done:
  if (status == PLIM_ECANCEL && !plim_context_cancelled(search->ctx)) status = PLIM_OK; /* out of time */
  plim_release(search->ctx, order, n, sizeof *order);
  plim_release(search->ctx, space, n, sizeof *space);
  return status;
}

/* The runs on one device, paging what is drawn. */
static plim_status try_draws(device_search *search) {
  const int32_t draws = search->runs.n <= paging_tuning.queue.many_runs ? paging_tuning.queue.draws : 0;
  for (int32_t i = 0; i < draws; i++) {
    int64_t time_ns = INT64_MAX;
    PLIM_TRY(try_candidate(search, search->space, paging_tuning.queue.noise * (i + 1), &time_ns));
    if (plim_effort_over(search->ctx, PLIM_EFFORT_LOOK)) break;
  }
  return PLIM_OK;
}

/* *time_ns out: that of search->space. */
static plim_status try_starts(device_search *search, int64_t *time_ns) {
  int64_t first_device_ns = INT64_MAX, by_end_ns = INT64_MAX;
  const int may_order =
      search->options->order != PLIM_ORDER_FIXED && search->runs.n <= paging_tuning.queue.ordered_runs;
  memset(search->space, 0, (size_t)search->runs.n * sizeof *search->space);
  PLIM_TRY(try_candidate(search, search->space, 0, &first_device_ns));
  *time_ns = first_device_ns;
  if (search->paging->n_devices == 0) return try_draws(search);
  PLIM_TRY(plim_queue_place(&search->runs, &search->spaces, search->fixed, search->space));
  PLIM_TRY(try_candidate(search, search->space, 0, &by_end_ns));
  if (by_end_ns < first_device_ns) {
    *time_ns = by_end_ns;
  } else {
    memset(search->space, 0, (size_t)search->runs.n * sizeof *search->space);
  }
  return may_order ? try_order(search, time_ns) : PLIM_OK;
}

/* ---- rounds ---- */

/* Another device for a run or a few neighbours. Spaces 0 to n_devices compute. */
static void change_devices(device_search *search) {
  const int32_t others = search->paging->n_devices;
  const int is_narrow = plim_random_percent(&search->random, paging_tuning.queue.narrow_percent);
  const int32_t window = is_narrow ? paging_tuning.queue.narrow_window : paging_tuning.queue.window;
  const int32_t width = 1 + plim_random_below(&search->random, window);
  int32_t from = plim_random_below(&search->random, search->runs.n),
          to = plim_random_below(&search->random, others + 1);
  memcpy(search->next, search->space, (size_t)search->runs.n * sizeof *search->space);
  if (width == 1) to = (search->space[from] + 1 + to % others) % (others + 1);
  for (int32_t r = from; r < from + width && r < search->runs.n; r++) {
    if (!search->fixed[r]) search->next[r] = to;
  }
}

static plim_status search_rounds(device_search *search, int64_t time_ns) {
  int64_t rounds = paging_tuning.queue.round_work / (search->runs.n + 1) + 1;
  if (rounds > paging_tuning.queue.rounds_max) rounds = paging_tuning.queue.rounds_max;
  if (search->options->iterations > 0 && rounds > search->options->iterations) rounds = search->options->iterations;
  for (int64_t round = 0; round < rounds && !plim_effort_over(search->ctx, PLIM_EFFORT_LOOK); round++) {
    plim_command_list list;
    int64_t now_ns = INT64_MAX;
    if (!may_be_better(search, search->bound_ns)) break;
    change_devices(search);
    plim_status status = decode(search, search->next, 1, 0, &list, &now_ns);
    plim_command_list_free(&list);
    PLIM_TRY(status);
    double slack = paging_tuning.queue.slack * plim_random_unit(&search->random) * (1 - (double)round / (double)rounds);
    if (now_ns == INT64_MAX || (time_ns < INT64_MAX && (double)now_ns > (double)time_ns * (1 + slack))) continue;
    int better = now_ns < time_ns;
    time_ns = now_ns;
    int32_t *space = search->space;
    search->space = search->next;
    search->next = space;
    if (better) PLIM_TRY(try_candidate(search, search->space, 0, &now_ns));
  }
  return PLIM_OK;
}

static plim_status search_devices(device_search *search, const plim_profile *profile) {
  int64_t time_ns = INT64_MAX;
  plim_queue_spaces_make(search->options, &search->spaces);
  PLIM_TRY(plim_queue_bound(search->graph, profile, search->paging, search->keep_all_ns, &search->bound_ns));
  set_fixed(search);
  PLIM_TRY(try_starts(search, &time_ns));
  return search->paging->n_devices > 0 ? search_rounds(search, time_ns) : PLIM_OK;
}

plim_status plim_queue_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, const plim_plan *base, int64_t keep_all_ns,
                              plim_plan **best) {
  device_search search = {.ctx = ctx,
                          .graph = graph,
                          .options = options,
                          .paging = options->paging,
                          .keep_all_ns = keep_all_ns,
                          .random = {options->seed},
                          .started_ns = plim_now_ns(),
                          .best = best};
  int64_t n = base->n_commands;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_queue_runs_make(graph, base, &search.runs));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *search.space, &search.space));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *search.next, &search.next));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *search.fixed, &search.fixed));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *search.command, &search.command));
  PLIM_TRY_OR_DONE(search_devices(&search, profile));
done:
  plim_release(ctx, search.space, n, sizeof *search.space);
  plim_release(ctx, search.next, n, sizeof *search.next);
  plim_release(ctx, search.fixed, n, sizeof *search.fixed);
  plim_release(ctx, search.command, n, sizeof *search.command);
  plim_queue_runs_free(&search.runs);
  return status;
}
