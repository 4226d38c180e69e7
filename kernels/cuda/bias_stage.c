/* The stage that adds a bias after a library, in families that have one. */
#include "kernels/cuda/stages.h"

void plim_cuda_stages_add_bias(plim_cuda_kernel *kernel, const k_call *call, const k_view *y, plim_cuda_place sums,
                               int rounded) {
  const plim_cuda_place bias = {2, 0}, out = {PLIM_PLACE_OUT, 0};
  plim_cuda_stage *stage = &kernel->stage[kernel->n++];
  *stage = (plim_cuda_stage){.kernel = K_KERNEL_bias_add, .in0 = bias, .out0 = sums, .call = *call};
  stage->call.x = *y;
  if (rounded) stage->call.type = K_TYPE_FLOAT;
  stage->tiles = k_launch_positions(&stage->call, stage->kernel);
  if (!rounded) return;
  stage = &kernel->stage[kernel->n++];
  *stage = (plim_cuda_stage){.kernel = K_KERNEL_cast, .in0 = sums, .out0 = out, .call = *call};
  stage->call.elements = y->n * y->channels * y->spatial;
  stage->tiles = k_tiles(stage->call.elements, K_KERNEL_cast);
}
