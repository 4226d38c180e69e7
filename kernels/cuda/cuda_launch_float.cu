/* The kernels for CUDA over activations stored as floats. */
#define K_LAUNCH k_cuda_launch_float

#include "kernels/cuda/cuda_launch.inc"
