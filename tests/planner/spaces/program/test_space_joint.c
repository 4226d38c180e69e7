/* planner/spaces/program/space_fluid.c and space_makespan.c: placement, paging and recompute in one program, and the
 * makespan of placement with a bound. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/solvers/solver.h"
#include "planner/spaces/program/space_model.h"
#include "planner/spaces/space_make.h"
#include "runtime/import/importers.h"
#include "tests/support/space_cases.h"
#include "tests/support/space_interpret.h"
#include "tests/support/space_oracle.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"
#include "tools/plimsoll-bench/joint_case.h"

static void skip_without_solver(plim_context *ctx) {
  plim_solver *solver = NULL;
  if (plim_solver_open(ctx, NULL, &solver) != PLIM_OK) cr_skip_test("%s", plim_context_error(ctx));
  plim_solver_close(solver);
}

/* The plan, which was checked; NULL: refused. */
static plim_space_plan *plan_of(plim_context *ctx, const plim_graph *graph, const plim_platform *platform,
                                const char *planner, plim_objective objective, const int64_t *budget) {
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  options.planner = planner;
  options.objective = (int32_t)objective;
  options.budget = budget;
  if (strcmp(planner, "search") == 0) options.iterations = 2000;
  plim_status status = plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  return plan;
}

/* ---- the sum of times ---- */

Test(space_joint, the_program_with_placement_reaches_every_known_optimum) {
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  for (const space_optimum *golden = space_optima; golden->name; golden++) {
    plim_graph *graph = space_case_graph(ctx, space_case_named(golden->name));
    plim_platform *platform = NULL;
    cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
    plim_space_plan *plan = plan_of(ctx, graph, platform, "milp", PLIM_OBJECTIVE_SERIAL, golden->budget);
    int64_t found = plan ? plan->serial_ns : -1;
    cr_expect_eq(found, golden->serial, "%s: %lld, not %lld", golden->name, (long long)found,
                 (long long)golden->serial);
    if (plan) cr_expect(plan->proved, "%s", golden->name);
    plim_space_plan_free(plan);
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  plim_test_context_end(ctx);
}

/* ---- the default search beside the program ---- */

enum { JOINT_CASES = 8, JOINT_CASE_OPS = 7 };

/* The program is solved to its end, and what becomes of its point is replayed. bench joint has larger graphs. */
Test(space_joint, the_default_search_is_within_half_a_percent_of_the_joint_program) {
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  int plans = 0;
  for (uint64_t seed = test_seed(1), end = seed + JOINT_CASES; test_seed_at(seed) < end; seed++) {
    joint_case c;
    cr_assert_eq(joint_case_make(ctx, seed, JOINT_CASE_OPS, &c), PLIM_OK, "%s", plim_context_error(ctx));
    plim_space_plan *model = plan_of(ctx, c.graph, c.platform, "milp", PLIM_OBJECTIVE_TIME, c.budget);
    plim_space_plan *found = plan_of(ctx, c.graph, c.platform, "search", PLIM_OBJECTIVE_TIME, c.budget);
    if (model) {
      cr_assert_not_null(found, "seed %llu", (unsigned long long)seed);
      cr_expect_leq((double)found->makespan_ns, 1.005 * (double)model->makespan_ns, "seed %llu: %lld, %lld",
                    (unsigned long long)seed, (long long)found->makespan_ns, (long long)model->makespan_ns);
      plans++;
    }
    plim_space_plan_free(model);
    plim_space_plan_free(found);
    joint_case_free(&c);
  }
  cr_expect_gt(plans, JOINT_CASES / 2);
  plim_test_context_end(ctx);
}

/* ---- the makespan of placement ---- */

static void draw(uint64_t *random, space_case *c) {
  *c = (space_case){.name = "drawn", .n = 4, .n_devices = 2};
  for (int32_t i = 0; i < c->n; i++) {
    c->bytes[i] = test_random_between(random, 1, 3);
    for (int d = 0; d < 2; d++) {
      c->time[d][i] = test_random_between(random, 1, 3);
      c->copy[d][i] = test_random_between(random, 1, 3);
    }
    for (int32_t k = 0; k < i; k++) {
      if (k < i - 1 && !test_random_chance(random, 40)) continue;
      if (k == i - 1 && i < c->n - 1 && test_random_chance(random, 50)) continue;
      c->edge[c->n_edges][0] = k;
      c->edge[c->n_edges++][1] = i;
    }
  }
  for (int32_t i = 0; i < c->n - 1; i++) { /* the last op reads what nothing reads */
    int32_t read = 0;
    for (int32_t e = 0; e < c->n_edges; e++) read |= c->edge[e][0] == i;
    if (read) continue;
    c->edge[c->n_edges][0] = i;
    c->edge[c->n_edges++][1] = c->n - 1;
  }
}

/* Plans of least time against an exhaustive search, in any order of commands. */
static void expect_makespans(const char *planner, int least_equal, int least_proved) {
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  int cases = 0, equal = 0, proved = 0;
  for (uint64_t seed = test_seed(1), end = seed + 40; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    space_case c;
    draw(&random, &c);
    const int64_t budget[] = {test_random_between(&random, 4, 9), test_random_between(&random, 4, 9)};
    plim_graph *graph = space_case_graph(ctx, &c);
    plim_platform *platform = NULL;
    cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
    int64_t best = space_oracle_makespan_two(&c, budget);
    plim_space_plan *plan = plan_of(ctx, graph, platform, planner, PLIM_OBJECTIVE_TIME, budget);
    if (best < 0) cr_expect_null(plan, "seed %llu", (unsigned long long)seed);
    if (plan) {
      const char *wrong = space_interpret(graph, plan, &random, 30);
      cr_expect_null(wrong, "seed %llu: %s", (unsigned long long)seed, wrong);
      cr_assert_geq(plan->makespan_ns, best, "seed %llu: %lld, the optimum is %lld", (unsigned long long)seed,
                    (long long)plan->makespan_ns, (long long)best);
      cr_assert_leq(plan->bound, (double)plan->makespan_ns);
      cr_assert_leq(plan->bound, (double)best, "seed %llu: the bound is %g, the optimum %lld", (unsigned long long)seed,
                    plan->bound, (long long)best);
      cases++;
      equal += plan->makespan_ns == best;
      proved += plan->proved;
    }
    plim_space_plan_free(plan);
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  cr_expect_geq(equal, least_equal, "%d plans, %d optimal, %d proved", cases, equal, proved);
  cr_expect_geq(proved, least_proved, "%d plans, %d optimal, %d proved", cases, equal, proved);
  plim_test_context_end(ctx);
}

Test(space_joint, the_makespan_of_placement_is_never_below_the_optimum_nor_its_bound_above) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  expect_makespans("xengine", 15, 2);
}

Test(space_joint, stages_on_two_devices_are_never_below_the_optimum) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  expect_makespans("milp", 15, 1);
}

/* Rows of the program let 11000 pass; what becomes of its points takes 12000. */
Test(space_joint, a_deadline_that_only_the_program_keeps_is_refused_with_one_that_has_a_plan) {
  static const int64_t budget[] = {5000000, 5000000};
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  plim_graph *graph = space_case_graph(ctx, space_case_named("multi_linear"));
  plim_platform *platform = NULL;
  cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
  for (int64_t deadline = 11000; deadline <= 12000; deadline += 1000) {
    plim_space_plan *plan = NULL;
    plim_space_options options = plim_space_options_default();
    options.planner = "xengine";
    options.objective = PLIM_OBJECTIVE_TIME;
    options.budget = budget;
    options.deadline_ns = deadline;
    plim_status status = plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan);
    cr_expect_eq(status, deadline == 12000 ? PLIM_OK : PLIM_ENOFIT);
    if (!plan) cr_expect_not_null(strstr(plim_context_error(ctx), "a deadline of 12000 has one"));
    if (plan) cr_expect_eq(plan->makespan_ns, 12000);
    plim_space_plan_free(plan);
  }
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* ---- from a point to a plan ---- */

static void set(const plim_space_model *m, double *point, const int32_t *grid, int32_t plane, int32_t t, int32_t i) {
  int32_t column = grid[plim_space_cell(m, plane, t, i)];
  cr_assert_geq(column, 0, "plane %d, stage %d, node %d", plane, t, i);
  point[column] = 1;
}

/* Node 0 goes out in stage 1. In stage 2 it comes back for stage 4, and is also run again for node 2, and released.
 * What arrived stays. */
static void set_point(const plim_space_model *m, double *point) {
  enum { RAM, SD, OUT = 0, IN = 1 };
  for (int32_t t = 0; t < m->n; t++) set(m, point, m->run, 0, t, t);
  set(m, point, m->keep, 0, 1, 0);
  set(m, point, m->flow, OUT, 1, 0);
  set(m, point, m->stored, SD, 2, 0);
  set(m, point, m->whole, SD, 2, 0);
  set(m, point, m->reload, RAM, 2, 0);
  set(m, point, m->flow, IN, 2, 0);
  set(m, point, m->run, 0, 2, 0);
  point[m->release[plim_space_cell(m, 0, 2, 0)] + 1] = 1; /* after node 2, the second reader */
  set(m, point, m->reload, RAM, 3, 0);
  set(m, point, m->stored, RAM, 3, 0);
  set(m, point, m->keep, 0, 3, 2);
  set(m, point, m->keep, 0, 4, 0);
  set(m, point, m->keep, 0, 4, 3);
}

Test(space_joint, what_arrives_stays_when_the_same_output_is_released) {
  static const space_case c = {
      "back", 5, 1, 5, {8, 8, 8, 8, 8}, {{9, 9, 9, 9, 9}}, {{0}}, {{0, 1}, {0, 2}, {2, 3}, {0, 4}, {3, 4}}, {0}};
  static const int64_t budget[] = {1000, INT64_MAX};
  const plim_space_model_options asked = {
      .model_class = PLIM_SPACE_FLUID, .page = 1, .recompute = 1, .budget = budget, .deadline_ns = INT64_MAX};
  const plim_space_plan draft = {.planner = "test", .deadline_ns = INT64_MAX};
  plim_context *ctx = plim_test_context();
  plim_graph *graph = space_case_flops(ctx, &c);
  plim_platform *platform = NULL;
  plim_space_problem *problem = NULL;
  plim_space_model *model = NULL;
  plim_space_plan *plan = NULL;
  plim_space_events events = {.ctx = ctx};
  uint64_t random = test_seed(1);
  cr_assert_eq(plim_platform_built_in(ctx, "m0", &platform), PLIM_OK);
  cr_assert_eq(plim_space_problem_make(graph, platform, 0, &problem), PLIM_OK);
  cr_assert_eq(plim_space_model_make(problem, &asked, &model), PLIM_OK, "%s", plim_context_error(ctx));
  double *point = calloc((size_t)model->linear.n_columns, sizeof *point);
  cr_assert_not_null(point);
  set_point(model, point);
  cr_assert_eq(plim_space_model_read(model, point, &events), PLIM_OK);
  cr_assert_eq(plim_space_lower(problem, &events, &draft, budget, 0, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_null(space_interpret(graph, plan, &random, 50));
  free(point);
  plim_space_plan_free(plan);
  plim_space_events_free(&events);
  plim_space_model_free(model);
  plim_space_problem_free(problem);
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* ---- all three ---- */

/* A fast device with little memory, a slow one with its own, and a page space behind the fast one. */
static plim_platform *three_spaces(plim_context *ctx) {
  static const char text[] =
      "{\"devices\": [{\"name\": \"gpu\", \"flop_per_second\": 1e6, \"flop_per_joule\": 1e6, \"idle_watt\": 0, "
      "\"spaces\": [\"vram\", \"disk\"]}, {\"name\": \"cpu\", \"flop_per_second\": 4e5, \"flop_per_joule\": 2e6, "
      "\"idle_watt\": 0, \"spaces\": [\"ram\"]}], \"links\": ["
      "{\"from\": \"vram\", \"to\": \"disk\", \"latency_s\": 0, \"bytes_per_second\": 60, \"watt\": 0.1, \"duplex\": "
      "true}, "
      "{\"from\": \"disk\", \"to\": \"vram\", \"latency_s\": 0, \"bytes_per_second\": 60, \"watt\": 0.1, \"duplex\": "
      "true}, "
      "{\"from\": \"vram\", \"to\": \"ram\", \"latency_s\": 0, \"bytes_per_second\": 90, \"watt\": 0.1, \"duplex\": "
      "true}, "
      "{\"from\": \"ram\", \"to\": \"vram\", \"latency_s\": 0, \"bytes_per_second\": 90, \"watt\": 0.1, \"duplex\": "
      "true}]}\n";
  plim_platform *platform = NULL;
  cr_assert_eq(plim_platform_parse(ctx, "three.json", text, (int64_t)sizeof text - 1, &platform), PLIM_OK, "%s",
               plim_context_error(ctx));
  return platform;
}

enum { PAGE = 1, RECOMPUTE = 2, PLACE = 4, EVERYTHING = 7, DISK = 1 /* a space */ };

/* What the plan takes; INFINITY: there is none. A solver may stop where nothing beats the plan that it was given, and
 * then names no point of its own. The plan is judged by the interpreter, too. */
static double joint_of(plim_context *ctx, const plim_graph *graph, const plim_platform *platform, int64_t vram,
                       plim_objective objective, int allowed) {
  const int64_t budget[] = {vram, INT64_MAX, 400};
  plim_space_plan *plan = NULL;
  plim_space_outcome outcome = {.model_objective = INFINITY};
  plim_space_options options = plim_space_options_default();
  uint64_t random = test_seed(9);
  double value = INFINITY;
  options.planner = "milp";
  options.objective = (int32_t)objective;
  options.budget = budget;
  options.page = (allowed & PAGE) > 0;
  options.recompute = (allowed & RECOMPUTE) > 0;
  options.place = (allowed & PLACE) > 0;
  plim_status status = plim_space_plan_make(ctx, graph, platform, &options, &outcome, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  for (int32_t c = 0; plan && c < plan->n_commands; c++) {
    const plim_space_command *m = &plan->command[c];
    if (m->kind == PLIM_SPACE_COMMAND_RUN && m->device > 0) cr_expect(allowed & PLACE);
    if (m->kind == PLIM_SPACE_COMMAND_COPY && (m->from == DISK || m->to == DISK)) cr_expect(allowed & PAGE);
    if (m->kind == PLIM_SPACE_COMMAND_COPY && m->from != DISK && m->to != DISK) cr_expect(allowed & PLACE);
  }
  if (plan && !(allowed & RECOMPUTE)) {
    int runs = 0;
    for (int32_t c = 0; c < plan->n_commands; c++) runs += plan->command[c].kind == PLIM_SPACE_COMMAND_RUN;
    cr_expect_eq(runs, graph->n_ops);
  }
  if (plan) cr_expect_null(space_interpret(graph, plan, &random, 50));
  if (plan) {
    value = plim_space_plan_value(plan);
    cr_expect_leq(plan->bound, value);
  }
  plim_space_plan_free(plan);
  return value;
}

/* Whatever is allowed more makes the plan no worse, in every objective. */
Test(space_joint, more_ways_and_more_bytes_never_make_the_plan_worse) {
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  plim_graph *graph = space_chain(ctx, 3);
  plim_platform *platform = three_spaces(ctx);
  int better = 0;
  cr_assert_str_eq(platform->space[DISK].name, "disk");
  for (int objective = 0; objective < PLIM_OBJECTIVE_COUNT; objective++) {
    double before = INFINITY;
    for (int64_t vram = 401; vram <= 601; vram += 100) {
      double all = joint_of(ctx, graph, platform, vram, (plim_objective)objective, EVERYTHING);
      cr_expect_leq(all, before * (1 + 1e-6), "%lld bytes more", (long long)vram);
      before = all;
      for (int without = PAGE; without <= PLACE; without *= 2) {
        double less = joint_of(ctx, graph, platform, vram, (plim_objective)objective, EVERYTHING & ~without);
        cr_expect_leq(all, less * (1 + 1e-6), "objective %d, %lld bytes, without %d", objective, (long long)vram,
                      without);
        better += all < less * (1 - 1e-3);
      }
    }
  }
  cr_expect_geq(better, 3, "each way pays somewhere: %d", better);
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* Copies that take a million million times as long as all runs: a solver's numbers do not reach so far. */
Test(space_joint, numbers_that_differ_without_measure_end_no_program) {
  static const char text[] =
      "{\"devices\": [{\"name\": \"d\", \"flop_per_second\": 1e12, \"flop_per_joule\": 1e9, \"idle_watt\": 0, "
      "\"spaces\": [\"a\", \"b\"]}, {\"name\": \"e\", \"flop_per_second\": 1e11, \"flop_per_joule\": 1e8, "
      "\"idle_watt\": 0, \"spaces\": [\"c\"]}], \"links\": [{\"from\": \"a\", \"to\": \"b\", \"latency_s\": 1e-3, "
      "\"bytes_per_second\": 1e-3, \"watt\": 0, \"duplex\": false}, {\"from\": \"b\", \"to\": \"a\", \"latency_s\": "
      "1e-5, \"bytes_per_second\": 1e-3, \"watt\": 0, \"duplex\": false}, {\"from\": \"a\", \"to\": \"c\", "
      "\"latency_s\": 0, \"bytes_per_second\": 1e-3, \"watt\": 3, \"duplex\": true}, {\"from\": \"c\", \"to\": \"a\", "
      "\"latency_s\": 0, \"bytes_per_second\": 1e9, \"watt\": 3, \"duplex\": true}]}\n";
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  plim_graph *graph = space_chain(ctx, 3);
  plim_platform *platform = NULL;
  cr_assert_eq(plim_platform_parse(ctx, "slow.json", text, (int64_t)sizeof text - 1, &platform), PLIM_OK, "%s",
               plim_context_error(ctx));
  for (int objective = 0; objective < PLIM_OBJECTIVE_COUNT; objective++) {
    const int64_t budget[] = {401, INT64_MAX, 401};
    plim_space_plan *plan = plan_of(ctx, graph, platform, "milp", (plim_objective)objective, budget);
    cr_assert_not_null(plan, "objective %d: %s", objective, plim_context_error(ctx));
    cr_expect_leq(plan->bound, plim_space_plan_value(plan));
    plim_space_plan_free(plan);
  }
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}
