/* How the check device checks one command of a plan. Functions run on the thread of the device. */
#ifndef PLIM_RUNTIME_DEVICE_CHECK_COMMAND_H
#define PLIM_RUNTIME_DEVICE_CHECK_COMMAND_H

#include "runtime/device/check_bytes.h"

enum { PLIM_CHECK_MAX_RESULTS = PLIM_OP_MAX_OUT + PLIM_OP_MAX_UPD };

/* The first run of an op in a step. */
typedef struct plim_check_first {
  int32_t command;                /* index of its command + 1; 0: the op has not run */
  uint64_t hash[PLIM_OP_MAX_OUT]; /* of its outputs */
} plim_check_first;

/* An output or update of the command. */
typedef struct plim_check_result {
  int32_t value;
  int64_t at, bytes; /* offset in the arena, and size */
  int64_t saved;     /* offset in plim_device_check.saved of its bytes after the first run */
  char *second;      /* address of its bytes after the second run */
} plim_check_result;

typedef struct plim_device_check {
  plim_device *inner;
  const plim_graph *graph;
  const plim_plan *plan;
  char *arena, *snapshot; /* [arena_bytes] */
  int64_t arena_bytes;
  char *saved, *beside; /* [result_bytes] results of the first run; in-place outputs of the second run */
  int64_t result_bytes;
  int32_t n_buffers, n_ops; /* of plan and graph, which may not exist any more when the memory is released */
  plim_range *holds;        /* [n_buffers] ranges that hold contents before the command; n_holds of them, sorted */
  int32_t n_holds;
  plim_check_first *first; /* [n_ops] */
  int32_t n_results;
  plim_check_result results[PLIM_CHECK_MAX_RESULTS];
} plim_device_check;

/* Functions of plim_device_watch, for a device whose state is a plim_device_check. */
plim_status plim_device_check_begin(plim_device *device, const plim_graph *graph, const plim_plan *plan, void *arena,
                                    int64_t arena_bytes, int timed);
plim_status plim_device_check_command(plim_device *device, const plim_run_call *call, plim_run *run, void *user);

/* Release the memory that plim_device_check_begin allocated. */
void plim_device_check_release(plim_device_check *check, plim_context *ctx);

#endif
