/* Planners on large graphs made up by seed: random layers and unrolled training steps, at shares of program order's
 * peak. Ours comes last in every block, with the ratio of its overhead to the best of the others in the same run, and
 * the most memory that the process has had until then. Every plan has passed the checker. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/base/size.h"
#include "runtime/import/generate.h"
#include "tools/plimsoll-bench/bench.h"

/* Lists as they may be given, with commas between names. */
static const char usual_shapes[] = "layered,transformer,residual", usual_peers[] = "sqrt,greedy,rotor,fastsa,search",
                  usual_budgets[] = "90%,80%,70%,50%";
enum { USUAL_OPS = 10000, USUAL_SECONDS = 55, NAME_BYTES = 64 };

typedef struct table {
  session *s;
  json_t *rows;
  const plim_graph *graph;
  const plim_profile *profile;
  int64_t peak_bytes;
  char budget[NAME_BYTES]; /* of the block under way, as it was written */
  int64_t budget_bytes;
  double best_percent; /* of the block under way, below 0: none */
} table;

static double peak_mib(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss / 1024 : 0;
}

/* Copy the next name of a list; NULL after the last one, else what follows it. */
static const char *next_name(const char *list, char *name) {
  if (*list == 0) return NULL;
  size_t length = strcspn(list, ",");
  (void)snprintf(name, NAME_BYTES, "%.*s", (int)length, list);
  return list + length + (list[length] == ',');
}

static void print_row(const table *t, const char *planner, const plim_plan *plan, double seconds) {
  if (t->s->o->json) {
    json_t *row =
        json_pack("{s:s, s:f, s:I, s:s, s:f, s:f}", "instance", t->graph->name, "budget_percent",
                  100 * (double)t->budget_bytes / (double)t->peak_bytes, "budget_bytes", (json_int_t)t->budget_bytes,
                  "planner", planner, "seconds", seconds, "peak_rss_mib", peak_mib());
    if (plan) {
      (void)json_object_update_new(
          row, json_pack("{s:s, s:f, s:f}", "class", plim_plan_class_name(plan->plan_class), "overhead_percent",
                         plim_plan_overhead_percent(plan), "bound_percent", plim_plan_bound_percent(plan)));
    }
    bench_row_add(t->s, t->rows, row);
    return;
  }
  printf("%-6s %-8s ", t->budget, planner);
  if (plan) {
    double overhead = plim_plan_overhead_percent(plan), bound = plim_plan_bound_percent(plan);
    printf("%-6s %9.4f%% %9.4f%% %9.4f", plim_plan_class_name(plan->plan_class), overhead, bound, overhead - bound);
  } else {
    printf("%-6s %10s %10s %9s", "", "no plan", "", "");
  }
  printf(" %8.1f %6.0f", seconds, peak_mib());
  if (plan && t->best_percent > 0) printf(" %7.3f", plim_plan_overhead_percent(plan) / t->best_percent);
  printf("\n");
  (void)fflush(stdout);
}

/* The ratio of each row is to the best of those above it. */
static plim_status run_planner(table *t, const char *planner) {
  plim_plan_options planning = bench_planning(t->s, planner);
  plim_plan *plan = NULL;
  if (planning.time_limit_ns == 0 && planning.iterations == 0) planning.time_limit_ns = USUAL_SECONDS * 1000000000LL;
  planning.unpacked = 1;
  planning.budget_bytes = t->budget_bytes;
  int64_t begin = plim_now_ns();
  plim_status status = plim_plan_make(t->s->ctx, t->graph, t->profile, &planning, &plan);
  progress_clear(&t->s->bar);
  if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  print_row(t, planner, plan, (double)(plim_now_ns() - begin) / 1e9);
  if (plan) {
    double overhead = plim_plan_overhead_percent(plan);
    if (t->best_percent < 0 || overhead < t->best_percent) t->best_percent = overhead;
  }
  plim_plan_free(plan);
  return bench_go_on(t->s);
}

static plim_status run_block(table *t) {
  const char *names = t->s->o->planners ? t->s->o->planners : usual_peers;
  char name[NAME_BYTES];
  plim_size size;
  PLIM_TRY(plim_size_parse(t->s->ctx, t->budget, &size));
  t->budget_bytes = plim_size_bytes(&size, t->peak_bytes);
  if (t->budget_bytes < 0) return plim_fail(t->s->ctx, PLIM_EUSAGE, "--budgets %s does not fit in 63 bits", t->budget);
  t->best_percent = -1;
  while ((names = next_name(names, name))) PLIM_TRY(run_planner(t, name));
  return PLIM_OK;
}

static plim_status run_graph(table *t) {
  plim_plan_options keep = plim_plan_options_default();
  plim_plan *whole = NULL;
  const char *budgets = t->s->o->budgets ? t->s->o->budgets : usual_budgets;
  keep.unpacked = 1;
  keep.order = PLIM_ORDER_FIXED;
  PLIM_TRY(plim_plan_keep_all(t->s->ctx, t->graph, t->profile, &keep, &whole));
  t->peak_bytes = whole->peak_bytes;
  plim_plan_free(whole);
  if (!t->s->o->json) {
    printf("%s: %d ops, program order's peak %lld bytes\n%-6s %-8s %-6s %10s %10s %9s %8s %6s %7s\n", t->graph->name,
           t->graph->n_ops, (long long)t->peak_bytes, "budget", "planner", "class", "overhead", "bound", "gap",
           "seconds", "MiB", "ratio");
  }
  while ((budgets = next_name(budgets, t->budget))) PLIM_TRY(run_block(t));
  return PLIM_OK;
}

static plim_status run_shape(table *t, const char *shape) {
  const options *o = t->s->o;
  plim_generate_options generate = plim_generate_options_default(shape);
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_status status;
  generate.n = o->ops > 0 ? (int32_t)o->ops : USUAL_OPS;
  generate.seed = (uint64_t)o->seed;
  PLIM_TRY_OR_DONE(plim_graph_generate(t->s->ctx, &generate, &graph));
  PLIM_TRY_OR_DONE(plim_profile_from_graph(graph, &profile));
  t->graph = graph;
  t->profile = profile;
  PLIM_TRY_OR_DONE(run_graph(t));
done:
  plim_profile_free(profile);
  plim_graph_free(graph);
  return status;
}

/* Before the first table has its head. */
static plim_status check_budgets(session *s) {
  const char *next = s->o->budgets ? s->o->budgets : usual_budgets;
  char text[NAME_BYTES], sentence[PLIM_ERROR_BYTES];
  plim_size size;
  while ((next = next_name(next, text))) {
    if (plim_size_parse(s->ctx, text, &size) == PLIM_OK) continue;
    (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(s->ctx));
    return plim_fail(s->ctx, PLIM_EUSAGE, "--budgets: %s", sentence);
  }
  return PLIM_OK;
}

plim_status bench_large(session *s, const char *folder) {
  (void)folder; /* the graphs are made up */
  table t = {.s = s, .rows = json_array()};
  const char *shapes = s->o->shapes ? s->o->shapes : usual_shapes;
  char shape[NAME_BYTES];
  plim_status status = check_budgets(s);
  while (status == PLIM_OK && (shapes = next_name(shapes, shape))) status = run_shape(&t, shape);
  bench_rows_end(s, status, t.rows);
  return status;
}
