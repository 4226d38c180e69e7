/* Energy that a run draws: that of the processor packages by their counters (rapl.h), and that of its GPU by the
 * driver's. Both are of all programs that run there. On the thread of the device. */
#ifndef PLIM_RUNTIME_PROFILE_ENERGY_METER_H
#define PLIM_RUNTIME_PROFILE_ENERGY_METER_H

#include "runtime/device/device.h"
#include "runtime/profile/rapl.h"

typedef struct plim_energy_meter {
  plim_rapl packages;        /* n 0: their counters cannot be read */
  const plim_device *device; /* a GPU whose counter can be read, else NULL */
  int64_t last_mj;           /* of the GPU, at the last start or add */
  double gpu_joule;          /* added so far */
  int64_t read_ns;           /* when the counters were read last, by plim_now_ns */
} plim_energy_meter;

/* Find the counters. The device must outlive the meter. */
void plim_energy_meter_open(const plim_device *device, plim_energy_meter *out);

/* Begin to count: what was drawn before is not added. */
void plim_energy_meter_start(plim_energy_meter *meter);

/* Add what was drawn since the last start or add. A counter that cannot be read any more ends it, and it counts as one
 * that never could. Some milliseconds with a GPU. */
void plim_energy_meter_add(plim_energy_meter *meter);

/* The same once in ten seconds, often enough for counters of packages, which begin again at 0 after minutes. */
void plim_energy_meter_keep(plim_energy_meter *meter);

#endif
