/* runtime/inspect/paged_run.c: names of the queues of a plan by hand. */
#include <criterion/criterion.h>

#include "runtime/base/random.h"
#include "runtime/inspect/paged_run.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

/* Three devices. Copies to cpu:2 come from two spaces over one queue; a fourth queue has no commands. */
Test(paged_run, a_queue_that_several_links_share_is_named_after_what_they_have_in_common) {
  static const plim_plan_space page[] = {{.name = "cpu:1", .computes = 1}, {.name = "cpu:2", .computes = 1}};
  static const plim_plan_variant variant[] = {{.op = 0, .variant = {.name = "v", .time_ns = 5}}};
  static const plim_command command[] = {{.kind = PLIM_COMMAND_RUN},
                                         {.kind = PLIM_COMMAND_RUN, .space = 2, .queue = 1},
                                         {.kind = PLIM_COMMAND_COPY, .from = 1, .to = 2, .queue = 2, .time_ns = 1},
                                         {.kind = PLIM_COMMAND_COPY, .from = 0, .to = 2, .queue = 2, .time_ns = 1},
                                         {.kind = PLIM_COMMAND_COPY, .from = 1, .to = 2, .queue = 2, .time_ns = 1},
                                         {.kind = PLIM_COMMAND_COPY, .from = 2, .to = 0, .queue = 4, .time_ns = 1}};
  static const char *const name[] = {"cpu", "cpu:2", "*>cpu:2", "cpu:2>cpu"};
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  plim_space_plan *spaces = NULL;
  cr_assert_eq(random_chain_make(ctx, 3, test_seed(1), &graph), PLIM_OK);
  const plim_plan plan = {.ctx = ctx,
                          .planner = "hand",
                          .n_commands = sizeof command / sizeof *command,
                          .command = command,
                          .n_variants = 1,
                          .variant = variant,
                          .n_page_spaces = 2,
                          .page = page};
  cr_assert_eq(plim_paged_run_spaces(graph, &plan, &spaces), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(spaces->n_queues, 4);
  for (int32_t q = 0; q < 4; q++) cr_expect_str_eq(spaces->queue[q].name, name[q]);
  cr_expect_eq(spaces->n_devices, 3);
  cr_expect_eq(spaces->queue[spaces->command[2].queue].device, -1);
  cr_expect_str_eq(spaces->queue[spaces->command[5].queue].name, "cpu:2>cpu");
  plim_space_plan_free(spaces);
  plim_graph_free(graph);
  plim_context_free(ctx);
}

/* Copies 0 and 1 are one queue's; the run waits for the second from 10 ns on. */
static const int32_t second_copy[] = {1};
static const plim_command copies_and_run[] = {
    {.kind = PLIM_COMMAND_COPY, .to = 1, .queue = 1, .time_ns = 20},
    {.kind = PLIM_COMMAND_COPY, .storage = 1, .to = 1, .queue = 1, .time_ns = 5},
    {.kind = PLIM_COMMAND_RUN, .n_wait = 1, .wait = second_copy}};
static const int64_t begin_ns[] = {0, 20, 30}, time_ns[] = {20, 5, 5}, waited_ns[] = {0, 0, 20};

Test(paged_run, a_wait_is_for_every_copy_on_the_queue_up_to_the_first_command) {
  const plim_plan plan = {.n_commands = 3, .command = copies_and_run};
  cr_assert_eq(plim_paged_run_exposed(&plan, begin_ns, time_ns, waited_ns), 10 + 5);
}

Test(paged_run, copies_alone_are_transfers) {
  static const plim_plan_space page[] = {{.name = "host"}};
  static const plim_plan_variant variant[] = {{.op = 0, .variant = {.name = "v", .time_ns = 5}}};
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  plim_transfer *transfer = NULL;
  int32_t n = 0;
  cr_assert_eq(random_chain_make(ctx, 3, test_seed(1), &graph), PLIM_OK);
  const plim_plan plan = {.ctx = ctx,
                          .n_commands = 3,
                          .command = copies_and_run,
                          .n_variants = 1,
                          .variant = variant,
                          .n_page_spaces = 1,
                          .page = page};
  cr_assert_eq(plim_paged_run_transfers(graph, &plan, begin_ns, time_ns, waited_ns, &transfer, &n), PLIM_OK);
  cr_assert_eq(n, 2);
  for (int32_t i = 0; i < n; i++) {
    cr_expect(transfer[i].command == i && transfer[i].storage == i);
    cr_expect_eq(transfer[i].bytes, graph->storage[i].bytes);
    cr_expect_eq(transfer[i].end_ns, begin_ns[i] + time_ns[i]);
    cr_expect_eq(transfer[i].waiter, i == 1 ? 2 : PLIM_NONE);
    cr_expect_eq(transfer[i].waited_ns, i == 1 ? 20 : 0);
  }
  plim_release(ctx, transfer, n, sizeof *transfer);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

enum { MANY_COMMANDS = 60, RANGE_NS = 100 };

/* The time of copies beside run j, by a plain loop over all commands. */
static int64_t beside_by_loop(const plim_command *command, const int64_t *begin, const int64_t *time, int32_t j) {
  int64_t sum_ns = 0;
  if (command[j].kind == PLIM_COMMAND_COPY) return 0;
  for (int32_t c = 0; c < MANY_COMMANDS; c++) {
    if (command[c].kind != PLIM_COMMAND_COPY) continue;
    for (int64_t t = begin[c]; t < begin[c] + time[c]; t++) sum_ns += t >= begin[j] && t < begin[j] + time[j];
  }
  return sum_ns;
}

Test(paged_run, the_time_of_copies_beside_a_run_is_that_of_a_plain_loop) {
  plim_context *ctx = plim_test_context();
  int64_t sum_ns = 0;
  for (uint64_t seed = test_seed(1), end = seed + 50; test_seed_at(seed) < end; seed++) {
    plim_random random = {seed};
    plim_command command[MANY_COMMANDS] = {{.kind = PLIM_COMMAND_RUN}};
    int64_t begin[MANY_COMMANDS], time[MANY_COMMANDS], beside[MANY_COMMANDS];
    for (int32_t j = 0; j < MANY_COMMANDS; j++) {
      command[j].kind = plim_random_below(&random, 2) ? PLIM_COMMAND_COPY : PLIM_COMMAND_RUN;
      command[j].to = command[j].kind == PLIM_COMMAND_COPY;
      begin[j] = plim_random_below(&random, RANGE_NS);
      time[j] = plim_random_below(&random, RANGE_NS / 4);
    }
    const plim_plan_space page[] = {{.name = "host"}};
    const plim_plan plan = {
        .ctx = ctx, .n_commands = MANY_COMMANDS, .command = command, .n_page_spaces = 1, .page = page};
    cr_assert_eq(plim_paged_run_beside(&plan, begin, time, beside), PLIM_OK);
    for (int32_t j = 0; j < MANY_COMMANDS; j++) {
      cr_expect_eq(beside[j], beside_by_loop(command, begin, time, j), "seed %d, command %d", (int)seed, (int)j);
      sum_ns += beside[j];
    }
  }
  cr_assert_gt(sum_ns, 0);
  plim_test_context_end(ctx);
}
