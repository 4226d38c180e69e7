/* planner/paging/serial_plan: one op after another, each where a plan on several devices has it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/graph/check/check.h"
#include "tests/support/paging_rig.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_seed.h"

#ifdef PLIM_SANITIZED
enum { SEEDS = 6, LENGTH = 16 };
#else
enum { SEEDS = 20, LENGTH = 16 };
#endif

static void add_devices(paging_rig *r, int32_t n) {
  static const char *const name[] = {"cpu:1", "cpu:2"};
  for (int32_t d = 0; d < n; d++) r->paging.device[d] = (plim_paging_device){name[d], r->options.budget_bytes};
  r->paging.n_devices = n;
  r->paging.device_bytes_per_ns = 100;
  r->options.paging = &r->paging;
}

static const plim_command *first_run(const plim_plan *plan, int32_t op) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    if (plan->command[j].kind == PLIM_COMMAND_RUN && plan->command[j].op == op) return &plan->command[j];
  }
  return NULL;
}

/* Does each command begin when the one before it has ended? */
static void expect_serial(const plim_plan *plan, uint64_t seed) {
  int64_t *begin_ns = calloc((size_t)plan->n_commands, sizeof *begin_ns), makespan_ns;
  int64_t *end_ns = calloc((size_t)plan->n_commands, sizeof *end_ns);
  plim_plan_simulate(plan, begin_ns, end_ns, &makespan_ns);
  for (int32_t j = 1; j < plan->n_commands; j++) {
    cr_assert_eq(begin_ns[j], end_ns[j - 1], "seed %d, command %d", (int)seed, (int)j);
  }
  free(begin_ns);
  free(end_ns);
}

/* The spaces of a plan that compute come first, so that they have the same numbers in both plans. */
static int32_t expect_as(const plim_graph *graph, const plim_plan *plan, const plim_plan *as, uint64_t seed) {
  int32_t next = 0, elsewhere = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *c = &plan->command[j];
    if (c->kind == PLIM_COMMAND_COPY) continue;
    const plim_command *first = first_run(as, next);
    cr_assert_eq(c->op, next++, "seed %d", (int)seed);
    cr_assert_eq(c->space, first->space, "seed %d, op %d", (int)seed, (int)c->op);
    cr_assert_str_eq(plan->variant[c->variant].variant.name, as->variant[first->variant].variant.name);
    elsewhere += c->space > 0;
  }
  cr_assert_eq(next, graph->n_ops, "seed %d", (int)seed);
  return elsewhere;
}

Test(serial_plan, runs_each_op_once_in_program_order_where_and_how_the_other_plan_does) {
  int32_t elsewhere = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    plim_plan *as = NULL, *plan = NULL;
    paging_rig_make(&r, LENGTH, seed);
    plim_profile_free(r.profile); /* several variants an op */
    cr_assert_eq(random_profile_make(r.graph, seed, 3, &r.profile), PLIM_OK);
    add_devices(&r, 1 + (int32_t)(seed % 2));
    plim_status status = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &as);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "seed %d: %s", (int)seed, plim_context_error(r.ctx));
    if (as) {
      if (as->n_page_spaces == 0) r.paging.n_devices = 0; /* it is faster on one device */
      status = plim_plan_serial(r.ctx, r.graph, r.profile, &r.paging, as, &plan);
      cr_assert_eq(status, PLIM_OK, "seed %d: %s", (int)seed, plim_context_error(r.ctx));
      cr_assert(plan);
      cr_assert_eq(plim_plan_check(r.ctx, r.graph, plan), PLIM_OK, "%s", plim_context_error(r.ctx));
      cr_assert_eq(plan->budget_bytes, PLIM_BYTES_UNLIMITED);
      expect_serial(plan, seed);
      elsewhere += expect_as(r.graph, plan, as, seed);
    }
    plim_plan_free(plan);
    plim_plan_free(as);
    paging_rig_free(&r);
  }
  cr_assert_gt(elsewhere, 10);
}

Test(serial_plan, another_number_of_devices_or_another_graph_is_refused) {
  paging_rig r = {0}, other = {0};
  plim_plan *as = NULL, *plan = NULL;
  paging_rig_make(&r, LENGTH, test_seed(1));
  paging_rig_make(&other, LENGTH, test_seed(1) + 1);
  cr_assert_eq(plim_plan_keep_all(r.ctx, r.graph, r.profile, &r.options, &as), PLIM_OK);
  add_devices(&r, 1);
  cr_assert_eq(plim_plan_serial(r.ctx, r.graph, r.profile, &r.paging, as, &plan), PLIM_EUSAGE);
  cr_assert_eq(plim_plan_serial(other.ctx, other.graph, other.profile, &other.paging, as, &plan), PLIM_EDATA);
  cr_assert_null(plan);
  plim_plan_free(as);
  paging_rig_free(&r);
  paging_rig_free(&other);
}
