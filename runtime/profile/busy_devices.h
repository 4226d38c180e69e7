/* Other devices of the same kind that are busy while a variant is measured. They share caches and memory bandwidth
 * with the measured device as the devices of a plan share them with each other. Called on the thread of the device. */
#ifndef PLIM_RUNTIME_PROFILE_BUSY_DEVICES_H
#define PLIM_RUNTIME_PROFILE_BUSY_DEVICES_H

#include "runtime/profile/measurement.h"

enum { PLIM_BUSY_DEVICES_MAX = 63 };

typedef struct plim_busy_devices plim_busy_devices;

/* Start set->busy_devices devices, each with a thread, memory for the needs of `most` and kernels of its own.
 *   most, limit  in   as for plim_measure_begin; the limit is of each device
 *   out          out  NULL where there are none; close it with plim_busy_devices_close before the set is freed, and
 *                     before the set gets more cases
 * PLIM_ENOMEM, PLIM_ENOFIT; PLIM_ENOMEM also when a thread cannot be started. */
PLIM_MUST_USE plim_status plim_busy_devices_open(plim_profile_set *set, const plim_measure_needs *most, int64_t limit,
                                                 plim_busy_devices **out);
void plim_busy_devices_close(plim_busy_devices *busy); /* NULL is legal */

/* Run a prepared case once while the busy devices run it again and again; *time_ns out. busy NULL: run it alone.
 * Returns when all are idle. The status of the run, else the first failure of a busy device. Takes up to two runs, and
 * on its first call for a case prepares a kernel for each device. */
PLIM_MUST_USE plim_status plim_busy_devices_run(plim_busy_devices *busy, plim_measurement *measurement,
                                                const plim_profile_group *group, const plim_profile_case *profile_case,
                                                int64_t *time_ns);

#endif
