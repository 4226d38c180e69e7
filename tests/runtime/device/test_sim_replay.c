/* runtime/device/sim_replay.c: a plan over spaces takes on the queues of the sim device what the simulator predicts, to
 * the nanosecond and the byte. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "planner/spaces/problem/space_problem.h"
#include "runtime/base/array.h"
#include "runtime/device/device_sim.h"
#include "tests/support/space_cases.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

static plim_device *open_sim(plim_context *ctx) {
  plim_device_options options = plim_device_options_default();
  plim_device *sim = NULL;
  cr_assert_eq(plim_device_open(ctx, "sim", &options, &sim), PLIM_OK, "%s", plim_context_error(ctx));
  return sim;
}

static void expect_replay(plim_context *ctx, const plim_space_plan *p, const char *name) {
  plim_device *sim = open_sim(ctx);
  plim_space_figures f = {.makespan_ns = -1};
  cr_assert_eq(plim_allocate(ctx, p->n_commands, sizeof *f.begin_ns, &f.begin_ns), PLIM_OK);
  cr_assert_eq(plim_allocate(ctx, p->n_commands, sizeof *f.end_ns, &f.end_ns), PLIM_OK);
  cr_assert_eq(plim_allocate(ctx, p->n_spaces, sizeof *f.peak_bytes, &f.peak_bytes), PLIM_OK);
  cr_assert_eq(plim_sim_replay(sim, p, &f), PLIM_OK, "%s", plim_context_error(ctx));
  for (int32_t c = 0; c < p->n_commands; c++) {
    cr_expect_eq(f.begin_ns[c], p->command[c].begin_ns, "%s: command %d", name, c);
    cr_expect_eq(f.end_ns[c], p->command[c].end_ns, "%s: command %d", name, c);
  }
  for (int32_t s = 0; s < p->n_spaces; s++) cr_expect_eq(f.peak_bytes[s], p->space[s].peak_bytes, "%s", name);
  cr_expect_eq(f.makespan_ns, p->makespan_ns, "%s", name);
  cr_expect_eq(f.serial_ns, p->serial_ns, "%s", name);
  cr_expect_eq(f.energy_joule, p->energy_joule, "%s", name);
  /* a second step begins where the first ended and takes as long */
  cr_assert_eq(plim_sim_replay(sim, p, &f), PLIM_OK);
  cr_expect_eq(f.makespan_ns, p->makespan_ns, "%s, a second step", name);
  plim_release(ctx, f.begin_ns, p->n_commands, sizeof *f.begin_ns);
  plim_release(ctx, f.end_ns, p->n_commands, sizeof *f.end_ns);
  plim_release(ctx, f.peak_bytes, p->n_spaces, sizeof *f.peak_bytes);
  plim_device_close(sim);
}

/* 1: there was a plan, and it replays. */
static int plan_and_replay(plim_context *ctx, const plim_graph *graph, const plim_platform *platform,
                           const int64_t *budget, plim_objective objective, const char *name) {
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  options.objective = (int32_t)objective;
  options.budget = budget;
  options.iterations = 20;
  plim_status status = plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  if (plan) expect_replay(ctx, plan, name);
  plim_space_plan_free(plan);
  return status == PLIM_OK;
}

Test(sim_replay, plans_of_published_instances_take_what_is_predicted) {
  static const char *const platforms[] = {"m0", "m4", "a72", "a72nocache"};
  static const int64_t linear[] = {7416, 5000, 3600, 3256}, transformer[] = {35651584, 33030144};
  plim_context *ctx = plim_test_context();
  int plans = 0;
  for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
    plim_platform *platform = NULL;
    plim_graph *graph[] = {space_linear(ctx), space_transformer(ctx)};
    cr_assert_eq(plim_platform_built_in(ctx, platforms[i], &platform), PLIM_OK);
    for (int32_t o = 0; o < PLIM_OBJECTIVE_COUNT; o++) {
      for (int b = 0; b < 6; b++) {
        const int64_t budget[] = {b < 4 ? linear[b] : transformer[b - 4], INT64_MAX};
        plans += plan_and_replay(ctx, graph[b >= 4], platform, budget, (plim_objective)o, platforms[i]);
      }
    }
    plim_platform_free(platform);
    plim_graph_free(graph[0]);
    plim_graph_free(graph[1]);
  }
  cr_expect_eq(plans, 72);
  for (const space_optimum *golden = space_optima; golden->name; golden++) {
    plim_graph *graph = space_case_graph(ctx, space_case_named(golden->name));
    plim_platform *platform = NULL;
    cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
    for (int32_t o = 0; o < PLIM_OBJECTIVE_ENERGY; o++) {
      int made = plan_and_replay(ctx, graph, platform, golden->budget, (plim_objective)o, golden->name);
      cr_expect_eq(made, golden->serial >= 0, "%s", golden->name);
    }
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  plim_test_context_end(ctx);
}

Test(sim_replay, plans_of_random_instances_take_what_is_predicted) {
  plim_context *ctx = plim_test_context();
  int plans = 0;
  for (uint64_t seed = test_seed(0), end = seed + 150; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    char name[32];
    space_case c;
    plim_platform *platform = NULL;
    space_case_random(&random, (int32_t)test_random_between(&random, 3, SPACE_OPS), &c);
    plim_graph *graph = space_case_graph(ctx, &c);
    int64_t whole = plim_space_keep_all_bytes(graph);
    const int64_t budget[] = {whole * test_random_between(&random, 50, 100) / 100, whole};
    cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
    (void)snprintf(name, sizeof name, "seed %d", (int)seed);
    plans += plan_and_replay(ctx, graph, platform, budget, PLIM_OBJECTIVE_TIME, name);
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  cr_expect_gt(plans, 100);
  plim_test_context_end(ctx);
}

Test(sim_replay, a_wait_moves_a_queue_and_an_injected_failure_ends_the_replay) {
  plim_context *ctx = plim_test_context();
  plim_device *sim = open_sim(ctx);
  plim_sim_take(sim, 30);
  cr_assert_eq(sim->api->kernels.run(sim, 0, NULL, NULL), PLIM_OK);
  cr_assert_eq(sim->api->queues.mark(sim, 0, 5), PLIM_OK);
  cr_assert_eq(sim->api->queues.wait(sim, 2, 9), PLIM_OK); /* never marked */
  cr_expect_eq(plim_sim_queue_ns(sim, 2), 0);
  cr_assert_eq(sim->api->queues.wait(sim, 2, 5), PLIM_OK);
  cr_expect_eq(plim_sim_queue_ns(sim, 2), 30);
  plim_sim_take(sim, 12);
  cr_assert_eq(sim->api->queues.copy(sim, 2, NULL, NULL, 0), PLIM_OK);
  cr_assert_eq(sim->api->kernels.run(sim, 2, NULL, NULL), PLIM_OK); /* takes nothing */
  cr_expect_eq(plim_sim_queue_ns(sim, 2), 42);
  cr_expect_eq(sim->api->queues.clock(sim), 42);
  cr_assert_eq(sim->api->queues.sync(sim), PLIM_OK);
  cr_expect_eq(plim_sim_queue_ns(sim, 0), 42);
  plim_sim_fail_after(sim, 0);
  plim_sim_take(sim, 1);
  cr_expect_eq(sim->api->kernels.run(sim, 0, NULL, NULL), PLIM_EDEVICE);
  cr_expect_eq(plim_sim_queue_ns(sim, 0), 42);
  plim_device_close(sim);
  plim_test_context_end(ctx);
}
