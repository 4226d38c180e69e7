/* The executor: replays checked plans from one arena a memory space. It takes no decision of its own.
 *
 * Runs of queue 0 are on the calling thread. Each other queue of a plan has a thread of its own, for copies or for the
 * runs of another space that computes. On a GPU every command is put on its queue there, and no thread is started.
 * Commands of different queues wait for each other as the plan says. A page space is memory of the process, or a page
 * file where its name is "disk". A persistent storage is read and written at its home, which may be in any space.
 *
 * An executor belongs to the thread that uses its context and its device: one call at a time. Plans and graphs are only
 * read, so several executors may share them. For equal plans, contents, seed and step number the results are equal bit
 * for bit, on one machine with one number of threads. After a failure plim_context_error has the sentence.
 *
 * `plan_index` names a plan of the program: 0 .. n - 1 in the order that plim_exec_open got them in.
 *
 * Each part of this header has a file of its own. exec_internal.h has all files.
 *   open and close         open.c
 *   a step                 exec.c: run_in_order is the loop over the commands of a plan; run_queued where it has copies
 *   values between steps   values.c
 *   figures                exec_figures.c
 *   switching              plan_switch.c, plan_replace.c */
#ifndef PLIM_RUNTIME_EXEC_EXEC_H
#define PLIM_RUNTIME_EXEC_EXEC_H

#include "runtime/device/device.h"
#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_exec plim_exec;

/* ---- open and close ---- */

/* Where buffers lie. PLANNED: at the offsets of the plan in one arena. EACH: every buffer in an allocation of its own.
 */
typedef enum plim_exec_addresses { PLIM_ADDRESSES_PLANNED, PLIM_ADDRESSES_EACH } plim_exec_addresses;

/* A variant of a plan that the device refused to prepare or to run. The device still works after the refusal, and no
 * persistent storage has changed. */
typedef struct plim_refused_variant {
  const plim_graph *graph;
  int32_t op; /* of the graph */
  char variant[PLIM_VARIANT_NAME_BYTES];
  char why[PLIM_DROPPED_WHY_BYTES]; /* the device's own words */
} plim_refused_variant;

/* The refused variants that one call found. A later call may find others. */
enum { PLIM_REFUSED_MAX = 64 };
typedef struct plim_refused_list {
  int32_t n; /* 0: nothing failed, or the device itself did */
  plim_refused_variant row[PLIM_REFUSED_MAX];
} plim_refused_list;

/* A copy command that is about to begin. */
typedef struct plim_copy_call {
  int32_t command, storage; /* index of the command; the storage that it copies */
  int32_t from_space, to_space;
  const void *from; /* addresses; those of a page file cannot be read */
  void *to;
  int64_t bytes;
} plim_copy_call;

typedef struct plim_exec_options {
  size_t struct_bytes;           /* sizeof(plim_exec_options) */
  plim_exec_addresses addresses; /* EACH: the executor allocates every buffer when its lifetime begins */
  /* Allocator for EACH: buffer_alloc returns host memory aligned to PLIM_ALIGN, or NULL when none is left. Set both
   * functions or neither; without them the device allocates. PLIM_EUSAGE on a device that is not host_visible */
  void *(*buffer_alloc)(void *user, int64_t bytes);
  void (*buffer_free)(void *user, void *ptr, int64_t bytes);
  void *user;
  int32_t own_kernels;        /* 1: nothing is prepared on the device, and plim_exec_step needs a `run` */
  plim_refused_list *refused; /* set by open, replace and plan switches; outlives the executor. NULL: not wanted */
  /* Of space "disk": created, or empty; borrowed until close, since a plan that replaces others may be the first that
   * pages. NULL: one without a name, in TMPDIR or /tmp */
  const char *page_file;
  /* Called with `user` before every copy, on the thread of its queue; on a GPU not at all. Any status but PLIM_OK fails
   * the copy and the step. NULL: not wanted */
  plim_status (*before_copy)(void *user, const plim_copy_call *call);
} plim_exec_options;

/* Planned addresses and the device's kernels. */
plim_exec_options plim_exec_options_default(void);

/* Check the program, allocate the arena between inaccessible pages, and prepare every op and variant.
 *   device   in       of the same context. NULL with own_kernels: host memory and no device
 *   options  in       copied; NULL: plim_exec_options_default
 *   graph    [n] in   must outlive the executor, as must `device`
 *   plan     [n] in   must outlive the executor; plan[i] is of graph[i]
 *   out      [1] out  free with plim_exec_close
 * The arena has the largest arena_bytes of the plans. On devices whose libraries may refuse a kernel, every such kernel
 * runs once in the arena (plim_device_api.kernels.rehearse).
 * Errors:
 *   PLIM_EUSAGE        an option is not allowed; neither a device nor own_kernels; a device of another context
 *   PLIM_EPLAN         plim_program_check refuses the plans; or the device gives a variant other bits than its plan
 *                      says: another numerics key, or the device does not list the variant
 *   PLIM_EDATA         a plan is of another graph, or was made for another machine
 *   PLIM_EDIFF         a kernel needs a workspace of another size than its plan gives it
 *   PLIM_EDEVICE       the device failed, or refused a variant (options->refused)
 *   PLIM_EUNSUPPORTED  the device refused a variant; or a plan has copies, and cannot have them here: the device is sim
 *                      or check, every buffer has its own allocation, or a GPU would page to anything but "host"
 *   PLIM_EIO           the page file cannot be opened, or holds data
 *   PLIM_ENOFIT        the file system of the page file, or the memory of a GPU, has no room
 *   PLIM_EOVERFLOW     a plan has more than 2^31 - 1 operands
 *   PLIM_ENOMEM        no memory, for the arena or for anything else
 * Cost: the check and the preparation of each distinct variant; a library may take long to build one. */
PLIM_MUST_USE plim_status plim_exec_open(plim_context *ctx, plim_device *device, const plim_exec_options *options,
                                         int32_t n, const plim_graph *const *graph, const plim_plan *const *plan,
                                         plim_exec **out);
/* Free arena and kernels. NULL is legal. Plans, graphs and device stay the caller's. */
void plim_exec_close(plim_exec *exec);

/* ---- a step ---- */

/* Seed and step number that random ops see from the next plim_exec_step on. Both are 0 after open. */
void plim_exec_set_step(plim_exec *exec, uint64_t seed, int64_t step);

/* Run plan `plan_index` once, and wait for the device.
 *   run, user  in  computes each run; NULL: the device's kernels. Runs of different spaces may call it on several
 *                  threads at once
 * Every input that the plan reads must have been written since its last step. On success the outputs can be read. What
 * the step has updated before a failure stays updated.
 * Errors:
 *   PLIM_EUSAGE   no such plan; an input that was not written; own_kernels without `run`; an arena that has become
 *                 smaller than the plan needs. Nothing has run
 *   PLIM_EDIFF    the step is complete, and used other bytes than planned (plim_exec_measured)
 *   PLIM_EDEVICE  a kernel or the device failed
 *   PLIM_EIO      a copy failed
 *   PLIM_ENOMEM   with PLIM_ADDRESSES_EACH: no memory for a buffer; PLIM_ENOFIT: a GPU has none
 *   others        as `run`, the before-command hook or options.before_copy returned them; of a plan switch
 *                 (plim_before_command)
 * The sentence of a run that failed names command, op and variant; that of a copy training step, command, storage, op
 * and file.
 * Cost: the executor's own is below 1 us a command. With planned addresses a step allocates nothing, unless a plan
 * switch happens. */
PLIM_MUST_USE plim_status plim_exec_step(plim_exec *exec, int32_t plan_index, plim_run *run, void *user);

/* ---- values between steps ---- */

/* Copy a value from host memory (write) or to host memory (read), between two steps, and wait for the copy.
 *   value     in            of the plan's graph
 *   bytes     in            must be the value's
 *   from, to  in, out       [bytes]
 * Persistent storages can be written and read at any time between steps. Inputs can be written before a step, and read
 * until it. Outputs can be read after their step, until an input is written, a step begins or plans are replaced.
 * Writing an input of one plan makes the inputs of all others unwritten.
 * Errors:
 *   PLIM_EUSAGE             no such plan or value; another number of bytes; a value that holds nothing now; an input of
 *                           a plan for which the arena has become too small
 *   PLIM_EDEVICE, PLIM_EIO  the copy failed; PLIM_EIO in a page file
 *   PLIM_ENOMEM             no memory for a block of a page file, or for an input with an allocation of its own, for
 *                           which a GPU gives PLIM_ENOFIT
 * O(bytes). */
PLIM_MUST_USE plim_status plim_exec_write(plim_exec *exec, int32_t plan_index, int32_t value, const void *from,
                                          int64_t bytes);
PLIM_MUST_USE plim_status plim_exec_read(plim_exec *exec, int32_t plan_index, int32_t value, void *to, int64_t bytes);
/* The same write without the wait: the bytes at `from` must stay as they are until the next step has ended. */
PLIM_MUST_USE plim_status plim_exec_write_queued(plim_exec *exec, int32_t plan_index, int32_t value, const void *from,
                                                 int64_t bytes);

/* Set the outputs that every later step of plan `plan_index` copies to host memory at its end. This saves the second
 * wait of plim_exec_read.
 *   result  [n]  in  each step writes `to` [bytes]; after a failed step its contents are undefined
 * Replaces the results that were set before. PLIM_EUSAGE: no such plan, more than PLIM_EXEC_RESULTS, a value that is no
 * output, or another number of bytes. */
enum { PLIM_EXEC_RESULTS = 4 };
typedef struct plim_exec_result {
  void *to;
  int64_t bytes;
  int32_t value;
} plim_exec_result;
PLIM_MUST_USE plim_status plim_exec_set_results(plim_exec *exec, int32_t plan_index, const plim_exec_result *result,
                                                int32_t n);

/* Address of a value in a persistent storage, valid while no plans are replaced. NULL for other values, and on devices
 * that are not host_visible. */
void *plim_exec_pointer(const plim_exec *exec, int32_t plan_index, int32_t value);

/* ---- figures ---- */

/* The functions of this part allocate nothing; `plan_index` must be in range. All are O(1), except plim_exec_copied,
 * which walks the commands of the plan. */

/* Bytes that a plan's last complete step really used: the largest sum of live bytes, and the largest offset + bytes.
 * The memory meter counts them while the step runs. It reads the addresses bound to kernel arguments, the storages of
 * the graph, and the workspaces that the device asked for. A copy counts as a use of its source and its target.
 * Commands of several queues are counted in the order of the plan, which need not be their order in time.
 * plim_exec_step returns PLIM_EDIFF when these bytes differ from the plan's. packed_bytes is 0 with
 * PLIM_ADDRESSES_EACH. */
typedef struct plim_exec_use {
  struct {
    int64_t peak_bytes, packed_bytes;
  } space[PLIM_PLAN_SPACES]; /* by the number of the space; [0] is the arena */
  int64_t own_allocations;   /* by the memory hook, during that step */
} plim_exec_use;
/* All figures are 0 before the plan's first step. */
plim_exec_use plim_exec_measured(const plim_exec *exec, int32_t plan_index);

/* Bytes of the arena now; 0 with PLIM_ADDRESSES_EACH. */
int64_t plim_exec_arena_bytes(const plim_exec *exec);

/* Bytes of the arena at open; 0 with PLIM_ADDRESSES_EACH. */
int64_t plim_exec_first_bytes(const plim_exec *exec);

/* Between begin and end every command is timed, except commands of plans with copies on a GPU. Several users may ask
 * for times at once: each begin needs its own end, and times are taken until the last end. Where the device cannot time
 * commands itself, the executor waits after each command. */
void plim_exec_timing_begin(plim_exec *exec);
void plim_exec_timing_end(plim_exec *exec);
/* Times of a plan's commands in its last step: [n_commands], ns. Borrowed until the next step or replacement of plans.
 * NULL outside of timing_begin and timing_end. */
const int64_t *plim_exec_times(const plim_exec *exec, int32_t plan_index);

/* What the copies of a plan cost in its last step. All fields are 0 for plans without copies; on a GPU all but n. */
typedef struct plim_exec_copies {
  int32_t n, late;   /* number of copies; number of runs that waited for another queue */
  int64_t copy_ns;   /* sum of the times of all copies, on their own threads */
  int64_t waited_ns; /* sum of the times for which runs waited */
} plim_exec_copies;
plim_exec_copies plim_exec_copied(const plim_exec *exec, int32_t plan_index);
/* Times of the commands of a plan in its last step, [n_commands] each: when the command began, in ns from the start of
 * the step; how long it took; how long a run waited for other queues before it began, 0 for copies. Borrowed until the
 * next step. NULL for plans without copies, and on a GPU. */
typedef struct plim_exec_timeline {
  const int64_t *begin_ns, *time_ns, *waited_ns;
} plim_exec_timeline;
plim_exec_timeline plim_exec_last_timeline(const plim_exec *exec, int32_t plan_index);

/* Bytes of a page space, and its name as in the plans, borrowed. A page space has what the plan that needs most of it
 * needs, also of plans that were replaced. Where no plan has had the space: 0 and "". */
int64_t plim_exec_page_bytes(const plim_exec *exec, int32_t space);
const char *plim_exec_page_name(const plim_exec *exec, int32_t space);

/* How a space of the plans, 0 the arena, is read and written. "" for memory. For a page file the interface, then
 * "direct I/O" or the reason why it is not used, as in "io_uring, direct I/O". Borrowed. */
const char *plim_exec_space_how(const plim_exec *exec, int32_t space);

/* ---- switching: other plans, and an arena that shrinks ---- */

/* A plan switch in the middle of a step: another plan that begins with the commands that have run, and the bytes that
 * the arena keeps. The executor checks both. It owns the plan from then on, even when it refuses the plan. Buffers that
 * continue at another offset are copied there; those of persistent storages may not. The plan serves this step alone:
 * the next step runs the program's own plan. */
typedef struct plim_plan_switch {
  plim_plan *plan; /* NULL: nothing changes */
  int64_t arena_bytes;
} plim_plan_switch;

/* The before-command hook: called before every command but the first.
 *   plan_index   in   of the plan that the step began with
 *   command      in   index of the command that is next
 *   plan         in   the plan that runs, borrowed for the call
 *   plan_switch  out  set .plan (owned by the executor then) and .arena_bytes; left as it is: nothing changes
 * Any status but PLIM_OK ends the step with that status. Not called on devices that watch whole steps (sim, check,
 * cuda), nor for plans with copies, nor with PLIM_ADDRESSES_EACH.
 * What becomes of the plan:
 *   It takes over. plim_exec_switches counts it, and plim_exec_arena_bytes is then arena_bytes.
 *   There is no memory for the switch, or the device refuses a variant (options.refused). The step goes on without it.
 *   It does not begin with the commands that have run, moves a persistent storage, fails the check, or needs more than
 *   arena_bytes. The step ends: plim_exec_step returns PLIM_EPLAN.
 *   It was made for another machine (PLIM_EDATA), has copies (PLIM_EUNSUPPORTED), or a kernel needs another workspace
 *   than it says (PLIM_EDIFF). The step ends. */
typedef plim_status plim_before_command(void *user, int32_t plan_index, int32_t command, const plim_plan *plan,
                                        plim_plan_switch *plan_switch);
/* The hook and its `user`, from the next step on; NULL: none. */
void plim_exec_set_before_command(plim_exec *exec, plim_before_command *before_command, void *user);

/* Between two steps: run other plans from now on, in an arena of another size.
 *   plan         [n of open] in  of the graphs of open; must outlive the executor
 *   arena_bytes  in              at most what the arena had at open
 * Persistent storages keep their contents, and must have the same homes and offsets in the new plans. Page spaces and
 * queues are opened where there were none, and grow where the plans need more; they never shrink. Inputs and outputs
 * lose their contents, even on failure. Otherwise a failure leaves the former plans and the former arena in use.
 * Errors: those of plim_exec_open, and PLIM_EUSAGE: a plan needs more than arena_bytes; the arena had less at open;
 * there is no arena (PLIM_ADDRESSES_EACH).
 * Cost: the checks, and the preparation of variants that are new. */
PLIM_MUST_USE plim_status plim_exec_replace(plim_exec *exec, const plim_plan *const *plan, int64_t arena_bytes);

/* The plan that runs, or ran last, as `plan_index`: after a plan switch the plan that took over, until the next step or
 * write of an input. Borrowed; `plan_index` must be in range. */
const plim_plan *plim_exec_plan_of(const plim_exec *exec, int32_t plan_index);

/* Bytes of the arena that are returned to the system now, in whole pages; 0 on devices that cannot return a part. */
int64_t plim_exec_returned_bytes(const plim_exec *exec);

/* Bytes that plan switches have copied within the arena since open. */
int64_t plim_exec_moved_bytes(const plim_exec *exec);

/* Number of plan switches since open: of plans that the before-command hook gave and that took over. */
int64_t plim_exec_switches(const plim_exec *exec);

#ifdef __cplusplus
}
#endif
#endif
