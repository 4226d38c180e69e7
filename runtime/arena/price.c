/* What an eviction costs, as the policies count it: the storage's own time, with that of missing neighbours by class or
 * by a walk; and what a whole window costs. */
#include "runtime/arena/tenants.h"

#include <assert.h>
#include <string.h>

int plim_tenants_counts(const plim_tenants *t, int32_t storage) {
  return plim_missing_has(&t->missing, storage) && (!t->policy->forecast || plim_tenants_wanted(t, storage));
}

int64_t plim_tenants_price(plim_tenants *t, int32_t storage) {
  const plim_graph *g = t->graph;
  int32_t producer = g->storage[storage].producer;
  int64_t sum = t->forecast->op_ns[producer];
  plim_missing_sum_begin(&t->missing);
  for (int32_t k = 0; k < g->op[producer].n_reads; k++) {
    sum += plim_missing_sum_class(&t->missing, g->op[producer].reads[k]);
  }
  for (int32_t i = g->reader_first[storage]; i < g->reader_first[storage + 1]; i++) {
    const plim_op *reader = &g->op[g->reader[i]];
    for (int32_t k = 0; k < reader->n_writes; k++) {
      if (plim_tenants_counts(t, reader->writes[k])) sum += plim_missing_sum_class(&t->missing, reader->writes[k]);
    }
  }
  return sum;
}

/* The ops of the stack join the sum; their missing operands bring in the ops that make those. */
static int64_t price_stack(plim_tenants *t, int32_t depth) {
  const plim_graph *g = t->graph;
  int64_t sum = 0;
  while (depth > 0) {
    const plim_op *op = &g->op[t->stack[--depth]];
    sum += t->forecast->op_ns[t->stack[depth]];
    for (int32_t k = 0; k < op->n_reads; k++) {
      int32_t producer = g->storage[op->reads[k]].producer;
      if (producer < 0 || plim_tenants_resident(t, op->reads[k]) || t->mark[producer] == t->stamp) continue;
      t->mark[producer] = t->stamp;
      t->stack[depth++] = producer;
    }
  }
  return sum;
}

int64_t plim_tenants_price_together(plim_tenants *t, int32_t n, const int32_t *storage) {
  int32_t depth = 0;
  t->stamp++;
  for (int32_t i = 0; i < n; i++) { /* they are still resident, so the walk below would not find their ops */
    int32_t producer = t->graph->storage[storage[i]].producer;
    if (t->mark[producer] == t->stamp) continue;
    t->mark[producer] = t->stamp;
    t->stack[depth++] = producer;
  }
  return price_stack(t, depth);
}

/* ---- walks over missing storages ---- */

typedef enum direction { TO_INPUTS, TO_READERS } direction;

/* What a walk does with a storage that it meets for the first time; not 0: it goes on from there. */
typedef int visitor(plim_tenants *t, int32_t storage, int64_t *sum);

static int add_time(plim_tenants *t, int32_t storage, int64_t *sum) {
  if (!plim_tenants_counts(t, storage)) return 0;
  *sum += t->forecast->op_ns[t->graph->storage[storage].producer];
  return 1;
}

static int forget(plim_tenants *t, int32_t storage, int64_t *sum) {
  (void)sum;
  t->walked_ns[storage] = -1;
  return plim_tenants_counts(t, storage);
}

static void meet(plim_tenants *t, int32_t storage, visitor *visit, int64_t *sum, int32_t *depth) {
  if (t->mark[storage] == t->stamp) return;
  t->mark[storage] = t->stamp;
  if (visit(t, storage, sum)) t->stack[(*depth)++] = storage;
}

/* Sum over the storages that can be reached through missing ones from those on the stack. */
static int64_t walk(plim_tenants *t, int32_t depth, direction way, visitor *visit) {
  const plim_graph *g = t->graph;
  int64_t sum = 0;
  t->stamp++;
  for (int32_t i = 0; i < depth; i++) t->mark[t->stack[i]] = t->stamp;
  while (depth > 0) {
    int32_t s = t->stack[--depth];
    if (way == TO_INPUTS) {
      const plim_op *op = &g->op[g->storage[s].producer];
      for (int32_t k = 0; k < op->n_reads; k++) meet(t, op->reads[k], visit, &sum, &depth);
      continue;
    }
    for (int32_t i = g->reader_first[s]; i < g->reader_first[s + 1]; i++) {
      const plim_op *op = &g->op[g->reader[i]];
      for (int32_t k = 0; k < op->n_writes; k++) meet(t, op->writes[k], visit, &sum, &depth);
    }
  }
  return sum;
}

static int64_t walk_from(plim_tenants *t, int32_t storage, direction way) {
  t->stack[0] = storage;
  return walk(t, 1, way, add_time);
}

static int64_t walk_for_cost(plim_tenants *t, int32_t storage) {
  int64_t sum = walk_from(t, storage, TO_INPUTS);
  return t->policy->cost == PLIM_COST_NEIGHBOURHOOD ? sum + walk_from(t, storage, TO_READERS) : sum;
}

void plim_tenants_change(plim_tenants *t, int32_t storage) {
  if (t->policy->cost != PLIM_COST_ANCESTORS && t->policy->cost != PLIM_COST_NEIGHBOURHOOD) return;
  if (t->is_changed[storage]) return;
  t->is_changed[storage] = 1;
  t->changed[t->n_changed++] = storage;
}

/* A walk from anywhere came through a changed storage only if one from there, the other way round, comes back; what lay
 * between them and did not change is missing still. All are walked from at once. */
static void forget_costs(plim_tenants *t) {
  for (int32_t i = 0; i < t->n_changed; i++) {
    t->is_changed[t->changed[i]] = 0;
    t->walked_ns[t->changed[i]] = -1;
  }
  memcpy(t->stack, t->changed, (size_t)t->n_changed * sizeof *t->stack);
  (void)walk(t, t->n_changed, TO_READERS, forget);
  memcpy(t->stack, t->changed, (size_t)t->n_changed * sizeof *t->stack);
  if (t->policy->cost == PLIM_COST_NEIGHBOURHOOD) (void)walk(t, t->n_changed, TO_INPUTS, forget);
  t->n_changed = 0;
}

static int64_t walked_cost(plim_tenants *t, int32_t storage) {
  if (t->n_changed > 0) forget_costs(t);
  if (t->walked_ns[storage] < 0) t->walked_ns[storage] = walk_for_cost(t, storage);
#ifdef PLIM_SANITIZED
  assert(t->walked_ns[storage] == walk_for_cost(t, storage));
#endif
  return t->walked_ns[storage];
}

int64_t plim_tenants_cost(plim_tenants *t, int32_t storage) {
  int64_t own = t->forecast->op_ns[t->graph->storage[storage].producer];
  switch (t->policy->cost) {
    case PLIM_COST_ONE:
      return 1;
    case PLIM_COST_ACCESS:
      return t->tenant[storage].last_ns;
    case PLIM_COST_OWN:
      return own;
    case PLIM_COST_ANCESTORS:
    case PLIM_COST_NEIGHBOURHOOD:
      return own + walked_cost(t, storage);
    case PLIM_COST_CLASSES:
      break;
  }
  return plim_tenants_price(t, storage);
}
