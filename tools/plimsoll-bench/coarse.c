/* Coarse problems: groups of ops as one op each. */
#include <stdio.h>
#include <string.h>

#include "tools/plimsoll-bench/peers_internal.h"

/* ==== groups ==== */

/* Fusing takes no path away that contraction would close to a cycle: a fused op goes away, and its readers inherit what
 * it needs. Source: node grouping of Imanishi et al., "A fast heuristic to optimize time-space tradeoff for large
 * models", NeurIPS 2023; the limits on readers and members are ours. */

static int contains(const plim_ids *list, int32_t value) {
  for (int32_t i = 0; i < list->n; i++) {
    if (list->at[i] == value) return 1;
  }
  return 0;
}

static int is_member(const plim_groups *g, int32_t group, int32_t op) {
  for (int32_t k = 0; k < g->n_members[group]; k++) {
    if (g->member[group][k] == op) return 1;
  }
  return 0;
}

/* Of what the group does not make itself; what two members read counts once. */
static int64_t bytes_read(const plim_problem *p, const plim_groups *g, int32_t group) {
  int64_t bytes = 0;
  for (int32_t k = 0; k < g->n_members[group]; k++) {
    const plim_ids *reads = &p->op[g->member[group][k]].reads;
    for (int32_t i = 0; i < reads->n; i++) {
      int32_t producer = p->item[reads->at[i]].producer, seen = producer >= 0 && is_member(g, group, producer);
      for (int32_t e = 0; e < k && !seen; e++) seen = contains(&p->op[g->member[group][e]].reads, reads->at[i]);
      if (!seen) bytes += p->item[reads->at[i]].bytes;
    }
  }
  return bytes;
}

static int reads_from(const plim_problem *p, int32_t reader, int32_t op) {
  for (int32_t i = 0; i < p->op[op].writes.n; i++) {
    if (contains(&p->op[reader].reads, p->op[op].writes.at[i])) return 1;
  }
  return 0;
}

/* May the op run wherever this one runs, which is after it? */
static int may_follow(const plim_problem *p, const plim_groups *g, int32_t op, int32_t reader) {
  if (!reads_from(p, reader, op)) return 0; /* an update that the op must see first, or the other way round */
  for (int32_t i = 0; i < p->op[op].closed_by.n; i++) {
    if (!contains(&p->op[reader].closed_by, p->op[op].closed_by.at[i])) return 0;
  }
  int32_t joined = g->n_members[reader];
  for (int32_t k = 0; k < g->n_members[op]; k++) joined += !is_member(g, reader, g->member[op][k]);
  return joined <= PLIM_GROUP_MAX && (!p->has_fixed_order || reader == op + 1);
}

static int may_fuse(const plim_problem *p, const plim_groups *g, int32_t op, int32_t most_readers) {
  const plim_planned_op *v = &p->op[op];
  if (v->runs_once || v->succs.n == 0 || v->succs.n > most_readers || v->closes.n > 0) return 0;
  if (p->has_fixed_order && v->succs.n > 1) return 0;
  for (int32_t i = 0; i < v->writes.n; i++) {
    if (p->item[v->writes.at[i]].is_output) return 0;
  }
  for (int32_t i = 0; i < v->succs.n; i++) {
    if (!may_follow(p, g, op, v->succs.at[i])) return 0;
  }
  return bytes_read(p, g, op) <= plim_problem_bytes_written(p, op);
}

/* Both lists ascend; the reader is the last of its group. */
static void join(plim_groups *g, int32_t reader, int32_t op) {
  int32_t joined[PLIM_GROUP_MAX], n = 0, i = 0, k = 0;
  const int32_t *a = g->member[reader], *b = g->member[op];
  while (i < g->n_members[reader] || k < g->n_members[op]) {
    int from_a = k >= g->n_members[op] || (i < g->n_members[reader] && a[i] <= b[k]);
    int32_t next = from_a ? a[i++] : b[k++];
    if (n == 0 || joined[n - 1] != next) joined[n++] = next;
  }
  memcpy(g->member[reader], joined, (size_t)n * sizeof *joined);
  g->n_members[reader] = n;
}

/* Leaves it empty. */
static void free_groups(plim_groups *g) {
  plim_release(g->ctx, g->member, g->n_ops, sizeof *g->member);
  plim_release(g->ctx, g->n_members, g->n_ops, sizeof *g->n_members);
  *g = (plim_groups){.ctx = g->ctx};
}

/* In program order, fuse an op (with what was fused into it) into its readers, at most so many, when what it reads is
 * no larger than what it writes: then forgetting what it wrote costs its time and no bytes. What must run once, is
 * kept to the end or would run on the wrong side of an update stays alone; where program order is fixed, so does what
 * does not run right before its reader. O(operands x group). */
static plim_status make_groups(const plim_problem *p, int32_t most_readers, plim_groups *out) {
  plim_groups g = {.ctx = p->ctx, .n_ops = p->n_ops};
  plim_status status = plim_allocate(p->ctx, p->n_ops, sizeof *g.member, &g.member);
  if (status == PLIM_OK) status = plim_allocate(p->ctx, p->n_ops, sizeof *g.n_members, &g.n_members);
  if (status != PLIM_OK) {
    free_groups(&g);
    return status;
  }
  for (int32_t v = 0; v < p->n_ops; v++) {
    g.member[v][0] = v;
    g.n_members[v] = 1;
  }
  for (int32_t v = 0; v < p->n_ops; v++) {
    if (!may_fuse(p, &g, v, most_readers)) continue;
    for (int32_t i = 0; i < p->op[v].succs.n; i++) join(&g, p->op[v].succs.at[i], v);
    g.n_members[v] = 0;
  }
  *out = g;
  return PLIM_OK;
}

/* ==== coarse ==== */

/* The coarse graph has a storage for each one that is not hidden inside of groups. While a group runs, what it hides is
 * its workspace, beside all that it reads and writes: no less than what its members need one after the other. */

enum { NAME_BYTES = 32 };

typedef struct maker {
  plim_coarse *c;
  const plim_problem *fine;
  plim_graph_builder *builder;
  int32_t *value;   /* [n_storages] of the coarse graph, -1: hidden */
  int32_t *inputs;  /* [n_storages] scratch: storages that a group reads */
  int32_t *results; /* [n_storages] scratch: values that it writes, then those that it updates */
  int32_t *seen_by; /* [n_storages] the last group that did */
  int32_t n_inputs;
} maker;

static int is_hidden(const maker *m, int32_t storage) {
  int32_t producer = m->fine->graph->storage[storage].producer;
  return producer >= 0 && m->c->groups.n_members[producer] == 0;
}

static plim_status add_storages(maker *m) {
  const plim_graph *g = m->fine->graph;
  for (int32_t s = 0; s < g->n_storages; s++) {
    const plim_storage *from = &g->storage[s];
    char name[NAME_BYTES];
    int32_t storage;
    m->value[s] = m->seen_by[s] = -1;
    if (is_hidden(m, s)) continue;
    plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &from->bytes);
    (void)snprintf(name, sizeof name, "storage#%d", s);
    PLIM_TRY(plim_graph_add_storage(m->builder, from->role, from->bytes, &storage));
    PLIM_TRY(plim_graph_add_value(m->builder, name, storage, 0, &shape, &m->value[s]));
  }
  return PLIM_OK;
}

/* Storages that the group reads and does not hide, as values: m->inputs. */
static void list_inputs(maker *m, int32_t v) {
  m->n_inputs = 0;
  for (int32_t k = 0; k < m->c->groups.n_members[v]; k++) {
    const plim_op *op = &m->fine->graph->op[m->c->groups.member[v][k]];
    for (int32_t i = 0; i < op->n_reads; i++) {
      int32_t s = op->reads[i];
      if (m->value[s] < 0 || m->seen_by[s] == v) continue;
      m->seen_by[s] = v;
      m->inputs[m->n_inputs++] = m->value[s];
    }
  }
}

static int32_t position(const int32_t *list, int32_t n, int32_t value) {
  int32_t at = 0;
  while (at < n && list[at] != value) at++;
  return at < n ? at : -1;
}

/* The pairs of the group's last op between storages that both exist. */
static void list_pairs(const maker *m, int32_t v, plim_op_spec *spec) {
  const plim_problem *p = m->fine;
  const plim_planned_op *op = &p->op[v];
  for (int32_t k = 0; k < op->n_overwrites && spec->n_pairs < PLIM_OP_MAX_PAIRS; k++) {
    const plim_overwrite *w = &op->overwrite[k];
    int32_t in = position(m->inputs, m->n_inputs, m->value[p->item[w->in].storage]);
    int32_t out = position(m->results, spec->n_out, m->value[p->item[op->writes.at[w->out_index]].storage]);
    if (in >= 0 && out >= 0) spec->pair[spec->n_pairs++] = (plim_pair){.in = in, .out = out};
  }
}

static plim_status add_group(maker *m, int32_t v) {
  const plim_op *op = &m->fine->graph->op[v];
  char name[NAME_BYTES];
  int32_t added;
  (void)snprintf(name, sizeof name, "group#%d", v);
  list_inputs(m, v);
  plim_op_spec spec = {.name = name,
                       .kind = PLIM_OP_CUSTOM,
                       .cls = op->cls,
                       .phase = op->phase,
                       .n_in = m->n_inputs,
                       .many_in = m->inputs,
                       .n_out = op->n_writes,
                       .many_out = m->results,
                       .n_upd = op->n_updates,
                       .many_upd = m->results + op->n_writes,
                       .time_ns = -1};
  for (int32_t i = 0; i < op->n_writes; i++) m->results[i] = m->value[op->writes[i]];
  for (int32_t i = 0; i < op->n_updates; i++) m->results[op->n_writes + i] = m->value[op->updates[i]];
  list_pairs(m, v, &spec);
  PLIM_TRY(plim_graph_add_op(m->builder, &spec, &added));
  m->c->op_of[added] = v;
  return PLIM_OK;
}

static plim_status build_graph(maker *m) {
  const plim_graph *g = m->fine->graph;
  plim_coarse *c = m->c;
  PLIM_TRY(plim_graph_begin(m->fine->ctx, g->name, g->batch, &m->builder));
  PLIM_TRY(add_storages(m));
  for (int32_t v = 0; v < g->n_ops; v++) {
    if (c->groups.n_members[v] > 0) PLIM_TRY(add_group(m, v));
  }
  plim_status status = plim_graph_end(m->builder, &c->graph);
  m->builder = NULL; /* freed in every case */
  return status;
}

/* Time of the members one after the other, and the most that they hold besides what the group reads and writes. */
static plim_variant cost_of(const plim_coarse *c, int32_t v) {
  const plim_problem *p = c->fine;
  plim_variant cost = {.name = "group", .numerics_key = "group"};
  int64_t hidden = 0;
  for (int32_t k = 0; k < c->groups.n_members[v]; k++) {
    int32_t a = c->groups.member[v][k];
    const plim_choice *choice = &p->op[a].choice[0];
    for (int32_t i = 0; i < p->op[a].writes.n && a != v; i++) hidden += p->item[p->op[a].writes.at[i]].bytes;
    cost.time_ns += choice->time_ns;
    int64_t bytes = hidden + choice->workspace_bytes;
    if (bytes > cost.workspace_bytes) cost.workspace_bytes = bytes;
  }
  return cost;
}

static plim_status build_profile(plim_coarse *c) {
  plim_context *ctx = c->fine->ctx;
  plim_machine machine = {.device = "sim"};
  int32_t n = c->graph->n_ops, *first = NULL;
  plim_variant *variant = NULL;
  plim_status status = plim_allocate(ctx, (int64_t)n + 1, sizeof *first, &first);
  if (status == PLIM_OK) status = plim_allocate(ctx, n, sizeof *variant, &variant);
  for (int32_t i = 0; i < n && status == PLIM_OK; i++) {
    first[i + 1] = i + 1;
    variant[i] = cost_of(c, c->op_of[i]);
  }
  if (status == PLIM_OK) status = plim_profile_make(c->graph, &machine, 0, first, variant, &c->profile);
  plim_release(ctx, first, (int64_t)n + 1, sizeof *first);
  plim_release(ctx, variant, n, sizeof *variant);
  return status;
}

static plim_status build(maker *m) {
  const plim_problem *p = m->fine;
  plim_plan_options options = plim_plan_options_default();
  int32_t n = p->graph->n_storages;
  options.unpacked = p->align == 1;
  PLIM_TRY(plim_allocate(p->ctx, p->n_ops, sizeof *m->c->op_of, &m->c->op_of));
  PLIM_TRY(plim_allocate(p->ctx, n, sizeof *m->value, &m->value));
  PLIM_TRY(plim_allocate(p->ctx, n, sizeof *m->inputs, &m->inputs));
  PLIM_TRY(plim_allocate(p->ctx, n, sizeof *m->results, &m->results));
  PLIM_TRY(plim_allocate(p->ctx, n, sizeof *m->seen_by, &m->seen_by));
  PLIM_TRY(build_graph(m));
  PLIM_TRY(build_profile(m->c));
  return plim_problem_make(p->ctx, m->c->graph, m->c->profile, &options, p->plan_class, &m->c->problem);
}

plim_status plim_coarse_make(const plim_problem *p, int32_t most_readers, plim_coarse **out) {
  plim_coarse *c = NULL;
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof *c, &c));
  c->fine = p;
  maker m = {.c = c, .fine = p};
  plim_status status = make_groups(p, most_readers, &c->groups);
  if (status == PLIM_OK) status = build(&m);
  plim_graph_builder_free(m.builder);
  plim_release(p->ctx, m.value, p->graph->n_storages, sizeof *m.value);
  plim_release(p->ctx, m.inputs, p->graph->n_storages, sizeof *m.inputs);
  plim_release(p->ctx, m.results, p->graph->n_storages, sizeof *m.results);
  plim_release(p->ctx, m.seen_by, p->graph->n_storages, sizeof *m.seen_by);
  if (status != PLIM_OK) {
    plim_coarse_free(c);
    return status;
  }
  *out = c;
  return PLIM_OK;
}

void plim_coarse_free(plim_coarse *c) {
  if (!c) return;
  plim_context *ctx = c->fine->ctx;
  plim_problem_free(c->problem);
  plim_profile_free(c->profile);
  plim_graph_free(c->graph);
  plim_release(ctx, c->op_of, c->fine->n_ops, sizeof *c->op_of);
  free_groups(&c->groups);
  plim_release(ctx, c, 1, sizeof *c);
}

plim_status plim_coarse_expand(const plim_coarse *c, const plim_schedule *schedule, plim_schedule *out) {
  out->n = 0;
  for (int32_t j = 0; j < schedule->n; j++) {
    int32_t v = c->op_of[schedule->op[j]];
    for (int32_t k = 0; k < c->groups.n_members[v]; k++) PLIM_TRY(plim_schedule_add(out, c->groups.member[v][k], 0));
  }
  return PLIM_OK;
}
