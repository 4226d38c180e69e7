/* The bodies for CUDA: one kernel each, a thread block a tile. The launchers take a stream of the runtime library and
 * return its error code, so that their callers need no CUDA headers. */
#include "kernels/cuda/bodies.h"

#include <cuda_runtime.h>

#include "kernels/bodies/all.inc"

/* Blocks stride over the tiles: the grid need not be as large as the work. */
#define K_X(name)                                                                               \
  static __global__ void __launch_bounds__(K_LANES) kernel_##name(k_call call, int64_t tiles) { \
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {                          \
      name##_tile(&call, tile);                                                                 \
      k_sync();                                                                                 \
    }                                                                                           \
  }
K_BODIES(K_X)
#undef K_X

typedef void k_kernel(k_call call, int64_t tiles);
#define K_X(name) kernel_##name,
static k_kernel *const kernels[] = {K_BODIES(K_X)};
#undef K_X

extern "C" int k_cuda_launch(k_body body, const k_call *call, int64_t tiles, void *stream) {
  const unsigned grid = tiles < 65535 ? (unsigned)tiles : 65535U;
  kernels[body]<<<grid, K_LANES, 0, (cudaStream_t)stream>>>(*call, tiles);
  return (int)cudaPeekAtLastError();
}
