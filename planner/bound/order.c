/* What is certain of the order of first runs: transitive closures along program order, which is a topological order of
 * data and updates. O(ops x edges / 64). */
#include "planner/bound/cut_model.h"

#include "runtime/base/effort.h"

static void set(const plim_cut_order *o, uint64_t *rows, int32_t row, int32_t bit) {
  rows[(int64_t)row * o->words + bit / 64] |= (uint64_t)1 << (bit % 64);
}

/* Row `to` takes what row `from` has, and `from` itself. */
static void inherit(const plim_cut_order *o, uint64_t *rows, int32_t to, const plim_ids *from) {
  for (int32_t i = 0; i < from->n; i++) {
    int32_t u = from->at[i];
    uint64_t *a = &rows[to * o->words], *b = &rows[u * o->words];
    for (int64_t k = 0; k < o->words; k++) a[k] |= b[k];
    set(o, rows, to, u);
  }
}

plim_status plim_cut_order_make(const plim_problem *p, int32_t fixed, plim_cut_order *out) {
  plim_cut_order o = {.ctx = p->ctx, .n_ops = p->n_ops, .words = (p->n_ops + 63) / 64};
  plim_status status = plim_allocate(p->ctx, o.n_ops * o.words, sizeof *o.before, &o.before);
  if (status == PLIM_OK) status = plim_allocate(p->ctx, o.n_ops * o.words, sizeof *o.after, &o.after);
  if (status != PLIM_OK) {
    plim_cut_order_free(&o);
    return status;
  }
  for (int32_t v = 0; v < o.n_ops; v++) {
    int32_t w = o.n_ops - 1 - v;
    int64_t rows = (int64_t)p->op[v].preds.n + p->op[v].closes.n + p->op[w].succs.n + p->op[w].closed_by.n + 2;
    if (plim_effort_over(p->ctx, rows * o.words / 2)) {
      plim_cut_order_free(&o);
      return PLIM_ECANCEL;
    }
    const plim_ids in_front = {v > 0, &(int32_t){v - 1}}, next = {w + 1 < o.n_ops, &(int32_t){w + 1}};
    inherit(&o, o.before, v, fixed ? &in_front : &p->op[v].preds);
    inherit(&o, o.before, v, &p->op[v].closes);
    inherit(&o, o.after, w, fixed ? &next : &p->op[w].succs);
    inherit(&o, o.after, w, &p->op[w].closed_by);
  }
  *out = o;
  return PLIM_OK;
}

void plim_cut_order_free(plim_cut_order *o) {
  plim_release(o->ctx, o->before, o->n_ops * o->words, sizeof *o->before);
  plim_release(o->ctx, o->after, o->n_ops * o->words, sizeof *o->after);
  *o = (plim_cut_order){.ctx = o->ctx};
}
