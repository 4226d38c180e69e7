/* planner/spaces/space_*.c: published optima of POET and XEngine, the residency search as an oracle of placement, and
 * the inputs on which the originals fail. With PLIM_TEST_LONG=1 in the environment two rows that take minutes run,
 * too. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/solvers/solver.h"
#include "planner/spaces/space_make.h"
#include "runtime/base/text.h"
#include "runtime/import/importers.h"
#include "tests/support/space_cases.h"
#include "tests/support/space_oracle.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

static void skip_without_solver(plim_context *ctx) {
  plim_solver *solver = NULL;
  if (plim_solver_open(ctx, NULL, &solver) != PLIM_OK) cr_skip_test("%s", plim_context_error(ctx));
  plim_solver_close(solver);
}

/* ---- placement ---- */

/* The sum of times of the best plan, proved; -1: refused. */
static int64_t serial_of(plim_context *ctx, const space_case *c, const int64_t *budget) {
  plim_graph *graph = space_case_graph(ctx, c);
  plim_platform *platform = NULL;
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  options.planner = "xengine";
  options.budget = budget;
  cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
  plim_status status = plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  int64_t serial = plan ? plan->serial_ns : -1;
  if (plan) {
    cr_assert(plan->proved);
    cr_assert_eq(plan->plan_class, PLIM_SPACE_PLAN_PLACED); /* of which the bound is, where the search has less */
    for (int32_t s = 0; s < 2 && s < plan->n_spaces; s++) cr_assert_leq(plan->space[s].peak_bytes, budget[s]);
    cr_assert_leq(plan->makespan_ns, plan->serial_ns);
  }
  plim_space_plan_free(plan);
  plim_platform_free(platform);
  plim_graph_free(graph);
  return serial;
}

Test(space_planners, placement_reaches_the_true_optimum_of_every_known_instance) {
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  for (const space_optimum *golden = space_optima; golden->name; golden++) {
    int64_t found = serial_of(ctx, space_case_named(golden->name), golden->budget);
    cr_expect_eq(found, golden->serial, "%s: %lld, not %lld", golden->name, (long long)found,
                 (long long)golden->serial);
  }
  plim_test_context_end(ctx);
}

/* ---- the oracle ---- */

Test(space_planners, placement_is_never_below_the_residency_search_and_nearly_always_equal) {
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
#ifdef PLIM_SANITIZED
  enum { GRAPHS = 60 };
#else
  enum { GRAPHS = 200 };
#endif
  int equal = 0, worse = 0, refused = 0;
  for (uint64_t seed = test_seed(1), end = seed + GRAPHS; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    space_case c;
    space_case_random(&random, (int32_t)test_random_between(&random, 3, 5), &c);
    int64_t budget[2] = {test_random_between(&random, 6, 16), test_random_between(&random, 6, 16)};
    int64_t least = space_oracle_sum(&c, budget), found = serial_of(ctx, &c, budget);
    cr_assert(least < 0 ? found < 0 : found < 0 || found >= least, "seed %llu: %lld, the search has %lld",
              (unsigned long long)seed, (long long)found, (long long)least);
    equal += found == least && least >= 0;
    refused += least < 0;
    worse += found != least;
  }
  cr_assert_geq(equal, GRAPHS / 2, "%d equal, %d worse, %d refused", equal, worse, refused);
  cr_assert_leq(worse, GRAPHS / 10, "%d equal, %d worse, %d refused", equal, worse, refused);
  plim_test_context_end(ctx);
}

/* ---- paging and recompute ---- */

typedef enum mode { JOINT, RECOMPUTE_ONLY, PAGE_ONLY } mode;

static double energy_of(plim_context *ctx, const plim_graph *graph, const char *name, double factor, int64_t ram,
                        mode m, plim_space_plan **out) {
  plim_platform *platform = NULL;
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  int64_t budget[2] = {ram, INT64_MAX};
  options.planner = "poet";
  options.budget = budget;
  options.deadline_factor = factor;
  options.page = m != RECOMPUTE_ONLY;
  options.recompute = m != PAGE_ONLY;
  cr_assert_eq(plim_platform_built_in(ctx, name, &platform), PLIM_OK);
  cr_assert_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_OK, "%s",
               plim_context_error(ctx));
  double energy = plan->energy_joule;
  cr_assert_leq(plan->space[0].peak_bytes, ram);
  for (int32_t c = 0; c < plan->n_commands && m == RECOMPUTE_ONLY; c++) {
    cr_assert_eq(plan->command[c].kind, PLIM_SPACE_COMMAND_RUN);
  }
  plim_platform_free(platform);
  if (out) {
    *out = plan;
  } else {
    plim_space_plan_free(plan);
  }
  return energy;
}

static void expect_energy(double found, double golden) {
  cr_expect_lt(fabs(found / golden - 1), 1e-6, "%.9g J, not %.9g", found, golden);
}

Test(space_planners, energies_of_the_small_net_are_those_of_poet_in_every_mode) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const struct {
    int64_t ram;
    double golden[3];
  } rows[] = {{7000, {0.10467864, 0.10467864, 0.10482189}}, {6000, {0.10467864, 0.10467864, 0.10520915}},
              {4000, {0.10472616, 0.10472616, 0.10534073}}, {3300, {0.10487337, 0.10582308, 0.10557474}},
              {7416, {0.10467864, 0.10467864, 0.10467864}}, {6500, {0.10467864, 0.10467864, 0.10496513}},
              {5000, {0.10467864, 0.10467864, 0.10520915}}, {4500, {0.10467864, 0.10467864, 0.10520915}},
              {3600, {0.10485774, 0.10581912, 0.10548398}}, {3256, {0.10491297, 0.10586268, 0.10562723}}};
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  plim_graph *graph = space_linear(ctx);
  cr_assert_eq(graph->n_ops, 27);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (int m = JOINT; m <= PAGE_ONLY; m++) {
      expect_energy(energy_of(ctx, graph, "m0", 1.3, rows[i].ram, (mode)m, NULL), rows[i].golden[m]);
    }
  }
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

Test(space_planners, energies_of_a_transformer_block_are_those_of_poet_in_every_mode) {
  static const struct {
    int64_t ram;
    double golden[3];
  } rows[] = {{37748736, {8.2567764, 8.2567764, 8.2567764}},
              {35651584, {8.2588142, 8.2588142, 8.7155918}},
              {34603008, {8.2588142, 8.2588142, 8.7155918}},
              {33030144, {8.4882219, 8.6147319, 8.9448529}},
              {31457280, {8.6147319, 8.6147319, 9.1742606}}};
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  plim_graph *graph = space_transformer(ctx);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (int m = JOINT; m <= PAGE_ONLY; m++) {
      expect_energy(energy_of(ctx, graph, "m4", 1.5, rows[i].ram, (mode)m, NULL), rows[i].golden[m]);
    }
  }
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* ---- copies beside compute ---- */

/* A device of 1e6 FLOP per second whose link takes `times` seconds for 100 bytes each way. */
static plim_platform *gpu(plim_context *ctx, double times) {
  plim_text t = {.ctx = ctx};
  plim_platform *platform = NULL;
  plim_text_add(&t,
                "{\"devices\": [{\"name\": \"gpu\", \"flop_per_second\": 1e6, \"flop_per_joule\": 1e9, "
                "\"idle_watt\": 0, \"spaces\": [\"vram\", \"host\"]}], \"links\": [");
  for (int way = 0; way < 2; way++) {
    plim_text_format(&t,
                     "%s{\"from\": \"%s\", \"to\": \"%s\", \"latency_s\": 0, \"bytes_per_second\": ", way ? ", " : "",
                     way ? "host" : "vram", way ? "vram" : "host");
    plim_text_real(&t, 100 / times);
    plim_text_add(&t, ", \"watt\": 0, \"duplex\": true}");
  }
  plim_text_add(&t, "]}\n");
  cr_assert_eq(plim_platform_parse(ctx, "gpu.json", t.chars, t.length, &platform), PLIM_OK, "%s",
               plim_context_error(ctx));
  plim_text_free(&t);
  return platform;
}

/* The program's own objective in seconds; -1: refused. Whatever the plan comes to, it was checked. */
static double fluid_of(plim_context *ctx, const plim_graph *graph, const plim_platform *platform, int64_t vram,
                       mode m) {
  plim_space_plan *plan = NULL;
  plim_space_outcome outcome = {0};
  plim_space_options options = plim_space_options_default();
  int64_t budget[2] = {vram, INT64_MAX};
  options.planner = "milp";
  options.budget = budget;
  options.page = m != RECOMPUTE_ONLY;
  options.recompute = m != PAGE_ONLY;
  plim_status status = plim_space_plan_make(ctx, graph, platform, &options, &outcome, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  plim_space_plan_free(plan);
  /* where the program has no point the search may still have a plan: it reserves nothing that is not used */
  return status == PLIM_OK && isfinite(outcome.model_objective) ? outcome.model_objective * 1e-9 : -1;
}

Test(space_planners, times_of_chains_with_copies_beside_compute_are_the_known_ones) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const struct {
    int32_t layers;
    int32_t only_long; /* with PLIM_TEST_LONG: 1 the row, 2 its joint program; the solver takes minutes */
    double times;
    int64_t vram;
    double golden[3]; /* joint, recompute only, paging only; -1: infeasible */
  } rows[] = {{6, 0, 1.5, 810, {18.1, 18.1, 18.1}}, {6, 0, 1.5, 710, {18.1, 18.1, 18.1}},
              {6, 0, 1.5, 610, {18.1, 19.1, 18.1}}, {6, 0, 1.5, 510, {18.1, 20.1, 18.1}},
              {6, 0, 1.5, 410, {24.1, 24.1, -1}},   {8, 0, 2.5, 810, {24.1, 25.1, 24.1}},
              {8, 2, 2.5, 710, {24.1, 26.1, 24.1}}, {8, 1, 2.5, 610, {24.5, 27.1, 24.5}},
              {8, 1, 2.5, 510, {27.0, 29.1, 29.0}}, {8, 0, 2.5, 410, {39.1, 39.1, -1}}};
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const int only_quick = !getenv("PLIM_TEST_LONG");
    if (rows[i].only_long == 1 && only_quick) continue;
    plim_graph *graph = space_chain(ctx, rows[i].layers);
    plim_platform *platform = gpu(ctx, rows[i].times);
    for (int m = rows[i].only_long == 2 && only_quick ? RECOMPUTE_ONLY : JOINT; m <= PAGE_ONLY; m++) {
      double found = fluid_of(ctx, graph, platform, rows[i].vram, (mode)m);
      cr_expect_lt(fabs(found - rows[i].golden[m]), 1e-6 * fabs(rows[i].golden[m]),
                   "%d layers, %lld bytes: %.9g, not %.9g", rows[i].layers, (long long)rows[i].vram, found,
                   rows[i].golden[m]);
    }
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  plim_test_context_end(ctx);
}

/* ---- refusals ---- */

static plim_status status_of(plim_context *ctx, const char *name, const char *planner, int32_t objective) {
  plim_graph *graph = space_linear(ctx);
  plim_platform *platform = NULL;
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  options.planner = planner;
  options.objective = objective;
  plim_status status = plim_platform_built_in(ctx, name, &platform);
  if (status == PLIM_OK) status = plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan);
  plim_space_plan_free(plan);
  plim_platform_free(platform);
  plim_graph_free(graph);
  return status;
}

Test(space_planners, a_platform_without_published_rates_says_what_to_give) {
  plim_context *ctx = plim_test_context();
  cr_assert_eq(status_of(ctx, "jetsontx2", "poet", -1), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(ctx), "FLOP per second and FLOP per joule were not published; give"));
  cr_assert_eq(status_of(ctx, "m5", "poet", -1), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "no platform is called \"m5\""));
  plim_test_context_end(ctx);
}

Test(space_planners, a_planner_refuses_an_objective_that_is_not_its_own) {
  plim_context *ctx = plim_test_context();
  cr_assert_eq(status_of(ctx, "m0", "poet", PLIM_OBJECTIVE_TIME), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "planner poet does not take the objective time"));
  cr_assert_eq(status_of(ctx, "m0", "peot", -1), PLIM_EUSAGE);
  plim_test_context_end(ctx);
}

Test(space_planners, a_budget_that_is_too_small_is_refused_with_the_smallest_that_has_a_plan) {
  static const int64_t both[] = {5000000, 5000000};
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  cr_assert_eq(serial_of(ctx, space_case_named("multi_skip_copy"), both), -1);
  const char *sentence = plim_context_error(ctx);
  cr_assert_not_null(strstr(sentence, "all of them times 1.2 have one"), "%s", sentence);
  cr_assert_not_null(strstr(sentence, "with the others as given d1 needs 6000000 bytes"), "%s", sentence);
  plim_test_context_end(ctx);
}

/* Budgets below the smallest unit of bytes, and one that is no multiple of it: factors are of what was given. */
Test(space_planners, the_factor_of_a_refusal_is_of_the_budgets_as_given) {
  static const struct {
    const char *planner;
    int64_t budget[2];
    const char *words;
  } rows[] = {
      {"xengine", {777, 5000001}, "all of them times 1.2 have one; with the others as given d0 needs 6000000 bytes"},
      {"xengine", {1, 1}, "all of them times 6000000 have one; with the others as given d0 needs 6000000 bytes"},
      {"search", {777, 5000001}, "all of them times 1.2 have one; with the others as given d0 needs 6000000 bytes"},
      {"search", {1, 1}, "all of them times 6000000 have one; with the others as given d0 needs 6000000 bytes"},
      {"milp", {777, 5000001}, "all of them times 1.2 have one; with the others as given d0 needs 6000000 bytes"},
  };
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  plim_graph *graph = space_case_graph(ctx, space_case_named("multi_skip_copy"));
  plim_platform *platform = NULL;
  cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plim_space_plan *plan = NULL;
    plim_space_options options = plim_space_options_default();
    options.planner = rows[i].planner;
    options.objective = PLIM_OBJECTIVE_SERIAL;
    options.budget = rows[i].budget;
    options.iterations = i == 2 || i == 3 ? 50 : 0;
    cr_expect_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_ENOFIT);
    cr_expect_not_null(strstr(plim_context_error(ctx), rows[i].words), "%s: %s", rows[i].planner,
                       plim_context_error(ctx));
  }
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* Nanoseconds that a double does not hold. */
Test(space_planners, a_deadline_of_once_keep_all_is_kept_by_keep_all) {
  static const char text[] =
      "{\"graph\": {\"name\": \"long\", \"devices\": [\"d0\"]}, \"nodes\": [{\"id\": 0, \"out_cost\": 1, "
      "\"durations\": {\"d0\": 964208027967180577}}, {\"id\": 1, \"out_cost\": 1, \"durations\": {\"d0\": 31}}], "
      "\"links\": [{\"source\": 0, \"target\": 1}]}\n";
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  plim_platform *platform = NULL;
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  options.deadline_factor = 1;
  cr_assert_eq(plim_import_nx(ctx, "long.json", text, (int64_t)sizeof text - 1, &graph), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
  cr_assert_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_expect_eq(plan->deadline_ns, INT64_C(964208027967180608));
  plim_space_plan_free(plan);
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* ---- refusals ---- */

/* Stages need 3736 bytes without a recompute; the search that comes before them needs 3256, and its plan is taken. */
Test(space_planners, a_refusal_of_a_program_names_no_more_than_the_search_before_it_needs) {
  plim_context *ctx = plim_test_context();
  skip_without_solver(ctx);
  plim_graph *graph = space_linear(ctx);
  plim_platform *platform = NULL;
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  int64_t budget[2] = {3000, INT64_MAX};
  options.planner = "milp";
  options.objective = PLIM_OBJECTIVE_ENERGY;
  options.recompute = 0;
  options.budget = budget;
  cr_assert_eq(plim_platform_built_in(ctx, "m0", &platform), PLIM_OK);
  cr_assert_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_ENOFIT);
  cr_expect_not_null(strstr(plim_context_error(ctx), "all of them times 1.08534 have one"), "%s",
                     plim_context_error(ctx));
  cr_expect_not_null(strstr(plim_context_error(ctx), "ram needs 3256 bytes"), "%s", plim_context_error(ctx));
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}
