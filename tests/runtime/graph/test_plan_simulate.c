/* The simulator of plans, and the checker's own: both find what counting nanosecond by nanosecond finds. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/graph/check/check_internal.h"
#include "runtime/graph/plan.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { CASES = 400, MOST = 14, LONGEST_NS = 12, QUEUES = 4, LAST_NS = 4000 };

/* Commands on queue 0, a second device on queue 3, and copies on queues 1 and 2. */
typedef struct drawn {
  plim_plan plan;
  plim_plan_space page[2];
  plim_command command[MOST];
  plim_plan_variant variant[MOST];
  int32_t wait[MOST][MOST];
} drawn;

static void draw_waits(drawn *d, int32_t j, uint64_t *random) {
  for (int32_t i = 0; i < j; i++) {
    if (!test_random_chance(random, 20) || d->command[i].queue == d->command[j].queue) continue;
    d->wait[j][d->command[j].n_wait++] = i;
  }
  d->command[j].wait = d->wait[j];
}

static void draw(drawn *d, uint64_t seed) {
  static const int32_t permille[] = {0, 1, 333, 1000, 1700, 9999};
  uint64_t random = seed;
  memset(d, 0, sizeof *d);
  for (int32_t k = 0; k < 2; k++) d->page[k].delay_permille = permille[test_random_between(&random, 0, 5)];
  const int32_t n = (int32_t)test_random_between(&random, 1, MOST);
  for (int32_t j = 0; j < n; j++) {
    plim_command *s = &d->command[j];
    const int64_t ns = test_random_between(&random, 0, LONGEST_NS);
    *s = (plim_command){.variant = j, .queue = (int32_t)test_random_between(&random, 0, QUEUES - 1)};
    d->variant[j].variant.time_ns = ns;
    if (s->queue == 1 || s->queue == 2) {
      const int32_t from = (int32_t)test_random_between(&random, 0, 2);
      s->kind = PLIM_COMMAND_COPY;
      s->time_ns = ns;
      s->from = from;
      s->to = (from + 1) % 3;
    }
    draw_waits(d, j, &random);
  }
  d->plan = (plim_plan){.n_commands = n,
                        .n_variants = n,
                        .n_page_spaces = 2,
                        .command = d->command,
                        .variant = d->variant,
                        .page = d->page};
}

/* One of many plans by counting: work done in thousandths, a nanosecond after the other. */
typedef struct counted {
  int64_t begin_ns[MOST], end_ns[MOST], done[MOST];
} counted;

static int may_begin(const drawn *d, const counted *c, int32_t j) {
  for (int32_t i = 0; i < j; i++) {
    if (d->command[i].queue == d->command[j].queue && c->end_ns[i] < 0) return 0;
  }
  for (int32_t w = 0; w < d->command[j].n_wait; w++) {
    if (c->end_ns[d->command[j].wait[w]] < 0) return 0;
  }
  return 1;
}

/* All that begins and ends at a moment; commands are in an order in which one pass is enough. */
static int32_t settle(const drawn *d, counted *c, int64_t now_ns) {
  int32_t left = 0;
  for (int32_t j = 0; j < d->plan.n_commands; j++) {
    if (c->begin_ns[j] < 0 && may_begin(d, c, j)) c->begin_ns[j] = now_ns;
    if (c->begin_ns[j] >= 0 && c->end_ns[j] < 0 && c->done[j] >= 1000 * d->variant[j].variant.time_ns)
      c->end_ns[j] = now_ns;
    left += c->end_ns[j] < 0;
  }
  return left;
}

static int64_t count_time(const drawn *d, counted *c) {
  memset(c, 0, sizeof *c);
  memset(c->begin_ns, -1, sizeof c->begin_ns);
  memset(c->end_ns, -1, sizeof c->end_ns);
  for (int64_t now_ns = 0; now_ns < LAST_NS; now_ns++) {
    int64_t taken = 0;
    if (settle(d, c, now_ns) == 0) return now_ns;
    for (int32_t j = 0; j < d->plan.n_commands; j++) {
      if (c->begin_ns[j] < 0 || c->end_ns[j] >= 0 || d->command[j].kind != PLIM_COMMAND_COPY) continue;
      const int32_t from = d->command[j].from, to = d->command[j].to;
      const int64_t a = from > 0 ? d->page[from - 1].delay_permille : 0,
                    b = to > 0 ? d->page[to - 1].delay_permille : 0;
      taken += a > b ? a : b;
    }
    for (int32_t j = 0; j < d->plan.n_commands; j++) {
      if (c->begin_ns[j] < 0 || c->end_ns[j] >= 0) continue;
      c->done[j] += d->command[j].kind == PLIM_COMMAND_COPY ? 1000 : 1000 - taken;
    }
  }
  cr_assert_fail("it does not end");
  return -1;
}

Test(plan_simulate, runs_beside_copies_take_as_long_as_counting_says) {
  int later = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    drawn d;
    counted c;
    int64_t begin_ns[MOST], end_ns[MOST], checked_ns[MOST], makespan_ns, alone_ns;
    draw(&d, seed);
    const int64_t expected_ns = count_time(&d, &c);
    plim_plan_simulate(&d.plan, begin_ns, end_ns, &makespan_ns);
    cr_assert_eq(makespan_ns, expected_ns, "seed %llu: %lld, not %lld ns", (unsigned long long)seed,
                 (long long)makespan_ns, (long long)expected_ns);
    for (int32_t j = 0; j < d.plan.n_commands; j++) {
      cr_assert_eq(begin_ns[j], c.begin_ns[j], "seed %llu, command %d", (unsigned long long)seed, j);
      cr_assert_eq(end_ns[j], c.end_ns[j], "seed %llu, command %d", (unsigned long long)seed, j);
    }
    cr_assert_eq(plim_check_delayed_makespan(&d.plan, checked_ns), expected_ns, "seed %llu", (unsigned long long)seed);
    d.page[0].delay_permille = d.page[1].delay_permille = 0;
    plim_plan_simulate(&d.plan, begin_ns, end_ns, &alone_ns);
    later += makespan_ns > alone_ns;
  }
  cr_assert_gt(later, CASES / 4, "only %d of %d plans are delayed", later, (int)CASES);
}

Test(plan_simulate, times_too_large_to_count_have_no_makespan) {
  drawn d;
  int64_t begin_ns[MOST], end_ns[MOST], makespan_ns;
  draw(&d, test_seed(1));
  d.page[0].delay_permille = 10;
  d.variant[0].variant.time_ns = d.command[0].time_ns = INT64_MAX / 1000;
  plim_plan_simulate(&d.plan, begin_ns, end_ns, &makespan_ns);
  cr_assert_eq(makespan_ns, -1);
  cr_assert_eq(plim_check_delayed_makespan(&d.plan, end_ns), -1);
}
