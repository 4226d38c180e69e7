/* Reads the runs of a plan of one arena: who reads and writes what in them. */
#include "planner/paging/queue_search.h"

static void count_accesses(const plim_op *op, int32_t *count) {
  for (int32_t i = 0; i < op->n_reads; i++) count[op->reads[i]]++;
  for (int32_t i = 0; i < op->n_writes; i++) count[op->writes[i]]++;
  for (int32_t i = 0; i < op->n_updates; i++) count[op->updates[i]]++;
}

/* An op has one access of a storage, whatever it does there. */
static void add_access(plim_queue_runs *r, int32_t *next, int32_t run, int32_t storage, int32_t reads, int32_t writes) {
  if (next[storage] > r->first[storage] && r->access[next[storage] - 1].run == run) {
    r->access[next[storage] - 1].reads |= reads;
    r->access[next[storage] - 1].writes |= writes;
  } else {
    r->access[next[storage]++] = (struct plim_run_access){run, reads, writes};
  }
}

static void fill_accesses(plim_queue_runs *r, int32_t *next) {
  for (int32_t s = 0; s < r->graph->n_storages; s++) next[s] = r->first[s];
  for (int32_t j = 0; j < r->n; j++) {
    const plim_op *op = &r->graph->op[r->plan->command[j].op];
    r->begin_ns[j + 1] = r->begin_ns[j] + r->plan->variant[r->plan->command[j].variant].variant.time_ns;
    for (int32_t i = 0; i < op->n_reads; i++) add_access(r, next, j, op->reads[i], 1, 0);
    for (int32_t i = 0; i < op->n_writes; i++) add_access(r, next, j, op->writes[i], 0, 1);
    for (int32_t i = 0; i < op->n_updates; i++) add_access(r, next, j, op->updates[i], 1, 1);
  }
  for (int32_t s = 0; s < r->graph->n_storages; s++) { /* what was merged leaves its place */
    for (int32_t i = next[s]; i < r->first[s + 1]; i++) r->access[i] = (struct plim_run_access){INT32_MAX, 0, 0};
  }
}

plim_status plim_queue_runs_make(const plim_graph *graph, const plim_plan *plan, plim_queue_runs *out) {
  plim_context *ctx = graph->ctx;
  plim_queue_runs r = {.ctx = ctx, .graph = graph, .plan = plan, .n = plan->n_commands};
  int32_t *next = NULL;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, (int64_t)r.n + 1, sizeof *r.begin_ns, &r.begin_ns));
  PLIM_CHECK(plim_allocate(ctx, (int64_t)graph->n_storages + 1, sizeof *r.first, &r.first));
  PLIM_CHECK(plim_allocate(ctx, graph->n_storages, sizeof *next, &next));
  for (int32_t j = 0; j < r.n; j++) count_accesses(&graph->op[plan->command[j].op], r.first + 1);
  for (int32_t s = 0; s < graph->n_storages; s++) r.first[s + 1] += r.first[s];
  r.n_accesses = r.first[graph->n_storages];
  PLIM_CHECK(plim_allocate(ctx, r.n_accesses, sizeof *r.access, &r.access));
  fill_accesses(&r, next);
done:
  plim_release(ctx, next, graph->n_storages, sizeof *next);
  if (status == PLIM_OK) {
    *out = r;
  } else {
    plim_queue_runs_free(&r);
  }
  return status;
}

void plim_queue_runs_free(plim_queue_runs *r) {
  if (!r->graph) return;
  plim_release(r->ctx, r->begin_ns, (int64_t)r->n + 1, sizeof *r->begin_ns);
  plim_release(r->ctx, r->first, (int64_t)r->graph->n_storages + 1, sizeof *r->first);
  plim_release(r->ctx, r->access, r->n_accesses, sizeof *r->access);
  *r = (plim_queue_runs){.ctx = NULL};
}
