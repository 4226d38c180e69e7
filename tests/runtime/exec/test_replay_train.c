/* Training under replayed plans: parameters, statistics and momentum equal the reference trainer's bit for bit. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/arena/replay_search.h"
#include "runtime/exec/exec.h"
#include "runtime/net/net.h"
#include "runtime/profile/profiler.h"
#include "tests/support/reference_trainer.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"

enum { SEED = 5, STEPS = 2, THREADS = 2 };

typedef struct run {
  plim_context *ctx;
  plim_device *device;
  plim_net *net;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *keep_all, *plan;
  plim_exec *exec;
  reference_trainer *reference;
} run;

/* Linear layers with ReLU and dropout, deep enough that activations outweigh parameters. */
static plim_status make_deep_net(plim_context *ctx, const plim_net_options *options, plim_net **out) {
  PLIM_TRY(plim_net_begin(ctx, "deep", options, out));
  plim_tensor x = plim_net_flatten(*out, "flat", plim_net_image(*out));
  for (int layer = 0; layer < 6; layer++) {
    char name[3][32];
    (void)snprintf(name[0], sizeof name[0], "linear%d", layer);
    (void)snprintf(name[1], sizeof name[1], "relu%d", layer);
    (void)snprintf(name[2], sizeof name[2], "dropout%d", layer);
    x = plim_net_relu(*out, name[1], plim_net_linear(*out, name[0], x, 64));
    x = plim_net_dropout(*out, name[2], x, 0.2f);
  }
  plim_net_softmax_xent(*out, plim_net_linear(*out, "last", x, options->classes));
  return PLIM_OK;
}

static void make_documents(run *r, const char *model, int batch, int side) {
  plim_device_options device = {.struct_bytes = sizeof device, .threads = THREADS};
  plim_net_options net = plim_net_options_default();
  plim_plan_options options = plim_plan_options_default();
  r->ctx = plim_test_context();
  net.batch = batch;
  net.height = net.width = side;
  options.numerics = PLIM_NUMERICS_SMALL;
  cr_assert_eq(plim_device_open(r->ctx, "cpu", &device, &r->device), PLIM_OK, "%s", plim_context_error(r->ctx));
  plim_status status = model ? plim_model_make(r->ctx, model, &net, &r->net) : make_deep_net(r->ctx, &net, &r->net);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert_eq(plim_net_train_graph(r->net, &r->graph), PLIM_OK);
  cr_assert_eq(plim_profile_roofline(r->device, r->graph, &r->profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(r->ctx, r->graph, r->profile, &options, &r->keep_all), PLIM_OK);
}

/* The tightest of a few shares of the keep-all bytes that the replay can serve. */
static void replay_tight(run *r) {
  for (int64_t percent = 45; percent <= 125 && !r->plan; percent += 5) {
    int64_t budget_bytes = r->keep_all->arena_bytes * percent / 100;
    plim_status status = plim_arena_replay(r->ctx, r->graph, r->keep_all, budget_bytes, NULL, &r->plan);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(r->ctx));
  }
  cr_assert_not_null(r->plan);
}

/* The numerics key of every op of the plan, in an array that the caller frees. */
static const char **keys_of(const run *r) {
  const char **numerics_key = calloc((size_t)r->graph->n_ops, sizeof *numerics_key);
  cr_assert_not_null(numerics_key);
  for (int32_t j = 0; j < r->plan->n_commands; j++) {
    numerics_key[r->plan->command[j].op] = r->plan->variant[r->plan->command[j].variant].variant.numerics_key;
  }
  return numerics_key;
}

static void open_both(run *r) {
  const plim_graph *graph = r->graph;
  const plim_plan *plan = r->plan;
  const char **numerics_key = keys_of(r);
  cr_assert_eq(plim_exec_open(r->ctx, r->device, NULL, 1, &graph, &plan, &r->exec), PLIM_OK, "%s",
               plim_context_error(r->ctx));
  cr_assert_eq(reference_open(graph, THREADS, NULL, numerics_key, &r->reference), PLIM_OK, "%s",
               plim_context_error(r->ctx));
  cr_assert_eq(reference_init(r->reference, SEED), PLIM_OK);
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!plim_role_persistent(graph->storage[graph->value[v].storage].role)) continue;
    cr_assert_eq(plim_exec_write(r->exec, 0, v, reference_value(r->reference, v), graph->value[v].bytes), PLIM_OK);
  }
  free(numerics_key);
}

/* The same inputs for both: pixels, labels below 10, a learning rate, momentum and decay. */
static void write_inputs(run *r, uint64_t *random) {
  for (int32_t v = 0; v < r->graph->n_values; v++) {
    const plim_value *value = &r->graph->value[v];
    if (r->graph->storage[value->storage].role != PLIM_ROLE_INPUT) continue;
    unsigned char *bytes = reference_value(r->reference, v);
    for (int64_t i = 0; i < value->bytes && value->shape.dtype == PLIM_U8; i++) {
      bytes[i] = (unsigned char)test_random_between(random, 0, 255);
    }
    for (int64_t i = 0; i < value->bytes / 4 && value->shape.dtype == PLIM_I32; i++) {
      int32_t numerics_key = (int32_t)test_random_between(random, 0, 9);
      memcpy(bytes + 4 * i, &numerics_key, sizeof numerics_key);
    }
    const float hyper[4] = {0.05f, 0.9f, 1e-4f, 0};
    if (value->shape.dtype == PLIM_F32) memcpy(bytes, hyper, sizeof hyper);
    cr_assert_eq(plim_exec_write(r->exec, 0, v, bytes, value->bytes), PLIM_OK, "%s", plim_context_error(r->ctx));
  }
}

static void expect_equal(const run *r, int step) {
  for (int32_t v = 0; v < r->graph->n_values; v++) {
    const plim_value *value = &r->graph->value[v];
    if (!plim_role_persistent(r->graph->storage[value->storage].role)) continue;
    const void *ours = plim_exec_pointer(r->exec, 0, v);
    cr_assert_eq(memcmp(ours, reference_value(r->reference, v), (size_t)value->bytes), 0, "step %d: %s differs", step,
                 value->name);
  }
}

static void close_run(run *r) {
  reference_close(r->reference);
  plim_exec_close(r->exec);
  plim_plan_free(r->plan);
  plim_plan_free(r->keep_all);
  plim_profile_free(r->profile);
  plim_graph_free(r->graph);
  plim_net_free(r->net);
  plim_device_close(r->device);
  plim_context_free(r->ctx);
}

/* `model` NULL: the deep net. Returns how many commands of the plan run an op again. */
static int32_t train(const char *model, int batch, int side) {
  run r = {.ctx = NULL};
  uint64_t random = SEED;
  make_documents(&r, model, batch, side);
  replay_tight(&r);
  open_both(&r);
  for (int step = 0; step < STEPS; step++) {
    write_inputs(&r, &random);
    plim_exec_set_step(r.exec, SEED, step);
    cr_assert_eq(plim_exec_step(r.exec, 0, NULL, NULL), PLIM_OK, "%s", plim_context_error(r.ctx));
    cr_assert_eq(reference_step(r.reference, SEED, step), PLIM_OK);
    expect_equal(&r, step);
  }
  int32_t repeats = r.plan->n_commands - r.keep_all->n_commands;
  close_run(&r);
  return repeats;
}

Test(replay_train, resnet20_in_a_tight_arena_equals_the_reference_bit_for_bit) {
  cr_assert_gt(train("resnet20", 4, 16), 10);
}

Test(replay_train, a_deep_net_with_dropout_in_a_tight_arena_equals_the_reference_bit_for_bit) {
  cr_assert_gt(train(NULL, 512, 4), 0);
}
