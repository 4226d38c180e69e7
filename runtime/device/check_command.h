/* The check device's work around one command of a plan. */
#ifndef PLIM_RUNTIME_DEVICE_CHECK_COMMAND_H
#define PLIM_RUNTIME_DEVICE_CHECK_COMMAND_H

#include "runtime/device/check_bytes.h"

enum { PLIM_CHECK_MAX_RESULTS = PLIM_OP_MAX_OUT + PLIM_OP_MAX_UPD };

typedef struct plim_check_first {
  int32_t command; /* of the first run + 1; 0: it has not run */
  uint64_t hash[PLIM_OP_MAX_OUT];
} plim_check_first;

/* An output or update of the command. */
typedef struct plim_check_result {
  int32_t value;
  int64_t at, bytes; /* in the arena */
  int64_t saved;     /* where its bytes of the first run are in state.saved */
  char *second;      /* where the second run has put it */
} plim_check_result;

typedef struct plim_device_check {
  plim_device *inner;
  const plim_graph *graph;
  const plim_plan *plan;
  char *arena, *snapshot; /* [arena_bytes] */
  int64_t arena_bytes;
  char *saved, *beside; /* [result_bytes] results of the first run; outputs of pairs in the second */
  int64_t result_bytes;
  int32_t n_buffers, n_ops; /* of the plan and its graph, which may be gone when the memory is given back */
  plim_range *holds;        /* [n_buffers] what holds something before the step; n_holds of them, sorted */
  int32_t n_holds;
  plim_check_first *first; /* [n_ops] */
  int32_t n_results;
  plim_check_result results[PLIM_CHECK_MAX_RESULTS];
} plim_device_check;

/* plim_device_watch over a device whose state is a plim_device_check. */
plim_status plim_device_check_begin(plim_device *device, const plim_graph *graph, const plim_plan *plan, void *arena,
                                    int64_t arena_bytes, int timed);
plim_status plim_device_check_command(plim_device *device, const plim_run_call *call, plim_run *run, void *user);

/* Give back what plim_device_check_begin took. */
void plim_device_check_release(plim_device_check *check, plim_context *ctx);

#endif
