/* A device of the tests' own: ops of any kind in two variants, a clock that tests wind, every call looked at. */
#ifndef PLIM_TESTS_SUPPORT_FAKE_DEVICE_H
#define PLIM_TESTS_SUPPORT_FAKE_DEVICE_H

#include "runtime/device/device.h"

typedef struct fake_device {
  plim_device device;
  int64_t clock_ns;
  /* what the next runs cost: of variant v, in turn, cost_ns[v][0], [1], ... and again from the start */
  int64_t cost_ns[2][8];
  int32_t n_costs;
  int64_t workspace_bytes[2]; /* of the variants "plain" and "roomy" */
  int64_t runs, runs_of[2];
  int scribbles;                       /* 1: a run fills what it updates, and outputs that are no floats, with NaNs */
  int64_t fail_at;                     /* the run that fails, 1 = the first; 0: none */
  int64_t cancel_at;                   /* the run that cancels the context */
  const unsigned char *arena;          /* the one allocation there is */
  int64_t arena_bytes, allocated_most; /* now, and the most so far */
  int64_t faults;                      /* operands that were not aligned, not in the arena, or over a part of another */
} fake_device;

/* A device over `ctx`; its machine has the CPU model `cpu`. Nothing to close. */
void fake_device_make(fake_device *fake, plim_context *ctx, const char *cpu);

#endif
