/* Finds variables of the environment that change what the CUDA libraries compute. Variables are found by prefix,
 * because the libraries document only some of them (CUBLAS_WORKSPACE_CONFIG, CUBLAS_EMULATION_STRATEGY) and read more
 * (CUBLAS_EMULATE_SINGLE_PRECISION, CUDNN_FORCE_KERNEL_INIT). */
#include "runtime/device/cuda_environment.h"

#include <string.h>

#include "kernels/fnv.h"

static int decides(const char *variable) {
  static const char *const prefixes[] = {"NVIDIA_TF32_OVERRIDE=", "CUBLAS_", "CUBLASLT_", "CUDNN_"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    if (strncmp(variable, prefixes[i], strlen(prefixes[i])) != 0) continue;
    const char *log = strstr(variable, "_LOG");
    return !log || log > variable + strcspn(variable, "=");
  }
  return 0;
}

uint32_t plim_cuda_environment_hash(char *const *environment) {
  uint32_t sum = 0;
  int any = 0;
  for (; environment && *environment; environment++) {
    if (!decides(*environment)) continue;
    sum += plim_fnv32(PLIM_FNV32, *environment, strlen(*environment));
    any = 1;
  }
  return any && sum == 0 ? 1 : sum;
}
