/* Plans are of given numerics keys, so that two devices can be asked for the same bits. */
#include "tests/support/gpu_rig.h"

#include <criterion/criterion.h>
#include <string.h>

#include "kernels/launch.h"
#include "runtime/device/desc.h"
#include "runtime/device/device_cuda.h"
#include "runtime/train/verification.h"
#include "tests/support/device_under_test.h"
#include "tests/support/small_graph.h"

enum { SIDE = 6, SEED = 3, CLASSES = 10 };

plim_status gpu_rig_net(plim_context *ctx, plim_layout layout, plim_net **out) {
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  options.batch = GPU_RIG_BATCH;
  options.height = options.width = SIDE;
  options.channels = 1;
  options.classes = CLASSES;
  options.layout = layout;
  PLIM_TRY(plim_net_begin(ctx, "small", &options, &net));
  plim_tensor x = plim_net_conv2d(net, "conv", plim_net_image(net), 16, (plim_net_window){.kernel = 3, .pad = 1}, 0);
  x = plim_net_batch_norm_relu(net, "bn", x);
  plim_tensor y = plim_net_dropout(net, "drop", x, 0.2f);
  x = plim_net_add_relu(net, "sum", x, y);
  x = plim_net_dropout(net, "drop2", plim_net_flatten(net, "flat", x), 0.2f);
  plim_net_softmax_xent(net, plim_net_linear(net, "fc", x, CLASSES));
  *out = net;
  return PLIM_OK;
}

plim_status gpu_rig_open(gpu_rig *r, const fake_cuda_options *options, int32_t eager) {
  plim_device_options device = {.struct_bytes = sizeof device, .eager = eager};
  *r = (gpu_rig){.ctx = plim_test_context()};
  return plim_device_cuda_open(r->ctx, fake_cuda_driver(options), 0, &device, &r->device);
}

plim_status gpu_rig_open_tested(gpu_rig *r, int32_t eager) {
  plim_device_options device = {.struct_bytes = sizeof device, .eager = eager};
  *r = (gpu_rig){.ctx = plim_test_context()};
  return plim_device_open(r->ctx, plim_test_device_name(), &device, &r->device);
}

plim_status gpu_rig_open_cpu(gpu_rig *r) {
  plim_device_options one = {.struct_bytes = sizeof one, .threads = 1};
  *r = (gpu_rig){.ctx = plim_test_context()};
  return plim_device_open(r->ctx, "cpu", &one, &r->device);
}

plim_status gpu_rig_prepare(gpu_rig *r) {
  plim_dataset_options options = plim_dataset_options_default();
  plim_net *net = NULL;
  options.height = options.width = SIDE;
  options.channels = 1;
  options.train_count = 4 * GPU_RIG_BATCH;
  options.test_count = GPU_RIG_BATCH;
  PLIM_TRY(gpu_rig_net(r->ctx, r->flat ? PLIM_FLAT : PLIM_NHWC, &net));
  plim_status status = plim_program_begin(r->device, net, NULL, &r->program);
  plim_net_free(net);
  return status == PLIM_OK ? plim_dataset_load(r->ctx, "synthetic", &options, &r->dataset) : status;
}

/* The numerics key of the op's first variant of the family. */
static const char *key_of(const gpu_rig *r, const plim_profile *profile, int32_t op) {
  for (int32_t v = profile->first[op]; r->family && v < profile->first[op + 1]; v++) {
    if (strncmp(profile->variant[v].name, r->family, strlen(r->family)) == 0) return profile->variant[v].numerics_key;
  }
  return "single-source";
}

plim_status gpu_rig_planning(gpu_rig *r, int32_t percent, plim_plan_options *out) {
  const plim_graph *graph = r->program->graph[PLIM_PROGRAM_TRAIN];
  const plim_profile *profile = r->program->profile[PLIM_PROGRAM_TRAIN];
  plim_plan *keep_all = NULL;
  for (int32_t i = 0; i < graph->n_ops; i++) r->numerics_key[i] = key_of(r, profile, i);
  *out = plim_plan_options_default();
  out->numerics = PLIM_NUMERICS_GIVEN;
  out->numerics_key = r->numerics_key;
  out->iterations = 2000;
  PLIM_TRY(plim_plan_keep_all(r->ctx, graph, profile, out, &keep_all));
  if (percent < 100) out->budget_bytes = keep_all->arena_bytes * percent / 100;
  if (percent == 100) out->planner = "keep-all";
  plim_plan_free(keep_all);
  return PLIM_OK;
}

plim_trainer_options gpu_rig_training(void) {
  return (plim_trainer_options){.struct_bytes = sizeof(plim_trainer_options),
                                .seed = SEED,
                                .schedule = {.rate = 0.05f, .momentum = 0.9f, .weight_decay = 5e-4f, .total_steps = 10},
                                .exec = {.struct_bytes = sizeof(plim_exec_options)}};
}

plim_status gpu_rig_train(gpu_rig *r, int32_t percent, int64_t steps) {
  plim_trainer_options training = gpu_rig_training();
  plim_plan_options planning;
  PLIM_TRY(gpu_rig_prepare(r));
  PLIM_TRY(gpu_rig_planning(r, percent, &planning));
  PLIM_TRY(plim_program_plan(r->program, &planning));
  PLIM_TRY(plim_trainer_open(r->device, r->dataset, r->program, &training, &r->trainer));
  return plim_trainer_run(r->trainer, steps, NULL, NULL);
}

void gpu_rig_end(gpu_rig *r) {
  plim_trainer_close(r->trainer);
  plim_program_free(r->program);
  plim_dataset_free(r->dataset);
}

void gpu_rig_close(gpu_rig *r) {
  gpu_rig_end(r);
  plim_device_close(r->device);
  plim_context_free(r->ctx);
}

void gpu_rig_ok(const gpu_rig *r, plim_status status) {
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(r->ctx));
}

void gpu_rig_same(const gpu_rig *a, const gpu_rig *b) {
  plim_state_difference d;
  gpu_rig_ok(a, plim_state_compare(a->trainer, b->trainer, &d));
  cr_assert_gt(d.values, 8);
  cr_assert_eq(d.different, 0, "%s differs", d.name);
}

int64_t gpu_rig_kernel_ns(const plim_graph *graph, int32_t op) {
  plim_op_desc desc;
  k_launch launch;
  int64_t tiles = 0;
  plim_desc_of(graph, op, &desc);
  cr_assert(k_launch_make(&desc, &launch));
  for (int i = 0; i < launch.phases; i++) tiles += launch.phase[i].tiles;
  return tiles * FAKE_CUDA_TILE_NS;
}
