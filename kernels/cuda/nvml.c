/* The management library, opened for as long as a question takes. */
#include "kernels/cuda/nvml.h"

#include <dlfcn.h>

#include "kernels/cuda/library.h"

typedef struct nvml {
  int (*init)(void);
  int (*shutdown)(void);
  int (*find)(const char *bus_id, void **device);
  int (*memory)(void *device, uint64_t bytes[3]); /* total, free, used */
} nvml;

#define SYMBOL(name, field) \
  { name, offsetof(nvml, field) }
static const plim_cuda_symbol symbols[] = {SYMBOL("nvmlInit_v2", init), SYMBOL("nvmlShutdown", shutdown),
                                           SYMBOL("nvmlDeviceGetHandleByPciBusId_v2", find),
                                           SYMBOL("nvmlDeviceGetMemoryInfo", memory)};
#undef SYMBOL
static const char *const files[] = {"libnvidia-ml.so.1", NULL};
static const plim_cuda_library spec = {"NVML", "PLIM_NVML", files, sizeof symbols / sizeof *symbols, symbols};

static int64_t ask(const nvml *n, const char *bus_id) {
  void *device;
  uint64_t bytes[3];
  return n->find(bus_id, &device) == 0 && n->memory(device, bytes) == 0 ? (int64_t)bytes[1] : -1;
}

int64_t plim_nvml_free_bytes(const char *bus_id) {
  nvml n;
  char why[200];
  void *library = plim_cuda_library_open(&spec, &n, why, sizeof why);
  if (!library) return -1;
  int64_t free_bytes = -1;
  if (n.init() == 0) {
    free_bytes = ask(&n, bus_id);
    (void)n.shutdown();
  }
  (void)dlclose(library);
  return free_bytes;
}
