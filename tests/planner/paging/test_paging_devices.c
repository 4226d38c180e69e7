/* planner/paging: plans on several CPU devices, with a page space and without one. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/graph/check/check.h"
#include "tests/support/paging_rig.h"
#include "tests/support/test_seed.h"

#ifdef PLIM_SANITIZED
enum { SEEDS = 3, LENGTH = 8 };
#else
enum { SEEDS = 8, LENGTH = 8 };
#endif

static plim_plan *plan_devices(paging_rig *r, int32_t devices, int64_t budget_bytes) {
  static const char *const name[PLIM_PAGE_DEVICES] = {"cpu:1", "cpu:2", "cpu:3", "cpu:4", "cpu:5", "cpu:6", "cpu:7"};
  plim_plan *plan = NULL;
  r->paging.n_devices = devices - 1;
  for (int32_t i = 0; i < devices - 1; i++) r->paging.device[i] = (plim_paging_device){name[i], budget_bytes};
  r->paging.device_latency_ns = 1;
  r->paging.device_bytes_per_ns = 2 * r->paging.bytes_per_ns[0];
  r->options.budget_bytes = budget_bytes;
  r->options.paging = &r->paging;
  plim_status status = plim_plan_make(r->ctx, r->graph, r->profile, &r->options, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(r->ctx));
  if (!plan) return NULL;
  cr_assert_eq(plim_plan_check(r->ctx, r->graph, plan), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert_leq(plan->arena_bytes, budget_bytes);
  for (int32_t k = 0; k < plan->n_page_spaces; k++)
    cr_assert_leq(plan->page[k].arena_bytes, plan->page[k].budget_bytes);
  return plan;
}

static plim_plan *plan_two(paging_rig *r, int64_t budget_bytes) {
  return plan_devices(r, 2, budget_bytes);
}

Test(paging_devices, two_devices_close_half_of_the_gap_between_one_device_and_the_bound) {
  double gap_ns = 0, closed_ns = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    plim_plan *one = NULL, *two = NULL;
    paging_rig_make(&r, LENGTH, seed);
    r.paging.space = NULL;
    plim_status alone = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &one);
    two = plan_two(&r, r.options.budget_bytes);
    cr_assert(two || alone == PLIM_ENOFIT);
    if (two && one) {
      int64_t bound_ns = two->n_page_spaces > 0 ? two->bound_ns : one->keep_all_ns;
      cr_assert_leq(two->time_ns, one->time_ns);
      cr_assert_leq(bound_ns, two->time_ns);
      gap_ns += (double)(one->time_ns - bound_ns);
      closed_ns += (double)(one->time_ns - two->time_ns);
    }
    plim_plan_free(one);
    plim_plan_free(two);
    paging_rig_free(&r);
  }
  cr_assert_geq(closed_ns, 0.5 * gap_ns, "%.0f of %.0f ns", closed_ns, gap_ns);
}

Test(paging_devices, without_recomputation_two_arenas_hold_what_one_does_not) {
  int fits = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    plim_plan_floor floor;
    paging_rig_make(&r, LENGTH, seed);
    cr_assert_eq(plim_plan_smallest(r.ctx, r.graph, r.profile, &r.options, &floor, NULL), PLIM_OK);
    int64_t persistent = plim_graph_persistent_bytes(r.graph);
    r.paging.recompute = 0;
    r.paging.space = NULL;
    plim_plan *two = plan_two(&r, persistent + (floor.keep_all_bytes - persistent) * 6 / 10);
    fits += two && two->n_page_spaces > 0;
    plim_plan_free(two);
    paging_rig_free(&r);
  }
  cr_assert_gt(fits, SEEDS / 2, "%d of %d", fits, (int)SEEDS);
}

/* Few of the graphs drawn gain by pages of two devices at once: they are drawn until one does. */
Test(paging_devices, two_devices_page_to_a_third_space) {
  enum { DRAWN = 4 * SEEDS };
  int paged = 0;
  for (uint64_t seed = test_seed(1), end = seed + DRAWN; test_seed_at(seed) < end && !paged; seed++) {
    paging_rig r = {0};
    paging_rig_make(&r, LENGTH, seed);
    int64_t persistent = plim_graph_persistent_bytes(r.graph);
    r.paging.recompute = 0;
    plim_plan *plan = plan_two(&r, persistent + (r.options.budget_bytes - persistent) * 5 / 10);
    paged += plan && plan->n_page_spaces == 2 && plan->page[0].computes && plan->page[1].peak_bytes > 0;
    plim_plan_free(plan);
    paging_rig_free(&r);
  }
  cr_assert_gt(paged, 0, "none of %d", (int)DRAWN);
}

/* ---- several devices ---- */

/* With a page space (percent of the room that keep-all has beside what persists) or without one (percent 0). */
static void expect_no_slower_with_more(uint64_t seed, int64_t percent, int32_t most, int *faster) {
  paging_rig r = {0};
  int64_t fewer_ns = INT64_MAX;
  paging_rig_make(&r, LENGTH, seed);
  const int64_t persistent = plim_graph_persistent_bytes(r.graph);
  const int64_t budget =
      percent > 0 ? persistent + (r.options.budget_bytes - persistent) * percent / 100 : r.options.budget_bytes;
  if (percent == 0) r.paging.space = NULL;
  r.options.iterations = 40;
  for (int32_t devices = 2; devices <= most; devices++) {
    plim_plan *plan = plan_devices(&r, devices, budget);
    cr_assert(plan || fewer_ns == INT64_MAX, "seed %llu, %d devices", (unsigned long long)seed, (int)devices);
    if (!plan) continue;
    cr_assert_leq(plan->time_ns, fewer_ns, "seed %llu, %d devices", (unsigned long long)seed, (int)devices);
    if (plan->n_page_spaces > 0) cr_assert_eq(plan->n_page_spaces, devices - 1 + (r.paging.space != NULL));
    if (plan->n_page_spaces > 0) cr_assert_leq(plan->bound_ns, plan->time_ns);
    *faster += fewer_ns < INT64_MAX && plan->time_ns < fewer_ns;
    fewer_ns = plan->time_ns;
    plim_plan_free(plan);
  }
  paging_rig_free(&r);
}

Test(paging_devices, no_plan_is_slower_with_one_device_more) {
  int faster = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    expect_no_slower_with_more(seed, 0, 4, &faster);
    expect_no_slower_with_more(seed, 60, 3, &faster);
  }
  cr_assert_gt(faster, SEEDS / 2);
}

/* More links than a plan has queues. */
Test(paging_devices, eight_devices_and_a_page_space_have_a_plan) {
  paging_rig r = {0};
  paging_rig_make(&r, LENGTH, test_seed(1));
  r.options.iterations = 40;
  plim_plan *plan = plan_devices(&r, 8, r.options.budget_bytes);
  cr_assert_not_null(plan);
  cr_assert_eq(plan->n_page_spaces, 8);
  plim_plan_free(plan);
  paging_rig_free(&r);
}

Test(paging_devices, too_many_devices_are_refused_and_so_is_one_without_a_name) {
  paging_rig r = {0};
  plim_plan *plan = NULL;
  paging_rig_make(&r, LENGTH, test_seed(1));
  r.options.paging = &r.paging;
  r.paging.n_devices = PLIM_PAGE_DEVICES + 1;
  cr_assert_eq(plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan), PLIM_EUSAGE);
  cr_assert_str_eq(plim_context_error(r.ctx), "8 devices beside the first one, not 0 to 7");
  r.paging.n_devices = 2;
  r.paging.device[0].name = "cpu:1";
  r.paging.device_bytes_per_ns = 1;
  cr_assert_eq(plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "a device without a name"), "%s", plim_context_error(r.ctx));
  paging_rig_free(&r);
}
