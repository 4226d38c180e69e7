/* What the host side of CUDA needs of the runtime library, as a table: the real one where the build found nvcc, a
 * fake over host memory in tests. Every function returns 0 or the library's error code; `error` says what it means.
 * Streams, events and captured graphs are opaque. */
#ifndef PLIM_KERNELS_CUDA_DRIVER_H
#define PLIM_KERNELS_CUDA_DRIVER_H

#include <stddef.h>

#include "kernels/call.h"
#include "kernels/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a device is. */
typedef struct plim_cuda_facts {
  char name[96];
  int32_t major, minor;    /* compute capability */
  int32_t runtime, driver; /* versions: 1000 x major + 10 x minor */
  int64_t cache_bytes;     /* L2 */
  int64_t context_bytes;   /* of the GPU's memory, that went when the context was made; -1: no one can tell */
} plim_cuda_facts;

enum { PLIM_CUDA_NO_MEMORY = 2 /* the one code that callers tell apart */ };

/* C [m][n] = A [m][k] B [k][n] + beta C, row by row; transposed ones are stored as their transpose. A and B are floats,
 * which may be rounded in tf32, or bf16 in bf16; C is of their type, or floats. Sums are floats, those of parts of a
 * long sum included. */
typedef struct plim_cuda_product {
  int64_t m, n, k; /* each below 2^31 */
  int32_t a_transposed, b_transposed;
  float beta; /* 0: C is not read */
  plim_precision precision;
  int32_t c_is_f32; /* 1: C is floats whatever the precision */
  /* More than 1: so many products of equal sizes, each a_step, b_step and c_step elements after the one before; 0 where
   * all share the matrix, which C is never. */
  int64_t batches, a_step, b_step, c_step;
  /* Elements from a row of a matrix, as it is stored, to the next, below 2^31; 0: rows lie one after the other. */
  int64_t a_row, b_row, c_row;
} plim_cuda_product;

struct plim_cudnn_api;

typedef struct plim_cuda_driver {
  int (*count)(int32_t *devices);
  /* Makes it this thread's device and creates its context. Name and capability are there also when that fails. */
  int (*use)(int32_t device, plim_cuda_facts *facts);
  /* Makes it this thread's device again: allocations, streams and launches belong to that one. Cheap when it is. */
  int (*current)(int32_t device);
  int (*memory)(int64_t *free_bytes, int64_t *total_bytes);
  /* Energy that a GPU has drawn since some time before, millijoule; -1: no one can tell. Takes some milliseconds. */
  int64_t (*energy_mj)(int32_t device);
  int (*alloc)(void **ptr, int64_t bytes); /* aligned to at least 256 */
  int (*release)(void *ptr);
  int (*pinned_alloc)(void **ptr, int64_t bytes); /* host memory that copies need not stage */
  int (*pinned_release)(void *ptr);
  int (*stream_new)(void **stream);
  int (*stream_free)(void *stream);
  int (*stream_sync)(void *stream);
  int (*event_new)(void **event);
  int (*event_free)(void *event);
  int (*event_record)(void *event, void *stream);
  int (*event_wait)(void *event, void *stream); /* the stream waits, not the caller */
  /* A timing event records a time. `elapsed` gives the time between two events of one stream, captured or not, that
   * have passed. */
  int (*timing_event_new)(void **timing_event);
  int (*timing_event_free)(void *timing_event);
  int (*timing_event_record)(void *timing_event, void *stream);
  int (*elapsed)(void *from, void *to, int64_t *time_ns);
  int (*copy)(void *to, const void *from, int64_t bytes, void *stream); /* host or device, found by address */
  int (*fill)(void *to, int byte, int64_t bytes, void *stream);
  int (*launch)(k_kernel kernel, const k_call *call, int64_t tiles, void *stream);
  /* From begin to end what is queued on the stream is recorded, not run; end makes it launchable. */
  int (*capture_begin)(void *stream);
  int (*capture_end)(void *stream, void **captured); /* ends the recording also when it fails */
  int (*captured_launch)(void *captured, void *stream);
  int (*captured_free)(void *captured);
  /* Matrix products. Open may find no library: then *blas is NULL, and the text says what was looked for. Products of
   * equal sizes have equal bits: one stream, workspace of the caller, no precision below the product's mode. */
  int (*blas_open)(const plim_kernel_memory *memory, void **blas, int32_t *version, char *why,
                   size_t why_bytes); /* version: 10000 x major + 100 x minor */
  int (*blas_close)(void *blas);
  int (*multiply)(void *blas, const plim_cuda_product *product, const void *a, const void *b, void *c, void *workspace,
                  int64_t workspace_bytes, void *stream);
  /* Convolutions: cuDNN's functions (kernels/cuda/cudnn_api.h), or none with the text as above. */
  void (*dnn_load)(struct plim_cudnn_api *api, char *why, size_t why_bytes);
  void (*dnn_unload)(struct plim_cudnn_api *api);
  const char *(*error)(int code);
  /* The runtime remembers the last error of this thread, and libraries ask it: forget it. One that lost the device
   * stays. */
  void (*clear)(void);
} plim_cuda_driver;

/* The real one; NULL when this build has no CUDA. It needs neither driver nor GPU to be asked for. */
const plim_cuda_driver *plim_cuda_driver_real(void);

#ifdef __cplusplus
}
#endif
#endif
