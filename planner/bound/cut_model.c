/* Makes the cut model of a problem: which items are needed at which op, the cuts by bytes, and the columns.
 *
 * Working sets are those of core/byte_bound.c, with one difference: an item that is written over and read later must be
 * recomputed. So it counts as needed, and the model decides. Cost: O(operands x ops / 64 + needed items of all ops). */
#include "planner/bound/cut_model.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

/* May v write its output over the item? */
static int overwrites(const plim_problem *p, int32_t v, int32_t item) {
  for (int32_t k = 0; k < p->op[v].n_overwrites; k++) {
    if (p->op[v].overwrite[k].in == item) return 1;
  }
  return 0;
}

/* Mark the ops at which the item is needed: it was certainly made before, and certainly has a reader after. An output
 * of the graph has a reader at the end. Items of the op's own working set are left out. */
static void find_needed(const plim_cut_model *model, int32_t item) {
  const plim_item *it = &model->problem->item[item];
  const plim_cut_order *order = &model->order;
  uint64_t *row = &model->needed[item * order->words];
  if (it->is_output) {
    memset(row, 0xff, (size_t)order->words * sizeof *row);
    if (order->n_ops % 64) row[order->words - 1] = ((uint64_t)1 << (order->n_ops % 64)) - 1;
  }
  for (int32_t k = 0; k < it->readers.n && !it->is_output; k++) {
    const uint64_t *before = &order->before[it->readers.at[k] * order->words];
    for (int64_t w = 0; w < order->words; w++) row[w] |= before[w];
  }
  for (int64_t w = 0; w < order->words && it->producer >= 0; w++) {
    row[w] &= order->after[it->producer * order->words + w];
  }
  for (int32_t k = 0; k < it->readers.n; k++) {
    int32_t v = it->readers.at[k];
    if (!overwrites(model->problem, v, item)) row[v / 64] &= ~((uint64_t)1 << (v % 64));
  }
}

/* Add the item's bytes to the cuts where it is needed; cut v is still that of op v. */
static void count_needed(plim_cut_model *model, int32_t item) {
  const uint64_t *row = &model->needed[item * model->order.words];
  for (int32_t w = 0; w < model->order.words; w++) {
    for (int32_t bit = 0; bit < 64 && row[w] != 0; bit++) {
      if (row[w] >> bit & 1U) model->cut[64 * w + bit].needed_bytes += model->problem->item[item].bytes;
    }
  }
}

int plim_cut_may_repeat(const plim_cut_model *model, int32_t op, int32_t v) {
  const plim_planned_op *o = &model->problem->op[op];
  if (o->runs_once) return 0;
  for (int32_t i = 0; i < o->closed_by.n; i++) {
    if (o->closed_by.at[i] == v || plim_cut_before(&model->order, o->closed_by.at[i], v)) return 0;
  }
  return 1;
}

static int is_needed(const void *user, int32_t item, int32_t v) {
  return plim_cut_needed(user, item, v);
}

static int64_t working_set(const plim_cut_model *model, int32_t v) {
  const plim_problem *p = model->problem;
  const plim_planned_op *op = &p->op[v];
  int64_t bytes = op->choice[0].workspace_bytes - plim_bound_overwritten(p, v, is_needed, model);
  for (int32_t i = 0; i < op->writes.n; i++) bytes += p->item[op->writes.at[i]].bytes;
  for (int32_t i = 0; i < op->reads.n; i++) {
    if (!plim_cut_needed(model, op->reads.at[i], v)) bytes += p->item[op->reads.at[i]].bytes;
  }
  return bytes;
}

int32_t plim_cut_next_choice(const plim_planned_op *op, int32_t choice) {
  int32_t next = -1;
  for (int32_t c = 0; c < op->n_choices; c++) {
    const plim_choice *o = &op->choice[c];
    if (o->workspace_bytes >= op->choice[choice].workspace_bytes) continue;
    int64_t later = next < 0 ? -1 : o->time_ns - op->choice[next].time_ns;
    if (later < 0 || (later == 0 && o->workspace_bytes < op->choice[next].workspace_bytes)) next = c;
  }
  return next;
}

/* Columns of the slower choices of a cut's op: each saves workspace and costs time. A solution may take several of
 * them; this only lowers the bound. */
static void add_choices(plim_cut_model *model, plim_cut *cut) {
  const plim_planned_op *op = &model->problem->op[cut->op];
  const plim_choice *fastest = &op->choice[0];
  cut->first_column = model->n_columns;
  for (int32_t c = 0; (c = plim_cut_next_choice(op, c)) >= 0;) {
    model->cost_ns[model->n_columns] = op->choice[c].time_ns - fastest->time_ns;
    model->saved_bytes[model->n_columns++] = fastest->workspace_bytes - op->choice[c].workspace_bytes;
  }
  cut->end_column = model->n_columns;
}

static int by_bytes(const void *a, const void *b) {
  const plim_cut *x = a, *y = b;
  int64_t bx = x->base_bytes + x->needed_bytes, by = y->base_bytes + y->needed_bytes;
  if (bx != by) return bx > by ? -1 : 1;
  return plim_integers_compare(x->op, y->op);
}

/* Items need a look at all ops each. */
static plim_status fill_model(plim_cut_model *model) {
  const plim_problem *p = model->problem;
  model->n_columns = model->segments.n;
  model->n_cuts = p->n_ops;
  for (int32_t i = 0; i < p->n_items; i++) {
    if (plim_effort_over(p->ctx, model->order.words * (p->item[i].readers.n + 1))) return PLIM_ECANCEL;
    find_needed(model, i);
  }
  for (int32_t v = 0; v < p->n_ops; v++) {
    int64_t cost_ns = p->op[v].choice[0].time_ns;
    model->least_ns += cost_ns;
    for (int32_t c = model->segments.first[v]; c < model->segments.first[v + 1]; c++) model->cost_ns[c] = cost_ns;
    plim_cut *cut = &model->cut[v];
    *cut = (plim_cut){.op = v, .base_bytes = p->persistent_bytes + working_set(model, v)};
    add_choices(model, cut);
  }
  for (int32_t i = 0; i < p->n_items; i++) {
    if (plim_effort_over(p->ctx, p->n_ops)) return PLIM_ECANCEL;
    count_needed(model, i);
  }
  qsort(model->cut, (size_t)model->n_cuts, sizeof *model->cut, by_bytes);
  return PLIM_OK;
}

plim_status plim_cut_model_make(const plim_problem *p, int is_order_fixed, plim_cut_model **out) {
  plim_cut_model *model = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof *model, &model));
  model->problem = p;
  model->order.ctx = model->segments.ctx = p->ctx;
  PLIM_TRY_OR_DONE(plim_cut_order_make(p, is_order_fixed, &model->order));
  PLIM_TRY_OR_DONE(plim_cut_segments_make(p, &model->order, &model->segments));
  int64_t columns = model->segments.n;
  for (int32_t v = 0; v < p->n_ops; v++) columns += p->op[v].n_choices - 1;
  model->column_capacity = (int32_t)columns;
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_items * model->order.words, sizeof *model->needed, &model->needed));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, columns, sizeof *model->cost_ns, &model->cost_ns));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, columns, sizeof *model->saved_bytes, &model->saved_bytes));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_ops, sizeof *model->cut, &model->cut));
  PLIM_TRY_OR_DONE(fill_model(model));
  *out = model;
done:
  if (status != PLIM_OK) plim_cut_model_free(model);
  return status;
}

void plim_cut_model_free(plim_cut_model *model) {
  if (!model) return;
  plim_context *ctx = model->problem->ctx;
  plim_release(ctx, model->needed, model->problem->n_items * model->order.words, sizeof *model->needed);
  plim_cut_order_free(&model->order);
  plim_cut_segments_free(&model->segments);
  plim_release(ctx, model->cost_ns, model->column_capacity, sizeof *model->cost_ns);
  plim_release(ctx, model->saved_bytes, model->column_capacity, sizeof *model->saved_bytes);
  plim_release(ctx, model->cut, model->problem->n_ops, sizeof *model->cut);
  plim_release(ctx, model, 1, sizeof *model);
}
