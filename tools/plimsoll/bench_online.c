/* Online policies on logs of the DTR prototype from 0.9 to 0.2 of the program's peak, beside plans for the same arena.
 * Every result with addresses is a plan that has passed the checker. */
#include <stdio.h>
#include <string.h>

#include "tools/plimsoll/bench.h"
#include "tools/plimsoll/import_file.h"
#include "tools/plimsoll/simulation.h"

enum { MOST_PERCENT = 90, LEAST_PERCENT = 20, STEP_PERCENT = 10, NAME = 64 };
static const char everybody[] = "best,coop,dtr,dtr-eq,dtr-local,dte,lru,size,msps,search";

typedef struct table {
  session *s;
  json_t *rows;
} table;

static void print_head(const simulation *sim) {
  printf("%s: overhead in %%, by share of the program's peak\n%-10s", sim->graph->name, "");
  for (int percent = MOST_PERCENT; percent >= LEAST_PERCENT; percent -= STEP_PERCENT) printf(" %8d%%", percent);
  printf("\n");
}

static void print_cell(const simulated *r) {
  if (r->end == PLIM_ONLINE_OK) {
    printf(" %9.3f", r->overhead_percent);
  } else {
    printf(" %9s", plim_online_end_name(r->end));
  }
  (void)fflush(stdout);
}

static void add_row(const table *t, const simulation *sim, const char *by, int percent, const simulated *r,
                    double seconds) {
  json_t *row = json_pack("{s:s, s:s, s:i, s:s, s:I, s:I, s:I, s:f, s:f, s:f}", "instance", sim->graph->name, "by", by,
                          "budget_percent", percent, "status", plim_online_end_name(r->end), "budget_bytes",
                          (json_int_t)r->budget_bytes, "evictions", (json_int_t)r->evictions, "recomputes",
                          (json_int_t)r->recomputes, "fragmentation_percent", r->fragmentation_percent,
                          "search_seconds", (double)r->search_ns / 1e9, "seconds", seconds);
  json_t *overhead = r->end == PLIM_ONLINE_OK ? json_real(r->overhead_percent) : json_null();
  (void)json_object_set_new(row, "overhead_percent", overhead);
  (void)json_array_append_new(t->rows, row);
}

/* A name is that of a policy or of a planner. */
static plim_status simulate(const table *t, const simulation *sim, const char *by, int64_t budget_bytes, simulated *r) {
  const plim_policy *policy = plim_policy_find(by);
  if (policy) return simulation_online(sim, policy, ADDRESSES_ARENA, budget_bytes, r);
  plim_plan_options planning = bench_planning(t->s, by);
  return simulation_planned(sim, &planning, ADDRESSES_PACKED, budget_bytes, r);
}

static plim_status run_line(const table *t, const simulation *sim, const char *by) {
  if (!t->s->o->json) printf("%-10s", by);
  for (int percent = MOST_PERCENT; percent >= LEAST_PERCENT; percent -= STEP_PERCENT) {
    char share[16];
    int64_t budget, begin_ns = plim_now_ns();
    simulated r = {.plan = NULL};
    (void)snprintf(share, sizeof share, "%d%%", percent);
    PLIM_TRY(simulation_budget(sim, share, ADDRESSES_ARENA, &budget));
    plim_status status = simulate(t, sim, by, budget, &r);
    progress_clear(&t->s->bar);
    if (status == PLIM_OK && t->s->o->json) {
      add_row(t, sim, by, percent, &r, (double)(plim_now_ns() - begin_ns) / 1e9);
    } else if (status == PLIM_OK) {
      print_cell(&r);
    }
    simulated_release(&r);
    PLIM_TRY(status);
    if (plim_context_cancelled(t->s->ctx)) return PLIM_ECANCEL;
  }
  if (!t->s->o->json) printf("\n");
  return PLIM_OK;
}

static plim_status run_lines(const table *t, const simulation *sim) {
  const char *name = t->s->o->planners ? t->s->o->planners : everybody;
  if (!t->s->o->json) print_head(sim);
  while (*name) {
    char one[NAME];
    size_t length = strcspn(name, ",");
    (void)snprintf(one, sizeof one, "%.*s", (int)length, name);
    PLIM_TRY(run_line(t, sim, one));
    name += length + (name[length] == ',');
  }
  if (!t->s->o->json) printf("\n");
  return PLIM_OK;
}

static plim_status run_file(void *user, const char *path) {
  const table *t = user;
  plim_graph *graph = NULL;
  simulation sim;
  PLIM_TRY(import_file(t->s->ctx, "dtr", path, &graph));
  plim_status status = simulation_open(t->s->ctx, graph, 1, &sim);
  if (status == PLIM_OK) {
    status = run_lines(t, &sim);
    simulation_close(&sim);
  }
  plim_graph_free(graph);
  return status;
}

plim_status bench_online(session *s, const char *folder) {
  table t = {.s = s, .rows = json_array()};
  plim_status status = bench_files(s, folder, ".log.gz", run_file, &t);
  bench_rows_end(s, status, t.rows);
  return status;
}
