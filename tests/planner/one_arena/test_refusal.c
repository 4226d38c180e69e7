/* planner/one_arena/refuse.c: what a refusal says of the smallest budgets, the op that sets them, and buffers that
 * cannot lie together. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "planner/core/problem.h"
#include "planner/planner.h"
#include "runtime/import/import.h"
#include "tests/support/planner_case.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

Test(refusal, a_refusal_names_the_numbers) {
  planner_case c = planner_case_random(test_seed(6), 20);
  int32_t op;
  int64_t bound = plim_bound_bytes(c.problem, &op);
  char number[32];
  c.options.budget_bytes = bound - 1;
  (void)planner_case_plan(&c, PLIM_ENOFIT);
  (void)snprintf(number, sizeof number, "%lld bytes", (long long)bound);
  cr_assert_not_null(strstr(plim_context_error(c.ctx), number), "%s", plim_context_error(c.ctx));
  cr_assert_not_null(strstr(plim_context_error(c.ctx), c.graph->op[op].name), "%s", plim_context_error(c.ctx));
  planner_case_free(&c);
}

Test(refusal, a_refusal_says_that_the_lowest_plan_met_need_not_be_the_lowest) {
  int told = 0;
  for (uint64_t seed = test_seed(6), end = seed + 10; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, 20);
    plim_plan *plan = NULL;
    int32_t op;
    c.options.planner = "keep-all";
    while (plim_plan_make(c.ctx, c.graph, c.profile, &c.options, &plan) == PLIM_OK) { /* other variants need less */
      c.options.budget_bytes = plan->arena_bytes - 1;
      plim_plan_free(plan);
    }
    if (plim_bound_bytes(c.problem, &op) <= c.options.budget_bytes) {
      (void)planner_case_plan(&c, PLIM_ENOFIT);
      /* of a plan, or of a peak that was above the budget and so was not packed */
      const char *met = strstr(plim_context_error(c.ctx), " that this search met ");
      cr_assert_not_null(met, "%s", plim_context_error(c.ctx));
      cr_assert_not_null(strstr(met, ", a smaller one may exist (plim_plan_smallest looks for it); none exists below "),
                         "%s", met);
      told++;
    }
    planner_case_free(&c);
  }
  cr_assert_gt(told, 5, "%d", told);
}

static void expect_conflict(planner_case *c, const plim_plan *plan, int32_t *named) {
  long long peak, missing;
  (void)planner_case_plan(c, PLIM_ENOFIT);
  const char *why = strstr(plim_context_error(c->ctx), "the peak of a schedule");
  cr_assert_not_null(why, "%s", plim_context_error(c->ctx));
  cr_assert_eq(sscanf(why, "the peak of a schedule is %lld bytes, but its addresses miss %lld bytes", &peak, &missing),
               2);
  cr_assert_eq(peak, plan->peak_bytes);
  cr_assert_eq(missing, plan->arena_bytes - c->options.budget_bytes);
  if (!strstr(why, "cannot lie together")) return; /* exact search did not end */
  int32_t known = 0;
  for (int32_t v = 0; v < c->graph->n_values; v++) known += strstr(why, c->graph->value[v].name) != NULL;
  cr_assert_gt(known, 0, "%s", why);
  ++*named;
}

/* A row of ops, each with one output of random bytes and some later op that reads it last. */
static plim_graph *random_buffers_graph(plim_context *ctx, uint64_t seed) {
  enum { OPS = 16 };
  plim_graph_builder *b = NULL;
  plim_graph *graph = NULL;
  int32_t value[OPS], last[OPS], op;
  cr_assert_eq(plim_graph_begin(ctx, "lives", 1, &b), PLIM_OK);
  for (int32_t t = 0; t < OPS; t++) {
    char name[24], op_name[24];
    int32_t in[OPS], n_in = 0;
    int64_t size = test_random_between(&seed, 1, 12);
    plim_shape shape = {.dtype = PLIM_U8, .rank = 1, .dim = {512 * size * size}};
    for (int32_t v = 0; v < t; v++) {
      if (last[v] == t) in[n_in++] = value[v];
    }
    last[t] = t + (int32_t)test_random_between(&seed, 0, 6);
    (void)snprintf(name, sizeof name, "life%d.", (int)t);
    (void)snprintf(op_name, sizeof op_name, "op%d", (int)t);
    plim_role role = t + 1 == OPS ? PLIM_ROLE_OUTPUT : PLIM_ROLE_ACTIVATION;
    cr_assert_eq(plim_graph_add(b, name, role, &shape, &value[t]), PLIM_OK, "%s", plim_context_error(ctx));
    plim_op_spec spec = {
        .name = op_name, .kind = PLIM_OP_CUSTOM, .n_in = n_in, .many_in = in, .n_out = 1, .time_ns = 1};
    spec.out[0] = value[t];
    cr_assert_eq(plim_graph_add_op(b, &spec, &op), PLIM_OK, "%s", plim_context_error(ctx));
  }
  cr_assert_eq(plim_graph_end(b, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

Test(refusal, a_refusal_names_buffers_whose_sum_fits_but_that_cannot_lie_together) {
  int32_t named = 0;
  for (uint64_t seed = test_seed(1), end = seed + 3000; test_seed_at(seed) < end && named < 3; seed++) {
    plim_context *ctx = NULL;
    plim_plan *plan = NULL;
    plim_plan_options options = plim_plan_options_default();
    options.planner = "keep-all"; /* one schedule, in this order */
    options.order = PLIM_ORDER_FIXED;
    cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
    planner_case c = planner_case_make(ctx, random_buffers_graph(ctx, seed), NULL, &options);
    cr_assert_eq(plim_plan_keep_all(c.ctx, c.graph, c.profile, &c.options, &plan), PLIM_OK);
    c.options.budget_bytes = plan->peak_bytes;
    if (plan->arena_bytes > plan->peak_bytes) expect_conflict(&c, plan, &named);
    plim_plan_free(plan);
    planner_case_free(&c);
  }
  cr_assert_gt(named, 0);
}

/* Between bound and smallest budget there are schedules with a peak that is too high: the floor says at which op. */
Test(refusal, the_floor_names_buffers_of_the_lowest_plan_that_are_too_many_for_the_budget) {
  int32_t named = 0;
  for (uint64_t seed = test_seed(1), end = seed + 8; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, 14);
    plim_plan_floor floor;
    c.options.iterations = 500;
    cr_assert_eq(plim_plan_smallest(c.ctx, c.graph, c.profile, &c.options, &floor, NULL), PLIM_OK);
    cr_assert_str_empty(floor.conflict, "no budget, nothing to be said: %s", floor.conflict);
    c.options.budget_bytes = (floor.bound_bytes + floor.smallest_bytes) / 2;
    cr_assert_eq(plim_plan_smallest(c.ctx, c.graph, c.profile, &c.options, &floor, NULL), PLIM_OK);
    cr_assert_eq(floor.conflict[0] != 0, floor.bound_bytes < floor.smallest_bytes, "seed %d: %s", (int)seed,
                 floor.conflict);
    named += strstr(floor.conflict, "cannot lie together within the budget, at op '") != NULL;
    planner_case_free(&c);
  }
  cr_assert_gt(named, 3, "%d", named);
}

Test(refusal, the_floor_is_described_with_the_operands_of_its_op) {
  planner_case c = planner_case_random(test_seed(6), 20);
  plim_plan_floor floor = {0};
  char text[600], cut[20];
  floor.bound_bytes = plim_bound_bytes(c.problem, &floor.op);
  plim_plan_floor_describe(c.graph, &floor, text, sizeof text);
  cr_assert_not_null(strstr(text, c.graph->op[floor.op].name), "%s", text);
  memset(cut, 'x', sizeof cut);
  plim_plan_floor_describe(c.graph, &floor, cut, 10);
  cr_assert_eq(cut[9], 0);
  cr_assert_eq(cut[10], 'x');
  planner_case_free(&c);
}

/* One op makes what three others read; each of these writes an output. The last of them runs beside two outputs. */
static plim_graph *three_outputs(plim_context *ctx) {
  plim_graph_builder *b = NULL;
  plim_graph *graph = NULL;
  int32_t made, out, op;
  plim_shape shape = {.dtype = PLIM_U8, .rank = 1, .dim = {1000}};
  cr_assert_eq(plim_graph_begin(ctx, "outputs", 1, &b), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "made", PLIM_ROLE_ACTIVATION, &shape, &made), PLIM_OK);
  plim_op_spec maker = {.name = "maker", .kind = PLIM_OP_CUSTOM, .n_out = 1, .out = {made}, .time_ns = 1};
  cr_assert_eq(plim_graph_add_op(b, &maker, &op), PLIM_OK, "%s", plim_context_error(ctx));
  for (int32_t i = 1; i <= 3; i++) {
    char name[16], op_name[32];
    (void)snprintf(name, sizeof name, "out%d", (int)i);
    (void)snprintf(op_name, sizeof op_name, "reader%d", (int)i);
    shape.dim[0] = 100 * (int64_t)i;
    cr_assert_eq(plim_graph_add(b, name, PLIM_ROLE_OUTPUT, &shape, &out), PLIM_OK);
    plim_op_spec spec = {.name = op_name, .kind = PLIM_OP_CUSTOM, .n_in = 1, .in = {made}, .n_out = 1, .time_ns = 1};
    spec.out[0] = out;
    cr_assert_eq(plim_graph_add_op(b, &spec, &op), PLIM_OK, "%s", plim_context_error(ctx));
  }
  cr_assert_eq(plim_graph_end(b, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

Test(refusal, outputs_that_stay_are_part_of_what_is_proven) {
  plim_plan_options options = plim_plan_options_default();
  plim_context *ctx = NULL;
  plim_plan_floor floor;
  options.unpacked = 1;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  planner_case c = planner_case_make(ctx, three_outputs(ctx), NULL, &options);
  cr_assert_eq(plim_plan_smallest(ctx, c.graph, c.profile, &options, &floor, NULL), PLIM_OK);
  cr_assert_eq(floor.smallest_bytes, 1600);
  cr_assert_eq(floor.bound_bytes, 1600);
  cr_assert_eq(floor.outputs_bytes, 300);
  c.options.budget_bytes = 1599;
  (void)planner_case_plan(&c, PLIM_ENOFIT);
  const char *text = plim_context_error(ctx);
  cr_assert_not_null(strstr(text, "where op 'reader3' needs"), "%s", text);
  cr_assert_not_null(strstr(text, "at once, beside 300 bytes of outputs that other ops have written"), "%s", text);
  planner_case_free(&c);
}

static void expect_begin(const planner_case *c, plim_plan_floor floor, const char *words) {
  char text[1024], begin[256];
  plim_plan_floor_describe(c->graph, &floor, text, sizeof text);
  (void)snprintf(begin, sizeof begin, "%s, where op '%s' needs", words, c->graph->op[floor.op].name);
  cr_assert_eq(strncmp(text, begin, strlen(begin)), 0, "%s", text);
}

Test(refusal, a_floor_says_what_is_known_and_names_a_smallest_budget_that_is_proved_once) {
  planner_case c = planner_case_random(test_seed(6), 20);
  const int64_t any = INT64_MAX;
  expect_begin(&c, (plim_plan_floor){.smallest_bytes = any, .bound_bytes = 500}, "none exists below 500 B");
  expect_begin(&c, (plim_plan_floor){.smallest_bytes = 700, .bound_bytes = 500},
               "the smallest budget for which a plan was found is 700 B; none exists below 500 B");
  expect_begin(
      &c, (plim_plan_floor){.smallest_bytes = 700, .bound_bytes = 500, .cut_short = 1},
      "the smallest budget for which a plan was found is 700 B, not searched further in the time allowed; none "
      "exists below 500 B");
  for (int cut_short = 0; cut_short < 2; cut_short++) {
    plim_plan_floor floor = {.smallest_bytes = 500, .bound_bytes = 500, .cut_short = cut_short};
    expect_begin(&c, floor, "the smallest budget that has a plan is 500 B");
    floor.fixed_numerics = 1;
    expect_begin(&c, floor, "the smallest budget that has a plan with these numerics is 500 B");
  }
  planner_case_free(&c);
}

Test(refusal, the_floor_is_described_in_any_room) {
  planner_case c = planner_case_random(test_seed(2), 12);
  plim_plan_floor floor;
  char text[64];
  cr_assert_eq(plim_plan_bound(c.ctx, c.graph, c.profile, &c.options, &floor), PLIM_OK);
  for (size_t size = 0; size <= 40; size++) {
    memset(text, '#', sizeof text);
    plim_plan_floor_describe(c.graph, &floor, text, size);
    for (size_t i = size; i < sizeof text; i++)
      cr_assert_eq(text[i], '#', "%d bytes: written at %d", (int)size, (int)i);
    if (size > 0) cr_assert_eq(strlen(text), size - 1);
  }
  planner_case_free(&c);
}

/* Op 20 reads what 20 ops have made. */
Test(refusal, a_refusal_names_the_first_operands_of_the_largest_op_and_counts_the_others) {
  enum { READ = 20 };
  char nx[4096], text[1024];
  int used = snprintf(nx, sizeof nx, "{\"directed\": true, \"multigraph\": false, \"graph\": {}, \"nodes\": [");
  for (int i = 0; i <= READ; i++) {
    used += snprintf(nx + used, sizeof nx - (size_t)used, "%s{\"name\": %d, \"out_cost\": 100, \"duration\": 1}",
                     i ? ", " : "", i);
  }
  used += snprintf(nx + used, sizeof nx - (size_t)used, "], \"links\": [");
  for (int i = 0; i < READ; i++) {
    used += snprintf(nx + used, sizeof nx - (size_t)used, "%s{\"0\": %d, \"1\": %d}", i ? ", " : "", i, (int)READ);
  }
  used += snprintf(nx + used, sizeof nx - (size_t)used, "]}");
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  const plim_plan_floor floor = {.smallest_bytes = INT64_MAX, .bound_bytes = 2100, .op = READ};
  cr_assert_eq(plim_graph_import_text(ctx, "nx", "star", nx, used, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  plim_plan_floor_describe(graph, &floor, text, sizeof text);
  cr_assert_not_null(strstr(text, "#2 (100 bytes) and 18 more (1800 bytes) at once"), "%s", text);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}
