/* The counters of a run, which are read together. */
#include "runtime/profile/energy_meter.h"

#include "runtime/device/device_cuda.h"

static const int64_t KEEP_NS = INT64_C(10000000000);

void plim_energy_meter_open(const plim_device *device, plim_energy_meter *out) {
  *out = (plim_energy_meter){.last_mj = plim_device_cuda_energy_mj(device)};
  if (out->last_mj >= 0) out->device = device;
  plim_rapl_open(NULL, &out->packages);
}

static void add_gpu(plim_energy_meter *m) {
  const int64_t now_mj = plim_device_cuda_energy_mj(m->device);
  if (now_mj < m->last_mj) { /* not readable, or the driver was loaded anew */
    m->device = NULL;
    return;
  }
  m->gpu_joule += (double)(now_mj - m->last_mj) * 1e-3;
  m->last_mj = now_mj;
}

void plim_energy_meter_start(plim_energy_meter *m) {
  const double before = m->gpu_joule;
  plim_rapl_start(&m->packages);
  if (m->device) add_gpu(m);
  m->gpu_joule = before;
  m->read_ns = plim_now_ns();
}

void plim_energy_meter_add(plim_energy_meter *m) {
  plim_rapl_add(&m->packages);
  if (m->device) add_gpu(m);
  m->read_ns = plim_now_ns();
}

void plim_energy_meter_keep(plim_energy_meter *m) {
  if (plim_now_ns() - m->read_ns > KEEP_NS) plim_energy_meter_add(m);
}
