/* planner/spaces/bound/space_bound.c: never above the optimum, which exhaustive searches find; and above the
 * sum of all times where memory binds. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/spaces/bound/space_bound.h"
#include "runtime/base/text.h"
#include "runtime/import/importers.h"
#include "tests/support/space_cases.h"
#include "tests/support/space_oracle.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

/* A random instance of one device and a page space: times, copies and energies are small whole numbers. */
typedef struct paged {
  space_case c;             /* time[0], copy; d1 runs nothing */
  int64_t budget, per_byte; /* copy time of a byte */
  int64_t copy_joule;       /* of a byte */
  int duplex;
} paged;

static int64_t largest_working_set(const space_case *c) {
  int64_t most = 0;
  for (int32_t i = 0; i < c->n; i++) {
    int64_t bytes = c->bytes[i];
    for (int32_t e = 0; e < c->n_edges; e++) bytes += c->edge[e][1] == i ? c->bytes[c->edge[e][0]] : 0;
    if (bytes > most) most = bytes;
  }
  return most;
}

static void draw(uint64_t *random, int32_t most_ops, paged *p) {
  space_case *c = &p->c;
  *p = (paged){.per_byte = 1};
  *c = (space_case){.name = "paged", .n = (int32_t)test_random_between(random, most_ops - 1, most_ops), .n_devices = 2};
  for (int32_t i = 0; i < c->n; i++) {
    int32_t reader = (int32_t)test_random_between(random, 0, 1);
    c->bytes[i] = test_random_between(random, 1, 3);
    c->time[0][i] = test_random_between(random, 1, 3);
    c->time[1][i] = -1;
    c->copy[0][i] = c->copy[1][i] = c->bytes[i] * p->per_byte;
    for (int32_t k = 0; k < i; k++) { /* every op has a reader */
      if (k < i - 1 - reader * (i < c->n - 1) && !test_random_chance(random, 25)) continue;
      c->edge[c->n_edges][0] = k;
      c->edge[c->n_edges++][1] = i;
    }
  }
  p->duplex = test_random_chance(random, 50);
  p->copy_joule = test_random_between(random, 0, 2);
  p->budget = largest_working_set(c) + test_random_between(random, 0, 1);
}

/* 1 FLOP is 1 ns and 1 mJ; a byte takes 1 ns on the link. */
static plim_platform *platform_of(plim_context *ctx, const paged *p) {
  plim_text t = {.ctx = ctx};
  plim_platform *platform = NULL;
  plim_text_add(
      &t,
      "{\"devices\": [{\"name\": \"d0\", \"flop_per_second\": 1e9, \"flop_per_joule\": 1000, \"idle_watt\": 0, "
      "\"spaces\": [\"a\", \"b\"]}], \"links\": [");
  for (int way = 0; way < 2; way++) {
    plim_text_format(&t,
                     "%s{\"from\": \"%s\", \"to\": \"%s\", \"latency_s\": 0, \"bytes_per_second\": 1e9, \"watt\": "
                     "%lldE6, \"duplex\": %s}",
                     way ? ", " : "", way ? "b" : "a", way ? "a" : "b", (long long)p->copy_joule,
                     p->duplex ? "true" : "false");
  }
  plim_text_add(&t, "]}\n");
  cr_assert_eq(plim_platform_parse(ctx, "paged.json", t.chars, t.length, &platform), PLIM_OK, "%s",
               plim_context_error(ctx));
  plim_text_free(&t);
  return platform;
}

/* The optimum of an objective, in ns or mJ; -1: none. */
static int64_t optimum(const paged *p, plim_objective objective, int page) {
  space_case c = p->c;
  int64_t budget[] = {p->budget, page ? 1000 : 0};
  if (objective == PLIM_OBJECTIVE_TIME) return space_oracle_makespan(&c, p->budget, p->duplex, page);
  for (int32_t i = 0; i < c.n && objective == PLIM_OBJECTIVE_ENERGY; i++) {
    c.copy[0][i] = c.copy[1][i] = c.bytes[i] * p->copy_joule;
  }
  return space_oracle_sum(&c, budget);
}

typedef struct counts {
  int cases, above_trivial, tight, found, near;
  double closed; /* parts of the way from every op once to the optimum, over the tight cases */
} counts;

static void try_one(const plim_space_problem *problem, const paged *p, plim_objective objective, int page,
                    uint64_t seed, counts *n) {
  const int64_t budget[] = {p->budget, INT64_MAX};
  plim_space_search_options options = {.objective = objective,
                                       .page = page,
                                       .recompute = 1,
                                       .place = 1,
                                       .budget = budget,
                                       .deadline_ns = INT64_MAX,
                                       .rounds = 300};
  plim_space_events events = {.ctx = problem->ctx};
  plim_space_found found;
  double bound = 0, unit = objective == PLIM_OBJECTIVE_ENERGY ? 1e-3 : 1;
  double trivial = (double)problem->fastest_ns * unit, best = (double)optimum(p, objective, page) * unit;
  if (best < 0) return;
  cr_assert_eq(plim_space_bound(problem, &options, &bound), PLIM_OK, "%s", plim_context_error(problem->ctx));
  cr_assert_leq(bound, best + 1e-9, "seed %llu, %s, pages %d: the bound is %.9g, the optimum %.9g",
                (unsigned long long)seed, plim_objective_name(objective), page, bound, best);
  options.bound = bound;
  cr_assert_eq(plim_space_search(problem, &options, &found, &events), PLIM_OK, "%s", plim_context_error(problem->ctx));
  plim_space_events_free(&events);
  n->cases++;
  n->above_trivial += best > trivial && bound > trivial + 1e-9;
  n->tight += best > trivial;
  n->closed += best > trivial && bound > trivial ? (bound - trivial) / (best - trivial) : 0;
  n->found += found.fits;
  if (!found.fits) return;
  cr_assert_geq(found.value, best - 1e-9, "seed %llu, %s, pages %d: the plan takes %.9g, the optimum is %.9g",
                (unsigned long long)seed, plim_objective_name(objective), page, found.value, best);
  n->near += found.value <= 1.03 * best;
}

static void try_all(plim_objective objective, counts *n) {
  plim_context *ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 250; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    plim_space_problem *problem = NULL;
    paged p;
    draw(&random, objective == PLIM_OBJECTIVE_TIME ? 5 : 7, &p);
    plim_graph *graph = space_case_flops(ctx, &p.c);
    plim_platform *platform = platform_of(ctx, &p);
    cr_assert_eq(plim_space_problem_make(graph, platform, 1, &problem), PLIM_OK, "%s", plim_context_error(ctx));
    for (int page = 0; page < 2; page++) try_one(problem, &p, objective, page, seed, n);
    plim_space_problem_free(problem);
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  plim_test_context_end(ctx);
}

static void expect(const counts *n) {
  cr_expect_geq(n->cases, 200, "%d cases with a plan", n->cases);
  cr_expect_geq(3 * n->above_trivial, n->tight, "of %d cases that memory slows the bound is above every op once in %d",
                n->tight, n->above_trivial);
  cr_expect_geq(n->closed, 0.3 * n->tight, "it closes %.2f of the way in the mean", n->closed / n->tight);
  cr_expect_eq(n->found, n->cases, "the search has a plan in %d of %d cases", n->found, n->cases);
  cr_expect_geq(100 * n->near, 97 * n->cases, "the search is within 3 %% of the optimum in %d of %d", n->near,
                n->cases);
}

Test(space_bound, is_never_above_the_least_sum_of_times) {
  counts n = {0};
  try_all(PLIM_OBJECTIVE_SERIAL, &n);
  expect(&n);
}

Test(space_bound, is_never_above_the_least_energy) {
  counts n = {0};
  try_all(PLIM_OBJECTIVE_ENERGY, &n);
  expect(&n);
}

Test(space_bound, is_never_above_the_least_makespan) {
  counts n = {0};
  try_all(PLIM_OBJECTIVE_TIME, &n);
  expect(&n);
}

Test(space_bound, is_never_above_the_optimum_of_two_devices) {
  plim_context *ctx = plim_test_context();
  int cases = 0, found_all = 0, near = 0;
  double gaps = 0;
  for (uint64_t seed = test_seed(1), end = seed + 200; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    space_case c;
    plim_space_problem *problem = NULL;
    plim_platform *platform = NULL;
    plim_space_events events = {.ctx = ctx};
    plim_space_found found;
    double bound;
    space_case_random(&random, (int32_t)test_random_between(&random, 3, 6), &c);
    int64_t budget[] = {test_random_between(&random, 6, 16), test_random_between(&random, 6, 16)};
    int64_t best = space_oracle_sum(&c, budget);
    if (best < 0) continue;
    plim_graph *graph = space_case_graph(ctx, &c);
    cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
    cr_assert_eq(plim_space_problem_make(graph, platform, 0, &problem), PLIM_OK, "%s", plim_context_error(ctx));
    plim_space_search_options options = {.objective = PLIM_OBJECTIVE_SERIAL,
                                         .page = 1,
                                         .recompute = 1,
                                         .place = 1,
                                         .budget = budget,
                                         .deadline_ns = INT64_MAX,
                                         .rounds = 600};
    cr_assert_eq(plim_space_bound(problem, &options, &bound), PLIM_OK);
    cr_assert_leq(bound, (double)best, "seed %llu: bound %.9g, optimum %lld", (unsigned long long)seed, bound,
                  (long long)best);
    gaps += best > 0 ? ((double)best - bound) / (double)best : 0;
    options.bound = bound;
    cr_assert_eq(plim_space_search(problem, &options, &found, &events), PLIM_OK);
    cases++;
    found_all += found.fits;
    near += found.fits && found.value <= 1.03 * (double)best;
    if (found.fits) cr_assert_geq(found.value, (double)best, "seed %llu", (unsigned long long)seed);
    plim_space_events_free(&events);
    plim_space_problem_free(problem);
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  cr_expect_geq(cases, 100);
  cr_expect_eq(found_all, cases, "the search has a plan in %d of %d cases", found_all, cases);
  cr_expect_geq(100 * near, 95 * cases, "the search is within 3 %% of the optimum in %d of %d", near, cases);
  cr_expect_leq(gaps / cases, 0.05, "the bound is %.1f %% below the optimum in the mean", 100 * gaps / cases);
  plim_test_context_end(ctx);
}

/* Four ops on two devices: every time a small whole number. */
static void draw_placed(uint64_t *random, space_case *c) {
  *c = (space_case){.name = "placed", .n = 4, .n_devices = 2};
  for (int32_t i = 0; i < c->n; i++) {
    c->bytes[i] = test_random_between(random, 1, 3);
    for (int d = 0; d < 2; d++) {
      c->time[d][i] = test_random_between(random, 1, 3);
      c->copy[d][i] = test_random_between(random, 1, 3);
    }
    for (int32_t k = 0; k < i; k++) { /* the last op reads all that nothing reads */
      int read = 0;
      for (int32_t e = 0; e < c->n_edges; e++) read |= c->edge[e][0] == k;
      if (!test_random_chance(random, 40) && (read || i < c->n - 1)) continue;
      c->edge[c->n_edges][0] = k;
      c->edge[c->n_edges++][1] = i;
    }
  }
}

Test(space_bound, is_never_above_the_least_makespan_of_two_devices) {
  plim_context *ctx = plim_test_context();
  int cases = 0;
  double gaps = 0;
  for (uint64_t seed = test_seed(1), end = seed + 50; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    space_case c;
    plim_space_problem *problem = NULL;
    plim_platform *platform = NULL;
    double bound;
    draw_placed(&random, &c);
    const int64_t budget[] = {test_random_between(&random, 4, 9), test_random_between(&random, 4, 9)};
    int64_t best = space_oracle_makespan_two(&c, budget);
    if (best < 0) continue;
    plim_graph *graph = space_case_graph(ctx, &c);
    cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
    cr_assert_eq(plim_space_problem_make(graph, platform, 0, &problem), PLIM_OK, "%s", plim_context_error(ctx));
    const plim_space_search_options options = {.objective = PLIM_OBJECTIVE_TIME,
                                               .page = 1,
                                               .recompute = 1,
                                               .place = 1,
                                               .budget = budget,
                                               .deadline_ns = INT64_MAX};
    cr_assert_eq(plim_space_bound(problem, &options, &bound), PLIM_OK);
    cr_assert_leq(bound, (double)best, "seed %llu: bound %.9g, optimum %lld", (unsigned long long)seed, bound,
                  (long long)best);
    gaps += ((double)best - bound) / (double)best;
    cases++;
    plim_space_problem_free(problem);
    plim_platform_free(platform);
    plim_graph_free(graph);
  }
  cr_expect_geq(cases, 30, "%d cases", cases);
  cr_expect_leq(gaps / cases, 0.12, "the bound is %.1f %% below the optimum in the mean", 100 * gaps / cases);
  plim_test_context_end(ctx);
}
