/* The runtime library behind the driver table. It is linked statically and looks for the machine's driver itself, when
 * the first function is called. */
#include "kernels/cuda/driver.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "kernels/cuda/cublas.h"
#include "kernels/cuda/cuda_launch.h"
#include "kernels/cuda/cudnn_api.h"
#include "kernels/cuda/nvml.h"

static int count(int32_t *devices) {
  return (int)cudaGetDeviceCount(devices);
}

static cudaError_t describe(int32_t device, plim_cuda_facts *facts) {
  struct cudaDeviceProp properties;
  cudaError_t code = cudaGetDeviceProperties(&properties, device);
  if (code != cudaSuccess) return code;
  (void)snprintf(facts->name, sizeof facts->name, "%.95s", properties.name);
  facts->major = properties.major;
  facts->minor = properties.minor;
  facts->cache_bytes = properties.l2CacheSize;
  return cudaSuccess;
}

static int use(int32_t device, plim_cuda_facts *facts) {
  char bus_id[32];
  cudaError_t code = describe(device, facts);
  if (code == cudaSuccess) code = cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device);
  const int64_t free_before = code == cudaSuccess ? plim_nvml_free_bytes(bus_id) : -1;
  if (code == cudaSuccess) code = cudaSetDevice(device);
  if (code == cudaSuccess) code = cudaFree(NULL); /* the context is made now, so that its bytes are counted */
  const int64_t free_after = free_before < 0 ? -1 : plim_nvml_free_bytes(bus_id);
  if (code == cudaSuccess) code = cudaRuntimeGetVersion(&facts->runtime);
  if (code == cudaSuccess) code = cudaDriverGetVersion(&facts->driver);
  if (code != cudaSuccess) return (int)code;
  facts->context_bytes = free_after < 0 || free_after > free_before ? -1 : free_before - free_after;
  return 0;
}

static int current(int32_t device) {
  return (int)cudaSetDevice(device);
}

static int64_t energy_mj(int32_t device) {
  char bus_id[32];
  if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device) == cudaSuccess) return plim_nvml_energy_mj(bus_id);
  (void)cudaGetLastError();
  return -1;
}

static int memory(int64_t *free_bytes, int64_t *total_bytes) {
  size_t free_size = 0, total_size = 0;
  cudaError_t code = cudaMemGetInfo(&free_size, &total_size);
  *free_bytes = (int64_t)free_size;
  *total_bytes = (int64_t)total_size;
  return (int)code;
}

static int alloc(void **ptr, int64_t bytes) {
  return (int)cudaMalloc(ptr, (size_t)bytes);
}

static int release(void *ptr) {
  return (int)cudaFree(ptr);
}

static int pinned_alloc(void **ptr, int64_t bytes) {
  return (int)cudaMallocHost(ptr, (size_t)bytes);
}

static int pinned_release(void *ptr) {
  return (int)cudaFreeHost(ptr);
}

static int stream_new(void **stream) {
  return (int)cudaStreamCreateWithFlags((cudaStream_t *)stream, cudaStreamNonBlocking);
}

static int stream_free(void *stream) {
  return (int)cudaStreamDestroy(stream);
}

static int stream_sync(void *stream) {
  return (int)cudaStreamSynchronize(stream);
}

static int event_new(void **event) {
  return (int)cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming);
}

static int event_free(void *event) {
  return (int)cudaEventDestroy(event);
}

static int event_record(void *event, void *stream) {
  return (int)cudaEventRecord(event, stream);
}

static int event_wait(void *event, void *stream) {
  return (int)cudaStreamWaitEvent(stream, event, 0);
}

static int timing_event_new(void **timing_event) {
  return (int)cudaEventCreate((cudaEvent_t *)timing_event);
}

/* While a stream is captured, a timing event becomes a node of its own: else it would only order what is captured. */
static int timing_event_record(void *timing_event, void *stream) {
  enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  cudaError_t code = cudaStreamIsCapturing(stream, &capturing);
  if (code != cudaSuccess) return (int)code;
  return (int)cudaEventRecordWithFlags(
      timing_event, stream,
      capturing == cudaStreamCaptureStatusActive ? cudaEventRecordExternal : cudaEventRecordDefault);
}

static int elapsed(void *from, void *to, int64_t *time_ns) {
  float ms = 0;
  cudaError_t code = cudaEventElapsedTime(&ms, from, to);
  *time_ns = (int64_t)((double)ms * 1e6 + 0.5);
  return (int)code;
}

static int copy(void *to, const void *from, int64_t bytes, void *stream) {
  return (int)cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDefault, stream);
}

static int fill(void *to, int byte, int64_t bytes, void *stream) {
  return (int)cudaMemsetAsync(to, byte, (size_t)bytes, stream);
}

static int capture_begin(void *stream) {
  return (int)cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
}

static int capture_end(void *stream, void **captured) {
  cudaGraph_t graph = NULL;
  cudaError_t code = cudaStreamEndCapture(stream, &graph);
  if (code == cudaSuccess) code = cudaGraphInstantiate((cudaGraphExec_t *)captured, graph, 0);
  if (graph) (void)cudaGraphDestroy(graph);
  return (int)code;
}

static int captured_launch(void *captured, void *stream) {
  return (int)cudaGraphLaunch(captured, stream);
}

static int captured_free(void *captured) {
  return (int)cudaGraphExecDestroy(captured);
}

/* cuDNN counts its codes by thousands of a kind. */
static const char *dnn_error(int code) {
  static const char *const kinds[] = {"cuDNN failed",         "cuDNN is not ready",         "cuDNN was asked wrongly",
                                      "cuDNN cannot do that", "cuDNN failed inside itself", "cuDNN failed on the GPU"};
  return kinds[code >= 0 && code / 1000 < (int)(sizeof kinds / sizeof *kinds) ? code / 1000 : 0];
}

/* The library's names, without the words that they begin with. */
static const char *blas_error(int code) {
  static const struct {
    int code;
    const char *name;
  } names[] = {{1, "cuBLAS: not initialized"},       {3, "cuBLAS: allocation failed"}, {7, "cuBLAS: invalid value"},
               {8, "cuBLAS: architecture mismatch"}, {11, "cuBLAS: mapping error"},    {13, "cuBLAS: execution failed"},
               {14, "cuBLAS: internal error"},       {15, "cuBLAS: not supported"},    {16, "cuBLAS: license error"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (names[i].code == code) return names[i].name;
  }
  return "cuBLAS refused";
}

static const char *error(int code) {
  /* The library's own words are of versions, which puzzles where there is no driver at all. */
  if (code == cudaErrorInsufficientDriver) return "there is no driver, or one older than this build's CUDA needs";
  if (code >= PLIM_CUDNN_CODES) return dnn_error(code - PLIM_CUDNN_CODES);
  return code >= PLIM_CUBLAS_CODES ? blas_error(code - PLIM_CUBLAS_CODES) : cudaGetErrorString((cudaError_t)code);
}

static void clear(void) {
  (void)cudaGetLastError();
}

static const plim_cuda_driver real = {
    .count = count,
    .use = use,
    .current = current,
    .memory = memory,
    .energy_mj = energy_mj,
    .alloc = alloc,
    .release = release,
    .pinned_alloc = pinned_alloc,
    .pinned_release = pinned_release,
    .stream_new = stream_new,
    .stream_free = stream_free,
    .stream_sync = stream_sync,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_wait = event_wait,
    .timing_event_new = timing_event_new,
    .timing_event_free = event_free,
    .timing_event_record = timing_event_record,
    .elapsed = elapsed,
    .copy = copy,
    .fill = fill,
    .launch = k_cuda_launch,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .captured_launch = captured_launch,
    .captured_free = captured_free,
    .blas_open = plim_cublas_open,
    .blas_close = plim_cublas_close,
    .multiply = plim_cublas_multiply,
    .dnn_load = plim_cudnn_load,
    .dnn_unload = plim_cudnn_unload,
    .error = error,
    .clear = clear,
};

const plim_cuda_driver *plim_cuda_driver_real(void) {
  return &real;
}
