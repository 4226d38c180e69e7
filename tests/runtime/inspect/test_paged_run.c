/* runtime/inspect/paged_run.c: names of the queues of a plan by hand. */
#include <criterion/criterion.h>

#include "runtime/inspect/paged_run.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_context.h"

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
  cr_assert_eq(random_chain_make(ctx, 3, 1, &graph), PLIM_OK);
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
