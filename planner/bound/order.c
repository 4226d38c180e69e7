/* What is certain of the order of first runs: transitive closures along program order, which is a topological order of
 * data and updates. O(ops x edges / 64). */
#include "planner/bound/cut_model.h"

#include "runtime/base/effort.h"

static void set_bit(const plim_cut_order *order, uint64_t *rows, int32_t row, int32_t bit) {
  rows[(int64_t)row * order->words + bit / 64] |= (uint64_t)1 << (bit % 64);
}

/* Row `to` takes what row `from` has, and `from` itself. */
static void inherit(const plim_cut_order *order, uint64_t *rows, int32_t to, const plim_ids *from) {
  for (int32_t i = 0; i < from->n; i++) {
    int32_t u = from->at[i];
    uint64_t *a = &rows[to * order->words], *b = &rows[u * order->words];
    for (int64_t k = 0; k < order->words; k++) a[k] |= b[k];
    set_bit(order, rows, to, u);
  }
}

plim_status plim_cut_order_make(const plim_problem *p, int is_order_fixed, plim_cut_order *out) {
  plim_cut_order order = {.ctx = p->ctx, .n_ops = p->n_ops, .words = (p->n_ops + 63) / 64};
  plim_status status = plim_allocate(p->ctx, order.n_ops * order.words, sizeof *order.before, &order.before);
  if (status == PLIM_OK) status = plim_allocate(p->ctx, order.n_ops * order.words, sizeof *order.after, &order.after);
  if (status != PLIM_OK) {
    plim_cut_order_free(&order);
    return status;
  }
  for (int32_t v = 0; v < order.n_ops; v++) {
    int32_t w = order.n_ops - 1 - v;
    int64_t rows = (int64_t)p->op[v].preds.n + p->op[v].closes.n + p->op[w].succs.n + p->op[w].closed_by.n + 2;
    if (plim_effort_over(p->ctx, rows * order.words / 2)) {
      plim_cut_order_free(&order);
      return PLIM_ECANCEL;
    }
    const plim_ids in_front = {v > 0, &(int32_t){v - 1}}, next = {w + 1 < order.n_ops, &(int32_t){w + 1}};
    inherit(&order, order.before, v, is_order_fixed ? &in_front : &p->op[v].preds);
    inherit(&order, order.before, v, &p->op[v].closes);
    inherit(&order, order.after, w, is_order_fixed ? &next : &p->op[w].succs);
    inherit(&order, order.after, w, &p->op[w].closed_by);
  }
  *out = order;
  return PLIM_OK;
}

void plim_cut_order_free(plim_cut_order *order) {
  plim_release(order->ctx, order->before, order->n_ops * order->words, sizeof *order->before);
  plim_release(order->ctx, order->after, order->n_ops * order->words, sizeof *order->after);
  *order = (plim_cut_order){.ctx = order->ctx};
}
