/* What a program finds by itself: the largest batch within a budget, room for an arena that moves nothing. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/program/paging_links.h"
#include "runtime/program/program_source.h"
#include "tests/support/device_under_test.h"
#include "tests/support/fake_device.h"
#include "tests/support/test_context.h"

enum { ASKED = 64 };
static plim_context *ctx;
static plim_device *device;
static int32_t nets, most_images;
static const char *model = "resnet20";

static plim_program_source source;

static plim_status make_net(void *user, const plim_net_options *net, plim_net **out) {
  (void)user;
  nets++;
  if (net->batch > most_images) return plim_fail(ctx, PLIM_EUSAGE, "too many images");
  return plim_model_make(ctx, model, net, out);
}

static plim_program *program_of(int32_t batch) {
  plim_program_source other = source;
  plim_program *program = NULL;
  other.net.batch = batch;
  cr_assert_eq(plim_program_make(device, &other, &program), PLIM_OK, "%s", plim_context_error(ctx));
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
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  device = plim_test_device(ctx, 1);
  most_images = INT32_MAX;
  planning = plim_plan_options_default();
  planning.iterations = 2000;
  source = plim_program_source_default();
  source.make = make_net;
  source.net.batch = ASKED;
  source.net.height = source.net.width = 16;
}

static void teardown(void) {
  plim_device_close(device);
  plim_context_free(ctx);
}
TestSuite(program, .init = setup, .fini = teardown);

/* Fill in `search`, which takes a search for the fewest bytes. */
static void find_smallest(void) {
  plim_plan_floor floor;
  int32_t step;
  plim_program *program = program_of(ASKED);
  cr_assert_eq(plim_program_floor(program, &planning, &floor, &step), PLIM_OK);
  search = (plim_batch_search){.source = &source,
                               .failing_bytes = floor.smallest_bytes,
                               .fixed_bytes = plim_graph_persistent_bytes(program->graph[PLIM_PROGRAM_TRAIN])};
  plim_program_free(program);
  nets = 0;
}

static int32_t largest(int64_t budget) {
  int32_t batch = -1;
  planning.budget_bytes = budget;
  cr_assert_eq(plim_program_largest_batch(device, &search, &planning, &batch), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_leq(nets, PLIM_BATCH_GUESSES);
  return batch;
}

Test(program, the_largest_batch_has_a_plan_and_a_batch_half_as_large_again_has_none) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  find_smallest();
  int32_t batch = largest((search.failing_bytes + search.fixed_bytes) / 2);
  cr_assert(batch > ASKED / 4 && batch < ASKED, "%d", (int)batch);
  cr_assert(has_plan(batch, &planning));
  cr_assert_not(has_plan(batch + batch / 2, &planning));
}

Test(program, the_largest_batch_is_none_where_even_the_parameters_do_not_fit) {
  find_smallest();
  cr_assert_eq(largest(search.fixed_bytes / 2), 0);
}

Test(program, the_largest_batch_is_none_where_no_net_can_be_built) {
  find_smallest();
  most_images = 0;
  cr_assert_eq(largest(search.failing_bytes / 2), 0);
  cr_assert_gt(nets, 0);
}

Test(program, options_that_make_no_sense_are_no_batch_that_does_not_fit) {
  find_smallest();
  int32_t batch = -1;
  planning.budget_bytes = search.failing_bytes / 2;
  planning.planner = "no such planner";
  cr_assert_eq(plim_program_largest_batch(device, &search, &planning, &batch), PLIM_EUSAGE);
  cr_assert_eq(batch, -1);
}

/* An image then takes no bytes, by the line through the batch that fails. */
Test(program, the_largest_batch_is_searched_also_where_all_bytes_are_fixed) {
  find_smallest();
  const int64_t fixed[] = {search.failing_bytes, search.failing_bytes + 1};
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
    search.fixed_bytes = fixed[i];
    nets = 0;
    const int32_t batch = largest(fixed[i] + PLIM_ALIGN);
    cr_assert(batch > 0 && batch < ASKED, "%d", (int)batch);
  }
}

Test(program, an_arena_that_moves_nothing_gets_room_within_the_budget) {
  find_smallest();
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
  find_smallest();
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

/* Some per cent above the smallest budget there are smaller plans, and the arena finds no room for them either. */
Test(program, plans_stay_where_the_arena_finds_no_room_for_smaller_ones_either) {
  find_smallest();
  plim_replay_counts counts;
  int64_t room = -1;
  int refused = 0;
  planning.iterations = 200;
  for (int percent = 3; percent <= 4; percent++) {
    plim_program *program = program_of(ASKED);
    planning.budget_bytes = search.failing_bytes / 100 * (100 + percent);
    cr_assert_eq(plim_program_plan(program, &planning), PLIM_OK, "%s", plim_context_error(ctx));
    const plim_plan *train = program->plan[PLIM_PROGRAM_TRAIN], *eval = program->plan[PLIM_PROGRAM_EVAL];
    if (plim_program_replay(program, &planning, &counts, &room) == PLIM_ENOFIT) {
      refused++;
      cr_expect_eq(program->plan[PLIM_PROGRAM_TRAIN], train, "%d %%", percent);
      cr_expect_eq(program->plan[PLIM_PROGRAM_EVAL], eval, "%d %%", percent);
    }
    plim_program_free(program);
  }
  cr_assert_gt(refused, 0, "the test has no case");
}

/* ---- the layout ---- */

static fake_device fake;
static int64_t cost_of[PLIM_LAYOUT_COUNT]; /* of an op of a net in that layout, by the fake device's clock */

static plim_status make_net_of_cost(void *user, const plim_net_options *net, plim_net **out) {
  (void)user;
  fake.n_costs = 1;
  fake.cost_ns[0][0] = fake.cost_ns[1][0] = cost_of[net->layout];
  return plim_model_make(ctx, "resnet20", net, out);
}

static plim_layout chosen(int builds, int64_t nhwc_ns, int64_t flat_ns) {
  static const plim_layout layout[] = {PLIM_NHWC, PLIM_FLAT};
  plim_profiler_options profiler = plim_profiler_options_default();
  plim_program_source measured = plim_program_source_default();
  plim_program *program = NULL;
  fake_device_make(&fake, ctx, "fake");
  fake.device.builds = builds;
  cost_of[PLIM_NHWC] = nhwc_ns;
  cost_of[PLIM_FLAT] = flat_ns;
  profiler.cache_dir = "";
  measured.make = make_net_of_cost;
  measured.net.batch = 2;
  measured.net.height = measured.net.width = 8;
  measured.profiler = &profiler;
  cr_assert_eq(plim_program_choose_layout(&fake.device, &measured, 2, layout, &program), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_assert_gt(fake.runs, 0);
  /* the program is that of the layout which the source says now */
  const plim_graph *graph = program->graph[PLIM_PROGRAM_TRAIN];
  plim_program *same = NULL;
  cr_assert_eq(plim_program_make(&fake.device, &measured, &same), PLIM_OK);
  cr_assert_str_eq(same->graph[PLIM_PROGRAM_TRAIN]->fingerprint, graph->fingerprint);
  cr_assert_eq(program->profile[PLIM_PROGRAM_TRAIN]->variant[0].time_ns, cost_of[measured.net.layout]);
  plim_program_free(same);
  plim_program_free(program);
  return measured.net.layout;
}

Test(program, the_faster_layout_is_chosen_and_the_first_of_two_that_differ_by_less_than_3_percent) {
  for (int builds = 0; builds < 2; builds++) {
    cr_expect_eq(chosen(builds, 100000, 90000), PLIM_FLAT, "%d", builds);
    cr_expect_eq(chosen(builds, 90000, 100000), PLIM_NHWC, "%d", builds);
    cr_expect_eq(chosen(builds, 100000, 98000), PLIM_NHWC, "%d", builds);
    cr_expect_eq(chosen(builds, 100000, 96000), PLIM_FLAT, "%d", builds);
  }
}

/* In NHWC a batch that no plan fits. */
static plim_status make_larger_net_in_nhwc(void *user, const plim_net_options *net, plim_net **out) {
  plim_net_options larger = *net;
  if (net->layout == PLIM_NHWC) larger.batch = ASKED;
  return make_net_of_cost(user, &larger, out);
}

static int64_t bound_of(plim_layout layout) {
  plim_program_source modelled = source;
  plim_program *program = NULL;
  plim_plan_floor floor;
  modelled.net.batch = 2;
  modelled.net.height = modelled.net.width = 8;
  modelled.net.layout = layout;
  cr_assert_eq(plim_program_make(device, &modelled, &program), PLIM_OK);
  cr_assert_eq(
      plim_plan_bound(ctx, program->graph[PLIM_PROGRAM_TRAIN], program->profile[PLIM_PROGRAM_TRAIN], &planning, &floor),
      PLIM_OK);
  plim_program_free(program);
  return floor.bound_bytes;
}

/* The times of such a layout are modelled, and less than the measured ones of the other. */
Test(program, a_layout_in_which_no_plan_fits_the_budget_is_not_chosen_before_one_in_which_a_plan_may) {
  static const plim_layout orders[2][2] = {{PLIM_NHWC, PLIM_FLAT}, {PLIM_FLAT, PLIM_NHWC}};
  plim_profiler_options profiler = plim_profiler_options_default();
  profiler.cache_dir = "";
  for (int i = 0; i < 2; i++) {
    plim_program_source asked = plim_program_source_default();
    plim_program *program = NULL;
    fake_device_make(&fake, ctx, "fake");
    cost_of[PLIM_FLAT] = INT64_C(1000000000);
    asked.make = make_larger_net_in_nhwc;
    asked.net.batch = 2;
    asked.net.height = asked.net.width = 8;
    asked.profiler = &profiler;
    asked.budget = (plim_size){.bytes = bound_of(PLIM_FLAT)};
    cr_assert_eq(plim_program_choose_layout(&fake.device, &asked, 2, orders[i], &program), PLIM_OK, "%s",
                 plim_context_error(ctx));
    cr_expect_eq(asked.net.layout, PLIM_FLAT, "order %d", i);
    cr_expect(program->profile[PLIM_PROGRAM_TRAIN]->measured, "order %d", i);
    plim_program_free(program);
  }
}

static int measured_within(int64_t budget, int pages) {
  plim_profiler_options profiler = plim_profiler_options_default();
  plim_program_source asked = plim_program_source_default();
  plim_program *program = NULL;
  fake_device_make(&fake, ctx, "fake");
  profiler.cache_dir = "";
  asked.make = make_net_of_cost;
  asked.net.batch = 2;
  asked.net.height = asked.net.width = 8;
  asked.profiler = &profiler;
  asked.budget = (plim_size){.bytes = budget};
  asked.pages = pages;
  cr_assert_eq(plim_program_make(&fake.device, &asked, &program), PLIM_OK, "%s", plim_context_error(ctx));
  const int measured = program->profile[PLIM_PROGRAM_TRAIN]->measured;
  cr_expect_eq(measured, fake.runs > 0);
  plim_program_free(program);
  return measured;
}

Test(program, nothing_is_measured_for_a_budget_that_is_proven_to_be_too_small) {
  plim_program_source modelled = source;
  plim_program *program = NULL;
  plim_plan_floor floor;
  cost_of[PLIM_NHWC] = 1000;
  modelled.net.batch = 2;
  modelled.net.height = modelled.net.width = 8;
  cr_assert_eq(plim_program_make(device, &modelled, &program), PLIM_OK);
  const plim_graph *graph = program->graph[PLIM_PROGRAM_TRAIN];
  cr_assert_eq(plim_plan_bound(ctx, graph, program->profile[PLIM_PROGRAM_TRAIN], &planning, &floor), PLIM_OK);
  const int64_t persistent = plim_graph_persistent_bytes(graph);
  plim_program_free(program);
  cr_expect(measured_within(floor.bound_bytes, 0));
  cr_expect_not(measured_within(floor.bound_bytes - 1, 0));
  cr_expect(measured_within(floor.bound_bytes - 1, 1), "what persists may be at home elsewhere");
  cr_expect_not(measured_within(floor.bound_bytes - persistent - 1, 1), "what one op needs is not");
}

Test(program, a_source_that_was_not_filled_and_no_layout_to_choose_from_are_refused) {
  plim_program *program = NULL;
  cr_assert_eq(plim_program_choose_layout(device, &source, 0, &source.net.layout, &program), PLIM_EUSAGE);
  source.struct_bytes = 0;
  cr_assert_eq(plim_program_make(device, &source, &program), PLIM_EUSAGE);
  cr_assert_eq(plim_program_choose_layout(device, &source, 0, NULL, &program), PLIM_EUSAGE);
  cr_assert_null(program);
}

Test(program, a_last_batch_that_cannot_be_profiled_leaves_the_program_without_one) {
  plim_program *program = program_of(ASKED);
  plim_net_options last = source.net;
  plim_profiler_options refused = plim_profiler_options_default();
  plim_net *net = NULL;
  refused.repeats = -1;
  last.batch = 8;
  last.staging_batch = ASKED;
  cr_assert_eq(plim_model_make(ctx, model, &last, &net), PLIM_OK);
  cr_assert_eq(plim_program_add_last(program, device, net, &refused), PLIM_EUSAGE);
  cr_assert_null(program->graph[PLIM_PROGRAM_LAST]);
  cr_assert_eq(program->n_graphs, PLIM_PROGRAM_LAST);
  cr_assert_eq(plim_program_add_last(program, device, net, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_not_null(program->profile[PLIM_PROGRAM_LAST]);
  plim_net_free(net);
  plim_program_free(program);
}

Test(program, the_last_batch_has_a_step_of_its_own_with_the_same_persistent_storages) {
  plim_program *program = program_of(ASKED);
  cr_assert_eq(plim_program_make_last(program, device, &source, ASKED / 4 + 1), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(program->n_graphs, 3);
  cr_assert_eq(program->graph[PLIM_PROGRAM_LAST]->batch, ASKED / 4 + 1);
  cr_assert_eq(plim_graph_persistent_bytes(program->graph[PLIM_PROGRAM_LAST]),
               plim_graph_persistent_bytes(program->graph[PLIM_PROGRAM_TRAIN]));
  plim_program_free(program);
}

Test(program, a_plan_that_pages_is_planned_again_with_its_spaces_and_links_that_are_measured) {
  const plim_link_place place = {.page_file = "no/such/folder/p", .cache_dir = ""};
  const plim_plan_space host = {.name = "host", .budget_bytes = 1 << 20}, disk = {.name = "disk"};
  plim_plan plan = {.n_page_spaces = 0};
  plim_paging paging = {.struct_bytes = sizeof paging, .recompute = 7};
  cr_assert_eq(plim_paging_of_plan(device, &place, &plan, &paging), PLIM_OK);
  cr_expect_eq(paging.recompute, 7, "without spaces nothing is set");
  plan.n_page_spaces = 1;
  plan.page = &disk;
  cr_assert_neq(plim_paging_of_plan(device, &place, &plan, &paging), PLIM_OK, "there is no folder for the page file");
  cr_expect_eq(paging.recompute, 7, "untouched on failure");
  plan.page = &host;
  cr_assert_eq(plim_paging_of_plan(device, &place, &plan, &paging), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_str_eq(paging.space, "host");
  cr_expect_eq(paging.budget_bytes, 1 << 20);
  cr_expect_eq(paging.recompute, 1);
  cr_expect_eq(paging.n_devices, 0);
  for (int in = 0; in < PLIM_LINK_DIRECTIONS; in++) cr_expect_gt(paging.bytes_per_ns[in], 0);
}

static plim_status no_pinned(plim_device *d, int64_t bytes, void **out) {
  (void)d, (void)bytes, (void)out;
  return PLIM_ENOMEM;
}

static plim_plan_floor floor_of(const plim_program *program, const plim_plan_options *wanted) {
  plim_plan_floor floor;
  int32_t part;
  cr_assert_eq(plim_program_floor(program, wanted, &floor, &part), PLIM_OK, "%s", plim_context_error(ctx));
  return floor;
}

Test(program, the_smallest_budget_of_a_network_has_a_plan) {
  plim_program *program = program_of(8);
  planning.budget_bytes = floor_of(program, &planning).smallest_bytes;
  cr_assert_eq(plim_program_plan(program, &planning), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_leq(plim_program_arena_bytes(program), planning.budget_bytes);
  plim_program_free(program);
}

Test(program, with_pages_the_smallest_budget_is_no_larger) {
  const plim_link_place place = {.modelled = 1};
  plim_paging paging = plim_paging_default();
  model = "mlp";
  plim_program *program = program_of(8);
  int64_t without = floor_of(program, &planning).smallest_bytes;
  cr_assert_eq(plim_paging_add_space(device, &place, "host", 1 << 10, &paging), PLIM_OK);
  planning.paging = &paging;
  cr_expect_leq(floor_of(program, &planning).smallest_bytes, without);
  plim_program_free(program);
}

/* The sum of an image and of its relu is the largest op. It may be written over either, and needs both. */
static plim_status make_sum(void *user, const plim_net_options *options, plim_net **out) {
  (void)user;
  PLIM_TRY(plim_net_begin(ctx, "sum", options, out));
  plim_net *net = *out;
  const plim_tensor image = plim_net_image(net);
  const plim_tensor sum = plim_net_add(net, "sum", image, plim_net_relu(net, "relu", image));
  plim_net_softmax_xent(net, plim_net_linear(net, "fc", plim_net_global_avg_pool(net, "pool", sum), 10));
  return PLIM_OK;
}

Test(program, an_output_that_may_lie_over_either_input_leaves_the_bytes_of_both) {
  const plim_link_place place = {.modelled = 1};
  plim_paging paging = plim_paging_default();
  source.make = make_sum;
  plim_program *program = program_of(8);
  cr_assert_eq(plim_paging_add_space(device, &place, "host", 1 << 20, &paging), PLIM_OK);
  planning.paging = &paging;
  const int64_t image = INT64_C(8) * 3 * 16 * 16 * (int64_t)sizeof(float);
  cr_expect_geq(floor_of(program, &planning).bound_bytes, 2 * image);
  plim_program_free(program);
}

Test(program, copies_of_a_modelled_gpu_take_nothing_from_the_ops_beside_them) {
  const plim_link_place place = {.cache_dir = "", .modelled = 1};
  plim_device_api api = *device->api;
  plim_device gpu = *device;
  plim_paging cpu_link = plim_paging_default(), gpu_link = plim_paging_default();
  gpu.api = &api;
  api.memory.alloc_pinned = no_pinned; /* what tells a GPU; nothing is measured, so nothing is allocated */
  cr_assert_eq(plim_paging_add_space(device, &place, "host", 1 << 20, &cpu_link), PLIM_OK);
  cr_assert_eq(plim_paging_add_space(&gpu, &place, "host", 1 << 20, &gpu_link), PLIM_OK);
  cr_expect_gt(cpu_link.delay_share, 0, "a copy of a processor takes its time");
  cr_expect_eq(gpu_link.delay_share, 0);
}
