/* The cost of an eviction, as the policies count it: the time of the storage's op, and the times of missing neighbours
 * by class or by a walk (residency_walk.c). Also the cost of a whole window. */
#include "runtime/arena/residency_price.h"

int plim_residency_is_priced(const plim_residency *res, int32_t storage) {
  return plim_missing_has(&res->missing, storage) && (!res->policy->forecast || plim_residency_wanted(res, storage));
}

int64_t plim_residency_price(plim_residency *res, int32_t storage) {
  const plim_graph *g = res->graph;
  int32_t producer = g->storage[storage].producer;
  int64_t sum = res->forecast->op_ns[producer];
  plim_missing_sum_begin(&res->missing);
  for (int32_t k = 0; k < g->op[producer].n_reads; k++) {
    sum += plim_missing_sum_class(&res->missing, g->op[producer].reads[k]);
  }
  for (int32_t i = g->reader_first[storage]; i < g->reader_first[storage + 1]; i++) {
    const plim_op *reader = &g->op[g->reader[i]];
    for (int32_t k = 0; k < reader->n_writes; k++) {
      if (plim_residency_is_priced(res, reader->writes[k])) {
        sum += plim_missing_sum_class(&res->missing, reader->writes[k]);
      }
    }
  }
  return sum;
}

/* Add the ops of the stack to the sum, and push the ops that compute their missing operands. */
static int64_t price_stack(plim_residency *res, int32_t depth) {
  const plim_graph *g = res->graph;
  int64_t sum = 0;
  while (depth > 0) {
    const plim_op *op = &g->op[res->price.stack[--depth]];
    sum += res->forecast->op_ns[res->price.stack[depth]];
    for (int32_t k = 0; k < op->n_reads; k++) {
      int32_t producer = g->storage[op->reads[k]].producer;
      if (producer < 0 || plim_residency_is_resident(res, op->reads[k]) ||
          res->price.mark[producer] == res->price.stamp) {
        continue;
      }
      res->price.mark[producer] = res->price.stamp;
      res->price.stack[depth++] = producer;
    }
  }
  return sum;
}

int64_t plim_residency_price_together(plim_residency *res, int32_t n, const int32_t *storage) {
  int32_t depth = 0;
  res->price.stamp++;
  for (int32_t i = 0; i < n; i++) { /* these storages are still resident, so price_stack would not find their ops */
    int32_t producer = res->graph->storage[storage[i]].producer;
    if (res->price.mark[producer] == res->price.stamp) continue;
    res->price.mark[producer] = res->price.stamp;
    res->price.stack[depth++] = producer;
  }
  return price_stack(res, depth);
}

int64_t plim_residency_cost(plim_residency *res, int32_t storage, int64_t most) {
  int64_t own = res->forecast->op_ns[res->graph->storage[storage].producer];
  switch (res->policy->cost) {
    case PLIM_COST_ONE:
      return 1;
    case PLIM_COST_ACCESS:
      return res->storage[storage].last_ns;
    case PLIM_COST_OWN:
      return own;
    case PLIM_COST_ANCESTORS:
    case PLIM_COST_NEIGHBOURHOOD:
      return own + plim_residency_walk(res, storage, most - own);
    case PLIM_COST_CLASSES:
      break;
  }
  return plim_residency_price(res, storage);
}
