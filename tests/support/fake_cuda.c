/* Every function begins with fake_cuda_enter(), which counts the call and fails it when its turn has come. What is
 * queued waits until something waits for it: a stream, a copy that the host can see the end of, a release. It runs in
 * the order in which it was queued, whatever the stream. */
#include "tests/support/fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_cuda_internal.h"
#include "tests/support/fake_cudnn.h"

enum { PRODUCT_ALIGNMENT = 256 };

fake_cuda_state fake_gpu;
_Thread_local fake_cuda_thread fake_gpu_thread;

int fake_cuda_told(int code) {
  if (code != 0) fake_gpu_thread.last_error = code;
  return code;
}

int fake_cuda_foreign(const void *of) {
  if (!of || ((const fake_cuda_handle *)of)->device == fake_gpu_thread.device) return 0;
  fake_gpu.counts.foreign++;
  return fake_cuda_told(FAKE_CUDA_FOREIGN);
}

int fake_cuda_enter(void) {
  fake_gpu.counts.calls++;
  if (fake_gpu.options.fail_at > 0 && --fake_gpu.options.fail_at == 0) {
    if (fake_gpu.options.fail_stays) fake_gpu.sticky[fake_gpu_thread.device] = FAKE_CUDA_LOST;
    return fake_cuda_told(FAKE_CUDA_LOST);
  }
  return fake_cuda_told(fake_gpu.sticky[fake_gpu_thread.device]);
}

int fake_cuda_last_error(void) {
  return fake_gpu_thread.last_error;
}

int fake_cuda_refuse_in_capture(void) {
  if (!fake_gpu.recording || !fake_gpu_thread.captures) return 0;
  fake_gpu.recording->invalidated = 1;
  return fake_cuda_told(FAKE_CUDA_IN_CAPTURE);
}

int fake_cuda_enter_outside_capture(void) {
  int code = fake_cuda_enter();
  return code != 0 ? code : fake_cuda_refuse_in_capture();
}

int32_t fake_cuda_device(void) {
  return fake_gpu_thread.device;
}

int fake_cuda_is_capturing(void) {
  return fake_gpu.recording != NULL && fake_gpu_thread.captures;
}

const fake_cuda_options *fake_cuda_now(void) {
  return &fake_gpu.options;
}

/* The same for calls that give something back: whoever makes them has no use for their failure. */
int fake_cuda_leave(void) {
  int code = fake_cuda_enter();
  if (code != 0) fake_gpu.counts.failed_leaving++;
  return code;
}

static int count(int32_t *devices) {
  int code = fake_cuda_enter();
  *devices = fake_gpu.options.devices;
  return fake_gpu.options.no_driver ? 35 : code;
}

static int use(int32_t device, plim_cuda_facts *facts) {
  int code = fake_cuda_enter();
  fake_gpu_thread.device = device;
  *facts = (plim_cuda_facts){"Fake GPU", fake_gpu.options.major,        fake_gpu.options.minor, 13000, 13000,
                             1 << 20,    fake_gpu.options.context_bytes};
  if (fake_gpu.options.major * 10 + fake_gpu.options.minor < 75)
    return FAKE_CUDA_NO_IMAGE; /* nothing of ours runs there */
  if (code == 0)
    fake_gpu.beside_bytes[fake_gpu_thread.device] =
        fake_gpu.options.context_bytes < 0 ? 1 << 20 : fake_gpu.options.context_bytes;
  return code;
}

static int current(int32_t device) {
  fake_gpu_thread.device = device;
  return fake_cuda_told(fake_gpu.sticky[device]);
}

static int64_t energy_mj(int32_t device) {
  static int64_t drawn_mj;
  (void)device;
  drawn_mj += fake_gpu.options.energy_mj;
  return fake_gpu.options.energy_mj > 0 ? drawn_mj : -1;
}

static int memory(int64_t *free_bytes, int64_t *total_bytes) {
  int code = fake_cuda_enter_outside_capture();
  *free_bytes = fake_gpu.options.memory_bytes - fake_gpu.used_bytes[fake_gpu_thread.device] -
                fake_gpu.beside_bytes[fake_gpu_thread.device];
  *total_bytes = fake_gpu.options.memory_bytes;
  return code;
}

static int out_of_memory(void) {
  return fake_gpu.options.fail_alloc_at > 0 && --fake_gpu.options.fail_alloc_at == 0;
}

static int alloc(void **ptr, int64_t bytes) {
  int code = fake_cuda_enter_outside_capture();
  if (code != 0) return code;
  fake_gpu.counts.allocs++;
  if (out_of_memory() || bytes > fake_gpu.options.memory_bytes - fake_gpu.used_bytes[fake_gpu_thread.device] -
                                     fake_gpu.beside_bytes[fake_gpu_thread.device])
    return fake_cuda_told(PLIM_CUDA_NO_MEMORY);
  *ptr = fake_memory_alloc(fake_gpu_thread.device, bytes, fake_gpu.options.alignment);
  if (!*ptr) return fake_cuda_told(PLIM_CUDA_NO_MEMORY);
  fake_gpu.used_bytes[fake_gpu_thread.device] += bytes;
  fake_gpu.counts.open_handles++;
  return 0;
}

/* A release waits for what is queued. */
static int release(void *ptr) {
  int code = fake_cuda_leave();
  if (code == 0) code = fake_cuda_refuse_in_capture();
  int32_t device = -1;
  fake_cuda_run_waiting();
  int64_t bytes = fake_memory_is_device(ptr) ? fake_memory_release(ptr, &device) : -1;
  if (bytes < 0) return fake_cuda_told(FAKE_CUDA_INVALID_VALUE); /* never allocated */
  fake_gpu.used_bytes[device] -= bytes;
  fake_gpu.counts.open_handles--;
  return code;
}

static int pinned_alloc(void **ptr, int64_t bytes) {
  int code = fake_cuda_enter_outside_capture();
  if (code != 0) return code;
  fake_gpu.counts.allocs++;
  *ptr = out_of_memory() ? NULL : fake_memory_alloc(-1, bytes, 1);
  if (!*ptr) return fake_cuda_told(PLIM_CUDA_NO_MEMORY);
  fake_gpu.counts.open_handles++;
  return 0;
}

/* It waits for nothing: a copy that is still to come finds no memory. */
static int pinned_release(void *ptr) {
  int32_t device;
  if (!fake_memory_is_pinned(ptr) || fake_memory_release(ptr, &device) < 0)
    return fake_cuda_told(FAKE_CUDA_INVALID_VALUE);
  fake_gpu.counts.open_handles--;
  int code = fake_cuda_leave();
  return code != 0 ? code : fake_cuda_refuse_in_capture();
}

static int handle_new(void **handle) {
  int code = fake_cuda_enter();
  if (code != 0) return code;
  fake_cuda_handle *made = malloc(sizeof *made);
  *made = (fake_cuda_handle){fake_gpu_thread.device, -1, NULL};
  fake_gpu.counts.open_handles++;
  *handle = made;
  return 0;
}

static int handle_free(void *handle) {
  fake_cuda_run_waiting();
  fake_gpu.counts.open_handles--;
  free(handle);
  return fake_cuda_leave();
}

static int stream_sync(void *stream) {
  int code = fake_cuda_enter_outside_capture();
  if (code == 0) code = fake_cuda_foreign(stream);
  if (code != 0) return code;
  fake_gpu.counts.waits++;
  fake_cuda_run_waiting();
  return fake_cuda_told(fake_gpu.sticky[fake_gpu_thread.device]); /* what went wrong on the way */
}

static int event_record(void *event, void *stream) {
  if (((fake_cuda_handle *)event)->passed_ns < 0) fake_gpu.counts.events_recorded++;
  int code = fake_cuda_foreign(event);
  return code != 0 ? code : fake_cuda_put(&(fake_cuda_work){.kind = FAKE_CUDA_MARK, .to = event}, stream);
}

static int timing_event_record(void *handle, void *stream) {
  return fake_cuda_put(&(fake_cuda_work){.kind = FAKE_CUDA_TIMING_EVENT, .to = handle}, stream);
}

static int elapsed(void *from, void *to, int64_t *time_ns) {
  const fake_cuda_handle *a = from, *b = to;
  int code = fake_cuda_enter_outside_capture();
  if (code == 0 && (a->passed_ns < 0 || b->passed_ns < 0)) return FAKE_CUDA_NOT_READY;
  *time_ns = b->passed_ns - a->passed_ns;
  return code;
}

/* Of a device: all of it in one block. */
static int is_wrong(const void *address, int64_t bytes) {
  return fake_memory_is_device(address) && !fake_memory_stored(address, fake_memory_device_of(address), bytes);
}

/* The runtime finds out by the address what is where. Host memory that is not pinned is copied while the caller waits,
 * and in a capture not at all. */
static int copy(void *to, const void *from, int64_t bytes, void *stream) {
  const int pageable = (!fake_memory_is_device(to) && !fake_memory_is_pinned(to)) ||
                       (!fake_memory_is_device(from) && !fake_memory_is_pinned(from));
  if (is_wrong(to, bytes) || is_wrong(from, bytes)) return fake_cuda_told(FAKE_CUDA_INVALID_VALUE);
  if (pageable) {
    int code = fake_cuda_refuse_in_capture();
    if (code != 0) return code;
  }
  int code = fake_cuda_put(&(fake_cuda_work){.kind = FAKE_CUDA_COPY, .to = to, .from = from, .bytes = bytes}, stream);
  if (code == 0 && pageable) {
    fake_gpu.counts.waits++;
    fake_cuda_run_waiting();
  }
  return code;
}

static int fill(void *to, int byte, int64_t bytes, void *stream) {
  if (!fake_memory_is_device(to) || is_wrong(to, bytes)) return fake_cuda_told(FAKE_CUDA_INVALID_VALUE);
  return fake_cuda_put(&(fake_cuda_work){.kind = FAKE_CUDA_FILL, .to = to, .byte = byte, .bytes = bytes}, stream);
}

static int launch(k_kernel kernel, const k_call *call, int64_t tiles, void *stream) {
  if (fake_gpu.options.refuse_kernel) return fake_cuda_told(FAKE_CUDA_RESOURCES);
  return fake_cuda_put(&(fake_cuda_work){.kind = FAKE_CUDA_LAUNCH, .kernel = kernel, .call = *call, .tiles = tiles},
                       stream);
}

static int blas_open(const plim_kernel_memory *memory, void **blas, int32_t *version, char *why, size_t why_bytes) {
  (void)memory;
  int code = fake_cuda_enter();
  *blas = NULL;
  if (code != 0 || !fake_gpu.options.blas) {
    (void)snprintf(why, why_bytes, "no library was found");
    return code;
  }
  fake_gpu.counts.open_handles++;
  *blas = malloc(sizeof(fake_cuda_handle));
  *(fake_cuda_handle *)*blas = (fake_cuda_handle){fake_gpu_thread.device, -1, NULL};
  *version = 130100;
  fake_gpu.beside_bytes[fake_gpu_thread.device] += fake_gpu.options.blas_bytes;
  return 0;
}

static int blas_close(void *blas) {
  fake_gpu.beside_bytes[((const fake_cuda_handle *)blas)->device] -= fake_gpu.options.blas_bytes;
  return handle_free(blas);
}

static int multiply(void *blas, const plim_cuda_product *product, const void *a, const void *b, void *c,
                    void *workspace, int64_t workspace_bytes, void *stream) {
  const void *space =
      fake_memory_is_device(workspace) ? fake_memory_stored(workspace, fake_gpu_thread.device, workspace_bytes) : NULL;
  if (!space || (uintptr_t)workspace % PRODUCT_ALIGNMENT != 0) return PLIM_CUBLAS_CODES + 7; /* invalid value */
  if (product->batches > 1 && product->c_row == 0 && product->c_step < product->m * product->n)
    return PLIM_CUBLAS_CODES + 7;
  if (((const fake_cuda_handle *)blas)->device != fake_gpu_thread.device)
    return PLIM_CUBLAS_CODES + 13; /* execution failed */
  if (fake_gpu.options.refuse_blas || (fake_gpu.options.no_bf16 && product->precision == PLIM_PRECISION_BF16)) {
    return PLIM_CUBLAS_CODES + 15; /* not supported */
  }
  return fake_cuda_put(&(fake_cuda_work){.kind = FAKE_CUDA_MULTIPLY, .to = c, .product = *product, .a = a, .b = b},
                       stream);
}

int fake_cuda_queue(void (*function)(const void *argument), const void *argument, size_t bytes, void *stream) {
  fake_cuda_work w = {.kind = FAKE_CUDA_CALL, .function = function};
  memcpy(w.argument, argument, bytes);
  return fake_cuda_put(&w, stream);
}

int fake_cuda_queue_illegal(void *stream) {
  return fake_cuda_put(&(fake_cuda_work){.kind = FAKE_CUDA_ILLEGAL}, stream);
}

void fake_cuda_hold(int more) {
  fake_gpu.counts.open_handles += more;
}

static void dnn_load(plim_cudnn_api *api, char *why, size_t why_bytes) {
  memset(api, 0, sizeof *api);
  if (fake_gpu.options.dnn) {
    *api = fake_cudnn_api();
  } else {
    (void)snprintf(why, why_bytes, "no cuDNN was found");
  }
}

static void dnn_unload(plim_cudnn_api *api) {
  api->opened = NULL;
}

static const char *error(int code) {
  if (code == PLIM_CUDNN_CODES + 5000) return "cuDNN failed: the device is lost";
  if (code >= PLIM_CUDNN_CODES) return "cuDNN refused";
  if (code >= PLIM_CUBLAS_CODES) return "cuBLAS refused";
  static const struct {
    int code;
    const char *words;
  } rows[] = {{PLIM_CUDA_NO_MEMORY, "out of memory"},
              {FAKE_CUDA_LOST, "the device is lost"},
              {FAKE_CUDA_FOREIGN, "invalid resource handle"},
              {FAKE_CUDA_NOT_READY, "device not ready"},
              {FAKE_CUDA_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
              {FAKE_CUDA_INVALID_VALUE, "invalid argument"},
              {FAKE_CUDA_RESOURCES, "too many resources requested for launch"},
              {FAKE_CUDA_IN_CAPTURE, "operation not permitted when stream is capturing"},
              {FAKE_CUDA_INVALIDATED, "operation failed due to a previous error during capture"},
              {FAKE_CUDA_UNJOINED, "capturing stream has unjoined work"},
              {FAKE_CUDA_ISOLATION, "dependency created on uncaptured work in another stream"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].code == code) return rows[i].words;
  }
  return "no driver";
}

static void clear(void) {
  fake_gpu_thread.last_error = 0;
}

static const plim_cuda_driver driver = {
    .count = count,
    .use = use,
    .current = current,
    .memory = memory,
    .energy_mj = energy_mj,
    .alloc = alloc,
    .release = release,
    .pinned_alloc = pinned_alloc,
    .pinned_release = pinned_release,
    .stream_new = handle_new,
    .stream_free = handle_free,
    .stream_sync = stream_sync,
    .event_new = handle_new,
    .event_free = handle_free,
    .event_record = event_record,
    .event_wait = fake_cuda_event_wait,
    .timing_event_new = handle_new,
    .timing_event_free = handle_free,
    .timing_event_record = timing_event_record,
    .elapsed = elapsed,
    .copy = copy,
    .fill = fill,
    .launch = launch,
    .capture_begin = fake_cuda_capture_begin,
    .capture_end = fake_cuda_capture_end,
    .captured_launch = fake_cuda_captured_launch,
    .captured_free = fake_cuda_captured_free,
    .blas_open = blas_open,
    .blas_close = blas_close,
    .multiply = multiply,
    .dnn_load = dnn_load,
    .dnn_unload = dnn_unload,
    .error = error,
    .clear = clear,
};

fake_cuda_options fake_cuda_options_default(void) {
  return (fake_cuda_options){.devices = 1, .major = 9, .minor = 0, .memory_bytes = (int64_t)1 << 30, .alignment = 512};
}

const plim_cuda_driver *fake_cuda_driver(const fake_cuda_options *options) {
  free(fake_gpu.waiting.item);
  memset(&fake_gpu, 0, sizeof fake_gpu);
  fake_memory_forget();
  fake_gpu_thread.last_error = fake_gpu_thread.captures = fake_gpu_thread.device = 0;
  fake_cudnn_forget();
  fake_gpu.options = *options;
  return &driver;
}

void fake_cuda_fail_at(int64_t fail_at) {
  fake_gpu.options.fail_at = fail_at;
}

fake_cuda_counts fake_cuda_count(void) {
  return fake_gpu.counts;
}
