/* What the fake GPU does with work: into a capture or the list of what waits, and from there to the memory of the
 * device when something waits for it. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_cuda_internal.h"
#include "tests/support/kernel_reference.h"

#define PLIM_X(id, name) {&plim_kernels_##id, &plim_kernels_##id##_bf16},
#define PLIM_EXTERN(id, name) extern const k_kernels plim_kernels_##id, plim_kernels_##id##_bf16;
PLIM_ISAS(PLIM_EXTERN)
static const k_kernels *const all_kernels[][K_TYPE_COUNT] = {PLIM_ISAS(PLIM_X)};
#undef PLIM_EXTERN
#undef PLIM_X

/* ---- running ---- */

void fake_cuda_break(void) {
  fake_gpu.sticky[fake_gpu.performing] = FAKE_CUDA_ILLEGAL_ADDRESS;
}

void *fake_cuda_stored(const void *address, int64_t bytes) {
  void *stored = fake_memory_stored(address, fake_gpu.performing, bytes);
  if (!stored) fake_cuda_break();
  return stored;
}

static double element(const void *memory, int floats, int64_t e) {
  return floats ? (double)((const float *)memory)[e] : reference_of_bf16(((const uint16_t *)memory)[e]);
}

/* Elements from a stored row of a factor to the next, and those from its first element to its last, both counted. */
static int64_t row_of(int64_t row, int64_t columns) {
  return row > 0 ? row : columns;
}
static int64_t reach_of(int64_t row, int64_t rows, int64_t columns) {
  return (rows - 1) * row_of(row, columns) + columns;
}
static int64_t reach_of_a(const plim_cuda_product *p) {
  return p->a_transposed ? reach_of(p->a_row, p->k, p->m) : reach_of(p->a_row, p->m, p->k);
}
static int64_t reach_of_b(const plim_cuda_product *p) {
  return p->b_transposed ? reach_of(p->b_row, p->n, p->k) : reach_of(p->b_row, p->k, p->n);
}

/* One matrix of a batch, or the only one. */
static void multiply_one(const plim_cuda_product *p, const void *a, const void *b, void *to) {
  const int floats = p->precision != PLIM_PRECISION_BF16, c_is_f32 = floats || p->c_is_f32;
  const int64_t a_row = row_of(p->a_row, p->a_transposed ? p->m : p->k);
  const int64_t b_row = row_of(p->b_row, p->b_transposed ? p->k : p->n);
  for (int64_t i = 0; i < p->m; i++) {
    for (int64_t j = 0; j < p->n; j++) {
      const int64_t at = i * row_of(p->c_row, p->n) + j;
      double sum = p->beta == 0 ? 0 : (double)p->beta * element(to, c_is_f32, at);
      for (int64_t l = 0; l < p->k; l++) {
        sum += element(a, floats, p->a_transposed ? l * a_row + i : i * a_row + l) *
               element(b, floats, p->b_transposed ? j * b_row + l : l * b_row + j);
      }
      const float result = (float)sum;
      if (c_is_f32) {
        ((float *)to)[at] = result;
      } else {
        const k_call cast = {.in = {&result}, .out = {(uint16_t *)to + at}, .elements = 1};
        all_kernels[0][K_TYPE_BF16]->tile[K_KERNEL_cast](&cast, 0);
      }
    }
  }
}

/* In double precision: a reference rather than a library. */
static void multiply_now(const fake_cuda_work *w) {
  const plim_cuda_product *p = &w->product;
  const int64_t size = p->precision == PLIM_PRECISION_BF16 ? 2 : 4, size_c = p->c_is_f32 ? 4 : size;
  const int64_t last = p->batches > 1 ? p->batches - 1 : 0;
  const char *a = fake_cuda_stored(w->a, (last * p->a_step + reach_of_a(p)) * size);
  const char *b = fake_cuda_stored(w->b, (last * p->b_step + reach_of_b(p)) * size);
  char *to = fake_cuda_stored(w->to, (last * p->c_step + reach_of(p->c_row, p->m, p->n)) * size_c);
  if (!a || !b || !to || fake_gpu.options.hollow) return;
  for (int64_t i = 0; i <= last; i++) {
    multiply_one(p, a + i * p->a_step * size, b + i * p->b_step * size, to + i * p->c_step * size_c);
  }
}

/* A kernel may touch memory of its device alone. */
static void launch_now(const fake_cuda_work *w) {
  k_call call = w->call;
  int well = 1;
  fake_gpu.clock_ns += w->tiles * FAKE_CUDA_TILE_NS;
  for (int i = 0; i < PLIM_OP_MAX_IN; i++) well &= !call.in[i] || (call.in[i] = fake_cuda_stored(call.in[i], 1));
  for (int i = 0; i < PLIM_OP_MAX_OUT; i++) well &= !call.out[i] || (call.out[i] = fake_cuda_stored(call.out[i], 1));
  for (int i = 0; i < PLIM_OP_MAX_UPD; i++) well &= !call.upd[i] || (call.upd[i] = fake_cuda_stored(call.upd[i], 1));
  if (call.workspace) well &= (call.workspace = fake_cuda_stored(call.workspace, 1)) != NULL;
  if (call.now) well &= (call.now = fake_cuda_stored(call.now, 2 * sizeof *call.now)) != NULL;
  for (int64_t tile = 0; well && !fake_gpu.options.hollow && tile < w->tiles; tile++) {
    all_kernels[0][call.type]->tile[w->kernel](&call, tile);
  }
}

/* Whose ends were looked at when it was queued: memory that was released since is an illegal address. */
static void move_now(const fake_cuda_work *w) {
  const int from_device = w->kind == FAKE_CUDA_COPY && fake_memory_is_device(w->from);
  const void *from = from_device ? fake_cuda_stored(w->from, w->bytes) : w->from;
  void *to = fake_memory_is_device(w->to) ? fake_cuda_stored(w->to, w->bytes) : w->to;
  if (w->kind == FAKE_CUDA_COPY && from && to) memcpy(to, from, (size_t)w->bytes);
  if (w->kind == FAKE_CUDA_FILL && to) memset(to, w->byte, (size_t)w->bytes);
}

/* What the GPU's clock says at a timing event: a little off, in steps. */
static int64_t noisy_clock(void) {
  const int64_t jitter = fake_gpu.options.jitter_ns,
                step = fake_gpu.options.timing_event_step_ns > 0 ? fake_gpu.options.timing_event_step_ns : 1;
  fake_gpu.noise = fake_gpu.noise * 6364136223846793005U + 1442695040888963407U;
  const int64_t off = jitter > 0 ? (int64_t)(fake_gpu.noise >> 33) % (2 * jitter + 1) - jitter : 0;
  fake_gpu.clock_ns += fake_gpu.options.timing_event_ns;
  return (fake_gpu.clock_ns + off) / step * step;
}

static void perform(const fake_cuda_work *w) {
  fake_gpu.performing = w->device;
  if (fake_gpu.sticky[fake_gpu.performing]) return;
  if (w->kind == FAKE_CUDA_ILLEGAL) fake_cuda_break();
  if (w->kind == FAKE_CUDA_COPY || w->kind == FAKE_CUDA_FILL) move_now(w);
  if (w->kind == FAKE_CUDA_MULTIPLY) multiply_now(w);
  if (w->kind == FAKE_CUDA_CALL && !fake_gpu.options.hollow) w->function(w->argument);
  if (w->kind == FAKE_CUDA_TIMING_EVENT) ((fake_cuda_handle *)w->to)->passed_ns = noisy_clock();
  if (w->kind == FAKE_CUDA_MARK) ((fake_cuda_handle *)w->to)->passed_ns = fake_gpu.clock_ns;
  if (w->kind == FAKE_CUDA_LAUNCH || w->kind == FAKE_CUDA_CALL) fake_gpu.counts.kernels_run++;
  if (w->kind == FAKE_CUDA_LAUNCH && w->tiles > 0) fake_gpu.counts.runs_of[w->kernel]++;
  if (w->kind == FAKE_CUDA_MULTIPLY || w->kind == FAKE_CUDA_CALL) fake_gpu.clock_ns += FAKE_CUDA_TILE_NS;
  if (w->kind == FAKE_CUDA_LAUNCH) launch_now(w);
}

/* A timing event that is recorded again tells no time until that has passed. */
static void append(fake_cuda_list *list, const fake_cuda_work *w) {
  if (w->kind == FAKE_CUDA_TIMING_EVENT && list == &fake_gpu.waiting) ((fake_cuda_handle *)w->to)->passed_ns = -1;
  if (list->n == list->room) {
    list->room = 2 * list->room + 16;
    list->item = realloc(list->item, (size_t)list->room * sizeof *list->item);
  }
  list->item[list->n++] = *w;
}

static int same_stream(const fake_cuda_work *a, const fake_cuda_work *b) {
  return a->stream == b->stream && a->launch == b->launch;
}

/* May item i run? Streams keep their order; a wait comes after the last mark of its event that was queued before it. */
static int is_ready(const fake_cuda_list *list, int i) {
  const fake_cuda_work *w = &list->item[i];
  int marked = w->kind != FAKE_CUDA_WAIT;
  for (int k = i - 1; k >= 0; k--) {
    const fake_cuda_work *before = &list->item[k];
    if (before->device == w->device && same_stream(before, w) && !before->done) return 0;
    if (marked || before->kind != FAKE_CUDA_MARK || before->to != w->to) continue;
    if (!before->done) return 0;
    marked = 1;
  }
  return 1;
}

/* The next to run: of those that may, the one whose stream was queued on last, or first. -1: none is left. */
static int choose(const fake_cuda_list *list) {
  int chosen = -1;
  for (int i = 0; i < list->n; i++) {
    if (list->item[i].done || !is_ready(list, i)) continue;
    if (fake_gpu.options.order == FAKE_CUDA_LATE_FIRST || chosen < 0) chosen = i;
  }
  return chosen;
}

void fake_cuda_run_waiting(void) {
  fake_cuda_list *list = &fake_gpu.waiting;
  if (fake_gpu.options.order == FAKE_CUDA_AS_QUEUED) {
    for (int i = 0; i < list->n; i++) perform(&list->item[i]);
  } else {
    for (int i = choose(list); i >= 0; i = choose(list)) {
      list->item[i].done = 1;
      perform(&list->item[i]);
    }
  }
  list->n = 0;
}

/* ---- queueing ---- */

/* Modules are loaded by the first launch of a kernel, which allocates: not in a capture. */
static int load(const fake_cuda_work *w) {
  char *loaded = NULL;
  if (w->kind == FAKE_CUDA_LAUNCH) loaded = &fake_gpu.loaded[fake_gpu_thread.device][w->kernel][w->call.type];
  if (w->kind == FAKE_CUDA_MULTIPLY) {
    for (int i = 0; i < fake_gpu.products; i++) {
      const plim_cuda_product *p = &fake_gpu.product[i], *q = &w->product;
      if (p->m == q->m && p->n == q->n && p->k == q->k && p->precision == q->precision &&
          p->a_transposed == q->a_transposed && p->b_transposed == q->b_transposed && p->c_is_f32 == q->c_is_f32 &&
          p->batches == q->batches && (p->beta == 0) == (q->beta == 0))
        return 0;
    }
  }
  if ((w->kind != FAKE_CUDA_MULTIPLY && !loaded) || (loaded && *loaded)) return 0;
  int code = fake_cuda_refuse_in_capture();
  if (code != 0) return code;
  if (loaded) *loaded = 1;
  if (!loaded && fake_gpu.products < FAKE_CUDA_PRODUCTS) fake_gpu.product[fake_gpu.products++] = w->product;
  return 0;
}

static int captures(const void *stream) {
  const fake_cuda_list *c = fake_gpu.recording;
  for (int i = 0; c && i < c->n_streams; i++) {
    if (c->stream[i] == stream) return 1;
  }
  return 0;
}

int fake_cuda_put(fake_cuda_work *w, const void *stream) {
  int code = fake_cuda_enter();
  if (code == 0) code = fake_cuda_foreign(stream);
  fake_cuda_list *c = captures(stream) ? fake_gpu.recording : NULL;
  if (code == 0 && c && c->invalidated) code = fake_cuda_told(FAKE_CUDA_INVALIDATED);
  if (code == 0) code = load(w);
  if (code != 0) return code;
  w->device = fake_gpu_thread.device;
  w->stream = stream;
  if (w->kind == FAKE_CUDA_MARK) ((fake_cuda_handle *)w->to)->capture = c;
  if (w->kind == FAKE_CUDA_LAUNCH || w->kind == FAKE_CUDA_CALL) {
    fake_gpu.counts.kernels_queued++;
    if (!fake_gpu.any_loaded[fake_gpu_thread.device])
      fake_gpu.beside_bytes[fake_gpu_thread.device] += fake_gpu.options.module_bytes;
    fake_gpu.any_loaded[fake_gpu_thread.device] = 1;
  }
  append(c ? c : &fake_gpu.waiting, w);
  return 0;
}

int fake_cuda_event_wait(void *event, void *stream) {
  fake_cuda_list *c = fake_gpu.recording;
  int code = fake_cuda_enter();
  if (code == 0) code = fake_cuda_foreign(stream); /* the event may be of another device */
  if (code != 0) return code;
  const int inside = c && ((fake_cuda_handle *)event)->capture == c;
  if (captures(stream) && !inside) {
    c->invalidated = 1;
    return fake_cuda_told(FAKE_CUDA_ISOLATION);
  }
  if (inside && !captures(stream) && c->n_streams < FAKE_CUDA_STREAMS) c->stream[c->n_streams++] = stream;
  return fake_cuda_put(&(fake_cuda_work){.kind = FAKE_CUDA_WAIT, .to = event}, stream);
}

/* ---- captures ---- */

int fake_cuda_capture_begin(void *stream) {
  int code = fake_cuda_enter();
  if (code == 0) code = fake_cuda_foreign(stream);
  if (code != 0 || fake_gpu.recording) return code != 0 ? code : 900;
  fake_gpu.recording = calloc(1, sizeof *fake_gpu.recording);
  fake_gpu.recording->stream[0] = stream;
  fake_gpu.recording->n_streams = 1;
  fake_gpu_thread.captures = 1;
  fake_gpu.counts.open_handles++;
  return 0;
}

/* What was launched runs on. */
int fake_cuda_captured_free(void *handle) {
  fake_cuda_list *c = handle;
  fake_gpu.counts.open_handles--;
  if (c->launchable) fake_gpu.beside_bytes[fake_gpu_thread.device] -= fake_gpu.options.graph_bytes;
  free(c->item);
  free(c);
  return fake_cuda_leave();
}

/* Does the first stream wait for all that the others did? */
static int is_joined(const fake_cuda_list *c) {
  for (int s = 1; s < c->n_streams; s++) {
    const fake_cuda_work *last = NULL;
    int waited = 0;
    for (int i = 0; i < c->n; i++) {
      const fake_cuda_work *w = &c->item[i];
      if (w->stream == c->stream[s]) {
        last = w;
        waited = 0;
      }
      waited |= last && last->kind == FAKE_CUDA_MARK && w->kind == FAKE_CUDA_WAIT && w->to == last->to &&
                w->stream == c->stream[0];
    }
    if (!waited) return 0;
  }
  return 1;
}

int fake_cuda_capture_end(void *stream, void **out) {
  int code = fake_cuda_enter();
  fake_cuda_list *c = fake_gpu.recording;
  (void)stream;
  if (!c) return 901;
  fake_gpu.recording = NULL;
  fake_gpu_thread.captures = 0;
  if (code == 0 && c->invalidated) code = fake_cuda_told(FAKE_CUDA_INVALIDATED);
  if (code == 0 && !is_joined(c)) code = fake_cuda_told(FAKE_CUDA_UNJOINED);
  if (code != 0) {
    (void)fake_cuda_captured_free(c);
    return code;
  }
  fake_gpu.counts.captures++;
  fake_gpu.beside_bytes[fake_gpu_thread.device] += fake_gpu.options.graph_bytes;
  c->launchable = 1;
  *out = c;
  return 0;
}

int fake_cuda_captured_launch(void *handle, void *stream) {
  const fake_cuda_list *c = handle;
  int code = fake_cuda_enter_outside_capture();
  if (code == 0) code = fake_cuda_foreign(stream);
  if (code != 0) return code;
  fake_gpu.counts.launches++;
  fake_gpu.beside_bytes[fake_gpu_thread.device] += fake_gpu.options.leak_bytes;
  for (int i = 0; i < c->n; i++) {
    fake_cuda_work w = c->item[i];
    if (w.stream == c->stream[0]) {
      w.stream = stream;
    } else {
      w.launch = fake_gpu.counts.launches;
    }
    append(&fake_gpu.waiting, &w);
  }
  return 0;
}
