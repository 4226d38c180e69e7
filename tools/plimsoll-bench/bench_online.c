/* Online policies on logs of the DTR prototype from 0.9 to 0.2 of the program's peak, beside plans for the same arena;
 * and a fine sweep of budgets. Every result with addresses is a plan that has passed the checker. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/simulate/simulation.h"
#include "tools/plimsoll-bench/bench.h"
#include "tools/plimsoll/commands.h"

enum { MOST_PERCENT = 90, LEAST_PERCENT = 20, STEP_PERCENT = 10 };
static const char everybody[] = "best,coop,dtr,dtr-eq,dtr-local,dte,lru,size,msps,search";

typedef struct bench_online_table {
  session *s;
  json_t *rows;
  plim_text *markdown; /* the same table for documents; NULL: not wanted */
} bench_online_table;

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

/* Overhead or how the run ended, on standard output; the same as an object, without the share of the budget. */
static void print_cell(const plim_simulated *r) {
  char text[BENCH_NAME];
  printf(" %9s", cell(r, text));
  (void)fflush(stdout);
}

static json_t *row_of(const plim_simulation *sim, const char *by, const plim_simulated *r) {
  json_t *row = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:f}", "instance", sim->graph->name, "by", by, "status",
                          plim_online_end_name(r->end), "budget_bytes", (json_int_t)r->budget_bytes, "evictions",
                          (json_int_t)r->evictions, "recomputes", (json_int_t)r->recomputes, "fragmentation_percent",
                          r->fragmentation_percent, "search_seconds", (double)r->search_ns / 1e9);
  json_t *overhead = r->end == PLIM_ONLINE_OK ? json_real(r->overhead_percent) : json_null();
  (void)json_object_set_new(row, "overhead_percent", overhead);
  return row;
}

/* ---- a sweep ---- */

/* A fine sweep of budgets: where does more memory fail, or cost more, than less? Online policies do; plans from one
 * curve do not. */

enum { SHARE = 48, MOST_POINTS = 100000 };

/* Budgets from `low` to `high` in thousandths of a percent, `step` apart. */
typedef struct shares {
  int64_t low, high, step;
} shares;

typedef struct sweep {
  const plim_simulation *sim;
  const char *by;
  int32_t n, done; /* results [done]: fewer than n after Ctrl-C */
  int64_t *budget; /* [n] */
  plim_simulated *result;
  const shares *range;
} sweep;

static int read_share(const char **text, int64_t *thousandths) {
  char *end = NULL;
  double x = strtod(*text, &end);
  if (end == *text || *end != '%' || !(x > 0 && x <= 100)) return 0;
  *thousandths = (int64_t)(x * 1000 + 0.5);
  *text = end + 1;
  return 1;
}

/* "9%:16%:0.2%" */
static plim_status read_range(plim_context *ctx, const char *text, shares *out) {
  const char *at = text;
  int right = read_share(&at, &out->low) && *at++ == ':' && read_share(&at, &out->high) && *at++ == ':' &&
              read_share(&at, &out->step) && *at == 0;
  if (right && out->low <= out->high && out->step > 0 && (out->high - out->low) / out->step < MOST_POINTS) {
    return PLIM_OK;
  }
  return plim_fail(ctx, PLIM_EUSAGE, "--sweep %s is not FROM%%:TO%%:STEP%%, as in 9%%:16%%:0.2%%", text);
}

static const char *share_at(const sweep *w, int32_t i, char *text) {
  int64_t thousandths = w->range->low + i * w->range->step;
  (void)snprintf(text, SHARE, "%lld.%03lld%%", (long long)(thousandths / 1000), (long long)(thousandths % 1000));
  return text;
}

/* After Ctrl-C a budget without a plan is one that was not tried: what follows is no result. */
static plim_status run_curve(const session *s, sweep *w, const plim_plan_options *planning) {
  PLIM_TRY(plim_simulation_sweep(w->sim, planning, w->n, w->budget, w->result));
  w->done = w->n;
  plim_status status = bench_go_on(s);
  while (status != PLIM_OK && w->done > 0 && !w->result[w->done - 1].plan) w->done--;
  return status;
}

static plim_status run_points(session *s, sweep *w) {
  const plim_policy *policy = plim_policy_find(w->by);
  plim_plan_options planning = bench_planning(s, w->by);
  char share[SHARE];
  for (int32_t i = 0; i < w->n; i++) {
    PLIM_TRY(plim_simulation_budget(w->sim, share_at(w, i, share), PLIM_SIMULATE_ARENA, &w->budget[i]));
  }
  if (!policy) {
    planning.time_limit_ns *= w->n; /* a curve shares it out */
    return run_curve(s, w, &planning);
  }
  plim_simulate_options wanted = plim_simulate_options_default();
  wanted.policy = policy;
  wanted.addresses = PLIM_SIMULATE_ARENA;
  for (int32_t i = 0; i < w->n; i++) {
    wanted.budget_bytes = w->budget[i];
    PLIM_TRY(plim_simulate(w->sim, &wanted, &w->result[i]));
    w->done = i + 1;
    PLIM_TRY(bench_go_on(s));
  }
  return PLIM_OK;
}

/* The cheapest result below point i that ended; -1: none did. */
static int32_t best_below(const sweep *w, int32_t i) {
  int32_t best = -1;
  for (int32_t k = 0; k < i; k++) {
    const plim_simulated *r = &w->result[k];
    if (r->end != PLIM_ONLINE_OK) continue;
    if (best < 0 || r->overhead_percent < w->result[best].overhead_percent) best = k;
  }
  return best;
}

static const char *inversion_at(const sweep *w, int32_t i) {
  int32_t below = best_below(w, i);
  if (below < 0) return NULL;
  if (w->result[i].end != PLIM_ONLINE_OK) return "feasibility";
  return w->result[i].overhead_percent > w->result[below].overhead_percent ? "cost" : NULL;
}

static void print_sweep(session *s, const sweep *w, json_t *rows) {
  char share[SHARE];
  int32_t failed = 0, costlier = 0;
  if (!s->o->json) printf("%s, %s: overhead in %%, by share of the program's peak\n", w->sim->graph->name, w->by);
  for (int32_t i = 0; i < w->done; i++) {
    const plim_simulated *r = &w->result[i];
    const char *inversion = inversion_at(w, i);
    failed += inversion && inversion[0] == 'f';
    costlier += inversion && inversion[0] == 'c';
    if (s->o->json) {
      json_t *row = row_of(w->sim, w->by, r);
      (void)json_object_set_new(row, "budget_percent", json_real((double)(w->range->low + i * w->range->step) / 1000));
      (void)json_object_set_new(row, "inversion", inversion ? json_string(inversion) : json_null());
      bench_row_add(s, rows, row);
      continue;
    }
    printf("%9s", share_at(w, i, share));
    print_cell(r);
    printf("%s%s\n", inversion ? "  inversion of " : "", inversion ? inversion : "");
  }
  if (s->o->json) return;
  printf("%d inversions of feasibility, %d of cost, at %d budgets\n\n", failed, costlier, w->done);
}

static plim_status sweep_one(const bench_online_table *t, const plim_simulation *sim, const shares *range,
                             const char *by) {
  sweep w = {.sim = sim, .by = by, .range = range, .n = (int32_t)((range->high - range->low) / range->step) + 1};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(sim->ctx, w.n, sizeof *w.budget, &w.budget));
  PLIM_TRY_OR_DONE(plim_allocate(sim->ctx, w.n, sizeof *w.result, &w.result));
  status = run_points(t->s, &w);
  progress_clear(&t->s->bar);
  if (w.done > 0) print_sweep(t->s, &w, t->rows);
done:
  for (int32_t i = 0; w.result && i < w.n; i++) plim_simulated_free(&w.result[i]);
  plim_release(sim->ctx, w.budget, w.n, sizeof *w.budget);
  plim_release(sim->ctx, w.result, w.n, sizeof *w.result);
  return status;
}

/* --sweep FROM%:TO%:STEP%: budgets close together, and where more memory fails or costs more than less. */
static plim_status sweep_budgets(const bench_online_table *t, const plim_simulation *sim) {
  shares range = {0, 0, 1};
  PLIM_TRY(read_range(t->s->ctx, t->s->o->sweep, &range));
  const char *name = t->s->o->planners ? t->s->o->planners : "search";
  while (*name) {
    char one[BENCH_NAME];
    name = bench_next_name(name, one);
    PLIM_TRY(sweep_one(t, sim, &range, one));
  }
  return PLIM_OK;
}

/* ---- the tables ---- */

static void add_result(const bench_online_table *t, const plim_simulation *sim, const char *by, int percent,
                       const plim_simulated *r, double seconds) {
  char text[BENCH_NAME];
  if (t->markdown) plim_text_format(t->markdown, " %s |", cell(r, text));
  if (!t->s->o->json) {
    print_cell(r);
    return;
  }
  json_t *row = row_of(sim, by, r);
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
    status = t->s->o->sweep ? sweep_budgets(t, &sim) : run_lines(t, &sim);
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
