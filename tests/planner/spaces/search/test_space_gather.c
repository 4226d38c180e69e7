/* planner/spaces/search/space_gather.c: small storages travel in one copy, whose latency is paid once. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/spaces/search/space_search.h"
#include "planner/spaces/space_make.h"
#include "runtime/base/text.h"
#include "tests/support/space_cases.h"
#include "tests/support/space_interpret.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

/* a and b are small and read at the end; in between c and d take the bytes. */
static const space_case two_small = {"two_small",
                                     5,
                                     1,
                                     6,
                                     {10, 10, 100, 100, 10},
                                     {{1000, 1000, 1000, 1000, 1000}},
                                     {{0}},
                                     {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 4}, {1, 4}},
                                     {0}};

/* 1 FLOP is 1 ns and 1 mJ; a copy takes its latency and 1 ns a byte. */
static plim_platform *platform_of(plim_context *ctx, int64_t latency_ns) {
  plim_text t = {.ctx = ctx};
  plim_platform *platform = NULL;
  plim_text_add(&t,
                "{\"devices\": [{\"name\": \"d\", \"flop_per_second\": 1e9, \"flop_per_joule\": 1000, \"idle_watt\": "
                "0, \"spaces\": [\"a\", \"b\"]}], \"links\": [");
  for (int way = 0; way < 2; way++) {
    plim_text_format(&t,
                     "%s{\"from\": \"%s\", \"to\": \"%s\", \"latency_s\": %lldE-9, \"bytes_per_second\": 1e9, "
                     "\"watt\": 1, \"duplex\": true}",
                     way ? ", " : "", way ? "b" : "a", way ? "a" : "b", (long long)latency_ns);
  }
  plim_text_add(&t, "]}\n");
  cr_assert_eq(plim_platform_parse(ctx, "two.json", t.chars, t.length, &platform), PLIM_OK, "%s",
               plim_context_error(ctx));
  plim_text_free(&t);
  return platform;
}

typedef struct asked {
  const char *planner;
  plim_objective objective;
  int64_t bytes;
  int together, recompute;
} asked;

static plim_space_plan *plan_of(plim_context *ctx, const plim_graph *graph, const plim_platform *platform, asked a) {
  const int64_t budget[] = {a.bytes, INT64_MAX};
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  options.planner = a.planner;
  options.objective = (int32_t)a.objective;
  options.budget = budget;
  options.iterations = 200;
  options.together = a.together;
  options.recompute = a.recompute;
  plim_status status = plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  return plan;
}

static int copies_of(const plim_space_plan *plan, int32_t *storages) {
  int copies = 0;
  *storages = 0;
  for (int32_t c = 0; c < plan->n_commands; c++) {
    if (plan->command[c].kind != PLIM_SPACE_COMMAND_COPY) continue;
    copies++;
    *storages += plan->command[c].n_storages;
  }
  return copies;
}

Test(space_gather, two_small_storages_go_out_and_come_back_in_one_copy_each) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = space_case_flops(ctx, &two_small);
  plim_platform *platform = platform_of(ctx, 1000);
  uint64_t random = test_seed(5);
  for (int together = 0; together < 2; together++) {
    int32_t storages;
    plim_space_plan *plan = plan_of(ctx, graph, platform, (asked){"search", PLIM_OBJECTIVE_ENERGY, 205, together, 1});
    cr_assert_not_null(plan, "%s", plim_context_error(ctx));
    cr_expect_eq(copies_of(plan, &storages), together ? 2 : 4);
    cr_expect_eq(storages, 4);
    cr_expect_eq(plan->serial_ns, 5000 + (together ? 2 * 1020 : 4 * 1010));
    cr_expect_float_eq(plan->energy_joule, 5 + (together ? 2 * 1020e-9 : 4 * 1010e-9), 1e-12);
    cr_expect_leq(plan->bound, plan->energy_joule);
    cr_expect_null(space_interpret(graph, plan, &random, 200));
    plim_space_plan_free(plan);
  }
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* a and e are small, and there from the begin. Each of b, c and d takes the bytes in which a could stay for longer. */
static const space_case five_copies = {"five_copies",
                                       8,
                                       1,
                                       5,
                                       {10, 10, 100, 50, 50, 1, 1, 1},
                                       {{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}},
                                       {{0}},
                                       {{0, 5}, {1, 5}, {2, 6}, {3, 7}, {4, 7}},
                                       {0}};

/* The copy of a meets the copies of b, c and d before that of e: the fourth of its link, the last that is tried. */
Test(space_gather, the_fourth_copy_after_one_comes_up_to_it) {
  static const plim_space_event event[] = {
      {PLIM_SPACE_RUN, 0, 0},  {PLIM_SPACE_RUN, 1, 0},  {PLIM_SPACE_COPY, 0, 0}, {PLIM_SPACE_DROP, 0, 0},
      {PLIM_SPACE_RUN, 2, 0},  {PLIM_SPACE_COPY, 2, 0}, {PLIM_SPACE_DROP, 2, 0}, {PLIM_SPACE_RUN, 3, 0},
      {PLIM_SPACE_COPY, 3, 0}, {PLIM_SPACE_DROP, 3, 0}, {PLIM_SPACE_RUN, 4, 0},  {PLIM_SPACE_COPY, 4, 0},
      {PLIM_SPACE_DROP, 4, 0}, {PLIM_SPACE_COPY, 1, 0}, {PLIM_SPACE_DROP, 1, 0}, {PLIM_SPACE_COPY, 0, 1},
      {PLIM_SPACE_COPY, 1, 1}, {PLIM_SPACE_RUN, 5, 0},  {PLIM_SPACE_DROP, 0, 0}, {PLIM_SPACE_DROP, 1, 0},
      {PLIM_SPACE_COPY, 2, 1}, {PLIM_SPACE_RUN, 6, 0},  {PLIM_SPACE_DROP, 2, 0}, {PLIM_SPACE_COPY, 3, 1},
      {PLIM_SPACE_COPY, 4, 1}, {PLIM_SPACE_RUN, 7, 0},
  };
  static const int64_t budget[] = {115, INT64_MAX};
  const plim_space_plan draft = {
      .planner = "test", .objective = PLIM_OBJECTIVE_SERIAL, .deadline_ns = INT64_MAX, .keep_all = 8000};
  plim_context *ctx = plim_test_context();
  plim_graph *graph = space_case_flops(ctx, &five_copies);
  plim_platform *platform = platform_of(ctx, 1000);
  plim_space_problem *problem = NULL;
  plim_space_events events = {.ctx = ctx};
  cr_assert_eq(plim_space_problem_make(graph, platform, 1, &problem), PLIM_OK, "%s", plim_context_error(ctx));
  for (size_t i = 0; i < sizeof event / sizeof *event; i++) {
    plim_space_events_add(&events, event[i].kind, event[i].node, event[i].at);
  }
  cr_assert_eq(plim_space_gather(problem, &draft, budget, &events), PLIM_OK, "%s", plim_context_error(ctx));
  int64_t e = 0;
  while (events.event[e].kind != PLIM_SPACE_COPY) e++;
  const plim_space_event *first = &events.event[e], *joined = &events.event[e + 1];
  cr_expect(first->node == 0 && first->at == 0);
  cr_expect(joined->kind == PLIM_SPACE_JOIN && joined->node == 1, "event of kind %d, node %d", (int)joined->kind,
            (int)joined->node);
  plim_space_events_free(&events);
  plim_space_problem_free(problem);
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* What the classes of the published planners have. */
Test(space_gather, planners_whose_models_copy_one_storage_at_a_time_do) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = space_case_flops(ctx, &two_small);
  plim_platform *platform = platform_of(ctx, 1000);
  plim_space_plan *plan = NULL;
  const int64_t budget[] = {205, INT64_MAX};
  plim_space_options options = plim_space_options_default();
  options.planner = "poet";
  options.budget = budget;
  plim_status status = plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan);
  int32_t storages;
  if (status == PLIM_EUNSUPPORTED) cr_skip_test("%s", plim_context_error(ctx));
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(copies_of(plan, &storages), 4);
  cr_expect(plan->proved);
  plim_space_plan_free(plan);
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* A chain whose last op also reads some of the small outputs at its begin; large ones are in between. */
static void draw(uint64_t *random, space_case *c) {
  *c = (space_case){.name = "drawn", .n = SPACE_OPS, .n_devices = 1};
  for (int32_t i = 0; i < c->n; i++) {
    c->bytes[i] = i < c->n / 2 ? test_random_between(random, 0, 4) : test_random_between(random, 8, 20);
    c->time[0][i] = test_random_between(random, 1, 40);
    if (i > 0) c->edge[c->n_edges][0] = i - 1, c->edge[c->n_edges++][1] = i;
    if (i >= c->n / 2 || test_random_chance(random, 20)) continue;
    c->edge[c->n_edges][0] = i, c->edge[c->n_edges++][1] = c->n - 1;
  }
}

/* Bytes, times and safety on graphs that nobody looked at. */
Test(space_gather, plans_with_copies_together_are_valid_and_never_worse) {
  plim_context *ctx = plim_test_context();
  int fewer = 0, cases = 0;
  for (uint64_t seed = test_seed(1), end = seed + 150; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    space_case c;
    draw(&random, &c);
    plim_graph *graph = space_case_flops(ctx, &c);
    plim_platform *platform = platform_of(ctx, test_random_between(&random, 0, 9));
    asked a = {"search", (plim_objective)(seed % 3), test_random_between(&random, 26, 50), 0, seed % 2 == 0};
    plim_space_plan *alone = plan_of(ctx, graph, platform, a);
    a.together = 1;
    plim_space_plan *plan = plan_of(ctx, graph, platform, a);
    cr_assert_eq(!plan, !alone, "seed %llu", (unsigned long long)seed);
    if (plan) {
      int32_t storages;
      const char *wrong = space_interpret(graph, plan, &random, 30);
      cr_assert_null(wrong, "seed %llu: %s", (unsigned long long)seed, wrong);
      cr_assert_leq(plim_space_plan_value(plan), plim_space_plan_value(alone) * (1 + 1e-12), "seed %llu",
                    (unsigned long long)seed);
      cr_assert_leq(plan->bound, plim_space_plan_value(plan), "seed %llu", (unsigned long long)seed);
      cases++;
      fewer += copies_of(plan, &storages) < storages;
    }
    plim_space_plan_free(alone);
    plim_space_plan_free(plan);
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  cr_expect_geq(cases, 50, "%d plans, %d with copies together", cases, fewer);
  cr_expect_geq(fewer, 2, "%d plans, %d with copies together", cases, fewer);
  plim_test_context_end(ctx);
}
