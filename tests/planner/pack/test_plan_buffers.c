/* planner/pack/plan_buffers.c: buffers of a plan for packers. They have the same bytes at every command; those written
 * over each other are one; names are such that a row can hold them. */
#include "planner/pack/buffers_csv.h"

#include <criterion/criterion.h>
#include <string.h>

#include "planner/planner.h"
#include "tests/support/failing_memory.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

static int64_t bytes_at(const plim_buffer_list *buffers, int64_t step) {
  int64_t sum = 0;
  for (int32_t i = 0; i < buffers->n; i++) {
    if (buffers->box[i].begin <= step && step < buffers->box[i].end) sum += buffers->box[i].bytes;
  }
  return sum;
}

Test(plan_buffers, hold_the_bytes_of_the_plan_at_every_step_and_join_what_is_written_over) {
  int joined = 0;
  for (uint64_t seed = test_seed(1), end = seed + 30; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, -1);
    plim_plan_options options = plim_plan_options_default();
    plim_plan *plan;
    plim_buffer_list *buffers;
    cr_assert_eq(plim_plan_keep_all(c.ctx, c.graph, c.profile, &options, &plan), PLIM_OK);
    cr_assert_eq(plim_buffer_list_of_plan(c.ctx, c.graph, plan, &buffers), PLIM_OK, "%s", plim_context_error(c.ctx));
    int32_t pairs = 0;
    for (int32_t j = 0; j < plan->n_commands; j++) {
      int64_t sum = 0;
      for (int32_t i = 0; i < plan->n_buffers; i++) {
        if (plan->buffer[i].begin <= j && j < plan->buffer[i].end) sum += plan->buffer[i].bytes;
      }
      cr_assert_eq(bytes_at(buffers, j), sum, "seed %llu, step %d", (unsigned long long)seed, j);
      pairs += plan->command[j].n_pairs;
    }
    cr_assert_leq(buffers->n, plan->n_buffers);
    cr_assert_geq(buffers->n, plan->n_buffers - pairs);
    joined += plan->n_buffers - buffers->n;
    for (int32_t i = 0; i < buffers->n; i++) cr_assert_eq(buffers->box[i].fixed, -1);
    plim_buffer_list_free(buffers);
    plim_plan_free(plan);
    planner_case_free(&c);
  }
  cr_assert_gt(joined, 10, "%d", joined);
}

/* Two ops; names have a blank and commas. */
static plim_graph *make_named(plim_context *ctx) {
  plim_graph_builder *b = NULL;
  plim_graph *graph = NULL;
  plim_shape shape = {.dtype = PLIM_U8, .rank = 1, .dim = {1000}};
  int32_t first, second, op;
  cr_assert_eq(plim_graph_begin(ctx, "named", 1, &b), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "left part", PLIM_ROLE_ACTIVATION, &shape, &first), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "x,y,z", PLIM_ROLE_OUTPUT, &shape, &second), PLIM_OK);
  plim_op_spec makes = {.name = "makes", .kind = PLIM_OP_CUSTOM, .n_out = 1, .out = {first}, .time_ns = 1};
  plim_op_spec reads = {
      .name = "reads", .kind = PLIM_OP_CUSTOM, .n_in = 1, .in = {first}, .n_out = 1, .out = {second}, .time_ns = 1};
  cr_assert_eq(plim_graph_add_op(b, &makes, &op), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_graph_add_op(b, &reads, &op), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_graph_end(b, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

Test(plan_buffers, names_lose_only_what_no_field_of_a_row_can_hold) {
  plim_context *ctx = plim_test_context();
  plim_plan_options options = plim_plan_options_default();
  planner_case c = planner_case_make(ctx, make_named(ctx), NULL, &options);
  plim_plan *plan = NULL;
  plim_buffer_list *buffers = NULL;
  cr_assert_eq(plim_plan_keep_all(c.ctx, c.graph, c.profile, &options, &plan), PLIM_OK);
  cr_assert_eq(plim_buffer_list_of_plan(c.ctx, c.graph, plan, &buffers), PLIM_OK, "%s", plim_context_error(c.ctx));
  cr_assert_eq(buffers->n, 2);
  const int second = strcmp(buffers->id[0], "left part@0") == 0;
  cr_assert_str_eq(buffers->id[!second], "left part@0");
  cr_assert_str_eq(buffers->id[second], "x_y_z@1");
  plim_buffer_list_free(buffers);
  plim_plan_free(plan);
  planner_case_free(&c);
}

typedef struct small_case {
  plim_graph *graph;
  plim_plan *plan;
} small_case;

static plim_status collect(plim_context *ctx, void *user) {
  const small_case *c = user;
  plim_buffer_list *buffers;
  PLIM_TRY(plim_buffer_list_of_plan(ctx, c->graph, c->plan, &buffers));
  plim_buffer_list_free(buffers);
  return PLIM_OK;
}

Test(plan_buffers, a_refused_allocation_leaves_nothing_after_and_another_graph_is_refused) {
  planner_case c = planner_case_random(test_seed(2), 6), other = planner_case_random(test_seed(2) + 2, 8);
  plim_plan_options options = plim_plan_options_default();
  small_case small = {c.graph, NULL};
  plim_buffer_list *buffers = NULL;
  cr_assert_eq(plim_plan_keep_all(c.ctx, c.graph, c.profile, &options, &small.plan), PLIM_OK);
  cr_assert_geq(plim_test_each_allocation(collect, &small), 8);
  cr_assert_eq(plim_buffer_list_of_plan(c.ctx, other.graph, small.plan, &buffers), PLIM_EDATA);
  cr_assert_null(buffers);
  plim_plan_free(small.plan);
  planner_case_free(&c);
  planner_case_free(&other);
}
