/* Strided values: three parts of one tensor, read by an op where they lie, without copies. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/device/device_check.h"
#include "runtime/exec/exec.h"
#include "runtime/profile/profiler.h"
#include "tests/support/folder.h"
#include "tests/support/test_context.h"

static plim_context *ctx;
static plim_device *cpu;

static void well(plim_status status) {
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
}

static void setup(void) {
  plim_device_options options = plim_device_options_default();
  options.threads = 1;
  ctx = plim_test_context();
  well(plim_device_open(ctx, "cpu", &options, &cpu));
}

static void teardown(void) {
  plim_device_close(cpu);
  plim_test_context_end(ctx);
}
TestSuite(strided, .init = setup, .fini = teardown);

static plim_plan *keep_all(const plim_graph *graph) {
  plim_profiler_options measured = plim_profiler_options_default();
  plim_plan_options options = plim_plan_options_default();
  plim_profile *profile;
  plim_plan *plan;
  measured.cache_dir = "";
  measured.repeats = 1;
  well(plim_profile_measure(cpu, graph, &measured, &profile));
  well(plim_plan_keep_all(ctx, graph, profile, &options, &plan));
  plim_profile_free(profile);
  return plan;
}

enum { TOKENS = 5, PART = 4 };
static const plim_op_row parts_row = {
    .struct_bytes = sizeof parts_row,
    .name = "test.parts",
    .version = PLIM_OWN_KIND_VERSION,
    .in = {{.name = "q", .type = 'f', .shape = "T C", .strided = 1},
           {.name = "k", .type = 'f', .shape = "T C", .strided = 1}},
    .out = {{.name = "y", .type = 'f', .shape = "T"}},
    .doc = "y = sums of q k by row",
};

static int parts_prepare(void *user, const plim_op_desc *op, const char *variant, void **state) {
  static int64_t stride;
  (void)user, (void)variant;
  stride = op->in[0].stride[0];
  *state = &stride;
  return op->in[1].stride[0] == stride ? PLIM_KERNEL_OK : PLIM_KERNEL_UNSUPPORTED;
}

static int parts_run(void *state, const plim_kernel_args *args, void *queue) {
  const float *q = args->in[0], *k = args->in[1];
  const int64_t stride = *(const int64_t *)state;
  float *y = args->out[0];
  (void)queue;
  for (int t = 0; t < TOKENS; t++) {
    y[t] = 0;
    for (int c = 0; c < PART; c++) y[t] += q[t * stride + c] * k[t * stride + c];
  }
  return PLIM_KERNEL_OK;
}

static plim_shape part_shape(void) {
  plim_shape part = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){TOKENS, PART});
  part.stride[0] = 3 * PART;
  part.stride[1] = 1;
  return part;
}

static plim_graph *parts_graph(plim_op_kind kind) {
  const plim_shape whole = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){TOKENS, 3 * PART}), part = part_shape();
  const plim_shape sums = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){TOKENS});
  plim_graph_builder *b;
  plim_graph *made;
  int32_t storage, qkv, q, k, y, id;
  well(plim_graph_begin(ctx, "parts", 0, &b));
  well(plim_graph_add_storage(b, PLIM_ROLE_INPUT, plim_shape_bytes(&whole), &storage));
  well(plim_graph_add_value(b, "qkv", storage, 0, &whole, &qkv));
  well(plim_graph_add_value(b, "q", storage, 0, &part, &q));
  well(plim_graph_add_value(b, "k", storage, PART * (int64_t)sizeof(float), &part, &k));
  well(plim_graph_add(b, "y", PLIM_ROLE_OUTPUT, &sums, &y));
  cr_assert_eq(plim_graph_add_value(b, "beyond", storage, (2 * PART + 1) * (int64_t)sizeof(float), &part, &qkv),
               PLIM_EDATA);
  plim_op_spec spec = {.name = "y", .kind = kind, .n_in = 2, .in = {q, k}, .n_out = 1, .out = {y}, .time_ns = -1};
  well(plim_graph_add_op(b, &spec, &id));
  well(plim_graph_end(b, &made));
  return made;
}

Test(strided, parts_of_one_tensor_are_read_where_they_lie) {
  const plim_own_kernel kernel = {
      .struct_bytes = sizeof kernel, .name = "plain", .prepare = parts_prepare, .run = parts_run};
  plim_op_kind kind;
  plim_device *check;
  plim_graph *read = NULL;
  plim_exec *exec;
  float qkv[TOKENS * 3 * PART], y[TOKENS];
  cr_assert_null(plim_op_kind_add(&parts_row, &kind));
  plim_graph *graph = parts_graph(kind);
  cr_assert_eq(graph->value[1].bytes, (int64_t)sizeof(float) * (3 * PART * (TOKENS - 1) + PART));
  (void)plim_test_folder();
  well(plim_graph_save(graph, plim_test_path("parts.json")));
  well(plim_graph_load(ctx, plim_test_path("parts.json"), &read));
  plim_test_folder_remove();
  cr_assert_str_eq(read->fingerprint, graph->fingerprint);
  cr_assert_eq(read->value[1].shape.stride[0], 3 * PART);
  plim_graph_free(read);
  well(plim_device_add_kernel(cpu, kind, &kernel));
  well(plim_device_check_open(cpu, &check));
  plim_plan *plan = keep_all(graph);
  const plim_graph *g = graph;
  const plim_plan *p = plan;
  well(plim_exec_open(ctx, check, NULL, 1, &g, &p, &exec));
  for (int i = 0; i < TOKENS * 3 * PART; i++) qkv[i] = (float)i;
  well(plim_exec_write(exec, 0, plim_graph_find_value(graph, "qkv"), qkv, sizeof qkv));
  well(plim_exec_step(exec, 0, NULL, NULL));
  well(plim_exec_read(exec, 0, plim_graph_find_value(graph, "y"), y, sizeof y));
  for (int t = 0; t < TOKENS; t++) {
    float expected = 0;
    for (int c = 0; c < PART; c++) expected += qkv[t * 3 * PART + c] * qkv[t * 3 * PART + PART + c];
    cr_assert_eq(y[t], expected);
  }
  plim_exec_close(exec);
  plim_plan_free(plan);
  plim_device_close(check);
  plim_graph_free(graph);
}

Test(strided, a_kind_whose_row_has_no_strides_refuses_them) {
  const plim_shape whole = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){TOKENS, 3 * PART}), part = part_shape();
  const plim_shape dense = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){TOKENS, PART});
  plim_graph_builder *b;
  int32_t storage, q, y, id;
  well(plim_graph_begin(ctx, "parts", 0, &b));
  well(plim_graph_add_storage(b, PLIM_ROLE_INPUT, plim_shape_bytes(&whole), &storage));
  well(plim_graph_add_value(b, "q", storage, 0, &part, &q));
  well(plim_graph_add(b, "y", PLIM_ROLE_OUTPUT, &dense, &y));
  plim_op_spec spec = {.name = "r", .kind = PLIM_OP_RELU, .n_in = 1, .in = {q}, .n_out = 1, .out = {y}, .time_ns = -1};
  cr_assert_eq(plim_graph_add_op(b, &spec, &id), PLIM_EDATA);
  cr_assert(strstr(plim_context_error(ctx), "x of a relu has strides"), "%s", plim_context_error(ctx));
  plim_graph_builder_free(b);
}

/* ---- as many sizes as a shape may have ---- */

static const int64_t sizes[PLIM_MAX_RANK] = {2, 1, 3, 2, 1, 2, 4, 2};
enum { ALL = 2 * 3 * 2 * 2 * 4 * 2 };
static const plim_op_row dense_row = {
    .struct_bytes = sizeof dense_row,
    .name = "test.dense",
    .version = PLIM_OWN_KIND_VERSION,
    .in = {{.name = "x", .type = 'f', .shape = "...", .strided = 1}},
    .out = {{.name = "y", .type = 'f', .shape = "..."}},
    .doc = "y = x, dense",
};

/* The same sizes, of which the first is the next in memory: a transpose of a dense tensor. */
static plim_shape turned_shape(void) {
  plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, PLIM_MAX_RANK, sizes);
  int64_t stride = 1;
  for (int d = 0; d < PLIM_MAX_RANK; d++) {
    shape.stride[d] = stride;
    stride *= sizes[d];
  }
  return shape;
}

/* Where element e of the dense tensor lies in the turned one. */
static int64_t turned(int64_t e) {
  const plim_shape shape = turned_shape();
  int64_t at = 0;
  for (int d = PLIM_MAX_RANK - 1; d >= 0; d--) {
    at += e % sizes[d] * shape.stride[d];
    e /= sizes[d];
  }
  return at;
}

static int dense_prepare(void *user, const plim_op_desc *op, const char *variant, void **state) {
  const plim_shape shape = turned_shape();
  (void)user, (void)variant, (void)state;
  return op->in[0].rank == PLIM_MAX_RANK && memcmp(op->in[0].stride, shape.stride, sizeof shape.stride) == 0
             ? PLIM_KERNEL_OK
             : PLIM_KERNEL_UNSUPPORTED;
}

static int dense_run(void *state, const plim_kernel_args *args, void *queue) {
  const float *x = args->in[0];
  float *y = args->out[0];
  (void)state, (void)queue;
  for (int64_t e = 0; e < ALL; e++) y[e] = x[turned(e)];
  return PLIM_KERNEL_OK;
}

/* A ReLU of eight sizes after the caller's kernel. */
static plim_graph *eight_sizes(plim_op_kind kind) {
  const plim_shape view = turned_shape(), dense = plim_shape_make(PLIM_F32, PLIM_FLAT, PLIM_MAX_RANK, sizes);
  plim_shape nine = dense;
  plim_graph_builder *b;
  plim_graph *made;
  int32_t x, y, r, mask, id;
  well(plim_graph_begin(ctx, "eight", 0, &b));
  well(plim_graph_add(b, "x", PLIM_ROLE_INPUT, &view, &x));
  well(plim_graph_add(b, "y", PLIM_ROLE_ACTIVATION, &dense, &y));
  well(plim_graph_add(b, "r", PLIM_ROLE_OUTPUT, &dense, &r));
  plim_shape bits = dense;
  bits.dtype = PLIM_BITS;
  well(plim_graph_add(b, "mask", PLIM_ROLE_ACTIVATION, &bits, &mask));
  nine.rank = PLIM_MAX_RANK + 1;
  cr_assert_eq(plim_graph_add(b, "nine", PLIM_ROLE_INPUT, &nine, &id), PLIM_EDATA);
  cr_assert(strstr(plim_context_error(ctx), "value 'nine': the shape is not allowed (rank 1 to 8"));
  plim_op_spec spec = {.name = "y", .kind = kind, .n_in = 1, .in = {x}, .n_out = 1, .out = {y}, .time_ns = -1};
  well(plim_graph_add_op(b, &spec, &id));
  spec = (plim_op_spec){
      .name = "r", .kind = PLIM_OP_RELU, .n_in = 1, .in = {y}, .n_out = 2, .out = {r, mask}, .time_ns = -1};
  well(plim_graph_add_op(b, &spec, &id));
  well(plim_graph_end(b, &made));
  return made;
}

Test(strided, tensors_of_eight_sizes_are_written_measured_planned_and_read_with_strides) {
  const plim_own_kernel kernel = {
      .struct_bytes = sizeof kernel, .name = "plain", .prepare = dense_prepare, .run = dense_run};
  plim_op_kind kind;
  plim_device *check;
  plim_graph *graph = NULL;
  plim_exec *exec;
  float x[ALL], r[ALL];
  cr_assert_null(plim_op_kind_add(&dense_row, &kind));
  plim_graph *made = eight_sizes(kind);
  (void)plim_test_folder();
  well(plim_graph_save(made, plim_test_path("eight.json")));
  well(plim_graph_load(ctx, plim_test_path("eight.json"), &graph));
  plim_test_folder_remove();
  cr_assert_str_eq(made->fingerprint, graph->fingerprint);
  plim_graph_free(made);
  well(plim_device_add_kernel(cpu, kind, &kernel));
  well(plim_device_check_open(cpu, &check));
  plim_plan *plan = keep_all(graph);
  const plim_graph *g = graph;
  const plim_plan *p = plan;
  well(plim_exec_open(ctx, check, NULL, 1, &g, &p, &exec));
  for (int i = 0; i < ALL; i++) x[i] = (float)(i % 2 ? i : -i);
  well(plim_exec_write(exec, 0, plim_graph_find_value(graph, "x"), x, sizeof x));
  well(plim_exec_step(exec, 0, NULL, NULL));
  well(plim_exec_read(exec, 0, plim_graph_find_value(graph, "r"), r, sizeof r));
  for (int e = 0; e < ALL; e++) cr_assert_eq(r[e], x[turned(e)] > 0 ? x[turned(e)] : 0);
  plim_exec_close(exec);
  plim_plan_free(plan);
  plim_device_close(check);
  plim_graph_free(graph);
}
