/* A small net trained on the fake GPU (tests/support/fake_cuda.h), or on another device. */
#ifndef PLIM_TESTS_SUPPORT_GPU_RIG_H
#define PLIM_TESTS_SUPPORT_GPU_RIG_H

#include "runtime/train/trainer.h"
#include "tests/support/fake_cuda.h"

enum { GPU_RIG_BATCH = 8 };

/* A trainer and all that it stands on. */
typedef struct gpu_rig {
  plim_context *ctx;
  plim_device *device;
  plim_dataset *dataset;
  plim_program *program;
  plim_trainer *trainer;
  int32_t flat;       /* 1: activations in FLAT, not NHWC; read by gpu_rig_prepare */
  const char *family; /* variants whose names begin so, where an op has them; NULL: single-source, as elsewhere */
  const char *numerics_key[64]; /* by op of the training step */
} gpu_rig;

/* A convolution, batch norm, two dropouts, a gradient that two branches add to. */
plim_status gpu_rig_net(plim_context *ctx, plim_layout layout, plim_net **out);

/* Begin anew with a device: the fake GPU with these options, the device that tests are for
 * (tests/support/device_under_test.h), or "cpu" with one thread. */
plim_status gpu_rig_open(gpu_rig *r, const fake_cuda_options *options, int32_t eager);
plim_status gpu_rig_open_tested(gpu_rig *r, int32_t eager);
plim_status gpu_rig_open_cpu(gpu_rig *r);

/* Program and data set; then plans within `percent` of the keep-all bytes, 100: keep-all; then a trainer and some
 * steps. The rig is to be closed also when one of them fails. */
plim_status gpu_rig_prepare(gpu_rig *r);
plim_status gpu_rig_planning(gpu_rig *r, int32_t percent, plim_plan_options *out);
plim_trainer_options gpu_rig_training(void);
plim_status gpu_rig_train(gpu_rig *r, int32_t percent, int64_t steps); /* all of it */
void gpu_rig_end(gpu_rig *r);                                          /* all but the device */
void gpu_rig_close(gpu_rig *r);

/* Assertions: a call was well; weights, statistics and momentum of two are the same. */
void gpu_rig_ok(const gpu_rig *r, plim_status status);
void gpu_rig_same(const gpu_rig *a, const gpu_rig *b);
int64_t gpu_rig_kernel_ns(const plim_graph *graph, int32_t op); /* what the op takes by the fake GPU's clock */

#endif
