/* Planners on published graphs at 90, 80 and 70 % of program order's peak, beside what others published. */
#include <stdio.h>
#include <string.h>

#include "runtime/import/import.h"
#include "tools/plimsoll-bench/bench.h"

/* ---- what others published: shown beside ours, used for nothing else ---- */

/* Sources: Moccasin, ICML 2023 (MILP and its own: 16 cores, 32 GB); FastSA, NeurIPS 2023 (one core of a Xeon 8380).
 * Times of other machines are orders of magnitude only. */

/* Overhead in percent and seconds; overhead < 0: none given. `over`: the plan missed its budget. */
typedef struct published_result {
  double overhead, seconds;
  int over;
} published_result;

enum { PUBLISHED_MILP, PUBLISHED_MOCCASIN, PUBLISHED_FASTSA, PUBLISHED_COUNT };

static const char *const published_title[PUBLISHED_COUNT] = {"MILP", "Moccasin", "FastSA"};

#define NONE \
  { -1, 0, 0 }

static const struct {
  const char *name;
  int32_t ops;
  int64_t links, peak_bytes;
  int32_t percent;
  published_result result[PUBLISHED_COUNT];
} published[] = {
    {"RL1", 100, 236, 46319, 90, {{0.8, 18.5, 0}, {0.8, 9.3, 0}, {0.0, 11.7, 0}}},
    {"RL1", 100, 236, 46319, 80, {{2.3, 22.7, 0}, {2.3, 9.5, 0}, {0.3, 11.5, 0}}},
    {"RL1", 100, 236, 46319, 70, {NONE, NONE, {2.2, 12.0, 1}}},
    {"RL3", 500, 2461, 284439, 90, {NONE, {0.7, 1803, 0}, {0.03, 21.0, 0}}},
    {"RL3", 500, 2461, 284439, 80, {NONE, {3.4, 1805, 0}, {2.3, 20.9, 0}}},
    {"RL3", 500, 2461, 284439, 70, {NONE, NONE, {4.8, 21.2, 1}}},
    {"CM1", 73, 149, 13484795520, 90, {{0.0, 6.3, 0}, {0.0, 3.1, 0}, {0.1, 9.4, 0}}},
    {"CM1", 73, 149, 13484795520, 80, {{0.1, 5.6, 0}, {0.1, 3.1, 0}, {0.1, 9.7, 0}}},
    {"CM1", 73, 149, 13484795520, 70, {NONE, NONE, {3.0, 9.7, 0}}},
    {"CM2", 353, 751, 38059356160, 90, {{0.1, 434, 0}, {0.2, 65.2, 0}, {0.2, 10.9, 0}}},
    {"CM2", 353, 751, 38059356160, 80, {{0.3, 485, 0}, {0.3, 69.3, 0}, {0.4, 10.9, 0}}},
    {"CM2", 353, 751, 38059356160, 70, {NONE, NONE, {0.8, 11.0, 0}}},
};
enum { PUBLISHED_ROWS = sizeof published / sizeof published[0] };

/* The three results for an instance at a budget of `percent` of program order's peak; NULL for an instance or budget
 * that no one published. Instances are known by their size: ops, links and that peak. *name is their usual name. */
static const published_result *published_find(int32_t ops, int64_t links, int64_t peak_bytes, int32_t percent,
                                              const char **name) {
  for (int i = 0; i < PUBLISHED_ROWS; i++) {
    if (published[i].ops != ops || published[i].links != links || published[i].peak_bytes != peak_bytes) continue;
    *name = published[i].name;
    if (published[i].percent == percent) return published[i].result;
  }
  return NULL;
}

/* ---- the table ---- */

/* Planners on published graphs at 90, 80 and 70 % of program order's peak, beside what others published. Every plan has
 * passed the checker. Curves kept from earlier runs are not used: each row is a search of its own. */

static const int32_t percents[] = {90, 80, 70};
enum { PERCENTS = sizeof percents / sizeof percents[0], CELL = 32, NAME = 64 };

typedef struct table {
  session *s;
  json_t *rows;
  int files; /* begun */
} table;

/* One instance under one planner and order. */
typedef struct trial {
  table *t;
  const char *path;
  char planner[NAME];
  const plim_graph *graph;
  const plim_profile *profile;
  plim_plan_order order;
  int64_t links, peak_bytes;
} trial;

static void print_head(void) {
  printf("%-16s %6s  %-10s %-6s %10s %10s %8s %8s", "instance", "budget", "planner", "class", "overhead", "bound",
         "ratio", "seconds");
  for (int i = 0; i < PUBLISHED_COUNT; i++) printf("  %14s", published_title[i]);
  printf("\n");
}

static const char *published_cell(const published_result *r, char *text) {
  if (!r || r->overhead < 0) return r ? "-" : "";
  (void)snprintf(text, CELL, "%.2f%% %.0fs%s", r->overhead, r->seconds, r->over ? " over" : "");
  return text;
}

/* File name without folder and ending. */
static void instance_name(const char *path, char *name) {
  const char *slash = strrchr(path, '/');
  (void)snprintf(name, NAME, "%s", slash ? slash + 1 : path);
  char *dot = strrchr(name, '.');
  if (dot) *dot = 0;
}

static void print_row(const trial *r, int32_t percent, const plim_plan *plan, double seconds) {
  char name[NAME], cell[CELL];
  const char *usual = NULL;
  const published_result *known = published_find(r->graph->n_ops, r->links, r->peak_bytes, percent, &usual);
  instance_name(r->path, name);
  printf("%-16s %5d%%  %-10s ", usual ? usual : name, percent, r->planner);
  if (plan) {
    printf("%-6s %9.4f%% %9.4f%% %8.4f %8.2f", plim_plan_class_name(plan->plan_class), plim_plan_overhead_percent(plan),
           plim_plan_bound_percent(plan), (double)plan->time_ns / (double)plan->bound_ns, seconds);
  } else {
    printf("%-6s %10s %10s %8s %8.2f", r->order == PLIM_ORDER_FREE ? "free" : "fixed", "no plan", "", "", seconds);
  }
  for (int i = 0; i < PUBLISHED_COUNT; i++) printf("  %14s", published_cell(known ? &known[i] : NULL, cell));
  printf("%s\n", plan && plan->proved ? "  proved" : "");
  (void)fflush(stdout);
}

/* What was published for the row; NULL for none. */
static json_t *published_rows(const published_result *known) {
  json_t *rows = known ? json_array() : NULL;
  for (int i = 0; known && i < PUBLISHED_COUNT; i++) {
    if (known[i].overhead < 0) continue;
    (void)json_array_append_new(
        rows, json_pack("{s:s, s:f, s:f, s:b}", "source", published_title[i], "overhead_percent", known[i].overhead,
                        "seconds", known[i].seconds, "over_budget", known[i].over));
  }
  return rows;
}

static void add_row(const trial *r, int32_t percent, const plim_plan *plan, double seconds) {
  char name[NAME];
  const char *usual = NULL;
  const published_result *known = published_find(r->graph->n_ops, r->links, r->peak_bytes, percent, &usual);
  instance_name(r->path, name);
  json_t *row = json_pack("{s:s, s:s?, s:i, s:s, s:s, s:f}", "instance", name, "published_name", usual,
                          "budget_percent", (int)percent, "planner", r->planner, "order",
                          r->order == PLIM_ORDER_FREE ? "free" : "fixed", "seconds", seconds);
  if (known) (void)json_object_set_new(row, "published", published_rows(known));
  if (plan) {
    (void)json_object_update_new(
        row, json_pack("{s:s, s:f, s:f, s:b, s:I, s:I, s:I}", "class", plim_plan_class_name(plan->plan_class),
                       "overhead_percent", plim_plan_overhead_percent(plan), "bound_percent",
                       plim_plan_bound_percent(plan), "proved", plan->proved, "time", (json_int_t)plan->time_ns,
                       "peak_bytes", (json_int_t)plan->peak_bytes, "budget_bytes", (json_int_t)plan->budget_bytes));
  }
  bench_row_add(r->t->s, r->t->rows, row);
}

/* A row without a plan. Names and orders are right by now, so that in program order a usage error is a graph too large
 * for the planner. */
static int has_row(const trial *r, plim_status status) {
  if (status == PLIM_EUSAGE) return r->order == PLIM_ORDER_FIXED;
  return status == PLIM_OK || status == PLIM_ENOFIT || status == PLIM_EUNSUPPORTED;
}

static plim_status run_trial(const trial *r, int32_t percent) {
  const options *o = r->t->s->o;
  plim_plan_options planning = bench_planning(r->t->s, r->planner);
  plim_plan *plan = NULL;
  planning.order = r->order;
  planning.unpacked = r->graph->unpacked;
  planning.budget_bytes = r->peak_bytes / 100 * percent + (r->peak_bytes % 100 * percent + 99) / 100;
  int64_t begin = plim_now_ns();
  plim_status status = plim_plan_make(r->t->s->ctx, r->graph, r->profile, &planning, &plan);
  double seconds = (double)(plim_now_ns() - begin) / 1e9;
  if (has_row(r, status)) {
    progress_clear(&r->t->s->bar);
    if (status == PLIM_EUNSUPPORTED) bench_say_missing(r->t->s);
    if (o->json) {
      add_row(r, percent, plan, seconds);
    } else {
      print_row(r, percent, plan, seconds);
    }
    status = PLIM_OK;
  }
  plim_plan_free(plan);
  return status;
}

/* Each order that the planner has, unless --order names one. */
static plim_status run_planner(trial *r) {
  const char *only = r->t->s->o->order;
  for (int order = PLIM_ORDER_FREE; order <= PLIM_ORDER_FIXED; order++) {
    if (only && (strcmp(only, "fixed") == 0) != (order == PLIM_ORDER_FIXED)) continue;
    r->order = (plim_plan_order)order;
    for (int i = 0; i < PERCENTS; i++) {
      plim_status status = run_trial(r, percents[i]);
      if (status == PLIM_EUSAGE && order == PLIM_ORDER_FREE && !only) break; /* its class is narrower */
      PLIM_TRY(status);
      PLIM_TRY(bench_go_on(r->t->s));
    }
  }
  return PLIM_OK;
}

/* The planners of --planners, names with commas between them. */
static plim_status run_planners(trial *r) {
  const char *name = r->t->s->o->planners ? r->t->s->o->planners : "search";
  while (*name) {
    size_t length = strcspn(name, ",");
    (void)snprintf(r->planner, sizeof r->planner, "%.*s", (int)length, name);
    PLIM_TRY(run_planner(r));
    name += length + (name[length] == ',');
  }
  return PLIM_OK;
}

static plim_status measure(trial *r) {
  plim_plan_options keep = plim_plan_options_default();
  plim_plan *whole = NULL;
  keep.unpacked = 1;
  keep.order = PLIM_ORDER_FIXED;
  PLIM_TRY(plim_plan_keep_all(r->t->s->ctx, r->graph, r->profile, &keep, &whole));
  r->peak_bytes = whole->peak_bytes;
  plim_plan_free(whole);
  for (int32_t op = 0; op < r->graph->n_ops; op++) r->links += r->graph->op[op].n_reads;
  return PLIM_OK;
}

static plim_status run_file(void *user, const char *path) {
  trial r = {.t = user, .path = path};
  if (r.t->files++ == 0 && !r.t->s->o->json) print_head();
  plim_context *ctx = r.t->s->ctx;
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_graph_import(ctx, "nx", path, &graph));
  PLIM_TRY_OR_DONE(plim_profile_from_graph(graph, &profile));
  r.graph = graph;
  r.profile = profile;
  PLIM_TRY_OR_DONE(measure(&r));
  PLIM_TRY_OR_DONE(run_planners(&r));
done:
  plim_profile_free(profile);
  plim_graph_free(graph);
  return status;
}

plim_status bench_planners(session *s, const char *folder) {
  table t = {.s = s, .rows = json_array()};
  plim_status status = bench_files(s, folder, ".json", run_file, &t);
  bench_rows_end(s, status, t.rows);
  return status;
}
