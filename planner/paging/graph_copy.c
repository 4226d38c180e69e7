/* A copy of a graph from which storages and ops can be left out. */
#include "planner/paging/paging_internal.h"

#include <stdio.h>

static int64_t op_capacity(const plim_graph_copy *copy) {
  return (int64_t)copy->from->n_ops + copy->more_ops;
}

static int64_t variant_capacity(const plim_graph_copy *copy) {
  return (int64_t)copy->profile->first[copy->from->n_ops] + copy->more_ops;
}

/* Operands of the op that has most, and twice its inputs and updates, to which a copy may add marks. */
static int64_t operand_capacity(const plim_graph *g) {
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
  PLIM_TRY(plim_allocate(ctx, operand_capacity(from), sizeof *out->operand, &out->operand));
  PLIM_TRY(plim_allocate(ctx, op_capacity(out) + 1, sizeof *out->first, &out->first));
  PLIM_TRY(plim_allocate(ctx, variant_capacity(out), sizeof *out->variant, &out->variant));
  return plim_graph_begin(ctx, from->name, from->batch, &out->builder);
}

void plim_graph_copy_free(plim_graph_copy *copy) {
  if (!copy->from) return;
  plim_graph_builder_free(copy->builder);
  plim_release(copy->ctx, copy->operand, operand_capacity(copy->from), sizeof *copy->operand);
  plim_release(copy->ctx, copy->first, op_capacity(copy) + 1, sizeof *copy->first);
  plim_release(copy->ctx, copy->variant, variant_capacity(copy), sizeof *copy->variant);
}

plim_shape plim_graph_copy_bytes(int64_t bytes) {
  return plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
}

plim_op_spec plim_graph_copy_spec(const plim_graph_copy *copy, int32_t o) {
  const plim_op *op = &copy->from->op[o];
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

plim_status plim_graph_copy_add(plim_graph_copy *copy, const plim_op_spec *spec, int32_t op, int32_t *id) {
  PLIM_TRY(plim_graph_add_op(copy->builder, spec, id));
  copy->first[*id] = copy->n_variants;
  for (int32_t i = copy->profile->first[op]; i < copy->profile->first[op + 1]; i++) {
    copy->variant[copy->n_variants++] = copy->profile->variant[i];
  }
  copy->first[*id + 1] = copy->n_variants;
  return PLIM_OK;
}

plim_status plim_graph_copy_add_own(plim_graph_copy *copy, const plim_op_spec *spec, const char *name, int64_t time_ns,
                                    int32_t *id) {
  PLIM_TRY(plim_graph_add_op(copy->builder, spec, id));
  plim_variant *row = &copy->variant[copy->n_variants];
  *row = (plim_variant){.time_ns = time_ns};
  (void)snprintf(row->name, sizeof row->name, "%s", name);
  (void)snprintf(row->numerics_key, sizeof row->numerics_key, "%s", name);
  copy->first[*id] = copy->n_variants++;
  copy->first[*id + 1] = copy->n_variants;
  return PLIM_OK;
}

plim_status plim_graph_copy_end(plim_graph_copy *copy, plim_graph **graph, plim_profile **profile) {
  plim_graph_builder *builder = copy->builder;
  copy->builder = NULL; /* freed by the next call in any case */
  PLIM_TRY(plim_graph_end(builder, graph));
  return plim_profile_make(*graph, &copy->profile->machine, copy->profile->measured, copy->first, copy->variant,
                           profile);
}
