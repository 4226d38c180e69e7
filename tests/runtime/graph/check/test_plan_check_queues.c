/* The checker on a plan by hand with two devices, a param that is copied to where it is updated and back, and a state
 * at home in a page space. Each fault is that plan with one thing broken. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/graph/check/check.h"
#include "tests/support/folder.h"
#include "tests/support/plan_draft.h"
#include "tests/support/test_context.h"

enum { X, W, V, A, Y, G, STORAGES };
enum { FORWARD, LOSS, BACK, UPDATE, OPS };

/* forward: x w -> a. loss: a -> y. back: a w -> g. update: g; w v. */
static plim_graph *build_graph(plim_context *ctx) {
  static const plim_role role[STORAGES] = {PLIM_ROLE_INPUT,      PLIM_ROLE_PARAM,  PLIM_ROLE_STATE,
                                           PLIM_ROLE_ACTIVATION, PLIM_ROLE_OUTPUT, PLIM_ROLE_GRADIENT};
  static const char *const name[STORAGES] = {"x", "w", "v", "a", "y", "g"};
  static const plim_op_spec op[OPS] = {
      {.name = "forward", .n_in = 2, .in = {X, W}, .n_out = 1, .out = {A}},
      {.name = "loss", .n_in = 1, .in = {A}, .n_out = 1, .out = {Y}},
      {.name = "back", .n_in = 2, .in = {A, W}, .n_out = 1, .out = {G}},
      {.name = "update", .cls = PLIM_OP_EFFECT, .n_in = 1, .in = {G}, .n_upd = 2, .upd = {W, V}},
  };
  const int64_t bytes = 512;
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
  plim_graph_builder *b = NULL;
  plim_graph *graph = NULL;
  cr_assert_eq(plim_graph_begin(ctx, "by hand", 1, &b), PLIM_OK);
  for (int32_t i = 0, id; i < STORAGES; i++) cr_assert_eq(plim_graph_add(b, name[i], role[i], &shape, &id), PLIM_OK);
  for (int32_t i = 0, id; i < OPS; i++) cr_assert_eq(plim_graph_add_op(b, &op[i], &id), PLIM_OK);
  cr_assert_eq(plim_graph_end(b, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

static const plim_plan_buffer buffer[] = {
    {W, 0, 9, 0, 0, 512},     {X, 0, 1, 0, 512, 512}, {A, 0, 5, 0, 1024, 512}, {Y, 4, 9, 0, 512, 512},
    {W, 1, 8, 1, 0, 512},     {A, 2, 6, 1, 512, 512}, {V, 3, 9, 1, 1024, 512}, {G, 5, 7, 1, 1536, 512},
    {-1, 5, 6, 1, 2048, 512}, {V, 0, 9, 2, 0, 512},
};

/* Spaces: 0 the arena, 1 "cpu:1" that computes, 2 "host". */
static plim_plan *build_delayed(const plim_graph *graph, int32_t delay_permille) {
  static const int32_t wait[] = {0, 2, 3, 6, 6};
  static const plim_command command[] = {
      {.op = FORWARD, .variant = FORWARD},
      {.kind = PLIM_COMMAND_COPY, .storage = W, .from = 0, .to = 1, .queue = 1, .time_ns = 5},
      {.kind = PLIM_COMMAND_COPY,
       .storage = A,
       .from = 0,
       .to = 1,
       .queue = 1,
       .time_ns = 5,
       .n_wait = 1,
       .wait = wait},
      {.kind = PLIM_COMMAND_COPY, .storage = V, .from = 2, .to = 1, .queue = 2, .time_ns = 30},
      {.op = LOSS, .variant = LOSS},
      {.op = BACK, .variant = BACK, .space = 1, .queue = 3, .n_wait = 1, .wait = wait + 1},
      {.op = UPDATE, .variant = UPDATE, .space = 1, .queue = 3, .n_wait = 1, .wait = wait + 2},
      {.kind = PLIM_COMMAND_COPY,
       .storage = W,
       .from = 1,
       .to = 0,
       .queue = 4,
       .time_ns = 5,
       .n_wait = 1,
       .wait = wait + 3},
      {.kind = PLIM_COMMAND_COPY,
       .storage = V,
       .from = 1,
       .to = 2,
       .queue = 5,
       .time_ns = 5,
       .n_wait = 1,
       .wait = wait + 4},
  };
  static const plim_plan_variant variant[OPS] = {{FORWARD, {"direct", "direct", 10, 0}},
                                                 {LOSS, {"direct", "direct", 10, 0}},
                                                 {BACK, {"direct", "direct", 10, 100}},
                                                 {UPDATE, {"direct", "direct", 10, 0}}};
  const plim_plan_space page[] = {{.name = "cpu:1", .budget_bytes = 2560, .computes = 1},
                                  {.name = "host", .budget_bytes = INT64_MAX, .delay_permille = delay_permille}};
  const plim_plan draft = {.numerics.machine = {.device = "sim", .threads = 1},
                           .planner = "hand",
                           .packed = 1,
                           .n_commands = sizeof command / sizeof *command,
                           .n_buffers = sizeof buffer / sizeof *buffer,
                           .n_variants = OPS,
                           .command = command,
                           .buffer = buffer,
                           .variant = variant,
                           .budget_bytes = 1536,
                           .keep_all_ns = 40,
                           .bound_ns = 30,
                           .n_page_spaces = 2,
                           .page = page};
  plim_plan *plan = NULL;
  cr_assert_eq(plim_plan_from_parts(graph, &draft, &plan), PLIM_OK, "%s", plim_context_error(graph->ctx));
  return plan;
}

static plim_plan *build_plan(const plim_graph *graph) {
  return build_delayed(graph, 0);
}

Test(check_queues, accepts_two_devices_with_a_state_at_home_in_a_page_space) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = build_graph(ctx);
  plim_plan *plan = build_plan(graph);
  cr_assert_eq(plim_plan_check(ctx, graph, plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plan->time_ns, 45); /* v arrives at 30, update, and back home in 5 */
  cr_assert_eq(plan->peak_bytes, 1536);
  cr_assert_eq(plan->page[0].peak_bytes, 2560);
  cr_assert_eq(plan->page[1].arena_bytes, 512);
  plim_plan_free(plan);
  plim_graph_free(graph);
  plim_context_free(ctx);
}

/* v comes from host at 0 to 30, and leaves for it at the end. */
Test(check_queues, runs_beside_copies_of_a_space_with_a_delay_take_longer) {
  static const struct {
    int32_t delay_permille;
    int64_t time_ns;
  } rows[] = {{0, 45}, {500, 53}, {2000, 100}}; /* 500: back has half its pace until 30. 2000: nothing ends before 30 */
  plim_context *ctx = plim_test_context();
  plim_graph *graph = build_graph(ctx);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plim_plan *plan = build_delayed(graph, rows[i].delay_permille);
    cr_expect_eq(plan->time_ns, rows[i].time_ns, "%lld ns with %d permille", (long long)plan->time_ns,
                 rows[i].delay_permille);
    cr_expect_eq(plim_plan_check(ctx, graph, plan), PLIM_OK, "%s", plim_context_error(ctx));
    plim_plan_free(plan);
  }
  plim_graph_free(graph);
  plim_context_free(ctx);
}

Test(check_queues, runs_and_spaces_of_devices_are_saved_and_read_again) {
  char path[512];
  plim_context *ctx = plim_test_context();
  plim_graph *graph = build_graph(ctx);
  plim_plan *plan = build_delayed(graph, 250), *again = NULL;
  (void)snprintf(path, sizeof path, "%s/plan.json", plim_test_folder());
  cr_assert_eq(plim_plan_save(plan, path), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_plan_load(ctx, path, &again), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_plan_check(ctx, graph, again), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(again->command[5].space, 1);
  cr_assert_eq(again->page[0].computes, 1);
  cr_assert_eq(again->page[1].computes, 0);
  cr_assert_eq(again->page[1].delay_permille, 250);
  plim_plan_free(again);
  plim_plan_free(plan);
  plim_graph_free(graph);
  plim_context_free(ctx);
  plim_test_folder_remove();
}

/* ---- one fault each ---- */

static plim_plan_buffer *buffer_in(plan_draft *d, int32_t storage, int32_t space) {
  for (int32_t i = 0; i < d->plan.n_buffers; i++) {
    if (d->buffer[i].storage == storage && d->buffer[i].space == space) return &d->buffer[i];
  }
  cr_assert_fail("no buffer of storage %d is in space %d", storage, space);
  return NULL;
}

/* The draft's page spaces, with names and uses of the test. */
static plim_plan_space page[2];
static void set_pages(plan_draft *d, const char *first, const char *second) {
  memcpy(page, d->plan.page, sizeof page);
  (void)snprintf(page[0].name, sizeof page[0].name, "%s", first);
  (void)snprintf(page[1].name, sizeof page[1].name, "%s", second);
  d->plan.page = page;
}

static void set_delay(plan_draft *d, int32_t permille) {
  set_pages(d, "cpu:1", "host");
  page[1].delay_permille = permille;
}

#define FAULT(name, ...)            \
  static void name(plan_draft *d) { \
    __VA_ARGS__;                    \
  }

FAULT(run_in_a_page_space, d->command[5].space = 2)
FAULT(run_in_no_space, d->command[5].space = 3)
FAULT(run_of_a_device_on_queue_0, d->command[5].queue = 0)
FAULT(run_on_a_copy_queue, d->command[5].queue = 1)
FAULT(runs_of_a_device_on_two_queues, d->command[6].queue = 6)
FAULT(copy_to_where_it_is, d->command[1].to = 0)
FAULT(operand_in_another_space, buffer_in(d, G, 1)->offset = 1024, buffer_in(d, G, 1)->space = 0)
FAULT(workspace_in_another_space, buffer_in(d, -1, 1)->space = 0)
FAULT(state_has_no_home, buffer_in(d, V, 2)->begin = 1)
FAULT(state_has_two_homes, buffer_in(d, V, 1)->begin = 0)
FAULT(home_is_short, buffer_in(d, V, 2)->end = 8)
FAULT(param_never_comes_home, d->command[7].storage = A)
FAULT(state_comes_home_before_its_update, d->command[8].storage = d->command[7].storage, d->command[8].to = 0)
FAULT(update_does_not_wait_for_the_state, d->command[6].n_wait = 0)
FAULT(run_does_not_wait_for_its_operand, d->command[5].n_wait = 0)
FAULT(copy_does_not_wait_for_its_source, d->command[2].n_wait = 0)
FAULT(update_does_not_wait_to_be_copied, d->command[8].n_wait = 0)
FAULT(device_in_a_page_file, set_pages(d, "disk", "host"))
FAULT(two_spaces_of_one_name, set_pages(d, "host", "host"))
FAULT(space_without_a_name, set_pages(d, "cpu:1", ""))
FAULT(delay_that_the_time_does_not_have, set_delay(d, 500))
FAULT(delay_below_0, set_delay(d, -1))
FAULT(delay_too_long, set_delay(d, PLIM_PAGE_DELAY_PERMILLE + 1))

static const struct {
  void (*apply)(plan_draft *d);
  const char *sentence; /* part of it */
} faults[] = {
    {run_in_a_page_space, "command 5 runs in space 2, where no device computes"},
    {run_in_no_space, "command 5 runs in space 3, where no device computes"},
    {run_of_a_device_on_queue_0, "command 5 runs in space 1 on queue 0; queue 0 takes the runs of space 0"},
    {run_on_a_copy_queue, "command 5 (op \"back\"): is on queue 1; a queue takes copies, or all runs of one space"},
    {runs_of_a_device_on_two_queues, "command 6 (op \"update\"): is on queue 6"},
    {copy_to_where_it_is, "command 1 copies from space 0 to space 0 of 3"},
    {operand_in_another_space, "command 5 (op \"back\"): \"g\" begins a buffer here"},
    {workspace_in_another_space, "command 5 (op \"back\"): its workspace is in space 0"},
    {state_has_no_home, "\"v\""},
    {state_has_two_homes, "\"v\" is in spaces 1 and 2 before the first command"},
    {home_is_short, "does not live over all 9 commands"},
    {param_never_comes_home, "command 7 (copy of \"a\" from space 1 to space 0): "},
    {state_comes_home_before_its_update, "command 8 (copy of \"w\" from space 1 to space 0): "},
    {update_does_not_wait_for_the_state, "command 6 (op \"update\"): uses \"v\", and command 3"},
    {run_does_not_wait_for_its_operand, "command 5 (op \"back\"): uses \"a\", and command 2"},
    {copy_does_not_wait_for_its_source, "command 2 (copy of \"a\" from space 0 to space 1): uses \"a\", and command 0"},
    {update_does_not_wait_to_be_copied, "command 8 (copy of \"v\" from space 1 to space 2): uses \"v\", and command 6"},
    {device_in_a_page_file, "space 1 is \"disk\", a file: no device computes in it"},
    {two_spaces_of_one_name, "spaces 1 and 2 are both named \"host\""},
    {space_without_a_name, "space 2 has no name"},
    {delay_that_the_time_does_not_have, "the plan says 45 ns, its commands take 53 ns"},
    {delay_below_0, "copies of space 2 delay runs by -1 thousandths of their time; 0 to 10000 do"},
    {delay_too_long, "copies of space 2 delay runs by 10001 thousandths"},
};

Test(check_queues, refuses_each_fault_of_a_plan_on_two_devices) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = build_graph(ctx);
  plim_plan *plan = build_plan(graph);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    plan_draft draft = plan_draft_make(plan);
    faults[i].apply(&draft);
    plan_draft_sort(&draft);
    plim_status status = plim_plan_check(ctx, graph, &draft.plan);
    const char *sentence = plim_context_error(ctx);
    cr_expect_eq(status, PLIM_EPLAN, "row %zu: status %d, expected '%s': %s", i, status, faults[i].sentence, sentence);
    cr_expect(strstr(sentence, faults[i].sentence), "row %zu: '%s' is not in: %s", i, faults[i].sentence, sentence);
    plan_draft_free(&draft);
  }
  plim_plan_free(plan);
  plim_graph_free(graph);
  plim_context_free(ctx);
}
