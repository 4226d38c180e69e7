/* Replays of schedules in the arena: at every budget either there is no room, or a plan comes out that the checker
 * accepts and that leaves what program order leaves. */
#include "runtime/arena/replay_search.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/graph/check/check.h"
#include "runtime/net/net.h"
#include "tests/support/failing_memory.h"
#include "tests/support/interpret.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

typedef struct instance {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *schedule;
} instance;

static plim_status make_instance(plim_context *ctx, uint64_t seed, int32_t layers, int repeats, instance *i) {
  random_graph_options g = random_graph_options_default(seed);
  random_plan_options p = {.seed = seed, .packed = 1};
  if (repeats) p = random_plan_options_default(seed);
  p.merge_percent = 0;
  g.max_bytes = 3000;
  *i = (instance){.ctx = ctx};
  PLIM_TRY(layers > 0 ? random_chain_make(ctx, layers, seed, &i->graph) : random_graph_make(ctx, &g, &i->graph));
  PLIM_TRY(random_profile_make(i->graph, seed, 2, &i->profile));
  return random_plan_make(i->graph, i->profile, &p, &i->schedule);
}

static void free_instance(instance *i) {
  plim_plan_free(i->schedule);
  plim_profile_free(i->profile);
  plim_graph_free(i->graph);
}

static instance instance_of(plim_context *ctx, uint64_t seed, int32_t layers, int repeats) {
  instance i;
  cr_assert_eq(make_instance(ctx, seed, layers, repeats, &i), PLIM_OK, "seed %llu: %s", (unsigned long long)seed,
               plim_context_error(ctx));
  return i;
}

/* Replay within the budget: 1 when it fits; asserts that what comes out is right. */
static int replay_at(const instance *i, uint64_t seed, int64_t budget_bytes, plim_replay_counts *counts,
                     int64_t *time_ns) {
  plim_plan *plan = NULL;
  plim_status status = plim_arena_replay(i->ctx, i->graph, i->schedule, budget_bytes, counts, &plan);
  if (status == PLIM_ENOFIT) {
    cr_assert(plim_context_error(i->ctx)[0], "seed %llu", (unsigned long long)seed);
    cr_assert_null(plan);
    return 0;
  }
  cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(i->ctx));
  status = plim_plan_check(i->ctx, i->graph, plan);
  cr_assert_eq(status, PLIM_OK, "seed %llu, %lld bytes: %s", (unsigned long long)seed, (long long)budget_bytes,
               plim_context_error(i->ctx));
  cr_assert(interpret_equals_program_order(i->graph, plan), "seed %llu", (unsigned long long)seed);
  cr_assert_leq(plan->arena_bytes, budget_bytes);
  cr_assert_eq(plan->n_commands - i->schedule->n_commands, counts->recomputes);
  *time_ns = plan->time_ns;
  plim_plan_free(plan);
  return 1;
}

Test(replay, repeats_the_schedule_and_evicts_nothing_where_there_is_room) {
  plim_context *ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 150; test_seed_at(seed) < end; seed++) {
    instance i = instance_of(ctx, seed, seed % 3 == 0 ? 1 + (int32_t)(seed % 20) : 0, seed % 2 == 0);
    int64_t time_ns, bytes = 4 * i.schedule->peak_bytes;
    plim_replay_counts counts;
    cr_assert(replay_at(&i, seed, bytes, &counts, &time_ns), "seed %llu", (unsigned long long)seed);
    cr_assert_eq(counts.evictions, 0);
    cr_assert_eq(counts.recomputes, 0);
    cr_assert_eq(time_ns, i.schedule->time_ns);
    free_instance(&i);
  }
  plim_context_free(ctx);
}

Test(replay, gives_a_right_plan_or_no_plan_at_budgets_from_ample_to_tight) {
  plim_context *ctx = plim_test_context();
  int fits = 0, refused = 0;
  int64_t evictions = 0, recomputes = 0;
  for (uint64_t seed = test_seed(1), end = seed + 150; test_seed_at(seed) < end; seed++) {
    instance i = instance_of(ctx, seed, seed % 2 == 0 ? 2 + (int32_t)(seed % 25) : 0, seed % 3 == 0);
    for (int64_t percent = 110; percent >= 30; percent -= 8) {
      plim_replay_counts counts;
      int64_t time_ns;
      if (replay_at(&i, seed, i.schedule->peak_bytes * percent / 100, &counts, &time_ns)) {
        fits++;
        evictions += counts.evictions;
        recomputes += counts.recomputes;
      } else {
        refused++;
      }
    }
    free_instance(&i);
  }
  cr_log_info("%d fit, %d refused, %lld evictions, %lld recomputes", fits, refused, (long long)evictions,
              (long long)recomputes);
  cr_assert_gt(fits, 600);
  cr_assert_gt(refused, 100);
  cr_assert_gt(evictions, 500);
  cr_assert_gt(recomputes, 500);
  plim_context_free(ctx);
}

Test(replay, keeps_the_outputs_of_a_run_from_each_other_when_room_is_short) {
  plim_context *ctx = plim_test_context();
  int64_t evictions = 0;
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    random_graph_options g = random_graph_options_default(seed);
    random_plan_options p = {.seed = seed, .packed = 1};
    g.two_out_percent = 100;
    g.n_params = g.n_stats = 0;
    instance i = {.ctx = ctx};
    cr_assert_eq(random_graph_make(ctx, &g, &i.graph), PLIM_OK);
    cr_assert_eq(random_profile_make(i.graph, seed, 1, &i.profile), PLIM_OK);
    cr_assert_eq(random_plan_make(i.graph, i.profile, &p, &i.schedule), PLIM_OK);
    for (int64_t percent = 95; percent >= 35; percent -= 10) {
      plim_replay_counts counts = {.evictions = 0};
      int64_t time_ns;
      (void)replay_at(&i, seed, i.schedule->peak_bytes * percent / 100, &counts, &time_ns);
      evictions += counts.evictions;
    }
    free_instance(&i);
  }
  cr_assert_gt(evictions, 100);
  plim_context_free(ctx);
}

Test(replay, trains_resnet20_at_half_its_keep_all_bytes) {
  plim_context *ctx = plim_test_context();
  const plim_roofline roofline = {100, 10, 1000};
  plim_net_options net_options = plim_net_options_default();
  plim_plan_options options = plim_plan_options_default();
  plim_net *net = NULL;
  instance i = {.ctx = ctx};
  plim_plan *plan = NULL;
  plim_replay_counts counts;
  net_options.batch = 64;
  cr_assert_eq(plim_model_make(ctx, "resnet20", &net_options, &net), PLIM_OK);
  cr_assert_eq(plim_net_train_graph(net, &i.graph), PLIM_OK);
  cr_assert_eq(plim_profile_model(i.graph, &roofline, &i.profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(ctx, i.graph, i.profile, &options, &i.schedule), PLIM_OK);
  int64_t budget_bytes = i.schedule->arena_bytes / 2;
  plim_status status = plim_arena_replay(ctx, i.graph, i.schedule, budget_bytes, &counts, &plan);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(plim_plan_check(ctx, i.graph, plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_gt(counts.recomputes, 0);
  cr_expect_lt(plim_plan_overhead_percent(plan), 15.0);
  plim_plan_free(plan);
  free_instance(&i);
  plim_net_free(net);
  plim_context_free(ctx);
}

Test(replay, puts_persistent_storages_at_the_low_end_in_graph_order) {
  plim_context *ctx = plim_test_context();
  instance i = instance_of(ctx, 5, 6, 0);
  plim_plan *plan = NULL;
  cr_assert_eq(plim_arena_replay(ctx, i.graph, i.schedule, 2 * i.schedule->peak_bytes, NULL, &plan), PLIM_OK);
  int64_t offset = 0;
  for (int32_t s = 0; s < i.graph->n_storages; s++) {
    if (!plim_role_persistent(i.graph->storage[s].role)) continue;
    int32_t k = 0;
    while (plan->buffer[k].storage != s) k++;
    cr_expect_eq(plan->buffer[k].offset, offset);
    offset += plan->buffer[k].bytes;
  }
  cr_expect_eq(offset, plim_graph_persistent_bytes(i.graph));
  plim_plan_free(plan);
  free_instance(&i);
  plim_context_free(ctx);
}

Test(replay, gives_the_same_plan_every_time) {
  plim_context *ctx = plim_test_context();
  instance i = instance_of(ctx, 11, 20, 0);
  plim_plan *a = NULL, *b = NULL;
  int64_t budget_bytes = i.schedule->peak_bytes * 85 / 100;
  cr_assert_eq(plim_arena_replay(ctx, i.graph, i.schedule, budget_bytes, NULL, &a), PLIM_OK);
  cr_assert_eq(plim_arena_replay(ctx, i.graph, i.schedule, budget_bytes, NULL, &b), PLIM_OK);
  cr_assert_gt(a->n_commands, i.schedule->n_commands);
  cr_assert_eq(a->n_commands, b->n_commands);
  cr_assert_eq(a->n_buffers, b->n_buffers);
  for (int32_t k = 0; k < a->n_commands; k++) cr_assert_eq(a->command[k].op, b->command[k].op);
  cr_assert_eq(memcmp(a->buffer, b->buffer, (size_t)a->n_buffers * sizeof *a->buffer), 0);
  plim_plan_free(a);
  plim_plan_free(b);
  free_instance(&i);
  plim_context_free(ctx);
}

Test(replay, refuses_a_schedule_that_the_checker_refuses) {
  plim_context *ctx = plim_test_context();
  instance i = instance_of(ctx, 3, 4, 0);
  plim_plan broken = *i.schedule, *plan = NULL;
  broken.time_ns++;
  cr_expect_eq(plim_arena_replay(ctx, i.graph, &broken, INT64_MAX, NULL, &plan), PLIM_EPLAN);
  cr_expect_null(plan);
  free_instance(&i);
  plim_context_free(ctx);
}

Test(replay, says_what_finds_no_room_in_an_arena_that_is_too_small) {
  plim_context *ctx = plim_test_context();
  instance i = instance_of(ctx, 3, 4, 0);
  plim_plan *plan = NULL;
  int64_t budget_bytes = plim_graph_persistent_bytes(i.graph) + 1024;
  cr_expect_eq(plim_arena_replay(ctx, i.graph, i.schedule, budget_bytes, NULL, &plan), PLIM_ENOFIT);
  cr_expect(strstr(plim_context_error(ctx), "finds no room for"), "%s", plim_context_error(ctx));
  cr_expect_eq(plim_arena_replay(ctx, i.graph, i.schedule, 0, NULL, &plan), PLIM_ENOFIT);
  cr_expect_null(plan);
  free_instance(&i);
  plim_context_free(ctx);
}

/* The op of the counts is the one in the sentence, although each configuration may fail at another op. */
Test(replay, counts_and_sentence_of_a_refusal_are_of_the_same_configuration) {
  plim_context *ctx = plim_test_context();
  int refused = 0;
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    instance i = instance_of(ctx, seed, 2 + (int32_t)(seed % 25), 0);
    for (int64_t percent = 80; percent >= 30; percent -= 5) {
      plim_replay_counts counts;
      plim_plan *plan = NULL;
      char words[128];
      plim_status status =
          plim_arena_replay(ctx, i.graph, i.schedule, i.schedule->peak_bytes * percent / 100, &counts, &plan);
      plim_plan_free(plan);
      if (status != PLIM_ENOFIT || counts.thrashed || counts.op < 0) continue;
      (void)snprintf(words, sizeof words, "op \"%s\" finds no room", i.graph->op[counts.op].name);
      cr_assert(strstr(plim_context_error(ctx), words), "seed %llu, %s: %s", (unsigned long long)seed, words,
                plim_context_error(ctx));
      refused++;
    }
    free_instance(&i);
  }
  cr_assert_gt(refused, 100);
  plim_context_free(ctx);
}

static plim_status replay_tight(plim_context *ctx, void *user) {
  (void)user;
  instance i;
  plim_plan *plan = NULL;
  plim_status status = make_instance(ctx, 11, 12, 0, &i);
  if (status == PLIM_OK) {
    status = plim_arena_replay(ctx, i.graph, i.schedule, i.schedule->peak_bytes * 9 / 10, NULL, &plan);
  }
  plim_plan_free(plan);
  free_instance(&i);
  return status;
}

Test(replay, gives_back_its_memory_when_any_allocation_fails) {
  cr_assert_gt(plim_test_each_allocation(replay_tight, NULL), 50);
}
