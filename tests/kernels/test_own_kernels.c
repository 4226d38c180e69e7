/* A kind and its kernels from outside: one row, three lines of arithmetic. It is profiled, planned, recomputed,
 * captured and checked like the built-in ones, and its graph is written and read. */
#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/device/device_check.h"
#include "runtime/device/device_cuda.h"
#include "runtime/exec/exec.h"
#include "runtime/profile/profiler.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/folder.h"
#include "tests/support/plan_draft.h"
#include "tests/support/test_context.h"

enum { N = 1024, LAYERS = 8, STEPS = 3 };

/* ---- one row ---- */

static const plim_op_row scale_row = {
    .struct_bytes = sizeof scale_row,
    .name = "test.scale",
    .version = PLIM_OWN_KIND_VERSION,
    .in = {{.name = "x", .type = 'f', .shape = "N"}},
    .out = {{.name = "y", .type = 'f', .shape = "N"}},
    .own = {{"gain", PLIM_ATTR_FLOAT, 1, offsetof(plim_attrs, own_float), 0, 0}},
    .n_pairs = 1,
    .pair = {{0, 0}},
    .flops = "N",
    .doc = "y = x * gain",
};
static const plim_op_row sum_row = {
    .struct_bytes = sizeof sum_row,
    .name = "test.add_up",
    .cls = PLIM_OP_EFFECT,
    .version = PLIM_OWN_KIND_VERSION,
    .in = {{.name = "a", .type = 'f', .shape = "N"}, {.name = "b", .type = 'f', .shape = "N"}},
    .upd = {{.name = "p", .type = 'f', .shape = "N"},
            {.name = "q", .type = 'f', .shape = "N"},
            {.name = "r", .type = 'f', .shape = "N"}},
    .doc = "p += a, q += b, r += a * b: more updates than two",
};
static plim_op_kind scale_kind, sum_kind;

/* ---- the kernels ---- */

static float gain_of[2] = {1.5F, 0.5F}; /* by variant state: what prepare found in the op */

static int scale_prepare(void *user, const plim_op_desc *op, const char *variant, void **state) {
  (void)user, (void)variant;
  *state = op->attrs.own_float[0] == gain_of[0] ? &gain_of[0] : &gain_of[1];
  return PLIM_KERNEL_OK;
}

static int scale_run(void *state, const plim_kernel_args *args, void *queue) {
  const float *x = args->in[0], gain = *(const float *)state;
  float *y = args->out[0];
  if (queue) return PLIM_KERNEL_FAILED;
  for (int i = 0; i < N; i++) y[i] = x[i] * gain;
  return PLIM_KERNEL_OK;
}

static int sum_run(void *state, const plim_kernel_args *args, void *queue) {
  const float *a = args->in[0], *b = args->in[1];
  float *p = args->upd[0], *q = args->upd[1], *r = args->upd[2];
  (void)state, (void)queue;
  for (int i = 0; i < N; i++) {
    p[i] += a[i];
    q[i] += b[i];
    r[i] += a[i] * b[i];
  }
  return PLIM_KERNEL_OK;
}

static plim_own_kernel scale_kernel(void) {
  return (plim_own_kernel){
      .struct_bytes = sizeof(plim_own_kernel), .name = "plain", .prepare = scale_prepare, .run = scale_run};
}
static plim_own_kernel sum_kernel(void) {
  return (plim_own_kernel){.struct_bytes = sizeof(plim_own_kernel), .name = "plain", .run = sum_run};
}

/* ---- a step: up the layers and down again, so that recomputing early layers saves bytes ---- */

static plim_context *ctx;
static plim_device *cpu;
static plim_graph *graph;
static plim_profile *profile;

static void well(plim_status status) {
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
}

static void add_op(plim_graph_builder *b, const plim_op_spec *spec) {
  int32_t id;
  well(plim_graph_add_op(b, spec, &id));
}

static void add_scale(plim_graph_builder *b, const char *name, int32_t from, float gain, int32_t *to) {
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){N});
  well(plim_graph_add(b, name, PLIM_ROLE_ACTIVATION, &shape, to));
  plim_op_spec spec = {
      .name = name, .kind = scale_kind, .n_in = 1, .in = {from}, .n_out = 1, .out = {*to}, .time_ns = -1};
  spec.attrs.own_float[0] = gain;
  add_op(b, &spec);
}

static void make_graph(void) {
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){N});
  static const char *const states[] = {"p", "q", "r"};
  plim_graph_builder *b;
  int32_t x[LAYERS + 1], state[3], back;
  char name[16];
  well(plim_graph_begin(ctx, "scales", 0, &b));
  well(plim_graph_add(b, "x", PLIM_ROLE_INPUT, &shape, &x[0]));
  for (int i = 0; i < 3; i++) well(plim_graph_add(b, states[i], PLIM_ROLE_STATE, &shape, &state[i]));
  for (int i = 0; i < LAYERS; i++) {
    (void)snprintf(name, sizeof name, "f%d", i);
    add_scale(b, name, x[i], i % 2 ? 0.5F : 1.5F, &x[i + 1]);
  }
  back = x[LAYERS];
  for (int i = LAYERS - 1; i > 0; i--) {
    int32_t product;
    (void)snprintf(name, sizeof name, "m%d", i);
    well(plim_graph_add(b, name, PLIM_ROLE_ACTIVATION, &shape, &product));
    plim_op_spec add = {.name = name,
                        .kind = PLIM_OP_ADD,
                        .phase = PLIM_PHASE_BACKWARD,
                        .n_in = 2,
                        .in = {back, x[i]},
                        .n_out = 1,
                        .out = {product},
                        .time_ns = -1};
    add_op(b, &add);
    (void)snprintf(name, sizeof name, "b%d", i);
    add_scale(b, name, product, 0.5F, &back);
  }
  plim_op_spec sum = {.name = "sum",
                      .kind = sum_kind,
                      .phase = PLIM_PHASE_UPDATE,
                      .n_in = 2,
                      .in = {back, x[0]},
                      .n_upd = 3,
                      .upd = {state[0], state[1], state[2]},
                      .time_ns = -1};
  add_op(b, &sum);
  well(plim_graph_end(b, &graph));
}

static void add_kernels(plim_device *device) {
  const plim_own_kernel scale = scale_kernel(), sum = sum_kernel();
  well(plim_device_add_kernel(device, scale_kind, &scale));
  well(plim_device_add_kernel(device, sum_kind, &sum));
}

static void measure(plim_device *device) {
  plim_profiler_options options = plim_profiler_options_default();
  options.cache_dir = "";
  options.repeats = 1;
  well(plim_profile_measure(device, graph, &options, &profile));
}

static void setup(void) {
  plim_device_options options = plim_device_options_default();
  options.threads = 1;
  ctx = plim_test_context();
  cr_assert_null(plim_op_kind_add(&scale_row, &scale_kind));
  cr_assert_null(plim_op_kind_add(&sum_row, &sum_kind));
  well(plim_device_open(ctx, "cpu", &options, &cpu));
  make_graph();
}

static void teardown(void) {
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_device_close(cpu);
  plim_test_context_end(ctx);
}
TestSuite(own_kernels, .init = setup, .fini = teardown);

/* A plan within `percent` of the keep-all bytes; 100: keep-all. */
static plim_plan *make_plan(int percent) {
  plim_plan_options options = plim_plan_options_default();
  plim_plan *all = NULL, *some = NULL;
  options.iterations = 2000;
  well(plim_plan_keep_all(ctx, graph, profile, &options, &all));
  if (percent == 100) return all;
  options.budget_bytes = all->arena_bytes * percent / 100;
  well(plim_plan_make(ctx, graph, profile, &options, &some));
  cr_assert_gt(some->n_commands, all->n_commands, "nothing is recomputed");
  plim_plan_free(all);
  return some;
}

/* Steps of a plan on a device; the states in the end. */
static plim_status train(plim_device *device, const plim_plan *plan, float *states /* [3][N] */) {
  static const char *const names[] = {"p", "q", "r"};
  plim_exec_options options = plim_exec_options_default();
  plim_exec *exec = NULL;
  float x[N];
  const plim_graph *g = graph;
  well(plim_exec_open(ctx, device, &options, 1, &g, &plan, &exec));
  for (int i = 0; i < N; i++) x[i] = (float)(i % 37) * 0.25F;
  memset(states, 0, 3 * N * sizeof *states);
  for (int s = 0; s < 3; s++) {
    well(plim_exec_write(exec, 0, plim_graph_find_value(graph, names[s]), states + s * N, N * sizeof *states));
  }
  plim_status status = PLIM_OK;
  for (int i = 0; i < STEPS && status == PLIM_OK; i++) {
    well(plim_exec_write(exec, 0, plim_graph_find_value(graph, "x"), x, sizeof x));
    plim_exec_set_step(exec, 1, i);
    status = plim_exec_step(exec, 0, NULL, NULL);
  }
  for (int s = 0; s < 3 && status == PLIM_OK; s++) {
    well(plim_exec_read(exec, 0, plim_graph_find_value(graph, names[s]), states + s * N, N * sizeof *states));
  }
  plim_exec_close(exec);
  return status;
}

Test(own_kernels, an_own_kind_is_profiled_planned_and_recomputed_with_equal_bits) {
  static float all_states[3 * N], some_states[3 * N];
  add_kernels(cpu);
  measure(cpu);
  plim_plan *all = make_plan(100), *some = make_plan(70);
  well(train(cpu, all, all_states));
  well(train(cpu, some, some_states));
  cr_assert_arr_eq(all_states, some_states, sizeof all_states);
  cr_assert_gt(all_states[1], 0);
  cr_assert_eq(all_states[N + 1], STEPS * 0.25F);
  plim_plan_free(some);
  plim_plan_free(all);
}

Test(own_kernels, a_graph_with_own_kinds_is_written_as_version_5_and_read_again) {
  char line[4096];
  plim_graph *read = NULL;
  (void)plim_test_folder();
  const char *path = plim_test_path("graph.json");
  well(plim_graph_save(graph, path));
  well(plim_graph_load(ctx, path, &read));
  cr_assert_str_eq(read->fingerprint, graph->fingerprint);
  cr_assert_eq(read->op[0].kind, scale_kind);
  cr_assert_eq(read->op[0].attrs.own_float[0], 1.5F);
  plim_graph_free(read);
  FILE *f = fopen(path, "r");
  cr_assert(f);
  int version = 0, gain = 0;
  while (fgets(line, sizeof line, f)) {
    version |= strstr(line, "\"version\": 5") != NULL;
    gain |= strstr(line, "\"kind\": \"test.scale\"") && strstr(line, "\"attrs\": {\"gain\": 1.5}");
  }
  (void)fclose(f);
  plim_test_folder_remove();
  cr_assert(version && gain);
}

Test(own_kernels, an_op_that_does_not_follow_its_rule_is_refused_with_its_sizes) {
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){N});
  const plim_shape other = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){N + 1});
  plim_graph_builder *b;
  int32_t x, y, id;
  well(plim_graph_begin(ctx, "wrong", 0, &b));
  well(plim_graph_add(b, "x", PLIM_ROLE_INPUT, &shape, &x));
  well(plim_graph_add(b, "y", PLIM_ROLE_OUTPUT, &other, &y));
  plim_op_spec spec = {.name = "s", .kind = scale_kind, .n_in = 1, .in = {x}, .n_out = 1, .out = {y}, .time_ns = -1};
  cr_assert_eq(plim_graph_add_op(b, &spec, &id), PLIM_EDATA);
  cr_assert(strstr(plim_context_error(ctx), "op 's': y of a test.scale has the sizes [1025]"), "%s",
            plim_context_error(ctx));
  spec.out[0] = x;
  spec.attrs.drop = 0.5F;
  cr_assert_eq(plim_graph_add_op(b, &spec, &id), PLIM_EDATA);
  cr_assert(strstr(plim_context_error(ctx), "a test.scale has no such attribute"), "%s", plim_context_error(ctx));
  plim_graph_builder_free(b);
}

/* ---- variants ---- */

static int two_variants(void *user, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  (void)user, (void)op;
  if (capacity > 0) (void)snprintf(info[0].name, sizeof info[0].name, "large");
  if (capacity > 0) info[0].workspace_bytes = 4096;
  if (capacity > 1) (void)snprintf(info[1].name, sizeof info[1].name, "small");
  if (capacity > 1) (void)snprintf(info[1].numerics_key, sizeof info[1].numerics_key, "%s", "own:large");
  return 2;
}

Test(own_kernels, variants_have_workspace_and_numerics_keys) {
  plim_own_kernel two = scale_kernel();
  const plim_own_kernel sum = sum_kernel();
  two.name = NULL;
  two.list = two_variants;
  well(plim_device_add_kernel(cpu, scale_kind, &two));
  well(plim_device_add_kernel(cpu, sum_kind, &sum));
  measure(cpu);
  const plim_variant *v = profile->variant + profile->first[0];
  cr_assert_eq(profile->first[1] - profile->first[0], 2);
  cr_assert_str_eq(v[0].name, "large");
  cr_assert_str_eq(v[0].numerics_key, "own:large");
  cr_assert_eq(v[0].workspace_bytes, 4096);
  cr_assert_str_eq(v[1].name, "small");
  cr_assert_str_eq(v[1].numerics_key, v[0].numerics_key);
  cr_assert_geq(v[0].time_ns, 0);
  plim_plan *plan = make_plan(100);
  static float states[3 * N];
  well(train(cpu, plan, states));
  plim_plan_free(plan);
}

/* 18 variants, the first of a name that stands for a kernel in parts. */
static int many_variants(void *user, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  (void)user, (void)op;
  for (int i = 0; i < 18 && i < capacity; i++) (void)snprintf(info[i].name, sizeof info[i].name, i ? "v%d" : "v@%d", i);
  return 18;
}

Test(own_kernels, what_is_listed_can_be_prepared) {
  plim_own_kernel many = scale_kernel();
  plim_kernel_info info[24];
  plim_op_desc op;
  many.name = NULL;
  many.list = many_variants;
  well(plim_device_add_kernel(cpu, scale_kind, &many));
  plim_graph_describe(graph, 0, &op);
  const int n = cpu->api->kernels.variants(cpu, &op, info, 24);
  cr_assert_eq(n, 15);
  cr_assert_eq(cpu->api->kernels.variants(cpu, &op, NULL, 0), n);
  cr_assert_str_eq(info[0].name, "v1");
  for (int i = 0; i < n; i++) {
    void *kernel = NULL;
    cr_assert_eq(cpu->api->kernels.prepare(cpu, &op, info[i].name, &kernel), PLIM_OK, "%s", info[i].name);
    cpu->api->kernels.unprepare(cpu, kernel);
  }
}

/* PLIM_KERNEL_VARIANTS variants of an op are looked at. A plan names the one after them. */
Test(own_kernels, a_plan_may_not_give_a_numerics_key_to_a_variant_that_is_not_listed) {
  plim_own_kernel many = scale_kernel(), last = scale_kernel(), unlisted = scale_kernel();
  const plim_own_kernel sum = sum_kernel();
  many.name = NULL;
  many.list = many_variants; /* 15 */
  unlisted.name = "unlisted";
  well(plim_device_add_kernel(cpu, scale_kind, &many));
  well(plim_device_add_kernel(cpu, scale_kind, &last));
  well(plim_device_add_kernel(cpu, scale_kind, &unlisted));
  well(plim_device_add_kernel(cpu, sum_kind, &sum));
  measure(cpu);
  cr_assert_eq(profile->first[1] - profile->first[0], PLIM_KERNEL_VARIANTS);
  plim_plan *plan = make_plan(100), *other = NULL;
  plan_draft draft = plan_draft_make(plan);
  for (int32_t i = 0; i < plan->n_variants; i++) {
    plim_variant *v = &draft.variant[i].variant;
    if (graph->op[draft.variant[i].op].kind == scale_kind) (void)snprintf(v->name, sizeof v->name, "unlisted");
  }
  well(plim_plan_from_parts(graph, &draft.plan, &other));
  plim_exec_options options = plim_exec_options_default();
  plim_exec *exec = NULL;
  const plim_graph *g = graph;
  const plim_plan *plans = other;
  cr_assert_eq(plim_exec_open(ctx, cpu, &options, 1, &g, &plans, &exec), PLIM_EPLAN);
  cr_assert_not_null(strstr(plim_context_error(ctx), "does not list"), "%s", plim_context_error(ctx));
  plan_draft_free(&draft);
  plim_plan_free(other);
  plim_plan_free(plan);
}

Test(own_kernels, a_kernel_of_a_built_in_kind_stands_beside_the_built_in_ones) {
  const plim_own_kernel mine = scale_kernel();
  plim_kernel_info info[4];
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){N});
  plim_op_desc op = {.kind = PLIM_OP_RELU, .n_in = 1, .n_out = 1, .in = {shape}, .out = {shape}};
  well(plim_device_add_kernel(cpu, PLIM_OP_RELU, &mine));
  cr_assert_eq(cpu->api->kernels.variants(cpu, &op, info, 4), 2);
  cr_assert_str_eq(info[0].name, "single-source");
  cr_assert_str_eq(info[1].name, "plain");
}

Test(own_kernels, wrong_kernels_are_refused) {
  plim_own_kernel kernel = scale_kernel();
  cr_assert_eq(plim_device_add_kernel(cpu, (plim_op_kind)9999, &kernel), PLIM_EUSAGE);
  kernel.run = NULL;
  cr_assert_eq(plim_device_add_kernel(cpu, scale_kind, &kernel), PLIM_EUSAGE);
  kernel = scale_kernel();
  kernel.name = "plain@m2";
  cr_assert_eq(plim_device_add_kernel(cpu, scale_kind, &kernel), PLIM_EUSAGE);
  kernel.name = "";
  cr_assert_eq(plim_device_add_kernel(cpu, scale_kind, &kernel), PLIM_EUSAGE);
  kernel.name = "a-name-of-thirty-two-characters.";
  cr_assert_eq(strlen(kernel.name), PLIM_KERNEL_NAME_BYTES);
  cr_assert_eq(plim_device_add_kernel(cpu, scale_kind, &kernel), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "1 to 31 characters"), "%s", plim_context_error(ctx));
  kernel.name++;
  cr_assert_eq(plim_device_add_kernel(cpu, scale_kind, &kernel), PLIM_OK);
  kernel.struct_bytes--;
  cr_assert_eq(plim_device_add_kernel(cpu, scale_kind, &kernel), PLIM_EUSAGE);
}

/* ---- kernels that fail, or say what cannot be ---- */

typedef struct odd_kernel {
  int listed, prepared, ran; /* what its functions return */
  int64_t workspace_bytes;
  const char *name, *sentence; /* NULL: no error */
  int fails_at, runs;          /* 0: in no run */
} odd_kernel;

static int odd_list(void *user, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  const odd_kernel *odd = user;
  (void)op, (void)capacity;
  if (odd->listed < 1) return odd->listed;
  memcpy(info->name, odd->name, strlen(odd->name) < sizeof info->name ? strlen(odd->name) : sizeof info->name);
  info->workspace_bytes = odd->workspace_bytes;
  return odd->listed;
}
static int odd_prepare(void *user, const plim_op_desc *op, const char *variant, void **state) {
  (void)op, (void)variant;
  *state = user;
  return ((odd_kernel *)user)->prepared;
}
static int odd_run(void *state, const plim_kernel_args *args, void *queue) {
  odd_kernel *odd = state;
  (void)queue;
  if (odd->fails_at && ++odd->runs == odd->fails_at) return PLIM_KERNEL_FAILED;
  memcpy(args->out[0], args->in[0], N * sizeof(float));
  return odd->ran;
}
static void add_odd(odd_kernel *odd) {
  const plim_own_kernel sum = sum_kernel(), scale = scale_kernel();
  const plim_own_kernel kernel = {
      .struct_bytes = sizeof kernel, .list = odd_list, .prepare = odd_prepare, .run = odd_run, .user = odd};
  well(plim_device_add_kernel(cpu, sum_kind, &sum));
  well(plim_device_add_kernel(cpu, scale_kind, &scale));
  well(plim_device_add_kernel(cpu, scale_kind, &kernel));
}

#define LONG_NAME "a-name-of-more-characters-than-a-variant-may-have"
Test(own_kernels, a_kernel_that_fails_or_says_what_cannot_be_is_named_or_left_out) {
  static odd_kernel cases[] = {
      {.listed = -1},
      {.listed = 99, .name = "odd"}, /* all but the first have no name */
      {.listed = 1, .name = "odd", .prepared = PLIM_KERNEL_UNSUPPORTED},
      {.listed = 1, .name = "odd", .ran = PLIM_KERNEL_UNSUPPORTED},
      {.listed = 1, .name = "odd", .prepared = PLIM_KERNEL_FAILED, .sentence = "op \"f0\", variant \"odd\""},
      {.listed = 1, .name = "odd", .prepared = 77, .sentence = "op \"f0\", variant \"odd\": odd: the kernel failed"},
      {.listed = 1, .name = "odd", .prepared = PLIM_KERNEL_NOMEM, .sentence = "variant \"odd\": odd: out of memory"},
      {.listed = 1, .name = "odd", .ran = 5, .sentence = "op \"f0\", variant \"odd\": run: the kernel failed"},
      {.listed = 1, .name = "odd", .workspace_bytes = -5, .sentence = "variant \"odd\": its workspace has -5 bytes"},
      {.listed = 1, .name = "odd", .workspace_bytes = INT64_MAX, .sentence = "overflow a size"},
      {.listed = 1, .name = "plain", .sentence = "op \"f0\" has two variants \"plain\""},
      {.listed = 1, .name = "a\nb", .sentence = "a variant's name has byte 0x0a at 1"},
      {.listed = 1, .name = LONG_NAME, .sentence = "a variant's name is longer than 31"},
  };
  plim_profiler_options options = plim_profiler_options_default();
  options.cache_dir = "";
  options.repeats = 1;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    add_odd(&cases[i]);
    const plim_status status = plim_profile_measure(cpu, graph, &options, &profile);
    cr_expect_eq(status == PLIM_OK, cases[i].sentence == NULL, "case %zu: %s", i, plim_context_error(ctx));
    cr_expect(!cases[i].sentence || strstr(plim_context_error(ctx), cases[i].sentence), "case %zu: %s", i,
              plim_context_error(ctx));
    plim_profile_free(profile);
    profile = NULL;
    plim_device_close(cpu);
    well(plim_device_open(ctx, "cpu", NULL, &cpu));
  }
}

Test(own_kernels, a_kernel_that_fails_in_a_step_ends_it_with_its_op) {
  static float states[3 * N];
  static odd_kernel odd = {.listed = 1, .name = "odd"};
  const plim_own_kernel sum = sum_kernel();
  const plim_own_kernel kernel = {
      .struct_bytes = sizeof kernel, .list = odd_list, .prepare = odd_prepare, .run = odd_run, .user = &odd};
  well(plim_device_add_kernel(cpu, sum_kind, &sum));
  well(plim_device_add_kernel(cpu, scale_kind, &kernel));
  measure(cpu);
  plim_plan *plan = make_plan(100);
  odd.fails_at = LAYERS + 1; /* since then */
  odd.runs = 0;
  cr_assert_eq(train(cpu, plan, states), PLIM_EDEVICE, "%s", plim_context_error(ctx));
  cr_assert(strstr(plim_context_error(ctx), "op \"b7\", variant \"odd\""), "%s", plim_context_error(ctx));
  well(train(cpu, plan, states)); /* the next run is not hurt */
  plim_plan_free(plan);
}

/* ---- what the check device says of kernels that lie ---- */

typedef struct liar {
  float kept;
  int writes_beside, writes_input, keeps;
} liar;

static int lie(void *state, const plim_kernel_args *args, void *queue) {
  liar *l = state;
  float *x = args->in[0], *y = args->out[0];
  (void)queue;
  l->kept += 1;
  for (int i = 0; i < N; i++) y[i] = x[i] + (l->keeps ? l->kept : 0);
  if (l->writes_beside) y[N] = 1;
  if (l->writes_input && x != y) x[0] += 1;
  return PLIM_KERNEL_OK;
}

static void expect_liar(liar l, const char *sentence) {
  static float states[3 * N];
  plim_device *check;
  const plim_own_kernel sum = sum_kernel();
  plim_own_kernel kernel = {.struct_bytes = sizeof kernel, .name = "liar", .run = lie, .user = &l};
  well(plim_device_check_open(cpu, &check));
  well(plim_device_add_kernel(check, scale_kind, &kernel));
  well(plim_device_add_kernel(check, sum_kind, &sum));
  measure(cpu);
  plim_plan *plan = make_plan(100);
  cr_assert_eq(train(check, plan, states), PLIM_EDIFF);
  cr_assert(strstr(plim_context_error(ctx), sentence), "%s", plim_context_error(ctx));
  cr_assert(strstr(plim_context_error(ctx), "op \"f0\", variant \"liar\""), "%s", plim_context_error(ctx));
  plim_plan_free(plan);
  plim_device_close(check);
}

Test(own_kernels, the_check_device_names_a_kernel_that_keeps_something_between_runs) {
  expect_liar((liar){.keeps = 1}, "two runs over equal bytes differ in \"f0\"");
}
Test(own_kernels, the_check_device_names_a_kernel_that_writes_beside_its_output) {
  expect_liar((liar){.writes_beside = 1}, "it changed byte");
}
Test(own_kernels, the_check_device_names_a_kernel_that_writes_its_input) {
  expect_liar((liar){.writes_input = 1}, "it changed byte");
}
Test(own_kernels, the_check_device_accepts_kernels_that_do_as_they_say) {
  static float states[3 * N];
  plim_device *check;
  add_kernels(cpu);
  measure(cpu);
  well(plim_device_check_open(cpu, &check));
  plim_plan *plan = make_plan(70);
  well(train(check, plan, states));
  plim_plan_free(plan);
  plim_device_close(check);
}

/* ---- on a GPU: the work goes to the queue, and is captured ---- */

typedef struct gpu_scale {
  const float *x;
  float *y;
  float gain;
} gpu_scale;

static void gpu_scale_now(const void *argument) {
  gpu_scale a;
  memcpy(&a, argument, sizeof a);
  const float *x = fake_cuda_stored(a.x, N * sizeof *x);
  float *y = fake_cuda_stored(a.y, N * sizeof *y);
  for (int i = 0; x && y && i < N; i++) y[i] = x[i] * a.gain;
}

static int gpu_scale_run(void *state, const plim_kernel_args *args, void *queue) {
  const gpu_scale a = {args->in[0], args->out[0], *(const float *)state};
  if (!args->now) return PLIM_KERNEL_FAILED;
  return fake_cuda_queue(gpu_scale_now, &a, sizeof a, queue) == 0 ? PLIM_KERNEL_OK : PLIM_KERNEL_FAILED;
}

typedef struct gpu_sum {
  const float *a, *b;
  float *state[3];
} gpu_sum;

static void gpu_sum_now(const void *argument) {
  gpu_sum s;
  memcpy(&s, argument, sizeof s);
  const float *a = fake_cuda_stored(s.a, N * sizeof *a), *b = fake_cuda_stored(s.b, N * sizeof *b);
  void *in[] = {(void *)(size_t)a, (void *)(size_t)b}, *upd[3];
  for (int k = 0; k < 3; k++) upd[k] = fake_cuda_stored(s.state[k], N * sizeof(float));
  const plim_kernel_args args = {.in = in, .upd = upd};
  if (a && b && upd[0] && upd[1] && upd[2]) (void)sum_run(NULL, &args, NULL);
}

static int gpu_sum_run(void *state, const plim_kernel_args *args, void *queue) {
  const gpu_sum s = {args->in[0], args->in[1], {args->upd[0], args->upd[1], args->upd[2]}};
  (void)state;
  return fake_cuda_queue(gpu_sum_now, &s, sizeof s, queue) == 0 ? PLIM_KERNEL_OK : PLIM_KERNEL_FAILED;
}

static void add_gpu_kernels(plim_device *gpu) {
  plim_own_kernel scale = scale_kernel(), sum = sum_kernel();
  scale.run = gpu_scale_run;
  sum.run = gpu_sum_run;
  well(plim_device_add_kernel(gpu, scale_kind, &scale));
  well(plim_device_add_kernel(gpu, sum_kind, &sum));
}

Test(own_kernels, own_kernels_of_a_GPU_are_captured_and_give_the_bits_of_the_CPU) {
  static float on_cpu[3 * N], on_gpu[3 * N];
  fake_cuda_options options = fake_cuda_options_default();
  plim_device *gpu;
  add_kernels(cpu);
  measure(cpu);
  plim_plan *plan = make_plan(100);
  well(train(cpu, plan, on_cpu));
  plim_plan_free(plan);
  plim_profile_free(profile);
  profile = NULL;
  well(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &gpu));
  add_gpu_kernels(gpu);
  measure(gpu);
  plan = make_plan(70);
  well(train(gpu, plan, on_gpu));
  cr_assert_geq(fake_cuda_count().captures, 1);
  cr_assert_geq(fake_cuda_count().launches, STEPS - 1);
  cr_assert_arr_eq(on_cpu, on_gpu, sizeof on_cpu);
  plim_plan_free(plan);
  plim_device_close(gpu);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

static int refuse(void *state, const plim_kernel_args *args, void *queue) {
  (void)state, (void)args, (void)queue;
  return PLIM_KERNEL_FAILED;
}

Test(own_kernels, an_own_kernel_of_a_GPU_that_fails_ends_the_profile_with_its_op) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_profiler_options profiling = plim_profiler_options_default();
  plim_own_kernel bad = {.struct_bytes = sizeof bad, .name = "bad", .run = refuse};
  plim_device *gpu;
  profiling.cache_dir = "";
  well(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &gpu));
  well(plim_device_add_kernel(gpu, scale_kind, &bad));
  well(plim_device_add_kernel(gpu, sum_kind, &bad));
  const plim_status status = plim_profile_measure(gpu, graph, &profiling, &profile);
  cr_assert(status == PLIM_EDEVICE || status == PLIM_EUNSUPPORTED, "%s", plim_status_name(status));
  cr_assert(strstr(plim_context_error(ctx), "bad"), "%s", plim_context_error(ctx));
  plim_device_close(gpu);
}
