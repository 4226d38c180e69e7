/* runtime/train/rate_schedule.c */
#include "runtime/train/rate_schedule.h"

#include <criterion/criterion.h>
#include <math.h>

static const plim_rate_schedule schedule = {
    .rate = 0.4f, .momentum = 0.9f, .weight_decay = 5e-4f, .warmup_steps = 4, .total_steps = 12};

static void expect(int64_t step, double rate) {
  double got = plim_rate_schedule_rate(&schedule, step);
  cr_assert(fabs(got - rate) < 1e-6, "step %d: %g, expected %g", (int)step, got, rate);
}

Test(schedule, rises_linearly_to_the_highest_rate) {
  expect(0, 0.1);
  expect(1, 0.2);
  expect(3, 0.4);
}

Test(schedule, falls_as_half_a_cosine_to_zero) {
  expect(4, 0.4);
  expect(8, 0.2);
  expect(10, 0.4 * 0.5 * (1 - sqrt(0.5)));
  expect(12, 0);
  expect(1000, 0);
}

Test(schedule, works_without_warm_up) {
  plim_rate_schedule plain = {.rate = 1, .total_steps = 2};
  cr_assert_eq(plim_rate_schedule_rate(&plain, 0), 1.0f);
  cr_assert(fabsf(plim_rate_schedule_rate(&plain, 1) - 0.5f) < 1e-6f);
}

Test(schedule, fills_the_hyper_input) {
  float hyper[PLIM_HYPERS];
  plim_rate_schedule_hyper(&schedule, 1, hyper);
  cr_assert(hyper[0] == plim_rate_schedule_rate(&schedule, 1) && hyper[1] == 0.9f && hyper[2] == 5e-4f &&
            hyper[3] == 0);
}
