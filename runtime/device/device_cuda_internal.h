/* The state of an open GPU, and the functions that the files of the cuda device share: device_cuda.c (open, kernels,
 * queues), device_cuda_step.c (steps), device_cuda_memory.c (memory), device_cuda_times.c (times, rehearsals). They run
 * on one thread at a time. */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_CUDA_INTERNAL_H
#define PLIM_RUNTIME_DEVICE_DEVICE_CUDA_INTERNAL_H

#include "kernels/cuda/kernels.h"
#include "runtime/device/cuda_graph_cache.h"
#include "runtime/device/cuda_libraries.h"
#include "runtime/device/cuda_timing_events.h"
#include "runtime/device/device_cuda.h"

enum { PLIM_CUDA_QUEUES = 4 };

/* How a step reaches the GPU: QUEUE: kernel by kernel; RECORD: kernel by kernel into a capture; REPLAY: as a captured
 * step. */
typedef enum plim_cuda_mode { PLIM_CUDA_QUEUE, PLIM_CUDA_RECORD, PLIM_CUDA_REPLAY } plim_cuda_mode;

/* The current step.
 *
 *               begin            first call          other calls          sync (or a copy after the last call)
 *   idle -----> QUEUE    seed and step are copied;   kernels queued       nothing more to launch       -----> idle
 *          |--> RECORD   the same, a capture begins; kernels captured     the capture ends, is launched --|
 *          |--> REPLAY   the same;                   calls pass           the earlier capture is launched |
 *
 * When the executor syncs after each command (a step without an arena), the step stays current until its last command.
 * Any failure frees the capture of the plan (plim_cuda_forget) and leads to idle. */
typedef struct plim_cuda_step {
  plim_cuda_graph_row *row; /* plan, arena and captured step; NULL: idle */
  const plim_graph *graph;
  plim_cuda_mode mode;
  /* command of the last call, PLIM_NONE: none yet. plim_cuda_times reads it and whole_ns after the step */
  int32_t last;
  int32_t timed;    /* 1: with timing events between commands; its capture is launched only once */
  int32_t launched; /* 1: the captured step has been launched */
  int64_t whole_ns; /* least time of the plan's captured step when it was not timed; 0: not known */
} plim_cuda_step;

/* An allocation that did not begin at a multiple of PLIM_ALIGN. */
typedef struct plim_cuda_moved {
  void *given; /* the aligned address that the caller has; NULL: a free row */
  void *base;  /* the address that the driver returned */
} plim_cuda_moved;

enum { PLIM_CUDA_NOWS = 64 /* rows of now_host */ };

typedef struct plim_cuda_state {
  const plim_cuda_driver *driver;
  plim_cuda_engine engine;
  plim_cuda_libraries libraries;
  void *stream[PLIM_CUDA_QUEUES];
  uint32_t busy; /* bit q: a command was queued on stream q since the last wait for the stream */
  void **event;  /* [n_events] each is made at its first mark */
  int64_t n_events;
  /* [PLIM_CUDA_NOWS][2] pinned: seed and step number of each step or run since the last wait, in the first now_used
   * rows. Queued copies to the device read them later, so a row is not reused before a wait. */
  uint64_t *now_host;
  void *now;                   /* [2] on the device: seed and step number that kernels read */
  int32_t now_used, now_queue; /* now_queue: the queue whose kernels may read `now` */
  int64_t now_step;            /* the last step number */
  plim_cuda_moved *moved;      /* [n_moved] */
  int64_t n_moved;
  int64_t free_before, arenas; /* free bytes of the GPU before the device was opened; bytes of all allocations */
  int32_t context_known;       /* 0: free_before is all memory of the GPU */
  int64_t settled;             /* plim_cuda_memory.settled_bytes */
  int32_t eager;
  plim_cuda_graph_cache graphs;
  plim_cuda_step step;
  /* a capture of queue 0: of the current step, of a measurement or of a rehearsal */
  int32_t recording;                     /* 1: it has begun */
  void *once;                            /* a capture that is launched at most once; NULL: none */
  plim_cuda_timing_events timing_events; /* of the timed step or measurement */
  int64_t timing_event_ns;               /* cost of a timing event; PLIM_UNKNOWN: not known */
} plim_cuda_state;

/* ---- device_cuda.c ---- */

/* The status of a code of the driver or of a library: PLIM_OK for 0, otherwise PLIM_ENOMEM or PLIM_EDEVICE.
 *   what  in  what was being done, for the sentence
 * After a failure it clears the driver's last error. */
PLIM_MUST_USE plim_status plim_cuda_check(const plim_device *device, int code, const char *what);

/* Make this GPU the current one of the calling thread: another GPU may have been used since, or another thread calls.
 * Does nothing during a recording, which one thread makes without a break. */
PLIM_MUST_USE plim_status plim_cuda_enter(const plim_device *device);

/* Queue a copy of seed and step number to the device, on the queue whose kernels read them. May wait. */
PLIM_MUST_USE plim_status plim_cuda_set_now(plim_device *device, int32_t queue, const plim_kernel_args *args);

/* Queue a kernel. */
PLIM_MUST_USE plim_status plim_cuda_launch(plim_device *device, int32_t queue, plim_cuda_kernel *kernel,
                                           const plim_kernel_args *args);

/* Begin a capture of queue 0; end it. *captured out: the caller frees it with the driver's captured_free. */
PLIM_MUST_USE plim_status plim_cuda_begin_recording(plim_device *device);
PLIM_MUST_USE plim_status plim_cuda_end_recording(plim_device *device, void **captured);

/* The stream of a queue on which a command is about to be put. Marks it as busy until the next sync. */
void *plim_cuda_stream(plim_cuda_state *cuda, int32_t queue);

/* ---- device_cuda_step.c ---- */

/* Rows of plim_device_api: steps, and the sync that ends them. */
extern const plim_device_watch plim_cuda_watch;
PLIM_MUST_USE plim_status plim_cuda_sync(plim_device *device);

/* Has the last command of the current step been put on its queue? */
int plim_cuda_step_is_complete(const plim_cuda_step *step);

/* End the capture of the current step, if there is one, and launch the captured step. Later calls in the same step do
 * nothing. */
PLIM_MUST_USE plim_status plim_cuda_finish_step(plim_device *device);

/* Abandon the current step, which failed. Returns `failed`; for a step in an arena the sentence names its first and
 * last op. */
PLIM_MUST_USE plim_status plim_cuda_fail_step(plim_device *device, plim_status failed);

/* Free the capture that is launched at most once. */
void plim_cuda_forget_once(plim_cuda_state *cuda);

/* Abandon the current step: free its recording, and the captured steps of its arena. */
void plim_cuda_forget(plim_cuda_state *cuda);

/* ---- device_cuda_memory.c: the rows of plim_device_api ---- */

PLIM_MUST_USE plim_status plim_cuda_alloc(plim_device *device, int64_t bytes, void **out);
void plim_cuda_release(plim_device *device, void *ptr, int64_t bytes);
PLIM_MUST_USE plim_status plim_cuda_alloc_pinned(plim_device *device, int64_t bytes, void **out);
void plim_cuda_release_pinned(plim_device *device, void *ptr);

/* Wait for all queued copies. Call it before pinned memory is freed, because freeing does not wait for copies that use
 * it. Ignores errors. */
void plim_cuda_wait_for_copies(const plim_cuda_state *cuda);

/* ---- device_cuda_times.c ---- */

/* Rows of plim_device_api and plim_device_watch. */
PLIM_MUST_USE plim_status plim_cuda_measure(plim_device *device, void *kernel, const plim_kernel_args *args,
                                            int64_t *time_ns);
PLIM_MUST_USE plim_status plim_cuda_rehearse(plim_device *device, void *kernel, const plim_kernel_args *args);
PLIM_MUST_USE plim_status plim_cuda_times(plim_device *device, int64_t *time_ns);

/* Make sure that there are at least n timing events. Record timing event `index` on queue 0. */
PLIM_MUST_USE plim_status plim_cuda_reserve_timing_events(plim_device *device, int32_t n);
PLIM_MUST_USE plim_status plim_cuda_record_timing_event(plim_device *device, int32_t index);

/* Measure the cost of a timing event into s->timing_event_ns, unless it is known. */
PLIM_MUST_USE plim_status plim_cuda_find_timing_event_cost(plim_device *device);

/* Read the time of the current captured step from its two timing events, and keep the least time of its row. */
PLIM_MUST_USE plim_status plim_cuda_read_step_time(plim_device *device);

#endif
