/* Dinic's algorithm on items and ops. Arcs: item to its producer (as much as its bytes), op to the items that it reads
 * (any amount), and both backwards as far as something flows. Node i is item i, node n_items + a is op a; the last op
 * stands for whoever made the inputs. Source: Dinic 1970; opening sinks one after the other is the greedy algorithm on
 * the gammoid of the sinks. */
#include "planner/cut/flow.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/array.h"

typedef struct sink {
  double x;
  int32_t op;
} sink;

struct plim_cut_flow {
  const plim_cut_model *model;
  const plim_problem *problem;
  int32_t n_items, n_nodes, nobody; /* nobody: the op that made the inputs */
  int32_t *read_first;              /* [n_ops + 1] arc of an op's first read */
  int32_t *reader_first;            /* [n_items + 1] entry of an item's first reader in reader_arc */
  int32_t *reader_arc;              /* its reader's arc to it */
  /* of one run */
  const plim_cut *cut;
  uint8_t *needed;                 /* [n_items] */
  uint8_t *free_item;              /* [n_items] 1: counted in the working set: alive, whoever needs it */
  uint8_t *open;                   /* [n_ops + 1] */
  int64_t *through, *along, *left; /* flow: [n_items] to the producer, [arcs] to a read item, [n_ops + 1] to a sink */
  int32_t *level, *queue, *next, *path; /* [n_nodes] */
  sink *sinks;                          /* [n_ops] not open yet, by x */
  int32_t n_sinks;
  int64_t budget_bytes, sent; /* sent: needed bytes on their way to sinks */
  double value;               /* of what was sent */
  int64_t work;
  int32_t *row_column;
  int64_t *row_weight;
  plim_block block;
};

static void carve(plim_cut_flow *f, plim_block *b, int64_t arcs) {
  int64_t items = f->n_items, ops = f->problem->n_ops, nodes = f->n_nodes, columns = f->model->n_columns;
  f->read_first = plim_block_take(b, ops + 1, sizeof *f->read_first);
  f->reader_first = plim_block_take(b, items + 1, sizeof *f->reader_first);
  f->reader_arc = plim_block_take(b, arcs, sizeof *f->reader_arc);
  f->needed = plim_block_take(b, items, sizeof *f->needed);
  f->free_item = plim_block_take(b, items, sizeof *f->free_item);
  f->open = plim_block_take(b, ops + 1, sizeof *f->open);
  f->through = plim_block_take(b, items, sizeof *f->through);
  f->along = plim_block_take(b, arcs, sizeof *f->along);
  f->left = plim_block_take(b, ops + 1, sizeof *f->left);
  f->level = plim_block_take(b, nodes, sizeof *f->level);
  f->queue = plim_block_take(b, nodes, sizeof *f->queue);
  f->next = plim_block_take(b, nodes, sizeof *f->next);
  f->path = plim_block_take(b, nodes, sizeof *f->path);
  f->sinks = plim_block_take(b, ops, sizeof *f->sinks);
  f->row_column = plim_block_take(b, columns, sizeof *f->row_column);
  f->row_weight = plim_block_take(b, columns, sizeof *f->row_weight);
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
  f->nobody = p->n_ops;
  for (int32_t v = 0; v < p->n_ops; v++) arcs += p->op[v].reads.n;
  carve(f, &f->block, arcs);
  plim_status status = plim_block_allocate(p->ctx, &f->block);
  if (status != PLIM_OK) {
    plim_release(p->ctx, f, 1, sizeof *f);
    return status;
  }
  carve(f, &f->block, arcs);
  number_arcs(f);
  *out = f;
  return PLIM_OK;
}

void plim_cut_flow_free(plim_cut_flow *f) {
  if (!f) return;
  plim_context *ctx = f->problem->ctx;
  plim_release(ctx, f->block.base, f->block.bytes, 1);
  plim_release(ctx, f, 1, sizeof *f);
}

int64_t plim_cut_flow_work(const plim_cut_flow *f) {
  return f->work;
}

static int32_t producer_of(const plim_cut_flow *f, int32_t item) {
  int32_t a = f->problem->item[item].producer;
  return a < 0 ? f->nobody : a;
}

/* ---- one phase: levels by breadth, then paths that go down the levels ---- */

/* The k-th neighbour of a node and the room of the arc to it. -1: no more of them. */
static int32_t neighbour(const plim_cut_flow *f, int32_t node, int32_t k, int64_t *room) {
  const plim_problem *p = f->problem;
  if (node < f->n_items) {
    const plim_item *item = &p->item[node];
    if (k == 0) {
      *room = f->free_item[node] ? 0 : item->bytes - f->through[node];
      return f->n_items + producer_of(f, node);
    }
    if (k > item->readers.n) return -1;
    *room = f->along[f->reader_arc[f->reader_first[node] + k - 1]];
    return f->n_items + item->readers.at[k - 1];
  }
  int32_t a = node - f->n_items;
  if (a == f->nobody) return -1;
  const plim_planned_op *op = &p->op[a];
  if (k < op->reads.n) {
    *room = INT64_MAX;
    return op->reads.at[k];
  }
  k -= op->reads.n;
  if (k >= op->writes.n) return -1;
  *room = f->through[op->writes.at[k]];
  return op->writes.at[k];
}

static void visit(plim_cut_flow *f, int32_t node, int32_t level, int32_t *n) {
  if (f->level[node] >= 0) return;
  f->level[node] = level;
  f->next[node] = 0;
  f->queue[(*n)++] = node;
}

/* Levels of all nodes that a needed item can still reach; is an open sink among them? */
static int find_levels(plim_cut_flow *f) {
  int32_t n = 0, reached = 0;
  memset(f->level, -1, (size_t)f->n_nodes * sizeof *f->level);
  for (int32_t i = 0; i < f->n_items; i++) {
    if (f->needed[i]) visit(f, i, 0, &n);
  }
  for (int32_t q = 0; q < n; q++) {
    int32_t node = f->queue[q], to;
    int64_t room;
    if (node >= f->n_items && f->open[node - f->n_items]) {
      reached = 1;
      continue;
    }
    for (int32_t k = 0; (to = neighbour(f, node, k, &room)) >= 0; k++) {
      if (room > 0) visit(f, to, f->level[node] + 1, &n);
    }
  }
  f->work += n;
  return reached;
}

/* What flows on the arc changes by `bytes`. */
static void push(plim_cut_flow *f, int32_t node, int32_t k, int64_t bytes) {
  const plim_problem *p = f->problem;
  if (node < f->n_items) {
    if (k == 0) {
      f->through[node] += bytes;
    } else {
      f->along[f->reader_arc[f->reader_first[node] + k - 1]] -= bytes;
    }
    return;
  }
  int32_t a = node - f->n_items;
  if (k < p->op[a].reads.n) {
    f->along[f->read_first[a] + k] += bytes;
  } else {
    f->through[p->op[a].writes.at[k - p->op[a].reads.n]] -= bytes;
  }
}

/* Send what one path from the needed item takes; 0: there is none. */
static int64_t send(plim_cut_flow *f, int32_t item) {
  int32_t depth = 0;
  f->path[0] = item;
  for (;;) {
    int32_t node = f->path[depth], to;
    int64_t room;
    if (node >= f->n_items && f->open[node - f->n_items]) break;
    for (; (to = neighbour(f, node, f->next[node], &room)) >= 0; f->next[node]++) {
      f->work++;
      if (room > 0 && f->level[to] == f->level[node] + 1) break;
    }
    if (to >= 0) {
      f->path[++depth] = to;
      continue;
    }
    f->level[node] = -1;
    if (depth == 0) return 0;
    f->next[f->path[--depth]]++;
  }
  int64_t bytes = INT64_MAX, room;
  for (int32_t d = 0; d < depth; d++) {
    (void)neighbour(f, f->path[d], f->next[f->path[d]], &room);
    if (room < bytes) bytes = room;
  }
  for (int32_t d = 0; d < depth; d++) push(f, f->path[d], f->next[f->path[d]], bytes);
  f->left[f->path[depth] - f->n_items] += bytes;
  return bytes;
}

/* Send all that the open sinks can take; each byte counts `worth`. */
static void fill_sinks(plim_cut_flow *f, double worth) {
  while (find_levels(f)) {
    for (int32_t i = 0; i < f->n_items; i++) {
      if (!f->needed[i]) continue;
      for (int64_t bytes; (bytes = send(f, i)) > 0;) {
        f->sent += bytes;
        f->value += worth * (double)bytes;
      }
    }
  }
}

/* ---- one run ---- */

static int by_x(const void *a, const void *b) {
  const sink *p = a, *q = b;
  if (p->x < q->x || p->x > q->x) return p->x < q->x ? -1 : 1;
  return (p->op > q->op) - (p->op < q->op);
}

static const double whole = 1 - 1e-9, nothing = 1e-9;

/* Which items are needed, and which ops are sinks: at once those that cannot run again. */
static void begin(plim_cut_flow *f, const double *x) {
  const plim_problem *p = f->problem;
  int32_t v = f->cut->op;
  f->n_sinks = 0;
  f->sent = 0;
  f->value = 0;
  memset(f->through, 0, (size_t)p->n_items * sizeof *f->through);
  memset(f->along, 0, (size_t)f->read_first[p->n_ops] * sizeof *f->along);
  memset(f->left, 0, (size_t)(p->n_ops + 1) * sizeof *f->left);
  memset(f->free_item, 0, (size_t)p->n_items);
  for (int32_t i = 0; i < p->n_items; i++) f->needed[i] = (uint8_t)plim_cut_needed(f->model, i, v);
  for (int32_t i = 0; i < p->op[v].reads.n; i++) {
    int32_t item = p->op[v].reads.at[i];
    f->free_item[item] = !f->needed[item];
  }
  for (int32_t a = 0; a < p->n_ops; a++) {
    f->open[a] = !plim_cut_before(&f->model->order, a, v) || !plim_cut_may_repeat(f->model, a, v) || x[a] <= nothing;
    if (!f->open[a] && x[a] < whole) f->sinks[f->n_sinks++] = (sink){x[a], a};
  }
  f->open[f->nobody] = 1;
  f->work += p->n_items + p->n_ops;
  qsort(f->sinks, (size_t)f->n_sinks, sizeof *f->sinks, by_x);
}

double plim_cut_flow_run(plim_cut_flow *f, const plim_cut *cut, const double *x, int64_t budget_bytes) {
  const plim_cut_model *m = f->model;
  f->cut = cut;
  f->budget_bytes = budget_bytes;
  double over = (double)cut->base_bytes - (double)budget_bytes;
  for (int32_t c = cut->first_column; c < cut->end_column; c++) over -= (double)m->saved_bytes[c] * x[c];
  if (over + (double)cut->needed_bytes <= 0) { /* nothing runs again */
    memset(f->level, -1, (size_t)f->n_nodes * sizeof *f->level);
    return over + (double)cut->needed_bytes;
  }
  begin(f, x);
  fill_sinks(f, 1);
  for (int32_t s = 0; s < f->n_sinks;) {
    double at = f->sinks[s].x;
    if (over + f->value + (1 - at) * (double)(cut->needed_bytes - f->sent) <= 0) return 0;
    for (; s < f->n_sinks && f->sinks[s].x <= at + nothing; s++) f->open[f->sinks[s].op] = 1;
    fill_sinks(f, 1 - at);
  }
  return over + f->value;
}

int plim_cut_flow_again(const plim_cut_flow *f, int32_t op) {
  return f->level[f->n_items + op] >= 0 && !f->open[op];
}

static int64_t divisor(int64_t a, int64_t b) {
  while (b > 0) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

static void add_term(plim_cut_row *row, int32_t column, int64_t weight) {
  if (weight <= 0) return;
  row->column[row->n] = column;
  row->weight[row->n++] = weight < row->demand ? weight : row->demand;
}

void plim_cut_flow_row(plim_cut_flow *f, plim_cut_row *row) {
  const plim_problem *p = f->problem;
  int32_t v = f->cut->op;
  *row = (plim_cut_row){.column = f->row_column, .weight = f->row_weight};
  row->demand = f->cut->base_bytes - f->budget_bytes + f->sent;
  for (int32_t a = 0; a < p->n_ops; a++) {
    if (f->left[a] > 0 && plim_cut_may_repeat(f->model, a, v)) add_term(row, a, f->left[a]);
  }
  for (int32_t c = f->cut->first_column; c < f->cut->end_column; c++) add_term(row, c, f->model->saved_bytes[c]);
  int64_t unit = row->demand;
  for (int32_t k = 0; k < row->n; k++) unit = divisor(unit, row->weight[k]);
  if (unit <= 1) return;
  row->demand /= unit;
  for (int32_t k = 0; k < row->n; k++) row->weight[k] /= unit;
}
