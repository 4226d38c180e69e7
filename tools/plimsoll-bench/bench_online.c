/* Online policies on logs of the DTR prototype from 0.9 to 0.2 of the program's peak, beside plans for the same arena.
 * Every result with addresses is a plan that has passed the checker. */
#include "tools/plimsoll-bench/bench_online.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "tools/plimsoll/import_file.h"

enum { MOST_PERCENT = 90, LEAST_PERCENT = 20, STEP_PERCENT = 10 };
static const char everybody[] = "best,coop,dtr,dtr-eq,dtr-local,dte,lru,size,msps,search";

const char *bench_next_name(const char *names, char name[BENCH_NAME]) {
  size_t length = strcspn(names, ",");
  (void)snprintf(name, BENCH_NAME, "%.*s", (int)length, names);
  return names + length + (names[length] == ',');
}

static void print_head(const bench_online_table *t, const plim_simulation *sim) {
  if (!t->s->o->json) printf("%s: overhead in %%, by share of the program's peak\n%-10s", sim->graph->name, "");
  if (t->markdown) plim_text_format(t->markdown, "| %s |", sim->graph->name);
  for (int percent = MOST_PERCENT; percent >= LEAST_PERCENT; percent -= STEP_PERCENT) {
    if (!t->s->o->json) printf(" %8d%%", percent);
    if (t->markdown) plim_text_format(t->markdown, " .%d |", percent / 10);
  }
  if (!t->s->o->json) printf("\n");
  if (t->markdown) plim_text_add(t->markdown, "\n|---|---|---|---|---|---|---|---|---|\n");
}

static const char *cell(const plim_simulated *r, char text[BENCH_NAME]) {
  if (r->end != PLIM_ONLINE_OK) return plim_online_end_name(r->end);
  (void)snprintf(text, BENCH_NAME, "%.3f", r->overhead_percent);
  return text;
}

void bench_online_cell(const plim_simulated *r) {
  char text[BENCH_NAME];
  printf(" %9s", cell(r, text));
  (void)fflush(stdout);
}

json_t *bench_online_row(const plim_simulation *sim, const char *by, const plim_simulated *r) {
  json_t *row = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:f}", "instance", sim->graph->name, "by", by, "status",
                          plim_online_end_name(r->end), "budget_bytes", (json_int_t)r->budget_bytes, "evictions",
                          (json_int_t)r->evictions, "recomputes", (json_int_t)r->recomputes, "fragmentation_percent",
                          r->fragmentation_percent, "search_seconds", (double)r->search_ns / 1e9);
  json_t *overhead = r->end == PLIM_ONLINE_OK ? json_real(r->overhead_percent) : json_null();
  (void)json_object_set_new(row, "overhead_percent", overhead);
  return row;
}

static void add_result(const bench_online_table *t, const plim_simulation *sim, const char *by, int percent,
                       const plim_simulated *r, double seconds) {
  char text[BENCH_NAME];
  if (t->markdown) plim_text_format(t->markdown, " %s |", cell(r, text));
  if (!t->s->o->json) {
    bench_online_cell(r);
    return;
  }
  json_t *row = bench_online_row(sim, by, r);
  (void)json_object_set_new(row, "budget_percent", json_integer(percent));
  (void)json_object_set_new(row, "seconds", json_real(seconds));
  bench_row_add(t->s, t->rows, row);
}

/* A name is that of a policy or of a planner. */
static plim_status simulate(const bench_online_table *t, const plim_simulation *sim, const char *by,
                            int64_t budget_bytes, plim_simulated *r) {
  plim_simulate_options wanted = plim_simulate_options_default();
  wanted.policy = plim_policy_find(by);
  wanted.budget_bytes = budget_bytes;
  if (wanted.policy) {
    wanted.addresses = PLIM_SIMULATE_ARENA;
  } else {
    wanted.planning = bench_planning(t->s, by);
  }
  return plim_simulate(sim, &wanted, r);
}

static plim_status run_line(const bench_online_table *t, const plim_simulation *sim, const char *by) {
  if (!t->s->o->json) printf("%-10s", by);
  if (t->markdown) plim_text_format(t->markdown, "| %s |", by);
  for (int percent = MOST_PERCENT; percent >= LEAST_PERCENT; percent -= STEP_PERCENT) {
    char share[16];
    int64_t budget, begin_ns = plim_now_ns();
    plim_simulated r = {.plan = NULL};
    (void)snprintf(share, sizeof share, "%d%%", percent);
    PLIM_TRY(plim_simulation_budget(sim, share, PLIM_SIMULATE_ARENA, &budget));
    plim_status status = simulate(t, sim, by, budget, &r);
    progress_clear(&t->s->bar);
    if (status == PLIM_OK) add_result(t, sim, by, percent, &r, (double)(plim_now_ns() - begin_ns) / 1e9);
    plim_simulated_free(&r);
    PLIM_TRY(status);
    PLIM_TRY(bench_go_on(t->s));
  }
  if (!t->s->o->json) printf("\n");
  if (t->markdown) plim_text_add(t->markdown, "\n");
  return PLIM_OK;
}

static plim_status run_lines(const bench_online_table *t, const plim_simulation *sim) {
  const char *name = t->s->o->planners ? t->s->o->planners : everybody;
  char one[BENCH_NAME];
  print_head(t, sim);
  while (*name) {
    name = bench_next_name(name, one);
    PLIM_TRY(run_line(t, sim, one));
  }
  if (!t->s->o->json) printf("\n");
  if (t->markdown) plim_text_add(t->markdown, "\n");
  return PLIM_OK;
}

static plim_status run_file(void *user, const char *path) {
  const bench_online_table *t = user;
  plim_graph *graph = NULL;
  plim_simulation sim;
  PLIM_TRY(import_file(t->s->ctx, "dtr", path, &graph));
  plim_status status = plim_simulation_open(t->s->ctx, graph, 1, &sim);
  if (status == PLIM_OK) {
    status = t->s->o->sweep ? bench_online_sweep(t, &sim) : run_lines(t, &sim);
    plim_simulation_close(&sim);
  }
  plim_graph_free(graph);
  return status;
}

/* After Ctrl-C the tables are those so far, and say it. A failure that has its sentence keeps it. */
static plim_status save_tables(const session *s, plim_text *markdown, plim_status status) {
  if (status != PLIM_OK && status != PLIM_ECANCEL) return status;
  if (status == PLIM_ECANCEL) plim_text_add(markdown, "\n\nStopped: the tables end here.\n");
  PLIM_TRY(markdown->status);
  PLIM_TRY(plim_file_save(s->ctx, s->o->output, markdown->chars, markdown->length));
  return status;
}

plim_status bench_online(session *s, const char *folder) {
  plim_text markdown = {.ctx = s->ctx};
  bench_online_table t = {.s = s, .rows = json_array(), .markdown = s->o->output ? &markdown : NULL};
  plim_status status = bench_files(s, folder, ".log.gz", run_file, &t);
  if (t.markdown) status = save_tables(s, &markdown, status);
  plim_text_free(&markdown);
  bench_rows_end(s, status, t.rows);
  return status;
}
