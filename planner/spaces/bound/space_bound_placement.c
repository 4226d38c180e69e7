/* What placement costs, whatever the order: for the makespan the longest path, for the sum of times a dynamic program
 * over a forest of inputs. Both count the copies between devices. */
#include <math.h>

#include "planner/spaces/bound/space_bound.h"
#include "runtime/base/effort.h"

typedef struct placement_state {
  const plim_space_problem *problem;
  const plim_space_search_options *options;
  int32_t n, devices; /* the first `devices` devices may be used */
} placement_state;

double plim_space_least_copy_ns(const plim_space_problem *p, int32_t node, int32_t l) {
  const plim_platform_link *link = &p->platform->link[l];
  double ns = (double)plim_space_copy_ns(p, node, l);
  return link->given ? ns : fmax(0, ns - ceil(link->latency_s * 1e9) - 1);
}

/* The least time of a copy of a node into a space, by one link of those that are there; INFINITY: there is none. */
static double least_arrival_ns(const placement_state *state, int32_t node, int32_t space) {
  double least = INFINITY;
  for (int32_t l = 0; l < state->problem->platform->n_links; l++) {
    if (state->problem->platform->link[l].to != space || plim_space_copy_ns(state->problem, node, l) < 0) continue;
    least = fmin(least, plim_space_least_copy_ns(state->problem, node, l));
  }
  return least;
}

/* What it costs at least that the output of a node that first ran on device d is also where device e computes: a copy,
 * or another run. */
static double least_spread_ns(const placement_state *state, int32_t node, int32_t d, int32_t e) {
  int32_t space = state->problem->platform->device[e].space;
  double again = (double)plim_space_run_ns(state->problem, node, e), copy;
  if (state->problem->platform->device[d].space == space) return 0;
  copy = least_arrival_ns(state, node, space);
  return state->options->recompute && !state->problem->node[node].once && again >= 0 ? fmin(again, copy) : copy;
}

/* The output of node u is not in the space of device d earlier. It was run there, or it ran elsewhere and was copied
 * there, at least by the link that is fastest. end: as of longest_path. */
static double least_there(const placement_state *state, const double *end, int32_t u, int32_t d) {
  const int32_t space = state->problem->platform->device[d].space;
  const double *its = &end[(int64_t)u * state->devices];
  double there = its[d], copy = -1;
  for (int32_t e = 0; e < state->devices; e++) {
    if (state->problem->platform->device[e].space == space) there = fmin(there, its[e]);
    if (its[e] >= there) continue;
    if (copy < 0) copy = least_arrival_ns(state, u, space);
    there = fmin(there, its[e] + copy);
  }
  return there;
}

/* The longest path. end [n][devices]: no run of a node on a device ends earlier. */
static double longest_path(const placement_state *state, double *end) {
  double longest = 0;
  for (int32_t v = 0; v < state->n; v++) {
    const plim_space_node *node = &state->problem->node[v];
    double least = INFINITY;
    if (plim_effort_over(state->problem->ctx, 5 * (int64_t)(node->n_preds + 1) * state->devices * state->devices))
      return longest;
    for (int32_t d = 0; d < state->devices; d++) {
      double *mine = &end[(int64_t)v * state->devices + d], ns = (double)plim_space_run_ns(state->problem, v, d),
             begin = 0;
      for (int32_t i = 0; i < node->n_preds && ns >= 0; i++) {
        begin = fmax(begin, least_there(state, end, node->pred[i], d));
      }
      *mine = ns >= 0 && plim_space_has_room(state->problem, state->options->budget, v, d) ? begin + ns : INFINITY;
      least = fmin(least, *mine);
    }
    if (least < INFINITY) longest = fmax(longest, least);
  }
  return longest;
}

/* The input of a node that costs most where it is needed on two devices; -1: it has none. */
static int32_t forest_parent(const placement_state *state, int32_t v) {
  const plim_space_node *node = &state->problem->node[v];
  int32_t parent = -1;
  double most = -1;
  for (int32_t i = 0; i < node->n_preds; i++) {
    double cost = INFINITY;
    for (int32_t d = 0; d < state->devices; d++) {
      for (int32_t e = 0; e < state->devices; e++)
        cost = d == e ? cost : fmin(cost, least_spread_ns(state, node->pred[i], d, e));
    }
    if (cost <= most) continue;
    most = cost;
    parent = node->pred[i];
  }
  return parent;
}

/* The least sum of times of first runs, and of what brings outputs to other devices along a forest: of each node's
 * inputs that whose arrival costs most. sum [n][devices]: of the node's subtree when it first runs there; a node is
 * paid for on at most one other device. */
static double forest_sum(const placement_state *state, double *sum) {
  double *elsewhere = sum + (int64_t)state->n * state->devices,
         total = 0; /* [n] of its children wherever they are cheapest */
  for (int32_t v = 0; v < state->n; v++) {
    elsewhere[v] = 0;
    for (int32_t d = 0; d < state->devices; d++) {
      double ns = (double)plim_space_run_ns(state->problem, v, d);
      sum[(int64_t)v * state->devices + d] =
          ns >= 0 && plim_space_has_room(state->problem, state->options->budget, v, d) ? ns : INFINITY;
    }
  }
  for (int32_t v = state->n - 1; v >= 0; v--) { /* readers before what they read */
    double *mine = &sum[(int64_t)v * state->devices], least = INFINITY;
    if (plim_effort_over(state->problem->ctx, 20 * (int64_t)state->devices * state->devices)) return 0;
    int32_t parent = forest_parent(state, v);
    for (int32_t d = 0; d < state->devices; d++) {
      double ns = (double)plim_space_run_ns(state->problem, v, d), spread = INFINITY;
      for (int32_t e = 0; e < state->devices; e++) {
        if (e != d) spread = fmin(spread, least_spread_ns(state, v, d, e));
      }
      if (ns >= 0 && plim_space_has_room(state->problem, state->options->budget, v, d))
        mine[d] = fmin(mine[d], ns + elsewhere[v] + spread);
      least = fmin(least, mine[d]);
    }
    if (parent < 0) {
      total += least;
      continue;
    }
    elsewhere[parent] += least;
    for (int32_t d = 0; d < state->devices; d++) sum[(int64_t)parent * state->devices + d] += mine[d];
  }
  return total;
}

plim_status plim_space_bound_placement(const plim_space_problem *problem, const plim_space_search_options *options,
                                       double *out) {
  placement_state state = {.problem = problem,
                           .options = options,
                           .n = problem->n,
                           .devices = options->place ? problem->platform->n_devices : 1};
  int64_t cells = (int64_t)state.n * (state.devices + 1);
  double *scratch = NULL, value = 0;
  PLIM_TRY(plim_allocate(problem->ctx, cells, sizeof *scratch, &scratch));
  if (options->objective == PLIM_OBJECTIVE_TIME) value = longest_path(&state, scratch);
  if (options->objective == PLIM_OBJECTIVE_SERIAL && state.devices > 1) value = forest_sum(&state, scratch);
  plim_release(problem->ctx, scratch, cells, sizeof *scratch);
  if (isfinite(value)) *out = fmax(*out, value * (1 - 1e-9));
  return PLIM_OK;
}
