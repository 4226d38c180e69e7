/* The option `brief`: plans in little time keep every promise of a plan, repeat, and leave the plan front alone. */
#include <criterion/criterion.h>

#include "planner/planner.h"
#include "runtime/graph/check/check.h"
#include "runtime/import/generate.h"
#include "tests/support/folder.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

enum { OPS = 120, MOVES_AN_OP = 250 };

/* A graph made up by seed, with a budget that is a share of its keep-all bytes. */
static planner_case make_case(uint64_t seed, int32_t unpacked, int64_t percent) {
  plim_context *ctx = plim_test_context();
  plim_generate_options shape = plim_generate_options_default("layered");
  plim_plan_options options = plim_plan_options_default();
  plim_graph *graph = NULL;
  plim_plan *all = NULL;
  shape.n = OPS;
  shape.seed = seed;
  options.unpacked = unpacked;
  cr_assert_eq(plim_graph_generate(ctx, &shape, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  planner_case c = planner_case_make(ctx, graph, NULL, &options);
  cr_assert_eq(plim_plan_keep_all(ctx, c.graph, c.profile, &c.options, &all), PLIM_OK);
  c.options.budget_bytes = (unpacked ? all->peak_bytes : all->arena_bytes) * percent / 100;
  c.options.iterations = MOVES_AN_OP * (int64_t)OPS;
  plim_plan_free(all);
  return c;
}

/* NULL: none was found. */
static plim_plan *plan(planner_case *c, int32_t brief) {
  plim_plan *out = NULL;
  c->options.brief = brief;
  plim_status status = plim_plan_make(c->ctx, c->graph, c->profile, &c->options, &out);
  if (status == PLIM_ENOFIT) return NULL;
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(c->ctx));
  cr_assert(out);
  cr_assert_eq(plim_plan_check(c->ctx, c->graph, out), PLIM_OK, "%s", plim_context_error(c->ctx));
  cr_assert_leq(out->peak_bytes, c->options.budget_bytes);
  cr_assert_leq(out->bound_ns, out->time_ns);
  return out;
}

/* The bound of less work is no higher than that of more, and still one. */
Test(brief, plans_repeat_and_their_bounds_hold) {
  int made = 0;
  for (uint64_t seed = test_seed(1), end = seed + 3; test_seed_at(seed) < end; seed++) {
    for (int64_t percent = 80; percent >= 70; percent -= 10) {
      planner_case c = make_case(seed, 1, percent);
      plim_plan *brief = plan(&c, 1), *again = plan(&c, 1), *plain = plan(&c, 0);
      cr_assert_eq(!brief, !again);
      if (brief) {
        cr_assert(plain, "seed %d, %d %%: the longer search has no plan", (int)seed, (int)percent);
        cr_assert_eq(brief->time_ns, again->time_ns);
        cr_assert_eq(brief->bound_ns, again->bound_ns);
        cr_assert_leq(brief->bound_ns, plain->bound_ns, "seed %d, %d %%", (int)seed, (int)percent);
        cr_assert_leq(plain->bound_ns, brief->time_ns, "seed %d, %d %%", (int)seed, (int)percent);
        made++;
      }
      plim_plan_free(brief);
      plim_plan_free(again);
      plim_plan_free(plain);
      planner_case_free(&c);
    }
  }
  cr_assert_geq(made, 4);
}

/* The smallest budget that is named has a brief plan too. A search that ends at a budget goes another way than one for
 * fewest bytes: the graph of seed 7 is one for which it missed them. */
Test(brief, the_smallest_budget_has_a_plan) {
  for (uint64_t seed = test_seed(7), end = seed + 2; test_seed_at(seed) < end; seed++) {
    for (int32_t unpacked = 0; unpacked < 2; unpacked++) {
      planner_case c = make_case(seed, unpacked, 80);
      plim_plan_floor floor;
      c.options.brief = 1;
      cr_assert_eq(plim_plan_smallest(c.ctx, c.graph, c.profile, &c.options, &floor, NULL), PLIM_OK);
      c.options.budget_bytes = floor.smallest_bytes;
      plim_plan *first = plan(&c, 1), *again = plan(&c, 1);
      cr_assert(first, "seed %d: no plan within %lld bytes", (int)seed, (long long)floor.smallest_bytes);
      cr_assert(again);
      cr_assert_eq(first->time_ns, again->time_ns);
      plim_plan_free(first);
      plim_plan_free(again);
      planner_case_free(&c);
    }
  }
}

/* For this graph only the search for fewest bytes finds a plan, which wastes time. */
Test(brief, a_plan_of_fewest_bytes_becomes_a_faster_one) {
  planner_case c = make_case(7, 1, 80);
  plim_plan_floor floor;
  plim_plan *fewest = NULL;
  c.options.brief = 1;
  cr_assert_eq(plim_plan_smallest(c.ctx, c.graph, c.profile, &c.options, &floor, &fewest), PLIM_OK);
  c.options.budget_bytes = floor.smallest_bytes;
  plim_plan *faster = plan(&c, 1);
  cr_assert(faster);
  cr_assert_lt(faster->time_ns, fewest->time_ns);
  plim_plan_free(fewest);
  plim_plan_free(faster);
  planner_case_free(&c);
}

/* Moves beyond the first 250 an op are made where the plan is far from its bound alone, and never make it slower. */
Test(brief, more_moves_are_for_plans_that_are_far_from_their_bound) {
  int faster = 0;
  for (uint64_t seed = test_seed(1), end = seed + 3; test_seed_at(seed) < end; seed++) {
    for (int64_t percent = 80; percent >= 50; percent -= 10) {
      planner_case c = make_case(seed, 1, percent);
      plim_plan *few = plan(&c, 1);
      c.options.iterations *= 4;
      plim_plan *more = plan(&c, 1);
      cr_assert_eq(!few, !more);
      if (few) {
        cr_assert_leq(more->time_ns, few->time_ns);
        if (few->time_ns - few->bound_ns <= few->keep_all_ns / 100 * 4) cr_assert_eq(more->time_ns, few->time_ns);
        faster += more->time_ns < few->time_ns;
      }
      plim_plan_free(few);
      plim_plan_free(more);
      planner_case_free(&c);
    }
  }
  cr_assert_gt(faster, 0);
}

/* The front notes what effort found a plan, and this effort is another one. */
Test(brief, the_plan_front_is_left_alone) {
  planner_case c = make_case(test_seed(1), 1, 80);
  c.options.front_folder = plim_test_folder();
  plim_plan_free(plan(&c, 1));
  cr_assert_eq(plim_test_folder_count(), 0);
  plim_plan_free(plan(&c, 0));
  cr_assert_gt(plim_test_folder_count(), 0);
  planner_case_free(&c);
  plim_test_folder_remove();
}
