/* The model of space_bound.c, relaxed by multipliers. Each row and each queue has a price, and each node is brought in
 * the way that wins most at these prices. */
#include "planner/spaces/bound/space_bound.h"

#include <math.h>
#include <string.h>

/* Do devices that may be used compute in the space? Then it is one of H. */
static int is_home(const plim_space_relaxed *relaxed, int32_t space) {
  return plim_platform_computes(relaxed->problem->platform, space, relaxed->devices);
}

/* ---- prices ---- */

static double queue_price(const plim_space_relaxed *relaxed, int32_t queue) {
  return queue < 0 ? 0 : relaxed->multiplier[relaxed->cuts.n_rows + queue] * relaxed->scale / relaxed->scale_ns;
}

static double run_price(const plim_space_relaxed *relaxed, int32_t node, int32_t d) {
  double ns = (double)plim_space_run_ns(relaxed->problem, node, d), price = queue_price(relaxed, d) * ns;
  if (relaxed->options->objective == PLIM_OBJECTIVE_SERIAL) price += ns;
  if (relaxed->options->objective == PLIM_OBJECTIVE_ENERGY) price += plim_space_run_joule(relaxed->problem, node, d);
  return price;
}

static double copy_price(const plim_space_relaxed *relaxed, int32_t node, int32_t l) {
  const plim_platform_link *link = &relaxed->problem->platform->link[l];
  double ns = plim_space_least_copy_ns(relaxed->problem, node, l),
         price = queue_price(relaxed, relaxed->link_queue[l]) * ns;
  if (relaxed->options->objective == PLIM_OBJECTIVE_SERIAL) price += ns;
  if (relaxed->options->objective == PLIM_OBJECTIVE_ENERGY) {
    price += fmax(0, plim_space_copy_joule(relaxed->problem, node, l) - link->latency_s * link->watt);
  }
  return price;
}

static int32_t cheapest_device(const plim_space_relaxed *relaxed, int32_t node, double *price) {
  int32_t best = -1;
  *price = INFINITY;
  for (int32_t d = 0; d < relaxed->devices; d++) {
    if (plim_space_run_ns(relaxed->problem, node, d) < 0 ||
        !plim_space_has_room(relaxed->problem, relaxed->options->budget, node, d))
      continue;
    if (run_price(relaxed, node, d) >= *price) continue;
    *price = run_price(relaxed, node, d);
    best = d;
  }
  return best;
}

/* Out of H, or into it. */
static int32_t cheapest_link(const plim_space_relaxed *relaxed, int32_t node, int into, double *price) {
  int32_t best = -1;
  *price = INFINITY;
  for (int32_t l = 0; l < relaxed->problem->platform->n_links && relaxed->options->page; l++) {
    const plim_platform_link *link = &relaxed->problem->platform->link[l];
    if (relaxed->link_queue[l] < 0 || is_home(relaxed, link->to) != into ||
        plim_space_copy_ns(relaxed->problem, node, l) < 0)
      continue;
    if (copy_price(relaxed, node, l) >= *price) continue;
    *price = copy_price(relaxed, node, l);
    best = l;
  }
  return best;
}

/* ---- the bound of some multipliers ---- */

static double coefficient(const plim_space_relaxed *relaxed, int32_t row, int32_t node) {
  int64_t bytes = relaxed->problem->node[node].bytes, demand = relaxed->cuts.demand[row];
  return bytes < demand ? (double)bytes / (double)demand : 1;
}

static void set_worths(plim_space_relaxed *relaxed) {
  memset(relaxed->worth, 0, (size_t)relaxed->cuts.n_gaps * sizeof *relaxed->worth);
  memset(relaxed->any, 0, (size_t)relaxed->problem->n * sizeof *relaxed->any);
  for (int32_t r = 0; r < relaxed->cuts.n_rows; r++) {
    double m = relaxed->multiplier[r] * relaxed->scale;
    if (!(m > 0)) continue;
    for (int32_t i = relaxed->cuts.first_entry[r]; i < relaxed->cuts.first_entry[r + 1]; i++) {
      const plim_space_cut_entry *e = &relaxed->cuts.entry[i];
      *(e->gap < 0 ? &relaxed->any[e->node] : &relaxed->worth[e->gap]) += m * coefficient(relaxed, r, e->node);
    }
  }
}

static double positive_gain(const plim_space_relaxed *relaxed, int32_t u, double price) {
  double gain = 0;
  for (int32_t g = relaxed->cuts.first_gap[u]; g < relaxed->cuts.first_gap[u + 1]; g++)
    gain += fmax(0, relaxed->worth[g] + relaxed->any[u] - price);
  return gain;
}

/* What bringing node u wins at best; loads and brought gaps are those of that choice. */
static double bring(plim_space_relaxed *relaxed, int32_t u) {
  double again, out, in;
  int32_t device = cheapest_device(relaxed, u, &again);
  int32_t out_link = cheapest_link(relaxed, u, 0, &out), in_link = cheapest_link(relaxed, u, 1, &in);
  if (!relaxed->options->recompute || relaxed->problem->node[u].once) again = INFINITY;
  double by_runs = positive_gain(relaxed, u, again), by_copies = positive_gain(relaxed, u, fmin(again, in)) - out;
  int copies = by_copies > by_runs;
  double price = copies ? fmin(again, in) : again;
  if (!(copies ? by_copies > 0 : by_runs > 0)) return 0;
  if (copies) relaxed->load[relaxed->link_queue[out_link]] += plim_space_least_copy_ns(relaxed->problem, u, out_link);
  for (int32_t g = relaxed->cuts.first_gap[u]; g < relaxed->cuts.first_gap[u + 1]; g++) {
    if (!(relaxed->worth[g] + relaxed->any[u] > price)) continue;
    relaxed->brought[g] = 1;
    if (copies && in < again) {
      relaxed->load[relaxed->link_queue[in_link]] += plim_space_least_copy_ns(relaxed->problem, u, in_link);
    } else {
      relaxed->load[device] += (double)plim_space_run_ns(relaxed->problem, u, device);
    }
  }
  return copies ? by_copies : by_runs;
}

static void set_slopes(plim_space_relaxed *relaxed, double time_ns) {
  for (int32_t r = 0; r < relaxed->cuts.n_rows; r++) {
    double left = 1;
    for (int32_t i = relaxed->cuts.first_entry[r]; i < relaxed->cuts.first_entry[r + 1]; i++) {
      const plim_space_cut_entry *e = &relaxed->cuts.entry[i];
      int32_t from = e->gap < 0 ? relaxed->cuts.first_gap[e->node] : e->gap,
              to = e->gap < 0 ? relaxed->cuts.first_gap[e->node + 1] : from + 1;
      for (int32_t g = from; g < to; g++) {
        if (relaxed->brought[g]) left -= coefficient(relaxed, r, e->node);
      }
    }
    relaxed->slope[r] = left;
  }
  for (int32_t q = 0; q < relaxed->n_queues; q++)
    relaxed->slope[relaxed->cuts.n_rows + q] = (relaxed->load[q] - time_ns) / relaxed->scale_ns;
}

double plim_space_relaxed_evaluate(plim_space_relaxed *relaxed) {
  double value = 0, price, queues = 0, time_ns = 0;
  memset(relaxed->load, 0, (size_t)relaxed->n_queues * sizeof *relaxed->load);
  memset(relaxed->brought, 0, (size_t)relaxed->cuts.n_gaps);
  set_worths(relaxed);
  for (int32_t r = 0; r < relaxed->cuts.n_rows; r++) value += relaxed->multiplier[r] * relaxed->scale;
  for (int32_t u = 0; u < relaxed->problem->n; u++) {
    int32_t device = cheapest_device(relaxed, u, &price);
    if (device < 0) continue;
    value += price;
    relaxed->load[device] += (double)plim_space_run_ns(relaxed->problem, u, device);
    value -= bring(relaxed, u);
  }
  for (int32_t q = 0; q < relaxed->n_queues; q++) queues += queue_price(relaxed, q);
  if (queues > relaxed->time_cost && relaxed->options->deadline_ns < INT64_MAX) {
    time_ns = (double)relaxed->options->deadline_ns;
    value -= (queues - relaxed->time_cost) * time_ns;
  }
  set_slopes(relaxed, time_ns);
  return value;
}

/* ---- the whole ---- */

/* Bytes of all budgets of H; INT64_MAX: more than can be added up. */
static int64_t home_bytes(const plim_space_relaxed *relaxed) {
  const int64_t *budget = relaxed->options->budget;
  int64_t bytes = 0;
  for (int32_t s = 0; s < relaxed->problem->platform->n_spaces; s++) {
    if (!is_home(relaxed, s)) continue;
    if (budget[s] == INT64_MAX || bytes > INT64_MAX / 4) return INT64_MAX;
    bytes += budget[s] < INT64_MAX / 4 ? budget[s] : INT64_MAX / 4;
  }
  return bytes;
}

static void set_queues(plim_space_relaxed *relaxed) {
  const plim_platform *p = relaxed->problem->platform;
  relaxed->n_queues = relaxed->devices;
  for (int32_t l = 0; l < p->n_links; l++) {
    int32_t first = plim_platform_queue_link(p, l);
    relaxed->link_queue[l] = -1;
    if (is_home(relaxed, p->link[l].from) == is_home(relaxed, p->link[l].to)) continue;
    relaxed->link_queue[l] = first < l ? relaxed->link_queue[first] : relaxed->n_queues++;
  }
}

/* Multipliers are 0. */
static void set_scales(plim_space_relaxed *relaxed) {
  const plim_platform *p = relaxed->problem->platform;
  relaxed->scale_ns = fmax(1, (double)relaxed->problem->fastest_ns);
  relaxed->scale = relaxed->scale_ns;
  relaxed->time_cost = relaxed->options->objective == PLIM_OBJECTIVE_TIME ? 1 : 0;
  if (relaxed->options->objective != PLIM_OBJECTIVE_ENERGY) return;
  relaxed->scale = 0;
  for (int32_t u = 0; u < relaxed->problem->n; u++) {
    double price;
    if (cheapest_device(relaxed, u, &price) >= 0) relaxed->scale += price;
  }
  if (!(relaxed->scale > 0)) relaxed->scale = 1;
  for (int32_t d = 0; d < p->n_devices; d++) relaxed->time_cost += p->device[d].idle_watt * 1e-9;
}

static void lay_out(plim_space_relaxed *relaxed) {
  const plim_platform *p = relaxed->problem->platform;
  const int64_t queues = (int64_t)p->n_devices + p->n_links, columns = relaxed->cuts.n_rows + queues;
  plim_block *b = &relaxed->block;
  relaxed->link_queue = plim_block_take(b, p->n_links, sizeof *relaxed->link_queue);
  relaxed->multiplier = plim_block_take(b, columns, sizeof *relaxed->multiplier);
  relaxed->slope = plim_block_take(b, columns, sizeof *relaxed->slope);
  relaxed->worth = plim_block_take(b, relaxed->cuts.n_gaps, sizeof *relaxed->worth);
  relaxed->any = plim_block_take(b, relaxed->problem->n, sizeof *relaxed->any);
  relaxed->brought = plim_block_take(b, relaxed->cuts.n_gaps, sizeof *relaxed->brought);
  relaxed->load = plim_block_take(b, queues, sizeof *relaxed->load);
}

plim_status plim_space_relaxed_make(const plim_space_problem *problem, const plim_space_search_options *options,
                                    plim_space_relaxed *out, int32_t *in_time) {
  *out = (plim_space_relaxed){
      .problem = problem, .options = options, .devices = options->place ? problem->platform->n_devices : 1};
  PLIM_TRY(plim_space_cuts_make(problem, home_bytes(out), &out->cuts, in_time));
  if (!*in_time) return PLIM_OK;
  lay_out(out);
  PLIM_TRY(plim_block_allocate(problem->ctx, &out->block));
  lay_out(out);
  set_queues(out);
  out->n = out->cuts.n_rows + out->n_queues;
  set_scales(out);
  return PLIM_OK;
}

void plim_space_relaxed_free(plim_space_relaxed *relaxed) {
  plim_space_cuts_free(&relaxed->cuts);
  plim_block_release(relaxed->problem->ctx, &relaxed->block);
}
