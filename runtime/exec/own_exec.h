/* The executor's insides, shared by exec.c (open, close, step), values.c (what lies where between steps) and each.c
 * (an allocation a life). */
#ifndef PLIM_RUNTIME_EXEC_OWN_EXEC_H
#define PLIM_RUNTIME_EXEC_OWN_EXEC_H

#include "runtime/exec/exec.h"
#include "runtime/exec/gauge.h"
#include "runtime/exec/prepare.h"

typedef struct plim_exec_plan {
  plim_bound bound;
  plim_exec_use use;
  uint8_t *written; /* [n_storages] inputs: written since the plan's last step */
  void **own;       /* [n_lives] each: the life's allocation, NULL when it has none now */
} plim_exec_plan;

struct plim_exec {
  plim_context *ctx;
  plim_device *device; /* NULL: host memory and the caller's kernels */
  plim_exec_options options;
  int32_t n;
  plim_exec_plan *plan; /* [n] */
  plim_prepared prepared;
  void *arena; /* NULL: each life has its own allocation */
  int64_t arena_bytes;
  uint64_t seed;
  int64_t step;
  int32_t timing;
  int32_t outputs_of; /* plan whose outputs can be read, -1: none */
  int32_t inputs_of;  /* plan whose inputs have been written, -1: none */
};

/* ---- values.c ---- */

/* Plan `which` takes the arena: outputs of the last step and inputs written for other plans are gone. */
void plim_exec_claim(plim_exec *exec, int32_t which);

/* ---- each.c ---- */

/* Allocate the persistent storages, once for all plans (they sit at equal offsets in each). */
PLIM_MUST_USE plim_status plim_each_open(plim_exec *exec);
/* Free every allocation that is left. */
void plim_each_close(plim_exec *exec);
/* Before step j: pairs hand their allocation over, ended lives are freed, lives that begin are allocated, and the
 * step's operands are pointed at them. */
PLIM_MUST_USE plim_status plim_each_step(plim_exec *exec, plim_exec_plan *p, int32_t j);
/* An input is about to be written: it needs its allocation. */
PLIM_MUST_USE plim_status plim_each_input(plim_exec *exec, plim_exec_plan *p, int32_t life);
/* Free what the last step of the plan left: outputs, inputs, lives of a step that failed. */
void plim_each_settle(plim_exec *exec, plim_exec_plan *p);

#endif
