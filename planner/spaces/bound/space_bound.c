/* The cut model with rows for links, energy and deadline, relaxed by multipliers.
 *
 * H are the spaces where devices compute. Look at the moment when node v runs for the first time. All its ancestors
 * have run, and none of its descendants. H has v's output, v's inputs and v's workspace.
 * A node u is *needed* at v if it is an ancestor of v, no input of v, and some reader of u descends from v. Either H
 * has u's output at that moment, or the output is brought to H later, before that reader. There are two ways to bring
 * it: another run of u, or a copy into H, after an earlier copy out of H.
 * So each v gives a row: of the needed nodes, at least the bytes that exceed the budgets of H are brought.
 *
 * Example: H is one space of 10 bytes. a feeds b and d, b feeds c, and c feeds d. Outputs have 4 bytes, that of d has
 * 2. At c, H has c and its input b. a is needed, as d reads it. All three have 12 bytes, so the row asks for 2 bytes,
 * and a is the only node that can give them: a is brought at least once. A run of a takes 6 ns, a copy out 2 ns and a
 * copy in 2 ns. With a multiplier m >= 0 of the row the bound is the time of all first runs + m - max(0, m - 4). With
 * m = 4 that is the first runs and 4 ns, which is what the cheaper way takes.
 *
 * Gaps: two readers of u of which one descends from the other have a gap between them, and what is brought in a gap
 * counts for that gap alone. A row whose v lies in one gap asks for bytes of that gap, any other row for bytes of all
 * gaps of u. A copy out of H counts once for each node.
 *
 * Further rows: each queue takes no more time than the makespan, and the makespan no more than the deadline. With
 * multipliers for all rows the rest falls apart into a choice for each node, and any multipliers prove a bound. The
 * latency of a copy is left out, as several storages may share it. The programs are Shah et al.'s and Patil et al.'s;
 * the counting is ours.
 *
 * The bound is the better of that and of what placement costs (space_bound_placement.c). */
#include "planner/spaces/bound/space_bound.h"
#include "planner/spaces/problem/space_problem.h"
#include "planner/spaces/spaces_tuning.h"

#include <math.h>
#include <string.h>

#include "runtime/base/effort.h"

enum { WORD = 64 };

typedef struct entry {
  int32_t node, gap; /* gap -1: any */
} entry;

typedef struct bound_state {
  const plim_space_problem *problem;
  const plim_space_search_options *options;
  int32_t n, n_words, devices, n_queues, n_gaps, n_rows;
  uint64_t *ancestors;  /* [n][n_words] */
  uint8_t *home;        /* [n_spaces] devices that may be used compute there */
  int32_t *link_queue;  /* [n_links] -1: brings nothing into or out of H */
  int32_t *first_gap;   /* [n + 1] */
  int64_t home_bytes;   /* of all budgets of H; INT64_MAX: no rows */
  int32_t *cut;         /* [PLIM_SPACE_BOUND_ROWS] nodes */
  int64_t *demand;      /* [PLIM_SPACE_BOUND_ROWS] */
  int32_t *first_entry; /* [PLIM_SPACE_BOUND_ROWS + 1] */
  entry *entry;
  int64_t n_entries;
  double whole, whole_ns; /* scales of objective and time */
  double time_cost;       /* of the makespan in the objective, a nanosecond */
  double *multiplier;     /* [n_rows + n_queues] scaled */
  double *slope, *best;   /* the same size */
  double *worth;          /* [n_gaps] of bringing a node in a gap */
  double *any;            /* [n] in any gap */
  uint8_t *brought;       /* [n_gaps] */
  double *load;           /* [n_queues] ns */
} bound_state;

static int is_ancestor(const bound_state *state, int32_t u, int32_t v) {
  return (int)(state->ancestors[(int64_t)v * state->n_words + u / WORD] >> (u % WORD) & 1);
}

/* ---- cuts ---- */

/* 0: the time was over. */
static int find_ancestors(bound_state *state) {
  for (int32_t v = 0; v < state->n; v++) {
    uint64_t *mine = state->ancestors + (int64_t)v * state->n_words;
    const plim_space_node *node = &state->problem->node[v];
    if (plim_effort_over(state->problem->ctx, (int64_t)node->n_preds * (v / WORD + 1))) return 0;
    for (int32_t i = 0; i < node->n_preds; i++) {
      int32_t u = node->pred[i];
      const uint64_t *its = state->ancestors + (int64_t)u * state->n_words;
      for (int32_t w = 0; w <= u / WORD; w++) mine[w] |= its[w];
      mine[u / WORD] |= UINT64_C(1) << (u % WORD);
    }
  }
  return 1;
}

static int is_read_after(const bound_state *state, int32_t u, int32_t v) {
  const plim_space_node *node = &state->problem->node[u];
  return node->n_succs > 0 && node->succ[node->n_succs - 1] > v;
}

static int is_needed(const bound_state *state, int32_t u, int32_t v) {
  const plim_space_node *node = &state->problem->node[u];
  int needed = 0;
  for (int32_t i = 0; i < node->n_succs; i++) {
    if (node->succ[i] == v) return 0; /* an input: it is there */
    needed |= node->succ[i] > v && is_ancestor(state, v, node->succ[i]);
  }
  return needed && node->bytes > 0;
}

/* The bytes by which what is needed at the first run of v exceeds the budgets of H. */
static int64_t demand_of(const bound_state *state, int32_t v) {
  const plim_space_node *node = &state->problem->node[v];
  int64_t bytes = node->bytes + node->workspace;
  for (int32_t i = 0; i < node->n_preds; i++) bytes += state->problem->node[node->pred[i]].bytes;
  for (int32_t u = 0; u < v; u++) {
    if (is_read_after(state, u, v) && is_ancestor(state, u, v) && is_needed(state, u, v))
      bytes += state->problem->node[u].bytes;
  }
  return bytes - state->home_bytes;
}

/* The next reader of u that descends from `reader` (-1: the first), of those that are counted apart; -1: none. *at: how
 * many readers were looked at, which come in program order. */
static int32_t next_reader(const bound_state *state, int32_t u, int32_t reader, int32_t *at) {
  const plim_space_node *node = &state->problem->node[u];
  while (*at < node->n_succs) {
    int32_t next = node->succ[(*at)++];
    if (reader < 0 || is_ancestor(state, reader, next)) return next;
  }
  return -1;
}

static void count_gaps(bound_state *state) {
  state->n_gaps = 0;
  for (int32_t u = 0; u < state->n; u++) {
    state->first_gap[u] = state->n_gaps++;
    int32_t at = 0;
    for (int32_t r = next_reader(state, u, -1, &at); r >= 0; r = next_reader(state, u, r, &at)) state->n_gaps++;
  }
  state->first_gap[state->n] = state->n_gaps;
}

/* The gap of u in which the cut of v lies: after a reader that v descends from, before one that descends from v. */
static int32_t gap_of(const bound_state *state, int32_t u, int32_t v) {
  int32_t at = 0, gap = state->first_gap[u], r = next_reader(state, u, -1, &at);
  for (; r >= 0 && is_ancestor(state, r, v); r = next_reader(state, u, r, &at)) gap++;
  return r >= 0 && is_ancestor(state, v, r) ? gap : -1;
}

/* What program order has at each node, less the budgets of H: no cut there asks for more. */
static void limit_demands(const bound_state *state, int64_t *limit) {
  int64_t live = 0;
  for (int32_t v = 0; v < state->n; v++) {
    const plim_space_node *node = &state->problem->node[v];
    live += node->bytes;
    limit[v] = live + node->workspace - state->home_bytes;
    for (int32_t i = 0; i < node->n_preds; i++) {
      if (!is_read_after(state, node->pred[i], v)) live -= state->problem->node[node->pred[i]].bytes;
    }
    if (node->n_succs == 0) live -= node->bytes;
  }
}

/* Of a stretch of program order the cut that asks for most, of some that may. limit[v] -1: was tried. */
static void choose_cut(bound_state *state, int32_t from, int32_t to, int64_t *limit) {
  int64_t most = 0;
  int32_t best = -1;
  for (int32_t t = 0; t < spaces_tuning.bound.tries; t++) {
    int32_t next = from;
    for (int32_t v = from + 1; v < to; v++) next = limit[v] > limit[next] ? v : next;
    if (limit[next] <= most || plim_effort_over(state->problem->ctx, next)) break;
    int64_t demand = demand_of(state, next);
    limit[next] = -1;
    if (demand <= most) continue;
    most = demand;
    best = next;
  }
  if (best < 0) return;
  state->cut[state->n_rows] = best;
  state->demand[state->n_rows++] = most;
}

static plim_status choose_cuts(bound_state *state) {
  int32_t stretch = state->n / PLIM_SPACE_BOUND_ROWS + 1;
  int64_t room = 0, *limit = NULL;
  PLIM_TRY(plim_allocate(state->problem->ctx, state->n, sizeof *limit, &limit));
  limit_demands(state, limit);
  for (int32_t from = 0; from < state->n; from += stretch) {
    choose_cut(state, from, from + stretch < state->n ? from + stretch : state->n, limit);
  }
  plim_release(state->problem->ctx, limit, state->n, sizeof *limit);
  for (int32_t r = 0; r < state->n_rows; r++) room += state->cut[r];
  PLIM_TRY(plim_allocate(state->problem->ctx, room, sizeof *state->entry, &state->entry));
  state->n_entries = room;
  int32_t n = 0;
  for (int32_t r = 0; r < state->n_rows; r++) {
    int32_t v = state->cut[r];
    state->first_entry[r] = n;
    if (plim_effort_over(state->problem->ctx, v)) { /* fewer rows prove less */
      state->n_rows = r;
      break;
    }
    for (int32_t u = 0; u < v; u++) {
      if (is_read_after(state, u, v) && is_ancestor(state, u, v) && is_needed(state, u, v))
        state->entry[n++] = (entry){u, gap_of(state, u, v)};
    }
  }
  state->first_entry[state->n_rows] = n;
  return PLIM_OK;
}

/* ---- prices ---- */

static double queue_price(const bound_state *state, int32_t queue) {
  return queue < 0 ? 0 : state->multiplier[state->n_rows + queue] * state->whole / state->whole_ns;
}

static double run_price(const bound_state *state, int32_t node, int32_t d) {
  double ns = (double)plim_space_run_ns(state->problem, node, d), price = queue_price(state, d) * ns;
  if (state->options->objective == PLIM_OBJECTIVE_SERIAL) price += ns;
  if (state->options->objective == PLIM_OBJECTIVE_ENERGY) price += plim_space_run_joule(state->problem, node, d);
  return price;
}

static double copy_price(const bound_state *state, int32_t node, int32_t l) {
  const plim_platform_link *link = &state->problem->platform->link[l];
  double ns = plim_space_least_copy_ns(state->problem, node, l), price = queue_price(state, state->link_queue[l]) * ns;
  if (state->options->objective == PLIM_OBJECTIVE_SERIAL) price += ns;
  if (state->options->objective == PLIM_OBJECTIVE_ENERGY) {
    price += fmax(0, plim_space_copy_joule(state->problem, node, l) - link->latency_s * link->watt);
  }
  return price;
}

static int32_t cheapest_device(const bound_state *state, int32_t node, double *price) {
  int32_t best = -1;
  *price = INFINITY;
  for (int32_t d = 0; d < state->devices; d++) {
    if (plim_space_run_ns(state->problem, node, d) < 0 ||
        !plim_space_has_room(state->problem, state->options->budget, node, d))
      continue;
    if (run_price(state, node, d) >= *price) continue;
    *price = run_price(state, node, d);
    best = d;
  }
  return best;
}

/* Out of H, or into it. */
static int32_t cheapest_link(const bound_state *state, int32_t node, int into, double *price) {
  int32_t best = -1;
  *price = INFINITY;
  for (int32_t l = 0; l < state->problem->platform->n_links && state->options->page; l++) {
    const plim_platform_link *link = &state->problem->platform->link[l];
    if (state->link_queue[l] < 0 || state->home[link->to] != into || plim_space_copy_ns(state->problem, node, l) < 0)
      continue;
    if (copy_price(state, node, l) >= *price) continue;
    *price = copy_price(state, node, l);
    best = l;
  }
  return best;
}

/* ---- the bound of some multipliers ---- */

static double coefficient(const bound_state *state, int32_t row, int32_t node) {
  int64_t bytes = state->problem->node[node].bytes, demand = state->demand[row];
  return bytes < demand ? (double)bytes / (double)demand : 1;
}

static void set_worths(bound_state *state) {
  memset(state->worth, 0, (size_t)state->n_gaps * sizeof *state->worth);
  memset(state->any, 0, (size_t)state->n * sizeof *state->any);
  for (int32_t r = 0; r < state->n_rows; r++) {
    double m = state->multiplier[r] * state->whole;
    if (!(m > 0)) continue;
    for (int32_t i = state->first_entry[r]; i < state->first_entry[r + 1]; i++) {
      const entry *e = &state->entry[i];
      *(e->gap < 0 ? &state->any[e->node] : &state->worth[e->gap]) += m * coefficient(state, r, e->node);
    }
  }
}

static double positive_gain(const bound_state *state, int32_t u, double price) {
  double gain = 0;
  for (int32_t g = state->first_gap[u]; g < state->first_gap[u + 1]; g++)
    gain += fmax(0, state->worth[g] + state->any[u] - price);
  return gain;
}

/* What bringing node u wins at best; loads and brought gaps are those of that choice. */
static double bring(bound_state *state, int32_t u) {
  double again, out, in;
  int32_t device = cheapest_device(state, u, &again);
  int32_t out_link = cheapest_link(state, u, 0, &out), in_link = cheapest_link(state, u, 1, &in);
  if (!state->options->recompute || state->problem->node[u].once) again = INFINITY;
  double by_runs = positive_gain(state, u, again), by_copies = positive_gain(state, u, fmin(again, in)) - out;
  int copies = by_copies > by_runs;
  double price = copies ? fmin(again, in) : again;
  if (!(copies ? by_copies > 0 : by_runs > 0)) return 0;
  if (copies) state->load[state->link_queue[out_link]] += plim_space_least_copy_ns(state->problem, u, out_link);
  for (int32_t g = state->first_gap[u]; g < state->first_gap[u + 1]; g++) {
    if (!(state->worth[g] + state->any[u] > price)) continue;
    state->brought[g] = 1;
    if (copies && in < again) {
      state->load[state->link_queue[in_link]] += plim_space_least_copy_ns(state->problem, u, in_link);
    } else {
      state->load[device] += (double)plim_space_run_ns(state->problem, u, device);
    }
  }
  return copies ? by_copies : by_runs;
}

static void set_slopes(bound_state *state, double time_ns) {
  for (int32_t r = 0; r < state->n_rows; r++) {
    double left = 1;
    for (int32_t i = state->first_entry[r]; i < state->first_entry[r + 1]; i++) {
      const entry *e = &state->entry[i];
      int32_t from = e->gap < 0 ? state->first_gap[e->node] : e->gap,
              to = e->gap < 0 ? state->first_gap[e->node + 1] : from + 1;
      for (int32_t g = from; g < to; g++) {
        if (state->brought[g]) left -= coefficient(state, r, e->node);
      }
    }
    state->slope[r] = left;
  }
  for (int32_t q = 0; q < state->n_queues; q++)
    state->slope[state->n_rows + q] = (state->load[q] - time_ns) / state->whole_ns;
}

static double evaluate(bound_state *state) {
  double value = 0, price, queues = 0, time_ns = 0;
  memset(state->load, 0, (size_t)state->n_queues * sizeof *state->load);
  memset(state->brought, 0, (size_t)state->n_gaps);
  set_worths(state);
  for (int32_t r = 0; r < state->n_rows; r++) value += state->multiplier[r] * state->whole;
  for (int32_t u = 0; u < state->n; u++) {
    int32_t device = cheapest_device(state, u, &price);
    if (device < 0) continue;
    value += price;
    state->load[device] += (double)plim_space_run_ns(state->problem, u, device);
    value -= bring(state, u);
  }
  for (int32_t q = 0; q < state->n_queues; q++) queues += queue_price(state, q);
  if (queues > state->time_cost && state->options->deadline_ns < INT64_MAX) {
    time_ns = (double)state->options->deadline_ns;
    value -= (queues - state->time_cost) * time_ns;
  }
  set_slopes(state, time_ns);
  return value;
}

/* ---- ascent ---- */

/* Multipliers of queues are at least 0; where no deadline bounds the makespan their sum is at most its cost. */
static void project(bound_state *state) {
  double *m = state->multiplier + state->n_rows, max_sum = state->time_cost * state->whole_ns / state->whole, sum = 0;
  for (int32_t i = 0; i < state->n_rows + state->n_queues; i++) state->multiplier[i] = fmax(0, state->multiplier[i]);
  for (int32_t q = state->devices; q < state->n_queues && state->options->deadline_on_runs; q++) m[q] = 0;
  if (state->options->deadline_ns < INT64_MAX) return;
  for (int32_t pass = 0; pass < spaces_tuning.bound.passes; pass++) {
    int32_t positive = 0;
    sum = 0;
    for (int32_t q = 0; q < state->n_queues; q++) {
      sum += m[q];
      positive += m[q] > 0;
    }
    if (sum <= max_sum || positive == 0) return;
    for (int32_t q = 0; q < state->n_queues; q++) m[q] = m[q] > 0 ? fmax(0, m[q] - (sum - max_sum) / positive) : 0;
  }
  for (int32_t q = 0; q < state->n_queues; q++) m[q] = sum > 0 ? m[q] * (max_sum / sum) * (1 - 1e-12) : 0;
}

static void restore_best(bound_state *state, int32_t n) {
  memcpy(state->multiplier, state->best, (size_t)n * sizeof *state->best);
}

/* Subgradient steps towards a target above the best bound, which comes nearer while nothing is won. */
static double ascend(bound_state *state) {
  int32_t n = state->n_rows + state->n_queues, stale = 0;
  double best = evaluate(state), above = spaces_tuning.bound.above_first;
  memcpy(state->best, state->multiplier, (size_t)n * sizeof *state->best);
  for (int32_t i = 0; i < spaces_tuning.bound.iterations && above > spaces_tuning.bound.above_min; i++) {
    double value = i == 0 ? best : evaluate(state), norm = 0;
    stale++;
    if (value > best) {
      if (value > best + spaces_tuning.bound.gain * above * state->whole) stale = 0;
      best = value;
      memcpy(state->best, state->multiplier, (size_t)n * sizeof *state->best);
    }
    if (plim_effort_over(state->problem->ctx, 10 * state->n_entries)) break;
    if (stale > spaces_tuning.bound.patience) {
      stale = 0;
      above *= spaces_tuning.bound.above_factor;
      restore_best(state, n);
      value = evaluate(state);
    }
    for (int32_t k = 0; k < n; k++) {
      int held = state->multiplier[k] <= 0 && state->slope[k] < 0;
      norm += held ? 0 : state->slope[k] * state->slope[k];
    }
    if (!(norm > 0)) break;
    double length = (best / state->whole + above - value / state->whole) / norm;
    for (int32_t k = 0; k < n; k++) state->multiplier[k] += length * state->slope[k];
    project(state);
  }
  return best;
}

/* ---- the whole ---- */

static void set_home(bound_state *state) {
  const plim_platform *p = state->problem->platform;
  state->devices = state->options->place ? p->n_devices : 1;
  state->n_queues = state->devices;
  for (int32_t d = 0; d < state->devices; d++) state->home[p->device[d].space] = 1;
  for (int32_t s = 0; s < p->n_spaces; s++) {
    if (!state->home[s]) continue;
    if (state->options->budget[s] == INT64_MAX || state->home_bytes > INT64_MAX / 4) state->home_bytes = INT64_MAX;
    if (state->home_bytes < INT64_MAX)
      state->home_bytes += state->options->budget[s] < INT64_MAX / 4 ? state->options->budget[s] : INT64_MAX / 4;
  }
  for (int32_t l = 0; l < p->n_links; l++) {
    int32_t first = plim_platform_queue_link(p, l);
    state->link_queue[l] = -1;
    if (state->home[p->link[l].from] == state->home[p->link[l].to]) continue;
    state->link_queue[l] = first < l ? state->link_queue[first] : state->n_queues++;
  }
}

static void set_scales(bound_state *state) {
  const plim_platform *p = state->problem->platform;
  state->whole_ns = fmax(1, (double)state->problem->fastest_ns);
  state->whole = state->whole_ns;
  state->time_cost = state->options->objective == PLIM_OBJECTIVE_TIME ? 1 : 0;
  if (state->options->objective != PLIM_OBJECTIVE_ENERGY) return;
  state->whole = 0;
  for (int32_t u = 0; u < state->n; u++) {
    double price;
    if (cheapest_device(state, u, &price) >= 0) state->whole += price;
  }
  if (!(state->whole > 0)) state->whole = 1;
  for (int32_t d = 0; d < p->n_devices; d++) state->time_cost += p->device[d].idle_watt * 1e-9;
}

static plim_status allocate_bound(bound_state *state) {
  plim_context *ctx = state->problem->ctx;
  const plim_platform *p = state->problem->platform;
  int64_t columns = (int64_t)PLIM_SPACE_BOUND_ROWS + p->n_devices + p->n_links;
  PLIM_TRY(plim_allocate(ctx, p->n_spaces, sizeof *state->home, &state->home));
  PLIM_TRY(plim_allocate(ctx, p->n_links, sizeof *state->link_queue, &state->link_queue));
  PLIM_TRY(plim_allocate(ctx, (int64_t)state->n + 1, sizeof *state->first_gap, &state->first_gap));
  PLIM_TRY(plim_allocate(ctx, PLIM_SPACE_BOUND_ROWS, sizeof *state->cut, &state->cut));
  PLIM_TRY(plim_allocate(ctx, PLIM_SPACE_BOUND_ROWS, sizeof *state->demand, &state->demand));
  PLIM_TRY(plim_allocate(ctx, PLIM_SPACE_BOUND_ROWS + 1, sizeof *state->first_entry, &state->first_entry));
  PLIM_TRY(plim_allocate(ctx, columns, sizeof *state->multiplier, &state->multiplier));
  PLIM_TRY(plim_allocate(ctx, columns, sizeof *state->slope, &state->slope));
  PLIM_TRY(plim_allocate(ctx, columns, sizeof *state->best, &state->best));
  PLIM_TRY(plim_allocate(ctx, (int64_t)p->n_devices + p->n_links, sizeof *state->load, &state->load));
  PLIM_TRY(plim_allocate(ctx, state->n, sizeof *state->any, &state->any));
  return plim_allocate(ctx, (int64_t)state->n * state->n_words, sizeof *state->ancestors, &state->ancestors);
}

static void free_all(bound_state *state) {
  plim_context *ctx = state->problem->ctx;
  const plim_platform *p = state->problem->platform;
  int64_t columns = (int64_t)PLIM_SPACE_BOUND_ROWS + p->n_devices + p->n_links;
  plim_release(ctx, state->home, p->n_spaces, sizeof *state->home);
  plim_release(ctx, state->link_queue, p->n_links, sizeof *state->link_queue);
  plim_release(ctx, state->first_gap, (int64_t)state->n + 1, sizeof *state->first_gap);
  plim_release(ctx, state->cut, PLIM_SPACE_BOUND_ROWS, sizeof *state->cut);
  plim_release(ctx, state->demand, PLIM_SPACE_BOUND_ROWS, sizeof *state->demand);
  plim_release(ctx, state->first_entry, PLIM_SPACE_BOUND_ROWS + 1, sizeof *state->first_entry);
  plim_release(ctx, state->multiplier, columns, sizeof *state->multiplier);
  plim_release(ctx, state->slope, columns, sizeof *state->slope);
  plim_release(ctx, state->best, columns, sizeof *state->best);
  plim_release(ctx, state->load, (int64_t)p->n_devices + p->n_links, sizeof *state->load);
  plim_release(ctx, state->any, state->n, sizeof *state->any);
  plim_release(ctx, state->ancestors, (int64_t)state->n * state->n_words, sizeof *state->ancestors);
  plim_release(ctx, state->worth, state->n_gaps, sizeof *state->worth);
  plim_release(ctx, state->brought, state->n_gaps, sizeof *state->brought);
  plim_release(ctx, state->entry, state->n_entries, sizeof *state->entry);
}

static plim_status find_bound(bound_state *state, double *out) {
  PLIM_TRY(allocate_bound(state));
  set_home(state);
  set_scales(state);
  if (!find_ancestors(state)) return PLIM_OK;
  count_gaps(state);
  PLIM_TRY(plim_allocate(state->problem->ctx, state->n_gaps, sizeof *state->worth, &state->worth));
  PLIM_TRY(plim_allocate(state->problem->ctx, state->n_gaps, sizeof *state->brought, &state->brought));
  if (state->home_bytes < INT64_MAX / 4) PLIM_TRY(choose_cuts(state));
  for (int32_t d = 0; d < state->devices && state->time_cost > 0; d++) {
    state->multiplier[state->n_rows + d] = state->time_cost * state->whole_ns / state->whole / state->devices;
  }
  double value = ascend(state) * (1 - 1e-9);
  PLIM_TRY(plim_space_bound_placement(state->problem, state->options, &value));
  if (state->options->objective != PLIM_OBJECTIVE_ENERGY)
    value = ceil(value - spaces_tuning.bound.rounding * fmax(1, value * spaces_tuning.bound.rounding));
  *out = fmax(*out, value);
  return PLIM_OK;
}

plim_status plim_space_bound(const plim_space_problem *problem, const plim_space_search_options *options, double *out) {
  bound_state state = {.problem = problem, .options = options, .n = problem->n, .n_words = problem->n / WORD + 1};
  double bound = 0;
  plim_status status = problem->n > spaces_tuning.bound.nodes ? PLIM_OK : find_bound(&state, &bound);
  free_all(&state);
  if (status == PLIM_OK) *out = bound;
  return status;
}
