/* What an eviction costs, as the policies count it: the storage's own time, with that of missing neighbours by class or
 * by a walk; and what a whole window costs. */
#include "runtime/arena/tenants.h"

int plim_tenants_counts(const plim_tenants *t, int32_t storage) {
  return plim_missing_has(&t->missing, storage) && (!t->policy->forecast || plim_tenants_wanted(t, storage));
}

int64_t plim_tenants_price(plim_tenants *t, int32_t storage) {
  const plim_graph *g = t->graph;
  int32_t producer = g->storage[storage].producer;
  int64_t sum = plim_forecast_op_ns(t->forecast, producer);
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
    sum += plim_forecast_op_ns(t->forecast, t->stack[depth]);
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

static void meet(plim_tenants *t, int32_t storage, int64_t *sum, int32_t *depth) {
  if (!plim_tenants_counts(t, storage) || t->mark[storage] == t->stamp) return;
  t->mark[storage] = t->stamp;
  *sum += plim_forecast_op_ns(t->forecast, t->graph->storage[storage].producer);
  t->stack[(*depth)++] = storage;
}

/* Time of the missing storages that can be reached through missing ones. */
static int64_t walk(plim_tenants *t, int32_t from, direction way) {
  const plim_graph *g = t->graph;
  int64_t sum = 0;
  int32_t depth = 0;
  t->mark[from] = ++t->stamp;
  t->stack[depth++] = from;
  while (depth > 0) {
    int32_t s = t->stack[--depth];
    if (way == TO_INPUTS) {
      const plim_op *op = &g->op[g->storage[s].producer];
      for (int32_t k = 0; k < op->n_reads; k++) meet(t, op->reads[k], &sum, &depth);
      continue;
    }
    for (int32_t i = g->reader_first[s]; i < g->reader_first[s + 1]; i++) {
      const plim_op *op = &g->op[g->reader[i]];
      for (int32_t k = 0; k < op->n_writes; k++) meet(t, op->writes[k], &sum, &depth);
    }
  }
  return sum;
}

int64_t plim_tenants_cost(plim_tenants *t, int32_t storage) {
  int64_t own = plim_forecast_op_ns(t->forecast, t->graph->storage[storage].producer);
  switch (t->policy->cost) {
    case PLIM_COST_ONE:
      return 1;
    case PLIM_COST_ACCESS:
      return t->tenant[storage].last_ns;
    case PLIM_COST_OWN:
      return own;
    case PLIM_COST_ANCESTORS:
      return own + walk(t, storage, TO_INPUTS);
    case PLIM_COST_NEIGHBOURHOOD:
      return own + walk(t, storage, TO_INPUTS) + walk(t, storage, TO_READERS);
    case PLIM_COST_CLASSES:
      break;
  }
  return plim_tenants_price(t, storage);
}
