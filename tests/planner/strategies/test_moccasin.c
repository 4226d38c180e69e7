/* planner/strategies/moccasin.c and planner/exact/staged_search.c: class copies against exhaustive search on small
 * random graphs, the golden chains, and the way between schedules and sets of repeats. */
#include "planner/exact/dag.h"
#include "planner/exact/staged.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/import/generate.h"
#include "tests/support/dag_cases.h"
#include "tests/support/failing_memory.h"
#include "tests/support/folder.h"
#include "tests/support/stage_oracle.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { MOST_NODES = 8, MOST_STEPS = 3 * MOST_NODES, CASES = 40 };

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  plim_context_free(ctx);
}
TestSuite(moccasin, .init = make_context, .fini = free_context);

/* A small graph in the oracle's own form. */
typedef struct small {
  int32_t n, n_edges;
  int64_t size[MOST_NODES], time[MOST_NODES];
  dag_edge edge[MOST_NODES * MOST_NODES];
  uint32_t reads[MOST_NODES]; /* bit u of reads[v]: v reads u */
  uint32_t runs[MOST_NODES];  /* bit k of runs[t]: stage t repeats node k */
  int32_t copies;
  int64_t budget, best;
} small;

static small random_small(uint64_t seed) {
  uint64_t random = seed;
  small s = {.n = 5 + (int32_t)(seed % 4)};
  for (int32_t v = 0; v < s.n; v++) {
    s.size[v] = test_random_between(&random, 1, 9);
    s.time[v] = test_random_between(&random, 0, 6);
    for (int32_t u = 0; u < v; u++) {
      if (u != v - 1 && !test_random_chance(&random, 35)) continue;
      s.edge[s.n_edges++] = (dag_edge){u, v};
      s.reads[v] |= 1U << u;
    }
  }
  return s;
}

/* Peak of the schedule, by the definition: a copy is alive from its run to the last step that reads it before the next
 * copy. */
static int64_t peak_of(const small *s) {
  int32_t step[MOST_NODES * MOST_NODES], n = 0;
  int64_t peak = 0;
  for (int32_t t = 0; t < s->n; t++) {
    for (int32_t k = 0; k < t; k++) {
      if (s->runs[t] >> k & 1) step[n++] = k;
    }
    step[n++] = t;
  }
  for (int32_t j = 0; j < n; j++) {
    int64_t bytes = 0;
    for (int32_t i = 0; i <= j; i++) {
      int alive = i == j;
      for (int32_t r = i + 1; r < n; r++) {
        alive |= r >= j && (s->reads[step[r]] >> step[i] & 1);
        if (step[r] == step[i]) break;
      }
      bytes += alive ? s->size[step[i]] : 0;
    }
    peak = bytes > peak ? bytes : peak;
  }
  return peak;
}

/* Try all ways to repeat nodes v .. with what is chosen for the ones before. */
static void enumerate(small *s, int32_t v, int64_t time) {
  if (time >= s->best) return;
  if (v == s->n) {
    if (peak_of(s) <= s->budget) s->best = time;
    return;
  }
  enumerate(s, v + 1, time);
  for (int32_t t = v + 1; t < s->n && s->copies > 1; t++) {
    s->runs[t] |= 1U << v;
    enumerate(s, v + 1, time + s->time[v]);
    for (int32_t again = t + 1; again < s->n && s->copies > 2; again++) {
      s->runs[again] |= 1U << v;
      enumerate(s, v + 1, time + 2 * s->time[v]);
      s->runs[again] &= ~(1U << v);
    }
    s->runs[t] &= ~(1U << v);
  }
}

static int64_t oracle(small *s, int32_t copies, int64_t budget) {
  int64_t time = 0;
  for (int32_t v = 0; v < s->n; v++) time += s->time[v];
  memset(s->runs, 0, sizeof s->runs);
  s->copies = copies;
  s->budget = budget;
  s->best = INT64_MAX;
  enumerate(s, 0, time);
  return s->best;
}

typedef struct problem_case {
  plim_graph *graph;
  plim_profile *profile;
  plim_plan_options options;
  plim_problem *problem;
  plim_dag *dag;
} problem_case;

static problem_case case_make(plim_graph *graph) {
  problem_case c = {.graph = graph, .options = plim_plan_options_default()};
  c.options.planner = "moccasin";
  c.options.unpacked = 1;
  cr_assert_eq(plim_profile_from_graph(graph, &c.profile), PLIM_OK);
  cr_assert_eq(plim_problem_make(ctx, graph, c.profile, &c.options, PLIM_CLASS_COPIES, &c.problem), PLIM_OK);
  cr_assert_eq(plim_dag_make(c.problem, INT64_MAX, &c.dag), PLIM_OK);
  return c;
}

static void case_free(problem_case *c) {
  plim_dag_free(c->dag);
  plim_problem_free(c->problem);
  plim_profile_free(c->profile);
  plim_graph_free(c->graph);
}

/* By the tree search from nothing; INT64_MAX: proved that there is none. */
static int64_t by_search(const plim_dag *dag, int32_t copies, int64_t budget) {
  plim_staged_search s = {.dag = dag,
                          .copies = copies,
                          .limit_bytes = budget,
                          .faster_than_ns = INT64_MAX,
                          .nodes = 4000000,
                          .deadline_ns = INT64_MAX,
                          .seed = 1,
                          .best = {.ctx = ctx}};
  cr_assert_eq(plim_staged_search_run(&s, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert(s.is_exhausted);
  plim_repeats_free(&s.best);
  return s.found ? s.best_ns : INT64_MAX;
}

/* By the strategy; what it makes is proved to be the best. options.iterations 0: in the usual number of nodes. */
static int64_t by_strategy(problem_case *c, int32_t copies, int64_t budget) {
  plim_plan *plan = NULL;
  c->options.copies = copies;
  c->options.budget_bytes = budget;
  plim_status status = plim_plan_make(ctx, c->graph, c->profile, &c->options, &plan);
  if (status == PLIM_ENOFIT) return INT64_MAX;
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
  int64_t time_ns = plan->time_ns;
  cr_assert(plan->proved);
  cr_assert_eq(plan->plan_class, PLIM_CLASS_COPIES);
  plim_plan_free(plan);
  return time_ns;
}

/* A random graph, with one to three copies at several budgets. Returns in how many cases ops are recomputed. */
static int each_case(uint64_t seed, int with_strategy) {
  int repeats = 0;
  small s = random_small(seed);
  problem_case c = case_make(dag_make(ctx, s.n, s.size, s.time, s.n_edges, s.edge));
  int64_t peak = peak_of(&s), least = plim_dag_least_peak(c.dag, NULL);
  c.options.iterations = 400000;
  for (int32_t copies = 1; copies <= (s.n < 8 ? 3 : 2); copies++) { /* 6 million ways to have three of eight */
    for (int64_t budget = least; budget <= peak; budget += 1 + (peak - least) / 3) {
      int64_t expected = oracle(&s, copies, budget), found = by_search(c.dag, copies, budget);
      cr_assert_eq(found, expected, "seed %d copies %d budget %d: %lld, not %lld", (int)seed, copies, (int)budget,
                   (long long)found, (long long)expected);
      repeats += expected < INT64_MAX && expected > c.dag->time_ns;
      if (with_strategy) cr_assert_eq(by_strategy(&c, copies, budget), expected, "strategy, seed %d", (int)seed);
    }
  }
  case_free(&c);
  return repeats;
}

Test(moccasin, the_search_equals_exhaustive_search_for_one_two_and_three_copies) {
  int repeats = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++)
    repeats += each_case(seed, seed <= 10);
  cr_assert_geq(repeats, CASES, "only %d cases need repeats", repeats);
}

Test(moccasin, two_copies_do_not_suffice_for_chains_at_the_smallest_budget) {
  for (int32_t layers = 2; layers <= 4; layers++) {
    problem_case c = case_make(dag_chain(ctx, layers, 0));
    int64_t smallest = (int64_t)(layers + 1) * (layers + 2) / 2;
    cr_assert_eq(by_search(c.dag, layers, 3), smallest);
    cr_assert_eq(by_search(c.dag, layers - 1, 3), INT64_MAX);
    case_free(&c);
  }
}

/* 1: the repeat is in the set. */
static int has(const plim_repeats *r, plim_repeat repeat) {
  for (int32_t i = 0; i < r->n; i++) {
    if (r->at[i].stage == repeat.stage && r->at[i].node == repeat.node) return 1;
  }
  return 0;
}

Test(moccasin, schedules_are_brought_into_stages_and_keep_their_repeats) {
  const int32_t runs[] = {0, 1, 2, 0, 1, 3, 0, 0, 4};
  problem_case c = case_make(dag_chain(ctx, 2, 0));
  plim_schedule schedule = {.ctx = ctx};
  plim_repeats repeats = {.ctx = ctx};
  for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
    cr_assert_eq(plim_schedule_add(&schedule, runs[i], 0), PLIM_OK);
  }
  cr_assert_eq(plim_repeats_from_schedule(c.dag, &schedule, 3, &repeats), PLIM_OK);
  cr_assert_eq(repeats.n, 3); /* node 0 twice in stage 4 counts once */
  cr_assert(has(&repeats, (plim_repeat){3, 1}));
  cr_assert(has(&repeats, (plim_repeat){4, 0}));
  cr_assert_eq(plim_repeats_from_schedule(c.dag, &schedule, 2, &repeats), PLIM_OK);
  cr_assert_eq(repeats.n, 2);
  cr_assert_not(has(&repeats, (plim_repeat){3, 0})); /* the latest one stays */
  plim_repeats_free(&repeats);
  plim_schedule_free(&schedule);
  case_free(&c);
}

/* Row N - 2: least time of L(N) at budgets 3, 4, ... N + 2; 0 after the last. */
static const int64_t chain_optimum[][7] = {
    {6, 5}, {10, 8, 7}, {15, 11, 10, 9}, {21, 14, 13, 12, 11}, {28, 18, 16, 15, 14, 13}, {36, 22, 19, 18, 17, 16, 15}};

Test(moccasin, the_usual_number_of_nodes_proves_small_chains) {
  for (int32_t layers = 3; layers <= 5; layers++) {
    problem_case c = case_make(dag_chain(ctx, layers, 0));
    for (int32_t k = 0; k < 7 && chain_optimum[layers - 2][k] > 0; k++) {
      cr_assert_eq(by_strategy(&c, c.dag->n, 3 + k), chain_optimum[layers - 2][k], "L(%d) at %d", layers, 3 + k);
    }
    case_free(&c);
  }
}

/* As many copies as stages are class stages. */
Test(moccasin, with_a_copy_for_each_stage_the_search_equals_exhaustive_search_of_class_stages) {
  int repeats = 0;
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    small s = random_small(seed);
    problem_case c = case_make(dag_make(ctx, s.n, s.size, s.time, s.n_edges, s.edge));
    int64_t least = plim_dag_least_peak(c.dag, NULL);
    for (int64_t budget = least; budget <= least + 6; budget += 2) {
      int64_t expected = stage_oracle(c.dag, budget), found = by_search(c.dag, s.n, budget);
      cr_assert_eq(found, expected < 0 ? INT64_MAX : expected, "seed %d budget %d", (int)seed, (int)budget);
      repeats += expected > c.dag->time_ns;
    }
    case_free(&c);
  }
  cr_assert_geq(repeats, 50, "only %d cases need repeats", repeats);
}

Test(moccasin, golden_cases_of_class_stages) {
  for (int32_t layers = 2; layers <= 7; layers++) {
    problem_case c = case_make(dag_chain(ctx, layers, 0));
    for (int32_t k = 0; k < 7 && chain_optimum[layers - 2][k] > 0; k++) {
      int64_t found = by_search(c.dag, c.dag->n, 3 + k);
      cr_assert_eq(found, chain_optimum[layers - 2][k], "L(%d) at %d: %lld", layers, 3 + k, (long long)found);
    }
    case_free(&c);
  }
  const int64_t size[] = {2, 1, 3, 2, 5, 1}, one[] = {1, 1, 1, 1, 1, 1}, two_size[] = {1, 6, 6, 1, 1, 1};
  const dag_edge edge[] = {{0, 1}, {0, 2}, {2, 3}, {1, 5}, {3, 5}};
  const dag_edge two_edge[] = {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}};
  const int64_t time[] = {INT64_MAX, 9, 8, 6};
  problem_case c = case_make(dag_make(ctx, 6, size, one, 5, edge));
  for (int32_t k = 0; k < 4; k++) cr_assert_eq(by_search(c.dag, 6, 5 + k), time[k], "three levels at %d", 5 + k);
  case_free(&c);
  c = case_make(dag_make(ctx, 6, two_size, one, 6, two_edge));
  cr_assert_eq(by_search(c.dag, 6, 7), INT64_MAX);
  cr_assert_eq(by_search(c.dag, 6, 8), 8);
  cr_assert_eq(by_search(c.dag, 6, 13), 6);
  case_free(&c);
}

static plim_status search_once(plim_context *failing, void *user) {
  (void)user;
  small s = random_small(5);
  plim_graph *graph = dag_make(ctx, s.n, s.size, s.time, s.n_edges, s.edge);
  problem_case c = case_make(graph);
  plim_problem problem = *c.problem;
  plim_dag *dag = NULL;
  problem.ctx = failing;
  plim_staged_search search = {.copies = 2,
                               .limit_bytes = plim_dag_least_peak(c.dag, NULL),
                               .faster_than_ns = INT64_MAX,
                               .nodes = 40, /* too few for the tree: neighbourhoods are searched as well */
                               .deadline_ns = INT64_MAX,
                               .seed = 1,
                               .best = {.ctx = failing}};
  plim_status status = plim_dag_make(&problem, INT64_MAX, &dag);
  search.dag = dag;
  if (status == PLIM_OK) status = plim_staged_search_run(&search, NULL);
  plim_repeats_free(&search.best);
  plim_dag_free(dag);
  case_free(&c);
  return status;
}

Test(moccasin, a_refused_allocation_leaves_nothing_after) {
  cr_assert_geq(plim_test_each_allocation(search_once, NULL), 10);
}

Test(moccasin, plans_kept_for_three_copies_do_not_answer_for_two) {
  problem_case c = case_make(dag_chain(ctx, 3, 0));
  (void)plim_test_folder();
  c.options.front_folder = plim_test_path("curves");
  c.options.iterations = 400000;
  cr_assert_eq(by_strategy(&c, 3, 3), 10);
  cr_assert_eq(by_strategy(&c, 2, 3), INT64_MAX);
  case_free(&c);
  plim_test_folder_remove();
}

/* Work counted in allocations: schedules that are tried make copies. */
static int64_t work_of_smallest(const plim_graph *graph, const plim_profile *profile, int64_t time_limit_ns) {
  plim_plan_options options = plim_plan_options_default();
  plim_plan_floor floor;
  options.planner = "moccasin";
  options.unpacked = 1;
  options.time_limit_ns = time_limit_ns;
  int64_t before = plim_context_memory(ctx).allocations;
  cr_assert_eq(plim_plan_smallest(ctx, graph, profile, &options, &floor, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  return plim_context_memory(ctx).allocations - before;
}

Test(moccasin, no_part_of_the_search_goes_on_when_the_time_is_over) {
  plim_generate_options generate = plim_generate_options_default("layered");
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  generate.n = 30;
  cr_assert_eq(plim_graph_generate(ctx, &generate, &graph), PLIM_OK);
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  int64_t none = work_of_smallest(graph, profile, 1), full = work_of_smallest(graph, profile, 0);
  cr_assert_lt(none, full / 10, "%lld allocations, with enough time %lld", (long long)none, (long long)full);
  plim_profile_free(profile);
  plim_graph_free(graph);
}
