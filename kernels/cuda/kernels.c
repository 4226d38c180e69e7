/* Single-source kernels on CUDA: the launch that the CPU makes too, its phases queued one after the other. */
#include "kernels/cuda/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/launch.h"

static const char variant_name[] = "single-source";

struct plim_cuda_kernel {
  k_launch launch;
};

int plim_cuda_kernel_list(const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  k_launch launch;
  if (!k_launch_make(op, &launch)) return 0;
  if (capacity > 0) {
    *info = (plim_kernel_info){.workspace_bytes = launch.workspace_bytes};
    memcpy(info->name, variant_name, sizeof variant_name);
    memcpy(info->label, variant_name, sizeof variant_name);
  }
  return 1;
}

int plim_cuda_kernel_make(const plim_op_desc *op, const char *variant, plim_cuda_kernel **out) {
  k_launch launch;
  if (strcmp(variant, variant_name) != 0 || !k_launch_make(op, &launch)) return PLIM_KERNEL_UNSUPPORTED;
  plim_cuda_kernel *made = malloc(sizeof *made);
  if (!made) return PLIM_KERNEL_NOMEM;
  made->launch = launch;
  *out = made;
  return PLIM_KERNEL_OK;
}

void plim_cuda_kernel_free(plim_cuda_kernel *kernel) {
  free(kernel);
}

int64_t plim_cuda_kernel_workspace(const plim_cuda_kernel *kernel) {
  return kernel->launch.workspace_bytes;
}

int plim_cuda_kernel_run(const plim_cuda_kernel *kernel, const plim_cuda_driver *driver, void *stream,
                         const plim_kernel_args *args, const uint64_t *now) {
  const k_call call = k_launch_bind(&kernel->launch, args, now);
  for (int i = 0; i < kernel->launch.phases; i++) {
    const k_phase *phase = &kernel->launch.phase[i];
    int code = driver->launch(phase->body, &call, phase->tiles, stream);
    if (code != 0) return code;
  }
  return 0;
}
