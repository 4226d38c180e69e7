/* Every function begins with fake_cuda_enter(), which counts the call and fails it when its turn has come. What is
 * queued waits until something waits for it: a stream, a copy that the host can see the end of, a release. It runs in
 * the order in which it was queued, whatever the stream. */
#include "tests/support/fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cublas.h"
#include "kernels/isa.h"
#include "tests/support/fake_cudnn.h"
#include "tests/support/fake_memory.h"
#include "tests/support/kernel_reference.h"

enum { MOST_DEVICES = FAKE_MEMORY_DEVICES, MOST_PRODUCTS = 4096, PRODUCT_ALIGNMENT = 256 };

typedef enum kind { COPY, FILL, LAUNCH, MULTIPLY, TIMING_EVENT, MARK, CALL, ILLEGAL } kind;

/* Streams, events and ticks belong to a device. */
typedef struct handle {
  int32_t device;
  int64_t passed_ns; /* of a tick; -1: not yet */
} timing_event;

/* What can be queued. */
typedef struct work {
  kind kind;
  int32_t device;
  void *to;
  const void *from;
  int byte;
  int64_t bytes, tiles;
  k_body body;
  k_call call;
  plim_cuda_product product;
  const void *a, *b;
  void (*function)(const void *argument);
  _Alignas(8) unsigned char argument[FAKE_CUDA_ARGUMENT_BYTES];
} work;

/* A list of it: a captured graph, or what waits to run. */
typedef struct captured {
  int n, room, launchable, invalidated;
  const void *stream; /* the one that is captured */
  work *item;
} captured;

static struct {
  fake_cuda_options options;
  fake_cuda_counts counts;
  int64_t used_bytes[MOST_DEVICES], beside_bytes[MOST_DEVICES]; /* by allocations; by what lies beside them */
  int sticky[MOST_DEVICES]; /* the error that every call of the device returns from now on */
  char loaded[MOST_DEVICES][K_BODY_COUNT][K_TYPE_COUNT], any_loaded[MOST_DEVICES];
  int products; /* that were queued */
  plim_cuda_product product[MOST_PRODUCTS];
  captured waiting;
  uint64_t noise;      /* of ticks */
  captured *recording; /* by one thread at a time */
  int64_t clock_ns;    /* what has run so far: FAKE_CUDA_TILE_NS a tile */
} fake;

#define PLIM_X(id, name) {&plim_bodies_##id, &plim_bodies_##id##_bf16},
#define PLIM_EXTERN(id, name) extern const k_bodies plim_bodies_##id, plim_bodies_##id##_bf16;
PLIM_ISAS(PLIM_EXTERN)
static const k_bodies *const all_bodies[][K_TYPE_COUNT] = {PLIM_ISAS(PLIM_X)};
#undef PLIM_EXTERN
#undef PLIM_X

/* As in the runtime library: each thread has its own, 0 at first. */
static _Thread_local int32_t current_device;
static int32_t performing; /* the device of what runs */
static _Thread_local int last_error, captures /* 1: this thread began the capture */;

/* What the runtime library remembers until it is asked. */
static int told(int code) {
  if (code != 0) last_error = code;
  return code;
}

/* Does the handle belong to the device that this thread uses now? */
static int foreign(const void *of) {
  if (!of || ((const timing_event *)of)->device == current_device) return 0;
  fake.counts.foreign++;
  return told(FAKE_CUDA_FOREIGN);
}

int fake_cuda_enter(void) {
  fake.counts.calls++;
  if (fake.options.fail_at > 0 && --fake.options.fail_at == 0) {
    if (fake.options.fail_stays) fake.sticky[current_device] = FAKE_CUDA_LOST;
    return told(FAKE_CUDA_LOST);
  }
  return told(fake.sticky[current_device]);
}

int fake_cuda_last_error(void) {
  return last_error;
}

static int refuse_in_capture(void) {
  if (!fake.recording || !captures) return 0;
  fake.recording->invalidated = 1;
  return told(FAKE_CUDA_IN_CAPTURE);
}

int fake_cuda_enter_outside_capture(void) {
  int code = fake_cuda_enter();
  return code != 0 ? code : refuse_in_capture();
}

int32_t fake_cuda_device(void) {
  return current_device;
}

int fake_cuda_is_capturing(void) {
  return fake.recording != NULL && captures;
}

const fake_cuda_options *fake_cuda_now(void) {
  return &fake.options;
}

/* The same for calls that give something back: whoever makes them has no use for their failure. */
int fake_cuda_leave(void) {
  int code = fake_cuda_enter();
  if (code != 0) fake.counts.failed_leaving++;
  return code;
}

/* ---- running ---- */

void fake_cuda_break(void) {
  fake.sticky[performing] = FAKE_CUDA_ILLEGAL_ADDRESS;
}

void *fake_cuda_stored(const void *address, int64_t bytes) {
  void *stored = fake_memory_stored(address, performing, bytes);
  if (!stored) fake_cuda_break();
  return stored;
}

static double element(const void *memory, int floats, int64_t e) {
  return floats ? (double)((const float *)memory)[e] : reference_of_bf16(((const uint16_t *)memory)[e]);
}

/* In double precision: a reference rather than a library. */
static void multiply_now(const work *w) {
  const plim_cuda_product *p = &w->product;
  const int floats = p->math != PLIM_PRECISION_BF16, to_floats = floats || p->to_floats;
  const void *a = fake_cuda_stored(w->a, p->m * p->k * (floats ? 4 : 2));
  const void *b = fake_cuda_stored(w->b, p->k * p->n * (floats ? 4 : 2));
  void *to = fake_cuda_stored(w->to, p->m * p->n * (to_floats ? 4 : 2));
  if (!a || !b || !to || fake.options.hollow) return;
  for (int64_t i = 0; i < p->m; i++) {
    for (int64_t j = 0; j < p->n; j++) {
      const int64_t at = i * p->n + j;
      double sum = p->beta == 0 ? 0 : (double)p->beta * element(to, to_floats, at);
      for (int64_t l = 0; l < p->k; l++) {
        sum += element(a, floats, p->a_across ? l * p->m + i : i * p->k + l) *
               element(b, floats, p->b_across ? j * p->k + l : l * p->n + j);
      }
      const float result = (float)sum;
      if (to_floats) {
        ((float *)to)[at] = result;
      } else {
        const k_call cast = {.in = {&result}, .out = {(uint16_t *)to + at}, .elements = 1};
        all_bodies[0][K_TYPE_BF16]->tile[K_BODY_cast](&cast, 0);
      }
    }
  }
}

/* A kernel may touch memory of its device alone. */
static void launch_now(const work *w) {
  k_call call = w->call;
  int well = 1;
  fake.clock_ns += w->tiles * FAKE_CUDA_TILE_NS;
  for (int i = 0; i < PLIM_OP_MAX_IN; i++) well &= !call.in[i] || (call.in[i] = fake_cuda_stored(call.in[i], 1));
  for (int i = 0; i < PLIM_OP_MAX_OUT; i++) well &= !call.out[i] || (call.out[i] = fake_cuda_stored(call.out[i], 1));
  for (int i = 0; i < PLIM_OP_MAX_UPD; i++) well &= !call.upd[i] || (call.upd[i] = fake_cuda_stored(call.upd[i], 1));
  if (call.workspace) well &= (call.workspace = fake_cuda_stored(call.workspace, 1)) != NULL;
  if (call.now) well &= (call.now = fake_cuda_stored(call.now, 2 * sizeof *call.now)) != NULL;
  for (int64_t tile = 0; well && !fake.options.hollow && tile < w->tiles; tile++) {
    all_bodies[0][call.type]->tile[w->body](&call, tile);
  }
}

/* Whose ends were looked at when it was queued: memory that was released since is an illegal address. */
static void move_now(const work *w) {
  const int from_device = w->kind == COPY && fake_memory_is_device(w->from);
  const void *from = from_device ? fake_cuda_stored(w->from, w->bytes) : w->from;
  void *to = fake_memory_is_device(w->to) ? fake_cuda_stored(w->to, w->bytes) : w->to;
  if (w->kind == COPY && from && to) memcpy(to, from, (size_t)w->bytes);
  if (w->kind == FILL && to) memset(to, w->byte, (size_t)w->bytes);
}

/* What the GPU's clock says at a tick: a little off, in steps. */
static int64_t noisy_clock(void) {
  const int64_t jitter = fake.options.jitter_ns,
                step = fake.options.timing_event_step_ns > 0 ? fake.options.timing_event_step_ns : 1;
  fake.noise = fake.noise * 6364136223846793005U + 1442695040888963407U;
  const int64_t off = jitter > 0 ? (int64_t)(fake.noise >> 33) % (2 * jitter + 1) - jitter : 0;
  fake.clock_ns += fake.options.timing_event_ns;
  return (fake.clock_ns + off) / step * step;
}

static void perform(const work *w) {
  performing = w->device;
  if (fake.sticky[performing]) return;
  if (w->kind == ILLEGAL) fake_cuda_break();
  if (w->kind == COPY || w->kind == FILL) move_now(w);
  if (w->kind == MULTIPLY) multiply_now(w);
  if (w->kind == CALL && !fake.options.hollow) w->function(w->argument);
  if (w->kind == TIMING_EVENT) ((timing_event *)w->to)->passed_ns = noisy_clock();
  if (w->kind == MARK) ((timing_event *)w->to)->passed_ns = fake.clock_ns;
  if (w->kind == LAUNCH || w->kind == CALL) fake.counts.kernels_run++;
  if (w->kind == MULTIPLY || w->kind == CALL) fake.clock_ns += FAKE_CUDA_TILE_NS;
  if (w->kind == LAUNCH) launch_now(w);
}

static void append(captured *list, const work *w) {
  if (list->n == list->room) {
    list->room = 2 * list->room + 16;
    list->item = realloc(list->item, (size_t)list->room * sizeof *list->item);
  }
  list->item[list->n++] = *w;
}

static void run_waiting(void) {
  for (int i = 0; i < fake.waiting.n; i++) perform(&fake.waiting.item[i]);
  fake.waiting.n = 0;
}

/* ---- queueing ---- */

/* Modules are loaded by the first launch of a kernel, which allocates: not in a capture. */
static int load(const work *w) {
  char *loaded = NULL;
  if (w->kind == LAUNCH) loaded = &fake.loaded[current_device][w->body][w->call.type];
  if (w->kind == MULTIPLY) {
    for (int i = 0; i < fake.products; i++) {
      const plim_cuda_product *p = &fake.product[i], *q = &w->product;
      if (p->m == q->m && p->n == q->n && p->k == q->k && p->math == q->math && p->a_across == q->a_across &&
          p->b_across == q->b_across && p->to_floats == q->to_floats)
        return 0;
    }
  }
  if ((w->kind != MULTIPLY && !loaded) || (loaded && *loaded)) return 0;
  int code = refuse_in_capture();
  if (code != 0) return code;
  if (loaded) *loaded = 1;
  if (!loaded && fake.products < MOST_PRODUCTS) fake.product[fake.products++] = w->product;
  return 0;
}

static int queue(work *w, const void *stream) {
  int code = fake_cuda_enter();
  if (code == 0) code = foreign(stream);
  captured *c = fake.recording && stream == fake.recording->stream ? fake.recording : NULL;
  if (code == 0 && c && c->invalidated) code = told(FAKE_CUDA_INVALIDATED);
  if (code == 0) code = load(w);
  if (code != 0) return code;
  w->device = current_device;
  if (w->kind == LAUNCH || w->kind == CALL) {
    fake.counts.kernels_queued++;
    if (!fake.any_loaded[current_device]) fake.beside_bytes[current_device] += fake.options.module_bytes;
    fake.any_loaded[current_device] = 1;
  }
  append(c ? c : &fake.waiting, w);
  return 0;
}

static int count(int32_t *devices) {
  int code = fake_cuda_enter();
  *devices = fake.options.devices;
  return fake.options.no_driver ? 35 : code;
}

static int use(int32_t device, plim_cuda_facts *facts) {
  int code = fake_cuda_enter();
  current_device = device;
  *facts = (plim_cuda_facts){"Fake GPU", fake.options.major,        fake.options.minor, 13000, 13000,
                             1 << 20,    fake.options.context_bytes};
  if (fake.options.major * 10 + fake.options.minor < 75) return FAKE_CUDA_NO_IMAGE; /* nothing of ours runs there */
  if (code == 0)
    fake.beside_bytes[current_device] = fake.options.context_bytes < 0 ? 1 << 20 : fake.options.context_bytes;
  return code;
}

static int current(int32_t device) {
  current_device = device;
  return told(fake.sticky[device]);
}

static int memory(int64_t *free_bytes, int64_t *total_bytes) {
  int code = fake_cuda_enter_outside_capture();
  *free_bytes = fake.options.memory_bytes - fake.used_bytes[current_device] - fake.beside_bytes[current_device];
  *total_bytes = fake.options.memory_bytes;
  return code;
}

static int out_of_memory(void) {
  return fake.options.fail_alloc_at > 0 && --fake.options.fail_alloc_at == 0;
}

static int alloc(void **ptr, int64_t bytes) {
  int code = fake_cuda_enter_outside_capture();
  if (code != 0) return code;
  fake.counts.allocs++;
  if (out_of_memory() ||
      bytes > fake.options.memory_bytes - fake.used_bytes[current_device] - fake.beside_bytes[current_device])
    return told(PLIM_CUDA_NO_MEMORY);
  *ptr = fake_memory_alloc(current_device, bytes, fake.options.alignment);
  if (!*ptr) return told(PLIM_CUDA_NO_MEMORY);
  fake.used_bytes[current_device] += bytes;
  fake.counts.open_handles++;
  return 0;
}

/* A release waits for what is queued. */
static int release(void *ptr) {
  int code = fake_cuda_leave();
  if (code == 0) code = refuse_in_capture();
  int32_t device = -1;
  run_waiting();
  int64_t bytes = fake_memory_is_device(ptr) ? fake_memory_release(ptr, &device) : -1;
  if (bytes < 0) return told(FAKE_CUDA_INVALID_VALUE); /* never allocated */
  fake.used_bytes[device] -= bytes;
  fake.counts.open_handles--;
  return code;
}

static int pinned_alloc(void **ptr, int64_t bytes) {
  int code = fake_cuda_enter_outside_capture();
  if (code != 0) return code;
  fake.counts.allocs++;
  *ptr = out_of_memory() ? NULL : fake_memory_alloc(-1, bytes, 1);
  if (!*ptr) return told(PLIM_CUDA_NO_MEMORY);
  fake.counts.open_handles++;
  return 0;
}

static int pinned_release(void *ptr) {
  int32_t device;
  run_waiting();
  if (!fake_memory_is_pinned(ptr) || fake_memory_release(ptr, &device) < 0) return told(FAKE_CUDA_INVALID_VALUE);
  fake.counts.open_handles--;
  int code = fake_cuda_leave();
  return code != 0 ? code : refuse_in_capture();
}

static int handle_new(void **handle) {
  int code = fake_cuda_enter();
  if (code != 0) return code;
  timing_event *made = malloc(sizeof *made);
  *made = (timing_event){current_device, -1};
  fake.counts.open_handles++;
  *handle = made;
  return 0;
}

static int handle_free(void *handle) {
  run_waiting();
  fake.counts.open_handles--;
  free(handle);
  return fake_cuda_leave();
}

static int stream_sync(void *stream) {
  int code = fake_cuda_enter_outside_capture();
  if (code == 0) code = foreign(stream);
  if (code != 0) return code;
  run_waiting();
  return told(fake.sticky[current_device]); /* what went wrong on the way */
}

static int event_record(void *event, void *stream) {
  if (((timing_event *)event)->passed_ns < 0) fake.counts.events_recorded++;
  int code = foreign(event);
  return code != 0 ? code : queue(&(work){.kind = MARK, .to = event}, stream);
}

static int event_wait(void *event, void *stream) {
  int code = fake_cuda_enter();
  (void)event; /* one of another device may be waited for */
  return code != 0 ? code : foreign(stream);
}

static int timing_event_record(void *handle, void *stream) {
  return queue(&(work){.kind = TIMING_EVENT, .to = handle}, stream);
}

static int elapsed(void *from, void *to, int64_t *time_ns) {
  const timing_event *a = from, *b = to;
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
  if (is_wrong(to, bytes) || is_wrong(from, bytes)) return told(FAKE_CUDA_INVALID_VALUE);
  if (pageable) {
    int code = refuse_in_capture();
    if (code != 0) return code;
  }
  int code = queue(&(work){.kind = COPY, .to = to, .from = from, .bytes = bytes}, stream);
  if (code == 0 && pageable) run_waiting();
  return code;
}

static int fill(void *to, int byte, int64_t bytes, void *stream) {
  if (!fake_memory_is_device(to) || is_wrong(to, bytes)) return told(FAKE_CUDA_INVALID_VALUE);
  return queue(&(work){.kind = FILL, .to = to, .byte = byte, .bytes = bytes}, stream);
}

static int launch(k_body body, const k_call *call, int64_t tiles, void *stream) {
  if (fake.options.refuse_body) return told(FAKE_CUDA_RESOURCES);
  return queue(&(work){.kind = LAUNCH, .body = body, .call = *call, .tiles = tiles}, stream);
}

static int capture_begin(void *stream) {
  int code = fake_cuda_enter();
  if (code == 0) code = foreign(stream);
  if (code != 0 || fake.recording) return code != 0 ? code : 900;
  fake.recording = calloc(1, sizeof *fake.recording);
  fake.recording->stream = stream;
  captures = 1;
  fake.counts.open_handles++;
  return 0;
}

static int captured_free(void *handle) {
  captured *c = handle;
  run_waiting();
  fake.counts.open_handles--;
  if (c->launchable) fake.beside_bytes[current_device] -= fake.options.graph_bytes;
  free(c->item);
  free(c);
  return fake_cuda_leave();
}

static int capture_end(void *stream, void **out) {
  int code = fake_cuda_enter();
  captured *c = fake.recording;
  (void)stream;
  if (!c) return 901;
  fake.recording = NULL;
  captures = 0;
  if (code == 0 && c->invalidated) code = told(FAKE_CUDA_INVALIDATED);
  if (code != 0) {
    (void)captured_free(c);
    return code;
  }
  fake.counts.captures++;
  fake.beside_bytes[current_device] += fake.options.graph_bytes;
  c->launchable = 1;
  *out = c;
  return 0;
}

static int captured_launch(void *handle, void *stream) {
  const captured *c = handle;
  int code = fake_cuda_enter_outside_capture();
  if (code == 0) code = foreign(stream);
  if (code != 0) return code;
  fake.counts.launches++;
  fake.beside_bytes[current_device] += fake.options.leak_bytes;
  for (int i = 0; i < c->n; i++) append(&fake.waiting, &c->item[i]);
  return 0;
}

static int blas_open(const plim_kernel_memory *memory, void **blas, int32_t *version, char *why, size_t why_bytes) {
  (void)memory;
  int code = fake_cuda_enter();
  *blas = NULL;
  if (code != 0 || !fake.options.blas) {
    (void)snprintf(why, why_bytes, "no library was found");
    return code;
  }
  fake.counts.open_handles++;
  *blas = malloc(sizeof(timing_event));
  *(timing_event *)*blas = (timing_event){current_device, -1};
  *version = 130100;
  return 0;
}

static int multiply(void *blas, const plim_cuda_product *product, const void *a, const void *b, void *c,
                    void *workspace, int64_t workspace_bytes, void *stream) {
  const void *space =
      fake_memory_is_device(workspace) ? fake_memory_stored(workspace, current_device, workspace_bytes) : NULL;
  if (!space || (uintptr_t)workspace % PRODUCT_ALIGNMENT != 0) return PLIM_CUBLAS_CODES + 7; /* invalid value */
  if (((const timing_event *)blas)->device != current_device) return PLIM_CUBLAS_CODES + 13; /* execution failed */
  if (fake.options.refuse_blas || (fake.options.no_bf16 && product->math == PLIM_PRECISION_BF16)) {
    return PLIM_CUBLAS_CODES + 15; /* not supported */
  }
  return queue(&(work){.kind = MULTIPLY, .to = c, .product = *product, .a = a, .b = b}, stream);
}

int fake_cuda_queue(void (*function)(const void *argument), const void *argument, size_t bytes, void *stream) {
  work w = {.kind = CALL, .function = function};
  memcpy(w.argument, argument, bytes);
  return queue(&w, stream);
}

int fake_cuda_queue_illegal(void *stream) {
  return queue(&(work){.kind = ILLEGAL}, stream);
}

void fake_cuda_hold(int more) {
  fake.counts.open_handles += more;
}

static void dnn_load(plim_cudnn_api *api, char *why, size_t why_bytes) {
  memset(api, 0, sizeof *api);
  if (fake.options.dnn) {
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
              {FAKE_CUDA_INVALIDATED, "operation failed due to a previous error during capture"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].code == code) return rows[i].words;
  }
  return "no driver";
}

static void clear(void) {
  last_error = 0;
}

static const plim_cuda_driver driver = {
    .count = count,
    .use = use,
    .current = current,
    .memory = memory,
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
    .event_wait = event_wait,
    .timing_event_new = handle_new,
    .timing_event_free = handle_free,
    .timing_event_record = timing_event_record,
    .elapsed = elapsed,
    .copy = copy,
    .fill = fill,
    .launch = launch,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .captured_launch = captured_launch,
    .captured_free = captured_free,
    .blas_open = blas_open,
    .blas_close = handle_free,
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
  free(fake.waiting.item);
  memset(&fake, 0, sizeof fake);
  fake_memory_forget();
  last_error = captures = current_device = 0;
  fake_cudnn_forget();
  fake.options = *options;
  return &driver;
}

void fake_cuda_fail_at(int64_t fail_at) {
  fake.options.fail_at = fail_at;
}

fake_cuda_counts fake_cuda_count(void) {
  return fake.counts;
}
