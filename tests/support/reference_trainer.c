/* Program order without addresses: about the least code that trains. Effect ops (running statistics, updates) wait
 * until every other op has run, so a plan that updates too early gives other bits than this. */
#include "tests/support/reference_trainer.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/table.h"
#include "runtime/device/threads.h"
#include "runtime/net/net.h"

enum { REFERENCE_VARIANTS = 32 };

struct reference_trainer {
  const plim_graph *graph;
  int32_t threads;
  plim_kernel_table *table;
  void **storage;       /* [n_storages] */
  plim_kernel **kernel; /* [n_ops] */
  void *workspace;      /* of the op that needs most, aligned to PLIM_ALIGN */
};

/* Index of the first variant of a numerics key (NULL: of any), -1 when there is none. */
static int find_variant(const plim_kernel_info *info, int count, const char *numerics_key) {
  for (int i = 0; i < count; i++) {
    if (!numerics_key || strcmp(info[i].numerics_key, numerics_key) == 0) return i;
  }
  return -1;
}

static plim_status prepare(reference_trainer *t, int32_t op, const char *numerics_key) {
  plim_kernel_info info[REFERENCE_VARIANTS];
  plim_op_desc desc;
  plim_graph_describe(t->graph, op, &desc);
  int count = plim_kernel_list(t->table, &desc, t->threads, info, REFERENCE_VARIANTS);
  int i = find_variant(info, count < REFERENCE_VARIANTS ? count : REFERENCE_VARIANTS, numerics_key);
  if (i < 0) {
    return plim_fail(t->graph->ctx, PLIM_EUNSUPPORTED, "op '%s' has no variant of numerics key '%s' among %d",
                     t->graph->op[op].name, numerics_key ? numerics_key : "(any)", count);
  }
  int result = plim_kernel_make(t->table, &desc, info[i].name, t->threads, &t->kernel[op]);
  if (result == PLIM_KERNEL_OK) return PLIM_OK;
  return plim_fail(t->graph->ctx, PLIM_EDEVICE, "op '%s', variant '%s': make gave %d", t->graph->op[op].name,
                   info[i].name, result);
}

static void *bytes_aligned(int64_t bytes) {
  int64_t rounded = plim_align_up(bytes > 0 ? bytes : 1, PLIM_ALIGN);
  void *ptr = aligned_alloc(PLIM_ALIGN, (size_t)rounded);
  if (ptr) memset(ptr, 0, (size_t)rounded);
  return ptr;
}

static plim_status open_parts(reference_trainer *t, const char *isa, const char *const *numerics_key) {
  const plim_graph *g = t->graph;
  int64_t workspace = 0;
  t->storage = calloc((size_t)g->n_storages, sizeof *t->storage);
  t->kernel = calloc((size_t)g->n_ops, sizeof(plim_kernel *));
  if (!t->storage || !t->kernel) return PLIM_ENOMEM;
  if (plim_kernel_table_new(isa, NULL, &t->table) != PLIM_KERNEL_OK) {
    return plim_fail(g->ctx, PLIM_EUNSUPPORTED, "no kernels for instruction set '%s'", isa ? isa : "(best)");
  }
  for (int32_t s = 0; s < g->n_storages; s++) {
    t->storage[s] = bytes_aligned(g->storage[s].bytes);
    if (!t->storage[s]) return PLIM_ENOMEM;
  }
  for (int32_t i = 0; i < g->n_ops; i++) {
    PLIM_TRY(prepare(t, i, numerics_key ? numerics_key[i] : NULL));
    int64_t bytes = plim_kernel_workspace(t->kernel[i]);
    if (bytes > workspace) workspace = bytes;
  }
  t->workspace = bytes_aligned(workspace);
  return t->workspace ? PLIM_OK : PLIM_ENOMEM;
}

plim_status reference_open(const plim_graph *graph, int32_t threads, const char *isa, const char *const *numerics_key,
                           reference_trainer **out) {
  reference_trainer *t = calloc(1, sizeof *t);
  if (!t) return PLIM_ENOMEM;
  t->graph = graph;
  plim_status status = plim_threads_fix(graph->ctx, threads, &t->threads);
  if (status == PLIM_OK) status = open_parts(t, isa, numerics_key);
  if (status != PLIM_OK) {
    reference_close(t);
    return status;
  }
  *out = t;
  return PLIM_OK;
}

void reference_close(reference_trainer *trainer) {
  if (!trainer) return;
  for (int32_t i = 0; trainer->kernel && i < trainer->graph->n_ops; i++) plim_kernel_free(trainer->kernel[i]);
  for (int32_t s = 0; trainer->storage && s < trainer->graph->n_storages; s++) free(trainer->storage[s]);
  plim_kernel_table_free(trainer->table);
  free(trainer->workspace);
  free((void *)trainer->kernel);
  free((void *)trainer->storage);
  free(trainer);
}

void *reference_value(const reference_trainer *trainer, int32_t value) {
  const plim_value *v = &trainer->graph->value[value];
  return (char *)trainer->storage[v->storage] + v->offset;
}

void *reference_at(const reference_trainer *trainer, const char *name) {
  int32_t value = plim_graph_find_value(trainer->graph, name);
  cr_assert_geq(value, 0, "no value '%s'", name);
  return reference_value(trainer, value);
}

plim_status reference_init(reference_trainer *trainer, uint64_t seed) {
  const plim_graph *g = trainer->graph;
  for (int32_t v = 0; v < g->n_values; v++) {
    plim_role role = g->storage[g->value[v].storage].role;
    void *to = reference_value(trainer, v);
    memset(to, 0, (size_t)g->value[v].bytes);
    if (role == PLIM_ROLE_PARAM || role == PLIM_ROLE_STATE) PLIM_TRY(plim_net_init(g, v, seed, to));
  }
  return PLIM_OK;
}

static plim_status run_op(reference_trainer *t, int32_t i, uint64_t seed, int64_t step) {
  const plim_op *op = &t->graph->op[i];
  void *in[PLIM_OP_MAX_IN], *out[PLIM_OP_MAX_OUT], *upd[PLIM_OP_MAX_UPD];
  for (int32_t k = 0; k < op->n_in; k++) in[k] = reference_value(t, op->in[k]);
  for (int32_t k = 0; k < op->n_out; k++) out[k] = reference_value(t, op->out[k]);
  for (int32_t k = 0; k < op->n_upd; k++) upd[k] = reference_value(t, op->upd[k]);
  plim_kernel_args args = {in, out, upd, t->workspace, seed, step, i, NULL};
  int result = plim_kernel_run(t->kernel[i], &args);
  if (result == PLIM_KERNEL_OK) return PLIM_OK;
  return plim_fail(t->graph->ctx, PLIM_EDEVICE, "op '%s' gave %d", op->name, result);
}

plim_status reference_step(reference_trainer *trainer, uint64_t seed, int64_t step) {
  for (int late = 0; late < 2; late++) {
    for (int32_t i = 0; i < trainer->graph->n_ops; i++) {
      if ((trainer->graph->op[i].cls == PLIM_OP_EFFECT) == late) PLIM_TRY(run_op(trainer, i, seed, step));
    }
  }
  return PLIM_OK;
}
