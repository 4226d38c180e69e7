/* planner/core/variant_selection.c: variants for a fixed sequence, against every combination of variants; and
 * strategies where the fastest ones do not fit. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/core/evaluation.h"
#include "runtime/import/generate.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_seed.h"
#include "tools/plimsoll-bench/peers.h"

enum { CASES = 300, CHANGES = 60, MOST_RUNS = 4 };

/* A random sequence of the case, with random choices, and its timeline. */
static void draw_sequence(const planner_case *c, uint64_t seed, plim_timeline *t, plim_schedule *out) {
  planner_case_sequence(c, seed, CHANGES, 3, out);
  cr_assert_eq(plim_timeline_evaluate(t, out), PLIM_OK);
}

/* Least time of all runs of an op within the limit, by trying all combinations of choices of one numerics key; -1:
 * none. */
static int64_t least_time(const plim_timeline *t, const plim_schedule *s, int32_t op, int64_t limit) {
  const plim_planned_op *v = &t->problem->op[op];
  int32_t run[MOST_RUNS], n = 0, combinations = 1;
  int64_t least = -1;
  for (int32_t j = 0; j < s->n; j++) {
    if (s->op[j] != op) continue;
    cr_assert_lt(n, MOST_RUNS);
    run[n++] = j;
    combinations *= v->n_choices;
  }
  for (int32_t k = 0; k < combinations; k++) {
    int64_t time_ns = 0;
    int right = 1;
    for (int32_t i = 0, rest = k; i < n; i++, rest /= v->n_choices) {
      const plim_choice *c = &v->choice[rest % v->n_choices];
      int64_t beside = t->level[run[i]] - v->choice[s->choice[run[i]]].workspace_bytes;
      right &= beside + c->workspace_bytes <= limit && c->numerics_key == v->choice[k % v->n_choices].numerics_key;
      time_ns += c->time_ns;
    }
    if (right && (least < 0 || time_ns < least)) least = time_ns;
  }
  return least;
}

static int32_t most_runs(const plim_schedule *s, int32_t n_ops) {
  int32_t most = 0;
  for (int32_t v = 0; v < n_ops; v++) {
    int32_t n = 0;
    for (int32_t j = 0; j < s->n; j++) n += s->op[j] == v;
    if (n > most) most = n;
  }
  return most;
}

/* The least time of the sequence within the limit, -1: its choices do not bring it there. */
static int64_t least_total(const plim_timeline *t, const plim_schedule *s, int64_t limit) {
  int64_t total = 0;
  for (int32_t v = 0; v < t->problem->n_ops; v++) {
    int64_t time_ns = least_time(t, s, v, limit);
    if (time_ns < 0) return -1;
    total += time_ns;
  }
  return total;
}

Test(variant_selection, chooses_as_all_combinations_would) {
  int compared = 0, changed = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    planner_case c = planner_case_random(seed, 4 + (int32_t)(seed % 9));
    plim_timeline *t = NULL;
    plim_schedule s = {.ctx = c.ctx};
    plim_variant_selection selection = {0};
    cr_assert_eq(plim_timeline_new(c.problem, &t), PLIM_OK);
    cr_assert_eq(plim_variant_selection_make(c.problem, &selection), PLIM_OK);
    draw_sequence(&c, seed, t, &s);
    int64_t least = plim_variant_selection_least(t, &s);
    if (selection.is_useful && most_runs(&s, c.problem->n_ops) <= MOST_RUNS) {
      int64_t limit = least + (int64_t)(seed % 3) * 512, expected = least_total(t, &s, limit);
      cr_assert_geq(expected, 0, "seed %llu", (unsigned long long)seed);
      cr_expect_lt(least_total(t, &s, least - 1), 0, "seed %llu", (unsigned long long)seed);
      changed += plim_variant_selection_run(&selection, t, &s, limit);
      cr_assert_eq(plim_timeline_evaluate(t, &s), PLIM_OK);
      cr_expect_leq(t->peak_bytes, limit, "seed %llu", (unsigned long long)seed);
      cr_expect_eq(t->time_ns, expected, "seed %llu", (unsigned long long)seed);
      compared++;
    }
    plim_variant_selection_free(&selection);
    plim_schedule_free(&s);
    plim_timeline_free(t);
    planner_case_free(&c);
  }
  cr_assert_gt(compared, CASES / 3, "%d", compared);
  cr_assert_gt(changed, CASES / 6, "%d", changed);
}

/* ---- strategies ---- */

enum { OPS = 40 };
static const int64_t WORKSPACE = INT64_C(1) << 40;

/* Two variants for every op: a fast one whose workspace is larger than everything else together, and a slow one. */
static plim_profile *large_workspaces(plim_context *ctx, const plim_graph *graph) {
  const plim_variant rows[] = {{"fast", "x", 1000, WORKSPACE}, {"slow", "y", 3000, 0}};
  plim_variant variant[2 * OPS];
  int32_t first[OPS + 1];
  plim_machine machine = {.device = "sim", .threads = 1};
  plim_profile *profile = NULL;
  cr_assert_leq(graph->n_ops, OPS);
  for (int32_t op = 0; op <= graph->n_ops; op++) {
    first[op] = 2 * op;
    if (op < graph->n_ops) memcpy(&variant[first[op]], rows, sizeof rows);
  }
  cr_assert_eq(plim_profile_make(graph, &machine, 0, first, variant, &profile), PLIM_OK, "%s", plim_context_error(ctx));
  return profile;
}

Test(variant_selection, strategies_take_slower_variants_where_the_fastest_do_not_fit) {
  static const char *const planners[] = {"search", "sqrt", "greedy", "revolve", "rotor"};
  plim_generate_options generate = plim_generate_options_default("chain");
  plim_plan_options options = plim_plan_options_default();
  plim_context *ctx = NULL;
  plim_graph *graph = NULL;
  int64_t bytes = 0;
  peers_add();
  generate.n = OPS;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_graph_generate(ctx, &generate, &graph), PLIM_OK);
  for (int32_t s = 0; s < graph->n_storages; s++) bytes += graph->storage[s].bytes;
  cr_assert_lt(bytes, WORKSPACE);
  options.unpacked = 1;
  options.iterations = 2000;
  options.budget_bytes = bytes;
  plim_profile *profile = large_workspaces(ctx, graph);
  for (size_t i = 0; i < sizeof planners / sizeof *planners; i++) {
    plim_plan *plan = NULL;
    options.planner = planners[i];
    options.order = i == 0 ? PLIM_ORDER_FREE : PLIM_ORDER_FIXED;
    cr_expect_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK, "%s: %s", planners[i],
                 plim_context_error(ctx));
    cr_expect(plan && plan->time_ns >= 3000 * (int64_t)graph->n_ops && plan->peak_bytes <= bytes, "%s", planners[i]);
    plim_plan_free(plan);
  }
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
}
