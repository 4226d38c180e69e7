/* The state of the fake GPU, shared by fake_cuda.c (the driver's table) and fake_cuda_queue.c (what is queued,
 * captured and run). */
#ifndef PLIM_TESTS_SUPPORT_FAKE_CUDA_INTERNAL_H
#define PLIM_TESTS_SUPPORT_FAKE_CUDA_INTERNAL_H

#include "kernels/cuda/cublas.h"
#include "kernels/isa.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/fake_memory.h"

enum { FAKE_CUDA_DEVICES = FAKE_MEMORY_DEVICES, FAKE_CUDA_PRODUCTS = 4096, FAKE_CUDA_STREAMS = 8 };

/* Streams, events and timing events belong to a device. */
typedef struct fake_cuda_handle {
  int32_t device;
  int64_t passed_ns;   /* of an event; -1: not yet */
  const void *capture; /* of an event: the capture in which it was marked last; NULL: in none */
} fake_cuda_handle;

typedef enum fake_cuda_kind {
  FAKE_CUDA_COPY,
  FAKE_CUDA_FILL,
  FAKE_CUDA_LAUNCH,
  FAKE_CUDA_MULTIPLY,
  FAKE_CUDA_TIMING_EVENT,
  FAKE_CUDA_MARK,
  FAKE_CUDA_WAIT,
  FAKE_CUDA_CALL,
  FAKE_CUDA_ILLEGAL
} fake_cuda_kind;

/* What can be queued. */
typedef struct fake_cuda_work {
  fake_cuda_kind kind;
  int32_t device;
  const void *stream;
  int64_t launch; /* of a captured graph; 0: none. Streams of two launches have no order, but the one of the launch */
  int done;
  void *to; /* of marks and waits: the event */
  const void *from;
  int byte;
  int64_t bytes, tiles;
  k_kernel kernel;
  k_call call;
  plim_cuda_product product;
  const void *a, *b;
  void (*function)(const void *argument);
  _Alignas(8) unsigned char argument[FAKE_CUDA_ARGUMENT_BYTES];
} fake_cuda_work;

/* A list of it: a captured graph, or what waits to run. */
typedef struct fake_cuda_list {
  int n, room, launchable, invalidated;
  const void *stream[FAKE_CUDA_STREAMS]; /* [n_streams] that are captured: the first, and those that waited for it */
  int n_streams;
  fake_cuda_work *item;
} fake_cuda_list;

typedef struct fake_cuda_state {
  fake_cuda_options options;
  fake_cuda_counts counts;
  int64_t used_bytes[FAKE_CUDA_DEVICES], beside_bytes[FAKE_CUDA_DEVICES]; /* by allocations; by what lies beside them */
  int sticky[FAKE_CUDA_DEVICES]; /* the error that every call of the device returns from now on */
  char loaded[FAKE_CUDA_DEVICES][K_KERNEL_COUNT][K_TYPE_COUNT], any_loaded[FAKE_CUDA_DEVICES];
  int products; /* that were queued */
  plim_cuda_product product[FAKE_CUDA_PRODUCTS];
  fake_cuda_list waiting;
  uint64_t noise;            /* of timing events */
  fake_cuda_list *recording; /* by one thread at a time */
  int32_t performing;        /* the device of what runs */
  int64_t clock_ns;          /* what has run so far: FAKE_CUDA_TILE_NS a tile */
} fake_cuda_state;
extern fake_cuda_state fake_gpu;

/* As in the runtime library: each thread has its own, 0 at first. */
typedef struct fake_cuda_thread {
  int32_t device;
  int last_error;
  int captures; /* 1: this thread began the capture */
} fake_cuda_thread;
extern _Thread_local fake_cuda_thread fake_gpu_thread;

/* ---- fake_cuda.c ---- */

/* `code`, which the runtime library remembers until it is asked. */
int fake_cuda_told(int code);
/* 0 when the handle is NULL or of the device that this thread uses now. */
int fake_cuda_foreign(const void *of);
/* 0 unless this thread captures; then the capture is invalid. */
int fake_cuda_refuse_in_capture(void);

/* ---- fake_cuda_queue.c ---- */

/* Row of the driver's table: a stream waits for the last mark of an event. In a capture it becomes a part of it. */
int fake_cuda_event_wait(void *event, void *stream);
/* Append a copy of the work to the capture of the stream, or to what waits. */
int fake_cuda_put(fake_cuda_work *w, const void *stream);
/* Run all that waits: in the order in which it was queued, or as fake_cuda_options.order says. */
void fake_cuda_run_waiting(void);
/* Rows of the driver's table. */
int fake_cuda_capture_begin(void *stream);
int fake_cuda_capture_end(void *stream, void **out);
int fake_cuda_captured_launch(void *handle, void *stream);
int fake_cuda_captured_free(void *handle);

#endif
