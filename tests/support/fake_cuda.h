/* A GPU for the host side's tests, stricter than hardware. Device memory has addresses of its own, which the host
 * cannot touch and which are refused where host memory is meant, and the other way round. What is queued runs when it
 * is waited for. Kernels are those compiled for the CPU; the first launch of one loads it, which a capture
 * forbids, as it does allocations and waits. A captured graph is a list; streams that wait for its events become a part
 * of it, and must be joined at its end. An illegal address is an error that stays. Calls are counted; any of them can
 * be made to fail. */
#ifndef PLIM_TESTS_SUPPORT_FAKE_CUDA_H
#define PLIM_TESTS_SUPPORT_FAKE_CUDA_H

#include "kernels/cuda/driver.h"

enum { FAKE_CUDA_LOST = 999, FAKE_CUDA_NOT_READY = 600, FAKE_CUDA_NO_IMAGE = 209, FAKE_CUDA_FOREIGN = 400 };
enum {
  FAKE_CUDA_ILLEGAL_ADDRESS = 700,
  FAKE_CUDA_IN_CAPTURE = 900,
  FAKE_CUDA_INVALIDATED = 901,
  FAKE_CUDA_UNJOINED = 904,
  FAKE_CUDA_ISOLATION = 905,
  FAKE_CUDA_RESOURCES = 701,
  FAKE_CUDA_INVALID_VALUE = 1
};
enum { FAKE_CUDA_TILE_NS = 100 /* what a tile of a kernel, or a library's, takes by the GPU's clock */ };

/* In which order queued work of several streams runs. The last two are the extremes that hardware may come to: what a
 * wait does not order runs in another order than it was queued. */
typedef enum fake_cuda_order { FAKE_CUDA_AS_QUEUED, FAKE_CUDA_EARLY_FIRST, FAKE_CUDA_LATE_FIRST } fake_cuda_order;

typedef struct fake_cuda_options {
  int32_t devices;       /* GPUs there are */
  int no_driver;         /* 1: count fails */
  int32_t major, minor;  /* compute capability */
  int64_t memory_bytes;  /* of the GPU */
  int64_t context_bytes; /* taken by the context; -1: taken, and no one can tell: 1 MiB */
  int64_t module_bytes;  /* taken when the first kernel is queued, and kept */
  int64_t graph_bytes;   /* taken by each captured graph */
  int64_t leak_bytes;    /* taken by each launch of one, and kept */
  int blas;              /* 1: there is a library for matrix products */
  int64_t blas_bytes;    /* that it takes for itself while it is open */
  int no_bf16;           /* 1: which has none in bf16, as where the GPU has no instructions for it */
  int dnn;               /* 1: there is cuDNN (tests/support/fake_cudnn.h) */
  int64_t alignment;     /* of allocations, and no more; 256 is what the library promises */
  /* Timing events: what one takes of the GPU's time, how far its clock is off at most, the clock's steps */
  int64_t timing_event_ns, jitter_ns, timing_event_step_ns;
  fake_cuda_order order;
  int report_calls; /* 1: the program says on its standard error how many calls it made when it ends */
  /* Engines of cuDNN with a fault, by index; 0: none. They refuse a plan, an execution, an execution in a capture
   * (they allocate); compute wrong numbers; touch an illegal address. */
  int64_t refuse_plan, refuse_run, refuse_capture, wrong_engine, illegal_engine;
  int refuse_kernel, refuse_blas; /* 1: kernels of ours, or products, are refused when they are queued */
  int no_config_workspace;        /* 1: a configuration of an engine does not tell its workspace, only a plan does */
  int64_t plan_us;                /* what finalizing a plan takes by the host's clock */
  int64_t energy_mj;              /* drawn from one question to the next; 0: no one can tell */
  int hollow;                     /* 1: kernels compute nothing and take their time: for large models */
  int64_t fail_at;                /* the n-th call from the next on fails as a lost device would; 0: none */
  int fail_stays;                 /* 1: and so does every call after it */
  int64_t fail_alloc_at;          /* the n-th allocation, device or pinned, finds no memory; 0: none */
} fake_cuda_options;

typedef struct fake_cuda_counts {
  int64_t calls, allocs, kernels_queued, kernels_run, captures, launches /* of captured graphs */;
  int64_t failed_leaving;          /* calls that failed and that only give something back */
  int64_t open_handles;            /* streams, events, graphs and allocations not given back */
  int64_t foreign;                 /* calls with a stream or an event of another device than the thread uses */
  int64_t events_recorded;         /* different ones */
  int64_t waits;                   /* of the host: for a stream, or for a copy of memory that is not pinned */
  int64_t runs_of[K_KERNEL_COUNT]; /* of each of our kernels, over one tile and more */
} fake_cuda_counts;

/* One GPU of capability 9.0 and 1 GiB; nothing fails. */
fake_cuda_options fake_cuda_options_default(void);

/* Begin anew with these options. There is one driver a process. */
const plim_cuda_driver *fake_cuda_driver(const fake_cuda_options *options);
void fake_cuda_fail_at(int64_t fail_at);
fake_cuda_counts fake_cuda_count(void);

/* ---- for other fakes over the same GPU ---- */

/* Count a call: 0, or FAKE_CUDA_LOST when its turn to fail has come, or the sticky error of this thread's device; one
 * that gives something back. */
int fake_cuda_enter(void);
int fake_cuda_leave(void);
/* The same for what may not be done while this thread captures: it invalidates the capture. */
int fake_cuda_enter_outside_capture(void);
int fake_cuda_last_error(void);               /* of this thread, which cuDNN asks for behind every launch */
const fake_cuda_options *fake_cuda_now(void); /* the options in force */
/* One handle more or less is open. */
void fake_cuda_hold(int more);
int fake_cuda_is_capturing(void); /* this thread */
int32_t fake_cuda_device(void);   /* of this thread */

/* Queue a function with a copy of its argument, as a kernel. */
enum { FAKE_CUDA_ARGUMENT_BYTES = 512 };
int fake_cuda_queue(void (*function)(const void *argument), const void *argument, size_t bytes, void *stream);
/* The same for a kernel that touches an illegal address when it runs: every later call of the device fails. */
int fake_cuda_queue_illegal(void *stream);
/* For such a function: where bytes of the device are stored. NULL, and the device is lost, when the address is illegal.
 */
void *fake_cuda_stored(const void *address, int64_t bytes);
void fake_cuda_break(void);

#endif
