/* runtime/simulate/inspected_run: a trace with its medians, a plan alone, and online runs that are simulated again. */
#include "runtime/simulate/inspected_run.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/arena/replay_search.h"
#include "runtime/base/file.h"
#include "runtime/graph/sibling.h"
#include "runtime/inspect/decision_log.h"
#include "runtime/simulate/simulation.h"
#include "tests/support/child_program.h"
#include "tests/support/failing_memory.h"
#include "tests/support/folder.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

enum { LAYERS = 24, RUNS = 3 };

typedef struct rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_simulation sim;
  plim_simulated made;
  int percent;
} rig;

static const char *percent_text(int percent) {
  static char text[16];
  (void)snprintf(text, sizeof text, "%d%%", percent);
  return text;
}

/* A plan, or what a policy makes of the graph, within a share of the memory: `percent`, or the first above it, in steps
 * of 5, in which there is one. */
static rig rig_open(const char *policy, int percent) {
  rig r = {.ctx = plim_test_context(), .percent = percent};
  plim_simulate_options options = plim_simulate_options_default();
  options.policy = policy ? plim_policy_find(policy) : NULL;
  options.addresses = policy ? PLIM_SIMULATE_ARENA : PLIM_SIMULATE_PLANNED;
  cr_assert_eq(random_chain_make(r.ctx, LAYERS, test_seed(3), &r.graph), PLIM_OK);
  cr_assert_eq(plim_simulation_open(r.ctx, r.graph, 4, &r.sim), PLIM_OK);
  for (;; r.percent += 5) {
    const char *memory = percent_text(r.percent);
    cr_assert_eq(plim_simulation_budget(&r.sim, memory, options.addresses, &options.budget_bytes), PLIM_OK);
    cr_assert_eq(plim_simulate(&r.sim, &options, &r.made), PLIM_OK, "%s", plim_context_error(r.ctx));
    if (r.made.plan) break;
    cr_assert_lt(r.percent, 100, "%s", plim_context_error(r.ctx));
    plim_simulated_free(&r.made);
  }
  (void)plim_test_folder();
  return r;
}

static void rig_close(rig *r) {
  plim_test_folder_remove();
  plim_simulated_free(&r->made);
  plim_simulation_close(&r->sim);
  plim_graph_free(r->graph);
  plim_test_context_end(r->ctx);
}

/* Measured times: step j took 10 j + 5, 10 j + 1 and 10 j + 3. */
static void write_trace(const rig *r, const char *path) {
  static const int64_t late_ns[RUNS] = {5, 1, 3};
  int64_t time_ns[8 * LAYERS];
  plim_trace_writer *writer = NULL;
  cr_assert_leq(r->made.plan->n_commands, 8 * LAYERS);
  cr_assert_eq(plim_trace_begin(r->graph, r->made.plan, path, &writer), PLIM_OK, "%s", plim_context_error(r->ctx));
  for (int i = 0; i < RUNS; i++) {
    for (int32_t j = 0; j < r->made.plan->n_commands; j++) time_ns[j] = 10 * j + late_ns[i];
    cr_assert_eq(plim_trace_add(writer, 2 + i, time_ns), PLIM_OK);
  }
  cr_assert_eq(plim_trace_end(writer), PLIM_OK, "%s", plim_context_error(r->ctx));
}

Test(inspected_run, a_trace_has_its_plan_its_graph_and_the_median_of_each_step) {
  rig r = rig_open(NULL, 70);
  const char *path = plim_test_path("t.jsonl");
  plim_inspected_run run;
  write_trace(&r, path);
  cr_assert_eq(plim_sibling_save_trace(r.graph, r.made.plan, path), PLIM_OK);
  cr_assert_eq(plim_inspected_run_open(r.ctx, path, &run), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_eq(run.runs, RUNS);
  cr_assert_eq(run.plan->n_commands, r.made.plan->n_commands);
  cr_assert_str_eq(run.graph->fingerprint, r.graph->fingerprint);
  for (int32_t j = 0; j < run.plan->n_commands; j++) cr_assert_eq(run.measured_ns[j], 10 * j + 3);
  cr_assert_gt(plim_inspect_live_bytes(run.inspect, 0), 0);
  cr_assert_null(run.decisions);
  cr_assert_eq(run.differs_at, -1);
  plim_inspected_run_close(&run);
  plim_inspected_run_close(&run);
  rig_close(&r);
}

Test(inspected_run, a_plan_alone_has_no_measured_times) {
  rig r = rig_open(NULL, 70);
  const char *path = plim_test_path("p.json");
  plim_inspected_run run;
  cr_assert_eq(plim_sibling_save(r.graph, r.made.plan, path), PLIM_OK);
  cr_assert_eq(plim_inspected_run_open(r.ctx, path, &run), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_eq(run.runs, 0);
  cr_assert_null(run.trace);
  for (int32_t j = 0; j < run.plan->n_commands; j++) cr_assert_eq(run.measured_ns[j], 0);
  plim_inspected_run_close(&run);
  rig_close(&r);
}

Test(inspected_run, files_that_do_not_belong_together_are_refused) {
  rig r = rig_open(NULL, 70);
  const char *path = plim_test_path("t.jsonl");
  plim_inspected_run run = {.runs = -7};
  write_trace(&r, path);
  cr_assert_eq(plim_inspected_run_open(r.ctx, path, &run), PLIM_ENOFILE);
  cr_assert_eq(plim_sibling_save_trace(r.graph, r.sim.order, path), PLIM_OK);
  cr_assert_eq(plim_inspected_run_open(r.ctx, path, &run), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "a trace of plan"), "%s", plim_context_error(r.ctx));
  cr_assert_eq(run.runs, -7, "a failure wrote its output");
  rig_close(&r);
}

/* Another op, and a plan that has one command more. */
Test(inspected_run, a_trace_whose_rows_are_not_the_commands_of_its_plan_is_refused) {
  static const char *const edit[] = {"sed -i '3s/\"op\": [0-9]*/\"op\": 1000/' t.jsonl",
                                     "sed -i -e '1s/\"steps\": [0-9]*/\"steps\": 1/' -e '3,$d' t.jsonl;"
                                     "echo '{\"end\": true, \"training_steps\": 1}' >>t.jsonl"};
  static const char *const words[] = {"line 3: op and queue are not those of command 1 of ", "line 1: steps: is 1; "};
  for (int i = 0; i < 2; i++) {
    rig r = rig_open(NULL, 70);
    const char *path = plim_test_path("t.jsonl");
    plim_inspected_run run = {.runs = -7};
    write_trace(&r, path);
    cr_assert_eq(plim_sibling_save_trace(r.graph, r.made.plan, path), PLIM_OK);
    cr_assert_eq(plim_test_shell(edit[i])->status, 0);
    cr_assert_eq(plim_inspected_run_open(r.ctx, path, &run), PLIM_EDATA);
    cr_assert_not_null(strstr(plim_context_error(r.ctx), words[i]), "%s", plim_context_error(r.ctx));
    cr_assert_eq(run.runs, -7, "a failure wrote its output");
    rig_close(&r);
  }
}

Test(inspected_run, an_online_run_is_simulated_again_and_has_its_decisions) {
  rig r = rig_open("lru", 85);
  const char *path = plim_test_path("p.json");
  const plim_decision *decision = NULL;
  plim_inspected_run run;
  cr_assert_gt(r.made.evictions, 0);
  cr_assert_eq(plim_sibling_save(r.graph, r.made.plan, path), PLIM_OK);
  cr_assert_eq(plim_inspected_run_open(r.ctx, path, &run), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_eq(run.differs_at, -1);
  cr_assert_not_null(run.decisions);
  cr_assert_gt(plim_decision_log_decisions(run.decisions, &decision), 0);
  plim_inspected_run_close(&run);
  rig_close(&r);
}

/* As a run of another version, whose policy decided otherwise. */
Test(inspected_run, an_online_run_that_cannot_be_simulated_again_says_from_which_step_on) {
  rig r = rig_open("lru", 85);
  const char *path = plim_test_path("p.json");
  char *text = NULL;
  int64_t bytes = 0;
  plim_inspected_run run;
  cr_assert_eq(plim_sibling_save(r.graph, r.made.plan, path), PLIM_OK);
  cr_assert_eq(plim_file_read(r.ctx, path, 1 << 20, &text, &bytes), PLIM_OK);
  char *name = strstr(text, "online lru");
  cr_assert_not_null(name);
  memcpy(name, "online dtr", strlen("online dtr"));
  cr_assert_eq(plim_file_save(r.ctx, path, text, bytes), PLIM_OK);
  plim_file_release(r.ctx, text, bytes);
  cr_assert_eq(plim_inspected_run_open(r.ctx, path, &run), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_geq(run.differs_at, 0);
  cr_assert_lt(run.differs_at, run.plan->n_commands);
  cr_assert_null(run.decisions);
  plim_inspected_run_close(&run);
  rig_close(&r);
}

static int32_t count_ops(const plim_graph *graph, const plim_plan *plan) {
  int32_t n = 0;
  for (int32_t o = 0; o < graph->n_ops; o++) {
    int32_t j = 0;
    while (j < plan->n_commands && plan->command[j].op != o) j++;
    n += j < plan->n_commands;
  }
  return n;
}

Test(inspected_run, a_simulated_run_is_that_of_the_policy_and_one_that_fails_is_there_up_to_its_end) {
  rig r = rig_open("dtr", 85);
  const char *path = plim_test_path("g.json");
  plim_inspected_run run;
  cr_assert_eq(plim_graph_save(r.graph, path), PLIM_OK);
  const plim_policy *dtr = plim_policy_find("dtr");
  int percent = r.percent;
  cr_assert_eq(plim_inspected_run_simulate(r.ctx, path, dtr, percent_text(percent), 4, &run), PLIM_OK);
  cr_assert_eq(run.plan->time_ns, r.made.plan->time_ns);
  cr_assert_eq(run.plan->n_commands, r.made.plan->n_commands);
  cr_assert_null(plim_decision_log_failure(run.decisions));
  while (!plim_decision_log_failure(run.decisions)) { /* less memory, until it fails */
    plim_inspected_run_close(&run);
    percent--;
    cr_assert_eq(plim_inspected_run_simulate(r.ctx, path, dtr, percent_text(percent), 4, &run), PLIM_OK, "%d %%: %s",
                 percent, plim_context_error(r.ctx));
  }
  cr_assert_gt(run.plan->n_commands, 0);
  cr_assert_lt(count_ops(r.graph, run.plan), r.graph->n_ops);
  plim_inspected_run_close(&run);
  cr_assert_eq(plim_inspected_run_simulate(r.ctx, path, dtr, "1 B", 4, &run), PLIM_ENOFIT);
  rig_close(&r);
}

static plim_status open_once(plim_context *ctx, void *user) {
  plim_inspected_run run = {.ctx = ctx};
  plim_status status = plim_inspected_run_open(ctx, user, &run);
  plim_inspected_run_close(&run);
  return status;
}

Test(inspected_run, every_refused_allocation_is_a_failure_that_leaves_nothing) {
  rig r = rig_open("lru", 85);
  static char path[PLIM_FILE_PATH_BYTES];
  (void)strcpy(path, plim_test_path("t.jsonl"));
  write_trace(&r, path);
  cr_assert_eq(plim_sibling_save_trace(r.graph, r.made.plan, path), PLIM_OK);
  cr_assert_gt(plim_test_each_allocation(open_once, path), 10);
  rig_close(&r);
}
