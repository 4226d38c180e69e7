/* Custom ops with a hundred inputs, outputs and updates: built, saved, read, planned, run, traced and paged. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/device/device_check.h"
#include "runtime/exec/exec.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/trace.h"
#include "tests/support/folder.h"
#include "tests/support/test_context.h"

enum { MANY = 100, BYTES = 1024, SPREAD = 0, MOVE, UPDATE };

static plim_context *ctx;

static void well(plim_status status) {
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
}

static void setup(void) {
  ctx = plim_test_context();
  (void)plim_test_folder();
}
static void teardown(void) {
  plim_test_folder_remove();
  plim_test_context_end(ctx);
}
TestSuite(many_operands, .init = setup, .fini = teardown);

static void add_values(plim_graph_builder *b, const char *prefix, plim_role role, int32_t *value) {
  const plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, (int64_t[]){BYTES});
  for (int i = 0; i < MANY; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "%s%d", prefix, i);
    well(plim_graph_add(b, name, role, &shape, &value[i]));
  }
}

/* a = p + 1, b = 3 a, of which the last eight may lie where a was, p += b, s += b. */
static plim_graph *hundred(void) {
  plim_graph_builder *b;
  plim_graph *graph;
  int32_t persistent[2 * MANY], *p = persistent, a[MANY], moved[MANY], id;
  well(plim_graph_begin(ctx, "hundred", 0, &b));
  add_values(b, "p", PLIM_ROLE_PARAM, p);
  add_values(b, "s", PLIM_ROLE_STATE, p + MANY);
  add_values(b, "a", PLIM_ROLE_ACTIVATION, a);
  add_values(b, "b", PLIM_ROLE_GRADIENT, moved);
  plim_op_spec spread = {.name = "spread", .n_in = MANY, .many_in = p, .n_out = MANY, .many_out = a, .time_ns = 1000};
  plim_op_spec move = {.name = "move", .phase = PLIM_PHASE_BACKWARD, .n_in = MANY, .many_in = a, .time_ns = 1000};
  move.n_out = MANY;
  move.many_out = moved;
  for (int i = 0; i < PLIM_OP_MAX_PAIRS; i++) move.pair[move.n_pairs++] = (plim_pair){MANY - 1 - i, MANY - 1 - i};
  plim_op_spec update = {.name = "update", .cls = PLIM_OP_EFFECT, .phase = PLIM_PHASE_UPDATE, .time_ns = 1000};
  update.n_in = MANY;
  update.many_in = moved;
  update.n_upd = 2 * MANY;
  update.many_upd = persistent;
  well(plim_graph_add_op(b, &spread, &id));
  well(plim_graph_add_op(b, &move, &id));
  well(plim_graph_add_op(b, &update, &id));
  well(plim_graph_end(b, &graph));
  return graph;
}

static plim_plan *keep_all(const plim_graph *graph) {
  plim_plan_options options = plim_plan_options_default();
  plim_profile *profile;
  plim_plan *plan;
  well(plim_profile_from_graph(graph, &profile));
  well(plim_plan_keep_all(ctx, graph, profile, &options, &plan));
  plim_profile_free(profile);
  return plan;
}

static plim_status run(void *user, const plim_run_call *call) {
  (void)user;
  for (int i = 0; i < (call->op == UPDATE ? 2 * MANY : MANY); i++) {
    const unsigned char *x = call->args.in[i % MANY];
    unsigned char *y = call->op == UPDATE ? call->args.upd[i] : call->args.out[i];
    for (int k = 0; k < BYTES; k++) {
      y[k] = (unsigned char)(call->op == SPREAD ? x[k] + 1 : call->op == MOVE ? 3 * x[k] : y[k] + x[k]);
    }
  }
  return PLIM_OK;
}

/* A step whose results are right, on the device, or on the host where it is NULL. */
static void expect_step(const plim_graph *graph, const plim_plan *plan, plim_device *device) {
  plim_exec_options options = plim_exec_options_default();
  plim_exec *exec;
  unsigned char bytes[BYTES];
  options.own_kernels = 1;
  well(plim_exec_open(ctx, device, &options, 1, &graph, &plan, &exec));
  for (int i = 0; i < 2 * MANY; i++) {
    memset(bytes, i % MANY, sizeof bytes);
    well(plim_exec_write(exec, 0, i, bytes, BYTES));
  }
  well(plim_exec_step(exec, 0, run, NULL));
  for (int i = 0; i < 2 * MANY; i++) {
    const int k = i % MANY;
    well(plim_exec_read(exec, 0, i, bytes, BYTES));
    cr_assert_eq(bytes[BYTES - 1], (unsigned char)(k + 3 * (k + 1)), "%s is %d", graph->value[i].name,
                 bytes[BYTES - 1]);
  }
  plim_exec_close(exec);
}

Test(many_operands, an_op_of_a_hundred_operands_is_saved_and_read) {
  plim_graph *graph = hundred(), *read;
  plim_plan *plan = keep_all(graph), *same;
  const char *path = plim_test_path("g.json");
  well(plim_graph_save(graph, path));
  well(plim_graph_load(ctx, path, &read));
  cr_assert_str_eq(read->fingerprint, graph->fingerprint);
  cr_assert_eq(read->op[SPREAD].n_out, MANY);
  cr_assert_eq(read->op[UPDATE].n_upd, 2 * MANY);
  cr_assert_eq(plan->command[MOVE].n_pairs, PLIM_OP_MAX_PAIRS);
  path = plim_test_path("p.json");
  well(plim_plan_save(plan, path));
  well(plim_plan_load(ctx, path, &same));
  well(plim_plan_check(ctx, read, same));
  cr_assert_eq(same->command[MOVE].pair[0].in, plan->command[MOVE].pair[0].in);
  cr_assert_geq(same->command[MOVE].pair[0].in, PLIM_OP_MAX_IN);
  plim_plan_free(same);
  plim_plan_free(plan);
  plim_graph_free(read);
  plim_graph_free(graph);
}

Test(many_operands, a_step_runs_on_the_host_and_on_the_check_device) {
  plim_device *cpu, *check;
  plim_graph *graph = hundred();
  plim_plan *plan = keep_all(graph);
  well(plim_device_open(ctx, "cpu", NULL, &cpu));
  well(plim_device_check_open(cpu, &check));
  expect_step(graph, plan, NULL);
  expect_step(graph, plan, check);
  plim_device_close(check);
  plim_device_close(cpu);
  plim_plan_free(plan);
  plim_graph_free(graph);
}

Test(many_operands, a_trace_has_the_offset_of_every_output) {
  plim_graph *graph = hundred();
  plim_plan *plan = keep_all(graph);
  plim_trace_writer *writer;
  plim_trace *trace;
  const int64_t time_ns[] = {1, 2, 3};
  const char *path = plim_test_path("t.jsonl");
  well(plim_trace_begin(graph, plan, path, &writer));
  const int64_t bytes = plim_context_memory(ctx).bytes;
  well(plim_trace_add(writer, 0, time_ns));
  cr_assert_eq(plim_context_memory(ctx).bytes, bytes, "a step allocates nothing");
  well(plim_trace_end(writer));
  well(plim_trace_load(ctx, path, &trace));
  cr_assert_eq(trace->row[MOVE].n_out, MANY);
  for (int i = 1; i < MANY; i++) cr_assert_neq(trace->row[MOVE].out[i], trace->row[MOVE].out[0]);
  plim_trace_free(trace);
  plim_plan_free(plan);
  plim_graph_free(graph);
}

/* Where bytes are short the states live in the page space. */
Test(many_operands, a_step_pages_within_every_budget_that_has_a_plan) {
  int planned = 0, paged = 0;
  plim_graph *graph = hundred();
  plim_plan *all = keep_all(graph), *plan;
  plim_profile *profile;
  const plim_paging paging = {.struct_bytes = sizeof paging,
                              .space = "host",
                              .budget_bytes = all->arena_bytes * 4,
                              .latency_ns = {1, 1},
                              .bytes_per_ns = {1000, 1000},
                              .delay_share = 0.1,
                              .recompute = 1,
                              .homes = PLIM_HOMES_WHERE_FASTER};
  plim_plan_options options = plim_plan_options_default();
  options.iterations = 50;
  options.paging = &paging;
  well(plim_profile_from_graph(graph, &profile));
  for (int percent = 40; percent <= 100; percent += 10) {
    options.budget_bytes = all->arena_bytes * percent / 100;
    const plim_status status = plim_plan_make(ctx, graph, profile, &options, &plan);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
    if (status != PLIM_OK) continue;
    planned++;
    paged += plan->n_page_spaces > 0;
    well(plim_plan_check(ctx, graph, plan));
    expect_step(graph, plan, NULL);
    plim_plan_free(plan);
  }
  plim_profile_free(profile);
  plim_plan_free(all);
  plim_graph_free(graph);
  cr_assert_geq(planned, 2);
  cr_assert_gt(paged, 0);
}
