/* The bodies with many lanes a team, as CUDA has them, against the same bodies with one. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/kernel_check.h"
#include "tests/support/kernel_samples.h"
#include "tests/support/team.h"

static void expect_same(const plim_op_desc *op) {
  kernel_operands one, many;
  k_launch launch;
  cr_assert(k_launch_make(op, &launch));
  kernel_operands_make(op, 1, 0, &one);
  kernel_operands_make(op, 1, 0, &many);
  kernel_run_once(op, NULL, "single-source", 1, 0, &one);
  float *workspace = malloc((size_t)launch.workspace_bytes + 1);
  const plim_kernel_args args = {
      .in = many.in, .out = many.out, .upd = many.upd, .workspace = workspace, .op = KERNEL_RUN_OP};
  const uint64_t now[2] = {KERNEL_RUN_SEED, KERNEL_RUN_STEP};
  const k_call call = k_launch_bind(&launch, &args, now);
  team_run(&launch, &call);
  kernel_operands_compare(op, &one, &many);
  free(workspace);
  kernel_operands_free(op, &one);
  kernel_operands_free(op, &many);
}

Test(kernels_team, agree_with_one_lane) {
  for (int layout = 0; layout < PLIM_LAYOUT_COUNT; layout++) {
    for (int kind = 0; kind < k_launch_kinds(); kind++) {
      const plim_op_desc op = kernel_sample(k_launch_kind(kind), (plim_layout)layout);
      expect_same(&op);
    }
  }
}

Test(kernels_team, agree_with_one_lane_in_bf16) {
  for (int kind = 0; kind < k_launch_kinds(); kind++) {
    const plim_op_desc op = kernel_sample_bf16(k_launch_kind(kind), PLIM_NHWC);
    expect_same(&op);
  }
}

/* x with the statistics of its channels: more than a team has lanes, fewer than a vector has elements, and so on. */
Test(kernels_team, sum_by_channel_whatever_the_number_of_channels) {
  static const int64_t channels[] = {1, 3, 8, 10, 24, 8 * TEAM_LANES, 8 * TEAM_LANES + 4};
  for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
    for (int planes = 0; planes < 2; planes++) {
      const plim_shape x = kernel_activation(planes ? PLIM_FLAT : PLIM_NHWC, 2, channels[i], 5, 7);
      const plim_shape pair = kernel_shape(PLIM_F32, 2, 2, channels[i], 1, 1);
      const plim_op_desc stats = kernel_op(PLIM_OP_BN_STATS, 1, 1, x, pair);
      const plim_op_desc bias = kernel_op(PLIM_OP_BIAS_BWD, 1, 1, x, kernel_shape(PLIM_F32, 1, channels[i], 1, 1, 1));
      const plim_op_desc mean =
          kernel_op(PLIM_OP_GLOBAL_AVG_POOL, 1, 1, x, kernel_activation(PLIM_FLAT, 2, channels[i], 0, 0));
      expect_same(&stats);
      expect_same(&bias);
      expect_same(&mean);
    }
  }
}
