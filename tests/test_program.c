/* What a program finds by itself: the largest batch within a budget, room for an arena that moves nothing. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/program/program.h"
#include "tests/support/device_under_test.h"
#include "tests/support/test_context.h"

enum { ASKED = 64 };
static plim_context *ctx;
static plim_device *device;
static int32_t nets, most_images;

static plim_status make_net(void *user, int32_t batch, plim_net **out) {
  plim_net_options options = plim_net_options_default();
  (void)user;
  nets++;
  if (batch > most_images) return plim_fail(ctx, PLIM_EUSAGE, "too many images");
  options.batch = batch;
  options.height = options.width = 16;
  return plim_model_make(ctx, "resnet20", &options, out);
}

static plim_program *program_of(int32_t batch) {
  plim_net *net = NULL;
  plim_program *program = NULL;
  cr_assert_eq(make_net(NULL, batch, &net), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_program_begin(device, net, NULL, &program), PLIM_OK);
  plim_net_free(net);
  return program;
}

static int has_plan(int32_t batch, const plim_plan_options *planning) {
  plim_program *program = program_of(batch);
  int yes;
  cr_assert_eq(plim_program_fits(program, planning, &yes), PLIM_OK);
  plim_program_free(program);
  return yes;
}

static plim_plan_options planning;
static plim_batch_search search;

static void setup(void) {
  plim_plan_floor floor;
  int32_t step;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  device = plim_test_device(ctx, 1);
  most_images = INT32_MAX;
  planning = plim_plan_options_default();
  planning.iterations = 2000;
  plim_program *program = program_of(ASKED);
  cr_assert_eq(plim_program_floor(program, &planning, &floor, &step), PLIM_OK);
  search = (plim_batch_search){.make = make_net,
                               .failing = ASKED,
                               .failing_bytes = floor.smallest_bytes,
                               .fixed_bytes = plim_graph_persistent_bytes(program->graph[PLIM_PROGRAM_TRAIN])};
  plim_program_free(program);
  nets = 0;
}

static void teardown(void) {
  plim_device_close(device);
  plim_context_free(ctx);
}
TestSuite(program, .init = setup, .fini = teardown);

static int32_t largest(int64_t budget) {
  int32_t batch = -1;
  planning.budget_bytes = budget;
  cr_assert_eq(plim_program_largest_batch(device, &search, &planning, &batch), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_leq(nets, PLIM_BATCH_GUESSES);
  return batch;
}

Test(program, the_largest_batch_has_a_plan_and_a_batch_half_as_large_again_has_none) {
  int32_t batch = largest((search.failing_bytes + search.fixed_bytes) / 2);
  cr_assert(batch > ASKED / 4 && batch < ASKED, "%d", (int)batch);
  cr_assert(has_plan(batch, &planning));
  cr_assert_not(has_plan(batch + batch / 2, &planning));
}

Test(program, the_largest_batch_is_none_where_even_the_parameters_do_not_fit) {
  cr_assert_eq(largest(search.fixed_bytes / 2), 0);
}

Test(program, the_largest_batch_is_none_where_no_net_can_be_built) {
  most_images = 0;
  cr_assert_eq(largest(search.failing_bytes / 2), 0);
  cr_assert_gt(nets, 0);
}

Test(program, an_arena_that_moves_nothing_gets_room_within_the_budget) {
  plim_replay_counts counts;
  int64_t room = -1;
  plim_program *program = program_of(ASKED);
  planning.budget_bytes = search.failing_bytes + search.failing_bytes / 8;
  cr_assert_eq(plim_program_plan(program, &planning), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_program_replay(program, &planning, &counts, &room), PLIM_OK, "%s", plim_context_error(ctx));
  const plim_plan *plan = program->plan[PLIM_PROGRAM_TRAIN];
  cr_assert_leq(plan->arena_bytes, planning.budget_bytes);
  cr_assert_leq(plan->budget_bytes, planning.budget_bytes);
  cr_assert(room >= 0 && room <= planning.budget_bytes / 4, "%lld", (long long)room);
  plim_program_free(program);
}

Test(program, an_arena_without_a_budget_has_at_most_a_quarter_of_room) {
  plim_replay_counts counts;
  int64_t room = -1;
  plim_program *program = program_of(ASKED);
  planning.planner = "keep-all";
  cr_assert_eq(plim_program_plan(program, &planning), PLIM_OK);
  int64_t planned = program->plan[PLIM_PROGRAM_TRAIN]->arena_bytes;
  cr_assert_eq(plim_program_replay(program, NULL, &counts, &room), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_leq(program->plan[PLIM_PROGRAM_TRAIN]->arena_bytes, planned + room);
  cr_assert(room >= 0 && room <= planned / 4, "%lld", (long long)room);
  plim_program_free(program);
}

Test(program, an_arena_is_refused_with_the_bytes_that_it_takes_where_the_plan_has_to_stay) {
  plim_replay_counts counts;
  int64_t room = -1;
  plim_program *program = program_of(ASKED);
  planning.budget_bytes = search.failing_bytes;
  cr_assert_eq(plim_program_plan(program, &planning), PLIM_OK, "%s", plim_context_error(ctx));
  plim_status status = plim_program_replay(program, NULL, &counts, &room);
  cr_assert(status == PLIM_ENOFIT, "a plan without room to spare was replayed");
  cr_assert_neq(strstr(plim_context_error(ctx), "finds no room for the plan"), NULL);
  cr_assert_eq(room, -1);
  plim_program_free(program);
}
