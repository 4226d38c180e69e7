/* Reads the runs of a plan of one arena: who reads and writes what in them. */
#include "planner/paging/paging_internal.h"

static void count_accesses(const plim_op *op, int32_t *count) {
  for (int32_t i = 0; i < op->n_reads; i++) count[op->reads[i]]++;
  for (int32_t i = 0; i < op->n_writes; i++) count[op->writes[i]]++;
  for (int32_t i = 0; i < op->n_updates; i++) count[op->updates[i]]++;
}

/* An op has one access of a storage, whatever it does there. */
static void add_access(plim_queue_runs *runs, int32_t *next, int32_t run, int32_t storage, int reads, int writes) {
  if (next[storage] > runs->first[storage] && runs->access[next[storage] - 1].run == run) {
    runs->access[next[storage] - 1].reads |= reads;
    runs->access[next[storage] - 1].writes |= writes;
  } else {
    runs->access[next[storage]++] = (struct plim_run_access){run, reads, writes};
  }
}

static void fill_accesses(plim_queue_runs *runs, int32_t *next) {
  for (int32_t s = 0; s < runs->graph->n_storages; s++) next[s] = runs->first[s];
  for (int32_t j = 0; j < runs->n; j++) {
    const plim_op *op = &runs->graph->op[runs->plan->command[j].op];
    runs->begin_ns[j + 1] = runs->begin_ns[j] + runs->plan->variant[runs->plan->command[j].variant].variant.time_ns;
    for (int32_t i = 0; i < op->n_reads; i++) add_access(runs, next, j, op->reads[i], 1, 0);
    for (int32_t i = 0; i < op->n_writes; i++) add_access(runs, next, j, op->writes[i], 0, 1);
    for (int32_t i = 0; i < op->n_updates; i++) add_access(runs, next, j, op->updates[i], 1, 1);
  }
  for (int32_t s = 0; s < runs->graph->n_storages; s++) { /* what was merged leaves its place */
    for (int32_t i = next[s]; i < runs->first[s + 1]; i++) runs->access[i] = (struct plim_run_access){INT32_MAX, 0, 0};
  }
}

plim_status plim_queue_runs_make(const plim_graph *graph, const plim_plan *plan, plim_queue_runs *out) {
  plim_context *ctx = graph->ctx;
  plim_queue_runs runs = {.ctx = ctx, .graph = graph, .plan = plan, .n = plan->n_commands};
  int32_t *next = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)runs.n + 1, sizeof *runs.begin_ns, &runs.begin_ns));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)graph->n_storages + 1, sizeof *runs.first, &runs.first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_storages, sizeof *next, &next));
  for (int32_t j = 0; j < runs.n; j++) count_accesses(&graph->op[plan->command[j].op], runs.first + 1);
  for (int32_t s = 0; s < graph->n_storages; s++) runs.first[s + 1] += runs.first[s];
  runs.n_accesses = runs.first[graph->n_storages];
  PLIM_TRY_OR_DONE(plim_allocate(ctx, runs.n_accesses, sizeof *runs.access, &runs.access));
  fill_accesses(&runs, next);
done:
  plim_release(ctx, next, graph->n_storages, sizeof *next);
  if (status == PLIM_OK) {
    *out = runs;
  } else {
    plim_queue_runs_free(&runs);
  }
  return status;
}

void plim_queue_runs_free(plim_queue_runs *runs) {
  if (!runs->graph) return;
  plim_release(runs->ctx, runs->begin_ns, (int64_t)runs->n + 1, sizeof *runs->begin_ns);
  plim_release(runs->ctx, runs->first, (int64_t)runs->graph->n_storages + 1, sizeof *runs->first);
  plim_release(runs->ctx, runs->access, runs->n_accesses, sizeof *runs->access);
  *runs = (plim_queue_runs){.ctx = NULL};
}
