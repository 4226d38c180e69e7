/* Reduces a planning problem to a graph of nodes with one output, one time and one size (dag.h says on which side), and
 * turns sequences of nodes back into schedules. Lists of predecessors and successors are ascending. O(graph). */
#include "planner/exact/dag.h"

#include "runtime/base/integers.h"

static void number_nodes(plim_dag *dag) {
  const plim_problem *p = dag->problem;
  for (int32_t i = 0; i < p->n_items; i++) {
    if (p->item[i].producer < 0) dag->item_node[i] = dag->n_inputs++;
  }
  dag->n = dag->n_inputs + p->n_ops;
  for (int32_t i = 0; i < p->n_items; i++) {
    if (p->item[i].producer >= 0) dag->item_node[i] = dag->n_inputs + p->item[i].producer;
  }
}

static void describe_inputs(plim_dag *dag) {
  const plim_problem *p = dag->problem;
  for (int32_t i = 0; i < p->n_items; i++) {
    if (p->item[i].producer >= 0) continue;
    int32_t v = dag->item_node[i];
    dag->own_node[v] =
        (plim_dag_node){.op = -1, .bytes = p->item[i].bytes, .last_stage = v, .is_output = p->item[i].is_output};
  }
}

static void describe_ops(plim_dag *dag) {
  const plim_problem *p = dag->problem;
  for (int32_t o = 0; o < p->n_ops; o++) {
    const plim_planned_op *op = &p->op[o];
    plim_dag_node *node = &dag->own_node[dag->n_inputs + o];
    *node = (plim_dag_node){.op = o, .last_stage = op->runs_once ? dag->n_inputs + o : dag->n - 1};
    for (int32_t i = 0; i < op->closed_by.n; i++) {
      int32_t update = dag->n_inputs + op->closed_by.at[i];
      if (update < node->last_stage) node->last_stage = update;
    }
    for (int32_t i = 0; i < op->writes.n; i++) {
      node->bytes += p->item[op->writes.at[i]].bytes;
      node->is_output |= p->item[op->writes.at[i]].is_output;
    }
    if (op->writes.n > 1 || op->n_choices > 1 || op->n_overwrites > 0) dag->is_exact = 0;
  }
}

/* Insert into a sorted list unless it is there. */
static void add_sorted(int32_t *at, int32_t *n, int32_t value) {
  int32_t i = *n;
  while (i > 0 && at[i - 1] > value) i--;
  if (i > 0 && at[i - 1] == value) return;
  for (int32_t k = *n; k > i; k--) at[k] = at[k - 1];
  at[i] = value;
  ++*n;
}

static void list_preds(plim_dag *dag) {
  const plim_problem *p = dag->problem;
  for (int32_t o = 0; o < p->n_ops; o++) {
    int32_t *at = dag->pool + dag->n_edges, n = 0;
    for (int32_t i = 0; i < p->op[o].reads.n; i++) add_sorted(at, &n, dag->item_node[p->op[o].reads.at[i]]);
    dag->own_node[dag->n_inputs + o].preds = (plim_ids){n, at};
    dag->n_edges += n;
  }
}

static void list_succs(plim_dag *dag) {
  int32_t *next = dag->pool + dag->n_edges;
  for (int32_t v = 0; v < dag->n; v++) {
    for (int32_t i = 0; i < dag->node[v].preds.n; i++) dag->own_node[dag->node[v].preds.at[i]].succs.n++;
  }
  for (int32_t v = 0; v < dag->n; v++) {
    dag->own_node[v].succs.at = next;
    next += dag->node[v].succs.n;
    dag->own_node[v].succs.n = 0;
  }
  for (int32_t v = 0; v < dag->n; v++) {
    for (int32_t i = 0; i < dag->node[v].preds.n; i++) {
      plim_ids *succs = &dag->own_node[dag->node[v].preds.at[i]].succs;
      dag->pool[succs->at - dag->pool + succs->n++] = v;
    }
  }
}

/* Choices come fastest first. */
static void choose(plim_dag *dag, int64_t budget) {
  for (int32_t v = dag->n_inputs; v < dag->n; v++) {
    plim_dag_node *node = &dag->own_node[v];
    const plim_planned_op *op = &dag->problem->op[node->op];
    int64_t room = budget - plim_dag_working_set(dag, v);
    int32_t least = 0;
    while (node->choice < op->n_choices && op->choice[node->choice].workspace_bytes > room) node->choice++;
    for (int32_t c = 1; c < op->n_choices; c++) {
      if (op->choice[c].workspace_bytes < op->choice[least].workspace_bytes) least = c;
    }
    if (node->choice == op->n_choices) node->choice = least;
    node->time_ns = op->choice[node->choice].time_ns;
    node->workspace_bytes = op->choice[node->choice].workspace_bytes;
  }
}

static void add_up(plim_dag *dag) {
  int64_t bytes = 0, time = 0;
  for (int32_t v = 0; v < dag->n; v++) {
    bytes = plim_integers_gcd(plim_integers_gcd(bytes, dag->node[v].bytes), dag->node[v].workspace_bytes);
    time = plim_integers_gcd(time, dag->node[v].time_ns);
    dag->time_ns += dag->node[v].time_ns;
  }
  dag->bytes_unit = bytes > 0 ? bytes : 1;
  dag->time_unit = time > 0 ? time : 1;
}

plim_status plim_dag_make(const plim_problem *p, int64_t budget, plim_dag **out) {
  plim_dag *dag = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof *dag, &dag));
  *dag = (plim_dag){.ctx = p->ctx, .problem = p, .is_exact = 1, .base_bytes = p->persistent_bytes};
  for (int32_t o = 0; o < p->n_ops; o++) dag->pool_capacity += 2 * (int64_t)p->op[o].reads.n;
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_items, sizeof *dag->item_node, &dag->item_node));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, dag->pool_capacity, sizeof *dag->pool, &dag->pool));
  number_nodes(dag);
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, dag->n, sizeof *dag->own_node, &dag->own_node));
  dag->node = dag->own_node;
  describe_inputs(dag);
  describe_ops(dag);
  list_preds(dag);
  list_succs(dag);
  choose(dag, budget);
  add_up(dag);
  *out = dag;
done:
  if (status != PLIM_OK) plim_dag_free(dag);
  return status;
}

void plim_dag_free(plim_dag *dag) {
  if (!dag) return;
  plim_release(dag->ctx, dag->own_node, dag->n, sizeof *dag->own_node);
  plim_release(dag->ctx, dag->pool, dag->pool_capacity, sizeof *dag->pool);
  plim_release(dag->ctx, dag->item_node, dag->problem->n_items, sizeof *dag->item_node);
  plim_release(dag->ctx, dag, 1, sizeof *dag);
}

int64_t plim_dag_working_set(const plim_dag *dag, int32_t v) {
  const plim_dag_node *node = &dag->node[v];
  int64_t bytes = dag->base_bytes + node->bytes + node->workspace_bytes;
  for (int32_t i = 0; i < node->preds.n; i++) bytes += dag->node[node->preds.at[i]].bytes;
  return bytes;
}

int64_t plim_dag_least_peak(const plim_dag *dag, int32_t *node) {
  int64_t most = dag->base_bytes;
  for (int32_t v = 0; v < dag->n; v++) {
    int64_t bytes = plim_dag_working_set(dag, v);
    if (bytes <= most) continue;
    most = bytes;
    if (node) *node = v;
  }
  return most;
}

plim_status plim_dag_schedule(const plim_dag *dag, int32_t n, const int32_t *sequence, plim_schedule *out) {
  out->n = 0;
  PLIM_TRY(plim_schedule_reserve(out, n));
  for (int32_t j = 0; j < n; j++) {
    const plim_dag_node *node = &dag->node[sequence[j]];
    if (node->op >= 0) PLIM_TRY(plim_schedule_add(out, node->op, node->choice));
  }
  return PLIM_OK;
}
