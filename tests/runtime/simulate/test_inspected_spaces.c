/* runtime/simulate/inspected_spaces: plans that page, their traces with the step of median length, and other files. */
#include "runtime/simulate/inspected_spaces.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/graph/sibling.h"
#include "tests/support/child_program.h"
#include "tests/support/failing_memory.h"
#include "tests/support/folder.h"
#include "tests/support/paging_rig.h"
#include "tests/support/test_seed.h"

enum { LENGTH = 8, RUNS = 3, MOST = 512 };

static paging_rig r;
static plim_plan *plan; /* with copies */

/* Ops run once: what does not fit is paged. */
static void setup(void) {
  paging_rig_make(&r, LENGTH, test_seed(1));
  (void)plim_test_folder();
  r.paging.recompute = 0;
  r.paging.delay_share = 0;
  r.options.paging = &r.paging;
  cr_assert_eq(plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_gt(plan->n_page_spaces, 0);
  cr_assert_leq(plan->n_commands, MOST);
}

static void teardown(void) {
  plim_test_folder_remove();
  plim_plan_free(plan);
  paging_rig_free(&r);
}
TestSuite(inspected_spaces, .init = setup, .fini = teardown);

/* Steps whose commands begin and end 2, 1 and 3 times as late as planned. */
static void write_trace(const char *path) {
  static const int64_t times[RUNS] = {2, 1, 3};
  int64_t begin_ns[MOST], end_ns[MOST], time_ns[MOST], waited_ns[MOST] = {0}, makespan_ns;
  plim_trace_writer *writer = NULL;
  cr_assert_eq(plim_sibling_save_trace(r.graph, plan, path), PLIM_OK);
  cr_assert_eq(plim_trace_begin(r.graph, plan, path, &writer), PLIM_OK, "%s", plim_context_error(r.ctx));
  for (int i = 0; i < RUNS; i++) {
    plim_plan_simulate(plan, begin_ns, end_ns, &makespan_ns);
    for (int32_t c = 0; c < plan->n_commands; c++) {
      time_ns[c] = (end_ns[c] - begin_ns[c]) * times[i];
      begin_ns[c] *= times[i];
    }
    cr_assert_eq(plim_trace_add_queues(writer, i, begin_ns, time_ns, waited_ns), PLIM_OK);
  }
  cr_assert_eq(plim_trace_end(writer), PLIM_OK, "%s", plim_context_error(r.ctx));
}

Test(inspected_spaces, a_plan_that_pages_has_its_predicted_times_and_the_bytes_of_its_spaces) {
  const char *path = plim_test_path("p.json");
  plim_inspected_spaces run;
  plim_space_moment *moment = NULL;
  int32_t n = 0;
  int64_t peak = 0;
  cr_assert_eq(plim_sibling_save(r.graph, plan, path), PLIM_OK);
  cr_assert_eq(plim_inspected_spaces_open(r.ctx, path, &run), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_eq(run.plan->n_commands, plan->n_commands);
  cr_expect_eq(plim_inspected_spaces_length_ns(&run), plan->time_ns);
  cr_expect_gt(run.n_gaps, 0, "something is away for a time");
  cr_expect_null(run.row);
  cr_assert_eq(plim_inspected_spaces_bytes(&run, 0, &moment, &n), PLIM_OK);
  for (int32_t i = 0; i < n; i++) {
    if (moment[i].bytes > peak) peak = moment[i].bytes;
    cr_expect(i == 0 || (moment[i].at_ns > moment[i - 1].at_ns && moment[i].bytes != moment[i - 1].bytes));
  }
  cr_expect_gt(peak, 0);
  /* A queue may be ahead of the list, so that more lives at once; but never two buffers at one address. */
  cr_expect_leq(peak, plan->arena_bytes);
  cr_expect_eq(moment[n - 1].bytes, 0, "nothing is left at the end");
  plim_release(r.ctx, moment, n, sizeof *moment);
  plim_inspected_spaces_close(&run);
  plim_inspected_spaces_close(&run);
}

Test(inspected_spaces, a_trace_shows_the_step_of_median_length) {
  const char *path = plim_test_path("t.jsonl");
  plim_inspected_spaces run;
  write_trace(path);
  cr_assert_eq(plim_inspected_spaces_open(r.ctx, path, &run), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_not_null(run.row);
  cr_expect_eq(run.row[0].training_step, 0);
  cr_expect_eq(plim_inspected_spaces_length_ns(&run), 2 * plan->time_ns);
  cr_expect_gt(run.n_transfers, 0);
  plim_inspected_spaces_close(&run);
}

Test(inspected_spaces, a_run_in_one_arena_is_left_to_others) {
  const char *path = plim_test_path("p.json");
  plim_inspected_spaces run;
  plim_plan *arena = NULL;
  r.options.paging = NULL;
  r.options.budget_bytes = PLIM_BYTES_UNLIMITED;
  cr_assert_eq(plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &arena), PLIM_OK);
  cr_assert_eq(plim_sibling_save(r.graph, arena, path), PLIM_OK);
  cr_assert_eq(plim_inspected_spaces_open(r.ctx, path, &run), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_expect_null(run.plan);
  plim_inspected_spaces_close(&run);
  plim_plan_free(arena);
}

Test(inspected_spaces, a_trace_whose_rows_are_not_the_commands_of_its_plan_is_refused) {
  const char *trace = plim_test_path("t.jsonl");
  plim_inspected_spaces run = {.n_gaps = -7};
  write_trace(trace);
  cr_assert_eq(plim_test_shell("sed -i '2s/\"queue\": 0/\"queue\": 2/' t.jsonl")->status, 0);
  cr_assert_eq(plim_inspected_spaces_open(r.ctx, trace, &run), PLIM_EDATA);
  cr_expect(strstr(plim_context_error(r.ctx), "line 2: op and queue are not"), "%s", plim_context_error(r.ctx));
  cr_expect_eq(run.n_gaps, -7, "a failure wrote its output");
}

/* A plan that could not be read for lack of memory is not taken for one of one arena. */
static plim_status open_once(plim_context *ctx, void *user) {
  plim_inspected_spaces run = {.ctx = ctx};
  plim_status status = plim_inspected_spaces_open(ctx, user, &run);
  if (status == PLIM_OK && !run.plan) status = PLIM_EPLAN;
  plim_inspected_spaces_close(&run);
  return status;
}

Test(inspected_spaces, every_refused_allocation_is_a_failure_that_leaves_nothing) {
  static char path[PLIM_FILE_PATH_BYTES];
  (void)strcpy(path, plim_test_path("t.jsonl"));
  write_trace(path);
  cr_assert_gt(plim_test_each_allocation(open_once, path), 10);
  (void)strcpy(path, plim_test_path("t.plan.json"));
  cr_assert_gt(plim_test_each_allocation(open_once, path), 10);
}

Test(inspected_spaces, the_trace_of_another_plan_is_refused) {
  const char *trace = plim_test_path("t.jsonl");
  plim_inspected_spaces run = {.n_gaps = -7};
  plim_plan *other = NULL;
  write_trace(trace);
  r.options.budget_bytes += PLIM_ALIGN;
  cr_assert_eq(plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &other), PLIM_OK);
  cr_assert_gt(other->n_page_spaces, 0);
  cr_assert_eq(plim_sibling_save_trace(r.graph, other, trace), PLIM_OK);
  cr_assert_eq(plim_inspected_spaces_open(r.ctx, trace, &run), PLIM_EDATA);
  cr_expect(strstr(plim_context_error(r.ctx), "a trace of plan"), "%s", plim_context_error(r.ctx));
  cr_expect_eq(run.n_gaps, -7, "a failure wrote its output");
  plim_plan_free(other);
}
