/* runtime/exec with copy queues: random plans that page do what program order does, whatever the queues' speed, and
 * what they use in every space is what the plan says. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "planner/paging/command_list.h"
#include "planner/paging/paging_internal.h"
#include "runtime/exec/exec.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/trace.h"
#include "runtime/inspect/paged_run.h"
#include "tests/support/folder.h"
#include "tests/support/hash_kernels.h"
#include "tests/support/plan_draft.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { CASES = 150, STEPS = 3, MOST_RUNS = 1000, DELAY_NS = 60000, BYTES = 16384 };

typedef struct rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *plan; /* with copies */
  plim_exec *exec;
  int32_t n_copies;
} rig;

static void free_rig(rig *r) {
  plim_exec_close(r->exec);
  plim_plan_free(r->plan);
  plim_profile_free(r->profile);
  plim_graph_free(r->graph);
  plim_context_free(r->ctx);
}

/* A plan with copies for the runs of a plan without, in `percent` of its bytes. What leaves the arena is drawn. */
static plim_status page_runs(rig *r, const plim_queue_runs *runs, const plim_plan_options *options, int percent) {
  plim_queue_spaces spaces, tight;
  plim_command_list list = {.ctx = r->ctx, .graph = r->graph};
  static const double share[] = {1, 0.9};
  int32_t space[MOST_RUNS] = {0}, fits;
  int32_t packs;
  plim_random random = {(uint64_t)runs->n};
  cr_assert_lt(runs->n, MOST_RUNS);
  plim_queue_spaces_make(options, &spaces);
  tight = spaces;
  tight.budget_bytes[0] = runs->plan->peak_bytes * percent / 100;
  const plim_lowering lowering = {.paging = options->paging,
                                  .spaces = &spaces,
                                  .base = runs->plan,
                                  .planner = runs->plan->planner,
                                  .suffix = "paged",
                                  .keep_all_ns = runs->plan->keep_all_ns,
                                  .bound_ns = runs->plan->keep_all_ns,
                                  .n_shares = 2,
                                  .share = share};
  plim_status status = plim_queue_decode(runs, &tight, space, 2, &random, &list, &fits);
  if (status == PLIM_OK && fits) status = plim_lower(&lowering, &list, &packs, &r->plan);
  plim_command_list_free(&list);
  return status;
}

/* A plan with copies of a random graph, which recomputes too; 0: none was found. `slack_percent` of the arena of the
 * plan without copies is the budget; 0: none. */
static int make_plan_beside(rig *r, uint64_t seed, int slack_percent, const char *space, const char *device) {
  random_graph_options graph = random_graph_options_default(seed);
  random_plan_options plan = random_plan_options_default(seed);
  plim_plan *sequential = NULL;
  plim_queue_runs runs;
  cr_assert_eq(plim_context_new(NULL, NULL, &r->ctx), PLIM_OK);
  cr_assert_eq(random_graph_make(r->ctx, &graph, &r->graph), PLIM_OK);
  cr_assert_eq(random_profile_make(r->graph, seed, 3, &r->profile), PLIM_OK);
  plim_status status = random_plan_make(r->graph, r->profile, &plan, &sequential);
  cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(r->ctx));
  const plim_paging paging = {.struct_bytes = sizeof(plim_paging),
                              .space = space,
                              .budget_bytes = INT64_MAX,
                              .bytes_per_ns = {1, 1},
                              .n_devices = device != NULL,
                              .device = {{device, 0}}, /* nothing is paged to it */
                              .device_bytes_per_ns = 1};
  plim_plan_options options = plim_plan_options_default();
  options.paging = &paging;
  options.budget_bytes = slack_percent > 0 ? sequential->arena_bytes * slack_percent / 100 : INT64_MAX;
  cr_assert_eq(plim_queue_runs_make(r->graph, sequential, &runs), PLIM_OK);
  for (int percent = 60; percent <= 90 && !r->plan; percent += 10) {
    status = page_runs(r, &runs, &options, percent);
    cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(r->ctx));
  }
  plim_queue_runs_free(&runs);
  plim_plan_free(sequential);
  if (!r->plan) return 0;
  status = plim_plan_check(r->ctx, r->graph, r->plan);
  cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(r->ctx));
  for (int32_t j = 0; j < r->plan->n_commands; j++) r->n_copies += r->plan->command[j].kind == PLIM_COMMAND_COPY;
  return 1;
}

static int make_plan(rig *r, uint64_t seed, int slack_percent, const char *space) {
  return make_plan_beside(r, seed, slack_percent, space, NULL);
}

/* Queues at speeds that change with every command. */
static plim_status delay(void *user, const plim_copy_call *call) {
  const uint64_t *seed = user;
  struct timespec time = {0, (long)(test_mix(*seed, (uint64_t)call->command) % DELAY_NS)};
  if (time.tv_nsec > DELAY_NS / 2) (void)nanosleep(&time, NULL);
  return PLIM_OK;
}

static void open_exec(rig *r, uint64_t *seed) {
  plim_exec_options options = plim_exec_options_default();
  const plim_graph *graph = r->graph;
  const plim_plan *plan = r->plan;
  options.own_kernels = 1;
  options.before_copy = delay;
  options.user = seed;
  plim_status status = plim_exec_open(r->ctx, NULL, &options, 1, &graph, &plan, &r->exec);
  cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)*seed, plim_context_error(r->ctx));
}

static void expect_equal(const rig *r, const hash_reference *reference, uint64_t seed) {
  static unsigned char bytes[BYTES];
  for (int32_t v = 0; v < r->graph->n_values; v++) {
    const plim_value *value = &r->graph->value[v];
    plim_role role = r->graph->storage[value->storage].role;
    if (!plim_role_persistent(role) && role != PLIM_ROLE_OUTPUT) continue;
    cr_assert_eq(plim_exec_read(r->exec, 0, v, bytes, value->bytes), PLIM_OK, "%s", plim_context_error(r->ctx));
    cr_assert_arr_eq(bytes, reference->storage[value->storage] + value->offset, (size_t)value->bytes,
                     "seed %llu value \"%s\"", (unsigned long long)seed, value->name);
  }
}

/* The outputs as a step hands them over at its end: those that there is room for. */
typedef struct results {
  int32_t n;
  plim_exec_result row[PLIM_EXEC_RESULTS];
  unsigned char bytes[PLIM_EXEC_RESULTS][BYTES];
} results;

static void ask_for_results(rig *r, results *out) {
  *out = (results){0};
  for (int32_t v = 0; v < r->graph->n_values && out->n < PLIM_EXEC_RESULTS; v++) {
    const plim_value *value = &r->graph->value[v];
    const plim_storage *storage = &r->graph->storage[value->storage];
    if (storage->role != PLIM_ROLE_OUTPUT || storage->producer < 0 || value->bytes == 0) continue;
    out->row[out->n] = (plim_exec_result){out->bytes[out->n], value->bytes, v};
    out->n++;
  }
  cr_assert_eq(plim_exec_set_results(r->exec, 0, out->row, out->n), PLIM_OK, "%s", plim_context_error(r->ctx));
}

static void expect_results(const rig *r, results *got, const hash_reference *reference, uint64_t seed) {
  for (int32_t i = 0; i < got->n; i++) {
    const plim_value *value = &r->graph->value[got->row[i].value];
    cr_assert_arr_eq(got->bytes[i], reference->storage[value->storage] + value->offset, (size_t)value->bytes,
                     "seed %llu result \"%s\"", (unsigned long long)seed, value->name);
    memset(got->bytes[i], 0, sizeof got->bytes[i]);
  }
}

static void run_and_compare(rig *r, uint64_t seed) {
  static results result;
  hash_kernels kernels = {.fault = HASH_RIGHT};
  open_exec(r, &seed);
  ask_for_results(r, &result);
  cr_assert_geq(plim_exec_page_bytes(r->exec, 1), r->plan->page[0].arena_bytes);
  cr_assert_str_eq(plim_exec_page_name(r->exec, 1), r->plan->page[0].name);
  cr_assert_eq(plim_exec_page_bytes(r->exec, r->plan->n_page_spaces + 1), 0);
  hash_reference reference = hash_reference_new(r->graph);
  hash_write_sources(r->exec, 0, r->graph, r->plan, 1, 0);
  for (int64_t step = 0; step < STEPS; step++) {
    hash_write_sources(r->exec, 0, r->graph, r->plan, 0, step);
    plim_exec_set_step(r->exec, seed, step);
    hash_reference_step(&reference, seed, step);
    plim_status status = plim_exec_step(r->exec, 0, hash_run, &kernels);
    cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(r->ctx));
    expect_results(r, &result, &reference, seed);
    expect_equal(r, &reference, seed);
    plim_exec_use use = plim_exec_measured(r->exec, 0);
    cr_assert_eq(use.space[0].peak_bytes, r->plan->peak_bytes);
    cr_assert_eq(use.space[0].packed_bytes, r->plan->arena_bytes);
    cr_assert_eq(use.space[1].peak_bytes, r->plan->page[0].peak_bytes);
    cr_assert_eq(use.space[1].packed_bytes, r->plan->page[0].arena_bytes);
    cr_assert_eq(use.own_allocations, 0);
  }
  cr_assert_eq(kernels.calls, STEPS * (int64_t)(r->plan->n_commands - r->n_copies));
  hash_reference_free(&reference);
}

static void run_random(const char *space, uint64_t from, uint64_t to, int slack_percent) {
  int plans = 0, copies = 0;
  for (uint64_t seed = test_seed(from), end = seed + (to - from); test_seed_at(seed) < end; seed++) {
    rig r = {0};
    if (make_plan(&r, seed, slack_percent, space)) {
      run_and_compare(&r, seed);
      plans++;
      copies += r.n_copies;
    }
    free_rig(&r);
  }
  cr_assert_gt(plans, (int)(to - from) / 3, "only %d plans", plans);
  cr_assert_gt(copies, plans, "only %d copies in %d plans", copies, plans);
}

Test(exec_queues, random_plans_that_page_leave_what_program_order_leaves) {
  run_random("host", 1, CASES, 0);
}

Test(exec_queues, so_do_they_where_bytes_are_short) {
  run_random("host", CASES, 2 * CASES, 100);
}

Test(exec_queues, so_do_they_through_a_page_file) {
  run_random("disk", 1, CASES / 5, 100);
}

/* ---- times ---- */

/* Commands of a queue one after another, and each after what it waits for. */
static void expect_order(const rig *r, plim_exec_timeline line, uint64_t seed) {
  int64_t free_ns[PLIM_PLAN_QUEUES] = {0};
  for (int32_t j = 0; j < r->plan->n_commands; j++) {
    const plim_command *command = &r->plan->command[j];
    cr_assert_geq(line.begin_ns[j], free_ns[command->queue], "seed %llu command %d", (unsigned long long)seed, j);
    for (int32_t w = 0; w < command->n_wait; w++) {
      int32_t before = command->wait[w];
      cr_assert_geq(line.begin_ns[j], line.begin_ns[before] + line.time_ns[before], "seed %llu command %d",
                    (unsigned long long)seed, j);
    }
    free_ns[command->queue] = line.begin_ns[j] + line.time_ns[j];
  }
}

static void expect_transfers(const rig *r, plim_exec_timeline line) {
  plim_transfer *transfer = NULL;
  int32_t n = 0;
  int64_t waited_ns = 0;
  cr_assert_eq(plim_paged_run_transfers(r->graph, r->plan, line.begin_ns, line.time_ns, line.waited_ns, &transfer, &n),
               PLIM_OK);
  cr_assert_eq(n, r->n_copies);
  for (int32_t i = 0; i < n; i++) {
    const plim_transfer *x = &transfer[i];
    cr_assert_eq(r->plan->command[x->command].kind, PLIM_COMMAND_COPY);
    cr_assert_eq(x->end_ns, line.begin_ns[x->command] + line.time_ns[x->command]);
    cr_assert_eq(x->planned_end_ns - x->planned_begin_ns, r->plan->command[x->command].time_ns);
    cr_assert_eq(x->waiter >= 0, x->waited_ns > 0);
    if (x->waiter >= 0) cr_assert_geq(line.begin_ns[x->waiter], x->end_ns);
    waited_ns += x->waited_ns;
  }
  cr_assert_leq(waited_ns, plim_exec_copied(r->exec, 0).waited_ns);
  plim_release(r->ctx, transfer, n, sizeof *transfer);
}

static void expect_same_trace(const rig *r, plim_exec_timeline line, const char *path) {
  plim_trace_writer *writer = NULL;
  plim_trace *trace = NULL;
  cr_assert_eq(plim_trace_begin(r->graph, r->plan, path, &writer), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert_eq(plim_trace_add_queues(writer, 7, line.begin_ns, line.time_ns, line.waited_ns), PLIM_OK);
  cr_assert_eq(plim_trace_end(writer), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert_eq(plim_trace_load(r->ctx, path, &trace), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert_eq(trace->has_queues, 1);
  for (int32_t j = 0; j < r->plan->n_commands; j++) {
    cr_assert_eq(trace->row[j].queue, r->plan->command[j].queue);
    cr_assert_eq(trace->row[j].start_ns, line.begin_ns[j]);
    cr_assert_eq(trace->row[j].time_ns, line.time_ns[j]);
    cr_assert_eq(trace->row[j].waited_ns, line.waited_ns[j]);
  }
  plim_trace_free(trace);
  cr_assert_eq(plim_trace_begin(r->graph, r->plan, path, &writer), PLIM_OK);
  cr_assert_eq(plim_trace_add(writer, 7, line.time_ns), PLIM_EUSAGE); /* commands that overlap have begins */
  plim_trace_abandon(writer);
}

Test(exec_queues, beside_a_second_device_a_plan_that_pages_has_all_spaces_in_one_order) {
  int plans = 0;
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    if (make_plan_beside(&r, seed, 100, "host", "cpu:1") && r.n_copies > 0) {
      cr_assert_eq(r.plan->n_page_spaces, 2);
      cr_assert_eq(strcmp(r.plan->page[0].name, "cpu:1"), 0);
      cr_assert_eq(strcmp(r.plan->page[1].name, "host"), 0);
      cr_assert_eq(r.plan->page[0].arena_bytes, 0);
      cr_assert_gt(r.plan->page[1].arena_bytes, 0);
      plans++;
    }
    free_rig(&r);
  }
  cr_assert_gt(plans, 0);
}

Test(exec_queues, begins_and_ends_of_a_step_keep_the_order_of_queues_and_waits_and_are_traced) {
  int seen = 0;
  (void)plim_test_folder();
  for (uint64_t seed = test_seed(1), end = seed + CASES / 3 - 1; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    hash_kernels kernels = {.fault = HASH_RIGHT};
    if (make_plan(&r, seed, 100, "host") && r.plan->n_page_spaces > 0) {
      open_exec(&r, &seed);
      hash_write_sources(r.exec, 0, r.graph, r.plan, 1, 0);
      hash_write_sources(r.exec, 0, r.graph, r.plan, 0, 0);
      cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK, "%s", plim_context_error(r.ctx));
      expect_order(&r, plim_exec_last_timeline(r.exec, 0), seed);
      expect_transfers(&r, plim_exec_last_timeline(r.exec, 0));
      expect_same_trace(&r, plim_exec_last_timeline(r.exec, 0), plim_test_path("t.jsonl"));
      seen++;
    }
    free_rig(&r);
  }
  cr_assert_gt(seen, 10);
  plim_test_folder_remove();
}

Test(exec_queues, a_command_lags_where_it_begins_later_than_what_it_follows_ends) {
  enum { LATE_NS = 7 };
  static int64_t begin_ns[1000], time_ns[1000], lag_ns[1000];
  int seen = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES / 3 - 1; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    if (make_plan(&r, seed, 100, "host") && r.plan->n_page_spaces > 0) {
      const int32_t n = r.plan->n_commands, last = n - 1;
      int64_t makespan_ns;
      cr_assert_lt(n, 1000);
      plim_plan_simulate(r.plan, begin_ns, time_ns, &makespan_ns);
      for (int32_t j = 0; j < n; j++) time_ns[j] -= begin_ns[j];
      begin_ns[last] += LATE_NS; /* nothing follows it */
      plim_paged_run_lag(r.plan, begin_ns, time_ns, lag_ns);
      for (int32_t j = 0; j < n; j++) cr_assert_eq(lag_ns[j], j == last ? LATE_NS : 0, "command %d", (int)j);
      seen++;
    }
    free_rig(&r);
  }
  cr_assert_gt(seen, 10);
}

/* The first run that waits for a copy and for no other command; -1: none. */
static int32_t waits_for_copy(const plim_plan *plan, int32_t *copy) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *s = &plan->command[j];
    if (s->kind != PLIM_COMMAND_RUN || s->n_wait != 1 || plan->command[s->wait[0]].kind != PLIM_COMMAND_COPY) continue;
    *copy = s->wait[0];
    return j;
  }
  return -1;
}

Test(exec_queues, a_copy_is_not_hidden_for_as_long_as_a_run_waits_while_it_runs) {
  static int64_t begin_ns[1000], time_ns[1000], waited_ns[1000];
  int seen = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES / 3 - 1; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    int32_t copy, run = make_plan(&r, seed, 100, "host") ? waits_for_copy(r.plan, &copy) : -1;
    if (run >= 0) {
      cr_assert_lt(r.plan->n_commands, 1000);
      memset(begin_ns, 0, sizeof begin_ns);
      memset(time_ns, 0, sizeof time_ns);
      memset(waited_ns, 0, sizeof waited_ns);
      begin_ns[run] = 1000;
      waited_ns[run] = 300; /* from 700 on, at first for something that is no copy */
      begin_ns[copy] = 940;
      time_ns[copy] = 60;
      cr_assert_eq(plim_paged_run_exposed(r.plan, begin_ns, time_ns, waited_ns), 60);
      begin_ns[copy] = 640;
      time_ns[copy] = 360;
      cr_assert_eq(plim_paged_run_exposed(r.plan, begin_ns, time_ns, waited_ns), 300);
      waited_ns[run] = 0;
      cr_assert_eq(plim_paged_run_exposed(r.plan, begin_ns, time_ns, waited_ns), 0);
      seen++;
    }
    free_rig(&r);
  }
  cr_assert_gt(seen, 10);
}

/* Runs take 1.5 times their plan, and 0.7 of the time of copies beside them more. */
Test(exec_queues, the_delay_by_copies_is_found_from_the_times_of_runs_beside_and_without_them) {
  static plim_timed timed[2 * 1000];
  static int64_t begin_ns[1000], end_ns[1000], beside_ns[1000];
  int seen = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES / 3 - 1; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    int paged = make_plan(&r, seed, 100, "host") > 0;
    const int32_t n = paged ? r.plan->n_commands : 0;
    int64_t sum_ns = 0, alone_ns = 0, makespan_ns;
    cr_assert_lt(n, 1000);
    if (paged) {
      plim_plan_simulate(r.plan, begin_ns, end_ns, &makespan_ns);
      for (int32_t j = 0; j < n; j++) end_ns[j] -= begin_ns[j];
      cr_assert_eq(plim_paged_run_beside(r.plan, begin_ns, end_ns, beside_ns), PLIM_OK);
    }
    for (int32_t j = 0; j < n; j++) {
      const plim_command *s = &r.plan->command[j];
      const int64_t own_ns = s->kind == PLIM_COMMAND_RUN ? r.plan->variant[s->variant].variant.time_ns : 0;
      cr_assert(s->kind == PLIM_COMMAND_RUN || beside_ns[j] == 0);
      cr_assert_leq(beside_ns[j], 2 * own_ns); /* two queues of copies at most */
      sum_ns += beside_ns[j];
      if (beside_ns[j] == 0) alone_ns += own_ns;
      timed[j] = timed[n + j] =
          (plim_timed){(int64_t)(1000 * (1.5 * (double)own_ns + 0.7 * (double)beside_ns[j])), 1000 * beside_ns[j], 0};
    }
    if (sum_ns > 0 && alone_ns > 0) { /* ns are counted in thousandths: r is 1500 */
      const double delay = plim_paged_run_delay(r.plan, 2, timed);
      cr_assert(fabs(delay - 0.7) < 0.01, "seed %llu: %g", (unsigned long long)seed, delay);
      seen++;
    }
    free_rig(&r);
  }
  cr_assert_gt(seen, 10, "%d", seen);
}

/* ---- a wait that is not there ---- */

static int is_needed(const rig *r, int32_t j, int32_t w) {
  plan_draft draft = plan_draft_make(r->plan);
  static int32_t wait[PLIM_PLAN_QUEUES];
  int32_t n = 0;
  plim_plan *without = NULL;
  for (int32_t i = 0; i < r->plan->command[j].n_wait; i++) {
    if (i != w) wait[n++] = r->plan->command[j].wait[i];
  }
  draft.command[j].wait = wait;
  draft.command[j].n_wait = n;
  cr_assert_eq(plim_plan_from_parts(r->graph, &draft.plan, &without), PLIM_OK, "%s", plim_context_error(r->ctx));
  plim_status status = plim_plan_check(r->ctx, r->graph, without);
  cr_assert(status == PLIM_OK || status == PLIM_EPLAN);
  cr_assert(status == PLIM_OK || strstr(plim_context_error(r->ctx), "need not have ended") ||
                strstr(plim_context_error(r->ctx), "may still use"),
            "%s", plim_context_error(r->ctx));
  plim_plan_free(without);
  plan_draft_free(&draft);
  return status != PLIM_OK;
}

Test(exec_queues, the_checker_misses_a_wait_that_is_left_out) {
  int waits = 0, needed = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES / 3 - 1; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    if (make_plan(&r, seed, 100, "host")) {
      for (int32_t j = 0; j < r.plan->n_commands; j++) {
        for (int32_t w = 0; w < r.plan->command[j].n_wait; w++) {
          waits++;
          needed += is_needed(&r, j, w);
        }
      }
    }
    free_rig(&r);
  }
  cr_assert_gt(waits, CASES);
  cr_assert_gt(needed * 10, waits * 8, "%d of %d waits are needed", needed, waits);
}

/* ---- failures ---- */

static plim_status fail_third(void *user, const plim_copy_call *call) {
  const rig *r = user;
  int32_t copies = 0;
  for (int32_t j = 0; j < call->command; j++) copies += r->plan->command[j].kind == PLIM_COMMAND_COPY;
  return copies == 2 ? PLIM_EIO : PLIM_OK;
}

Test(exec_queues, a_copy_that_fails_ends_the_step_and_is_named) {
  int failed = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES / 3 - 1; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    hash_kernels kernels = {.fault = HASH_RIGHT};
    if (make_plan(&r, seed, 0, "host") && r.n_copies > 2) {
      plim_exec_options options = plim_exec_options_default();
      const plim_graph *graph = r.graph;
      const plim_plan *plan = r.plan;
      options.own_kernels = 1;
      options.before_copy = fail_third;
      options.user = &r;
      cr_assert_eq(plim_exec_open(r.ctx, NULL, &options, 1, &graph, &plan, &r.exec), PLIM_OK);
      for (int step = 0; step < 2; step++) { /* the executor can be used on */
        hash_write_sources(r.exec, 0, r.graph, r.plan, 1, 0);
        hash_write_sources(r.exec, 0, r.graph, r.plan, 0, 0);
        cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_EIO);
        cr_assert(strstr(plim_context_error(r.ctx), "(copy of \""), "%s", plim_context_error(r.ctx));
      }
      failed++;
    }
    free_rig(&r);
  }
  cr_assert_gt(failed, 10);
}

Test(exec_queues, a_kernel_that_fails_ends_the_step_while_copies_run) {
  for (uint64_t seed = test_seed(1), end = seed + CASES / 3 - 1; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    if (make_plan(&r, seed, 100, "host")) {
      hash_kernels kernels = {.fault = HASH_FAILS, .op = r.graph->n_ops / 2};
      open_exec(&r, &seed);
      hash_write_sources(r.exec, 0, r.graph, r.plan, 1, 0);
      hash_write_sources(r.exec, 0, r.graph, r.plan, 0, 0);
      cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_ENOTFINITE);
    }
    free_rig(&r);
  }
}

/* A plan that copies to a page file. */
static void make_disk_plan(rig *r) {
  uint64_t seed = test_seed(1);
  while (!make_plan(r, seed, 0, "disk") || r->n_copies == 0) {
    free_rig(r);
    *r = (rig){0};
    seed++;
  }
}

static plim_status open_with(rig *r, const char *page_file) {
  plim_exec_options options = plim_exec_options_default();
  const plim_graph *graph = r->graph;
  const plim_plan *plan = r->plan;
  options.own_kernels = 1;
  options.page_file = page_file;
  return plim_exec_open(r->ctx, NULL, &options, 1, &graph, &plan, &r->exec);
}

Test(exec_queues, a_page_file_that_cannot_be_opened_is_named) {
  rig r = {0};
  make_disk_plan(&r);
  cr_assert_eq(open_with(&r, "/nonexistent/pages"), PLIM_EIO);
  cr_assert(strstr(plim_context_error(r.ctx), "/nonexistent/pages"), "%s", plim_context_error(r.ctx));
  free_rig(&r);
}

Test(exec_queues, a_file_that_holds_something_is_no_page_file_and_keeps_it) {
  rig r = {0};
  char text[8] = "";
  make_disk_plan(&r);
  (void)plim_test_folder();
  const char *path = plim_test_path("pages");
  FILE *file = fopen(path, "w+");
  cr_assert_not_null(file);
  cr_assert_eq(fputs("letter", file) < 0 || fflush(file), 0);
  cr_assert_eq(open_with(&r, path), PLIM_EIO);
  cr_assert(strstr(plim_context_error(r.ctx), "holds 6 bytes"), "%s", plim_context_error(r.ctx));
  rewind(file);
  cr_assert_not_null(fgets(text, sizeof text, file));
  cr_assert_eq(strcmp(text, "letter"), 0, "%s", text);
  cr_assert_eq(ftruncate(fileno(file), 0), 0);
  cr_assert_eq(open_with(&r, path), PLIM_OK, "%s", plim_context_error(r.ctx));
  free_rig(&r); /* what it wrote is gone */
  cr_assert_eq(fseek(file, 0, SEEK_END), 0);
  cr_assert_eq(ftell(file), 0);
  (void)fclose(file);
  plim_test_folder_remove();
}

Test(exec_queues, a_plan_that_pages_is_written_and_read_again) {
  int read = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES / 5 - 1; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    if (make_plan(&r, seed, 0, "host")) {
      char path[] = "/tmp/plimsoll-test-XXXXXX", before[PLIM_FINGERPRINT_BYTES], after[PLIM_FINGERPRINT_BYTES];
      plim_plan *again = NULL;
      int fd = mkstemp(path);
      cr_assert_geq(fd, 0);
      (void)close(fd);
      cr_assert_eq(plim_plan_save(r.plan, path), PLIM_OK, "%s", plim_context_error(r.ctx));
      cr_assert_eq(plim_plan_load(r.ctx, path, &again), PLIM_OK, "%s", plim_context_error(r.ctx));
      cr_assert_eq(plim_plan_check(r.ctx, r.graph, again), PLIM_OK, "%s", plim_context_error(r.ctx));
      cr_assert_eq(plim_plan_fingerprint(r.plan, before), PLIM_OK);
      cr_assert_eq(plim_plan_fingerprint(again, after), PLIM_OK);
      cr_assert(strcmp(before, after) == 0);
      plim_plan_free(again);
      (void)unlink(path);
      read++;
    }
    free_rig(&r);
  }
  cr_assert_gt(read, 10);
}
