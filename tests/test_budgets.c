/* The promise as a whole: at keep-all, at the smallest feasible budget and between, a few steps of training give the
 * weights, statistics and momentum of the reference trainer, bit for bit. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/sampler.h"
#include "runtime/train/state.h"
#include "runtime/train/trainer.h"
#include "tests/support/reference_trainer.h"

enum { SEED = 5, STEPS = 3 };

/* Batches at which the smallest feasible budget is below 80 % of keep-all bytes. */
static const struct {
  const char *model;
  int32_t batch, side, channels;
} models[] = {{"mlp", 3000, 24, 1}, {"resnet20", 8, 16, 3}, {"resnet18", 144, 8, 3}};

typedef struct rig {
  plim_context *ctx;
  plim_device *device;
  plim_dataset *dataset;
  plim_program *program;
  plim_sampler *sampler;
  const plim_graph *graph;
  int32_t batch;
  reference_trainer *reference; /* after STEPS steps under `arithmetic`; NULL: not run yet */
  char arithmetic[PLIM_FINGERPRINT_BYTES];
} rig;

static void ok(const rig *r, plim_status status) {
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(r->ctx));
}

static void open_data(rig *r, int which) {
  plim_dataset_options options = plim_dataset_options_default();
  options.height = options.width = models[which].side;
  options.channels = models[which].channels;
  options.train_count = 4 * r->batch;
  options.test_count = r->batch;
  ok(r, plim_dataset_load(r->ctx, "synthetic", &options, &r->dataset));
  plim_sampler_options sampling = {sizeof sampling, r->batch, SEED, 1};
  ok(r, plim_sampler_new(r->dataset, &sampling, &r->sampler));
}

static void rig_open(rig *r, int which) {
  plim_net_options options = plim_net_options_default();
  plim_net *net;
  *r = (rig){.batch = models[which].batch};
  cr_assert_eq(plim_context_new(NULL, NULL, &r->ctx), PLIM_OK);
  ok(r, plim_device_open(r->ctx, "cpu", NULL, &r->device));
  options.batch = r->batch;
  options.height = options.width = models[which].side;
  options.channels = models[which].channels;
  plim_dataset_pixels("synthetic", options.pixel_scale, options.pixel_shift);
  ok(r, plim_model_make(r->ctx, models[which].model, &options, &net));
  ok(r, plim_program_begin(r->device, net, NULL, &r->program));
  plim_net_free(net);
  r->graph = r->program->graph[PLIM_PROGRAM_TRAIN];
  open_data(r, which);
}

static void rig_close(rig *r) {
  reference_close(r->reference);
  plim_sampler_free(r->sampler);
  plim_program_free(r->program);
  plim_dataset_free(r->dataset);
  plim_device_close(r->device);
  plim_context_free(r->ctx);
}

static const plim_schedule schedule = {
    .rate = 0.05f, .momentum = 0.9f, .weight_decay = 5e-4f, .warmup_steps = 1, .total_steps = 10};

/* Run the reference with the labels of the program's plan, unless it was the last to do so. */
static void run_reference(rig *r) {
  const plim_plan *plan = r->program->plan[PLIM_PROGRAM_TRAIN];
  if (r->reference && strcmp(r->arithmetic, plan->arithmetic.hash) == 0) return;
  const char **label = calloc((size_t)r->graph->n_ops, sizeof *label);
  for (int32_t i = 0; i < plan->n_variants; i++) label[plan->variant[i].op] = plan->variant[i].variant.label;
  reference_close(r->reference);
  ok(r, reference_open(r->graph, 0, NULL, label, &r->reference));
  ok(r, reference_init(r->reference, SEED));
  for (int64_t step = 0; step < STEPS; step++) {
    plim_sampler_train(r->sampler, step, reference_at(r->reference, "image"), reference_at(r->reference, "label"));
    plim_schedule_hyper(&schedule, step, reference_at(r->reference, "hyper"));
    ok(r, reference_step(r->reference, SEED, step));
  }
  memcpy(r->arithmetic, plan->arithmetic.hash, sizeof r->arithmetic);
  free(label);
}

static void compare(const rig *r, const plim_trainer *trainer) {
  for (int32_t v = 0; v < r->graph->n_values; v++) {
    const plim_value *value = &r->graph->value[v];
    if (!plim_state_has(r->graph, v)) continue;
    char *got = malloc((size_t)value->bytes);
    ok(r, plim_exec_read(plim_trainer_exec(trainer), PLIM_PROGRAM_TRAIN, v, got, value->bytes));
    cr_assert_eq(memcmp(got, reference_value(r->reference, v), (size_t)value->bytes), 0, "%s differs at %lld bytes",
                 value->name, (long long)r->program->plan[PLIM_PROGRAM_TRAIN]->budget_bytes);
    free(got);
  }
}

/* Steps that run an op again; *random_or_norm counts those of batch norm and dropout. */
static int32_t repeats(const rig *r, int32_t *random_or_norm) {
  const plim_plan *plan = r->program->plan[PLIM_PROGRAM_TRAIN];
  char *ran = calloc((size_t)r->graph->n_ops, 1);
  int32_t count = 0;
  for (int32_t j = 0; j < plan->n_steps; j++) {
    int32_t op = plan->step[j].op;
    plim_op_kind kind = r->graph->op[op].kind;
    count += ran[op];
    *random_or_norm += ran[op] && (kind == PLIM_OP_DROPOUT || kind == PLIM_OP_BN_APPLY || kind == PLIM_OP_BN_STATS);
    ran[op] = 1;
  }
  free(ran);
  return count;
}

/* Train STEPS steps by a planner's plan for a budget and compare. Returns the repeats of the plan. */
static int32_t check_budget(rig *r, const char *planner, int64_t budget, int32_t *random_or_norm) {
  plim_plan_options planning = plim_plan_options_default();
  plim_trainer_options training = {.struct_bytes = sizeof training,
                                   .seed = SEED,
                                   .schedule = schedule,
                                   .augment = 1,
                                   .exec = {.struct_bytes = sizeof training.exec}};
  plim_trainer *trainer;
  planning.planner = planner;
  planning.budget_bytes = budget;
  planning.iterations = 20000;
  ok(r, plim_program_plan(r->program, &planning));
  cr_assert_leq(plim_program_arena_bytes(r->program), budget);
  ok(r, plim_trainer_open(r->device, r->dataset, r->program, &training, &trainer));
  ok(r, plim_trainer_run(trainer, STEPS, NULL, NULL));
  run_reference(r);
  compare(r, trainer);
  plim_trainer_close(trainer);
  return repeats(r, random_or_norm);
}

/* Where between the smallest budget (0) and keep-all bytes (10); searching takes its time under a sanitizer. */
#ifdef PLIM_SANITIZED
static const int tenths[] = {2};
#else
static const int tenths[] = {8, 6, 4, 2, 0};
#endif

static void check_model(int which) {
  plim_plan_options planning = plim_plan_options_default();
  plim_plan_floor floor;
  int32_t step, random_or_norm = 0;
  rig r;
  rig_open(&r, which);
  ok(&r, plim_program_floor(r.program, &planning, &floor, &step));
  cr_assert(floor.smallest_bytes < 0.8 * (double)floor.keep_all_bytes, "smallest %lld, keep-all %lld",
            (long long)floor.smallest_bytes, (long long)floor.keep_all_bytes);
  cr_assert_eq(check_budget(&r, "search", floor.keep_all_bytes, &random_or_norm), 0);
  cr_assert_eq(r.program->plan[PLIM_PROGRAM_TRAIN]->time_ns, r.program->plan[PLIM_PROGRAM_TRAIN]->keep_all_ns);
  for (size_t i = 0; i < sizeof tenths / sizeof *tenths; i++) {
    int64_t above = (floor.keep_all_bytes - floor.smallest_bytes) * tenths[i] / 10;
    int32_t count = check_budget(&r, "search", floor.smallest_bytes + above, &random_or_norm);
    cr_assert(count > 0 || tenths[i] == 8, "no repeats at %d tenths", tenths[i]);
  }
  /* This one repeats by rule, whether it has to or not: dropout too, which no budget of the MLP asks for. */
  cr_assert_gt(check_budget(&r, "sqrt", floor.keep_all_bytes, &random_or_norm), 0);
  cr_assert_gt(random_or_norm, 0, "no batch norm or dropout ran again at any budget");
  rig_close(&r);
}

Test(budgets, mlp_with_dropout_learns_the_same_at_every_budget) {
  check_model(0);
}
Test(budgets, resnet20_learns_the_same_at_every_budget) {
  check_model(1);
}
Test(budgets, resnet18_learns_the_same_at_every_budget) {
  check_model(2);
}
