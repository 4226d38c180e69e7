/* Devices: one const table each. cpu: the reference. cuda: a GPU (runtime/device/device_cuda.h). sim: no arithmetic, a
 * virtual clock. check: a decorator that finds bad plans and bad kernels (runtime/device/device_check.h). */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_H
#define PLIM_RUNTIME_DEVICE_DEVICE_H

#include "kernels/table.h"
#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_device plim_device;
typedef struct plim_known_parts plim_known_parts;

typedef struct plim_device_options {
  size_t struct_bytes; /* sizeof(plim_device_options) */
  int32_t threads;     /* 0: the CPUs of the affinity mask */
  int32_t eager;       /* cuda: 1 queues every kernel anew instead of replaying a captured step */
  const char *isa;     /* NULL: PLIM_ISA, else the best */
} plim_device_options;

/* All CPUs of the process, the best instruction set, captured steps. */
plim_device_options plim_device_options_default(void);

/* One RUN of a plan, resolved. Pointers are into the arena. */
typedef struct plim_run_call {
  const plim_graph *graph;
  int32_t step; /* of the plan */
  int32_t op;
  const char *variant;
  int32_t queue;
  plim_kernel_args args; /* operands by position; seed, step and op for random ops */
  int64_t workspace_bytes;
} plim_run_call;
/* Compute one call; also the form of a caller's own kernels: PLIM_OK or a failure that ends the step. */
typedef plim_status plim_run(void *user, const plim_run_call *call);

/* For devices that must see whole steps (check, sim, cuda): the executor calls `begin` with the plan and its arena
 * (NULL and 0 when each buffer has its own allocation), then passes each call with the function that computes it.
 */
typedef struct plim_device_watch {
  /* timed: 1 when the executor wants to know what each step takes */
  plim_status (*begin)(plim_device *device, const plim_graph *graph, const plim_plan *plan, void *arena,
                       int64_t arena_bytes, int timed);
  plim_status (*step)(plim_device *device, const plim_run_call *call, plim_run *run, void *user);
  /* After the sync that ends a timed run of a plan over an arena: what each step took, ns [n_steps]. NULL: the
   * executor waits for each step and looks at the clock. */
  plim_status (*times)(plim_device *device, int64_t *time_ns);
  /* Other plans replace those over an arena: the device must forget their kernels and addresses. NULL: it keeps none.
   */
  void (*replace)(plim_device *device, const void *arena);
  int32_t sees_writes; /* 1: while a plan runs only its commands may write to the arena, even to bytes that nothing
                          reads yet */
} plim_device_watch;

/* What the executor calls. `kernel` is what `prepare` made. run, copy and fill are queued; sync waits for them. */
typedef struct plim_device_api {
  size_t struct_bytes;
  const char *name;
  int32_t host_visible; /* 1: the host may read and write what alloc gives */
  plim_status (*open)(plim_context *ctx, const plim_device_options *options, plim_device *device);
  void (*close)(plim_device *device);
  /* exactly `bytes`, between inaccessible pages where the device can; aligned to PLIM_ALIGN */
  plim_status (*alloc)(plim_device *device, int64_t bytes, void **out);
  void (*release)(plim_device *device, void *ptr, int64_t bytes);
  /* What alloc gave keeps its first to_bytes of from_bytes accessible, the rest goes back to the system; or has
   * to_bytes again, at most what was allocated. *returned: bytes given back, negative when they came back. NULL: the
   * device cannot give back a part */
  plim_status (*resize)(plim_device *device, void *ptr, int64_t from_bytes, int64_t to_bytes, int64_t *returned);
  /* host memory that copies to the device are fastest from; *ptr NULL: allocate, else give it back. NULL where
   * host_visible */
  plim_status (*pinned)(plim_device *device, int64_t bytes, void **ptr);
  int (*variants)(plim_device *device, const plim_op_desc *op, plim_kernel_info *info, int capacity);
  /* Variants that run `whole` over parts of its output (kernels/parts.h), counted like variants. NULL: none; only for
   * devices that are host_visible */
  int (*parts)(plim_device *device, const plim_op_desc *op, const plim_kernel_info *whole, plim_kernel_info *info,
               int capacity);
  /* Before `variants` is first asked about an op: the rows with `how` of an earlier answer. NULL: of no use */
  void (*recall)(plim_device *device, const plim_op_desc *op, const plim_kernel_info *info, int n);
  plim_status (*prepare)(plim_device *device, const plim_op_desc *op, const char *variant, void **kernel);
  int64_t (*workspace)(plim_device *device, const void *kernel); /* bytes it needs; -1: as the variant declares */
  void (*unprepare)(plim_device *device, void *kernel);
  plim_status (*run)(plim_device *device, int32_t queue, void *kernel, const plim_kernel_args *args);
  /* Run once and wait: what the device itself took, without what it costs to hand over a call. NULL: the same as
   * clock around run and sync */
  plim_status (*measure)(plim_device *device, void *kernel, const plim_kernel_args *args, int64_t *time_ns);
  /* Run a prepared kernel once in each way that a step runs it, queued and in a capture, and wait. What its operands
   * hold does not matter, its outputs are lost. NULL: a kernel that was prepared is not refused later */
  plim_status (*rehearse)(plim_device *device, void *kernel, const plim_kernel_args *args);
  /* After a failure of prepare, run, measure or rehearse: give up what is in hand and wait. PLIM_OK when the device can
   * continue, so that one kernel failed; else the device's own failure. NULL: what fails is the device */
  plim_status (*recover)(plim_device *device);
  plim_status (*copy)(plim_device *device, int32_t queue, void *to, const void *from,
                      int64_t bytes); /* host or device */
  plim_status (*fill)(plim_device *device, int32_t queue, void *to, int byte, int64_t bytes);
  plim_status (*mark)(plim_device *device, int32_t queue, int32_t event);
  plim_status (*wait)(plim_device *device, int32_t queue, int32_t event);
  plim_status (*sync)(plim_device *device);
  int64_t (*clock)(plim_device *device); /* ns; sim's is virtual */
  const plim_device_watch *watch;        /* NULL: does not need to see steps */
} plim_device_api;

enum { PLIM_DEVICE_LAYOUTS = 2 };

struct plim_device {
  const plim_device_api *api;
  plim_context *ctx;
  plim_machine machine; /* filled by open */
  int32_t index;        /* of the GPU: N of "cuda:N" */
  int32_t tf32;         /* 1: products with attrs.tf32 round their factors; else such ops are not for this device */
  /* orders of activations that its kernels are made for, [n_layouts]; the first where none is asked for */
  plim_layout layout[PLIM_DEVICE_LAYOUTS];
  int32_t n_layouts;
  int64_t cache_bytes; /* of the cache that all of it shares; 0: not known */
  int32_t builds;      /* 1: some of its kernels are built by a library (plim_kernel_info.builds) */
  int64_t built;       /* such ones so far */
  void *state;         /* the device's own */
  struct plim_profile_cache
      *known;                    /* what earlier starts kept of its variants (plim_profile_remember); NULL: nothing */
  plim_known_parts *known_parts; /* runtime/profile/known_parts.h; NULL: none */
  void (*known_free)(plim_device *device); /* frees both; NULL: there is nothing to free */
};

/* Open "cpu", "sim", or "cuda:N" ("cuda" is "cuda:0"). PLIM_EUSAGE for a name that is none; PLIM_EDEVICE with both
 * numbers when the thread count asked for is not the one that a parallel region gets, and where there is no such GPU.
 */
PLIM_MUST_USE plim_status plim_device_open(plim_context *ctx, const char *name, const plim_device_options *options,
                                           plim_device **out);
void plim_device_close(plim_device *device); /* NULL is legal */

/* Prepare, run, measure or rehearse of a variant of an op failed with `failed`, the context says how. PLIM_OK when only
 * the variant failed and the device continues: `why` [why_bytes] is that sentence. Else the failure, with a sentence
 * that names op and variant. */
PLIM_MUST_USE plim_status plim_device_outlives(plim_device *device, plim_status failed, const char *op,
                                               const char *variant, char *why, size_t why_bytes);

/* Run a prepared kernel once and wait; *time_ns is what it took. */
PLIM_MUST_USE plim_status plim_device_time(plim_device *device, void *kernel, const plim_kernel_args *args,
                                           int64_t *time_ns);

#ifdef __cplusplus
}
#endif
#endif
