/* Revolve: its numbers against the recurrence, its plans of unit chains against the known optimum. */
#include "tools/plimsoll-bench/peers_internal.h"

#include <criterion/criterion.h>

#include "planner/planner.h"
#include "tests/support/dag_cases.h"
#include "tools/plimsoll-bench/peers.h"

TestSuite(revolve, .init = peers_add);

enum { LENGTH = 60, SLOTS = 10 };

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* steps[l][s] by the recurrence. */
static void fill(int64_t steps[LENGTH + 1][SLOTS + 1]) {
  for (int32_t s = 1; s <= SLOTS; s++) {
    steps[1][s] = 0;
    for (int32_t l = 2; l <= LENGTH; l++) {
      steps[l][s] = (int64_t)l * (l - 1) / 2;
      for (int32_t a = 1; a < l && s > 1; a++) {
        steps[l][s] = least(steps[l][s], a + steps[l - a][s - 1] + steps[a][s]);
      }
    }
  }
}

Test(revolve, the_closed_form_equals_the_recurrence_and_the_split_attains_it) {
  static int64_t steps[LENGTH + 1][SLOTS + 1];
  fill(steps);
  for (int32_t s = 1; s <= SLOTS; s++) {
    for (int32_t l = 1; l <= LENGTH; l++) {
      cr_assert_eq(plim_revolve_steps(l, s), steps[l][s], "t(%d, %d)", l, s);
      if (l == 1 || s == 1) continue;
      int32_t a = plim_revolve_split(l, s);
      cr_assert(a >= 1 && a < l);
      cr_assert_eq(a + steps[l - a][s - 1] + steps[a][s], steps[l][s], "split %d of %d with %d slots", a, l, s);
    }
  }
}

Test(revolve, plans_of_unit_chains_take_the_least_time_at_every_budget) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  for (int32_t layers = 2; layers <= 50; layers += layers < 10 ? 1 : 20) {
    plim_graph *graph = dag_chain(ctx, layers, 0);
    cr_assert_eq(dag_plan_time(graph, "revolve", 2), -1);
    for (int32_t budget = 3; budget <= layers + 2; budget++) {
      int64_t optimum = layers + 1 + plim_revolve_steps(layers + 1, budget - 2);
      cr_assert_eq(dag_plan_time(graph, "revolve", budget), optimum, "L(%d) at %d", layers, budget);
    }
    plim_graph_free(graph);
  }
  plim_context_free(ctx);
}
