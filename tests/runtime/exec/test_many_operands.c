/* Ops with many operands. Custom ones with a hundred inputs, outputs and updates: built, saved, read, planned, run,
 * traced and paged. A program's own kinds with their kernels, and joined tensors. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/device/desc.h"
#include "runtime/device/device_check.h"
#include "runtime/device/device_cuda.h"
#include "runtime/exec/exec.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/trace.h"
#include "runtime/profile/profiler.h"
#include "tests/support/fake_cuda.h"
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

/* ---- kernels ---- */

enum { FANNED = 60, LEARNED = 20, ELEMENTS = 64 };

/* y[i] = x + i; p[i] += g[i] */
static const plim_op_row fan_row = {
    .struct_bytes = sizeof fan_row,
    .name = "test.fan",
    .version = PLIM_OWN_KIND_VERSION,
    .in = {{.name = "x", .type = 'f', .shape = "N"}},
    .out = {{.name = "y", .type = 'f', .shape = "N", .many = 1}},
    .doc = "y = x plus the number of the output",
};
static const plim_op_row learn_row = {
    .struct_bytes = sizeof learn_row,
    .name = "test.learn",
    .cls = PLIM_OP_EFFECT,
    .version = PLIM_OWN_KIND_VERSION,
    .in = {{.name = "g", .type = 'f', .shape = "N", .many = 1}},
    .upd = {{.name = "p", .type = 'f', .shape = "N", .many = 1}},
    .doc = "each p grows by the g of its number",
};

/* The kernels see every operand's shape when they are prepared. */
static int32_t prepared_outputs, prepared_updates;

static int prepare(void *user, const plim_op_desc *op, const char *variant, void **state) {
  (void)variant;
  for (int32_t i = 0; i < op->n_out; i++) prepared_outputs += plim_op_outputs(op)[i].dim[0] == ELEMENTS;
  for (int32_t i = 0; i < op->n_upd; i++) prepared_updates += plim_op_updates(op)[i].dim[0] == ELEMENTS;
  *state = user;
  return PLIM_KERNEL_OK;
}

static int fan(void *state, const plim_kernel_args *args, void *queue) {
  const float *x = args->in[0];
  (void)state, (void)queue;
  for (int i = 0; i < FANNED; i++) {
    for (int k = 0; k < ELEMENTS; k++) ((float *)args->out[i])[k] = x[k] + (float)i;
  }
  return PLIM_KERNEL_OK;
}

static int learn(void *state, const plim_kernel_args *args, void *queue) {
  (void)state, (void)queue;
  for (int i = 0; i < LEARNED; i++) {
    for (int k = 0; k < ELEMENTS; k++) ((float *)args->upd[i])[k] += ((const float *)args->in[i])[k];
  }
  return PLIM_KERNEL_OK;
}

static plim_op_kind add_kind(plim_device *device, const plim_op_row *row,
                             int (*run_it)(void *state, const plim_kernel_args *args, void *queue)) {
  plim_op_kind kind;
  const plim_own_kernel kernel = {.struct_bytes = sizeof kernel, .name = "plain", .prepare = prepare, .run = run_it};
  cr_assert_null(plim_op_kind_add(row, &kind));
  well(plim_device_add_kernel(device, kind, &kernel));
  return kind;
}

static plim_graph *learning_graph(plim_op_kind fan_kind, plim_op_kind learn_kind) {
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){ELEMENTS});
  plim_graph_builder *b;
  plim_graph *graph;
  int32_t x, y[FANNED], p[LEARNED], id;
  char name[16];
  well(plim_graph_begin(ctx, "learning", 0, &b));
  well(plim_graph_add(b, "x", PLIM_ROLE_INPUT, &shape, &x));
  for (int i = 0; i < LEARNED; i++) {
    (void)snprintf(name, sizeof name, "p%d", i);
    well(plim_graph_add(b, name, PLIM_ROLE_PARAM, &shape, &p[i]));
  }
  for (int i = 0; i < FANNED; i++) {
    (void)snprintf(name, sizeof name, "y%d", i);
    well(plim_graph_add(b, name, PLIM_ROLE_ACTIVATION, &shape, &y[i]));
  }
  plim_op_spec spec = {.name = "fan", .kind = fan_kind, .n_in = 1, .in = {x}, .n_out = FANNED, .many_out = y};
  spec.time_ns = PLIM_UNKNOWN;
  well(plim_graph_add_op(b, &spec, &id));
  spec = (plim_op_spec){.name = "learn", .kind = learn_kind, .phase = PLIM_PHASE_UPDATE, .time_ns = PLIM_UNKNOWN};
  spec.n_in = spec.n_upd = LEARNED;
  memcpy(spec.in, y + FANNED - LEARNED, sizeof(int32_t) * LEARNED);
  spec.many_upd = p;
  well(plim_graph_add_op(b, &spec, &id));
  well(plim_graph_end(b, &graph));
  return graph;
}

/* Two steps from p = 0 and x = 1. */
static void expect_learned(plim_device *device, const plim_graph *graph, const plim_plan *plan) {
  float x[ELEMENTS], zero[ELEMENTS] = {0};
  plim_exec *exec;
  well(plim_exec_open(ctx, device, NULL, 1, &graph, &plan, &exec));
  for (int k = 0; k < ELEMENTS; k++) x[k] = 1;
  for (int32_t i = 0; i < LEARNED; i++) well(plim_exec_write(exec, 0, 1 + i, zero, sizeof zero));
  for (int step = 0; step < 2; step++) {
    well(plim_exec_write(exec, 0, 0, x, sizeof x));
    well(plim_exec_step(exec, 0, NULL, NULL));
  }
  for (int32_t i = 0; i < LEARNED; i++) {
    float p[ELEMENTS];
    well(plim_exec_read(exec, 0, 1 + i, p, sizeof p));
    cr_assert_eq(p[ELEMENTS - 1], 2 * (float)(1 + FANNED - LEARNED + i), "p%d is %g", i, (double)p[ELEMENTS - 1]);
  }
  plim_exec_close(exec);
}

Test(many_operands, own_kernels_of_sixty_outputs_and_twenty_updates_are_profiled_planned_and_run) {
  plim_device *cpu, *check;
  plim_profile *profile;
  plim_plan *plan;
  well(plim_device_open(ctx, "cpu", NULL, &cpu));
  const plim_op_kind kind = add_kind(cpu, &fan_row, fan);
  plim_graph *graph = learning_graph(kind, add_kind(cpu, &learn_row, learn));
  plim_plan_options planning = plim_plan_options_default();
  plim_profiler_options profiling = plim_profiler_options_default();
  profiling.cache_dir = plim_test_path("cache");
  for (int again = 0; again < 2; again++) { /* measured, then read */
    well(plim_profile_measure(cpu, graph, &profiling, &profile));
    cr_assert_geq(profile->variant[0].time_ns, 0);
    if (again == 0) plim_profile_free(profile);
  }
  well(plim_plan_keep_all(ctx, graph, profile, &planning, &plan));
  prepared_outputs = prepared_updates = 0;
  expect_learned(cpu, graph, plan);
  cr_assert_eq(prepared_outputs, FANNED);
  cr_assert_eq(prepared_updates, LEARNED);
  well(plim_device_check_open(cpu, &check));
  expect_learned(check, graph, plan);
  plim_device_close(check);
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_device_close(cpu);
}

/* Descriptions of long lists are told apart by their last operand. */
Test(many_operands, long_descriptions_are_equal_exactly_when_their_operands_are) {
  plim_shape shape[3][MANY] = {{{0}}};
  plim_op_desc desc[3];
  static char text[3][1 << 16];
  memset(desc, 0, sizeof desc);
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < MANY; k++) {
      shape[i][k].rank = 1;
      shape[i][k].dim[0] = i == 2 && k == MANY - 1 ? 9 : 8;
    }
    desc[i].n_in = MANY;
    desc[i].many_in = shape[i];
    cr_assert_leq(plim_desc_text_bytes(&desc[i]), (int64_t)sizeof text[i]);
    plim_desc_text(&desc[i], text[i], (size_t)plim_desc_text_bytes(&desc[i]));
  }
  cr_assert(plim_desc_equal(&desc[0], &desc[1]));
  cr_assert_eq(plim_desc_hash(&desc[0]), plim_desc_hash(&desc[1]));
  cr_assert_str_eq(text[0], text[1]);
  cr_assert_not(plim_desc_equal(&desc[0], &desc[2]));
  cr_assert_str_neq(text[0], text[2]);
}

/* Join parts of 1, 2, 3, 1, ... channels and split them again, on a device: the bytes that went in. */
static void expect_joined(plim_device *device) {
  enum { ROWS = 3, CHANNELS = MANY * 2 - 1, BYTES_OF_ALL = ROWS * CHANNELS * sizeof(float) };
  plim_shape part[MANY];
  int64_t at[MANY], bytes = 0;
  float before[ROWS * CHANNELS + MANY * PLIM_ALIGN], whole[ROWS * CHANNELS], after[sizeof before / sizeof *before];
  void *memory = NULL, *kernel = NULL, *of_part[MANY];
  for (int i = 0; i < MANY; i++) {
    part[i] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){ROWS, 1 + i % 3});
    at[i] = bytes;
    bytes += plim_align_up(plim_shape_bytes(&part[i]), PLIM_ALIGN);
  }
  const plim_shape all = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){ROWS, CHANNELS});
  plim_op_desc join = {.kind = PLIM_OP_CONCAT, .n_in = MANY, .many_in = part, .n_out = 1, .out = {all}};
  plim_op_desc split = {.kind = PLIM_OP_SPLIT, .n_in = 1, .in = {all}, .n_out = MANY, .many_out = part};
  cr_assert(plim_op_fits(&join, NULL, NULL, 0));
  cr_assert_leq(bytes, (int64_t)sizeof before);
  for (size_t k = 0; k < sizeof before / sizeof *before; k++) before[k] = (float)k;
  well(device->api->memory.alloc(device, bytes + PLIM_ALIGN + BYTES_OF_ALL, &memory));
  void *joined = (char *)memory + bytes;
  for (int i = 0; i < MANY; i++) of_part[i] = (char *)memory + at[i];
  well(device->api->queues.copy(device, 0, memory, before, bytes));
  const plim_kernel_args into = {.in = of_part, .out = &joined}, back = {.in = &joined, .out = of_part};
  well(device->api->kernels.prepare(device, &join, "single-source", &kernel));
  well(device->api->kernels.run(device, 0, kernel, &into));
  device->api->kernels.unprepare(device, kernel);
  well(device->api->queues.copy(device, 0, whole, joined, BYTES_OF_ALL));
  well(device->api->queues.fill(device, 0, memory, 0xff, bytes));
  well(device->api->kernels.prepare(device, &split, "single-source", &kernel));
  well(device->api->kernels.run(device, 0, kernel, &back));
  device->api->kernels.unprepare(device, kernel);
  well(device->api->queues.copy(device, 0, after, memory, bytes));
  well(device->api->queues.sync(device));
  for (int i = 0, column = 0; i < MANY; column += 1 + i++ % 3) {
    const float *of = before + at[i] / (int64_t)sizeof(float);
    const int width = 1 + i % 3;
    for (int k = 0; k < ROWS * width; k++) {
      cr_assert_eq(whole[k / width * CHANNELS + column + k % width], of[k], "part %d", i);
    }
    cr_assert_arr_eq((char *)after + at[i], of, (size_t)(ROWS * width) * sizeof(float));
  }
  device->api->memory.release(device, memory, bytes + PLIM_ALIGN + BYTES_OF_ALL);
}

Test(many_operands, a_hundred_tensors_are_joined_and_split_on_the_cpu_and_on_a_gpu) {
  const fake_cuda_options options = fake_cuda_options_default();
  plim_device *device;
  well(plim_device_open(ctx, "cpu", NULL, &device));
  expect_joined(device);
  plim_device_close(device);
  well(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &device));
  expect_joined(device);
  plim_device_close(device);
}
