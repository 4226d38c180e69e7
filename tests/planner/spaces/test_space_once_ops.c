/* Ops of class once: they have outputs and run once. Planners over spaces page what they would repeat, the checker
 * refuses a second run. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/spaces/problem/space_sequence.h"
#include "planner/spaces/space_make.h"
#include "tests/support/test_context.h"

enum { A, B, C, D, E, OPS };

/* a -> b -> c -> d -> e, and e reads a: while c runs, a is in the way. */
static plim_graph *make_graph(plim_context *ctx, plim_op_class cls) {
  static const char *const name[OPS] = {"a", "b", "c", "d", "e"};
  static const int64_t bytes[OPS] = {10, 20, 20, 10, 10};
  plim_graph_builder *b = NULL;
  plim_graph *graph = NULL;
  int32_t id;
  cr_assert_eq(plim_graph_begin(ctx, "once", 1, &b), PLIM_OK);
  plim_graph_set_unpacked(b);
  for (int i = 0; i < OPS; i++) {
    plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes[i]);
    cr_assert_eq(plim_graph_add(b, name[i], PLIM_ROLE_ACTIVATION, &shape, &id), PLIM_OK);
  }
  for (int i = 0; i < OPS; i++) {
    plim_op_spec op = {.name = name[i], .n_in = i > 0, .in = {i - 1, A}, .n_out = 1, .out = {i}, .time_ns = 100};
    if (i == A) op.cls = cls;
    if (i == E) op.n_in = 2;
    cr_assert_eq(plim_graph_add_op(b, &op, &id), PLIM_OK, "%s", plim_context_error(ctx));
  }
  cr_assert_eq(plim_graph_end(b, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

static plim_platform *make_platform(plim_context *ctx) {
  static const char text[] =
      "{\"devices\": [{\"name\": \"d0\", \"flop_per_second\": 1e9, \"flop_per_joule\": 1e9, \"idle_watt\": 0, "
      "\"spaces\": [\"ram\", \"sd\"]}], \"links\": [{\"from\": \"ram\", \"to\": \"sd\", \"latency_s\": 0, "
      "\"bytes_per_second\": 1e9, \"watt\": 0, \"duplex\": true}, {\"from\": \"sd\", \"to\": \"ram\", \"latency_s\": "
      "0, \"bytes_per_second\": 1e9, \"watt\": 0, \"duplex\": true}]}\n";
  plim_platform *platform = NULL;
  cr_assert_eq(plim_platform_parse(ctx, "p.json", text, (int64_t)sizeof text - 1, &platform), PLIM_OK, "%s",
               plim_context_error(ctx));
  return platform;
}

static plim_status make_plan(plim_context *ctx, const plim_graph *graph, const plim_platform *platform, int page,
                             plim_space_plan **out) {
  const int64_t budget[] = {40, INT64_MAX};
  plim_space_options options = plim_space_options_default();
  options.objective = PLIM_OBJECTIVE_SERIAL;
  options.budget = budget;
  options.page = page;
  options.iterations = 100;
  return plim_space_plan_make(ctx, graph, platform, &options, NULL, out);
}

static int32_t runs_of(const plim_space_plan *plan, int32_t op) {
  int32_t runs = 0;
  for (int32_t c = 0; c < plan->n_commands; c++) {
    runs += plan->command[c].kind == PLIM_SPACE_COMMAND_RUN && plan->command[c].op == op;
  }
  return runs;
}

Test(space_once, an_op_that_runs_once_is_paged_and_never_repeated) {
  plim_context *ctx = plim_test_context();
  plim_graph *pure = make_graph(ctx, PLIM_OP_PURE), *once = make_graph(ctx, PLIM_OP_ONCE);
  plim_platform *platform = make_platform(ctx);
  plim_space_plan *plan = NULL;
  cr_assert_eq(make_plan(ctx, pure, platform, 0, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(runs_of(plan, A), 2);
  plim_space_plan_free(plan);
  plan = NULL;
  cr_expect_eq(make_plan(ctx, once, platform, 0, &plan), PLIM_ENOFIT);
  cr_assert_eq(make_plan(ctx, once, platform, 1, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(runs_of(plan, A), 1);
  cr_expect_eq(plan->serial_ns, 520); /* five runs, and 10 bytes out and in */
  plim_space_plan_free(plan);
  plim_platform_free(platform);
  plim_graph_free(once);
  plim_graph_free(pure);
  plim_test_context_end(ctx);
}

/* The same sequence is a plan where the op is pure. */
static plim_status check_repeat(plim_context *ctx, plim_op_class cls) {
  static const int32_t order[] = {A, B, A, C, D, E}; /* a is dropped before it is recomputed */
  static const int64_t budget[] = {INT64_MAX, INT64_MAX};
  const plim_space_plan draft = {.planner = "test", .deadline_ns = INT64_MAX, .keep_all = 500};
  plim_graph *graph = make_graph(ctx, cls);
  plim_platform *platform = make_platform(ctx);
  plim_space_problem *problem = NULL;
  plim_space_plan *plan = NULL;
  plim_space_events events = {.ctx = ctx};
  cr_assert_eq(plim_space_problem_make(graph, platform, 0, &problem), PLIM_OK, "%s", plim_context_error(ctx));
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    if (i == 2) plim_space_events_add(&events, PLIM_SPACE_DROP, A, 0);
    plim_space_events_add(&events, PLIM_SPACE_RUN, order[i], 0);
  }
  cr_assert_eq(plim_space_lower(problem, &events, &draft, budget, 0, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  plim_status status = plim_space_plan_check(ctx, graph, plan);
  plim_space_plan_free(plan);
  plim_space_events_free(&events);
  plim_space_problem_free(problem);
  plim_platform_free(platform);
  plim_graph_free(graph);
  return status;
}

Test(space_once, the_checker_refuses_a_second_run) {
  plim_context *ctx = plim_test_context();
  cr_assert_eq(check_repeat(ctx, PLIM_OP_PURE), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(check_repeat(ctx, PLIM_OP_ONCE), PLIM_EPLAN);
  cr_assert_not_null(strstr(plim_context_error(ctx), "an op of class once runs once"), "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
}

Test(space_once, an_op_that_updates_cannot_be_of_the_class) {
  plim_context *ctx = plim_test_context();
  const int64_t bytes = 10;
  const plim_op_spec op = {.name = "u", .cls = PLIM_OP_ONCE, .n_upd = 1, .upd = {0}};
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
  plim_graph_builder *b = NULL;
  int32_t id;
  cr_assert_eq(plim_graph_begin(ctx, "once", 1, &b), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "w", PLIM_ROLE_PARAM, &shape, &id), PLIM_OK);
  cr_assert_eq(plim_graph_add_op(b, &op, &id), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(ctx), "a once op has outputs (0 given) and updates nothing (1 given)"));
  plim_graph_builder_free(b);
  plim_test_context_end(ctx);
}
