/* Makes the problem of a graph on a platform: nodes, times, energies. Costs come from the graph where it carries them
 * for these devices, else from FLOP and the platform's rates. */
#include "planner/spaces/problem/space_problem.h"

#include <math.h>
#include <string.h>

#include "runtime/base/integers.h"

static const double max_ns = 0x1p60;

static plim_status allocate_tables(plim_space_problem *p) {
  int64_t runs = (int64_t)p->n * p->platform->n_devices, copies = (int64_t)p->n * p->platform->n_links;
  for (int32_t o = 0; o < p->graph->n_ops; o++) p->n_ids += 2 * (int64_t)p->graph->op[o].n_reads;
  PLIM_TRY(plim_allocate(p->ctx, p->n, sizeof *p->node, &p->node));
  PLIM_TRY(plim_allocate(p->ctx, runs, sizeof *p->run_ns, &p->run_ns));
  PLIM_TRY(plim_allocate(p->ctx, runs, sizeof *p->run_joule, &p->run_joule));
  PLIM_TRY(plim_allocate(p->ctx, copies, sizeof *p->copy_ns, &p->copy_ns));
  PLIM_TRY(plim_allocate(p->ctx, copies, sizeof *p->copy_joule, &p->copy_joule));
  return plim_allocate(p->ctx, p->n_ids, sizeof *p->ids, &p->ids);
}

plim_status plim_space_problem_new(const plim_graph *graph, const plim_platform *platform, int32_t n,
                                   plim_space_problem **out) {
  plim_space_problem *p = NULL;
  PLIM_TRY(plim_allocate(graph->ctx, 1, sizeof *p, &p));
  *p = (plim_space_problem){.ctx = graph->ctx, .graph = graph, .platform = platform, .n = n};
  plim_status status = allocate_tables(p);
  if (status != PLIM_OK) {
    plim_space_problem_free(p);
    return status;
  }
  *out = p;
  return PLIM_OK;
}

void plim_space_problem_free(plim_space_problem *p) {
  if (!p) return;
  int64_t runs = (int64_t)p->n * p->platform->n_devices, copies = (int64_t)p->n * p->platform->n_links;
  plim_release(p->ctx, p->node, p->n, sizeof *p->node);
  plim_release(p->ctx, p->run_ns, runs, sizeof *p->run_ns);
  plim_release(p->ctx, p->run_joule, runs, sizeof *p->run_joule);
  plim_release(p->ctx, p->copy_ns, copies, sizeof *p->copy_ns);
  plim_release(p->ctx, p->copy_joule, copies, sizeof *p->copy_joule);
  plim_release(p->ctx, p->ids, p->n_ids, sizeof *p->ids);
  plim_release(p->ctx, p, 1, sizeof *p);
}

/* ---- nodes ---- */

static plim_status need_simple(const plim_space_problem *p, int32_t o) {
  const plim_op *op = &p->graph->op[o];
  int simple = op->cls != PLIM_OP_EFFECT && op->n_writes == 1 && op->n_updates == 0;
  for (int32_t i = 0; simple && i < op->n_reads; i++) simple = p->graph->storage[op->reads[i]].producer >= 0;
  if (simple && p->graph->storage[op->writes[0]].role != PLIM_ROLE_OUTPUT) return PLIM_OK;
  return plim_fail(
      p->ctx, PLIM_EDATA,
      "op '%s': plans over spaces are made of graphs whose ops update nothing, read what other ops write and "
      "have one output that nothing keeps, as import nx makes them",
      op->name);
}

static void link_nodes(plim_space_problem *p) {
  int32_t *next = p->ids;
  for (int32_t o = 0; o < p->n; o++) {
    const plim_op *op = &p->graph->op[o];
    plim_space_node *v = &p->node[o];
    v->pred = next;
    for (int32_t i = 0; i < op->n_reads; i++) { /* sorted as they come: an op has few */
      int32_t *at = next++, producer = p->graph->storage[op->reads[i]].producer;
      for (; at > v->pred && at[-1] > producer; at--) *at = at[-1];
      *at = producer;
    }
    v->n_preds = op->n_reads;
  }
  for (int32_t o = 0; o < p->n; o++) {
    const plim_graph *g = p->graph;
    int32_t s = p->node[o].storage;
    p->node[o].succ = next;
    p->node[o].n_succs = g->reader_first[s + 1] - g->reader_first[s];
    for (int32_t i = g->reader_first[s]; i < g->reader_first[s + 1]; i++) *next++ = g->reader[i];
  }
}

static plim_status make_nodes(plim_space_problem *p) {
  for (int32_t o = 0; o < p->n; o++) {
    PLIM_TRY(need_simple(p, o));
    p->node[o].once = p->graph->op[o].cls == PLIM_OP_ONCE;
    p->node[o].storage = p->graph->op[o].writes[0];
    p->node[o].bytes = p->graph->storage[p->node[o].storage].bytes;
    p->node[o].workspace = p->graph->costs ? p->graph->costs->workspace[o] : 0;
    p->bytes_unit = plim_integers_gcd(plim_integers_gcd(p->bytes_unit, p->node[o].bytes), p->node[o].workspace);
  }
  if (p->bytes_unit == 0) p->bytes_unit = 1;
  link_nodes(p);
  return PLIM_OK;
}

/* ---- costs ---- */

static plim_status round_ns(plim_context *ctx, double seconds, int64_t *out) {
  double ns = ceil(seconds * 1e9 - 1e-6);
  if (!(ns < max_ns))
    return plim_fail(ctx, PLIM_EDATA, "a time of %g s does not fit in 60 bits of nanoseconds", seconds);
  *out = ns > 0 ? (int64_t)ns : 0;
  return PLIM_OK;
}

static plim_status set_run_ns(plim_space_problem *p, int32_t o, int32_t d) {
  const plim_costs *c = p->graph->costs;
  const plim_platform_device *v = &p->platform->device[d];
  int64_t at = (int64_t)o * p->platform->n_devices + d, flops = c ? c->flops[o] : -1;
  int32_t named = c ? plim_costs_find_device(c, v->name) : -1;
  p->run_ns[at] = -1;
  if (named >= 0) p->run_ns[at] = c->duration[plim_costs_duration_at(c, o, named)];
  if (p->run_ns[at] >= 0) return PLIM_OK;
  if (flops >= 0 && v->flop_per_second > 0) {
    return round_ns(p->ctx, (double)flops / v->flop_per_second, &p->run_ns[at]);
  }
  if (!c || (c->n_devices == 0 && flops < 0)) p->run_ns[at] = p->graph->op[o].time_ns;
  return PLIM_OK;
}

/* Energy by FLOP where the platform knows that, else by time. */
static plim_status set_run(plim_space_problem *p, int32_t o, int32_t d) {
  const plim_platform_device *v = &p->platform->device[d];
  int64_t at = (int64_t)o * p->platform->n_devices + d, flops = p->graph->costs ? p->graph->costs->flops[o] : -1;
  PLIM_TRY(set_run_ns(p, o, d));
  p->run_joule[at] = -1;
  if (flops >= 0 && v->flop_per_joule > 0) {
    p->run_joule[at] = (double)flops / v->flop_per_joule;
  } else if (v->watt > 0 && p->run_ns[at] >= 0) {
    p->run_joule[at] = v->watt * 1e-9 * (double)p->run_ns[at];
  }
  return PLIM_OK;
}

plim_status plim_space_joint_copy(const plim_space_problem *p, int32_t link, int64_t bytes, int64_t *time_ns,
                                  double *joule) {
  const plim_platform_link *v = &p->platform->link[link];
  double seconds = v->latency_s + (double)bytes / v->bytes_per_second;
  *joule = seconds * v->watt;
  return round_ns(p->ctx, seconds, time_ns);
}

static int find_given_copy(const plim_space_problem *p, int32_t o, int32_t l, int64_t *time_ns) {
  const plim_costs *c = p->graph->costs;
  const plim_platform_link *v = &p->platform->link[l];
  return c && plim_costs_find_copy(c, o, p->platform->space[v->from].name, p->platform->space[v->to].name, time_ns);
}

int plim_space_can_join(const plim_space_problem *p, int32_t node, int32_t link) {
  int64_t time_ns;
  return !p->platform->link[link].given && !find_given_copy(p, node, link, &time_ns);
}

static plim_status set_copy(plim_space_problem *p, int32_t o, int32_t l) {
  int64_t at = (int64_t)o * p->platform->n_links + l, joint_ns = 0;
  double joule;
  p->copy_ns[at] = -1;
  p->copy_joule[at] = -1;
  if (p->platform->link[l].given) {
    (void)find_given_copy(p, o, l, &p->copy_ns[at]);
    return PLIM_OK;
  }
  PLIM_TRY(plim_space_joint_copy(p, l, p->node[o].bytes, &joint_ns, &joule));
  p->copy_joule[at] = joule;
  if (!find_given_copy(p, o, l, &p->copy_ns[at])) p->copy_ns[at] = joint_ns;
  return PLIM_OK;
}

static plim_status need_run(const plim_space_problem *p, int32_t o, int needs_energy) {
  const plim_op *op = &p->graph->op[o];
  int64_t flops = p->graph->costs ? p->graph->costs->flops[o] : -1;
  int runs = 0;
  for (int32_t d = 0; d < p->platform->n_devices; d++) {
    if (plim_space_run_ns(p, o, d) < 0) continue;
    runs = 1;
    if (!needs_energy || plim_space_run_joule(p, o, d) >= 0) continue;
    return plim_fail(
        p->ctx, PLIM_EDATA, "op '%s' has no energy on device %s: that takes %s", op->name, p->platform->device[d].name,
        flops < 0 ? "`flops` in the graph, or `watt` in the platform" : "`flop_per_joule` or `watt` in the platform");
  }
  if (runs) return PLIM_OK;
  return plim_fail(p->ctx, PLIM_EDATA, "op '%s' has no time on any device of platform %s: %s", op->name,
                   p->platform->name,
                   flops >= 0 ? "its FLOP need a device with `flop_per_second`"
                              : "the graph gives it no FLOP, and no duration on a device of that name");
}

/* ---- links ---- */

/* Spaces that node o's output can be in: where it is computed, and where links lead from there. */
static void find_spaces(const plim_space_problem *p, int32_t o, uint8_t *there) {
  const plim_platform *platform = p->platform;
  memset(there, 0, (size_t)platform->n_spaces);
  for (int32_t d = 0; d < platform->n_devices; d++) {
    if (plim_space_run_ns(p, o, d) >= 0) there[platform->device[d].space] = 1;
  }
  for (int more = 1; more;) {
    more = 0;
    for (int32_t l = 0; l < platform->n_links; l++) {
      const plim_platform_link *link = &platform->link[l];
      if (!there[link->from] || there[link->to] || plim_space_copy_ns(p, o, l) < 0) continue;
      there[link->to] = 1;
      more = 1;
    }
  }
}

/* The first input of node o that no link brings to a device; -1: all can be there. there [n][n_spaces]. */
static int32_t missing_input(const plim_space_problem *p, int32_t o, int32_t d, const uint8_t *there) {
  const plim_space_node *v = &p->node[o];
  for (int32_t i = 0; i < v->n_preds; i++) {
    if (!there[(int64_t)v->pred[i] * p->platform->n_spaces + p->platform->device[d].space]) return v->pred[i];
  }
  return -1;
}

static plim_status need_links(const plim_space_problem *p, uint8_t *there) {
  const plim_platform *platform = p->platform;
  for (int32_t o = 0; o < p->n; o++) {
    int32_t missing = -1, device = -1;
    find_spaces(p, o, there + (int64_t)o * platform->n_spaces);
    for (int32_t d = 0; d < platform->n_devices; d++) {
      if (plim_space_run_ns(p, o, d) < 0) continue;
      missing = missing_input(p, o, device = d, there);
      if (missing < 0) break;
    }
    if (missing < 0) continue;
    return plim_fail(p->ctx, PLIM_EUSAGE,
                     "op '%s' cannot run: platform %s has no link that brings the output of op '%s' to space %s of "
                     "device %s",
                     p->graph->op[o].name, platform->name, p->graph->op[missing].name,
                     platform->space[platform->device[device].space].name, platform->device[device].name);
  }
  return PLIM_OK;
}

static plim_status check_links(const plim_space_problem *p) {
  uint8_t *there = NULL;
  int64_t cells = (int64_t)p->n * p->platform->n_spaces;
  if (p->platform->n_devices == 1) return PLIM_OK;
  PLIM_TRY(plim_allocate(p->ctx, cells, sizeof *there, &there));
  plim_status status = need_links(p, there);
  plim_release(p->ctx, there, cells, sizeof *there);
  return status;
}

static void set_keep_all(plim_space_problem *p) {
  p->device_ns = INT64_MAX;
  for (int32_t o = 0; o < p->n; o++) {
    int64_t least = INT64_MAX;
    for (int32_t d = 0; d < p->platform->n_devices; d++) {
      int64_t ns = plim_space_run_ns(p, o, d);
      if (ns >= 0 && ns < least) least = ns;
    }
    p->fastest_ns = plim_integers_add_capped(p->fastest_ns, least);
  }
  for (int32_t d = 0; d < p->platform->n_devices; d++) {
    int64_t sum = 0;
    double joule = 0;
    for (int32_t o = 0; o < p->n && sum >= 0; o++) {
      sum = plim_space_run_ns(p, o, d) < 0 ? -1 : plim_integers_add_capped(sum, plim_space_run_ns(p, o, d));
      joule += plim_space_run_joule(p, o, d);
    }
    if (sum < 0 || sum >= p->device_ns) continue;
    p->device_ns = sum;
    p->device_joule = joule;
  }
}

plim_status plim_space_problem_check_times(const plim_space_problem *p) {
  if (p->fastest_ns < INT64_MAX / 4) return PLIM_OK;
  return plim_fail(p->ctx, PLIM_EOVERFLOW, "the times of all ops add up to more than 61 bits hold");
}

static plim_status fill_problem(plim_space_problem *p, int needs_energy) {
  PLIM_TRY(make_nodes(p));
  p->has_energy = 1;
  for (int32_t o = 0; o < p->n; o++) {
    for (int32_t d = 0; d < p->platform->n_devices; d++) {
      PLIM_TRY(set_run(p, o, d));
      if (plim_space_run_ns(p, o, d) >= 0 && plim_space_run_joule(p, o, d) < 0) p->has_energy = 0;
    }
    for (int32_t l = 0; l < p->platform->n_links; l++) PLIM_TRY(set_copy(p, o, l));
    PLIM_TRY(need_run(p, o, needs_energy));
  }
  for (int32_t l = 0; l < p->platform->n_links; l++) {
    if (p->platform->link[l].given) p->has_energy = 0;
  }
  PLIM_TRY(check_links(p));
  set_keep_all(p);
  return plim_space_problem_check_times(p);
}

plim_status plim_space_problem_make(const plim_graph *graph, const plim_platform *platform, int needs_energy,
                                    plim_space_problem **out) {
  plim_space_problem *p = NULL;
  PLIM_TRY(plim_space_problem_new(graph, platform, graph->n_ops, &p));
  p->n_edges = (int32_t)(p->n_ids / 2);
  plim_status status = fill_problem(p, needs_energy);
  if (status != PLIM_OK) {
    plim_space_problem_free(p);
    return status;
  }
  *out = p;
  return PLIM_OK;
}

int64_t plim_space_keep_all_bytes(const plim_graph *graph) {
  int64_t live = 0, peak = 0;
  for (int32_t o = 0; o < graph->n_ops; o++) {
    const plim_op *op = &graph->op[o];
    for (int32_t i = 0; i < op->n_writes; i++)
      live = plim_integers_add_capped(live, graph->storage[op->writes[i]].bytes);
    int64_t now = plim_integers_add_capped(live, graph->costs ? graph->costs->workspace[o] : 0);
    if (now > peak) peak = now;
    for (int32_t i = 0; i < op->n_reads; i++) {
      int32_t s = op->reads[i];
      if (graph->reader[graph->reader_first[s + 1] - 1] == o) live -= graph->storage[s].bytes;
    }
  }
  return peak;
}

int64_t plim_space_least_bytes(const plim_graph *graph) {
  int64_t least = 0;
  for (int32_t o = 0; o < graph->n_ops; o++) {
    const plim_op *op = &graph->op[o];
    int64_t bytes = graph->costs ? graph->costs->workspace[o] : 0;
    for (int32_t i = 0; i < op->n_writes; i++) bytes += graph->storage[op->writes[i]].bytes;
    for (int32_t i = 0; i < op->n_reads; i++) bytes += graph->storage[op->reads[i]].bytes;
    if (bytes > least) least = bytes;
  }
  return least;
}

const char *plim_space_time_unit(const plim_space_problem *p) {
  return plim_platform_has_own_times(p->platform, p->graph->costs) ? "" : " ns";
}
