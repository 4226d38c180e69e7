/* The management library, opened for as long as a question takes. Each question names the function that answers it, so
 * that a library that lacks one function still answers the other question. */
#include "kernels/cuda/nvml.h"

#include <dlfcn.h>

#include "kernels/cuda/library.h"

typedef struct nvml {
  int (*init)(void);
  int (*shutdown)(void);
  int (*find)(const char *bus_id, void **device);
  int (*answer)(void *device, uint64_t *answer);
} nvml;

enum { ANSWERS = 3 /* of the longest answer */ };

static int64_t ask(const nvml *n, const char *bus_id, int at) {
  void *device;
  uint64_t answer[ANSWERS];
  if (n->find(bus_id, &device) != 0 || n->answer(device, answer) != 0) return -1;
  return answer[at] <= INT64_MAX ? (int64_t)answer[at] : -1;
}

/* The number `at` of the answer to a function. */
static int64_t ask_library(const char *function, const char *bus_id, int at) {
  static const char *const files[] = {"libnvidia-ml.so.1", NULL};
  const plim_cuda_symbol symbols[] = {{"nvmlInit_v2", offsetof(nvml, init)},
                                      {"nvmlShutdown", offsetof(nvml, shutdown)},
                                      {"nvmlDeviceGetHandleByPciBusId_v2", offsetof(nvml, find)},
                                      {function, offsetof(nvml, answer)}};
  const plim_cuda_library spec = {"NVML", "PLIM_NVML", files, sizeof symbols / sizeof *symbols, symbols};
  nvml n;
  char why[200];
  void *library = plim_cuda_library_open(&spec, &n, why, sizeof why);
  if (!library) return -1;
  int64_t answer = -1;
  if (n.init() == 0) {
    answer = ask(&n, bus_id, at);
    (void)n.shutdown();
  }
  (void)dlclose(library);
  return answer;
}

int64_t plim_nvml_free_bytes(const char *bus_id) {
  return ask_library("nvmlDeviceGetMemoryInfo", bus_id, 1); /* total, free, used */
}

int64_t plim_nvml_energy_mj(const char *bus_id) {
  return ask_library("nvmlDeviceGetTotalEnergyConsumption", bus_id, 0);
}
