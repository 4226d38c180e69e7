/* runtime/exec over the real kernels: whole training steps of the built-in models under the check device, with an
 * allocation a buffer, and what the process allocates while they run. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device_check.h"
#include "runtime/exec/exec.h"
#include "runtime/net/net.h"
#include "runtime/profile/profiler.h"
#include "tests/support/device_under_test.h"
#include "tests/support/random_plan.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_seed.h"

#if defined(PLIM_HAVE_JEMALLOC)
#include <jemalloc/jemalloc.h>
#endif

/* A model's training step with two plans of equal numerics: program order, and one with repeats at random. */
typedef struct rig {
  plim_context *ctx;
  plim_device *device;
  plim_net *net;
  plim_graph *graph;
  plim_plan *in_order, *shuffled;
} rig;

static const struct {
  const char *model;
  int32_t batch, side;
  plim_precision math;
} models[] = {{"mlp", 16, 28, PLIM_PRECISION_FP32},
              {"resnet20", 2, 8, PLIM_PRECISION_FP32},
              {"mlp", 16, 28, PLIM_PRECISION_BF16},
              {"resnet20", 2, 8, PLIM_PRECISION_BF16}};
enum { MODELS = sizeof models / sizeof models[0] };

/* The device's first variant of each op: with one numerics key an op, every plan has the same numerics. */
static plim_profile *first_variants(const rig *r) {
  plim_profile *all = NULL, *first = NULL;
  cr_assert_eq(plim_profile_roofline(r->device, r->graph, &all), PLIM_OK, "%s", plim_context_error(r->ctx));
  int32_t *row = malloc(((size_t)r->graph->n_ops + 1) * sizeof *row);
  plim_variant *variant = malloc((size_t)r->graph->n_ops * sizeof *variant);
  for (int32_t op = 0; op <= r->graph->n_ops; op++) row[op] = op;
  for (int32_t op = 0; op < r->graph->n_ops; op++) variant[op] = all->variant[all->first[op]];
  cr_assert_eq(plim_profile_make(r->graph, &all->machine, 0, row, variant, &first), PLIM_OK);
  free(row);
  free(variant);
  plim_profile_free(all);
  return first;
}

static rig make_rig(int m, uint64_t seed) {
  rig r = {.ctx = plim_test_context()};
  plim_net_options options = plim_net_options_default();
  options.batch = models[m].batch;
  options.channels = 3;
  options.height = options.width = models[m].side;
  options.classes = 10;
  options.precision = models[m].math;
  r.device = plim_test_device(r.ctx, 2);
  cr_assert_eq(plim_model_make(r.ctx, models[m].model, &options, &r.net), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_eq(plim_net_train_graph(r.net, &r.graph), PLIM_OK);
  plim_profile *profile = first_variants(&r);
  random_plan_options in_order = {.seed = seed, .packed = 1}, shuffled = random_plan_options_default(seed);
  shuffled.repeat_percent = 60;
  cr_assert_eq(random_plan_make(r.graph, profile, &in_order, &r.in_order), PLIM_OK);
  cr_assert_eq(random_plan_make(r.graph, profile, &shuffled, &r.shuffled), PLIM_OK);
  cr_assert_eq(r.in_order->n_commands, r.graph->n_ops);
  cr_assert_gt(r.shuffled->n_commands, r.graph->n_ops, "no repeats");
  plim_profile_free(profile);
  return r;
}

static void free_rig(rig *r) {
  plim_plan_free(r->shuffled);
  plim_plan_free(r->in_order);
  plim_graph_free(r->graph);
  plim_net_free(r->net);
  plim_device_close(r->device);
  plim_context_free(r->ctx);
}

/* Starting weights, or the inputs of a step, by role. */
static void write_values(const rig *r, plim_exec *exec, int inputs, int64_t step) {
  for (int32_t v = 0; v < r->graph->n_values; v++) {
    const plim_value *value = &r->graph->value[v];
    plim_role role = r->graph->storage[value->storage].role;
    unsigned char *bytes = malloc((size_t)value->bytes);
    if (inputs && role == PLIM_ROLE_INPUT) {
      for (int64_t i = 0; i < value->bytes; i++) bytes[i] = (unsigned char)((i * 7919 + step * 104729) >> 3);
      float hyper[4] = {0.05F, 0.9F, 1e-4F, 0};
      if (strcmp(value->name, "hyper") == 0) memcpy(bytes, hyper, sizeof hyper);
      for (int64_t i = 0; strcmp(value->name, "label") == 0 && i < value->bytes / 4; i++) {
        int32_t label = (int32_t)((i + step) % 10);
        memcpy(bytes + 4 * i, &label, sizeof label);
      }
      cr_assert_eq(plim_exec_write(exec, 0, v, bytes, value->bytes), PLIM_OK);
    } else if (!inputs && (role == PLIM_ROLE_PARAM || role == PLIM_ROLE_STATE)) {
      cr_assert_eq(plim_net_init(r->graph, v, 1, bytes), PLIM_OK);
      cr_assert_eq(plim_exec_write(exec, 0, v, bytes, value->bytes), PLIM_OK);
    }
    free(bytes);
  }
}

static plim_exec *open_exec(const rig *r, plim_device *device, const plim_plan *plan, plim_exec_addresses addresses) {
  plim_exec_options options = {.struct_bytes = sizeof options, .addresses = addresses};
  const plim_graph *graph = r->graph;
  plim_exec *exec = NULL;
  cr_assert_eq(plim_exec_open(r->ctx, device, &options, 1, &graph, &plan, &exec), PLIM_OK, "%s",
               plim_context_error(r->ctx));
  write_values(r, exec, 0, 0);
  return exec;
}

static void run_steps(const rig *r, plim_exec *exec, int64_t first, int64_t n) {
  for (int64_t step = first; step < first + n; step++) {
    write_values(r, exec, 1, step);
    plim_exec_set_step(exec, 1, step);
    cr_assert_eq(plim_exec_step(exec, 0, NULL, NULL), PLIM_OK, "%s", plim_context_error(r->ctx));
  }
}

static void expect_equal(const rig *r, plim_exec *a, plim_exec *b) {
  for (int32_t v = 0; v < r->graph->n_values; v++) {
    const plim_value *value = &r->graph->value[v];
    plim_role role = r->graph->storage[value->storage].role;
    if (role != PLIM_ROLE_PARAM && role != PLIM_ROLE_STATE && role != PLIM_ROLE_OUTPUT) continue;
    unsigned char *x = malloc((size_t)value->bytes), *y = malloc((size_t)value->bytes);
    cr_assert_eq(plim_exec_read(a, 0, v, x, value->bytes), PLIM_OK);
    cr_assert_eq(plim_exec_read(b, 0, v, y, value->bytes), PLIM_OK);
    cr_assert_arr_eq(x, y, (size_t)value->bytes, "\"%s\" differs", value->name);
    free(x);
    free(y);
  }
}

/* The check device runs every kernel twice over other bytes: whole models pass, with repeats, and leave what plain runs
 * in program order leave. */
Test(exec_models, the_check_device_finds_nothing_and_repeats_change_no_bit) {
  if (!plim_test_on_cpu()) cr_skip_test("SKIP: the check device reads memory of the host");
  for (int m = 0; m < MODELS; m++) {
    rig r = make_rig(m, test_seed(1) + (uint64_t)m);
    plim_device *check = NULL;
    cr_assert_eq(plim_device_check_open(r.device, &check), PLIM_OK);
    plim_exec *checked = open_exec(&r, check, r.shuffled, PLIM_ADDRESSES_PLANNED);
    plim_exec *plain = open_exec(&r, r.device, r.in_order, PLIM_ADDRESSES_PLANNED);
    run_steps(&r, checked, 0, 2);
    run_steps(&r, plain, 0, 2);
    expect_equal(&r, checked, plain);
    plim_exec_close(plain);
    plim_exec_close(checked);
    plim_device_close(check);
    free_rig(&r);
  }
}

Test(exec_models, an_allocation_a_buffer_leaves_the_same_weights) {
#ifdef PLIM_SANITIZED /* on the cpu it takes seconds */
  if (!plim_test_on_cpu()) cr_skip_test("long under sanitizers; the release build runs it");
#endif
  for (int m = 0; m < MODELS; m++) {
    rig r = make_rig(m, test_seed(11) + (uint64_t)m);
    plim_exec *each = open_exec(&r, r.device, r.shuffled, PLIM_ADDRESSES_EACH);
    plim_exec *planned = open_exec(&r, r.device, r.in_order, PLIM_ADDRESSES_PLANNED);
    run_steps(&r, each, 0, 3);
    run_steps(&r, planned, 0, 3);
    expect_equal(&r, each, planned);
    plim_exec_close(planned);
    plim_exec_close(each);
    free_rig(&r);
  }
}

#if defined(PLIM_HAVE_JEMALLOC)

/* Bytes that the process has allocated and not freed; what lies in this thread's cache would count as well. */
static size_t allocated_now(void) {
  uint64_t epoch = 1;
  cr_assert_eq(mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
  size_t size = sizeof epoch, bytes = 0, bytes_size = sizeof bytes;
  cr_assert_eq(mallctl("epoch", &epoch, &size, &epoch, sizeof epoch), 0);
  cr_assert_eq(mallctl("stats.allocated", &bytes, &bytes_size, NULL, 0), 0);
  return bytes;
}

/* Bytes that this thread has ever allocated. */
static uint64_t allocated_ever(void) {
  uint64_t bytes = 0;
  size_t size = sizeof bytes;
  cr_assert_eq(mallctl("thread.allocated", &bytes, &size, NULL, 0), 0);
  return bytes;
}

Test(exec_models, from_the_second_step_on_the_process_holds_no_more_and_transients_stay_below_a_kibibyte_an_op) {
  if (!plim_test_on_cpu()) cr_skip_test("SKIP: a GPU's driver allocates as it likes");
  for (int m = 0; m < MODELS; m++) {
    rig r = make_rig(m, test_seed(21));
    plim_exec *exec = open_exec(&r, r.device, r.shuffled, PLIM_ADDRESSES_PLANNED);
    run_steps(&r, exec, 0, 2);
    /* the counters move on a deliberate malloc, else they prove nothing */
    size_t now = allocated_now();
    uint64_t ever = allocated_ever();
    void *deliberate = malloc(100000);
    memset(deliberate, 1, 100000);
    cr_assert_geq(allocated_now(), now + 100000);
    cr_assert_geq(allocated_ever(), ever + 100000);
    free(deliberate);
    now = allocated_now();
    uint64_t transient = 0;
    for (int64_t step = 2; step < 6; step++) {
      write_values(&r, exec, 1, step);
      plim_exec_set_step(exec, 1, step);
      ever = allocated_ever();
      cr_assert_eq(plim_exec_step(exec, 0, NULL, NULL), PLIM_OK);
      cr_assert_eq(plim_exec_measured(exec, 0).own_allocations, 0);
      uint64_t spent = allocated_ever() - ever;
      if (spent > transient) transient = spent;
      cr_assert_leq(allocated_now(), now, "%s in %s, step %d: %zu bytes more", models[m].model,
                    plim_precision_name(models[m].math), (int)step, allocated_now() - now);
    }
    cr_log_info("%s: %llu transient bytes a step of %d ops", models[m].model, (unsigned long long)transient,
                (int)r.shuffled->n_commands);
    cr_assert_leq(transient, 1024 * (uint64_t)r.shuffled->n_commands);
    plim_exec_close(exec);
    free_rig(&r);
  }
}

#endif
