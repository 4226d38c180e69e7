/* Makes a graph from its builder: copies the rows into one block, fills the derived tables, checks the rules about the
 * whole graph, and hashes the canonical text for the fingerprint. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/sha256.h"
#include "runtime/graph/builder_internal.h"
#include "runtime/graph/graph_internal.h"
#include "runtime/graph/graph_text.h"

typedef struct counts {
  int64_t operands, pairs;
  int64_t many; /* operands of long lists */
} counts;

static int64_t many_of(int32_t n, int32_t capacity) {
  return n > capacity ? n : 0;
}

static counts count_lists(const plim_graph_builder *builder) {
  counts c = {0, 0, 0};
  for (int64_t o = 0; o < builder->n_ops; o++) {
    const plim_draft_op *s = &builder->op[o];
    c.operands += (int64_t)s->n_in + s->n_out + s->n_upd;
    c.pairs += s->n_pairs;
    c.many +=
        many_of(s->n_in, PLIM_OP_MAX_IN) + many_of(s->n_out, PLIM_OP_MAX_OUT) + many_of(s->n_upd, PLIM_OP_MAX_UPD);
  }
  return c;
}

/* Give each array of `own` its address in the block. Returns the address of the whole. */
static plim_own_graph *carve(const plim_graph_builder *builder, counts c, plim_block *block, plim_own_graph *own) {
  plim_own_graph *place = plim_block_take(block, 1, sizeof *own);
  own->storage = plim_block_take(block, builder->n_storages, sizeof *own->storage);
  own->value = plim_block_take(block, builder->n_values, sizeof *own->value);
  own->op = plim_block_take(block, builder->n_ops, sizeof *own->op);
  own->chars = plim_block_take(block, builder->n_chars, 1);
  own->operand = plim_block_take(block, c.operands, sizeof *own->operand);
  own->pair = plim_block_take(block, c.pairs, sizeof *own->pair);
  own->many = plim_block_take(block, c.many, sizeof *own->many);
  own->unique = plim_block_take(block, c.operands, sizeof *own->unique);
  own->reader_first = plim_block_take(block, builder->n_storages + 1, sizeof *own->reader_first);
  own->reader = plim_block_take(block, c.operands, sizeof *own->reader);
  own->updater_first = plim_block_take(block, builder->n_storages + 1, sizeof *own->updater_first);
  own->updater = plim_block_take(block, c.operands, sizeof *own->updater);
  return place;
}

static plim_status allocate(const plim_graph_builder *builder, plim_own_graph **out) {
  plim_own_graph own = {.block_bytes = 0};
  plim_block block = {NULL, 0};
  counts c = count_lists(builder);
  (void)carve(builder, c, &block, &own);
  PLIM_TRY(plim_block_allocate(builder->ctx, &block));
  *out = carve(builder, c, &block, &own);
  own.block_bytes = block.bytes;
  **out = own;
  return PLIM_OK;
}

/* The shapes of a list that a plim_op_desc does not hold itself, field by field: unused bytes stay zero, so that equal
 * lists have equal bytes. NULL: it is short. */
static const plim_shape *copy_many(const plim_graph_builder *builder, const int32_t *value, int32_t n, int32_t capacity,
                                   plim_shape **next) {
  plim_shape *made = *next;
  if (n <= capacity) return NULL;
  *next += n;
  for (int32_t i = 0; i < n; i++) {
    const plim_shape *from = &builder->value[value[i]].value.shape;
    made[i].dtype = from->dtype;
    made[i].layout = from->layout;
    made[i].rank = from->rank;
    memcpy(made[i].dim, from->dim, sizeof from->dim);
    memcpy(made[i].stride, from->stride, sizeof from->stride);
  }
  return made;
}

static void copy_ops(const plim_graph_builder *builder, plim_own_graph *own) {
  int32_t *next = own->operand;
  plim_shape *many = own->many;
  plim_pair *pair = own->pair;
  for (int64_t o = 0; o < builder->n_ops; o++) {
    const plim_draft_op *s = &builder->op[o];
    plim_op *op = &own->op[o];
    op->name = own->chars + s->name;
    op->kind = s->kind;
    op->cls = s->cls;
    op->phase = s->phase;
    op->attrs = s->attrs;
    op->time_ns = s->time_ns;
    op->id = s->id;
    op->n_in = s->n_in;
    op->n_out = s->n_out;
    op->n_upd = s->n_upd;
    op->n_pairs = s->n_pairs;
    op->in = plim_ids_copy(&next, builder->operand + s->operands, s->n_in);
    op->out = plim_ids_copy(&next, builder->operand + s->operands + s->n_in, s->n_out);
    op->upd = plim_ids_copy(&next, builder->operand + s->operands + s->n_in + s->n_out, s->n_upd);
    op->many_in = copy_many(builder, op->in, op->n_in, PLIM_OP_MAX_IN, &many);
    op->many_out = copy_many(builder, op->out, op->n_out, PLIM_OP_MAX_OUT, &many);
    op->many_upd = copy_many(builder, op->upd, op->n_upd, PLIM_OP_MAX_UPD, &many);
    op->pair = pair;
    memcpy(pair, s->pair, (size_t)s->n_pairs * sizeof *pair);
    pair += s->n_pairs;
  }
}

static void copy_rows(const plim_graph_builder *builder, plim_own_graph *own) {
  memcpy(own->chars, builder->chars, (size_t)builder->n_chars);
  if (builder->n_storages > 0)
    memcpy(own->storage, builder->storage, (size_t)builder->n_storages * sizeof *own->storage);
  for (int64_t v = 0; v < builder->n_values; v++) {
    own->value[v] = builder->value[v].value;
    own->value[v].name = own->chars + builder->value[v].name;
  }
  copy_ops(builder, own);
  own->graph = (plim_graph){.ctx = builder->ctx,
                            .name = own->chars,
                            .batch = builder->batch,
                            .unpacked = builder->unpacked,
                            .n_storages = (int32_t)builder->n_storages,
                            .n_values = (int32_t)builder->n_values,
                            .n_ops = (int32_t)builder->n_ops,
                            .storage = own->storage,
                            .value = own->value,
                            .op = own->op,
                            .reader_first = own->reader_first,
                            .reader = own->reader,
                            .updater_first = own->updater_first,
                            .updater = own->updater};
}

/* ---- the rules about the whole graph ---- */

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static plim_status check_unique(plim_context *ctx, const char *what, const char **name, int32_t n) {
  qsort(name, (size_t)n, sizeof *name, by_text);
  for (int32_t i = 1; i < n; i++) {
    if (strcmp(name[i - 1], name[i]) == 0) {
      return plim_fail(ctx, PLIM_EDATA, "two %ss are called '%s'", what, name[i]);
    }
  }
  return PLIM_OK;
}

static plim_status check_names(const plim_graph *graph) {
  int64_t most = graph->n_values > graph->n_ops ? graph->n_values : graph->n_ops;
  const char **name = NULL;
  PLIM_TRY(plim_allocate(graph->ctx, most, sizeof *name, &name));
  for (int32_t i = 0; i < graph->n_values; i++) name[i] = graph->value[i].name;
  plim_status status = check_unique(graph->ctx, "value", name, graph->n_values);
  if (status == PLIM_OK) {
    for (int32_t i = 0; i < graph->n_ops; i++) name[i] = graph->op[i].name;
    status = check_unique(graph->ctx, "op", name, graph->n_ops);
  }
  plim_release(graph->ctx, name, most, sizeof *name);
  return status;
}

static int is_made(plim_role role) {
  return role == PLIM_ROLE_ACTIVATION || role == PLIM_ROLE_GRADIENT || role == PLIM_ROLE_OUTPUT;
}

static plim_status check_storage(const plim_graph *graph, int32_t s) {
  const plim_storage *st = &graph->storage[s];
  const char *role = plim_role_name(st->role);
  int32_t readers = graph->reader_first[s + 1] - graph->reader_first[s];
  int32_t updaters = graph->updater_first[s + 1] - graph->updater_first[s];
  if (is_made(st->role) && st->producer < 0) {
    return plim_fail(graph->ctx, PLIM_EDATA, "storage %d (%s) is written by no op", s, role);
  }
  if (!is_made(st->role) && st->producer >= 0) {
    return plim_fail(graph->ctx, PLIM_EDATA, "op '%s' writes storage %d, whose role is %s",
                     graph->op[st->producer].name, s, role);
  }
  if (updaters > 0 && st->role != PLIM_ROLE_PARAM && st->role != PLIM_ROLE_STATE) {
    return plim_fail(graph->ctx, PLIM_EDATA, "op '%s' updates storage %d, whose role is %s, not param or state",
                     graph->op[graph->updater[graph->updater_first[s]]].name, s, role);
  }
  if (st->role == PLIM_ROLE_STAGING && readers > 0) {
    return plim_fail(graph->ctx, PLIM_EDATA, "op '%s' reads storage %d, whose role is staging",
                     graph->op[graph->reader[graph->reader_first[s]]].name, s);
  }
  return PLIM_OK;
}

/* Check that every reader comes after the producer and before the first update. */
static plim_status check_order(const plim_graph *graph, int32_t s) {
  int32_t producer = graph->storage[s].producer;
  int32_t update =
      graph->updater_first[s] < graph->updater_first[s + 1] ? graph->updater[graph->updater_first[s]] : graph->n_ops;
  for (int32_t i = graph->reader_first[s]; i < graph->reader_first[s + 1]; i++) {
    int32_t reader = graph->reader[i];
    if (reader <= producer) {
      return plim_fail(graph->ctx, PLIM_EDATA, "op %d '%s' reads storage %d before op %d '%s' writes it", reader,
                       graph->op[reader].name, s, producer, graph->op[producer].name);
    }
    if (reader >= update) {
      return plim_fail(graph->ctx, PLIM_EDATA, "op %d '%s' reads storage %d, which op %d '%s' updates before or there",
                       reader, graph->op[reader].name, s, update, graph->op[update].name);
    }
  }
  return PLIM_OK;
}

/* Check that outputs of one op do not overlap, and that it updates each storage through one operand. */
static plim_status check_results_disjoint(const plim_graph *graph, const plim_op *op) {
  const int32_t pairs_of = op->n_writes < op->n_out ? op->n_out : 0; /* each in a storage of its own: none overlap */
  for (int32_t i = 0; i < pairs_of; i++) {
    for (int32_t j = 0; j < i; j++) {
      const plim_value *a = &graph->value[op->out[i]], *b = &graph->value[op->out[j]];
      if (a->storage == b->storage && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes) {
        return plim_fail(graph->ctx, PLIM_EDATA, "op '%s' writes the same bytes through '%s' and '%s'", op->name,
                         b->name, a->name);
      }
    }
  }
  if (op->n_updates < op->n_upd) {
    return plim_fail(graph->ctx, PLIM_EDATA, "op '%s' updates one storage through two operands", op->name);
  }
  return PLIM_OK;
}

static plim_status check_all(const plim_graph *graph) {
  if (graph->n_ops == 0) return plim_fail(graph->ctx, PLIM_EDATA, "graph '%s' has no op", graph->name);
  PLIM_TRY(check_names(graph));
  for (int32_t o = 0; o < graph->n_ops; o++) PLIM_TRY(check_results_disjoint(graph, &graph->op[o]));
  for (int32_t s = 0; s < graph->n_storages; s++) {
    PLIM_TRY(check_storage(graph, s));
    PLIM_TRY(check_order(graph, s));
  }
  if (graph->costs) PLIM_TRY(plim_costs_check(graph->costs, graph->n_ops));
  return graph->handles ? plim_handles_match(graph->handles, graph) : PLIM_OK;
}

static plim_status set_fingerprint(plim_graph *graph) {
  plim_text text = {graph->ctx, NULL, 0, 0, PLIM_OK};
  plim_graph_write(&text, graph, 0);
  plim_status status = text.status;
  if (status == PLIM_OK) plim_sha256_hex(text.chars, (size_t)text.length, graph->fingerprint);
  plim_text_free(&text);
  return status;
}

plim_status plim_graph_end(plim_graph_builder *builder, plim_graph **out) {
  plim_status status;
  plim_own_graph *own = NULL;
  PLIM_TRY_OR_DONE(allocate(builder, &own));
  copy_rows(builder, own);
  own->graph.handles = own->handles = builder->handles;
  builder->handles = NULL;
  own->graph.costs = own->costs = builder->costs;
  builder->costs = NULL;
  PLIM_TRY_OR_DONE(plim_graph_derive(own));
  PLIM_TRY_OR_DONE(check_all(&own->graph));
  PLIM_TRY_OR_DONE(set_fingerprint(&own->graph));
  *out = &own->graph;
  own = NULL;
done:
  if (own) plim_graph_free(&own->graph);
  plim_graph_builder_free(builder);
  return status;
}
