/* What kernels/cuda/driver.h says of a build without CUDA. */
#include "kernels/cuda/driver.h"

const plim_cuda_driver *plim_cuda_driver_real(void) {
  return NULL;
}
