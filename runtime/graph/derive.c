/* Derives tables from a graph's operand lists: the storages that each op reads, writes and updates, without repeats;
 * and for each storage its producer, its readers and its updaters in program order. */
#include "runtime/graph/graph_internal.h"

#include "runtime/base/groups.h"

/* The list to which each storage was added last, by number. */
typedef struct marks {
  int64_t *list; /* [n_storages] */
  int64_t n_lists;
} marks;

/* Append the storages of values [n] to a new list [*count], without repeats. */
static void add_unique(const plim_own_graph *own, marks *m, const int32_t *value, int32_t n, int32_t *list,
                       int32_t *count) {
  m->n_lists++;
  for (int32_t i = 0; i < n; i++) {
    int32_t storage = own->value[value[i]].storage;
    if (m->list[storage] == m->n_lists) continue;
    m->list[storage] = m->n_lists;
    list[(*count)++] = storage;
  }
}

static plim_status derive_ops(plim_own_graph *own) {
  plim_context *ctx = own->graph.ctx;
  int32_t *next = own->unique;
  marks m = {0};
  PLIM_TRY(plim_allocate(ctx, own->graph.n_storages, sizeof *m.list, &m.list));
  for (int32_t o = 0; o < own->graph.n_ops; o++) {
    plim_op *op = &own->op[o];
    op->reads = next;
    add_unique(own, &m, op->in, op->n_in, next, &op->n_reads);
    next += op->n_reads;
    op->writes = next;
    add_unique(own, &m, op->out, op->n_out, next, &op->n_writes);
    next += op->n_writes;
    op->updates = next;
    add_unique(own, &m, op->upd, op->n_upd, next, &op->n_updates);
    next += op->n_updates;
  }
  plim_release(ctx, m.list, own->graph.n_storages, sizeof *m.list);
  return PLIM_OK;
}

static plim_status derive_producers(plim_own_graph *own) {
  for (int32_t o = 0; o < own->graph.n_ops; o++) {
    const plim_op *op = &own->op[o];
    for (int32_t i = 0; i < op->n_writes; i++) {
      plim_storage *s = &own->storage[op->writes[i]];
      if (s->producer >= 0) {
        return plim_fail(own->graph.ctx, PLIM_EDATA, "op '%s' writes storage %d, which op '%s' has written", op->name,
                         op->writes[i], own->op[s->producer].name);
      }
      s->producer = o;
    }
  }
  return PLIM_OK;
}

typedef void list_of(const plim_op *op, const int32_t **list, int32_t *count);

static void reads_of(const plim_op *op, const int32_t **list, int32_t *count) {
  *list = op->reads;
  *count = op->n_reads;
}

static void updates_of(const plim_op *op, const int32_t **list, int32_t *count) {
  *list = op->updates;
  *count = op->n_updates;
}

/* Ops by storage: those of storage s become ops[first[s] .. first[s + 1]). first [n_storages + 1] starts zeroed. */
static void invert(const plim_own_graph *own, list_of *of, int32_t *first, int32_t *ops) {
  const int32_t *list = NULL;
  int32_t count = 0;
  for (int32_t o = 0; o < own->graph.n_ops; o++) {
    of(&own->op[o], &list, &count);
    for (int32_t i = 0; i < count; i++) first[list[i]]++;
  }
  plim_groups_sum(first, own->graph.n_storages);
  for (int32_t o = own->graph.n_ops - 1; o >= 0; o--) {
    of(&own->op[o], &list, &count);
    for (int32_t i = count - 1; i >= 0; i--) ops[--first[list[i]]] = o;
  }
}

plim_status plim_graph_derive(plim_own_graph *own) {
  PLIM_TRY(derive_ops(own));
  PLIM_TRY(derive_producers(own));
  invert(own, reads_of, own->reader_first, own->reader);
  invert(own, updates_of, own->updater_first, own->updater);
  return PLIM_OK;
}
