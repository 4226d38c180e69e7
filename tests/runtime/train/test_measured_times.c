/* runtime/train/measured_times.c: from timed steps of a plan to one time for each command, and what a step then takes.
 */
#include "runtime/train/measured_times.h"

#include <criterion/criterion.h>

#include "tests/support/small_graph.h"

enum { STEPS = 3 };

typedef struct rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_plan *plan;
} rig;

static rig rig_open(void) {
  rig r = {.ctx = plim_test_context()};
  r.graph = plim_test_small_graph(r.ctx);
  r.plan = plim_test_small_plan(r.graph);
  return r;
}

static void rig_close(rig *r) {
  plim_plan_free(r->plan);
  plim_graph_free(r->graph);
  plim_test_context_end(r->ctx);
}

/* Command j takes base + j ns in the second step, which is the median one, less in the first and more in the third. */
static void fill(const plim_plan *plan, int64_t base_ns, int64_t lag_ns, plim_timed *sample) {
  static const int64_t off_ns[STEPS] = {-50, 0, 700};
  for (int32_t i = 0; i < STEPS; i++) {
    for (int32_t j = 0; j < plan->n_commands; j++) {
      sample[i * plan->n_commands + j] = (plim_timed){.time_ns = base_ns + j + off_ns[i], .lag_ns = lag_ns};
    }
  }
}

Test(measured_times, are_medians_over_the_steps_with_the_lag_before_a_command) {
  rig r = rig_open();
  plim_timed sample[STEPS * SMALL_OPS];
  plim_measured_times times;
  int64_t step_ns = 0, sum_ns = 0;
  double ratio = 0;
  const plim_timed_steps steps = {r.plan, STEPS, sample};
  cr_assert_eq(r.plan->n_commands, SMALL_OPS);
  fill(r.plan, 1000, 7, sample);
  cr_assert_eq(plim_measured_times_find(r.ctx, &steps, &times), PLIM_OK);
  cr_expect_eq(times.delay_share, 0);
  for (int32_t j = 0; j < SMALL_OPS; j++) {
    cr_expect_eq(times.time_ns[j], 1007 + j);
    cr_expect_eq(times.variant_ns[r.plan->command[j].variant], 1007 + j);
    sum_ns += 1007 + j;
  }
  cr_assert_eq(plim_measured_times_predict(r.graph, &times, &step_ns), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_expect_eq(step_ns, sum_ns);
  cr_assert_eq(plim_measured_times_variation(r.ctx, &steps, step_ns, &ratio), PLIM_OK);
  cr_expect_eq(ratio, 1, "one queue waits for none: a step takes the sum of its commands");
  plim_measured_times_free(r.ctx, &times);
  rig_close(&r);
}

Test(measured_times, of_a_step_without_a_time_have_no_ratio) {
  rig r = rig_open();
  plim_timed sample[STEPS * SMALL_OPS] = {{.time_ns = 0}};
  const plim_timed_steps steps = {r.plan, STEPS, sample};
  double ratio = 0;
  cr_assert_eq(plim_measured_times_variation(r.ctx, &steps, 0, &ratio), PLIM_OK);
  cr_expect_eq(ratio, 1);
  rig_close(&r);
}
