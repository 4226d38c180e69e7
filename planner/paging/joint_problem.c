/* Makes the problem of planner/spaces of a training step: nodes, costs, links.
 *
 * Example: in space "arena" op 0 writes x and y, op 1 reads x, op 2 updates the parameter w. The problem has a node for
 * each op. Node 0 has the bytes of x and y together, node 1 reads node 0, and node 2 runs once, on the first device. w
 * has no node: its bytes are constant_bytes. */
#include "planner/paging/paging_internal.h"

#include <string.h>

#include "runtime/base/integers.h"

void plim_joint_problem_free(plim_joint_problem *joint) {
  if (!joint) return;
  plim_space_problem_free(joint->problem);
  plim_platform_free(joint->platform);
  plim_release(joint->ctx, joint->given, joint->graph->n_storages, sizeof *joint->given);
  plim_release(joint->ctx, joint->node, joint->graph->n_storages, sizeof *joint->node);
  plim_release(joint->ctx, joint->variant, joint->graph->n_ops, sizeof *joint->variant);
  plim_release(joint->ctx, joint, 1, sizeof *joint);
}

/* ---- platform ---- */

static void count_places(const plim_queue_spaces *s, int32_t *devices, int32_t *links) {
  *devices = *links = 0;
  for (int32_t from = 0; from < s->n; from++) {
    *devices += s->computes[from] != 0;
    for (int32_t to = 0; to < s->n; to++) *links += s->bytes_per_ns[from][to] > 0;
  }
}

/* The one place where the two descriptions of devices, spaces and links meet: the spaces of options->paging
 * (plim_queue_spaces) become a platform, each with the same index. The problem has the times of copies and the powers,
 * so that the platform has neither. */
static plim_status make_platform(plim_joint_problem *joint) {
  const plim_queue_spaces *s = joint->spaces;
  int32_t devices, links, d = 0, l = 0;
  count_places(s, &devices, &links);
  PLIM_TRY(plim_platform_new(joint->ctx, devices, s->n, links, &joint->platform));
  for (int32_t from = 0; from < s->n; from++) {
    if (s->computes[from]) joint->platform->device[d++].space = from;
    for (int32_t to = 0; to < s->n; to++) {
      if (s->bytes_per_ns[from][to] <= 0) continue;
      joint->platform->link[l++] = (plim_platform_link){.from = from, .to = to, .duplex = 1, .given = 1};
    }
  }
  return PLIM_OK;
}

/* ---- nodes ---- */

static int is_output(const plim_joint_problem *joint, int32_t storage) {
  return joint->graph->storage[storage].role == PLIM_ROLE_OUTPUT;
}

/* Given storages that an op reads are nodes where another device may read them. */
static plim_status find_nodes(plim_joint_problem *joint) {
  const plim_graph *g = joint->graph;
  int64_t constant = 0;
  for (int32_t s = 0; s < g->n_storages; s++) {
    int64_t bytes = plim_align_up(g->storage[s].bytes, PLIM_ALIGN);
    int is_node =
        joint->platform->n_devices > 1 && g->storage[s].producer < 0 && g->reader_first[s + 1] > g->reader_first[s];
    joint->node[s] = -1;
    if (is_node) {
      joint->node[s] = joint->n_given;
      joint->given[joint->n_given++] = s;
    }
    if (g->storage[s].producer < 0 || is_output(joint, s)) {
      constant = plim_add_checked(constant, bytes);
      if (constant < 0) return plim_fail(joint->ctx, PLIM_EOVERFLOW, "the bytes of the graph exceed 63 bits");
    }
  }
  for (int32_t o = 0; o < g->n_ops; o++) {
    for (int32_t i = 0; i < g->op[o].n_writes; i++) joint->node[g->op[o].writes[i]] = joint->n_given + o;
  }
  joint->constant_bytes = constant;
  return PLIM_OK;
}

/* The nodes that op o reads, ascending, each once. */
static int32_t find_preds(const plim_joint_problem *joint, int32_t o, int32_t *pred) {
  const plim_op *op = &joint->graph->op[o];
  int32_t n = 0;
  for (int32_t i = 0; i < op->n_reads; i++) {
    int32_t node = joint->node[op->reads[i]], at = n;
    while (at > 0 && pred[at - 1] > node) at--;
    if (node < 0 || (at > 0 && pred[at - 1] == node)) continue;
    memmove(pred + at + 1, pred + at, (size_t)(n - at) * sizeof *pred);
    pred[at] = node;
    n++;
  }
  return n;
}

static void link_nodes(plim_joint_problem *joint) {
  plim_space_problem *p = joint->problem;
  int32_t *next = p->ids;
  for (int32_t v = 0; v < p->n; v++) {
    p->node[v].pred = next;
    if (plim_joint_op(joint, v) >= 0) p->node[v].n_preds = find_preds(joint, plim_joint_op(joint, v), next);
    next += p->node[v].n_preds;
    p->n_edges += p->node[v].n_preds;
    for (int32_t i = 0; i < p->node[v].n_preds; i++) p->node[p->node[v].pred[i]].n_succs++;
  }
  for (int32_t v = 0; v < p->n; v++) {
    p->node[v].succ = next;
    next += p->node[v].n_succs;
    p->node[v].n_succs = 0;
  }
  for (int32_t v = 0; v < p->n; v++) {
    for (int32_t i = 0; i < p->node[v].n_preds; i++) {
      plim_space_node *u = &p->node[p->node[v].pred[i]];
      p->ids[u->succ - p->ids + u->n_succs++] = v;
    }
  }
}

static void set_node(plim_joint_problem *joint, int32_t v, const plim_plan *base) {
  const plim_graph *g = joint->graph;
  plim_space_node *node = &joint->problem->node[v];
  int32_t o = plim_joint_op(joint, v);
  *node = (plim_space_node){.storage = o < 0 ? joint->given[v] : -1, .once = 1};
  if (o >= 0) {
    const plim_op *op = &g->op[o];
    node->once = op->cls == PLIM_OP_ONCE || op->cls == PLIM_OP_EFFECT;
    node->workspace = plim_align_up(base->variant[joint->variant[o]].variant.workspace_bytes, PLIM_ALIGN);
    for (int32_t i = 0; i < op->n_writes; i++) {
      if (is_output(joint, op->writes[i])) continue;
      node->storage = op->writes[i];
      node->bytes += plim_align_up(g->storage[op->writes[i]].bytes, PLIM_ALIGN);
    }
  }
  joint->problem->bytes_unit =
      plim_integers_gcd(plim_integers_gcd(joint->problem->bytes_unit, node->bytes), node->workspace);
}

/* ---- costs ---- */

static void set_runs(plim_joint_problem *joint, int32_t v, const plim_plan *base) {
  plim_space_problem *p = joint->problem;
  int32_t o = plim_joint_op(joint, v), devices = joint->platform->n_devices;
  int anywhere = o >= 0 && joint->graph->op[o].n_updates == 0; /* what is updated stays in the arena */
  int64_t ns = o < 0 ? 0 : base->variant[joint->variant[o]].variant.time_ns;
  for (int32_t d = 0; d < devices; d++) p->run_ns[(int64_t)v * devices + d] = d == 0 || anywhere ? ns : -1;
  p->fastest_ns = plim_integers_add_capped(p->fastest_ns, ns);
}

static int64_t node_copy_ns(const plim_joint_problem *joint, int32_t v, const plim_platform_link *link) {
  int32_t o = plim_joint_op(joint, v);
  int64_t ns = 0;
  if (o < 0) {
    /* what stays in the arena is not paged out of it */
    if (!joint->spaces->computes[link->to] || link->to == 0) return -1;
    return plim_queue_copy_ns(joint->spaces, link->from, link->to, joint->graph->storage[joint->given[v]].bytes);
  }
  const plim_op *op = &joint->graph->op[o];
  for (int32_t i = 0; i < op->n_writes; i++) {
    int64_t bytes = joint->graph->storage[op->writes[i]].bytes;
    if (bytes > 0) {
      ns = plim_integers_add_capped(ns, plim_queue_copy_ns(joint->spaces, link->from, link->to, bytes));
    }
  }
  return ns;
}

/* What the runs and copies of a node draw for their times. */
static void set_joules(plim_joint_problem *joint, int32_t v, const plim_powers *powers) {
  plim_space_problem *p = joint->problem;
  int32_t devices = joint->platform->n_devices, links = joint->platform->n_links;
  for (int32_t d = 0; d < devices; d++) {
    p->run_joule[(int64_t)v * devices + d] =
        powers->device_watt[joint->platform->device[d].space] * 1e-9 * (double)plim_space_run_ns(p, v, d);
  }
  for (int32_t l = 0; l < links; l++) {
    const plim_platform_link *link = &joint->platform->link[l];
    p->copy_joule[(int64_t)v * links + l] =
        powers->link_watt[link->from][link->to] * 1e-9 * (double)plim_space_copy_ns(p, v, l);
  }
  p->device_joule += plim_space_run_joule(p, v, 0);
}

static void set_costs(plim_joint_problem *joint, const plim_plan *base, const plim_powers *powers) {
  plim_space_problem *p = joint->problem;
  for (int32_t v = 0; v < p->n; v++) {
    set_runs(joint, v, base);
    for (int32_t l = 0; l < joint->platform->n_links; l++) {
      p->copy_ns[(int64_t)v * joint->platform->n_links + l] = node_copy_ns(joint, v, &joint->platform->link[l]);
    }
  }
  p->device_ns = p->fastest_ns;
  p->has_energy = powers != NULL;
  for (int32_t v = 0; v < p->n && powers; v++) set_joules(joint, v, powers);
  if (powers) joint->platform->device[0].idle_watt = powers->idle_watt;
}

/* ---- the whole ---- */

static plim_status fill_problem(plim_joint_problem *joint, const plim_plan *base, const plim_powers *powers) {
  const plim_graph *g = joint->graph;
  PLIM_TRY(plim_allocate(joint->ctx, g->n_storages, sizeof *joint->given, &joint->given));
  PLIM_TRY(plim_allocate(joint->ctx, g->n_storages, sizeof *joint->node, &joint->node));
  PLIM_TRY(plim_allocate(joint->ctx, g->n_ops, sizeof *joint->variant, &joint->variant));
  for (int32_t c = base->n_commands - 1; c >= 0; c--) {
    const plim_command *command = &base->command[c];
    if (command->kind == PLIM_COMMAND_RUN) joint->variant[command->op] = command->variant;
  }
  PLIM_TRY(make_platform(joint));
  PLIM_TRY(find_nodes(joint));
  PLIM_TRY(plim_space_problem_new(g, joint->platform, joint->n_given + g->n_ops, &joint->problem));
  for (int32_t v = 0; v < joint->problem->n; v++) set_node(joint, v, base);
  if (joint->problem->bytes_unit == 0) joint->problem->bytes_unit = 1;
  link_nodes(joint);
  set_costs(joint, base, powers);
  return plim_space_problem_check_times(joint->problem);
}

plim_status plim_joint_problem_make(const plim_graph *graph, const plim_queue_spaces *spaces, const plim_plan *base,
                                    const plim_powers *powers, plim_joint_problem **out) {
  plim_joint_problem *joint = NULL;
  PLIM_TRY(plim_allocate(graph->ctx, 1, sizeof *joint, &joint));
  *joint = (plim_joint_problem){.ctx = graph->ctx, .graph = graph, .spaces = spaces};
  plim_status status = fill_problem(joint, base, powers);
  if (status != PLIM_OK) {
    plim_joint_problem_free(joint);
    return status;
  }
  *out = joint;
  return PLIM_OK;
}
