/* planner/paging/page_bound.c: what a plan takes beside keep-all, and what every plan takes at least. */
#include <criterion/criterion.h>

#include "planner/paging/paging.h"

enum { KEEP_ALL_NS = 1000 };

/* One run of all of keep-all's time. */
static plim_plan plan_of(const plim_command *run, const plim_plan_variant *variant) {
  return (plim_plan){.command = run,
                     .variant = variant,
                     .n_commands = 1,
                     .n_variants = 1,
                     .time_ns = KEEP_ALL_NS,
                     .keep_all_ns = KEEP_ALL_NS,
                     .bound_ns = KEEP_ALL_NS + 200,
                     .proved = 1};
}

Test(page_bound, the_bound_of_one_arena_holds_only_where_nothing_pages) {
  const plim_command run = {.kind = PLIM_COMMAND_RUN};
  const plim_plan_variant variant = {.variant = {.time_ns = KEEP_ALL_NS}};
  const plim_plan_space host = {.name = "host"};
  plim_plan plan = plan_of(&run, &variant);
  plim_paging paging = plim_paging_default();
  plim_paging_overhead o = plim_paging_overhead_of(&plan, NULL, 0);
  cr_expect_float_eq(o.bound_percent, 20, 1e-9);
  cr_expect_eq(o.proved, 1);
  o = plim_paging_overhead_of(&plan, &paging, 0);
  cr_expect_float_eq(o.bound_percent, 0, 1e-9, "keep-all's time holds where copies may take nothing");
  cr_expect_eq(o.proved, 1, "the plan takes no more");
  plan.time_ns = KEEP_ALL_NS + 100;
  plan.n_page_spaces = 1;
  plan.page = &host;
  o = plim_paging_overhead_of(&plan, &paging, 0);
  cr_expect_float_eq(o.percent, 10, 1e-9);
  cr_expect_eq(o.proved, 0, "what the plan of one arena proves says nothing here");
}

Test(page_bound, several_devices_take_a_part_of_the_time) {
  const plim_command run = {.kind = PLIM_COMMAND_RUN};
  const plim_plan_variant variant = {.variant = {.time_ns = KEEP_ALL_NS}};
  const plim_plan_space other = {.name = "cpu:1", .computes = 1};
  plim_plan plan = plan_of(&run, &variant);
  plim_paging paging = plim_paging_default();
  paging.n_devices = 3;
  cr_expect_float_eq(plim_paging_overhead_of(&plan, &paging, 0).bound_percent, -75, 1e-9);
  plan.n_page_spaces = 1;
  plan.page = &other;
  cr_expect_float_eq(plim_paging_overhead_of(&plan, &paging, 0).bound_percent, 20, 1e-9,
                     "a plan on several devices has its own bound");
}

Test(page_bound, energy_is_bounded_by_the_device_that_draws_least) {
  const plim_command run = {.kind = PLIM_COMMAND_RUN};
  const plim_plan_variant variant = {.variant = {.time_ns = KEEP_ALL_NS}};
  const plim_powers powers = {.device_watt = {40, 10}, .idle_watt = 20};
  plim_plan plan = plan_of(&run, &variant);
  plim_paging paging = plim_paging_default();
  const double keep_all_joule = (40 + 20) * KEEP_ALL_NS * 1e-9;
  paging.powers = &powers;
  plim_paging_overhead o = plim_paging_overhead_of(&plan, &paging, keep_all_joule);
  cr_expect_float_eq(o.percent, 0, 1e-9);
  cr_expect_float_eq(o.bound_percent, 0, 1e-9);
  paging.n_devices = 1; /* 10 W for all of the time, and idle for half of it */
  o = plim_paging_overhead_of(&plan, &paging, keep_all_joule);
  cr_expect_float_eq(o.bound_percent, 100 * 20.0 / 60 - 100, 1e-9);
  cr_expect_eq(o.proved, 0);
}
