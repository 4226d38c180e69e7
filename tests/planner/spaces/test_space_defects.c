/* Inputs on which the published programs of XEngine (ACM TACO 2022) and POET (ICML 2022) fail, each with what is right.
 *
 * Of XEngine: memory summed over devices, copies with their directions swapped or free, and a copy's bytes at its
 * destination are rows of the known optima (test_space_planners). Of POET: switches that do not switch are in
 * test_cli_spaces, platforms without figures in test_space_planners. */
#include <assert.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/op.h"
#include "planner/solvers/solver.h"
#include "planner/spaces/space_make.h"
#include "planner/spaces/space_make_internal.h"
#include "runtime/base/text.h"
#include "runtime/import/importers.h"
#include "tests/support/space_cases.h"
#include "tests/support/space_interpret.h"
#include "tests/support/space_oracle.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

static plim_context *ctx;

static void begin(void) {
  ctx = plim_test_context();
}

static void end(void) {
  plim_test_context_end(ctx);
}
TestSuite(space_defects, .init = begin, .fini = end);

static void skip_without_solver(void) {
  plim_solver *solver = NULL;
  if (plim_solver_open(ctx, NULL, &solver) != PLIM_OK) cr_skip_test("%s", plim_context_error(ctx));
  plim_solver_close(solver);
}

static plim_space_plan *place(const space_case *c, plim_objective objective, const int64_t *budget) {
  plim_graph *graph = space_case_graph(ctx, c);
  plim_platform *platform = NULL;
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  uint64_t random = test_seed(3);
  options.planner = "xengine";
  options.objective = (int32_t)objective;
  options.budget = budget;
  cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
  cr_assert_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_expect_null(space_interpret(graph, plan, &random, 100), "%s", c->name);
  plim_platform_free(platform);
  plim_graph_free(graph);
  return plan;
}

static int64_t sum_of(const space_case *c, const int64_t *budget) {
  plim_space_plan *plan = place(c, PLIM_OBJECTIVE_SERIAL, budget);
  int64_t sum = plan->serial_ns;
  plim_space_plan_free(plan);
  return sum;
}

/* ---- XEngine ---- */

/* A chain; op 3 is read again at the end, behind an op that leaves room for nothing else. */
static const space_case inner = {"inner",
                                 8,
                                 1,
                                 8,
                                 {1, 1, 1, 1, 1, 3, 1, 1},
                                 {{1, 1, 1, 1, 1, 1, 1, 1}},
                                 {{0}},
                                 {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {3, 7}},
                                 {0}};

/* Memory rows with an index past the end: what is freed within a stage counted for nothing, and four bytes for six. */
Test(space_defects, what_a_stage_no_longer_reads_makes_room_within_it) {
  static const int64_t budget[] = {4};
  skip_without_solver();
  plim_space_plan *plan = place(&inner, PLIM_OBJECTIVE_SERIAL, budget);
  cr_expect_eq(plan->serial_ns, 12); /* 0 to 3 run again */
  cr_expect_eq(plan->space[0].peak_bytes, 4);
  cr_expect(plan->proved);
  plim_space_plan_free(plan);
}

/* What was computed in a stage and not kept into the next was never released when the schedule ran. */
Test(space_defects, no_buffer_outlives_its_last_reader) {
  static const int64_t budget[] = {4};
  skip_without_solver();
  plim_space_plan *plan = place(&inner, PLIM_OBJECTIVE_SERIAL, budget);
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_space_buffer *b = &plan->buffer[i];
    const plim_space_command *last = &plan->command[b->end - 1];
    int reads = 0;
    for (int32_t e = 0; e < inner.n_edges; e++) reads |= inner.edge[e][0] == b->storage && inner.edge[e][1] == last->op;
    cr_expect(reads || b->end == b->begin + 1, "storage %d lives on until command %d", b->storage, b->end);
  }
  plim_space_plan_free(plan);
}

/* The export named the devices of first runs, and no repeat. */
Test(space_defects, the_plan_has_every_run_with_its_device) {
  static const int64_t budget[] = {4};
  skip_without_solver();
  plim_space_plan *plan = place(&inner, PLIM_OBJECTIVE_SERIAL, budget);
  int runs[8] = {0};
  for (int32_t c = 0; c < plan->n_commands; c++) runs[plan->command[c].op]++;
  for (int32_t o = 0; o < 8; o++) cr_expect_eq(runs[o], o < 4 ? 2 : 1, "op %d", o);
  plim_space_plan_free(plan);
}

/* Costs were written by destination and source, and read by source and destination. */
Test(space_defects, a_copy_has_the_cost_of_its_own_direction) {
  static const int64_t budget[] = {5, 5};
  space_case c = {"there", 2, 2, 1, {1, 4}, {{1, 10}, {10, 1}}, {{3}, {8}}, {{0, 1}}, {0}};
  skip_without_solver();
  cr_expect_eq(sum_of(&c, budget), 5);
  c.copy[0][0] = 8;
  c.copy[1][0] = 3;
  cr_expect_eq(sum_of(&c, budget), 10);
}

/* It was in the platform's context. */
Test(space_defects, a_refused_platform_has_its_sentence_in_the_context_of_the_call) {
  static const char two[] =
      "{\"devices\": [{\"name\": \"d0\", \"flop_per_second\": 1e9, \"flop_per_joule\": 1000, \"idle_watt\": 0, "
      "\"spaces\": [\"a\"]}, {\"name\": \"d1\", \"flop_per_second\": 1e9, \"flop_per_joule\": 1000, \"idle_watt\": 0, "
      "\"spaces\": [\"b\"]}], \"links\": [{\"from\": \"a\", \"to\": \"b\", \"latency_s\": 0, \"bytes_per_second\": "
      "1e9, "
      "\"watt\": 1, \"duplex\": true}, {\"from\": \"b\", \"to\": \"a\", \"latency_s\": 0, \"bytes_per_second\": 1e9, "
      "\"watt\": 1, \"duplex\": true}]}\n";
  plim_context *other = NULL;
  plim_platform *platform = NULL;
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  skip_without_solver();
  cr_assert_eq(plim_context_new(NULL, NULL, &other), PLIM_OK);
  plim_graph *graph = space_linear(ctx);
  cr_assert_eq(plim_platform_parse(other, "two.json", two, (int64_t)sizeof two - 1, &platform), PLIM_OK, "%s",
               plim_context_error(other));
  options.planner = "poet";
  options.objective = PLIM_OBJECTIVE_ENERGY;
  cr_expect_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_EDATA);
  cr_expect_not_null(strstr(plim_context_error(ctx), "this planner is for one device"), "'%s', '%s'",
                     plim_context_error(ctx), plim_context_error(other));
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_context_free(other);
}

/* The edges between two ops were one entry of a table. */
Test(space_defects, values_between_the_same_two_devices_cost_each_their_own) {
  static const int64_t budget[] = {9, 9};
  static const space_case two = {
      "two", 3, 2, 2, {1, 2, 1}, {{1, 1, 50}, {50, 50, 1}}, {{3, 4}, {9, 9}}, {{0, 2}, {1, 2}}, {0}};
  static const char parallel[] =
      "{\"graph\": {\"name\": \"parallel\", \"devices\": [\"d0\", \"d1\"]}, \"nodes\": [{\"id\": 0, \"out_cost\": 1, "
      "\"durations\": {\"d0\": 1, \"d1\": 50}, \"copies\": {\"d0>d1\": 3, \"d1>d0\": 3}}, {\"id\": 1, \"out_cost\": 1, "
      "\"durations\": {\"d0\": 50, \"d1\": 1}, \"copies\": {\"d0>d1\": 3, \"d1>d0\": 3}}], \"links\": [{\"source\": 0, "
      "\"target\": 1}, {\"source\": 0, \"target\": 1}]}\n";
  plim_graph *graph = NULL;
  skip_without_solver();
  cr_expect_eq(sum_of(&two, budget), 1 + 1 + 3 + 4 + 1);
  cr_assert_eq(plim_import_nx(ctx, "p.json", parallel, (int64_t)sizeof parallel - 1, &graph), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_expect_eq(graph->op[1].n_reads, 1); /* one value, read once */
  plim_graph_free(graph);
}

/* A model with a quadratic objective made CBC fail; without that part copies were free. */
Test(space_defects, copies_are_paid_by_every_solver) {
  static const int64_t budget[] = {5000000, 5000000};
  static const char *const hidden[] = {"PLIM_HIGHS", "PLIM_CBC"};
  for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
    plim_solver *solver = NULL;
    cr_assert_eq(setenv(hidden[i], "/nowhere", 1), 0);
    int there = plim_solver_open(ctx, NULL, &solver) == PLIM_OK;
    plim_solver_close(solver);
    if (there) cr_expect_eq(sum_of(space_case_named("multi_linear"), budget), 12000, "without %s", hidden[i]);
    cr_assert_eq(unsetenv(hidden[i]), 0);
  }
}

/* A copied input was paid by each of its readers. */
Test(space_defects, one_copy_serves_all_readers_on_its_device) {
  static const int64_t budget[] = {20, 20};
  static const space_case c = {"readers",
                               4,
                               2,
                               4,
                               {1, 1, 1, 1},
                               {{1, 90, 90, 90}, {90, 1, 1, 1}},
                               {{5, 5, 5, 5}, {5, 5, 5, 5}},
                               {{0, 1}, {0, 2}, {1, 3}, {2, 3}},
                               {0}};
  skip_without_solver();
  cr_expect_eq(sum_of(&c, budget), 1 + 5 + 3); /* paid by each reader 14 */
}

/* A copied input could not be kept: a reader in a later stage paid again. */
Test(space_defects, what_was_copied_may_be_kept_for_later_readers) {
  static const int64_t budget[] = {20, 20};
  static const space_case c = {"later",
                               6,
                               2,
                               6,
                               {1, 1, 1, 1, 1, 1},
                               {{1, 90, 90, 90, 90, 90}, {90, 1, 1, 1, 1, 1}},
                               {{7, 7, 7, 7, 7, 7}, {7, 7, 7, 7, 7, 7}},
                               {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {0, 5}},
                               {0}};
  skip_without_solver();
  cr_expect_eq(sum_of(&c, budget), 1 + 7 + 5);
}

/* A reader paid for every other device that had its input, even where its own had it, too. */
Test(space_defects, what_is_there_is_not_copied) {
  static const int64_t budget[] = {20, 20};
  static const space_case c = {"there",
                               4,
                               2,
                               4,
                               {1, 1, 1, 1},
                               {{1, 1, 90, 1}, {1, 90, 1, 90}},
                               {{8, 8, 2, 8}, {8, 8, 2, 8}},
                               {{0, 1}, {0, 2}, {1, 3}, {2, 3}},
                               {0}};
  skip_without_solver();
  cr_expect_eq(sum_of(&c, budget), 2 + 1 + 1 + 2 + 1); /* 0 runs on both */
}

/* The objective was a sum, so that nothing ran beside anything. */
Test(space_defects, devices_work_side_by_side_where_time_is_the_objective) {
  static const int64_t budget[] = {20, 20};
  static const space_case c = {
      "beside", 3, 2, 2, {1, 1, 1}, {{10, 10, 1}, {12, 12, 1}}, {{1, 1, 1}, {1, 1, 1}}, {{0, 2}, {1, 2}}, {0}};
  skip_without_solver();
  plim_space_plan *plan = place(&c, PLIM_OBJECTIVE_TIME, budget);
  cr_expect_eq(plan->makespan_ns, 13, "%lld", (long long)plan->makespan_ns); /* one after another: 21 */
  cr_expect_leq(plan->bound, 13);
  plim_space_plan_free(plan);
}

/* A model on disk was taken for that of the next graph of its name. */
Test(space_defects, a_graph_of_the_same_name_is_planned_anew) {
  static const int64_t budget[] = {5, 5};
  space_case c = {"same", 2, 2, 1, {1, 4}, {{1, 10}, {10, 1}}, {{3}, {8}}, {{0, 1}}, {0}};
  skip_without_solver();
  cr_expect_eq(sum_of(&c, budget), 5);
  c.time[0][1] = 2;
  cr_expect_eq(sum_of(&c, budget), 3);
}

/* ---- POET ---- */

/* One commercial solver was imported whatever was asked for. */
Test(space_defects, without_any_solver_there_is_a_plan_and_a_sentence) {
  plim_graph *graph = space_linear(ctx);
  plim_platform *platform = NULL;
  const int64_t budget[] = {4000, INT64_MAX};
  plim_space_options options = plim_space_options_default();
  cr_assert_eq(setenv("PLIM_HIGHS", "/nowhere", 1), 0);
  cr_assert_eq(setenv("PLIM_CBC", "/nowhere", 1), 0);
  cr_assert_eq(plim_platform_built_in(ctx, "m0", &platform), PLIM_OK);
  options.budget = budget;
  options.objective = PLIM_OBJECTIVE_ENERGY;
  options.iterations = 200;
  for (int i = 0; i < 2; i++) {
    plim_space_plan *plan = NULL;
    options.planner = i ? "poet" : "search";
    cr_expect_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), i ? PLIM_EUNSUPPORTED : PLIM_OK,
                 "%s", plim_context_error(ctx));
    plim_space_plan_free(plan);
  }
  cr_expect_not_null(strstr(plim_context_error(ctx), "no solver of linear models can be opened"), "%s",
                     plim_context_error(ctx));
  cr_assert_eq(unsetenv("PLIM_HIGHS"), 0);
  cr_assert_eq(unsetenv("PLIM_CBC"), 0);
  plim_platform_free(platform);
  plim_graph_free(graph);
}

/* A scale of power was applied to a global at every call. */
Test(space_defects, planning_twice_with_one_platform_gives_one_energy) {
  plim_graph *graph = space_linear(ctx);
  plim_platform *platform = NULL;
  const int64_t budget[] = {4000, INT64_MAX};
  plim_space_options options = plim_space_options_default();
  double energy[2];
  cr_assert_eq(plim_platform_built_in(ctx, "m0", &platform), PLIM_OK);
  options.budget = budget;
  options.objective = PLIM_OBJECTIVE_ENERGY;
  options.recompute = 0;
  options.iterations = 200;
  for (int i = 0; i < 2; i++) {
    plim_space_plan *plan = NULL;
    cr_assert_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_OK, "%s",
                 plim_context_error(ctx));
    energy[i] = plan->energy_joule;
    plim_space_plan_free(plan);
  }
  cr_expect_eq(energy[0], energy[1]);
  plim_platform_free(platform);
  plim_graph_free(graph);
}

/* The order of ops came from a set of random names. */
Test(space_defects, a_network_written_in_another_order_is_the_same_graph) {
  static const char *const texts[] = {
      "{\"graph\": {\"name\": \"n\"}, \"nodes\": [{\"id\": 0, \"out_cost\": 5, \"flops\": 1}, {\"id\": 1, "
      "\"out_cost\": 6, "
      "\"flops\": 2}, {\"id\": 2, \"out_cost\": 7, \"flops\": 3}, {\"id\": 3, \"out_cost\": 8, \"flops\": 4}], "
      "\"links\": "
      "[{\"source\": 0, \"target\": 2}, {\"source\": 1, \"target\": 2}, {\"source\": 2, \"target\": 3}]}\n",
      "{\"graph\": {\"name\": \"n\"}, \"nodes\": [{\"id\": 3, \"out_cost\": 8, \"flops\": 4}, {\"id\": 1, "
      "\"out_cost\": 6, "
      "\"flops\": 2}, {\"id\": 0, \"out_cost\": 5, \"flops\": 1}, {\"id\": 2, \"out_cost\": 7, \"flops\": 3}], "
      "\"links\": "
      "[{\"source\": 2, \"target\": 3}, {\"source\": 1, \"target\": 2}, {\"source\": 0, \"target\": 2}]}\n"};
  plim_graph *graph[2] = {NULL, NULL};
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(plim_import_nx(ctx, "n.json", texts[i], (int64_t)strlen(texts[i]), &graph[i]), PLIM_OK, "%s",
                 plim_context_error(ctx));
  }
  for (int32_t o = 0; o < 4; o++) {
    cr_expect_eq(graph[0]->costs->flops[o], graph[1]->costs->flops[o]);
    cr_expect_eq(graph[0]->op[o].n_reads, graph[1]->op[o].n_reads);
  }
  for (int i = 0; i < 2; i++) plim_graph_free(graph[i]);
}

/* Whole numbers of a solver were cut, not rounded: 0.99999 became 0. */
Test(space_defects, a_point_that_is_nearly_whole_is_read_as_whole) {
  static const int64_t budget[] = {5000000, 5000000};
  const plim_space_model_options asked = {.model_class = PLIM_SPACE_XENGINE,
                                          .objective = PLIM_OBJECTIVE_SERIAL,
                                          .recompute = 1,
                                          .place = 1,
                                          .budget = budget,
                                          .deadline_ns = INT64_MAX};
  plim_graph *graph = space_case_graph(ctx, space_case_named("multi_linear"));
  plim_platform *platform = NULL;
  plim_space_problem *problem = NULL;
  plim_space_solved solved;
  plim_solver *solver = NULL;
  plim_space_events events[2] = {{.ctx = ctx}, {.ctx = ctx}};
  const plim_solve_options effort = {.cutoff = INFINITY};
  skip_without_solver();
  cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
  cr_assert_eq(plim_space_problem_make(graph, platform, 0, &problem), PLIM_OK);
  cr_assert_eq(plim_solver_open(ctx, NULL, &solver), PLIM_OK);
  cr_assert_eq(plim_space_solve(problem, solver, &asked, &effort, &solved), PLIM_OK);
  cr_assert(solved.solution.found);
  for (int i = 0; i < 2; i++) {
    double *point = solved.point;
    cr_assert_eq(plim_space_model_read(solved.model, point, &events[i]), PLIM_OK);
    for (int32_t c = 0; c < solved.model->linear.n_columns; c++) point[c] += point[c] > 0.5 ? -1e-5 : 1e-5;
  }
  cr_assert_gt(events[0].n, 9);
  cr_assert_eq(events[0].n, events[1].n);
  cr_expect_eq(memcmp(events[0].event, events[1].event, (size_t)events[0].n * sizeof *events[0].event), 0);
  for (int i = 0; i < 2; i++) plim_space_events_free(&events[i]);
  plim_space_solved_free(&solved);
  plim_solver_close(solver);
  plim_space_problem_free(problem);
  plim_platform_free(platform);
  plim_graph_free(graph);
}

/* --iterations bounds a solver's nodes after the first one. Without a time limit nothing ended the first: that of
 * ResNet-18's program ran for more than ten minutes. */
Test(space_defects, a_solver_has_a_time_limit_where_the_call_has_none) {
  static const int64_t limits_ns[] = {0, INT64_C(20000000000)};
  static const double seconds_max[] = {120, 20};
  for (int i = 0; i < 2; i++) {
    plim_space_options options = plim_space_options_default();
    plim_graph *graph = space_case_graph(ctx, space_case_named("multi_linear"));
    plim_platform *platform = NULL;
    plim_space_request request;
    options.planner = "milp";
    options.iterations = 1;
    options.time_limit_ns = limits_ns[i];
    cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
    assert(platform);
    cr_assert_eq(plim_space_request_make(ctx, graph, platform, &options, &request), PLIM_OK);
    const double seconds = plim_space_seconds_left(&request);
    cr_expect(seconds > 0 && seconds <= seconds_max[i], "%g s, not more than 0 and at most %g", seconds,
              seconds_max[i]);
    plim_space_request_free(&request);
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
}

/* Each program of a refusal had all the time that the call had left before the first of them. */
Test(space_defects, a_refusal_calls_no_solver_once_the_time_is_over) {
  plim_space_options options = plim_space_options_default();
  plim_graph *graph = space_case_graph(ctx, space_case_named("multi_linear"));
  plim_platform *platform = NULL;
  plim_space_request request;
  plim_solver *no_solver = NULL; /* a call would end the test */
  options.planner = "milp";
  options.time_limit_ns = 1;
  cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
  assert(platform);
  cr_assert_eq(plim_space_request_make(ctx, graph, platform, &options, &request), PLIM_OK);
  cr_assert_lt(plim_space_seconds_left(&request), 0);
  cr_assert_eq(plim_space_refuse(&request, no_solver), PLIM_ENOFIT);
  cr_expect(strstr(plim_context_error(ctx), "no plan of"), "%s", plim_context_error(ctx));
  plim_space_request_free(&request);
  plim_platform_free(platform);
  plim_graph_free(graph);
}

static plim_op_desc conv(int64_t batch, int64_t out) {
  const int64_t in_dims[] = {batch, 3, 8, 8}, weight[] = {5, 3, 2, 2}, out_dims[] = {batch, 5, out, out};
  plim_op_desc op = {.kind = PLIM_OP_CONV2D, .n_in = 2, .n_out = 1};
  op.attrs.kernel[0] = op.attrs.kernel[1] = 2;
  op.attrs.stride[0] = op.attrs.stride[1] = (int32_t)(8 / out);
  op.in[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, in_dims);
  op.in[1] = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, weight);
  op.out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, out_dims);
  return op;
}

/* Linear layers left the batch out, and a convolution counted the size of its input: four times too much at stride 2.
 */
Test(space_defects, flop_grow_with_the_batch_and_are_those_of_the_output) {
  const int64_t in[] = {4, 10}, weight[] = {6, 10}, out[] = {4, 6}, twice_in[] = {8, 10}, twice_out[] = {8, 6};
  plim_op_desc op = {.kind = PLIM_OP_LINEAR, .n_in = 2, .n_out = 1};
  op.in[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, in);
  op.in[1] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, weight);
  op.out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, out);
  cr_expect_eq(plim_op_flops(&op), 2 * 4 * 10 * 6);
  op.in[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, twice_in);
  op.out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, twice_out);
  cr_expect_eq(plim_op_flops(&op), 2 * 8 * 10 * 6);
  const plim_op_desc wide = conv(1, 4), batch = conv(3, 4);
  cr_expect_eq(plim_op_flops(&wide), 2 * 5 * 4 * 4 * 3 * 2 * 2);
  cr_expect_eq(plim_op_flops(&batch), 3 * plim_op_flops(&wide));
}
