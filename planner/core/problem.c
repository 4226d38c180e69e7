/* Makes the planning problem of a graph: items, the rules between ops as lists, and in-place pairs. The choices of
 * variants are made in choices.c.
 *
 * A list is made from edges (row, value). Edges are collected, sorted by row and then by value, and written without
 * duplicates into one pool of memory. All lists of one kind (the reads of all ops, say) are made at once.
 * Cost: O(graph). Deterministic. */
#include "planner/core/problem.h"

#include <string.h>

#include "runtime/base/array.h"

/* `value` is an element of the list of `row`. */
typedef struct edge {
  int32_t row, value;
} edge;

typedef struct problem_builder {
  plim_problem *problem;
  int32_t *item_of; /* [n_storages] -1: the storage is no item */
  edge *edges;      /* [capacity] of the lists that are made next */
  int64_t n_edges, capacity;
} problem_builder;

static plim_status add_edge(problem_builder *builder, int32_t row, int32_t value) {
  PLIM_TRY(plim_array_reserve(builder->problem->ctx, &builder->edges, &builder->capacity, builder->n_edges + 1,
                              sizeof *builder->edges));
  builder->edges[builder->n_edges++] = (edge){row, value};
  return PLIM_OK;
}

/* One stable pass of a counting sort: `to` receives the edges in order of their rows, or of their values. first [keys +
 * 1] is all zero before. */
static void sort_pass(const edge *from, int64_t n, int by_value, int32_t keys, int64_t *first, edge *to) {
  for (int64_t e = 0; e < n; e++) first[(by_value ? from[e].value : from[e].row) + 1]++;
  for (int32_t k = 0; k < keys; k++) first[k + 1] += first[k];
  for (int64_t e = 0; e < n; e++) to[first[by_value ? from[e].value : from[e].row]++] = from[e];
}

/* Sort the edges by row, those of a row by value. O(edges + rows + values). */
static plim_status sort_edges(problem_builder *builder) {
  plim_context *ctx = builder->problem->ctx;
  int32_t keys = 0;
  int64_t *first = NULL;
  edge *sorted = NULL;
  plim_status status;
  for (int64_t e = 0; e < builder->n_edges; e++) {
    if (builder->edges[e].row >= keys) keys = builder->edges[e].row + 1;
    if (builder->edges[e].value >= keys) keys = builder->edges[e].value + 1;
  }
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 2 * ((int64_t)keys + 1), sizeof *first, &first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, builder->n_edges, sizeof *sorted, &sorted));
  sort_pass(builder->edges, builder->n_edges, 1, keys, first, sorted);
  sort_pass(sorted, builder->n_edges, 0, keys, first + keys + 1, builder->edges);
done:
  plim_release(ctx, first, 2 * ((int64_t)keys + 1), sizeof *first);
  plim_release(ctx, sorted, builder->n_edges, sizeof *sorted);
  return status;
}

/* Turn the collected edges into one list a row. The plim_ids of row 0 is at `list`, each next one `stride` bytes
 * further. The pool has room for all lists. Empties the collection. */
static plim_status take_lists(problem_builder *builder, int32_t rows, plim_ids *list, size_t stride) {
  int64_t e = 0;
  PLIM_TRY(sort_edges(builder));
  for (int32_t row = 0; row < rows; row++) {
    plim_ids *out = (plim_ids *)((char *)list + (size_t)row * stride);
    int32_t *at = builder->problem->pool + builder->problem->n_pool, n = 0;
    for (; e < builder->n_edges && builder->edges[e].row == row; e++) {
      if (n == 0 || at[n - 1] != builder->edges[e].value) at[n++] = builder->edges[e].value;
    }
    *out = (plim_ids){n, at};
    builder->problem->n_pool += n;
  }
  builder->n_edges = 0;
  return PLIM_OK;
}

static void flip_edges(problem_builder *builder) {
  for (int64_t e = 0; e < builder->n_edges; e++) {
    builder->edges[e] = (edge){builder->edges[e].value, builder->edges[e].row};
  }
}

/* Room for all lists: at most one element for each edge that is ever collected. */
static plim_status reserve_pool(problem_builder *builder) {
  plim_problem *p = builder->problem;
  const plim_graph *g = p->graph;
  int64_t capacity = 0;
  for (int32_t v = 0; v < g->n_ops; v++) {
    const plim_op *op = &g->op[v];
    capacity += 3 * (int64_t)op->n_reads + op->n_writes; /* reads, readers, preds and succs by data */
    capacity +=
        4 * ((int64_t)op->n_reads + op->n_updates) + op->n_reads; /* preds, succs, closed_by, closes by updates */
  }
  p->pool_capacity = capacity;
  return plim_allocate(p->ctx, capacity, sizeof *p->pool, &p->pool);
}

static plim_status make_items(problem_builder *builder) {
  plim_problem *p = builder->problem;
  const plim_graph *g = p->graph;
  int64_t total = 0, persistent = 0;
  PLIM_TRY(plim_allocate(p->ctx, g->n_storages, sizeof *builder->item_of, &builder->item_of));
  PLIM_TRY(plim_allocate(p->ctx, g->n_storages, sizeof *p->own_item, &p->own_item));
  for (int32_t s = 0; s < g->n_storages; s++) {
    const plim_storage *storage = &g->storage[s];
    int64_t bytes = plim_align_up(storage->bytes, p->align);
    total = plim_add_checked(total, bytes);
    if (total < 0 || total > INT64_MAX / 4) {
      return plim_fail(p->ctx, PLIM_EOVERFLOW, "the storages of graph '%s' need more than 2^61 bytes", g->name);
    }
    if (plim_role_persistent(storage->role)) {
      builder->item_of[s] = -1;
      persistent += bytes;
      continue;
    }
    int unread = g->reader_first[s] == g->reader_first[s + 1];
    if (storage->role == PLIM_ROLE_INPUT && unread) { /* it has no buffer */
      builder->item_of[s] = -1;
      continue;
    }
    builder->item_of[s] = p->n_items;
    p->own_item[p->n_items++] = (plim_item){
        .bytes = bytes, .storage = s, .producer = storage->producer, .is_output = storage->role == PLIM_ROLE_OUTPUT};
  }
  p->persistent_bytes = persistent;
  return PLIM_OK;
}

static plim_status list_operands(problem_builder *builder) {
  plim_problem *p = builder->problem;
  for (int pass = 0; pass < 3; pass++) { /* 0: reads, 1: readers, 2: writes */
    for (int32_t v = 0; v < p->n_ops; v++) {
      const plim_op *op = &p->graph->op[v];
      int32_t n = pass == 2 ? op->n_writes : op->n_reads;
      const int32_t *storage = pass == 2 ? op->writes : op->reads;
      for (int32_t i = 0; i < n; i++) {
        if (builder->item_of[storage[i]] >= 0) PLIM_TRY(add_edge(builder, v, builder->item_of[storage[i]]));
      }
    }
    if (pass == 0) PLIM_TRY(take_lists(builder, p->n_ops, &p->own_op->reads, sizeof *p->own_op));
    if (pass == 1) {
      flip_edges(builder);
      PLIM_TRY(take_lists(builder, p->n_items, &p->own_item->readers, sizeof *p->own_item));
    }
    if (pass == 2) PLIM_TRY(take_lists(builder, p->n_ops, &p->own_op->writes, sizeof *p->own_op));
  }
  return PLIM_OK;
}

static void number_writes(plim_problem *p) {
  for (int32_t v = 0; v < p->n_ops; v++) {
    for (int32_t i = 0; i < p->op[v].writes.n; i++) p->own_item[p->op[v].writes.at[i]].write_index = i;
  }
}

/* Rules of persistent storages. A reader must see the last update before it in program order, and no later one.
 *   newer 0  edges from each op to the update that it must see (`preds`)
 *   newer 1  edges from each op to the first update that it must not see (`closed_by`)
 * Updates of one storage keep program order: each one is a predecessor of the next. */
static plim_status add_update_edges(problem_builder *builder, int newer) {
  const plim_graph *g = builder->problem->graph;
  for (int32_t s = 0; s < g->n_storages; s++) {
    const int32_t *updater = g->updater + g->updater_first[s];
    int32_t n = g->updater_first[s + 1] - g->updater_first[s], seen = 0; /* readers are in program order too */
    if (builder->item_of[s] >= 0 || n == 0) continue;
    for (int32_t r = g->reader_first[s]; r < g->reader_first[s + 1]; r++) {
      while (seen < n && updater[seen] < g->reader[r]) seen++;
      if (newer && seen < n && updater[seen] != g->reader[r]) PLIM_TRY(add_edge(builder, g->reader[r], updater[seen]));
      if (!newer && seen > 0) PLIM_TRY(add_edge(builder, g->reader[r], updater[seen - 1]));
    }
    for (int32_t u = 1; u < n && !newer; u++) PLIM_TRY(add_edge(builder, updater[u], updater[u - 1]));
  }
  return PLIM_OK;
}

static plim_status add_data_edges(problem_builder *builder) {
  plim_problem *p = builder->problem;
  for (int32_t v = 0; v < p->n_ops; v++) {
    for (int32_t i = 0; i < p->op[v].reads.n; i++) {
      int32_t producer = p->item[p->op[v].reads.at[i]].producer;
      if (producer >= 0) PLIM_TRY(add_edge(builder, v, producer));
    }
  }
  return PLIM_OK;
}

static plim_status list_rules(problem_builder *builder) {
  plim_problem *p = builder->problem;
  for (int flip = 0; flip < 2; flip++) {
    PLIM_TRY(add_data_edges(builder));
    PLIM_TRY(add_update_edges(builder, 0));
    if (flip) flip_edges(builder);
    PLIM_TRY(take_lists(builder, p->n_ops, flip ? &p->own_op->succs : &p->own_op->preds, sizeof *p->own_op));
    PLIM_TRY(add_update_edges(builder, 1));
    if (flip) flip_edges(builder);
    PLIM_TRY(take_lists(builder, p->n_ops, flip ? &p->own_op->closes : &p->own_op->closed_by, sizeof *p->own_op));
  }
  return PLIM_OK;
}

static plim_status list_overwrites(problem_builder *builder) {
  plim_problem *p = builder->problem;
  const plim_graph *g = p->graph;
  int64_t n = 0;
  for (int32_t v = 0; v < g->n_ops; v++) n += g->op[v].n_pairs;
  p->n_overwrites = n;
  PLIM_TRY(plim_allocate(p->ctx, n, sizeof *p->overwrite, &p->overwrite));
  plim_overwrite *next = p->overwrite;
  for (int32_t v = 0; v < g->n_ops; v++) {
    const plim_op *op = &g->op[v];
    plim_overwrite *first = next;
    for (int32_t k = 0; k < op->n_pairs; k++) {
      plim_pair pair = op->pair[k];
      if (!plim_op_may_overwrite(g, op, pair)) continue;
      int32_t out = builder->item_of[g->value[op->out[pair.out]].storage], index = 0;
      while (p->op[v].writes.at[index] != out) index++;
      *next++ =
          (plim_overwrite){.in = builder->item_of[g->value[op->in[pair.in]].storage], .out_index = index, .pair = pair};
    }
    p->own_op[v].overwrite = first;
    p->own_op[v].n_overwrites = (int32_t)(next - first);
  }
  return PLIM_OK;
}

static plim_status build_problem(problem_builder *builder, const plim_plan_options *options) {
  plim_problem *p = builder->problem;
  PLIM_TRY(plim_allocate(p->ctx, p->n_ops, sizeof *p->own_op, &p->own_op));
  p->op = p->own_op;
  for (int32_t v = 0; v < p->n_ops; v++) {
    p->own_op[v].runs_once = plim_op_class_once(p->graph->op[v].cls);
  }
  PLIM_TRY(make_items(builder));
  p->item = p->own_item;
  PLIM_TRY(reserve_pool(builder));
  PLIM_TRY(list_operands(builder));
  number_writes(p);
  PLIM_TRY(list_rules(builder));
  PLIM_TRY(list_overwrites(builder));
  PLIM_TRY(plim_choices_make(p, options));
  return plim_bound_outputs(p);
}

plim_status plim_problem_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, plim_plan_class plan_class, plim_problem **out) {
  if (strcmp(graph->fingerprint, profile->fingerprint) != 0 || graph->n_ops != profile->n_ops) {
    return plim_fail(ctx, PLIM_EDATA,
                     "the profile (%d ops, fingerprint %.8s...) is not of graph '%s' (%d ops, %.8s...)", profile->n_ops,
                     profile->fingerprint, graph->name, graph->n_ops, graph->fingerprint);
  }
  plim_problem *p = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *p, &p));
  p->ctx = ctx;
  p->graph = graph;
  p->profile = profile;
  p->n_ops = graph->n_ops;
  p->plan_class = plan_class;
  p->has_fixed_order = plan_class != PLIM_CLASS_FREE;
  p->align = options->unpacked ? 1 : PLIM_ALIGN;
  problem_builder builder = {.problem = p};
  plim_status status = build_problem(&builder, options);
  plim_release(ctx, builder.edges, builder.capacity, sizeof *builder.edges);
  plim_release(ctx, builder.item_of, graph->n_storages, sizeof *builder.item_of);
  if (status != PLIM_OK) {
    plim_problem_free(p);
    return status;
  }
  *out = p;
  return PLIM_OK;
}

int64_t plim_problem_bytes_written(const plim_problem *p, int32_t op) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < p->op[op].writes.n; i++) bytes += p->item[p->op[op].writes.at[i]].bytes;
  return bytes;
}

void plim_problem_free(plim_problem *p) {
  if (!p) return;
  plim_release(p->ctx, p->own_op, p->n_ops, sizeof *p->own_op);
  plim_release(p->ctx, p->own_item, p->graph->n_storages, sizeof *p->own_item);
  plim_release(p->ctx, p->overwrite, p->n_overwrites, sizeof *p->overwrite);
  plim_release(p->ctx, p->choice, p->n_choices, sizeof *p->choice);
  plim_release(p->ctx, p->pool, p->pool_capacity, sizeof *p->pool);
  plim_release(p->ctx, p, 1, sizeof *p);
}
