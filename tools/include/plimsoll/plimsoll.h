/* All public headers of libplimsoll: those of libplimsoll-plan, and devices, kernels, executor, networks, training. */
#ifndef PLIM_PLIMSOLL_PLIMSOLL_H
#define PLIM_PLIMSOLL_PLIMSOLL_H

#include "plimsoll/plan.h"

#include "kernels/table.h"
#include "runtime/device/device.h"
#include "runtime/device/device_check.h"
#include "runtime/device/profiler.h"
#include "runtime/device/roofline_peaks.h"
#include "runtime/exec/exec.h"
#include "runtime/net/net.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/dataset.h"
#include "runtime/train/online_plan.h"
#include "runtime/train/program.h"
#include "runtime/train/rehearsal.h"
#include "runtime/train/replan.h"
#include "runtime/train/schedule.h"
#include "runtime/train/trainer.h"
#include "runtime/train/vram.h"

#endif
