/* Every function begins with fake_cuda_enter(), which counts the call and fails it when its turn has come; those that
 * look into device memory open it for as long as they do. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tests/support/fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/cuda/cublas.h"
#include "kernels/isa.h"
#include "tests/support/fake_cudnn.h"
#include "tests/support/kernel_reference.h"

enum { MOST_BLOCKS = 2048, MOST_DEVICES = 4 };

typedef enum kind { COPY, FILL, LAUNCH, MULTIPLY, TICK, CALL, ILLEGAL } kind;

/* Streams, events and ticks belong to a device. */
typedef struct handle {
  int32_t device;
  int64_t passed_ns; /* of a tick; -1: not yet */
} tick;

/* What can be queued. */
typedef struct work {
  kind kind;
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

typedef struct captured {
  int n, room, launchable, invalidated;
  work *item;
} captured;

typedef struct block {
  void *ptr;
  int64_t bytes;
  int32_t device;
} block;

static struct {
  fake_cuda_options options;
  fake_cuda_counts counts;
  block device[MOST_BLOCKS];
  int blocks;                                                   /* rows of it that were ever in use */
  int64_t used_bytes[MOST_DEVICES], beside_bytes[MOST_DEVICES]; /* by allocations; by what lies beside them */
  int loaded, sticky[MOST_DEVICES]; /* sticky: the error that every call of the device returns from now on */
  captured *recording;
  int64_t clock_ns; /* what has run so far: FAKE_CUDA_TILE_NS a tile */
} fake;

#define PLIM_X(id, name) {&plim_bodies_##id, &plim_bodies_##id##_bf16},
#define PLIM_EXTERN(id, name) extern const k_bodies plim_bodies_##id, plim_bodies_##id##_bf16;
PLIM_ISAS(PLIM_EXTERN)
static const k_bodies *const all_bodies[][K_TYPE_COUNT] = {PLIM_ISAS(PLIM_X)};
#undef PLIM_EXTERN
#undef PLIM_X

/* As in the runtime library: each thread has its own, 0 at first. */
static _Thread_local int32_t current_device;
static _Thread_local int last_error;

/* What the runtime library remembers until it is asked. */
static int told(int code) {
  if (code != 0) last_error = code;
  return code;
}

/* Does the handle belong to the device that this thread uses now? */
static int foreign(const void *of) {
  if (!of || ((const tick *)of)->device == current_device) return 0;
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

int fake_cuda_enter_outside_capture(void) {
  int code = fake_cuda_enter();
  if (code != 0 || !fake.recording) return code;
  fake.recording->invalidated = 1;
  return told(FAKE_CUDA_IN_CAPTURE);
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

static void allow(int protection) {
  for (int i = 0; i < fake.blocks && !fake.options.open_memory; i++) {
    if (fake.device[i].ptr) (void)mprotect(fake.device[i].ptr, (size_t)fake.device[i].bytes, protection);
  }
}

static double element(const void *memory, int floats, int64_t e) {
  return floats ? (double)((const float *)memory)[e] : reference_of_bf16(((const uint16_t *)memory)[e]);
}

/* In double precision: a reference rather than a library. */
static void multiply_now(const work *w) {
  const plim_cuda_product *p = &w->product;
  const int floats = p->math != PLIM_MATH_BF16, to_floats = floats || p->to_floats;
  for (int64_t i = 0; i < p->m; i++) {
    for (int64_t j = 0; j < p->n; j++) {
      const int64_t at = i * p->n + j;
      double sum = p->beta == 0 ? 0 : (double)p->beta * element(w->to, to_floats, at);
      for (int64_t l = 0; l < p->k; l++) {
        sum += element(w->a, floats, p->a_across ? l * p->m + i : i * p->k + l) *
               element(w->b, floats, p->b_across ? j * p->k + l : l * p->n + j);
      }
      const float result = (float)sum;
      if (to_floats) {
        ((float *)w->to)[at] = result;
      } else {
        const k_call cast = {.in = {&result}, .out = {(uint16_t *)w->to + at}, .elements = 1};
        all_bodies[0][K_TYPE_BF16]->tile[K_BODY_cast](&cast, 0);
      }
    }
  }
}

static void perform(const work *w) {
  if (fake.sticky[current_device]) return;
  if (w->kind == ILLEGAL) fake.sticky[current_device] = FAKE_CUDA_ILLEGAL_ADDRESS;
  if (w->kind == COPY) memcpy(w->to, w->from, (size_t)w->bytes);
  if (w->kind == FILL) memset(w->to, w->byte, (size_t)w->bytes);
  if (w->kind == MULTIPLY && !fake.options.hollow) multiply_now(w);
  if (w->kind == CALL && !fake.options.hollow) w->function(w->argument);
  if (w->kind == TICK) ((tick *)w->to)->passed_ns = fake.clock_ns;
  if (w->kind == LAUNCH || w->kind == CALL) fake.counts.kernels_run++;
  if (w->kind == MULTIPLY || w->kind == CALL) fake.clock_ns += FAKE_CUDA_TILE_NS;
  if (w->kind != LAUNCH) return;
  fake.clock_ns += w->tiles * FAKE_CUDA_TILE_NS;
  const int64_t computed = fake.options.hollow ? 0 : w->tiles;
  for (int64_t tile = 0; tile < computed; tile++) all_bodies[0][w->call.type]->tile[w->body](&w->call, tile);
}

static int queue(const work *w, const void *stream) {
  captured *c = fake.recording;
  int code = fake_cuda_enter();
  if (code == 0) code = foreign(stream);
  if (code == 0 && c && c->invalidated) code = FAKE_CUDA_INVALIDATED;
  if (code != 0) return code;
  if (w->kind == LAUNCH || w->kind == CALL) {
    fake.counts.kernels_queued++;
    if (!fake.loaded++) fake.beside_bytes[current_device] += fake.options.module_bytes;
  }
  if (!c) {
    allow(PROT_READ | PROT_WRITE);
    perform(w);
    allow(PROT_NONE);
    return 0;
  }
  if (c->n == c->room) {
    c->room = 2 * c->room + 16;
    c->item = realloc(c->item, (size_t)c->room * sizeof *c->item);
  }
  c->item[c->n++] = *w;
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
  return 0;
}

static int memory(int64_t *free_bytes, int64_t *total_bytes) {
  int code = fake_cuda_enter();
  *free_bytes = fake.options.memory_bytes - fake.used_bytes[current_device] - fake.beside_bytes[current_device];
  *total_bytes = fake.options.memory_bytes;
  return code;
}

static int out_of_memory(void) {
  return fake.options.fail_alloc_at > 0 && --fake.options.fail_alloc_at == 0;
}

static int alloc(void **ptr, int64_t bytes) {
  int code = fake_cuda_enter(), slot = 0;
  if (code != 0) return code;
  fake.counts.allocs++;
  if (out_of_memory() ||
      bytes > fake.options.memory_bytes - fake.used_bytes[current_device] - fake.beside_bytes[current_device])
    return told(PLIM_CUDA_NO_MEMORY);
  while (slot < MOST_BLOCKS && fake.device[slot].ptr) slot++;
  void *made = mmap(NULL, (size_t)bytes, fake.options.open_memory ? PROT_READ | PROT_WRITE : PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (slot == MOST_BLOCKS || made == MAP_FAILED) return PLIM_CUDA_NO_MEMORY;
  fake.device[slot] = (block){made, bytes, current_device};
  if (slot >= fake.blocks) fake.blocks = slot + 1;
  fake.used_bytes[current_device] += bytes;
  fake.counts.open_handles++;
  *ptr = made;
  return 0;
}

static int release(void *ptr) {
  int code = fake_cuda_leave();
  for (int i = 0; i < fake.blocks; i++) {
    if (fake.device[i].ptr != ptr) continue;
    (void)munmap(ptr, (size_t)fake.device[i].bytes);
    fake.used_bytes[fake.device[i].device] -= fake.device[i].bytes;
    fake.device[i].ptr = NULL;
    fake.counts.open_handles--;
    return code;
  }
  return 1; /* never allocated */
}

static int pinned_alloc(void **ptr, int64_t bytes) {
  int code = fake_cuda_enter();
  if (code != 0) return code;
  fake.counts.allocs++;
  if (out_of_memory()) return PLIM_CUDA_NO_MEMORY;
  fake.counts.open_handles++;
  *ptr = calloc(1, (size_t)bytes);
  return 0;
}

static int pinned_release(void *ptr) {
  fake.counts.open_handles--;
  free(ptr);
  return fake_cuda_leave();
}

static int handle_new(void **handle) {
  int code = fake_cuda_enter();
  if (code != 0) return code;
  tick *made = malloc(sizeof *made);
  *made = (tick){current_device, -1};
  fake.counts.open_handles++;
  *handle = made;
  return 0;
}

static int handle_free(void *handle) {
  fake.counts.open_handles--;
  free(handle);
  return fake_cuda_leave();
}

static int stream_sync(void *stream) {
  int code = fake_cuda_enter();
  return code != 0 ? code : foreign(stream);
}

static int event_record(void *event, void *stream) {
  int code = fake_cuda_enter();
  if (((tick *)event)->passed_ns < 0) fake.counts.events_recorded++;
  ((tick *)event)->passed_ns = fake.clock_ns;
  if (code == 0) code = foreign(event);
  return code != 0 ? code : foreign(stream);
}

static int event_wait(void *event, void *stream) {
  int code = fake_cuda_enter();
  (void)event; /* one of another device may be waited for */
  return code != 0 ? code : foreign(stream);
}

static int tick_record(void *handle, void *stream) {
  return queue(&(work){.kind = TICK, .to = handle}, stream);
}

static int elapsed(void *from, void *to, int64_t *time_ns) {
  const tick *a = from, *b = to;
  int code = fake_cuda_enter();
  if (code == 0 && (a->passed_ns < 0 || b->passed_ns < a->passed_ns)) return FAKE_CUDA_NOT_READY;
  *time_ns = b->passed_ns - a->passed_ns;
  return code;
}

static int copy(void *to, const void *from, int64_t bytes, void *stream) {
  return queue(&(work){.kind = COPY, .to = to, .from = from, .bytes = bytes}, stream);
}

static int fill(void *to, int byte, int64_t bytes, void *stream) {
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
  fake.counts.open_handles++;
  return 0;
}

static int captured_free(void *handle) {
  captured *c = handle;
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
  if (code == 0 && c->invalidated) code = FAKE_CUDA_INVALIDATED;
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
  int code = fake_cuda_enter();
  if (code == 0) code = foreign(stream);
  if (code != 0) return code;
  fake.counts.launches++;
  fake.beside_bytes[current_device] += fake.options.leak_bytes;
  allow(PROT_READ | PROT_WRITE);
  for (int i = 0; i < c->n; i++) perform(&c->item[i]);
  allow(PROT_NONE);
  return 0;
}

static int blas_open(void **blas, int32_t *version, char *why, size_t why_bytes) {
  int code = fake_cuda_enter();
  *blas = NULL;
  if (code != 0 || !fake.options.blas) {
    (void)snprintf(why, why_bytes, "no library was found");
    return code;
  }
  fake.counts.open_handles++;
  *blas = malloc(1);
  *version = 130100;
  return 0;
}

static int multiply(void *blas, const plim_cuda_product *product, const void *a, const void *b, void *c,
                    void *workspace, int64_t workspace_bytes, void *stream) {
  (void)blas, (void)workspace, (void)workspace_bytes;
  if (fake.options.refuse_blas || (fake.options.no_bf16 && product->math == PLIM_MATH_BF16)) {
    return PLIM_CUBLAS_CODES + 15; /* not supported */
  }
  return queue(&(work){.kind = MULTIPLY, .to = c, .product = *product, .a = a, .b = b}, stream);
}

int fake_cuda_queue(void (*function)(const void *argument), const void *argument, size_t bytes) {
  work w = {.kind = CALL, .function = function};
  memcpy(w.argument, argument, bytes);
  return queue(&w, NULL);
}

int fake_cuda_queue_illegal(void) {
  return queue(&(work){.kind = ILLEGAL}, NULL);
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
    .tick_new = handle_new,
    .tick_free = handle_free,
    .tick_record = tick_record,
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
  return (fake_cuda_options){.devices = 1, .major = 9, .minor = 0, .memory_bytes = (int64_t)1 << 30};
}

const plim_cuda_driver *fake_cuda_driver(const fake_cuda_options *options) {
  memset(&fake, 0, sizeof fake);
  last_error = 0;
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
