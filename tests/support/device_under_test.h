/* The device that tests of runs are for: "cpu", or what PLIM_TEST_DEVICE names, as cuda:0. The tests that ask here make
 * up the program test_on_device, which tools/gpu_check runs on a GPU, and each by itself runs on the CPU. */
#ifndef PLIM_TESTS_SUPPORT_DEVICE_UNDER_TEST_H
#define PLIM_TESTS_SUPPORT_DEVICE_UNDER_TEST_H

#include "runtime/device/device.h"

const char *plim_test_device_name(void);

/* Open it, with so many threads where it is the CPU (0: the CPUs of the affinity mask); fails the running test when
 * that fails. */
plim_device *plim_test_device(plim_context *ctx, int32_t threads);

/* 1 when it is the CPU: what a test knows of variants, instruction sets and memory of the host holds there alone. */
int plim_test_on_cpu(void);

#endif
