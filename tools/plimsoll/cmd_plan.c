/* plimsoll plan: make a plan, print what it promises, write it down. */
#include <stdio.h>

#include "planner/exact/space_exact.h"
#include "tools/plimsoll/budget_curve.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/live_chart.h"
#include "tools/plimsoll/plan_graph.h"
#include "tools/plimsoll/run_train.h"

static plim_status curve(session *s) {
  budget_request request = {s->program->graph[PLIM_PROGRAM_TRAIN], s->program->profile[PLIM_PROGRAM_TRAIN],
                            &s->planning, s->keep_all->arena_bytes};
  return budget_curve_run(s, &request);
}

static plim_status plan(session *s) {
  figures f;
  PLIM_TRY(session_device(s));
  PLIM_TRY(session_program(s));
  PLIM_TRY(session_planning(s));
  if (s->o->curve) return curve(s);
  int64_t begin = plim_now_ns();
  PLIM_TRY(session_plan(s));
  double seconds = (double)(plim_now_ns() - begin) / 1e9;
  progress_clear(&s->bar);
  if (s->o->output) PLIM_TRY(session_save_plan(s));
  if (s->o->svg) {
    PLIM_TRY(curve_save(s->program->graph[PLIM_PROGRAM_TRAIN], s->keep_all, s->program->plan[PLIM_PROGRAM_TRAIN],
                        s->o->svg));
  }
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
        "Plan a model's training step within a budget: which operations run when, in which variant, which are "
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
