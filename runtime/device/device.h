/* Devices: one const plim_device_api each.
 *   cpu    the reference
 *   cuda   a GPU (runtime/device/device_cuda.h)
 *   sim    computes nothing, has a virtual clock
 *   check  a decorator that finds bad plans and bad kernels (runtime/device/device_check.h)
 *
 * A device belongs to one thread at a time, that of its context. The cpu device must run on the thread that opened it,
 * because the number of threads of a parallel region is a property of the thread. There is one exception: when a plan
 * has other spaces that compute, a thread of the executor for each calls `run` of a later queue while queue 0 runs. The
 * threads have set the number for themselves. */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_H
#define PLIM_RUNTIME_DEVICE_DEVICE_H

#include "kernels/table.h"
#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_device plim_device;

typedef struct plim_device_options {
  size_t struct_bytes; /* sizeof(plim_device_options); another: PLIM_EUSAGE */
  int32_t threads;     /* 0: the CPUs of the affinity mask */
  int32_t eager;       /* cuda: 1 queues every kernel of every step, instead of launching a captured graph */
  const char *isa;     /* NULL: PLIM_ISA, else the best */
} plim_device_options;

/* The options that use all CPUs of the process, the best instruction set, and captured steps. */
plim_device_options plim_device_options_default(void);

/* One command of a plan with its addresses: pointers into the arena, or into the buffers' own allocations. Of a copy,
 * which only a device with queues gets, op is -1 and args have seed and step alone. */
typedef struct plim_run_call {
  const plim_graph *graph;
  int32_t command; /* the command of the plan */
  int32_t op;      /* of the graph */
  const char *variant;
  int32_t queue;
  plim_kernel_args args; /* operands by position; seed, step and op for random ops */
  int64_t workspace_bytes;
} plim_run_call;
/* Compute one call, or queue it. A caller's own kernels have this type too. The call is borrowed until the return. Any
 * status but PLIM_OK ends the step. */
typedef plim_status plim_run(void *user, const plim_run_call *call);

/* Functions of devices that must see whole steps (check, sim, cuda). The executor calls `begin` with the plan and its
 * arena; the arena is NULL and arena_bytes 0 when each buffer has its own allocation. Then it passes each call to
 * `command`, with the function that computes it, in the order of the plan. Then it calls the device's sync, which ends
 * the step. When it times commands by the clock, it also syncs after each. */
typedef struct plim_device_watch {
  /* timed: 1 when the executor wants the time of each command */
  plim_status (*begin)(plim_device *device, const plim_graph *graph, const plim_plan *plan, void *arena,
                       int64_t arena_bytes, int timed);
  plim_status (*command)(plim_device *device, const plim_run_call *call, plim_run *run, void *user);
  /* After the sync that ends a timed step over an arena: the times of its commands, [n_commands] out, ns. NULL: the
   * executor waits for each command and reads the clock. */
  plim_status (*times)(plim_device *device, int64_t *time_ns);
  /* Other plans replace the plans over this arena: forget their kernels and addresses. NULL: the device keeps none. */
  void (*forget_plans)(plim_device *device, const void *arena);
  int32_t sees_writes; /* 1: while a plan runs only its commands may write to the arena, even to bytes that nothing
                          reads yet */
} plim_device_watch;

/* ---- the functions of a device: a table a duty. A field may be NULL where it says so ---- */

/* Memory of the device, and page-locked memory of the host. */
typedef struct plim_device_memory_api {
  /* Exactly `bytes` > 0, aligned to PLIM_ALIGN, between inaccessible pages where the device can. PLIM_ENOMEM; cuda:
   * PLIM_ENOFIT */
  plim_status (*alloc)(plim_device *device, int64_t bytes, void **out);
  /* First waits for the commands of all queues, so that none uses the memory any more */
  void (*release)(plim_device *device, void *ptr, int64_t bytes);
  /* Changes the accessible bytes of an allocation from its first from_bytes to its first to_bytes, at most the bytes of
   * alloc. When it shrinks, the pages beyond return to the system; when it grows, they come back with unknown contents.
   * *returned out: bytes returned, negative when pages came back. NULL: the device cannot return a part */
  plim_status (*resize)(plim_device *device, void *ptr, int64_t from_bytes, int64_t to_bytes, int64_t *returned);
  /* Allocates page-locked host memory, with which copies are fastest. NULL where host_visible */
  plim_status (*alloc_pinned)(plim_device *device, int64_t bytes, void **out);
  /* Waits for all copies, and frees such memory; also on a lost device. ptr NULL is legal */
  void (*release_pinned)(plim_device *device, void *ptr);
} plim_device_memory_api;

/* The kernels of an op: which there are, preparing one, running it. `kernel` is the result of `prepare`. */
typedef struct plim_device_kernel_api {
  /* Writes at most `capacity` variants of the op, and returns how many there are */
  int (*variants)(plim_device *device, const plim_op_desc *op, plim_kernel_info *info, int capacity);
  /* Like `variants`, but lists those that run variant `whole` over parts of its output (kernels/parts.h). NULL: there
   * are none. Only for devices that are host_visible */
  int (*parts)(plim_device *device, const plim_op_desc *op, const plim_kernel_info *whole, plim_kernel_info *info,
               int capacity);
  /* Adds a program's own kernel. NULL: the device takes none */
  int (*add)(plim_device *device, plim_op_kind kind, const plim_own_kernel *kernel);
  /* Gives the device [n] rows with `how` of an earlier result of `variants`, before `variants` is called for the op, so
   * that the device need not search again. NULL: the device has no use for them */
  void (*recall)(plim_device *device, const plim_op_desc *op, const plim_kernel_info *info, int n);
  /* Prepares a variant for run; may be slow where a library compiles it. PLIM_EUNSUPPORTED, PLIM_EDEVICE: refused */
  plim_status (*prepare)(plim_device *device, const plim_op_desc *op, const char *variant, void **kernel);
  int64_t (*workspace)(plim_device *device, const void *kernel); /* bytes it needs; -1: as the variant declares */
  void (*unprepare)(plim_device *device, void *kernel);
  plim_status (*run)(plim_device *device, int32_t queue, void *kernel, const plim_kernel_args *args);
  /* Runs the kernel, waits, and measures the time of one run on the device, without the cost of the call, in ns. NULL:
   * the caller reads the clock around run and sync */
  plim_status (*measure)(plim_device *device, void *kernel, const plim_kernel_args *args, int64_t *time_ns);
  /* Tries a prepared kernel in each way that a step runs it: queued and waited for, then captured. The contents of its
   * operands do not matter, and its outputs are overwritten. NULL: a kernel that was prepared is not refused later */
  plim_status (*rehearse)(plim_device *device, void *kernel, const plim_kernel_args *args);
  /* After a failure of prepare, run, measure or rehearse: abandons the step or capture that has begun, and waits.
   * PLIM_OK: only the kernel failed, and the device can continue. Otherwise the device's own failure. NULL: the device
   * cannot continue after PLIM_EDEVICE */
  plim_status (*recover)(plim_device *device);
} plim_device_kernel_api;

/* Queues: copies, order and time. The functions below and `run` of a kernel put a command on a queue; after they return
 * a caller may assume no more.
 *   Order     Commands of one queue take effect in the order of the calls. Commands of different queues have no order,
 *             except by mark and wait.
 *   Memory    Host memory that a command uses must stay allocated until a sync, and the host must not write to it
 *             until then. Host memory that a copy writes holds the bytes after a sync. Memory of alloc may be
 *             released earlier, since release waits.
 *   args      A kernel's argument lists are read before run returns.
 *   Failures  run may return PLIM_OK for a kernel that fails later. Then a later call or sync returns the failure.
 * A wait for an event without a mark does nothing. Events are numbers from 0; cuda has 2^20 of them (PLIM_EUSAGE).
 * cpu has one queue: a command is complete when its call returns, and mark, wait and sync do nothing. On sim a command
 * is complete when its call returns, too; every queue has a virtual clock, which mark, wait and sync move
 * (device_sim.h). check has the queues of the device that it decorates, and waits after each kernel. cuda has queues 0
 * to 3. The executor runs the commands of space 0 on queue 0, and those of another space that computes on the queue of
 * the plan. In a step that cuda captures or replays, kernels begin with the sync, or with a copy after the last
 * command. */
typedef struct plim_device_queue_api {
  /* `to` and `from` are host or device memory, and do not overlap */
  plim_status (*copy)(plim_device *device, int32_t queue, void *to, const void *from, int64_t bytes);
  plim_status (*fill)(plim_device *device, int32_t queue, void *to, int byte, int64_t bytes);
  /* Sets an event to all commands that the queue has now; a later mark of the event replaces it */
  plim_status (*mark)(plim_device *device, int32_t queue, int32_t event);
  /* Makes the later commands of the queue wait for the last mark of the event before it. The host does not wait */
  plim_status (*wait)(plim_device *device, int32_t queue, int32_t event);
  /* Returns when every command of every queue is complete. PLIM_OK: they all succeeded, and the host sees the bytes
   * that they wrote */
  plim_status (*sync)(plim_device *device);
  int64_t (*clock)(plim_device *device); /* ns, never decreases; that of sim is virtual */
} plim_device_queue_api;

typedef struct plim_device_api {
  const char *name;
  int32_t host_visible; /* 1: the host may read and write memory of alloc, while no command uses it */
  int32_t computes;     /* 0: runs take virtual time and compute nothing */
  int32_t n_queues;     /* queues that run beside the host; 0: a command is complete when its call returns */
  int32_t is_gpu;       /* 1: a GPU, of which there may be several: "cuda:0", "cuda:1" */
  plim_status (*open)(plim_context *ctx, const plim_device_options *options, plim_device *device);
  void (*close)(plim_device *device);
  plim_device_memory_api memory;
  plim_device_kernel_api kernels;
  plim_device_queue_api queues;
  const plim_device_watch *watch; /* NULL: the device need not see steps */
} plim_device_api;

enum { PLIM_DEVICE_LAYOUTS = 2 };

struct plim_device {
  const plim_device_api *api;
  plim_context *ctx;
  plim_machine machine; /* filled by open */
  int32_t index;        /* of the GPU: N of "cuda:N" */
  int32_t tf32;         /* 1: products with attrs.tf32 round their factors; 0: the device refuses such ops */
  /* layouts of activations for which it has kernels, [n_layouts]; the first is the default */
  plim_layout layout[PLIM_DEVICE_LAYOUTS];
  int32_t n_layouts;
  int64_t cache_bytes; /* of the cache that the whole device shares; 0: not known */
  int32_t builds;      /* 1: some of its kernels are built by a library (plim_kernel_info.builds) */
  int64_t built;       /* number of kernels that a library has built so far */
  void *state;         /* of the device's own functions */
  /* data that another part of the library attaches until the close (runtime/profile/device_memo.h); NULL: none */
  void *attached;
  void (*attached_free)(plim_device *device); /* called by plim_device_close; NULL: there is nothing to free */
};

/* What a device can do, as its table says. O(1). */
static inline int plim_device_is_gpu(const plim_device *device) {
  return device->api->is_gpu;
}
/* Do commands run beside the host, on queues of the device? Otherwise each is complete when its call returns. */
static inline int plim_device_has_queues(const plim_device *device) {
  return device->api->n_queues > 0;
}
/* Is there page-locked memory of the host for copies? Such a device has a memory of its own. */
static inline int plim_device_has_pinned(const plim_device *device) {
  return device->api->memory.alloc_pinned != NULL;
}
/* Must nothing but commands write to the arena while a plan runs? */
static inline int plim_device_sees_writes(const plim_device *device) {
  return device->api->watch && device->api->watch->sees_writes;
}
/* Does the device measure the commands of a step itself? Otherwise the executor reads the clock around each. */
static inline int plim_device_times_commands(const plim_device *device) {
  return device->api->watch && device->api->watch->times;
}

/* Open a device.
 *   name     in   "cpu", "sim" or "cuda:N" ("cuda" is "cuda:0")
 *   options  in   NULL: plim_device_options_default
 *   out      out  close with plim_device_close; the context must outlive it
 * PLIM_EUSAGE: no device has that name, or options are not allowed. PLIM_EUNSUPPORTED: options->isa is unknown, or this
 * CPU lacks it. PLIM_ENOMEM: the threads cannot be started. PLIM_EDEVICE: there is no such GPU, or a parallel region
 * gets another number of threads than asked for; the sentence has both numbers. */
PLIM_MUST_USE plim_status plim_device_open(plim_context *ctx, const char *name, const plim_device_options *options,
                                           plim_device **out);
/* Close a device; NULL is legal. Release its allocations and prepared kernels before. */
void plim_device_close(plim_device *device);

/* Add a caller's own kernel for ops of a kind, a built-in kind or the caller's own (plim_op_kind_add).
 *   kernel  in  copied; its pointers must stay valid as long as the device
 * Its variants are listed after the device's own, and then profiled, planned, run and captured like them. Add kernels
 * before the device makes a profile. A variant is never run when an earlier variant of the op has the same name. sim
 * lists the variants, but computes nothing. PLIM_EUSAGE: no kind has that number, struct_bytes has another value, there
 * is no `run`, or there is neither a `list` nor a name of 1 to PLIM_KERNEL_NAME_BYTES - 1 characters without '@'.
 * PLIM_EUNSUPPORTED: the device takes no kernels. */
PLIM_MUST_USE plim_status plim_device_add_kernel(plim_device *device, plim_op_kind kind, const plim_own_kernel *kernel);

/* Can the device continue after prepare, run, measure or rehearse of a variant returned `failed`? Waits for the device.
 * The context must still have the sentence of that failure.
 *   op, variant  in               names for the sentence
 *   why          [why_bytes] out  with PLIM_OK: the sentence of the failure
 * PLIM_OK: only the variant failed. Otherwise `failed`, with a sentence that names op and variant. */
PLIM_MUST_USE plim_status plim_device_outlives(plim_device *device, plim_status failed, const char *op,
                                               const char *variant, char *why, size_t why_bytes);

/* Run a prepared kernel, wait, and measure the time of one run, ns. Uses `measure` of its kernels, which may run the
 * kernel several times. A device without it is timed by its clock, and the time includes the cost of the call. */
PLIM_MUST_USE plim_status plim_device_time(plim_device *device, void *kernel, const plim_kernel_args *args,
                                           int64_t *time_ns);

#ifdef __cplusplus
}
#endif
#endif
