/* The kernels that nvcc made: that they link, start without a driver, and on a GPU agree with the CPU. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kernel_check.h"
#include "tests/support/kernel_samples.h"

#ifndef PLIM_HAVE_CUDA

Test(kernels_cuda, are_compiled_where_nvcc_is_found) {
  cr_skip_test("SKIP: built without nvcc");
}

#else

#include <cuda_runtime_api.h>

#include "kernels/cuda/cuda_launch.h"
#include "kernels/launch.h"

static int gpus(void) {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

Test(kernels_cuda, start_without_a_driver_and_report_an_error) {
  if (gpus() > 0) cr_skip_test("SKIP: there is a GPU");
  const plim_op_desc op = kernel_sample(PLIM_OP_RELU, PLIM_NHWC);
  k_launch launch;
  cr_assert(k_launch_make(&op, &launch));
  cr_assert(k_cuda_launch(launch.phase[0].kernel, &launch.call, launch.phase[0].tiles, NULL) != 0);
}

static void *to_gpu(const void *host, int64_t bytes) {
  void *memory = NULL;
  cr_assert_eq(cudaMalloc(&memory, (size_t)(bytes > 0 ? bytes : 1)), cudaSuccess);
  if (host) cr_assert_eq(cudaMemcpy(memory, host, (size_t)bytes, cudaMemcpyHostToDevice), cudaSuccess);
  return memory;
}

static void from_gpu(void *host, const void *memory, int64_t bytes) {
  cr_assert_eq(cudaMemcpy(host, memory, (size_t)bytes, cudaMemcpyDeviceToHost), cudaSuccess);
}

/* Run on the GPU; outputs and updates come back into `operands`. */
static void run_on_gpu(const plim_op_desc *op, kernel_operands *operands) {
  k_launch launch;
  cr_assert(k_launch_make(op, &launch));
  k_call *call = &launch.call;
  for (int i = 0; i < op->n_in; i++) call->in[i] = to_gpu(operands->in[i], plim_shape_bytes(&op->in[i]));
  for (int i = 0; i < op->n_out; i++) call->out[i] = to_gpu(operands->out[i], plim_shape_bytes(&op->out[i]));
  for (int i = 0; i < op->n_upd; i++) call->upd[i] = to_gpu(operands->upd[i], plim_shape_bytes(&op->upd[i]));
  call->workspace = to_gpu(NULL, launch.workspace_bytes);
  const uint64_t now[2] = {KERNEL_RUN_SEED, KERNEL_RUN_STEP};
  call->now = to_gpu(now, sizeof now);
  call->op = KERNEL_RUN_OP;
  for (int i = 0; i < launch.phases; i++) {
    cr_assert_eq(k_cuda_launch(launch.phase[i].kernel, call, launch.phase[i].tiles, NULL), 0);
  }
  cr_assert_eq(cudaDeviceSynchronize(), cudaSuccess, "%s failed", plim_op_kind_name(op->kind));
  for (int i = 0; i < op->n_out; i++) from_gpu(operands->out[i], call->out[i], plim_shape_bytes(&op->out[i]));
  for (int i = 0; i < op->n_upd; i++) from_gpu(operands->upd[i], call->upd[i], plim_shape_bytes(&op->upd[i]));
}

Test(kernels_cuda, agree_with_the_cpu) {
  if (gpus() == 0) cr_skip_test("SKIP: no GPU");
  for (int layout = 0; layout < PLIM_LAYOUT_COUNT; layout++) {
    for (int kind = 0; kind < k_launch_kinds(); kind++) {
      const plim_op_desc op = kernel_sample(k_launch_kind(kind), (plim_layout)layout);
      kernel_operands cpu, gpu;
      kernel_operands_make(&op, 1, 0, &cpu);
      kernel_operands_make(&op, 1, 0, &gpu);
      kernel_run_once(&op, NULL, "single-source", 1, 0, &cpu);
      run_on_gpu(&op, &gpu);
      kernel_operands_compare(&op, &cpu, &gpu);
      kernel_operands_free(&op, &cpu);
      kernel_operands_free(&op, &gpu);
    }
  }
}

#endif
