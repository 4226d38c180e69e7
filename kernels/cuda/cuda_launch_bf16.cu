/* The kernels for CUDA over activations stored as bf16. */
#define K_BF16
#define K_LAUNCH k_cuda_launch_bf16

#include "kernels/cuda/cuda_launch.inc"
