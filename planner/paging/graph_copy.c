/* A copy of a graph from which storages and ops can be left out. */
#include "planner/paging/page_plan.h"

#include <stdio.h>

static int64_t most_ops(const plim_graph_copy *c) {
  return (int64_t)c->from->n_ops + c->more_ops;
}

static int64_t most_variants(const plim_graph_copy *c) {
  return (int64_t)c->profile->first[c->from->n_ops] + c->more_ops;
}

/* Operands of the op that has most, and twice its inputs and updates, to which a copy may add marks. */
static int64_t most_operands(const plim_graph *g) {
  int64_t most = 1;
  for (int32_t o = 0; o < g->n_ops; o++) {
    const int64_t n = 2 * (int64_t)g->op[o].n_in + g->op[o].n_out + 2 * (int64_t)g->op[o].n_upd;
    if (n > most) most = n;
  }
  return most;
}

plim_status plim_graph_copy_begin(plim_context *ctx, const plim_graph *from, const plim_profile *profile,
                                  int32_t more_ops, plim_graph_copy *out) {
  *out = (plim_graph_copy){.ctx = ctx, .from = from, .profile = profile, .more_ops = more_ops};
  PLIM_TRY(plim_allocate(ctx, most_operands(from), sizeof *out->operand, &out->operand));
  PLIM_TRY(plim_allocate(ctx, most_ops(out) + 1, sizeof *out->first, &out->first));
  PLIM_TRY(plim_allocate(ctx, most_variants(out), sizeof *out->variant, &out->variant));
  return plim_graph_begin(ctx, from->name, from->batch, &out->builder);
}

void plim_graph_copy_free(plim_graph_copy *c) {
  if (!c->from) return;
  plim_graph_builder_free(c->builder);
  plim_release(c->ctx, c->operand, most_operands(c->from), sizeof *c->operand);
  plim_release(c->ctx, c->first, most_ops(c) + 1, sizeof *c->first);
  plim_release(c->ctx, c->variant, most_variants(c), sizeof *c->variant);
}

plim_shape plim_graph_copy_bytes(int64_t bytes) {
  return plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
}

plim_op_spec plim_graph_copy_spec(const plim_graph_copy *c, int32_t o) {
  const plim_op *op = &c->from->op[o];
  plim_op_spec spec = {.name = op->name,
                       .kind = op->kind,
                       .cls = op->cls,
                       .phase = op->phase,
                       .attrs = op->attrs,
                       .n_pairs = op->n_pairs,
                       .time_ns = op->time_ns};
  for (int32_t i = 0; i < op->n_pairs; i++) spec.pair[i] = op->pair[i];
  return spec;
}

plim_status plim_graph_copy_add(plim_graph_copy *c, const plim_op_spec *spec, int32_t op, int32_t *id) {
  PLIM_TRY(plim_graph_add_op(c->builder, spec, id));
  c->first[*id] = c->n_variants;
  for (int32_t i = c->profile->first[op]; i < c->profile->first[op + 1]; i++) {
    c->variant[c->n_variants++] = c->profile->variant[i];
  }
  c->first[*id + 1] = c->n_variants;
  return PLIM_OK;
}

plim_status plim_graph_copy_add_own(plim_graph_copy *c, const plim_op_spec *spec, const char *name, int64_t time_ns,
                                    int32_t *id) {
  PLIM_TRY(plim_graph_add_op(c->builder, spec, id));
  plim_variant *row = &c->variant[c->n_variants];
  *row = (plim_variant){.time_ns = time_ns};
  (void)snprintf(row->name, sizeof row->name, "%s", name);
  (void)snprintf(row->numerics_key, sizeof row->numerics_key, "%s", name);
  c->first[*id] = c->n_variants++;
  c->first[*id + 1] = c->n_variants;
  return PLIM_OK;
}

plim_status plim_graph_copy_end(plim_graph_copy *c, plim_graph **graph, plim_profile **profile) {
  plim_graph_builder *builder = c->builder;
  c->builder = NULL; /* freed by the next call in any case */
  PLIM_TRY(plim_graph_end(builder, graph));
  return plim_profile_make(*graph, &c->profile->machine, c->profile->measured, c->first, c->variant, profile);
}
