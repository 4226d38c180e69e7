/* The network of a cut's flow (flow.c): the numbers of its arcs, made once for a model, and the memory of runs. */
#include "planner/bound/cut_solver_internal.h"

static void lay_out(plim_cut_flow *flow, plim_block *memory, int64_t arcs) {
  int64_t items = flow->n_items, ops = flow->problem->n_ops, nodes = flow->n_nodes, columns = flow->model->n_columns;
  flow->read_first = plim_block_take(memory, ops + 1, sizeof *flow->read_first);
  flow->reader_first = plim_block_take(memory, items + 1, sizeof *flow->reader_first);
  flow->reader_arc = plim_block_take(memory, arcs, sizeof *flow->reader_arc);
  flow->needed = plim_block_take(memory, items, sizeof *flow->needed);
  flow->free_item = plim_block_take(memory, items, sizeof *flow->free_item);
  flow->open = plim_block_take(memory, ops + 1, sizeof *flow->open);
  flow->share = plim_block_take(memory, ops, sizeof *flow->share);
  flow->producer_flow = plim_block_take(memory, items, sizeof *flow->producer_flow);
  flow->read_flow = plim_block_take(memory, arcs, sizeof *flow->read_flow);
  flow->sink_flow = plim_block_take(memory, ops + 1, sizeof *flow->sink_flow);
  flow->seen = plim_block_take(memory, nodes, 1);
  flow->queue = plim_block_take(memory, nodes, sizeof *flow->queue);
  flow->next = plim_block_take(memory, nodes, sizeof *flow->next);
  flow->next_arc = plim_block_take(memory, nodes, sizeof *flow->next_arc);
  flow->sinks = plim_block_take(memory, ops, sizeof *flow->sinks);
  flow->row_column = plim_block_take(memory, columns, sizeof *flow->row_column);
  flow->row_weight = plim_block_take(memory, columns, sizeof *flow->row_weight);
  flow->row_bytes = plim_block_take(memory, columns, sizeof *flow->row_bytes);
}

static int32_t find_read(const plim_planned_op *op, int32_t item) {
  int32_t k = 0;
  while (op->reads.at[k] != item) k++;
  return k;
}

static void number_arcs(plim_cut_flow *flow) {
  const plim_problem *p = flow->problem;
  int32_t arcs = 0, readers = 0;
  for (int32_t v = 0; v < p->n_ops; v++) {
    flow->read_first[v] = arcs;
    arcs += p->op[v].reads.n;
  }
  flow->read_first[p->n_ops] = arcs;
  for (int32_t i = 0; i < p->n_items; i++) {
    flow->reader_first[i] = readers;
    for (int32_t k = 0; k < p->item[i].readers.n; k++) {
      int32_t a = p->item[i].readers.at[k];
      flow->reader_arc[readers++] = flow->read_first[a] + find_read(&p->op[a], i);
    }
  }
  flow->reader_first[p->n_items] = readers;
}

plim_status plim_cut_flow_new(const plim_cut_model *model, plim_cut_flow **out) {
  const plim_problem *p = model->problem;
  plim_cut_flow *flow = NULL;
  int64_t arcs = 0;
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof *flow, &flow));
  *flow = (plim_cut_flow){.model = model, .problem = p, .n_items = p->n_items, .n_nodes = p->n_items + p->n_ops + 1};
  flow->input_op = p->n_ops;
  for (int32_t v = 0; v < p->n_ops; v++) arcs += p->op[v].reads.n;
  lay_out(flow, &flow->block, arcs);
  plim_status status = plim_block_allocate(p->ctx, &flow->block);
  if (status != PLIM_OK) {
    plim_release(p->ctx, flow, 1, sizeof *flow);
    return status;
  }
  lay_out(flow, &flow->block, arcs);
  number_arcs(flow);
  *out = flow;
  return PLIM_OK;
}

void plim_cut_flow_free(plim_cut_flow *flow) {
  if (!flow) return;
  plim_context *ctx = flow->problem->ctx;
  plim_block_release(ctx, &flow->block);
  plim_release(ctx, flow, 1, sizeof *flow);
}
