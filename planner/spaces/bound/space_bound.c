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

static int is_ancestor(const bound_state *b, int32_t u, int32_t v) {
  return (int)(b->ancestors[(int64_t)v * b->n_words + u / WORD] >> (u % WORD) & 1);
}

/* ---- cuts ---- */

/* 0: the time was over. */
static int find_ancestors(bound_state *b) {
  for (int32_t v = 0; v < b->n; v++) {
    uint64_t *mine = b->ancestors + (int64_t)v * b->n_words;
    const plim_space_node *node = &b->problem->node[v];
    if (plim_effort_over(b->problem->ctx, (int64_t)node->n_preds * (v / WORD + 1))) return 0;
    for (int32_t i = 0; i < node->n_preds; i++) {
      int32_t u = node->pred[i];
      const uint64_t *its = b->ancestors + (int64_t)u * b->n_words;
      for (int32_t w = 0; w <= u / WORD; w++) mine[w] |= its[w];
      mine[u / WORD] |= UINT64_C(1) << (u % WORD);
    }
  }
  return 1;
}

static int is_read_after(const bound_state *b, int32_t u, int32_t v) {
  const plim_space_node *node = &b->problem->node[u];
  return node->n_succs > 0 && node->succ[node->n_succs - 1] > v;
}

static int is_needed(const bound_state *b, int32_t u, int32_t v) {
  const plim_space_node *node = &b->problem->node[u];
  int needed = 0;
  for (int32_t i = 0; i < node->n_succs; i++) {
    if (node->succ[i] == v) return 0; /* an input: it is there */
    needed |= node->succ[i] > v && is_ancestor(b, v, node->succ[i]);
  }
  return needed && node->bytes > 0;
}

/* The bytes by which what is needed at the first run of v exceeds the budgets of H. */
static int64_t demand_of(const bound_state *b, int32_t v) {
  const plim_space_node *node = &b->problem->node[v];
  int64_t bytes = node->bytes + node->workspace;
  for (int32_t i = 0; i < node->n_preds; i++) bytes += b->problem->node[node->pred[i]].bytes;
  for (int32_t u = 0; u < v; u++) {
    if (is_read_after(b, u, v) && is_ancestor(b, u, v) && is_needed(b, u, v)) bytes += b->problem->node[u].bytes;
  }
  return bytes - b->home_bytes;
}

/* The next reader of u that descends from `reader` (-1: the first), of those that are counted apart; -1: none. *at: how
 * many readers were looked at, which come in program order. */
static int32_t next_reader(const bound_state *b, int32_t u, int32_t reader, int32_t *at) {
  const plim_space_node *node = &b->problem->node[u];
  while (*at < node->n_succs) {
    int32_t next = node->succ[(*at)++];
    if (reader < 0 || is_ancestor(b, reader, next)) return next;
  }
  return -1;
}

static void count_gaps(bound_state *b) {
  b->n_gaps = 0;
  for (int32_t u = 0; u < b->n; u++) {
    b->first_gap[u] = b->n_gaps++;
    int32_t at = 0;
    for (int32_t r = next_reader(b, u, -1, &at); r >= 0; r = next_reader(b, u, r, &at)) b->n_gaps++;
  }
  b->first_gap[b->n] = b->n_gaps;
}

/* The gap of u in which the cut of v lies: after a reader that v descends from, before one that descends from v. */
static int32_t gap_of(const bound_state *b, int32_t u, int32_t v) {
  int32_t at = 0, gap = b->first_gap[u], r = next_reader(b, u, -1, &at);
  for (; r >= 0 && is_ancestor(b, r, v); r = next_reader(b, u, r, &at)) gap++;
  return r >= 0 && is_ancestor(b, v, r) ? gap : -1;
}

/* What program order has at each node, less the budgets of H: no cut there asks for more. */
static void limit_demands(const bound_state *b, int64_t *most) {
  int64_t live = 0;
  for (int32_t v = 0; v < b->n; v++) {
    const plim_space_node *node = &b->problem->node[v];
    live += node->bytes;
    most[v] = live + node->workspace - b->home_bytes;
    for (int32_t i = 0; i < node->n_preds; i++) {
      if (!is_read_after(b, node->pred[i], v)) live -= b->problem->node[node->pred[i]].bytes;
    }
    if (node->n_succs == 0) live -= node->bytes;
  }
}

/* Of a stretch of program order the cut that asks for most, of some that may. limit[v] -1: was tried. */
static void choose_cut(bound_state *b, int32_t from, int32_t to, int64_t *limit) {
  int64_t most = 0;
  int32_t best = -1;
  for (int32_t t = 0; t < spaces_tuning.bound.tries; t++) {
    int32_t next = from;
    for (int32_t v = from + 1; v < to; v++) next = limit[v] > limit[next] ? v : next;
    if (limit[next] <= most || plim_effort_over(b->problem->ctx, next)) break;
    int64_t demand = demand_of(b, next);
    limit[next] = -1;
    if (demand <= most) continue;
    most = demand;
    best = next;
  }
  if (best < 0) return;
  b->cut[b->n_rows] = best;
  b->demand[b->n_rows++] = most;
}

static plim_status choose_cuts(bound_state *b) {
  int32_t stretch = b->n / PLIM_SPACE_BOUND_ROWS + 1;
  int64_t room = 0, *limit = NULL;
  PLIM_TRY(plim_allocate(b->problem->ctx, b->n, sizeof *limit, &limit));
  limit_demands(b, limit);
  for (int32_t from = 0; from < b->n; from += stretch) {
    choose_cut(b, from, from + stretch < b->n ? from + stretch : b->n, limit);
  }
  plim_release(b->problem->ctx, limit, b->n, sizeof *limit);
  for (int32_t r = 0; r < b->n_rows; r++) room += b->cut[r];
  PLIM_TRY(plim_allocate(b->problem->ctx, room, sizeof *b->entry, &b->entry));
  b->n_entries = room;
  int32_t n = 0;
  for (int32_t r = 0; r < b->n_rows; r++) {
    int32_t v = b->cut[r];
    b->first_entry[r] = n;
    if (plim_effort_over(b->problem->ctx, v)) { /* fewer rows prove less */
      b->n_rows = r;
      break;
    }
    for (int32_t u = 0; u < v; u++) {
      if (is_read_after(b, u, v) && is_ancestor(b, u, v) && is_needed(b, u, v))
        b->entry[n++] = (entry){u, gap_of(b, u, v)};
    }
  }
  b->first_entry[b->n_rows] = n;
  return PLIM_OK;
}

/* ---- prices ---- */

static double queue_price(const bound_state *b, int32_t queue) {
  return queue < 0 ? 0 : b->multiplier[b->n_rows + queue] * b->whole / b->whole_ns;
}

static double run_price(const bound_state *b, int32_t node, int32_t d) {
  double ns = (double)plim_space_run_ns(b->problem, node, d), price = queue_price(b, d) * ns;
  if (b->options->objective == PLIM_OBJECTIVE_SERIAL) price += ns;
  if (b->options->objective == PLIM_OBJECTIVE_ENERGY) price += plim_space_run_joule(b->problem, node, d);
  return price;
}

static double copy_price(const bound_state *b, int32_t node, int32_t l) {
  const plim_platform_link *link = &b->problem->platform->link[l];
  double ns = plim_space_least_copy_ns(b->problem, node, l), price = queue_price(b, b->link_queue[l]) * ns;
  if (b->options->objective == PLIM_OBJECTIVE_SERIAL) price += ns;
  if (b->options->objective == PLIM_OBJECTIVE_ENERGY) {
    price += fmax(0, plim_space_copy_joule(b->problem, node, l) - link->latency_s * link->watt);
  }
  return price;
}

static int32_t cheapest_device(const bound_state *b, int32_t node, double *price) {
  int32_t best = -1;
  *price = INFINITY;
  for (int32_t d = 0; d < b->devices; d++) {
    if (plim_space_run_ns(b->problem, node, d) < 0 || !plim_space_has_room(b->problem, b->options->budget, node, d))
      continue;
    if (run_price(b, node, d) >= *price) continue;
    *price = run_price(b, node, d);
    best = d;
  }
  return best;
}

/* Out of H, or into it. */
static int32_t cheapest_link(const bound_state *b, int32_t node, int into, double *price) {
  int32_t best = -1;
  *price = INFINITY;
  for (int32_t l = 0; l < b->problem->platform->n_links && b->options->page; l++) {
    const plim_platform_link *link = &b->problem->platform->link[l];
    if (b->link_queue[l] < 0 || b->home[link->to] != into || plim_space_copy_ns(b->problem, node, l) < 0) continue;
    if (copy_price(b, node, l) >= *price) continue;
    *price = copy_price(b, node, l);
    best = l;
  }
  return best;
}

/* ---- the bound of some multipliers ---- */

static double coefficient(const bound_state *b, int32_t row, int32_t node) {
  int64_t bytes = b->problem->node[node].bytes, demand = b->demand[row];
  return bytes < demand ? (double)bytes / (double)demand : 1;
}

static void set_worths(bound_state *b) {
  memset(b->worth, 0, (size_t)b->n_gaps * sizeof *b->worth);
  memset(b->any, 0, (size_t)b->n * sizeof *b->any);
  for (int32_t r = 0; r < b->n_rows; r++) {
    double m = b->multiplier[r] * b->whole;
    if (!(m > 0)) continue;
    for (int32_t i = b->first_entry[r]; i < b->first_entry[r + 1]; i++) {
      const entry *e = &b->entry[i];
      *(e->gap < 0 ? &b->any[e->node] : &b->worth[e->gap]) += m * coefficient(b, r, e->node);
    }
  }
}

static double positive_gain(const bound_state *b, int32_t u, double price) {
  double gain = 0;
  for (int32_t g = b->first_gap[u]; g < b->first_gap[u + 1]; g++) gain += fmax(0, b->worth[g] + b->any[u] - price);
  return gain;
}

/* What bringing node u wins at best; loads and brought gaps are those of that choice. */
static double bring(bound_state *b, int32_t u) {
  double again, out, in;
  int32_t device = cheapest_device(b, u, &again);
  int32_t out_link = cheapest_link(b, u, 0, &out), in_link = cheapest_link(b, u, 1, &in);
  if (!b->options->recompute || b->problem->node[u].once) again = INFINITY;
  double by_runs = positive_gain(b, u, again), by_copies = positive_gain(b, u, fmin(again, in)) - out;
  int copies = by_copies > by_runs;
  double price = copies ? fmin(again, in) : again;
  if (!(copies ? by_copies > 0 : by_runs > 0)) return 0;
  if (copies) b->load[b->link_queue[out_link]] += plim_space_least_copy_ns(b->problem, u, out_link);
  for (int32_t g = b->first_gap[u]; g < b->first_gap[u + 1]; g++) {
    if (!(b->worth[g] + b->any[u] > price)) continue;
    b->brought[g] = 1;
    if (copies && in < again) {
      b->load[b->link_queue[in_link]] += plim_space_least_copy_ns(b->problem, u, in_link);
    } else {
      b->load[device] += (double)plim_space_run_ns(b->problem, u, device);
    }
  }
  return copies ? by_copies : by_runs;
}

static void set_slopes(bound_state *b, double time_ns) {
  for (int32_t r = 0; r < b->n_rows; r++) {
    double left = 1;
    for (int32_t i = b->first_entry[r]; i < b->first_entry[r + 1]; i++) {
      const entry *e = &b->entry[i];
      int32_t from = e->gap < 0 ? b->first_gap[e->node] : e->gap,
              to = e->gap < 0 ? b->first_gap[e->node + 1] : from + 1;
      for (int32_t g = from; g < to; g++) {
        if (b->brought[g]) left -= coefficient(b, r, e->node);
      }
    }
    b->slope[r] = left;
  }
  for (int32_t q = 0; q < b->n_queues; q++) b->slope[b->n_rows + q] = (b->load[q] - time_ns) / b->whole_ns;
}

static double evaluate(bound_state *b) {
  double value = 0, price, queues = 0, time_ns = 0;
  memset(b->load, 0, (size_t)b->n_queues * sizeof *b->load);
  memset(b->brought, 0, (size_t)b->n_gaps);
  set_worths(b);
  for (int32_t r = 0; r < b->n_rows; r++) value += b->multiplier[r] * b->whole;
  for (int32_t u = 0; u < b->n; u++) {
    int32_t device = cheapest_device(b, u, &price);
    if (device < 0) continue;
    value += price;
    b->load[device] += (double)plim_space_run_ns(b->problem, u, device);
    value -= bring(b, u);
  }
  for (int32_t q = 0; q < b->n_queues; q++) queues += queue_price(b, q);
  if (queues > b->time_cost && b->options->deadline_ns < INT64_MAX) {
    time_ns = (double)b->options->deadline_ns;
    value -= (queues - b->time_cost) * time_ns;
  }
  set_slopes(b, time_ns);
  return value;
}

/* ---- ascent ---- */

/* Multipliers of queues are at least 0; where no deadline bounds the makespan their sum is at most its cost. */
static void project(bound_state *b) {
  double *m = b->multiplier + b->n_rows, most = b->time_cost * b->whole_ns / b->whole, sum = 0;
  for (int32_t i = 0; i < b->n_rows + b->n_queues; i++) b->multiplier[i] = fmax(0, b->multiplier[i]);
  for (int32_t q = b->devices; q < b->n_queues && b->options->deadline_on_runs; q++) m[q] = 0;
  if (b->options->deadline_ns < INT64_MAX) return;
  for (int32_t pass = 0; pass < spaces_tuning.bound.passes; pass++) {
    int32_t positive = 0;
    sum = 0;
    for (int32_t q = 0; q < b->n_queues; q++) {
      sum += m[q];
      positive += m[q] > 0;
    }
    if (sum <= most || positive == 0) return;
    for (int32_t q = 0; q < b->n_queues; q++) m[q] = m[q] > 0 ? fmax(0, m[q] - (sum - most) / positive) : 0;
  }
  for (int32_t q = 0; q < b->n_queues; q++) m[q] = sum > 0 ? m[q] * (most / sum) * (1 - 1e-12) : 0;
}

static void restore_best(bound_state *b, int32_t n) {
  memcpy(b->multiplier, b->best, (size_t)n * sizeof *b->best);
}

/* Subgradient steps towards a target above the best bound, which comes nearer while nothing is won. */
static double ascend(bound_state *b) {
  int32_t n = b->n_rows + b->n_queues, stale = 0;
  double best = evaluate(b), above = spaces_tuning.bound.above_first;
  memcpy(b->best, b->multiplier, (size_t)n * sizeof *b->best);
  for (int32_t i = 0; i < spaces_tuning.bound.iterations && above > spaces_tuning.bound.above_least; i++) {
    double value = i == 0 ? best : evaluate(b), norm = 0;
    stale++;
    if (value > best) {
      if (value > best + spaces_tuning.bound.gain * above * b->whole) stale = 0;
      best = value;
      memcpy(b->best, b->multiplier, (size_t)n * sizeof *b->best);
    }
    if (plim_effort_over(b->problem->ctx, 10 * b->n_entries)) break;
    if (stale > spaces_tuning.bound.patience) {
      stale = 0;
      above *= spaces_tuning.bound.above_part;
      restore_best(b, n);
      value = evaluate(b);
    }
    for (int32_t k = 0; k < n; k++) {
      int held = b->multiplier[k] <= 0 && b->slope[k] < 0;
      norm += held ? 0 : b->slope[k] * b->slope[k];
    }
    if (!(norm > 0)) break;
    double length = (best / b->whole + above - value / b->whole) / norm;
    for (int32_t k = 0; k < n; k++) b->multiplier[k] += length * b->slope[k];
    project(b);
  }
  return best;
}

/* ---- the whole ---- */

static void set_home(bound_state *b) {
  const plim_platform *p = b->problem->platform;
  b->devices = b->options->place ? p->n_devices : 1;
  b->n_queues = b->devices;
  for (int32_t d = 0; d < b->devices; d++) b->home[p->device[d].space] = 1;
  for (int32_t s = 0; s < p->n_spaces; s++) {
    if (!b->home[s]) continue;
    if (b->options->budget[s] == INT64_MAX || b->home_bytes > INT64_MAX / 4) b->home_bytes = INT64_MAX;
    if (b->home_bytes < INT64_MAX)
      b->home_bytes += b->options->budget[s] < INT64_MAX / 4 ? b->options->budget[s] : INT64_MAX / 4;
  }
  for (int32_t l = 0; l < p->n_links; l++) {
    int32_t first = plim_platform_queue_link(p, l);
    b->link_queue[l] = -1;
    if (b->home[p->link[l].from] == b->home[p->link[l].to]) continue;
    b->link_queue[l] = first < l ? b->link_queue[first] : b->n_queues++;
  }
}

static void set_scales(bound_state *b) {
  const plim_platform *p = b->problem->platform;
  b->whole_ns = fmax(1, (double)b->problem->fastest_ns);
  b->whole = b->whole_ns;
  b->time_cost = b->options->objective == PLIM_OBJECTIVE_TIME ? 1 : 0;
  if (b->options->objective != PLIM_OBJECTIVE_ENERGY) return;
  b->whole = 0;
  for (int32_t u = 0; u < b->n; u++) {
    double price;
    if (cheapest_device(b, u, &price) >= 0) b->whole += price;
  }
  if (!(b->whole > 0)) b->whole = 1;
  for (int32_t d = 0; d < p->n_devices; d++) b->time_cost += p->device[d].idle_watt * 1e-9;
}

static plim_status allocate_bound(bound_state *b) {
  plim_context *ctx = b->problem->ctx;
  const plim_platform *p = b->problem->platform;
  int64_t columns = (int64_t)PLIM_SPACE_BOUND_ROWS + p->n_devices + p->n_links;
  PLIM_TRY(plim_allocate(ctx, p->n_spaces, sizeof *b->home, &b->home));
  PLIM_TRY(plim_allocate(ctx, p->n_links, sizeof *b->link_queue, &b->link_queue));
  PLIM_TRY(plim_allocate(ctx, (int64_t)b->n + 1, sizeof *b->first_gap, &b->first_gap));
  PLIM_TRY(plim_allocate(ctx, PLIM_SPACE_BOUND_ROWS, sizeof *b->cut, &b->cut));
  PLIM_TRY(plim_allocate(ctx, PLIM_SPACE_BOUND_ROWS, sizeof *b->demand, &b->demand));
  PLIM_TRY(plim_allocate(ctx, PLIM_SPACE_BOUND_ROWS + 1, sizeof *b->first_entry, &b->first_entry));
  PLIM_TRY(plim_allocate(ctx, columns, sizeof *b->multiplier, &b->multiplier));
  PLIM_TRY(plim_allocate(ctx, columns, sizeof *b->slope, &b->slope));
  PLIM_TRY(plim_allocate(ctx, columns, sizeof *b->best, &b->best));
  PLIM_TRY(plim_allocate(ctx, (int64_t)p->n_devices + p->n_links, sizeof *b->load, &b->load));
  PLIM_TRY(plim_allocate(ctx, b->n, sizeof *b->any, &b->any));
  return plim_allocate(ctx, (int64_t)b->n * b->n_words, sizeof *b->ancestors, &b->ancestors);
}

static void free_all(bound_state *b) {
  plim_context *ctx = b->problem->ctx;
  const plim_platform *p = b->problem->platform;
  int64_t columns = (int64_t)PLIM_SPACE_BOUND_ROWS + p->n_devices + p->n_links;
  plim_release(ctx, b->home, p->n_spaces, sizeof *b->home);
  plim_release(ctx, b->link_queue, p->n_links, sizeof *b->link_queue);
  plim_release(ctx, b->first_gap, (int64_t)b->n + 1, sizeof *b->first_gap);
  plim_release(ctx, b->cut, PLIM_SPACE_BOUND_ROWS, sizeof *b->cut);
  plim_release(ctx, b->demand, PLIM_SPACE_BOUND_ROWS, sizeof *b->demand);
  plim_release(ctx, b->first_entry, PLIM_SPACE_BOUND_ROWS + 1, sizeof *b->first_entry);
  plim_release(ctx, b->multiplier, columns, sizeof *b->multiplier);
  plim_release(ctx, b->slope, columns, sizeof *b->slope);
  plim_release(ctx, b->best, columns, sizeof *b->best);
  plim_release(ctx, b->load, (int64_t)p->n_devices + p->n_links, sizeof *b->load);
  plim_release(ctx, b->any, b->n, sizeof *b->any);
  plim_release(ctx, b->ancestors, (int64_t)b->n * b->n_words, sizeof *b->ancestors);
  plim_release(ctx, b->worth, b->n_gaps, sizeof *b->worth);
  plim_release(ctx, b->brought, b->n_gaps, sizeof *b->brought);
  plim_release(ctx, b->entry, b->n_entries, sizeof *b->entry);
}

static plim_status find_bound(bound_state *b, double *out) {
  PLIM_TRY(allocate_bound(b));
  set_home(b);
  set_scales(b);
  if (!find_ancestors(b)) return PLIM_OK;
  count_gaps(b);
  PLIM_TRY(plim_allocate(b->problem->ctx, b->n_gaps, sizeof *b->worth, &b->worth));
  PLIM_TRY(plim_allocate(b->problem->ctx, b->n_gaps, sizeof *b->brought, &b->brought));
  if (b->home_bytes < INT64_MAX / 4) PLIM_TRY(choose_cuts(b));
  for (int32_t d = 0; d < b->devices && b->time_cost > 0; d++) {
    b->multiplier[b->n_rows + d] = b->time_cost * b->whole_ns / b->whole / b->devices;
  }
  double value = ascend(b) * (1 - 1e-9);
  PLIM_TRY(plim_space_bound_placement(b->problem, b->options, &value));
  if (b->options->objective != PLIM_OBJECTIVE_ENERGY)
    value = ceil(value - spaces_tuning.bound.rounding * fmax(1, value * spaces_tuning.bound.rounding));
  *out = fmax(*out, value);
  return PLIM_OK;
}

plim_status plim_space_bound(const plim_space_problem *problem, const plim_space_search_options *options, double *out) {
  bound_state b = {.problem = problem, .options = options, .n = problem->n, .n_words = problem->n / WORD + 1};
  double bound = 0;
  plim_status status = problem->n > spaces_tuning.bound.nodes ? PLIM_OK : find_bound(&b, &bound);
  free_all(&b);
  if (status == PLIM_OK) *out = bound;
  return status;
}
