/* Makes a graph of a DAG: groups the links by the node that reads, and adds the ops in program order. */
#include "runtime/import/node_link.h"

#include <stdio.h>

#include "runtime/base/groups.h"
#include "runtime/base/text.h"

enum { SHOWN_NAME = 200 /* characters of a name that are kept */ };

typedef struct maker {
  plim_context *ctx;
  const plim_node_link *nodes;
  plim_graph_builder *builder;
  int32_t *first; /* [n + 1] inputs of a node: from[first[v] .. first[v + 1]) */
  int32_t *from;  /* [n_links] */
  int32_t *value; /* [n] of the graph, by node */
  int32_t *input; /* [n] scratch: inputs of one op */
} maker;

/* Copy at most SHOWN_NAME characters, made printable. text [SHOWN_NAME + 1] */
static const char *clean_name(const char *name, char *text) {
  (void)snprintf(text, SHOWN_NAME + 1, "%s", name ? name : "");
  plim_text_make_printable(text);
  return text;
}

static void group_inputs(maker *m) {
  const plim_node_link *d = m->nodes;
  for (int32_t i = 0; i < d->n_links; i++) m->first[d->link[i].to]++;
  plim_groups_sum(m->first, d->n);
  for (int32_t i = d->n_links - 1; i >= 0; i--) m->from[--m->first[d->link[i].to]] = d->link[i].from;
}

static plim_status add_op(maker *m, int32_t v) {
  const plim_node *node = &m->nodes->node[v];
  char clean[SHOWN_NAME + 1], name[SHOWN_NAME + 32];
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &node->bytes);
  int32_t op = 0, n_in = 0;
  int64_t id = node->id >= 0 ? node->id : v;
  (void)snprintf(name, sizeof name, "%s#%lld", clean_name(node->name, clean), (long long)id);
  PLIM_TRY(plim_graph_add(m->builder, name, PLIM_ROLE_ACTIVATION, &shape, &m->value[v]));
  for (int32_t k = m->first[v]; k < m->first[v + 1]; k++) m->input[n_in++] = m->value[m->from[k]];
  plim_op_spec spec = {.name = name,
                       .kind = PLIM_OP_CUSTOM,
                       .cls = PLIM_OP_PURE,
                       .phase = node->phase,
                       .n_in = n_in,
                       .many_in = m->input,
                       .n_out = 1,
                       .out = {m->value[v]},
                       .time_ns = node->time_ns,
                       .id = node->id >= 0 ? &node->id : NULL};
  return plim_graph_add_op(m->builder, &spec, &op);
}

static plim_status build(maker *m, plim_graph **out) {
  const plim_node_link *d = m->nodes;
  char name[SHOWN_NAME + 1];
  const char *called = d->name && d->name[0] ? d->name : "imported";
  PLIM_TRY(plim_allocate(m->ctx, (int64_t)d->n + 1, sizeof *m->first, &m->first));
  PLIM_TRY(plim_allocate(m->ctx, d->n_links, sizeof *m->from, &m->from));
  PLIM_TRY(plim_allocate(m->ctx, d->n, sizeof *m->value, &m->value));
  PLIM_TRY(plim_allocate(m->ctx, d->n, sizeof *m->input, &m->input));
  group_inputs(m);
  PLIM_TRY(plim_graph_begin(m->ctx, clean_name(called, name), 0, &m->builder));
  if (d->unpacked) plim_graph_set_unpacked(m->builder);
  if (d->costs) {
    plim_graph_set_costs(m->builder, *d->costs);
    *d->costs = NULL;
  }
  for (int32_t i = 0; i < d->n; i++) PLIM_TRY(add_op(m, d->order ? d->order[i] : i));
  plim_status status = plim_graph_end(m->builder, out);
  m->builder = NULL; /* freed in every case */
  return status;
}

plim_status plim_node_link_graph(plim_context *ctx, const plim_node_link *nodes, plim_graph **out) {
  maker m = {.ctx = ctx, .nodes = nodes};
  plim_status status = build(&m, out);
  plim_graph_builder_free(m.builder);
  plim_release(ctx, m.first, (int64_t)nodes->n + 1, sizeof *m.first);
  plim_release(ctx, m.from, nodes->n_links, sizeof *m.from);
  plim_release(ctx, m.value, nodes->n, sizeof *m.value);
  plim_release(ctx, m.input, nodes->n, sizeof *m.input);
  return status;
}
