/* How the check device checks one command of a plan. Functions run on the thread of the device. */
#ifndef PLIM_RUNTIME_DEVICE_CHECK_COMMAND_H
#define PLIM_RUNTIME_DEVICE_CHECK_COMMAND_H

#include "runtime/device/check_bytes.h"

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
  char *saved, *in_place; /* [result_bytes] results of the first run; in-place outputs of the second run */
  int64_t result_bytes;
  int32_t n_buffers, n_ops, n_values; /* of plan and graph, which may be gone when the memory is released */
  plim_range *holds;                  /* [n_buffers] ranges that hold contents before the command; n_holds, sorted */
  int32_t n_holds;
  int32_t *first_command; /* [n_ops] index of the command of the op's first run in a step, + 1; 0: it has not run */
  uint64_t *first_hash;   /* [n_values] of what that run wrote */
  int32_t n_results, most_results;
  plim_check_result *results; /* [most_results] */
  plim_range *may;            /* [most_results + 1] ranges that the command may change */
  void **out;                 /* [most_results] where the second run writes */
} plim_device_check;

/* Functions of plim_device_watch, for a device whose state is a plim_device_check. */
plim_status plim_device_check_begin(plim_device *device, const plim_graph *graph, const plim_plan *plan, void *arena,
                                    int64_t arena_bytes, int timed);
plim_status plim_device_check_command(plim_device *device, const plim_run_call *call, plim_run *run, void *user);

/* Release the memory that plim_device_check_begin allocated. */
void plim_device_check_release(plim_device_check *check, plim_context *ctx);

#endif
