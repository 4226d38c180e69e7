/* planner/spaces/search/space_search.c: plans without a solver are within a few percent of the known optima, and
 * there are plans for graphs that no program takes. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "planner/spaces/problem/space_problem.h"
#include "planner/spaces/search/space_search_internal.h"
#include "planner/spaces/space_make.h"
#include "runtime/base/text.h"
#include "runtime/import/importers.h"
#include "tests/support/space_cases.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"
#include "tools/plimsoll-bench/joint_case.h"

typedef struct asked {
  int32_t objective;
  double deadline_factor;
  int32_t page, recompute;
} asked;

/* The objective of the search's plan, which was checked; -1: refused. */
static double found(plim_context *ctx, const plim_graph *graph, const plim_platform *platform, const int64_t *budget,
                    asked a) {
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  options.objective = a.objective;
  options.budget = budget;
  options.deadline_factor = a.deadline_factor;
  options.page = a.page;
  options.recompute = a.recompute;
  options.iterations = 2000;
  options.together = 0; /* as in the published models, of which the optima are */
  plim_status status = plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  double value = plan ? plim_space_plan_value(plan) : -1;
  for (int32_t s = 0; plan && s < 2 && s < plan->n_spaces; s++) cr_assert_leq(plan->space[s].peak_bytes, budget[s]);
  if (plan) cr_assert_leq(plan->bound, value);
  plim_space_plan_free(plan);
  return value;
}

static void expect_near(double value, double optimum, double more, const char *name, long long bytes) {
  cr_expect_geq(value, optimum * (1 - 1e-6), "%s, %lld bytes: %.9g is below the optimum %.9g", name, bytes, value,
                optimum);
  cr_expect_leq(value, optimum * (1 + more), "%s, %lld bytes: %.9g, the optimum is %.9g", name, bytes, value, optimum);
}

Test(space_search, placement_is_within_three_percent_of_every_known_optimum) {
  plim_context *ctx = plim_test_context();
  for (const space_optimum *golden = space_optima; golden->name; golden++) {
    plim_graph *graph = space_case_graph(ctx, space_case_named(golden->name));
    plim_platform *platform = NULL;
    cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
    double value = found(ctx, graph, platform, golden->budget, (asked){PLIM_OBJECTIVE_SERIAL, 0, 1, 1});
    if (golden->serial < 0) cr_expect_eq(value, -1, "%s has no plan", golden->name);
    if (golden->serial >= 0) {
      expect_near(value, (double)golden->serial, 0.03, golden->name, (long long)golden->budget[0]);
    }
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  plim_test_context_end(ctx);
}

typedef struct energies {
  int64_t ram;
  double golden[3]; /* all, recompute only, paging only */
} energies;

static void expect_energies(plim_context *ctx, plim_graph *graph, const char *name, double deadline,
                            const energies *rows, size_t n_rows) {
  plim_platform *platform = NULL;
  cr_assert_eq(plim_platform_built_in(ctx, name, &platform), PLIM_OK);
  for (size_t i = 0; i < n_rows; i++) {
    const int64_t budget[] = {rows[i].ram, INT64_MAX};
    for (int m = 0; m < 3; m++) {
      double value = found(ctx, graph, platform, budget, (asked){PLIM_OBJECTIVE_ENERGY, deadline, m != 1, m != 2});
      expect_near(value, rows[i].golden[m], 0.01, name, (long long)rows[i].ram);
    }
  }
  plim_platform_free(platform);
  plim_graph_free(graph);
}

/* Of the search a deadline bounds the makespan, copies and all. */
Test(space_search, energy_is_within_one_percent_of_every_published_optimum) {
  static const energies linear[] = {
      {7000, {0.10467864, 0.10467864, 0.10482189}}, {6000, {0.10467864, 0.10467864, 0.10520915}},
      {4000, {0.10472616, 0.10472616, 0.10534073}}, {3600, {0.10485774, 0.10581912, 0.10548398}},
      {3300, {0.10487337, 0.10582308, 0.10557474}}, {3256, {0.10491297, 0.10586268, 0.10562723}}};
  static const energies transformer[] = {{35651584, {8.2588142, 8.2588142, 8.7155918}},
                                         {33030144, {8.4882219, 8.6147319, 8.9448529}},
                                         {31457280, {8.6147319, 8.6147319, 9.1742606}}};
  plim_context *ctx = plim_test_context();
  expect_energies(ctx, space_linear(ctx), "m0", 1.3, linear, sizeof linear / sizeof *linear);
  expect_energies(ctx, space_transformer(ctx), "m4", 1.5, transformer, sizeof transformer / sizeof *transformer);
  plim_test_context_end(ctx);
}

/* Where recompute or paging alone is best, rounds that may do both have to find that too. */
Test(space_search, what_may_page_and_recompute_is_never_above_either_alone) {
  plim_context *ctx = plim_test_context();
  plim_platform *platform = NULL;
  cr_assert_eq(plim_platform_built_in(ctx, "m4", &platform), PLIM_OK);
  for (uint64_t seed = test_seed(0), end = seed + 12; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    space_case c;
    space_case_random(&random, SPACE_OPS, &c);
    plim_graph *graph = space_case_flops(ctx, &c);
    const int64_t budget[] = {plim_space_keep_all_bytes(graph) * (int64_t)test_random_between(&random, 60, 95) / 100,
                              INT64_MAX};
    double both = found(ctx, graph, platform, budget, (asked){PLIM_OBJECTIVE_ENERGY, 1.5, 1, 1});
    for (int m = 0; m < 2; m++) {
      double alone = found(ctx, graph, platform, budget, (asked){PLIM_OBJECTIVE_ENERGY, 1.5, m, !m});
      if (alone < 0) continue;
      cr_expect(both >= 0 && both <= alone * (1 + 1e-12), "seed %d: %.9g, alone %.9g", (int)seed, both, alone);
    }
    plim_graph_free(graph);
  }
  plim_platform_free(platform);
  plim_test_context_end(ctx);
}

/* 86: two outputs leave for the time of a repeat that reads them; they stay while they are copied out, which takes
 * longer than the runs beside them. Pages that leave at once take 139 ms. 1109: ops of two devices change places; with
 * ops that move to one device alone it takes 67.3 ms. */
Test(space_search, what_one_kind_of_change_does_not_find_is_found) {
  static const struct {
    uint64_t seed;
    double program_ms; /* of the program's plan */
  } cases[] = {{86, 131}, {1109, 65.692564}};
  plim_context *ctx = plim_test_context();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    joint_case c;
    cr_assert_eq(joint_case_make(ctx, cases[i].seed, JOINT_OPS, &c), PLIM_OK, "%s", plim_context_error(ctx));
    plim_space_plan *plan = NULL;
    plim_space_options options = plim_space_options_default();
    options.budget = c.budget;
    options.iterations = 6000;
    cr_assert_eq(plim_space_plan_make(ctx, c.graph, c.platform, &options, NULL, &plan), PLIM_OK);
    cr_expect_leq((double)plan->makespan_ns, 1.005e6 * cases[i].program_ms, "seed %d: %lld ns", (int)cases[i].seed,
                  (long long)plan->makespan_ns);
    plim_space_plan_free(plan);
    joint_case_free(&c);
  }
  plim_test_context_end(ctx);
}

/* Budgets grow one after the other, then links get faster; each plan knows those before it. Without that, one of
 * 360 such plans is worse than the one before. */
enum { GROWING = 9, GROWING_CASES = 16 };

static int worse_as_they_grow(plim_context *ctx, const joint_case *c) {
  plim_space_plan *plan[GROWING] = {NULL};
  int worse = 0;
  double last = -1;
  for (int i = 0; i < GROWING; i++) {
    int64_t budget[JOINT_SPACES];
    plim_space_options options = plim_space_options_default();
    int steps = i < 6 ? i : 5;
    for (int s = 0; s < JOINT_SPACES; s++) {
      budget[s] =
          c->budget[s] < INT64_MAX && (steps + s) / 2 > 0 ? c->budget[s] / 20 * (20 + (steps + s) / 2) : c->budget[s];
    }
    for (int32_t l = 0; i >= 6 && l < c->platform->n_links; l++) c->platform->link[l].bytes_per_second *= 1.3;
    options.budget = budget;
    options.iterations = 3;
    options.known = (const plim_space_plan *const *)plan;
    options.n_known = i;
    plim_status status = plim_space_plan_make(ctx, c->graph, c->platform, &options, NULL, &plan[i]);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
    double value = plan[i] ? plim_space_plan_value(plan[i]) : -1;
    worse += last >= 0 && (value < 0 || value > last);
    last = value >= 0 ? value : last;
  }
  for (int i = 0; i < GROWING; i++) plim_space_plan_free(plan[i]);
  return worse;
}

Test(space_search, plans_that_are_known_keep_larger_budgets_and_faster_links_from_being_worse) {
  plim_context *ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + GROWING_CASES; test_seed_at(seed) < end; seed++) {
    joint_case c;
    cr_assert_eq(joint_case_make(ctx, seed, JOINT_OPS, &c), PLIM_OK, "%s", plim_context_error(ctx));
    int worse = worse_as_they_grow(ctx, &c);
    cr_expect_eq(worse, 0, "seed %llu: %d plans are worse", (unsigned long long)seed, worse);
    joint_case_free(&c);
  }
  plim_test_context_end(ctx);
}

/* The budget of one space grows, those of the others stay: each plan fits its own, and none is worse than one before.
 * */
static void expect_front(plim_context *ctx, const joint_case *c, int32_t space, uint64_t seed) {
  enum { POINTS = 6 };
  plim_space_plan *plan[POINTS];
  plim_space_options options = plim_space_options_default();
  int64_t whole = plim_space_keep_all_bytes(c->graph), budget[POINTS];
  double last = -1;
  for (int i = 0; i < POINTS; i++) budget[i] = whole / 10 * (4 + i);
  options.budget = c->budget;
  options.iterations = 4;
  cr_assert_eq(plim_space_plan_front(ctx, c->graph, c->platform, &options, space, POINTS, budget, plan), PLIM_OK, "%s",
               plim_context_error(ctx));
  for (int i = 0; i < POINTS; i++) {
    cr_expect(last < 0 || plan[i], "seed %d: no plan for a larger budget", (int)seed);
    if (!plan[i]) continue;
    cr_assert_eq(plim_space_plan_check(ctx, c->graph, plan[i]), PLIM_OK, "%s", plim_context_error(ctx));
    for (int32_t s = 0; s < plan[i]->n_spaces; s++) {
      cr_expect_leq(plan[i]->space[s].peak_bytes, s == space ? budget[i] : c->budget[s]);
    }
    double value = plim_space_plan_value(plan[i]);
    cr_expect(last < 0 || value <= last, "seed %d, space %d, point %d: %g after %g", (int)seed, (int)space, i, value,
              last);
    last = value;
    plim_space_plan_free(plan[i]);
  }
}

Test(space_search, the_front_over_one_space_never_rises) {
  plim_context *ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 16; test_seed_at(seed) < end; seed++) {
    joint_case c;
    cr_assert_eq(joint_case_make(ctx, seed, JOINT_OPS, &c), PLIM_OK, "%s", plim_context_error(ctx));
    expect_front(ctx, &c, 0, seed);
    if (c.platform->n_devices == 2) expect_front(ctx, &c, 1, seed);
    joint_case_free(&c);
  }
  plim_test_context_end(ctx);
}

typedef struct stop_at {
  plim_context *ctx;
  int32_t left; /* reports until the cancel */
} stop_at;

static void stop(void *user, const plim_progress *progress) {
  stop_at *at = user;
  (void)progress;
  if (--at->left == 0) plim_context_cancel(at->ctx);
}

/* Cancel a front at the report `reports`. Each of its plans states what no plan is below, also where a budget was not
 * reached and has the plan of a smaller one. Returns 1 where all budgets were reached. */
static int stop_front(uint64_t seed, int32_t reports) {
  enum { POINTS = 6 };
  joint_case c;
  plim_space_plan *plan[POINTS];
  plim_space_options options = plim_space_options_default();
  stop_at at = {.ctx = plim_test_context(), .left = reports};
  plim_space_problem *problem = NULL;
  int64_t budget[POINTS];
  cr_assert_eq(joint_case_make(at.ctx, seed, JOINT_OPS, &c), PLIM_OK, "%s", plim_context_error(at.ctx));
  cr_assert_eq(plim_space_problem_make(c.graph, c.platform, 0, &problem), PLIM_OK);
  const double least_ns = (double)problem->fastest_ns / c.platform->n_devices;
  plim_space_problem_free(problem);
  for (int i = 0; i < POINTS; i++) budget[i] = plim_space_keep_all_bytes(c.graph) / 10 * (4 + i);
  options.budget = c.budget;
  options.iterations = 4;
  plim_context_set_progress(at.ctx, stop, &at);
  plim_status status = plim_space_plan_front(at.ctx, c.graph, c.platform, &options, 0, POINTS, budget, plan);
  cr_assert(status == PLIM_OK, "%s", plim_context_error(at.ctx));
  for (int i = 0; i < POINTS; i++) {
    if (plan[i]) cr_expect_geq(plan[i]->bound, least_ns, "point %d", i);
    plim_space_plan_free(plan[i]);
  }
  plim_context_set_progress(at.ctx, NULL, NULL);
  joint_case_free(&c);
  plim_test_context_end(at.ctx);
  return at.left > 0;
}

Test(space_search, a_budget_that_a_front_did_not_reach_has_a_bound) {
  for (int32_t reports = 1; !stop_front(test_seed(1), reports); reports *= 2) continue;
}

Test(space_search, thousands_of_ops_have_a_plan_at_a_tenth_of_their_bytes) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = space_chain(ctx, 1000);
  plim_platform *platform = NULL;
  plim_space_plan *plan = NULL;
  int64_t budget[] = {10000, INT64_MAX};
  plim_space_options options = plim_space_options_default();
  options.budget = budget;
  options.iterations = 20;
  cr_assert_eq(plim_platform_built_in(ctx, "m4", &platform), PLIM_OK);
  cr_assert_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_expect_leq(plan->space[0].peak_bytes, 10000);
  cr_expect_lt((double)plan->makespan_ns, 1.34 * plan->keep_all); /* every forward op again: 4/3 */
  plim_space_plan_free(plan);
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* A chain whose last op also reads its middle; n / 4 before the end memory is short. */
static plim_graph *long_chain(plim_context *ctx, int32_t n, int devices) {
  plim_text t = {.ctx = ctx};
  plim_graph *graph = NULL;
  plim_text_format(&t, "{\"graph\": {\"name\": \"long\"%s}, \"nodes\": [",
                   devices ? ", \"devices\": [\"d0\", \"d1\"]" : "");
  for (int32_t i = 0; i < n; i++) {
    plim_text_format(&t, "%s{\"id\": %d, \"out_cost\": %d, ", i > 0 ? ", " : "", i, i == 3 * (n / 4) ? 2000 : 1000);
    if (!devices) plim_text_add(&t, "\"flops\": 100000}");
    if (devices) {
      plim_text_format(&t, "\"durations\": {\"d0\": %d, \"d1\": %d}, \"copies\": {}}", i < n / 2 ? 1 : 9,
                       i < n / 2 ? 9 : 1);
    }
  }
  plim_text_add(&t, "], \"links\": [");
  for (int32_t i = 1; i < n; i++) plim_text_format(&t, "{\"source\": %d, \"target\": %d}, ", i - 1, i);
  plim_text_format(&t, "{\"source\": %d, \"target\": %d}]}\n", n / 2, n - 1);
  cr_assert_eq(plim_import_nx(ctx, "long.json", t.chars, t.length, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  plim_text_free(&t);
  return graph;
}

/* What one op needs again goes back to the first op of the chain: the depth of calls has a bound. */
Test(space_search, the_stack_does_not_grow_with_the_graph) {
  const struct rlimit small = {512 << 10, 512 << 10};
  const int64_t budget[] = {3500, INT64_MAX}, both[] = {5000, 5000};
  plim_context *ctx = plim_test_context();
  for (int devices = 0; devices < 2; devices++) {
    plim_graph *graph = long_chain(ctx, 20000, devices);
    plim_platform *platform = NULL;
    plim_space_plan *plan = NULL;
    plim_space_options options = plim_space_options_default();
    options.objective = PLIM_OBJECTIVE_SERIAL;
    options.budget = devices ? both : budget;
    options.iterations = 1;
    cr_assert_eq(
        devices ? plim_platform_from_costs(graph->costs, &platform) : plim_platform_built_in(ctx, "m4", &platform),
        PLIM_OK);
    cr_assert_eq(setrlimit(RLIMIT_STACK, &small), 0);
    cr_assert_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_OK, "%s",
                 plim_context_error(ctx));
    plim_space_plan_free(plan);
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  plim_test_context_end(ctx);
}

/* Where planning used up its time, no larger budgets are tried, and the sentence claims nothing of them. */
Test(space_search, a_refusal_has_no_time_of_its_own) {
  static const int64_t budget[] = {5000000, 5000000}, limits[] = {0, 1};
  static const char *const words[] = {"all of them times 1.2 have one",
                                      "time was over before larger budgets were tried"};
  plim_context *ctx = plim_test_context();
  plim_graph *graph = space_case_graph(ctx, space_case_named("multi_skip_copy"));
  plim_platform *platform = NULL;
  cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
  for (int i = 0; i < 2; i++) {
    plim_space_plan *plan = NULL;
    plim_space_outcome outcome = {.cut_short = -1};
    plim_space_options options = plim_space_options_default();
    options.objective = PLIM_OBJECTIVE_SERIAL;
    options.budget = budget;
    options.iterations = 200;
    options.time_limit_ns = limits[i];
    cr_assert_eq(plim_space_plan_make(ctx, graph, platform, &options, &outcome, &plan), PLIM_ENOFIT);
    cr_assert_not_null(strstr(plim_context_error(ctx), words[i]), "%s", plim_context_error(ctx));
    cr_assert_eq(outcome.cut_short, i);
  }
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

static double cpu_seconds(void) {
  struct rusage used;
  cr_assert_eq(getrusage(RUSAGE_SELF, &used), 0);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* The first plan is made in one pass; what comes after it, and the bound before it, read the clock. */
Test(space_search, twenty_thousand_ops_have_a_plan_within_a_second) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = space_chain(ctx, 10000);
  plim_platform *platform = NULL;
  plim_space_plan *plan = NULL;
  const int64_t budget[] = {300000, INT64_MAX};
  plim_space_options options = plim_space_options_default();
  options.budget = budget;
  options.time_limit_ns = 1000000000;
  cr_assert_eq(plim_platform_built_in(ctx, "m4", &platform), PLIM_OK);
  double began = cpu_seconds();
  cr_assert_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_expect_lt(cpu_seconds() - began, 3); /* with sanitizers; without covering on demand 8 s and more */
  cr_expect_leq(plan->space[0].peak_bytes, 300000);
  plim_space_plan_free(plan);
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* All runs on one device. Returns 1 where the sequence fits; then it is within the budgets. */
static int fits_on_demand(const plim_space_problem *p, const int64_t *budget, int recompute) {
  plim_space_sequence s = {.problem = NULL};
  uint8_t taken[8];
  plim_space_weights w = {.run_ns = 1, .copy_ns = 0.5};
  plim_space_rules rules = {.budget = budget, .link_taken = taken, .recompute = recompute, .devices = 1};
  int32_t fits;
  memset(taken, 1, sizeof taken);
  cr_assert_eq(plim_space_sequence_init(&s, p), PLIM_OK);
  cr_assert_eq(plim_space_sequence_reserve(&s, p->n), PLIM_OK);
  for (s.n = 0; s.n < p->n; s.n++) s.event[s.n] = (plim_space_event){PLIM_SPACE_RUN, s.n, 0};
  cr_assert_eq(plim_space_demand(&s, &rules, &w, &fits), PLIM_OK);
  if (fits) cr_expect(s.valid && plim_space_sequence_is_within(&s, budget));
  plim_space_sequence_free(&s);
  return fits;
}

Test(space_search, covering_on_demand_is_within_the_budgets_and_pages_wherever_ops_have_room) {
  plim_context *ctx = plim_test_context();
  int fitting = 0; /* a recompute below another run may find no room beside what that run holds */
  for (int i = 0; i < 200; i++) {
    uint64_t random = (uint64_t)i;
    space_case c;
    plim_space_problem *p = NULL;
    plim_platform *platform = NULL;
    int64_t most = 0;
    space_case_random(&random, (int32_t)test_random_between(&random, 4, SPACE_OPS), &c);
    plim_graph *graph = space_case_flops(ctx, &c);
    cr_assert_eq(plim_platform_built_in(ctx, "m4", &platform), PLIM_OK);
    cr_assert_eq(plim_space_problem_make(graph, platform, 0, &p), PLIM_OK, "%s", plim_context_error(ctx));
    for (int32_t v = 0; v < p->n; v++) {
      int64_t bytes = p->node[v].bytes;
      for (int32_t k = 0; k < p->node[v].n_preds; k++) bytes += p->node[p->node[v].pred[k]].bytes;
      most = bytes > most ? bytes : most;
    }
    const int64_t least[] = {most, INT64_MAX}, none[] = {most, 0}, whole[] = {plim_space_keep_all_bytes(graph), 0};
    cr_expect(fits_on_demand(p, least, 0), "instance %d", i);
    fitting += fits_on_demand(p, least, 1);
    cr_expect(fits_on_demand(p, whole, 0), "instance %d", i);
    fitting += fits_on_demand(p, none, 1);
    plim_space_problem_free(p);
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  cr_expect_gt(fitting, 200);
  plim_test_context_end(ctx);
}
