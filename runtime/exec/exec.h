/* The executor: replays checked plans from one arena. It never decides. */
#ifndef PLIM_RUNTIME_EXEC_EXEC_H
#define PLIM_RUNTIME_EXEC_EXEC_H

#include "runtime/device/device.h"
#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_exec plim_exec;

typedef enum plim_exec_addresses { PLIM_ADDRESSES_PLANNED, PLIM_ADDRESSES_EACH } plim_exec_addresses;

/* A variant of a plan that the device refused to prepare or to run, and that cost nothing else: the device continues,
 * and no storage that persists has changed. */
typedef struct plim_exec_failure {
  const plim_graph *graph;
  int32_t op; /* of the graph */
  char variant[PLIM_VARIANT_NAME_BYTES];
  char why[PLIM_DROPPED_WHY_BYTES]; /* the device's own words */
} plim_exec_failure;

/* Those that were found in one go; others may be found once these are gone. */
enum { PLIM_EXEC_FAILURES = 64 };
typedef struct plim_exec_failures {
  int32_t n; /* 0: nothing failed, or the device itself did */
  plim_exec_failure row[PLIM_EXEC_FAILURES];
} plim_exec_failures;

typedef struct plim_exec_options {
  size_t struct_bytes;           /* sizeof(plim_exec_options) */
  plim_exec_addresses addresses; /* each: every buffer its own allocation (the jemalloc peer) */
  /* each: memory aligned to PLIM_ALIGN, NULL when there is none left; both NULL mean the device's. Host memory, so only
   * for devices that see it (host_visible) */
  void *(*buffer_alloc)(void *user, int64_t bytes);
  void (*buffer_free)(void *user, void *ptr, int64_t bytes);
  void *user;
  int32_t own_kernels;          /* 1: nothing is prepared on the device, every step needs a `run` */
  plim_exec_failures *failures; /* set by open and replace; NULL: not wanted. They must outlive the executor */
} plim_exec_options;

/* Planned addresses, the device's kernels. */
plim_exec_options plim_exec_options_default(void);

/* Check the program (plim_program_check), allocate the arena (the largest arena_bytes of the plans) between
 * inaccessible pages, prepare every op and variant. graph [n], plan [n] and `device` must outlive the executor.
 * `options` NULL: planned addresses, the device's kernels. `device` NULL with own_kernels: host memory.
 * With planned addresses, kernels that a library may refuse are rehearsed in the arena (plim_device_api.rehearse).
 * PLIM_EDEVICE or PLIM_EUNSUPPORTED when a variant is refused: options->failures says which.
 * PLIM_EDATA when a plan was made for another machine than `device` (field and both values); PLIM_EDIFF when a kernel
 * needs another workspace than the plan gives it; PLIM_EPLAN when a variant has another numerics key here than in the
 * plan. */
PLIM_MUST_USE plim_status plim_exec_open(plim_context *ctx, plim_device *device, const plim_exec_options *options,
                                         int32_t n, const plim_graph *const *graph, const plim_plan *const *plan,
                                         plim_exec **out);
void plim_exec_close(plim_exec *exec); /* NULL is legal */

/* Seed and step number that random ops see from the next step on. */
void plim_exec_set_step(plim_exec *exec, uint64_t seed, int64_t step);

/* Run plan `which` once. `run` NULL: the device's kernels. Inputs must have been written since its last step
 * (PLIM_EUSAGE). On failure the sentence names op and step, and what the step has updated so far stays updated.
 * Own cost below 1 us a plan step; allocates nothing. */
PLIM_MUST_USE plim_status plim_exec_step(plim_exec *exec, int32_t which, plim_run *run, void *user);

/* Copy a value to or from host memory between steps: persistent storages always, inputs before a step, outputs after
 * it and until the next input is written. `bytes` must be the value's. PLIM_EUSAGE for a value that is not there then.
 */
PLIM_MUST_USE plim_status plim_exec_write(plim_exec *exec, int32_t which, int32_t value, const void *from,
                                          int64_t bytes);
PLIM_MUST_USE plim_status plim_exec_read(plim_exec *exec, int32_t which, int32_t value, void *to, int64_t bytes);
/* Address of a value whose storage is persistent (host-visible devices), NULL otherwise. */
void *plim_exec_pointer(const plim_exec *exec, int32_t which, int32_t value);

/* What the last step of plan `which` really used: largest sum of live bytes and largest offset + bytes, recomputed
 * while it ran from the addresses bound to kernel arguments, the sizes of the graph's storages and the workspaces that
 * the device asked for. plim_exec_step fails with PLIM_EDIFF when they are not the plan's. Without one arena (EACH)
 * packed_bytes is 0. */
typedef struct plim_exec_use {
  int64_t peak_bytes, packed_bytes;
  int64_t own_allocations; /* by the hook, during the last step */
} plim_exec_use;
plim_exec_use plim_exec_measured(const plim_exec *exec, int32_t which);

/* Between begin and end every step of a plan is timed. Several users may ask for times at once: each begin needs its
 * own end, and times are taken until the last one. */
void plim_exec_timing_begin(plim_exec *exec);
void plim_exec_timing_end(plim_exec *exec);
/* Times of the plan's commands in its last step, ns [n_steps]; NULL without plim_exec_timing_begin. */
const int64_t *plim_exec_times(const plim_exec *exec, int32_t which);

/* ---- other plans, and an arena that shrinks ---- */

/* A plan switch in the middle of a step: a plan that begins with the commands that have run, and the bytes that the
 * arena keeps. The executor checks both and owns the plan from then on. Buffers that continue at another offset are
 * copied there. After the step the program's own plan runs again. */
typedef struct plim_plan_switch {
  plim_plan *plan; /* NULL: nothing changes */
  int64_t arena_bytes;
} plim_plan_switch;

/* Called before every plan step but the first, with the plan that runs. A failure ends the step. Not called on
 * devices that watch whole steps, nor with an allocation a buffer. */
typedef plim_status plim_before_command(void *user, int32_t which, int32_t step, const plim_plan *plan,
                                        plim_plan_switch *plan_switch);
void plim_exec_set_before_command(plim_exec *exec, plim_before_command *before_command, void *user); /* NULL: none */

/* Between two steps: run plan [n of open] from now on, in an arena of arena_bytes, which may be less than before or
 * more, up to what it was at open. Persistent storages keep their contents and must keep their places; inputs and
 * outputs are gone. The plans must outlive the executor. PLIM_EUSAGE when a plan needs more than arena_bytes. A variant
 * that is refused is told as by open; then the former plans stay. */
PLIM_MUST_USE plim_status plim_exec_replace(plim_exec *exec, const plim_plan *const *plan, int64_t arena_bytes);

/* The plan that runs, or ran last, under that number. */
const plim_plan *plim_exec_plan_of(const plim_exec *exec, int32_t which);

/* Bytes of the arena that were returned to the system, whole pages; 0 on devices that cannot return a part. */
int64_t plim_exec_returned_bytes(const plim_exec *exec);
int64_t plim_exec_first_bytes(const plim_exec *exec); /* of the arena at open */

/* Bytes copied within the arena so far by plan switches whose buffers have other offsets. Plans themselves move
 * nothing. */
int64_t plim_exec_moved_bytes(const plim_exec *exec);

/* Bytes of the arena now; 0 when every buffer has its own allocation. */
int64_t plim_exec_arena_bytes(const plim_exec *exec);

#ifdef __cplusplus
}
#endif
#endif
