/* A management library with one GPU, at bus id "0000:01:00.0". FAKE_NVML_REFUSES names a function that answers "not
 * supported". Compiled with FAKE_NVML_OLD it lacks the function of energy. It notes a question without an init. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, UNINITIALIZED = 1, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device);
int nvmlDeviceGetMemoryInfo(void *device, uint64_t bytes[3]);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);

static int inits;

static int refuses(const char *function) {
  const char *named = getenv("FAKE_NVML_REFUSES");
  return named && strcmp(named, function) == 0;
}

int nvmlInit_v2(void) {
  if (refuses("init")) return NOT_SUPPORTED;
  inits++;
  return OK;
}

int nvmlShutdown(void) {
  return inits-- > 0 ? OK : UNINITIALIZED;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device) {
  if (inits == 0) return UNINITIALIZED;
  *device = &inits;
  return strcmp(bus_id, "0000:01:00.0") == 0 ? OK : NOT_FOUND;
}

int nvmlDeviceGetMemoryInfo(void *device, uint64_t bytes[3]) {
  if (device != &inits || refuses("memory")) return NOT_SUPPORTED;
  bytes[0] = 1000;
  bytes[1] = 700;
  bytes[2] = 300;
  return OK;
}

#ifndef FAKE_NVML_OLD
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj) {
  if (device != &inits || refuses("energy")) return NOT_SUPPORTED;
  *mj = 123456789012ULL;
  return OK;
}
#endif
