/* plimsoll check: prove that a plan computes its graph within its budget. */
#include <stdio.h>

#include "runtime/graph/check/check.h"
#include "runtime/graph/sibling.h"
#include "tools/plimsoll/cmd_plan.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/process.h"
#include "tools/plimsoll/run_train.h"

static void print_table(const session *s, const plim_graph *graph, const plim_plan *plan, double seconds) {
  char by[HUMAN_BYTES];
  figures f;
  figures_begin(&f, 1, NULL, NULL);
  figures_text(&f, 0, "graph", "graph", graph->name);
  if (graph->batch > 0) figures_note(&f, 0, ", batch %d", graph->batch);
  figures_note(&f, 0, ", %d ops", graph->n_ops);
  figures_count(&f, 0, "commands", "plan", plan->n_commands);
  figures_note(&f, 0, " commands, %d buffers, by %s", plan->n_buffers, human_planner(plan->planner, by));
  if (plan->budget_bytes < PLIM_BYTES_UNLIMITED) figures_bytes(&f, 0, "budget_bytes", "budget", plan->budget_bytes);
  if (plan->packed) {
    figures_bytes(&f, 0, "arena_bytes", "arena", plan->arena_bytes);
  } else {
    figures_null(&f, 0, "arena_bytes");
  }
  figures_bytes(&f, 0, "peak_bytes", "peak", plan->peak_bytes);
  figures_real(&f, 0, "overhead_percent", "overhead, predicted", "%.2f %%", plim_plan_overhead_percent(plan));
  figures_note(&f, 0, " (over keep-all as stated, not checked)");
  figures_real(&f, 0, "bound_percent", "lower bound", "%.2f %%", plim_plan_bound_percent(plan));
  figures_note(&f, 0, plan->proved ? " (as stated, not checked; optimal, as stated)" : " (as stated, not checked)");
  figures_flag(&f, 0, "bound_checked", NULL, 0);
  figures_flag(&f, 0, "valid", "valid", 1);
  figures_real(&f, 0, "seconds", NULL, "%.2f", seconds);
  figures_print(&f, s->o->json);
  figures_end(&f);
}

static void print_spaces(const session *s, const plim_graph *graph, const plim_space_plan *plan, double seconds) {
  figures f;
  figures_begin(&f, 1, NULL, NULL);
  plan_spaces_figures(&f, graph, plan);
  figures_flag(&f, 0, "bound_checked", NULL, 0);
  figures_flag(&f, 0, "valid", "valid", 1);
  figures_real(&f, 0, "seconds", NULL, "%.2f", seconds);
  figures_print(&f, s->o->json);
  figures_end(&f);
}

static plim_status check(session *s) {
  char beside[PLIM_FILE_PATH_BYTES];
  const char *graph_path = s->o->graph ? s->o->graph : beside;
  plim_graph *graph = NULL;
  plim_plan *plan = NULL;
  plim_space_plan *space_plan = NULL;
  plim_status status = PLIM_OK;
  PLIM_TRY(plim_sibling_graph_path(s->ctx, s->o->file, beside));
  int64_t begin = plim_now_ns();
  interrupt_at_once(1);
  PLIM_TRY_OR_DONE(plim_space_plan_load_any(s->ctx, s->o->file, &plan, &space_plan));
  PLIM_TRY_OR_DONE(plim_graph_load(s->ctx, graph_path, &graph));
  if (space_plan) {
    PLIM_TRY_OR_DONE(plim_space_plan_check(s->ctx, graph, space_plan));
    print_spaces(s, graph, space_plan, (double)(plim_now_ns() - begin) / 1e9);
    goto done;
  }
  PLIM_TRY_OR_DONE(plim_plan_check(s->ctx, graph, plan));
  print_table(s, graph, plan, (double)(plim_now_ns() - begin) / 1e9);
done:
  plim_plan_free(plan);
  plim_space_plan_free(space_plan);
  plim_graph_free(graph);
  return status;
}

static int run_check(const options *o) {
  return session_run(o, check);
}

const command command_check = {
    .name = "check",
    .mask = COMMAND_CHECK,
    .file = "PLAN",
    .summary = "check a plan against its graph",
    .about =
        "Prove that a plan computes its graph within its budget: every operand is there, in the version that the "
        "program reads; effects run once; nothing overlaps in time and space; peak, arena and time are as stated. A "
        "plan does not show that its lower bound holds: that is printed as stated. The checker shares no code with the "
        "planner.",
    .after =
        "EXAMPLES\n"
        "  plimsoll check plan.json\n"
        "  plimsoll check plan.json --graph other.graph.json\n\n"
        "FILES\n"
        "  The graph is read from plan.graph.json beside plan.json, unless --graph\n"
        "  names it.\n",
    .run = run_check,
};
