/* All public headers of libplimsoll: those of libplimsoll-plan, and devices, kernels, executor, networks, training. */
#ifndef PLIM_PLIMSOLL_PLIMSOLL_H
#define PLIM_PLIMSOLL_PLIMSOLL_H

#include "plimsoll/plan.h"

#include "kernels/table.h"
#include "runtime/data/dataset.h"
#include "runtime/device/device.h"
#include "runtime/device/device_check.h"
#include "runtime/exec/exec.h"
#include "runtime/net/net.h"
#include "runtime/profile/profiler.h"
#include "runtime/program/online_plan.h"
#include "runtime/program/paging_links.h"
#include "runtime/program/program.h"
#include "runtime/program/program_source.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/preparation.h"
#include "runtime/train/rate_schedule.h"
#include "runtime/train/trainer.h"
#include "runtime/train/verification.h"

#endif
