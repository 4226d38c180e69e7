/* plimsoll plan: make a plan of a model or of a graph, print what it promises, write it down. */
#include <stdio.h>
#include <string.h>

#include "planner/spaces/space_make.h"
#include "runtime/base/size.h"
#include "runtime/graph/sibling.h"
#include "tools/plimsoll/cmd_plan.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/pictures.h"
#include "tools/plimsoll/process.h"
#include "tools/plimsoll/run_train.h"

/* ==== of a graph ==== */

/* plan --graph: the planner on a graph document, with the costs that it carries or those of a profile. */

typedef struct graph_plan {
  session *s;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *whole; /* what percentages are of */
  int64_t whole_bytes;
  plim_plan_options options;
  plim_plan_result made;
} graph_plan;

/* An op that carries FLOP or times by device alone has no time that a planner of one device could take. */
static plim_status need_times(const graph_plan *g) {
  for (int32_t o = 0; g->graph->costs && o < g->graph->n_ops; o++) {
    if (g->graph->op[o].time_ns >= 0) continue;
    return plim_fail(
        g->s->ctx, PLIM_EDATA,
        "%s: op '%s' carries FLOP or times by device and no time of its own; --platform says what it takes",
        g->s->o->graph, g->graph->op[o].name);
  }
  return PLIM_OK;
}

static plim_status load(graph_plan *g) {
  const options *o = g->s->o;
  plim_context *ctx = g->s->ctx;
  if (o->profile) return plim_profile_load(ctx, o->profile, &g->profile);
  PLIM_TRY(need_times(g));
  return plim_profile_from_graph(g->graph, &g->profile);
}

static void set_options(graph_plan *g) {
  const options *o = g->s->o;
  g->options = plim_plan_options_default();
  g->options.planner = o->planner;
  g->options.seed = (uint64_t)o->seed;
  g->options.iterations = o->iterations;
  g->options.copies = (int32_t)o->copies;
  g->options.time_limit_ns = (int64_t)(o->time_limit * 1e9);
  g->options.threads = session_planner_threads(o);
  g->options.unpacked = o->packing ? strcmp(o->packing, "none") == 0 : g->graph->unpacked;
  g->options.front_folder = o->no_cache ? NULL : "";
  if (o->order) g->options.order = strcmp(o->order, "fixed") == 0 ? PLIM_ORDER_FIXED : PLIM_ORDER_FREE;
}

/* Percentages: of the peak of program order where the graph says that plans have no addresses, of keep-all bytes else.
 */
static plim_status measure_whole(graph_plan *g) {
  plim_plan_options measure = g->options;
  if (measure.time_limit_ns > 0) measure.time_limit_ns = session_left_ns(g->s);
  measure.unpacked = g->graph->unpacked;
  measure.order = measure.unpacked ? PLIM_ORDER_FIXED : PLIM_ORDER_ANY;
  PLIM_TRY(plim_plan_keep_all(g->s->ctx, g->graph, g->profile, &measure, &g->whole));
  g->whole_bytes = measure.unpacked ? g->whole->peak_bytes : g->whole->arena_bytes;
  return PLIM_OK;
}

static plim_status set_budget(graph_plan *g) {
  const char *memory = g->s->o->memory;
  plim_size size;
  if (!memory) return PLIM_OK;
  PLIM_TRY(plim_size_parse(g->s->ctx, memory, &size));
  g->options.budget_bytes = plim_size_bytes(&size, g->whole_bytes);
  if (g->options.budget_bytes >= 0) return PLIM_OK;
  return plim_fail(g->s->ctx, PLIM_EUSAGE, "--memory %s does not fit in 63 bits", memory);
}

/* One op a line: the id of the imported file, else the op's place in program order. */
static void print_sequence(const graph_plan *g) {
  for (int32_t j = 0; j < g->made.plan->n_commands; j++) {
    int32_t op = g->made.plan->command[j].op;
    int64_t id = g->graph->op[op].id;
    printf("%lld\n", (long long)(id >= 0 ? id : op));
  }
  (void)fflush(stdout);
}

static void add_bytes(figures *f, const graph_plan *g) {
  const plim_plan *plan = g->made.plan;
  if (plan->budget_bytes < PLIM_BYTES_UNLIMITED) {
    figures_bytes(f, 0, "budget_bytes", "budget", plan->budget_bytes);
    if (g->whole_bytes > 0) {
      figures_note(f, 0, " (%.1f %% of %s)", (double)plan->budget_bytes * 100 / (double)g->whole_bytes,
                   g->graph->unpacked ? "program order's peak" : "keep-all");
    }
  }
  figures_bytes(f, 0, g->graph->unpacked ? "program_order_peak_bytes" : "keep_all_bytes", NULL, g->whole_bytes);
  if (plan->packed) {
    figures_bytes(f, 0, "arena_bytes", "arena", plan->arena_bytes);
  } else {
    figures_null(f, 0, "arena_bytes");
  }
  figures_bytes(f, 0, "peak_bytes", "peak", plan->peak_bytes);
}

static void print_figures(const graph_plan *g, double seconds) {
  const plim_plan *plan = g->made.plan;
  double overhead = plim_plan_overhead_percent(plan), bound = plim_plan_bound_percent(plan);
  figures f;
  figures_begin(&f, 1, NULL, NULL);
  figures_text(&f, 0, "graph", "graph", g->graph->name);
  figures_note(&f, 0, ", %d ops", g->graph->n_ops);
  add_bytes(&f, g);
  figures_real(&f, 0, "overhead_percent", "overhead", "%.4f %%", overhead);
  figures_real(&f, 0, "bound_percent", "lower bound", "%.4f %%", bound);
  figures_note(&f, 0, ", gap %.4f, class %s%s", overhead - bound, plim_plan_class_name(plan->plan_class),
               plan->proved ? ", proved" : "");
  figures_text(&f, 0, "class", NULL, plim_plan_class_name(plan->plan_class));
  figures_flag(&f, 0, "proved", NULL, plan->proved);
  figures_count(&f, 0, "time", "duration", plan->time_ns);
  figures_count(&f, 0, "commands", "plan", plan->n_commands);
  figures_note(&f, 0, " commands, by %s%s", plan->planner, g->made.from_front ? ", kept from an earlier run" : "");
  figures_flag(&f, 0, "from_front", NULL, g->made.from_front);
  figures_text(&f, 0, "planner", NULL, plan->planner);
  run_figures_effort(&f, 0, g->s->o);
  figures_real(&f, 0, "seconds", "planned in", "%.2f s", seconds);
  figures_print_to(&f, g->s->o->json, g->s->o->print_sequence ? stderr : stdout);
  figures_end(&f);
}

static plim_status run_graph(graph_plan *g) {
  plim_context *ctx = g->s->ctx;
  interrupt_at_once(1);
  PLIM_TRY(plim_graph_load(ctx, g->s->o->graph, &g->graph));
  if (plan_spaces_wanted(g->s->o)) return plan_spaces(g->s, g->graph);
  PLIM_TRY(load(g));
  interrupt_at_once(0); /* the best plan so far is kept */
  session_reserve(g->s);
  set_options(g);
  PLIM_TRY(measure_whole(g));
  if (g->s->o->front) {
    budget_request request = {g->graph, g->profile, &g->options, g->whole_bytes, NULL, 0};
    return budget_front_run(g->s, &request);
  }
  PLIM_TRY(set_budget(g));
  int64_t begin = plim_now_ns();
  if (g->options.time_limit_ns > 0) g->options.time_limit_ns = session_left_ns(g->s);
  plim_status status = plim_plan_search(ctx, g->graph, g->profile, &g->options, &g->made);
  if (status == PLIM_ENOFIT) return refusal_explain_graph(g->s, g->graph, g->profile, &g->options, &g->made.floor);
  if (status != PLIM_OK) return status;
  double seconds = (double)(plim_now_ns() - begin) / 1e9;
  progress_clear(&g->s->bar);
  if (g->s->o->output) PLIM_TRY(plim_sibling_save(g->graph, g->made.plan, g->s->o->output));
  if (g->s->o->svg) PLIM_TRY(curve_save(g->graph, g->whole, g->made.plan, g->s->o->svg));
  if (g->s->o->print_sequence) print_sequence(g);
  print_figures(g, seconds);
  return PLIM_OK;
}

static plim_status plan_graph(session *s) {
  graph_plan g = {.s = s};
  plim_status status = run_graph(&g);
  plim_plan_free(g.made.plan);
  plim_plan_free(g.whole);
  plim_profile_free(g.profile);
  plim_graph_free(g.graph);
  return status;
}

/* ==== of a model ==== */

/* A quarter of a time limit is for the smallest budget beside other spaces. */
static plim_status front(session *s) {
  enum { FLOOR_PARTS = 4 };
  plim_plan_options planning = s->planning;
  plim_plan_floor floor;
  int32_t step;
  budget_request request = {s->program->graph[PLIM_PROGRAM_TRAIN],
                            s->program->profile[PLIM_PROGRAM_TRAIN],
                            &s->planning,
                            s->prep.keep_all->arena_bytes,
                            NULL,
                            0};
  if (!s->planning.paging) return budget_front_run(s, &request);
  const plim_powers *powers = s->planning.paging->powers;
  if (powers) request.whole_joule = plim_plan_energy(s->prep.keep_all, powers);
  planning.time_limit_ns = s->planning.time_limit_ns / FLOOR_PARTS;
  PLIM_TRY(plim_program_floor(s->program, &planning, &floor, &step));
  s->planning.time_limit_ns -= planning.time_limit_ns;
  request.floor = &floor;
  return budget_front_run(s, &request);
}

static plim_status plan(session *s) {
  figures f;
  PLIM_TRY(session_device(s));
  PLIM_TRY(session_program(s));
  PLIM_TRY(session_planning(s));
  if (s->o->front) return front(s);
  int64_t begin = plim_now_ns();
  PLIM_TRY(session_plan(s));
  double seconds = (double)(plim_now_ns() - begin) / 1e9;
  progress_clear(&s->bar);
  if (s->o->output) PLIM_TRY(session_save_plan(s));
  if (s->o->svg) PLIM_TRY(run_save_picture(s));
  figures_begin(&f, 1, NULL, NULL);
  run_figures_setting(&f, s);
  run_figures_plan(&f, 0, s, s->program);
  figures_real(&f, 0, "seconds", "planned in", "%.2f s", seconds);
  figures_print(&f, s->o->json);
  figures_end(&f);
  return PLIM_OK;
}

static int run_plan(const options *o) {
  session s;
  plim_status status = session_open(&s, o);
  if (status == PLIM_OK) status = o->graph ? plan_graph(&s) : plan(&s);
  return session_close(&s, status);
}

static const command_list lists[] = {{"PLANNERS", plim_planner_name, plim_planner_source},
                                     {"PLANNERS OVER SPACES", plim_space_planner_name, plim_space_planner_source},
                                     {NULL, NULL, NULL}};

const command command_plan = {
    .name = "plan",
    .mask = COMMAND_PLAN,
    .summary = "plan a training step within a budget",
    .about =
        "Plan a model's training step within a budget: which ops run when, in which variant, which are "
        "recomputed, and where every buffer sits. Prints peak, arena bytes, overhead, its proven lower bound and the "
        "gap between the two. Every plan is checked before it is printed or written. With --time-limit the planner "
        "takes the CPUs that this process may use, else one, so that the plan is the same on every machine; --threads "
        "says otherwise.",
    .lists = lists,
    .after =
        "EXAMPLES\n"
        "  plimsoll plan --model resnet20 --memory 64MiB -o plan.json --svg plan.svg\n"
        "  plimsoll check plan.json\n"
        "  plimsoll plan --graph g.json --platform m4 --memory 32MiB --explain\n"
        "  plimsoll train --model resnet20 --plan plan.json\n\n"
        "FILES\n"
        "  With -o plan.json the graph is written to plan.graph.json beside it.\n",
    .run = run_plan,
};
