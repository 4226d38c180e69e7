/* Every planner on graphs of shapes that networks do not have, with times and bytes of nothing, all the same or huge:
 * no plan is faster than exhaustive search of its class, no bound above it, and what is said to be proved is it. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/exact/dag.h"
#include "planner/planner.h"
#include "runtime/arena/replay_search.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/graph/check/check.h"
#include "runtime/import/import.h"
#include "tests/support/folder.h"
#include "tests/support/plan_oracle.h"
#include "tests/support/stage_oracle.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"
#include "tools/plimsoll-bench/peers.h"

enum { MOST_NODES = 7, SEEDS = 240, BUDGETS = 4, MOVES = 3000 };

typedef enum kind { ALONE, STAR_OUT, STAR_IN, CHAIN, TRAINING, LAYERS, PARTS, COMPLETE, DIAMOND, RANDOM, KINDS } kind;
static const char *const kind_name[KINDS] = {"alone",  "star out", "star in",  "chain",   "training",
                                             "layers", "parts",    "complete", "diamond", "random"};

static plim_context *ctx;
static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  (void)plim_test_folder();
  peers_add();
}
static void teardown(void) {
  plim_context_free(ctx);
  plim_test_folder_remove();
}
TestSuite(odd_graphs, .init = setup, .fini = teardown);

static int reads(kind shape, int32_t n, int32_t v, int32_t u, uint64_t *random) {
  switch (shape) {
    case STAR_OUT:
      return u == 0;
    case STAR_IN:
      return v == n - 1;
    case CHAIN:
      return u == v - 1;
    case TRAINING:
      return u == v - 1 || (v > n / 2 && u == n - 1 - v);
    case LAYERS:
      return v / 3 == u / 3 + 1 && test_random_chance(random, 60);
    case PARTS:
      return u % 2 == v % 2 && (u == v - 2 || test_random_chance(random, 40));
    case COMPLETE:
      return 1;
    case DIAMOND:
      return u == 0 || v == n - 1;
    case RANDOM:
      return test_random_chance(random, 40);
    default:
      return 0;
  }
}

/* Nothing, one, nothing or huge, or this and that. */
static int64_t amount(int how, int64_t huge, uint64_t *random) {
  if (how == 0) return 0;
  if (how == 1) return 1;
  if (how == 2) return test_random_between(random, 0, 1) * test_random_between(random, 1, huge);
  return test_random_between(random, 0, 9);
}

static void add_nodes(plim_text *text, int32_t n, uint64_t *random) {
  int times = (int)test_random_between(random, 0, 5), sizes = (int)test_random_between(random, 0, 5);
  for (int32_t v = 0; v < n; v++) {
    long long bytes = amount(sizes, (int64_t)1 << 50, random), time = amount(times, (int64_t)1 << 40, random);
    plim_text_format(text, "%s{\"name\": %d, \"out_cost\": %lld, \"duration\": %lld, \"param_cost\": 0}", v ? ", " : "",
                     (int)v, bytes, time);
  }
}

/* Some links twice. */
static void add_links(plim_text *text, kind shape, int32_t n, uint64_t *random) {
  const char *before = "";
  for (int32_t v = 0; v < n; v++) {
    for (int32_t u = 0; u < v; u++) {
      if (!reads(shape, n, v, u, random)) continue;
      for (int32_t k = test_random_chance(random, 20) ? 0 : 1; k < 2; k++) {
        plim_text_format(text, "%s{\"0\": %d, \"1\": %d}", before, (int)u, (int)v);
        before = ", ";
      }
    }
  }
}

/* As a networkx document; one node for every seventh seed. */
static plim_graph *odd_graph(uint64_t seed) {
  uint64_t random = seed;
  int32_t n = seed % 7 ? (int32_t)test_random_between(&random, 2, MOST_NODES) : 1;
  plim_text text = {.ctx = ctx};
  plim_graph *graph = NULL;
  plim_text_add(&text, "{\"directed\": true, \"multigraph\": false, \"graph\": {\"name\": \"odd\"}, \"nodes\": [");
  add_nodes(&text, n, &random);
  plim_text_add(&text, "], \"links\": [");
  add_links(&text, (kind)(seed % KINDS), n, &random);
  plim_text_add(&text, "]}\n");
  cr_assert_eq(plim_file_save(ctx, plim_test_path("odd.json"), text.chars, text.length), PLIM_OK);
  cr_assert_eq(plim_graph_import(ctx, "nx", plim_test_path("odd.json"), &graph), PLIM_OK, "%s",
               plim_context_error(ctx));
  plim_text_free(&text);
  return graph;
}

/* Least times by class, -1: none. */
typedef struct optima {
  int64_t time_ns[4]; /* by plim_plan_class */
} optima;

static optima search_all(const plim_graph *graph, const plim_profile *profile, const plim_dag *dag, int64_t budget) {
  optima best;
  best.time_ns[PLIM_CLASS_FREE] = plan_oracle(graph, profile, 1, budget);
  best.time_ns[PLIM_CLASS_FIXED] = plan_oracle_fixed(graph, profile, 1, budget);
  best.time_ns[PLIM_CLASS_STAGES] = best.time_ns[PLIM_CLASS_COPIES] = stage_oracle(dag, budget);
  return best;
}

/* 1: a plan that repeats. Without a solver some planners cannot begin. */
static int try_planner(const plim_graph *graph, const plim_profile *profile, const plim_plan_options *options,
                       const optima *best, uint64_t seed) {
  const char *kind_of = kind_name[seed % KINDS];
  plim_plan *plan = NULL;
  plim_status status = plim_plan_make(ctx, graph, profile, options, &plan);
  if (status == PLIM_EUNSUPPORTED || status == PLIM_EUSAGE || status == PLIM_ENOFIT) {
    int exact = status == PLIM_ENOFIT && strcmp(options->planner, "moccasin") == 0;
    if (exact) cr_assert_lt(best->time_ns[PLIM_CLASS_COPIES], 0, "%s, seed %d: refused", kind_of, (int)seed);
    return 0;
  }
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
  int64_t least = best->time_ns[plan->plan_class];
  cr_assert_geq(least, 0, "%s of %s, seed %d: there is no plan", options->planner, kind_of, (int)seed);
  cr_assert_geq(plan->time_ns, least, "%s of %s, seed %d: too fast", options->planner, kind_of, (int)seed);
  cr_assert_leq(plan->bound_ns, least, "%s of %s, seed %d: bound above the optimum", options->planner, kind_of,
                (int)seed);
  if (plan->proved) cr_assert_eq(plan->time_ns, least, "%s of %s, seed %d", options->planner, kind_of, (int)seed);
  int repeats = plan->n_commands > graph->n_ops;
  plim_plan_free(plan);
  return repeats;
}

static int try_budget(const plim_graph *graph, const plim_profile *profile, const plim_dag *dag, int64_t budget,
                      uint64_t seed) {
  optima best = search_all(graph, profile, dag, budget);
  int repeats = 0;
  for (int32_t row = 0; plim_planner_name(row); row++) {
    for (int order = PLIM_ORDER_FREE; order <= PLIM_ORDER_FIXED; order++) {
      plim_plan_options options = plim_plan_options_default();
      options.planner = plim_planner_name(row);
      options.unpacked = 1;
      options.budget_bytes = budget;
      options.order = (plim_plan_order)order;
      options.iterations = MOVES;
      options.copies = MOST_NODES; /* as many as there are stages */
      repeats += try_planner(graph, profile, &options, &best, seed);
    }
  }
  return repeats;
}

Test(odd_graphs, no_planner_is_wrong_about_them) {
  int repeats = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    plim_graph *graph = odd_graph(seed);
    plim_profile *profile = NULL;
    plim_problem *problem = NULL;
    plim_dag *dag = NULL;
    plim_plan *all = NULL;
    plim_plan_options options = plim_plan_options_default();
    options.unpacked = 1;
    options.order = PLIM_ORDER_FIXED;
    cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
    cr_assert_eq(plim_problem_make(ctx, graph, profile, &options, PLIM_CLASS_STAGES, &problem), PLIM_OK);
    cr_assert_eq(plim_dag_make(problem, INT64_MAX, &dag), PLIM_OK);
    cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &all), PLIM_OK);
    int64_t least = plim_dag_least_peak(dag, NULL), step = (all->peak_bytes - least) / (BUDGETS - 1);
    for (int64_t k = 0; k < BUDGETS; k++) {
      if (k == 0 || step > 0) repeats += try_budget(graph, profile, dag, least + k * step, seed);
    }
    if (least > 0) repeats += try_budget(graph, profile, dag, least - 1, seed);
    plim_plan_free(all);
    plim_dag_free(dag);
    plim_problem_free(problem);
    plim_profile_free(profile);
    plim_graph_free(graph);
  }
  cr_assert_geq(repeats, 250, "only %d plans with repeats", repeats);
}

/* ---- in the online arena ---- */

enum { ROOM = 4096 /* beside the bytes, for what is rounded up */ };

/* The run, and what would come of another policy in the middle of it. Returns how many plans there were. */
static int simulate(const plim_graph *graph, const plim_plan *order, const plim_policy *policy, int64_t bytes,
                    uint64_t seed) {
  plim_replay_counts counts;
  plim_plan *plan = NULL, *other = NULL;
  plim_status status =
      plim_arena_online(ctx, graph, order, policy, (plim_replay_limits){bytes, INT64_MAX}, &counts, &plan);
  if (status == PLIM_ENOFIT) return 0;
  cr_assert_eq(status, PLIM_OK, "%s, seed %d: %s", policy->name, (int)seed, plim_context_error(ctx));
  cr_assert_eq(plim_plan_check(ctx, graph, plan), PLIM_OK, "%s, seed %d: %s", policy->name, (int)seed,
               plim_context_error(ctx));
  int32_t from = plan->n_commands / 2;
  const plim_arena_change change = {.policy = plim_policy_at(0), .from = from, .arena_bytes = bytes};
  if (from > 0) status = plim_arena_what_if(ctx, graph, plan, &change, &counts, &other);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s, seed %d: %s", policy->name, (int)seed,
            plim_context_error(ctx));
  plim_plan_free(other);
  plim_plan_free(plan);
  return 1;
}

Test(odd_graphs, every_policy_runs_them_online_also_where_results_have_no_bytes) {
  int runs = 0, empty = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    plim_graph *graph = odd_graph(seed);
    plim_profile *profile = NULL;
    plim_plan *order = NULL;
    plim_plan_options options = plim_plan_options_default();
    options.unpacked = 1;
    options.order = PLIM_ORDER_FIXED;
    cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
    cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &order), PLIM_OK);
    for (int32_t s = 0; s < graph->n_storages; s++) empty += graph->storage[s].bytes == 0;
    for (int32_t row = 0; plim_policy_at(row); row++) {
      runs += simulate(graph, order, plim_policy_at(row), order->peak_bytes + ROOM, seed);
      runs += simulate(graph, order, plim_policy_at(row), order->peak_bytes, seed);
    }
    plim_plan_free(order);
    plim_profile_free(profile);
    plim_graph_free(graph);
  }
  cr_assert_gt(runs, SEEDS, "only %d runs", runs);
  cr_assert_gt(empty, SEEDS / 2, "only %d results of 0 bytes", empty);
}
