/* runtime/simulate/simulation: the results are those of the arena, of memory without addresses and of the planner; a
 * budget that does not do is a result. */
#include "runtime/simulate/simulation.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/graph/check/check.h"
#include "tests/support/failing_memory.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_log.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

enum { LAYERS = 6 };

/* The first log from a seed on whose largest op needs no more than a third of what keep-all does. */
static plim_graph *log_graph(plim_context *ctx) {
  for (uint64_t seed = test_seed(1);; seed++) {
    plim_graph *graph = random_log_graph(ctx, RANDOM_LOG_RESIDUAL, 4, seed);
    plim_plan_options options = plim_plan_options_default();
    plim_profile *profile = NULL;
    plim_plan *keep_all = NULL;
    plim_plan_floor floor;
    cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
    cr_assert_eq(plim_plan_bound(ctx, graph, profile, &options, &floor), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &keep_all), PLIM_OK, "%s", plim_context_error(ctx));
    const int is_roomy = floor.bound_bytes <= keep_all->peak_bytes / 3;
    plim_plan_free(keep_all);
    plim_profile_free(profile);
    (void)test_seed_at(seed);
    if (is_roomy) return graph;
    plim_graph_free(graph);
  }
}

static plim_simulation opened(plim_context *ctx, const plim_graph *graph, double thrash) {
  plim_simulation sim;
  cr_assert_eq(plim_simulation_open(ctx, graph, thrash, &sim), PLIM_OK, "%s", plim_context_error(ctx));
  return sim;
}

static int64_t share(const plim_simulation *sim, const char *memory, plim_simulation_addresses addresses) {
  int64_t bytes = 0;
  cr_assert_eq(plim_simulation_budget(sim, memory, addresses, &bytes), PLIM_OK, "%s", plim_context_error(sim->ctx));
  return bytes;
}

static plim_simulated simulated(const plim_simulation *sim, const plim_simulate_options *options) {
  plim_simulated r = {.plan = NULL};
  cr_assert_eq(plim_simulate(sim, options, &r), PLIM_OK, "%s", plim_context_error(sim->ctx));
  return r;
}

static plim_simulate_options within(const char *policy, plim_simulation_addresses addresses, int64_t bytes) {
  plim_simulate_options options = plim_simulate_options_default();
  options.policy = policy ? plim_policy_find(policy) : NULL;
  options.addresses = addresses;
  options.budget_bytes = bytes;
  options.planning.iterations = 2000;
  return options;
}

Test(simulation, a_policy_with_addresses_is_the_arena_s_own_run) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = log_graph(ctx);
  plim_simulation sim = opened(ctx, graph, 4);
  const plim_policy *policy;
  int64_t bytes = share(&sim, "65%", PLIM_SIMULATE_ARENA),
          limit = plim_simulation_limit_ns(&sim, sim.order->keep_all_ns);
  int ended = 0;
  cr_assert_eq(limit, 4 * sim.order->keep_all_ns);
  for (int32_t i = 0; (policy = plim_policy_at(i)); i++) {
    plim_simulate_options options = within(policy->name, PLIM_SIMULATE_ARENA, bytes);
    plim_replay_counts counts = {.thrashed = 0};
    plim_plan *plan = NULL;
    plim_simulated r = simulated(&sim, &options);
    plim_status status =
        plim_arena_online(ctx, graph, sim.order, policy, (plim_replay_limits){bytes, limit}, &counts, &plan);
    cr_assert_eq(r.end == PLIM_ONLINE_OK, status == PLIM_OK, "%s", policy->name);
    cr_assert_eq(r.evictions, counts.evictions, "%s", policy->name);
    if (plan) {
      ended++;
      cr_assert_eq(r.plan->time_ns, plan->time_ns, "%s", policy->name);
      cr_assert_eq(plim_plan_check(ctx, graph, r.plan), PLIM_OK, "%s", plim_context_error(ctx));
      cr_assert_float_eq(r.overhead_percent, 100.0 * (double)counts.recomputed_ns / (double)sim.order->keep_all_ns,
                         1e-9);
    }
    plim_plan_free(plan);
    plim_simulated_free(&r);
    plim_simulated_free(&r);
  }
  cr_assert_gt(ended, 3);
  plim_simulation_close(&sim);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

Test(simulation, a_policy_without_addresses_is_a_run_over_the_handles) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = log_graph(ctx);
  plim_simulation sim = opened(ctx, graph, 1);
  int64_t bytes = share(&sim, "70%", PLIM_SIMULATE_BYTES);
  plim_simulate_options options = within("dtr", PLIM_SIMULATE_BYTES, bytes);
  plim_simulated r = simulated(&sim, &options);
  plim_online_result ideal;
  cr_assert_eq(plim_ideal_run(ctx, graph->handles, options.policy, bytes,
                              plim_simulation_limit_ns(&sim, plim_handles_total_ns(graph->handles)), &ideal),
               PLIM_OK);
  cr_assert_eq(ideal.end, PLIM_ONLINE_OK);
  cr_assert_gt(ideal.evictions, 0);
  cr_assert_eq(r.end, ideal.end);
  cr_assert_eq(r.evictions, ideal.evictions);
  cr_assert_eq(r.recomputes, ideal.recomputes);
  cr_assert_eq(r.scanned, ideal.scores);
  cr_assert_eq(r.arena_bytes, -1);
  cr_assert_null(r.plan);
  plim_simulation_close(&sim);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

Test(simulation, a_plan_whose_addresses_the_arena_decides_is_no_slower_than_any_policy) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = log_graph(ctx);
  plim_simulation sim = opened(ctx, graph, 4);
  int64_t bytes = share(&sim, "65%", PLIM_SIMULATE_ARENA);
  plim_simulate_options options = within(NULL, PLIM_SIMULATE_ARENA, bytes);
  plim_simulated planned = simulated(&sim, &options);
  const plim_policy *policy;
  int ended = 0;
  cr_assert_eq(planned.end, PLIM_ONLINE_OK);
  cr_assert_leq(planned.arena_bytes, bytes);
  cr_assert_eq(plim_plan_check(ctx, graph, planned.plan), PLIM_OK, "%s", plim_context_error(ctx));
  for (int32_t i = 0; (policy = plim_policy_at(i)); i++) {
    options = within(policy->name, PLIM_SIMULATE_ARENA, bytes);
    plim_simulated r = simulated(&sim, &options);
    if (r.end == PLIM_ONLINE_OK) cr_assert_leq(planned.overhead_percent, r.overhead_percent, "%s", policy->name);
    ended += r.end == PLIM_ONLINE_OK;
    plim_simulated_free(&r);
  }
  cr_assert_gt(ended, 3, "%d", ended);
  plim_simulated_free(&planned);
  plim_simulation_close(&sim);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

Test(simulation, all_bytes_recompute_nothing_and_a_graph_of_no_program_has_percentages_of_keep_all) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  cr_assert_eq(random_chain_make(ctx, LAYERS, test_seed(3), &graph), PLIM_OK);
  plim_simulation sim = opened(ctx, graph, 1);
  plim_simulate_options options = plim_simulate_options_default();
  int64_t whole = 0, peak = 0;
  cr_assert_eq(plim_simulation_whole(&sim, PLIM_SIMULATE_PLANNED, &whole), PLIM_OK);
  cr_assert_eq(plim_simulation_whole(&sim, PLIM_SIMULATE_BYTES, &peak), PLIM_OK);
  cr_assert_eq(peak, sim.order->peak_bytes);
  cr_assert_geq(whole, peak);
  cr_assert_str_eq(plim_simulation_whole_name(&sim, PLIM_SIMULATE_PLANNED), "keep-all");
  plim_simulated r = simulated(&sim, &options);
  cr_assert_eq(r.end, PLIM_ONLINE_OK);
  cr_assert_eq(r.budget_bytes, whole);
  cr_assert_eq(r.recomputes, 0);
  cr_assert_eq(r.overhead_percent, 0);
  cr_assert_eq(share(&sim, "40%", PLIM_SIMULATE_BYTES), (peak * 2 + 4) / 5); /* rounded up, as every percentage */
  cr_assert_eq(share(&sim, "40%", PLIM_SIMULATE_PLANNED) % PLIM_ALIGN, 0);
  cr_assert_eq(share(&sim, NULL, PLIM_SIMULATE_PLANNED), whole);
  plim_simulated_free(&r);
  plim_simulation_close(&sim);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

Test(simulation, a_budget_that_does_not_do_is_a_result_and_enough_says_what_would) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = log_graph(ctx);
  plim_simulation sim = opened(ctx, graph, 4);
  plim_simulate_options options = within(NULL, PLIM_SIMULATE_PLANNED, PLIM_ALIGN);
  plim_simulated r = simulated(&sim, &options);
  cr_assert_eq(r.end, PLIM_ONLINE_OOM);
  cr_assert_null(r.plan);
  for (int addresses = PLIM_SIMULATE_BYTES; addresses <= PLIM_SIMULATE_ARENA; addresses++) {
    int64_t enough = 0;
    options = within("lru", (plim_simulation_addresses)addresses, PLIM_ALIGN);
    r = simulated(&sim, &options);
    cr_assert_eq(r.end, PLIM_ONLINE_OOM);
    cr_assert_eq(plim_simulation_enough(&sim, options.policy, options.addresses, PLIM_ALIGN, &enough), PLIM_OK);
    cr_assert_gt(enough, PLIM_ALIGN);
    options.budget_bytes = enough;
    r = simulated(&sim, &options);
    cr_assert_eq(r.end, PLIM_ONLINE_OK);
    plim_simulated_free(&r);
  }
  plim_simulation_close(&sim);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

Test(simulation, recomputing_beyond_the_limit_is_thrash) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = log_graph(ctx);
  plim_simulation sim = opened(ctx, graph, 0);
  plim_simulate_options options = within(NULL, PLIM_SIMULATE_PLANNED, share(&sim, "50%", PLIM_SIMULATE_PLANNED));
  plim_simulated r = simulated(&sim, &options);
  cr_assert_eq(r.end, PLIM_ONLINE_THRASH);
  cr_assert_gt(r.overhead_percent, 0);
  plim_simulated_free(&r);
  options = within("dtr", PLIM_SIMULATE_ARENA, share(&sim, "50%", PLIM_SIMULATE_ARENA));
  r = simulated(&sim, &options);
  cr_assert_eq(r.end, PLIM_ONLINE_THRASH);
  plim_simulated_free(&r);
  plim_simulation_close(&sim);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

Test(simulation, a_sweep_is_never_slower_with_more_bytes) {
  enum { POINTS = 6 };
  static const char *const memory[POINTS] = {"1%", "45%", "55%", "65%", "80%", "100%"};
  plim_context *ctx = plim_test_context();
  plim_graph *graph = log_graph(ctx);
  plim_simulation sim = opened(ctx, graph, 4);
  plim_plan_options planning = plim_plan_options_default();
  plim_simulated r[POINTS];
  int64_t budget[POINTS];
  planning.iterations = 2000;
  for (int i = 0; i < POINTS; i++) budget[i] = share(&sim, memory[i], PLIM_SIMULATE_PLANNED);
  cr_assert_eq(plim_simulation_sweep(&sim, &planning, POINTS, budget, r), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(r[0].end, PLIM_ONLINE_OOM);
  for (int i = 1; i < POINTS; i++) {
    cr_assert_eq(r[i].end, PLIM_ONLINE_OK);
    cr_assert_leq(r[i].arena_bytes, budget[i]);
    if (i > 1) cr_assert_leq(r[i].overhead_percent, r[i - 1].overhead_percent);
  }
  cr_assert_gt(r[1].overhead_percent, r[POINTS - 1].overhead_percent);
  for (int i = 0; i < POINTS; i++) plim_simulated_free(&r[i]);
  plim_simulation_close(&sim);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

Test(simulation, refuses_what_makes_no_sense) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  cr_assert_eq(random_chain_make(ctx, LAYERS, test_seed(3), &graph), PLIM_OK);
  plim_simulation sim = opened(ctx, graph, 1);
  plim_simulated r = {.depth = -7};
  plim_simulate_options options = within("dtr", PLIM_SIMULATE_PLANNED, INT64_MAX);
  int64_t bytes;
  cr_assert_eq(plim_simulate(&sim, &options, &r), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "planned addresses belong to plans"));
  options.addresses = PLIM_SIMULATE_BYTES;
  cr_assert_eq(plim_simulate(&sim, &options, &r), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "needs the handles that a program held"));
  options.struct_bytes--;
  cr_assert_eq(plim_simulate(&sim, &options, &r), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "plim_simulate_options"));
  cr_assert_eq(r.depth, -7, "a failure wrote its output");
  cr_assert_eq(plim_simulation_budget(&sim, "many", PLIM_SIMULATE_BYTES, &bytes), PLIM_EUSAGE);
  plim_simulation_close(&sim);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

typedef struct memory_case {
  const char *policy;
  plim_simulation_addresses addresses;
} memory_case;

static plim_status simulate_once(plim_context *ctx, void *user) {
  const memory_case *c = user;
  plim_simulate_options options = within(c->policy, c->addresses, INT64_MAX);
  plim_simulation sim = {.ctx = NULL};
  plim_simulated r = {.plan = NULL};
  plim_graph *graph = NULL;
  options.planning.iterations = 50;
  plim_status status = random_chain_make(ctx, 2, test_seed(3), &graph);
  if (status == PLIM_OK) status = plim_simulation_open(ctx, graph, 4, &sim);
  if (status == PLIM_OK) status = plim_simulation_budget(&sim, "80%", c->addresses, &options.budget_bytes);
  if (status == PLIM_OK) status = plim_simulate(&sim, &options, &r);
  plim_simulated_free(&r);
  if (sim.ctx) plim_simulation_close(&sim);
  plim_graph_free(graph);
  return status;
}

Test(simulation, every_refused_allocation_is_a_failure_that_leaves_nothing) {
  static memory_case cases[] = {
      {"dtr", PLIM_SIMULATE_ARENA}, {NULL, PLIM_SIMULATE_ARENA}, {NULL, PLIM_SIMULATE_PLANNED}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cr_assert_gt(plim_test_each_allocation(simulate_once, &cases[i]), 10);
  }
}
