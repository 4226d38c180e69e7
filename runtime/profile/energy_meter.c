/* The counters of a run, which are read together. */
#include "runtime/profile/energy_meter.h"

#include "runtime/device/device_cuda.h"

static const int64_t KEEP_NS = INT64_C(10000000000);

void plim_energy_meter_open(const plim_device *device, plim_energy_meter *out) {
  *out = (plim_energy_meter){.last_mj = plim_device_cuda_energy_mj(device)};
  if (out->last_mj >= 0) out->device = device;
  plim_rapl_open(NULL, &out->packages);
}

static void add_gpu(plim_energy_meter *meter) {
  const int64_t now_mj = plim_device_cuda_energy_mj(meter->device);
  if (now_mj < meter->last_mj) { /* not readable, or the driver was loaded anew */
    meter->device = NULL;
    return;
  }
  meter->gpu_joule += (double)(now_mj - meter->last_mj) * 1e-3;
  meter->last_mj = now_mj;
}

void plim_energy_meter_start(plim_energy_meter *meter) {
  const double before = meter->gpu_joule;
  plim_rapl_start(&meter->packages);
  if (meter->device) add_gpu(meter);
  meter->gpu_joule = before;
  meter->read_ns = plim_now_ns();
}

void plim_energy_meter_add(plim_energy_meter *meter) {
  plim_rapl_add(&meter->packages);
  if (meter->device) add_gpu(meter);
  meter->read_ns = plim_now_ns();
}

void plim_energy_meter_keep(plim_energy_meter *meter) {
  if (plim_now_ns() - meter->read_ns > KEEP_NS) plim_energy_meter_add(meter);
}
