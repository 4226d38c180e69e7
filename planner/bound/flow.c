/* The maximum flow of a cut, and the row that follows from it (cut_solver.h has the idea).
 *
 * Nodes: node i is item i, node n_items + a is op a; the last op stands for the producer of all inputs.
 * Arcs: an item to its producer, up to the item's bytes; an op to the items that it reads, without limit; and both
 * backwards, as far as something flows.
 * Augmenting paths are found by breadth-first search from the sink that was opened last, against the arcs. A node that
 * no needed item can reach stays unreachable, since a path only changes arcs between reachable nodes. So the marks of a
 * search that fails stay, and all failing searches of a run together take as long as one.
 * To open sinks one after the other, by ascending x, is the greedy algorithm on a gammoid, and so is optimal. */
#include "planner/bound/cut_solver.h"

#include <stdlib.h>
#include <string.h>

#include "planner/bound/bound_tuning.h"
#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"
#include "runtime/base/array.h"
#include "runtime/base/integers.h"

typedef struct sink {
  double x, price;
  int32_t op;
} sink;

struct plim_cut_flow {
  const plim_cut_model *model;
  const plim_problem *problem;
  int32_t n_items, n_nodes, input_op; /* input_op: the number that stands for the producer of inputs */
  int32_t *read_first;                /* [n_ops + 1] arc of an op's first read */
  int32_t *reader_first;              /* [n_items + 1] entry of an item's first reader in reader_arc */
  int32_t *reader_arc;                /* its reader's arc to it */
  /* of one run */
  const plim_cut *cut;
  int32_t idle;                    /* 1: all that is needed fits, nothing was sent */
  uint8_t *needed;                 /* [n_items] */
  uint8_t *free_item;              /* [n_items] 1: counted in the working set: alive, whoever needs it */
  uint8_t *open;                   /* [n_ops + 1] */
  double *share;                   /* [n_ops] of it that is recomputed after the cut */
  int64_t *through, *along, *left; /* flow: [n_items] to the producer, [arcs] to a read item, [n_ops + 1] to a sink */
  uint8_t *seen;                   /* [n_nodes] */
  int32_t *queue, *next, *via;     /* [n_nodes] the next node to the sink, and the arc: -1: item and producer */
  sink *sinks;                     /* [n_ops] not open yet, by x */
  int32_t n_sinks;
  int64_t budget_bytes, sent; /* sent: needed bytes on their way to sinks */
  double value;               /* of what was sent */
  int64_t work;
  int32_t *row_column;
  int64_t *row_weight, *row_bytes;
  plim_block block;
};

static void lay_out(plim_cut_flow *f, plim_block *b, int64_t arcs) {
  int64_t items = f->n_items, ops = f->problem->n_ops, nodes = f->n_nodes, columns = f->model->n_columns;
  f->read_first = plim_block_take(b, ops + 1, sizeof *f->read_first);
  f->reader_first = plim_block_take(b, items + 1, sizeof *f->reader_first);
  f->reader_arc = plim_block_take(b, arcs, sizeof *f->reader_arc);
  f->needed = plim_block_take(b, items, sizeof *f->needed);
  f->free_item = plim_block_take(b, items, sizeof *f->free_item);
  f->open = plim_block_take(b, ops + 1, sizeof *f->open);
  f->share = plim_block_take(b, ops, sizeof *f->share);
  f->through = plim_block_take(b, items, sizeof *f->through);
  f->along = plim_block_take(b, arcs, sizeof *f->along);
  f->left = plim_block_take(b, ops + 1, sizeof *f->left);
  f->seen = plim_block_take(b, nodes, 1);
  f->queue = plim_block_take(b, nodes, sizeof *f->queue);
  f->next = plim_block_take(b, nodes, sizeof *f->next);
  f->via = plim_block_take(b, nodes, sizeof *f->via);
  f->sinks = plim_block_take(b, ops, sizeof *f->sinks);
  f->row_column = plim_block_take(b, columns, sizeof *f->row_column);
  f->row_weight = plim_block_take(b, columns, sizeof *f->row_weight);
  f->row_bytes = plim_block_take(b, columns, sizeof *f->row_bytes);
}

static int32_t find_read(const plim_planned_op *op, int32_t item) {
  int32_t k = 0;
  while (op->reads.at[k] != item) k++;
  return k;
}

static void number_arcs(plim_cut_flow *f) {
  const plim_problem *p = f->problem;
  int32_t arcs = 0, readers = 0;
  for (int32_t v = 0; v < p->n_ops; v++) {
    f->read_first[v] = arcs;
    arcs += p->op[v].reads.n;
  }
  f->read_first[p->n_ops] = arcs;
  for (int32_t i = 0; i < p->n_items; i++) {
    f->reader_first[i] = readers;
    for (int32_t k = 0; k < p->item[i].readers.n; k++) {
      int32_t a = p->item[i].readers.at[k];
      f->reader_arc[readers++] = f->read_first[a] + find_read(&p->op[a], i);
    }
  }
  f->reader_first[p->n_items] = readers;
}

plim_status plim_cut_flow_new(const plim_cut_model *m, plim_cut_flow **out) {
  const plim_problem *p = m->problem;
  plim_cut_flow *f = NULL;
  int64_t arcs = 0;
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof *f, &f));
  *f = (plim_cut_flow){.model = m, .problem = p, .n_items = p->n_items, .n_nodes = p->n_items + p->n_ops + 1};
  f->input_op = p->n_ops;
  for (int32_t v = 0; v < p->n_ops; v++) arcs += p->op[v].reads.n;
  lay_out(f, &f->block, arcs);
  plim_status status = plim_block_allocate(p->ctx, &f->block);
  if (status != PLIM_OK) {
    plim_release(p->ctx, f, 1, sizeof *f);
    return status;
  }
  lay_out(f, &f->block, arcs);
  number_arcs(f);
  *out = f;
  return PLIM_OK;
}

void plim_cut_flow_free(plim_cut_flow *f) {
  if (!f) return;
  plim_context *ctx = f->problem->ctx;
  plim_block_release(ctx, &f->block);
  plim_release(ctx, f, 1, sizeof *f);
}

int64_t plim_cut_flow_work(const plim_cut_flow *f) {
  return f->work;
}

static int32_t producer_of(const plim_cut_flow *f, int32_t item) {
  int32_t a = f->problem->item[item].producer;
  return a < 0 ? f->input_op : a;
}

/* ---- paths ---- */

static void see(plim_cut_flow *f, int32_t node, int32_t next, int32_t via, int32_t *n) {
  if (f->seen[node]) return;
  f->seen[node] = 1;
  f->next[node] = next;
  f->via[node] = via;
  f->queue[(*n)++] = node;
}

/* The items from which something can go to an op: what it made, as far as there is room; what it reads, by taking back
 * what it sends there. */
static void see_items(plim_cut_flow *f, int32_t op, int32_t *n) {
  const plim_problem *p = f->problem;
  int32_t node = f->n_items + op;
  for (int32_t k = 0; k < p->op[op].writes.n; k++) {
    int32_t i = p->op[op].writes.at[k];
    if (!f->free_item[i] && f->through[i] < p->item[i].bytes) see(f, i, node, -1, n);
  }
  for (int32_t k = 0; k < p->op[op].reads.n; k++) {
    int32_t arc = f->read_first[op] + k;
    if (f->along[arc] > 0) see(f, p->op[op].reads.at[k], node, arc, n);
  }
  f->work += p->op[op].writes.n + p->op[op].reads.n;
}

/* The ops from which something can go to an item: those that read it, and its producer by taking back. What reaches an
 * open sink leaves there. */
static void see_ops(plim_cut_flow *f, int32_t item, int32_t *n) {
  const plim_item *it = &f->problem->item[item];
  for (int32_t k = 0; k < it->readers.n; k++) {
    int32_t a = it->readers.at[k];
    if (!f->open[a]) see(f, f->n_items + a, item, f->reader_arc[f->reader_first[item] + k], n);
  }
  int32_t a = producer_of(f, item);
  if (f->through[item] > 0 && !f->open[a]) see(f, f->n_items + a, item, -1, n);
  f->work += it->readers.n;
}

/* A needed item from which there is a path to the nodes in the queue; -1: none. */
static int32_t find_path(plim_cut_flow *f, int32_t *n) {
  for (int32_t q = 0; q < *n; q++) {
    int32_t node = f->queue[q];
    if (node >= f->n_items) {
      see_items(f, node - f->n_items, n);
    } else if (f->needed[node]) {
      return node;
    } else {
      see_ops(f, node, n);
    }
  }
  return -1;
}

/* Room of the arc from a node to the next one. */
static int64_t room_of(const plim_cut_flow *f, int32_t node) {
  int32_t via = f->via[node], next = f->next[node];
  if (node < f->n_items) return via < 0 ? f->problem->item[node].bytes - f->through[node] : f->along[via];
  return via < 0 ? f->through[next] : INT64_MAX;
}

static void push(plim_cut_flow *f, int32_t node, int64_t bytes) {
  int32_t via = f->via[node], next = f->next[node];
  if (via < 0) {
    f->through[node < f->n_items ? node : next] += node < f->n_items ? bytes : -bytes;
  } else {
    f->along[via] += node < f->n_items ? -bytes : bytes;
  }
}

/* Send all that sink `op` can take; each byte counts `worth`. */
static void fill_sink(plim_cut_flow *f, int32_t op, double worth) {
  int32_t end = f->n_items + op;
  for (;;) {
    int32_t n = 0, item;
    if (op < f->input_op) {
      see_items(f, op, &n);
    } else {
      for (int32_t i = 0; i < f->n_items; i++) {
        int room = !f->free_item[i] && f->through[i] < f->problem->item[i].bytes;
        if (f->problem->item[i].producer < 0 && room) see(f, i, end, -1, &n);
      }
    }
    item = find_path(f, &n);
    if (item < 0) return;
    int64_t bytes = INT64_MAX;
    for (int32_t node = item; node != end; node = f->next[node]) {
      int64_t room = room_of(f, node);
      if (room < bytes) bytes = room;
    }
    for (int32_t node = item; node != end; node = f->next[node]) push(f, node, bytes);
    f->left[op] += bytes;
    f->sent += bytes;
    f->value += worth * (double)bytes;
    for (int32_t q = 0; q < n; q++) f->seen[f->queue[q]] = 0;
  }
}

/* ---- one run ---- */

static int by_x(const void *a, const void *b) {
  const sink *p = a, *q = b;
  if (p->x < q->x || p->x > q->x) return p->x < q->x ? -1 : 1;
  if (p->price < q->price || p->price > q->price) return p->price > q->price ? -1 : 1;
  return plim_integers_compare(p->op, q->op);
}

/* Is the op recomputed in any segment, to any share? For most ops it is not. */
static int is_recomputed(const plim_cut_flow *f, int32_t op, const double *x) {
  const int32_t *first = &f->model->segments.first[op];
  for (int32_t c = first[0]; c < first[1]; c++) {
    if (x[c] > 0) return 1;
  }
  return 0;
}

/* How much of the op is recomputed, in any of its segments that count at the cut. Returns the least price of them. */
static double share_of(plim_cut_flow *f, int32_t op, const double *x, const double *price) {
  f->share[op] = 0;
  if (!price && !is_recomputed(f, op, x)) return 0;
  plim_cut_span span = plim_cut_span_of(&f->model->segments, &f->model->order, op, f->cut->op);
  double share = 0, least = price ? price[span.first] : 0;
  for (int32_t c = span.first; c < span.end; c++) {
    share += x[c];
    if (price && price[c] < least) least = price[c];
  }
  f->share[op] = share < 1 ? share : 1;
  return least;
}

/* Set the needed items and the sinks. Ops that cannot be recomputed are open sinks from the start. */
static void set_ends(plim_cut_flow *f, const double *x, const double *price) {
  const plim_problem *p = f->problem;
  int32_t v = f->cut->op;
  f->n_sinks = 0;
  f->sent = 0;
  f->value = 0;
  memset(f->through, 0, (size_t)p->n_items * sizeof *f->through);
  memset(f->along, 0, (size_t)f->read_first[p->n_ops] * sizeof *f->along);
  memset(f->left, 0, (size_t)(p->n_ops + 1) * sizeof *f->left);
  memset(f->free_item, 0, (size_t)p->n_items);
  memset(f->seen, 0, (size_t)f->n_nodes);
  for (int32_t i = 0; i < p->n_items; i++) f->needed[i] = (uint8_t)plim_cut_needed(f->model, i, v);
  for (int32_t i = 0; i < p->op[v].reads.n; i++) {
    int32_t item = p->op[v].reads.at[i];
    f->free_item[item] = !f->needed[item];
  }
  for (int32_t a = 0; a < p->n_ops; a++) {
    int never = !plim_cut_before(&f->model->order, a, v) || !plim_cut_may_repeat(f->model, a, v);
    double worth = never ? 0 : share_of(f, a, x, price);
    f->open[a] = never || (!price && f->share[a] < bound_tuning.flow.nothing);
    if (f->open[a] || f->share[a] >= bound_tuning.flow.whole) continue;
    f->sinks[f->n_sinks++] = (sink){f->share[a] < bound_tuning.flow.nothing ? 0 : f->share[a], worth, a};
  }
  f->open[f->input_op] = 1;
  f->work += p->n_items + p->n_ops;
  for (int32_t a = 0; a < f->input_op; a++) {
    if (f->open[a] && plim_cut_before(&f->model->order, a, v)) fill_sink(f, a, 1);
  }
  fill_sink(f, f->input_op, 1);
  qsort(f->sinks, (size_t)f->n_sinks, sizeof *f->sinks, by_x);
}

double plim_cut_flow_run(plim_cut_flow *f, const plim_cut *cut, const double *x, const double *price,
                         int64_t budget_bytes) {
  const plim_cut_model *m = f->model;
  f->cut = cut;
  f->budget_bytes = budget_bytes;
  double over = (double)cut->base_bytes - (double)budget_bytes;
  for (int32_t c = cut->first_column; c < cut->end_column; c++) over -= (double)m->saved_bytes[c] * x[c];
  f->idle = over + (double)cut->needed_bytes <= 0;
  if (f->idle) return over + (double)cut->needed_bytes;
  set_ends(f, x, price);
  for (int32_t s = 0; s < f->n_sinks; s++) {
    double worth = 1 - f->sinks[s].x;
    if (over + f->value + worth * (double)(cut->needed_bytes - f->sent) <= 0) return 0;
    f->open[f->sinks[s].op] = 1;
    fill_sink(f, f->sinks[s].op, worth);
  }
  return over + f->value;
}

/* Walk forwards from the needed items, over arcs with room. Ops that are reached and are no open sinks are recomputed.
 */
void plim_cut_flow_recomputed(plim_cut_flow *f, uint8_t *recomputed) {
  const plim_problem *p = f->problem;
  int32_t n = 0;
  memset(recomputed, 0, (size_t)p->n_ops);
  if (f->idle) return;
  memset(f->seen, 0, (size_t)f->n_nodes);
  for (int32_t i = 0; i < f->n_items; i++) {
    if (f->needed[i]) see(f, i, -1, -1, &n);
  }
  for (int32_t q = 0; q < n; q++) {
    int32_t node = f->queue[q], a = node - f->n_items;
    if (a < 0) {
      const plim_item *item = &p->item[node];
      if (!f->free_item[node] && f->through[node] < item->bytes) see(f, f->n_items + producer_of(f, node), -1, -1, &n);
      for (int32_t k = 0; k < item->readers.n; k++) {
        if (f->along[f->reader_arc[f->reader_first[node] + k]] > 0)
          see(f, f->n_items + item->readers.at[k], -1, -1, &n);
      }
      continue;
    }
    if (f->open[a]) continue;
    recomputed[a] = 1;
    for (int32_t k = 0; k < p->op[a].reads.n; k++) see(f, p->op[a].reads.at[k], -1, -1, &n);
    for (int32_t k = 0; k < p->op[a].writes.n; k++) {
      if (f->through[p->op[a].writes.at[k]] > 0) see(f, p->op[a].writes.at[k], -1, -1, &n);
    }
  }
}

static void add_term(plim_cut_row *row, int32_t column, int64_t bytes) {
  if (bytes <= 0) return;
  row->column[row->n] = column;
  row->bytes[row->n++] = bytes;
}

void plim_cut_flow_row(plim_cut_flow *f, plim_cut_row *row) {
  const plim_problem *p = f->problem;
  int32_t v = f->cut->op;
  *row = (plim_cut_row){.column = f->row_column,
                        .weight = f->row_weight,
                        .bytes = f->row_bytes,
                        .needed_bytes = f->cut->base_bytes + f->sent};
  for (int32_t a = 0; a < p->n_ops; a++) {
    if (f->left[a] <= 0 || !plim_cut_may_repeat(f->model, a, v)) continue;
    plim_cut_span span = plim_cut_span_of(&f->model->segments, &f->model->order, a, v);
    for (int32_t c = span.first; c < span.end; c++) add_term(row, c, f->left[a]);
  }
  for (int32_t c = f->cut->first_column; c < f->cut->end_column; c++) add_term(row, c, f->model->saved_bytes[c]);
  plim_cut_row_fit(row, f->budget_bytes);
}
