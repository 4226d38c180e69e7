/* The state of an open GPU, and what the files of the cuda device call of each other: device_cuda.c (open, kernels,
 * queues), device_cuda_step.c (steps), device_cuda_memory.c (memory), device_cuda_times.c (times, rehearsals). One
 * thread at a time. */
#ifndef PLIM_RUNTIME_DEVICE_DEVICE_CUDA_INTERNAL_H
#define PLIM_RUNTIME_DEVICE_DEVICE_CUDA_INTERNAL_H

#include "kernels/cuda/kernels.h"
#include "runtime/device/cuda_graph_cache.h"
#include "runtime/device/cuda_libraries.h"
#include "runtime/device/cuda_timing_events.h"
#include "runtime/device/device_cuda.h"

enum { PLIM_CUDA_QUEUES = 4 };

/* How a step reaches the GPU: kernel by kernel, kernel by kernel into a capture, as a captured step. */
typedef enum plim_cuda_mode { PLIM_CUDA_QUEUE, PLIM_CUDA_RECORD, PLIM_CUDA_REPLAY } plim_cuda_mode;

/* The step in hand.
 *
 *               begin            first call          other calls          sync (or a copy after the last call)
 *   idle -----> QUEUE    seed and step are copied;   kernels queued       nothing more to launch       -----> idle
 *          |--> RECORD   the same, a capture begins; kernels captured     the capture ends, is launched --|
 *          |--> REPLAY   the same;                   calls pass           the earlier capture is launched |
 *
 * Where the executor syncs after each command (a step without an arena), sync leaves the step in hand until the last.
 * A failure anywhere forgets the capture of the plan (plim_cuda_forget): idle. */
typedef struct plim_cuda_step {
  plim_cuda_graph_row *row; /* plan, arena and what was captured of them; NULL: idle */
  const plim_graph *graph;
  plim_cuda_mode mode;
  int32_t last;     /* command of the last call; -1: none yet. It and whole_ns stay for plim_cuda_times */
  int32_t timed;    /* 1: with timing events between commands; what is captured is launched once */
  int32_t launched; /* 1: what was captured has been launched */
  int64_t whole_ns; /* what it took untimed, between the ends of a captured step; 0: not known */
} plim_cuda_step;

/* An allocation that did not begin at a multiple of PLIM_ALIGN. given NULL: a free row. */
typedef struct plim_cuda_moved {
  void *given, *base;
} plim_cuda_moved;

enum { PLIM_CUDA_NOWS = 64 };

typedef struct plim_cuda_state {
  const plim_cuda_driver *driver;
  plim_cuda_engine engine;
  plim_cuda_libraries libraries;
  void *stream[PLIM_CUDA_QUEUES];
  uint32_t busy; /* bit q: something was queued on stream q since it was last waited for */
  void **event;  /* [n_events] made when they are first marked */
  int64_t n_events;
  /* [PLIM_CUDA_NOWS][2] pinned: seed and step of a step or run; a row for each since the last wait, now_used of them:
   * the copies to the device read them when the stream comes to it */
  uint64_t *now_host;
  void *now;                   /* [2] on the device */
  int32_t now_used, now_queue; /* now_queue: whose kernels may read `now` */
  int64_t now_step;            /* the last number */
  plim_cuda_moved *moved;      /* [n_moved] */
  int64_t n_moved;
  int64_t free_before, arenas; /* free bytes before we came; what alloc has given */
  int32_t context_known;       /* 0: free_before is all of the GPU */
  int64_t settled;             /* bytes outside the arenas when a plan last ran in a mode that was new; -1: none has */
  int32_t eager;
  plim_cuda_graph_cache graphs;
  plim_cuda_step step;
  /* a capture of queue 0: of the step in hand, of a measurement or of a rehearsal */
  int32_t recording;                     /* 1: it has begun */
  void *once;                            /* what was captured to be launched once; NULL: nothing */
  plim_cuda_timing_events timing_events; /* of the step or measurement that is timed */
  int64_t timing_event_ns;               /* what a timing event costs; -1: not known */
} plim_cuda_state;

/* ---- device_cuda.c ---- */

/* The status of a code of the driver or of a library: PLIM_OK for 0, else PLIM_ENOMEM or PLIM_EDEVICE with a sentence
 * that says `what` was being done. Clears the driver's last error. */
PLIM_MUST_USE plim_status plim_cuda_check(const plim_device *device, int code, const char *what);

/* Make this device the one of the calling thread. Another device may have been used since, or this is another thread.
 * Does nothing while a step is recorded: a recording belongs to one thread. */
PLIM_MUST_USE plim_status plim_cuda_enter(const plim_device *device);

/* Copy seed and step number to the device, on the queue whose kernels read them. */
PLIM_MUST_USE plim_status plim_cuda_set_now(plim_device *device, int32_t queue, const plim_kernel_args *args);

/* Put a kernel on a queue. */
PLIM_MUST_USE plim_status plim_cuda_launch(plim_device *device, int32_t queue, plim_cuda_kernel *kernel,
                                           const plim_kernel_args *args);

/* Begin and end a capture of queue 0. *captured: the caller frees it with the driver's captured_free. */
PLIM_MUST_USE plim_status plim_cuda_begin_recording(plim_device *device);
PLIM_MUST_USE plim_status plim_cuda_end_recording(plim_device *device, void **captured);

/* The stream of a queue that something is about to be put on: it counts as busy until the next sync. */
void *plim_cuda_stream(plim_cuda_state *s, int32_t queue);

/* ---- device_cuda_step.c ---- */

/* Rows of plim_device_api: steps, and the sync that ends them. */
extern const plim_device_watch plim_cuda_watch;
PLIM_MUST_USE plim_status plim_cuda_sync(plim_device *device);

/* 1: the last command of the step in hand has been put. */
int plim_cuda_step_is_complete(const plim_cuda_step *step);

/* End the capture of the step in hand and launch what is captured, once a step. */
PLIM_MUST_USE plim_status plim_cuda_finish_step(plim_device *device);

/* Give up the step in hand, which failed. Returns `failed`, with a sentence that names its first and last op. */
PLIM_MUST_USE plim_status plim_cuda_fail_step(plim_device *device, plim_status failed);

/* Free what was recorded to be launched once. */
void plim_cuda_forget_once(plim_cuda_state *s);

/* Give up the step in hand: its recording, and what was captured of its plan. */
void plim_cuda_forget(plim_cuda_state *s);

/* ---- device_cuda_memory.c: the rows of plim_device_api ---- */

PLIM_MUST_USE plim_status plim_cuda_alloc(plim_device *device, int64_t bytes, void **out);
void plim_cuda_release(plim_device *device, void *ptr, int64_t bytes);
PLIM_MUST_USE plim_status plim_cuda_pinned(plim_device *device, int64_t bytes, void **ptr);

/* Before pinned memory is given back: freeing it waits for no copy that may still read or write it. Says nothing. */
void plim_cuda_wait_for_copies(const plim_cuda_state *s);

/* ---- device_cuda_times.c ---- */

/* Rows of plim_device_api and plim_device_watch. */
PLIM_MUST_USE plim_status plim_cuda_measure(plim_device *device, void *kernel, const plim_kernel_args *args,
                                            int64_t *time_ns);
PLIM_MUST_USE plim_status plim_cuda_rehearse(plim_device *device, void *kernel, const plim_kernel_args *args);
PLIM_MUST_USE plim_status plim_cuda_times(plim_device *device, int64_t *time_ns);

/* Have n timing events at least; record the one at `index` on queue 0. */
PLIM_MUST_USE plim_status plim_cuda_reserve_timing_events(plim_device *device, int32_t n);
PLIM_MUST_USE plim_status plim_cuda_record_timing_event(plim_device *device, int32_t index);

/* Measure once what a timing event costs, ns, into s->timing_event_ns. */
PLIM_MUST_USE plim_status plim_cuda_find_timing_event_cost(plim_device *device);

/* Keep the least time of the captured step in hand, ns, which its two ends tell. */
PLIM_MUST_USE plim_status plim_cuda_read_step_time(plim_device *device);

#endif
