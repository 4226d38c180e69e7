/* The maximum flow of a cut, and the row that follows from it (cut_model.h has the idea).
 *
 * Nodes: node i is item i, node n_items + a is op a; the last op stands for the producer of all inputs.
 * Arcs: an item to its producer, up to the item's bytes; an op to the items that it reads, without limit; and both
 * backwards, as far as something flows.
 * Augmenting paths are found by breadth-first search from the sink that was opened last, against the arcs. A node that
 * no needed item can reach stays unreachable, since a path only changes arcs between reachable nodes. So the marks of a
 * search that fails stay, and all failing searches of a run together take as long as one.
 * To open sinks one after the other, by ascending x, is the greedy algorithm on a gammoid, and so is optimal.
 *
 * Example (that of cut_model.h): item a of 4 bytes is needed at op 2, whose working set takes 8 of 10 bytes.
 * All of a leaves at its producer, op 0, where a byte counts 1 - x. At x = 0 there are 8 + 4 bytes, 2 too many, and the
 * row is 4 x >= 2. At x = 0.5 there are 8 + 2 bytes: the cut fits. */
#include "planner/bound/cut_solver_internal.h"

#include <stdlib.h>
#include <string.h>

#include "planner/bound/bound_tuning.h"
#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"
#include "runtime/base/integers.h"

int64_t plim_cut_flow_work(const plim_cut_flow *flow) {
  return flow->work;
}

static int32_t producer_of(const plim_cut_flow *flow, int32_t item) {
  int32_t a = flow->problem->item[item].producer;
  return a < 0 ? flow->input_op : a;
}

/* ---- paths ---- */

static void reach_node(plim_cut_flow *flow, int32_t node, int32_t next, int32_t arc, int32_t *n) {
  if (flow->seen[node]) return;
  flow->seen[node] = 1;
  flow->next[node] = next;
  flow->next_arc[node] = arc;
  flow->queue[(*n)++] = node;
}

/* The items from which something can go to an op: what it made, as far as there is room; what it reads, by taking back
 * what it sends there. */
static void reach_items(plim_cut_flow *flow, int32_t op, int32_t *n) {
  const plim_problem *p = flow->problem;
  int32_t node = flow->n_items + op;
  for (int32_t k = 0; k < p->op[op].writes.n; k++) {
    int32_t i = p->op[op].writes.at[k];
    if (!flow->free_item[i] && flow->producer_flow[i] < p->item[i].bytes) reach_node(flow, i, node, -1, n);
  }
  for (int32_t k = 0; k < p->op[op].reads.n; k++) {
    int32_t arc = flow->read_first[op] + k;
    if (flow->read_flow[arc] > 0) reach_node(flow, p->op[op].reads.at[k], node, arc, n);
  }
  flow->work += p->op[op].writes.n + p->op[op].reads.n;
}

/* The ops from which something can go to an item: those that read it, and its producer by taking back. What reaches an
 * open sink leaves there. */
static void reach_ops(plim_cut_flow *flow, int32_t item, int32_t *n) {
  const plim_item *it = &flow->problem->item[item];
  for (int32_t k = 0; k < it->readers.n; k++) {
    int32_t a = it->readers.at[k];
    if (!flow->open[a]) reach_node(flow, flow->n_items + a, item, flow->reader_arc[flow->reader_first[item] + k], n);
  }
  int32_t a = producer_of(flow, item);
  if (flow->producer_flow[item] > 0 && !flow->open[a]) reach_node(flow, flow->n_items + a, item, -1, n);
  flow->work += it->readers.n;
}

/* A needed item from which there is a path to the nodes in the queue; -1: none. */
static int32_t find_path(plim_cut_flow *flow, int32_t *n) {
  for (int32_t q = 0; q < *n; q++) {
    int32_t node = flow->queue[q];
    if (node >= flow->n_items) {
      reach_items(flow, node - flow->n_items, n);
    } else if (flow->needed[node]) {
      return node;
    } else {
      reach_ops(flow, node, n);
    }
  }
  return -1;
}

/* Room of the arc from a node to the next one. */
static int64_t room_of(const plim_cut_flow *flow, int32_t node) {
  int32_t arc = flow->next_arc[node], next = flow->next[node];
  if (node < flow->n_items) {
    return arc < 0 ? flow->problem->item[node].bytes - flow->producer_flow[node] : flow->read_flow[arc];
  }
  return arc < 0 ? flow->producer_flow[next] : INT64_MAX;
}

static void push(plim_cut_flow *flow, int32_t node, int64_t bytes) {
  int32_t arc = flow->next_arc[node], next = flow->next[node];
  if (arc < 0) {
    flow->producer_flow[node < flow->n_items ? node : next] += node < flow->n_items ? bytes : -bytes;
  } else {
    flow->read_flow[arc] += node < flow->n_items ? -bytes : bytes;
  }
}

/* Send all that sink `op` can take; each byte counts `worth`. */
static void fill_sink(plim_cut_flow *flow, int32_t op, double worth) {
  int32_t end = flow->n_items + op;
  for (;;) {
    int32_t n = 0, item;
    if (op < flow->input_op) {
      reach_items(flow, op, &n);
    } else {
      for (int32_t i = 0; i < flow->n_items; i++) {
        int room = !flow->free_item[i] && flow->producer_flow[i] < flow->problem->item[i].bytes;
        if (flow->problem->item[i].producer < 0 && room) reach_node(flow, i, end, -1, &n);
      }
    }
    item = find_path(flow, &n);
    if (item < 0) return;
    int64_t bytes = INT64_MAX;
    for (int32_t node = item; node != end; node = flow->next[node]) {
      int64_t room = room_of(flow, node);
      if (room < bytes) bytes = room;
    }
    for (int32_t node = item; node != end; node = flow->next[node]) push(flow, node, bytes);
    flow->sink_flow[op] += bytes;
    flow->total_flow += bytes;
    flow->value += worth * (double)bytes;
    for (int32_t q = 0; q < n; q++) flow->seen[flow->queue[q]] = 0;
  }
}

/* ---- one run ---- */

static int by_x(const void *a, const void *b) {
  const plim_cut_sink *p = a, *q = b;
  if (p->x < q->x || p->x > q->x) return p->x < q->x ? -1 : 1;
  if (p->price < q->price || p->price > q->price) return p->price > q->price ? -1 : 1;
  return plim_integers_compare(p->op, q->op);
}

/* Is the op recomputed in any segment, to any share? For most ops it is not. */
static int is_recomputed(const plim_cut_flow *flow, int32_t op, const double *x) {
  const int32_t *first = &flow->model->segments.first[op];
  for (int32_t c = first[0]; c < first[1]; c++) {
    if (x[c] > 0) return 1;
  }
  return 0;
}

/* How much of the op is recomputed, in any of its segments that count at the cut. Returns the least price of them. */
static double share_of(plim_cut_flow *flow, int32_t op, const double *x, const double *price) {
  flow->share[op] = 0;
  if (!price && !is_recomputed(flow, op, x)) return 0;
  plim_cut_segment_range span =
      plim_cut_segment_range_of(&flow->model->segments, &flow->model->order, op, flow->cut->op);
  double share = 0, least = price ? price[span.first] : 0;
  for (int32_t c = span.first; c < span.end; c++) {
    share += x[c];
    if (price && price[c] < least) least = price[c];
  }
  flow->share[op] = share < 1 ? share : 1;
  return least;
}

/* Nothing flows, no node is seen, no sink waits. */
static void clear_flow(plim_cut_flow *flow) {
  const plim_problem *p = flow->problem;
  flow->n_sinks = 0;
  flow->total_flow = 0;
  flow->value = 0;
  memset(flow->producer_flow, 0, (size_t)p->n_items * sizeof *flow->producer_flow);
  memset(flow->read_flow, 0, (size_t)flow->read_first[p->n_ops] * sizeof *flow->read_flow);
  memset(flow->sink_flow, 0, (size_t)(p->n_ops + 1) * sizeof *flow->sink_flow);
  memset(flow->seen, 0, (size_t)flow->n_nodes);
}

/* The needed items, and those of the working set, which are alive whoever needs them. */
static void mark_items(plim_cut_flow *flow) {
  const plim_problem *p = flow->problem;
  int32_t v = flow->cut->op;
  memset(flow->free_item, 0, (size_t)p->n_items);
  for (int32_t i = 0; i < p->n_items; i++) flow->needed[i] = (uint8_t)plim_cut_needed(flow->model, i, v);
  for (int32_t i = 0; i < p->op[v].reads.n; i++) {
    int32_t item = p->op[v].reads.at[i];
    flow->free_item[item] = !flow->needed[item];
  }
}

/* Ops that cannot be recomputed are open sinks from the start; without prices, so are those that x recomputes to no
 * share. The others whose share is below 1 are listed by x. */
static void list_sinks(plim_cut_flow *flow, const double *x, const double *price) {
  const plim_problem *p = flow->problem;
  int32_t v = flow->cut->op;
  for (int32_t a = 0; a < p->n_ops; a++) {
    int never = !plim_cut_before(&flow->model->order, a, v) || !plim_cut_may_repeat(flow->model, a, v);
    double worth = never ? 0 : share_of(flow, a, x, price);
    flow->open[a] = never || (!price && flow->share[a] < bound_tuning.flow.nothing);
    if (flow->open[a] || flow->share[a] >= bound_tuning.flow.whole) continue;
    flow->sinks[flow->n_sinks++] =
        (plim_cut_sink){flow->share[a] < bound_tuning.flow.nothing ? 0 : flow->share[a], worth, a};
  }
  flow->open[flow->input_op] = 1;
  qsort(flow->sinks, (size_t)flow->n_sinks, sizeof *flow->sinks, by_x);
}

/* Send what can leave at the sinks that are open from the start, of ops that certainly ran before the cut. */
static void fill_open_sinks(plim_cut_flow *flow) {
  for (int32_t a = 0; a < flow->input_op; a++) {
    if (flow->open[a] && plim_cut_before(&flow->model->order, a, flow->cut->op)) fill_sink(flow, a, 1);
  }
  fill_sink(flow, flow->input_op, 1);
}

double plim_cut_flow_run(plim_cut_flow *flow, const plim_cut *cut, const double *x, const double *price,
                         int64_t budget_bytes) {
  const plim_cut_model *model = flow->model;
  flow->cut = cut;
  flow->budget_bytes = budget_bytes;
  double over = (double)cut->base_bytes - (double)budget_bytes;
  for (int32_t c = cut->first_column; c < cut->end_column; c++) over -= (double)model->saved_bytes[c] * x[c];
  flow->is_idle = over + (double)cut->needed_bytes <= 0;
  if (flow->is_idle) return over + (double)cut->needed_bytes;
  clear_flow(flow);
  mark_items(flow);
  list_sinks(flow, x, price);
  flow->work += model->problem->n_items + model->problem->n_ops;
  fill_open_sinks(flow);
  for (int32_t s = 0; s < flow->n_sinks; s++) {
    double worth = 1 - flow->sinks[s].x;
    if (over + flow->value + worth * (double)(cut->needed_bytes - flow->total_flow) <= 0) return 0;
    flow->open[flow->sinks[s].op] = 1;
    fill_sink(flow, flow->sinks[s].op, worth);
  }
  return over + flow->value;
}

/* Walk forwards from the needed items, over arcs with room. Ops that are reached and are no open sinks are recomputed.
 */
void plim_cut_flow_recomputed(plim_cut_flow *flow, uint8_t *recomputed) {
  const plim_problem *p = flow->problem;
  int32_t n = 0;
  memset(recomputed, 0, (size_t)p->n_ops);
  if (flow->is_idle) return;
  memset(flow->seen, 0, (size_t)flow->n_nodes);
  for (int32_t i = 0; i < flow->n_items; i++) {
    if (flow->needed[i]) reach_node(flow, i, -1, -1, &n);
  }
  for (int32_t q = 0; q < n; q++) {
    int32_t node = flow->queue[q], a = node - flow->n_items;
    if (a < 0) {
      const plim_item *item = &p->item[node];
      if (!flow->free_item[node] && flow->producer_flow[node] < item->bytes) {
        reach_node(flow, flow->n_items + producer_of(flow, node), -1, -1, &n);
      }
      for (int32_t k = 0; k < item->readers.n; k++) {
        if (flow->read_flow[flow->reader_arc[flow->reader_first[node] + k]] > 0) {
          reach_node(flow, flow->n_items + item->readers.at[k], -1, -1, &n);
        }
      }
      continue;
    }
    if (flow->open[a]) continue;
    recomputed[a] = 1;
    for (int32_t k = 0; k < p->op[a].reads.n; k++) reach_node(flow, p->op[a].reads.at[k], -1, -1, &n);
    for (int32_t k = 0; k < p->op[a].writes.n; k++) {
      if (flow->producer_flow[p->op[a].writes.at[k]] > 0) reach_node(flow, p->op[a].writes.at[k], -1, -1, &n);
    }
  }
}

static void add_term(plim_cut_row *row, int32_t column, int64_t bytes) {
  if (bytes <= 0) return;
  row->column[row->n] = column;
  row->bytes[row->n++] = bytes;
}

void plim_cut_flow_row(plim_cut_flow *flow, plim_cut_row *row) {
  const plim_problem *p = flow->problem;
  int32_t v = flow->cut->op;
  *row = (plim_cut_row){.column = flow->row_column,
                        .weight = flow->row_weight,
                        .bytes = flow->row_bytes,
                        .needed_bytes = flow->cut->base_bytes + flow->total_flow};
  for (int32_t a = 0; a < p->n_ops; a++) {
    if (flow->sink_flow[a] <= 0 || !plim_cut_may_repeat(flow->model, a, v)) continue;
    plim_cut_segment_range span = plim_cut_segment_range_of(&flow->model->segments, &flow->model->order, a, v);
    for (int32_t c = span.first; c < span.end; c++) add_term(row, c, flow->sink_flow[a]);
  }
  for (int32_t c = flow->cut->first_column; c < flow->cut->end_column; c++) {
    add_term(row, c, flow->model->saved_bytes[c]);
  }
  plim_cut_row_fit(row, flow->budget_bytes);
}
