/* runtime/net/optimizers.c and update.c: the rows, and what each makes of a net's updates. */
#include "runtime/net/net.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/preparation.h"
#include "runtime/train/verification.h"
#include "tests/support/device_under_test.h"
#include "tests/support/test_context.h"

enum { BATCH = 16, SIDE = 8 };

/* A small net in a device, planned to keep all. */
typedef struct rig {
  plim_context *ctx;
  plim_device *device;
  plim_dataset *dataset;
  plim_program_source source;
  plim_program *program;
  plim_preparation p;
  plim_trainer *trainer;
} rig;

static void ok(const rig *r, plim_status status) {
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(r->ctx));
}

static plim_status make_net(void *user, const plim_net_options *net, plim_net **out) {
  return plim_model_make(user, "tinyres", net, out);
}

static void rig_open(rig *r, plim_optimizer optimizer, int clip) {
  plim_dataset_options data = plim_dataset_options_default();
  plim_preparation_options options = plim_preparation_options_default();
  plim_net_options *net = &r->source.net;
  *r = (rig){.ctx = plim_test_context(), .source = plim_program_source_default()};
  r->device = plim_test_device(r->ctx, 1);
  *net = plim_net_options_default();
  net->height = net->width = SIDE;
  net->batch = BATCH;
  net->optimizer = optimizer;
  net->clip = clip;
  r->source.make = make_net;
  r->source.user = r->ctx;
  data.height = data.width = SIDE;
  data.train_count = data.test_count = 2 * BATCH;
  ok(r, plim_dataset_load(r->ctx, "synthetic", &data, &r->dataset));
  ok(r, plim_program_make(r->device, &r->source, &r->program));
  ok(r, plim_preparation_begin(r->device, r->program, &r->p));
  options.planning.iterations = 1;
  ok(r, plim_preparation_run(&r->p, &options));
}

static plim_status open_trainer(rig *r, const plim_rate_schedule *schedule) {
  plim_trainer_options training = plim_trainer_options_default();
  training.schedule = *schedule;
  return plim_trainer_open(r->device, r->dataset, r->program, &training, &r->trainer);
}

static void rig_close(rig *r) {
  plim_trainer_close(r->trainer);
  plim_preparation_end(&r->p);
  plim_program_free(r->program);
  plim_dataset_free(r->dataset);
  plim_device_close(r->device);
  plim_test_context_end(r->ctx);
}

static const plim_graph *graph_of(const rig *r) {
  return r->program->graph[PLIM_PROGRAM_TRAIN];
}

/* ---- rows ---- */

Test(optimizers, have_names_and_as_many_states_as_their_kind_updates_beside_the_parameter) {
  for (int32_t i = 0; i < PLIM_OPTIMIZER_COUNT; i++) {
    const plim_optimizer_row *row = plim_optimizer_at(i);
    const plim_op_row *kind = plim_op_kind_row(row->kind);
    cr_assert_str_eq(row->name, plim_optimizer_name(i));
    cr_assert_leq(1 + row->n_states, plim_op_operands_most(kind->upd), "%s", row->name);
    cr_assert_geq(1 + row->n_states, plim_op_operands_least(kind->upd), "%s", row->name);
    for (int s = 0; s < row->n_states; s++) cr_assert_eq(row->state[s][0], '.', "%s", row->name);
    cr_assert(row->momentum < 1 && row->beta2 < 1 && row->rate > 0 && row->warmup_part > 0, "%s", row->name);
  }
  cr_assert_null(plim_optimizer_at(-1));
  cr_assert_null(plim_optimizer_name(PLIM_OPTIMIZER_COUNT));
}

Test(optimizers, have_the_rates_and_warm_ups_of_the_guide) {
  const plim_optimizer_row *sgd = plim_optimizer_at(PLIM_OPTIMIZER_SGD), *adam = plim_optimizer_at(PLIM_OPTIMIZER_ADAM);
  cr_assert_eq(plim_optimizer_rate(sgd, "resnet20", 256), 0.2);
  cr_assert_eq(plim_optimizer_rate(sgd, "mlp", 128), 0.02);
  cr_assert_eq(plim_optimizer_rate(adam, "resnet20", 256), 1e-3);
  cr_assert_eq(plim_optimizer_warmup(sgd, 1000), 50);
  cr_assert_eq(plim_optimizer_warmup(adam, 100), 50);
  cr_assert_eq(plim_optimizer_warmup(adam, 1000), 100);
  cr_assert_eq(plim_optimizer_default("gpt"), PLIM_OPTIMIZER_ADAMW);
  cr_assert_neq(plim_optimizer_default("mlp"), PLIM_OPTIMIZER_ADAMW);
}

Test(optimizers, sgd_stands_for_momentum_where_that_is_not_zero) {
  cr_assert_eq(plim_optimizer_with(PLIM_OPTIMIZER_SGD, 0.9F), PLIM_OPTIMIZER_MOMENTUM);
  cr_assert_eq(plim_optimizer_with(PLIM_OPTIMIZER_SGD, 0), PLIM_OPTIMIZER_SGD);
  cr_assert_eq(plim_optimizer_with(PLIM_OPTIMIZER_MOMENTUM, 0), PLIM_OPTIMIZER_MOMENTUM);
  cr_assert_eq(plim_optimizer_with(PLIM_OPTIMIZER_ADAM, 0), PLIM_OPTIMIZER_ADAM);
}

/* ---- clipping ---- */

Test(optimizers, all_wait_for_one_chain_of_squares_where_gradients_are_clipped) {
  char *chain[PLIM_OPTIMIZER_COUNT];
  for (int32_t i = 0; i < PLIM_OPTIMIZER_COUNT; i++) {
    rig r;
    rig_open(&r, (plim_optimizer)i, 1);
    const plim_graph *g = graph_of(&r);
    const plim_op_kind update = plim_optimizer_at(i)->kind;
    const int32_t hyper = plim_graph_find_value(g, "hyper");
    int32_t last = -1, updates = 0, sums = 0;
    chain[i] = calloc(1, 1 << 14);
    for (int32_t o = 0; o < g->n_ops; o++) {
      if (g->op[o].kind != PLIM_OP_SUM_SQUARES) continue;
      last = o;
      sums++;
      strcat(chain[i], g->op[o].name);
    }
    for (int32_t o = 0; o < g->n_ops; o++) {
      if (g->op[o].kind != update) continue;
      updates++;
      cr_assert_gt(o, last);
      cr_assert_eq(g->op[o].n_in, 3);
      cr_assert_eq(g->op[o].in[2], g->op[last].out[0]);
    }
    cr_assert_eq(g->value[hyper].shape.dim[0], 8);
    cr_assert_gt(updates, 0);
    cr_assert_eq(updates, sums);
    cr_assert_str_eq(chain[i], chain[0], "%s", plim_optimizer_name(i));
    rig_close(&r);
  }
  for (int32_t i = 0; i < PLIM_OPTIMIZER_COUNT; i++) free(chain[i]);
}

/* All parameters, one after the other, in double. */
static double *parameters(const rig *r, int64_t *count) {
  const plim_graph *g = graph_of(r);
  double *all = calloc((size_t)plim_graph_parameters(g), sizeof *all);
  *count = 0;
  for (int32_t v = 0; v < g->n_values; v++) {
    if (g->storage[g->value[v].storage].role != PLIM_ROLE_PARAM) continue;
    float *host = malloc((size_t)g->value[v].bytes);
    ok(r, plim_exec_read(plim_trainer_exec(r->trainer), PLIM_PROGRAM_TRAIN, v, host, g->value[v].bytes));
    for (int64_t i = 0; i < plim_shape_elements(&g->value[v].shape); i++) all[(*count)++] = (double)host[i];
    free(host);
  }
  return all;
}

/* How far the first step moves the parameters, all together. */
static double first_move(plim_optimizer optimizer, float norm_max) {
  rig r;
  const plim_rate_schedule schedule = {.rate = 0.25F, .total_steps = 100, .norm_max = norm_max};
  int64_t n;
  double sum = 0;
  rig_open(&r, optimizer, norm_max > 0);
  ok(&r, open_trainer(&r, &schedule));
  double *before = parameters(&r, &n);
  ok(&r, plim_trainer_run(r.trainer, 1, NULL, NULL));
  double *after = parameters(&r, &n);
  for (int64_t i = 0; i < n; i++) sum += (after[i] - before[i]) * (after[i] - before[i]);
  free(before);
  free(after);
  rig_close(&r);
  return sqrt(sum);
}

Test(optimizers, sgd_moves_all_parameters_together_by_the_rate_times_the_bounded_norm) {
  const double free_move = first_move(PLIM_OPTIMIZER_SGD, 0), norm = free_move / 0.25;
  const double half = first_move(PLIM_OPTIMIZER_SGD, (float)(norm / 2));
  const double loose = first_move(PLIM_OPTIMIZER_SGD, (float)(norm * 2));
  cr_assert_gt(norm, 0.1);
  cr_assert_lt(fabs(half / free_move - 0.5), 1e-4, "%g of %g", half, free_move);
  cr_assert_eq(loose, free_move);
}

/* ---- velocities ---- */

/* Weights after three steps without momentum. */
static double *weights_without_momentum(plim_optimizer optimizer, int clip, int64_t *n, int64_t *bytes) {
  rig r;
  const plim_rate_schedule schedule = {
      .rate = 0.1F, .weight_decay = 1e-3F, .total_steps = 100, .norm_max = clip ? 0.5F : 0};
  rig_open(&r, optimizer, clip);
  ok(&r, open_trainer(&r, &schedule));
  ok(&r, plim_trainer_run(r.trainer, 3, NULL, NULL));
  double *weights = parameters(&r, n);
  *bytes = r.p.keep_all->arena_bytes;
  for (int32_t v = 0; v < graph_of(&r)->n_values; v++) {
    const char *name = graph_of(&r)->value[v].name;
    if (optimizer == PLIM_OPTIMIZER_SGD) cr_assert_null(strstr(name, ".velocity"), "%s", name);
  }
  rig_close(&r);
  return weights;
}

Test(optimizers, sgd_without_velocities_takes_fewer_bytes_and_gives_the_weights_of_a_momentum_of_zero) {
  for (int clip = 0; clip < 2; clip++) {
    int64_t n, bytes, bytes_with;
    double *with = weights_without_momentum(PLIM_OPTIMIZER_MOMENTUM, clip, &n, &bytes_with);
    double *without = weights_without_momentum(PLIM_OPTIMIZER_SGD, clip, &n, &bytes);
    for (int64_t i = 0; i < n; i++) cr_assert(with[i] == without[i], "parameter %lld differs", (long long)i);
    cr_assert_lt(bytes, bytes_with - n * (int64_t)sizeof(float) * 9 / 10, "%lld bytes, %lld with %lld velocities",
                 (long long)bytes, (long long)bytes_with, (long long)n);
    free(with);
    free(without);
  }
}

Test(optimizers, a_momentum_that_no_velocity_would_hold_is_refused) {
  rig r;
  const plim_rate_schedule schedule = {.rate = 0.1F, .momentum = 0.9F, .total_steps = 100};
  rig_open(&r, PLIM_OPTIMIZER_SGD, 0);
  cr_assert_eq(open_trainer(&r, &schedule), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "momentum 0.9"), "%s", plim_context_error(r.ctx));
  rig_close(&r);
}
