/* The fake GPU refuses what a real one refuses, and what it would get away with. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "tests/support/fake_cuda.h"

enum { BYTES = 4096, SIDE = 4, KEPT = 8 };

static const plim_cuda_driver *gpu;
static void *stream;
static char *memory; /* [BYTES] of the device */

/* What a test made; freed at its end. */
static struct {
  int (*release)(void *handle);
  void *handle;
} kept[KEPT];
static int n_kept;

static void keep(int (*release)(void *handle), void *handle) {
  cr_assert_lt(n_kept, KEPT);
  kept[n_kept].release = release;
  kept[n_kept++].handle = handle;
}

static void free_kept(void) {
  for (; n_kept > 0; n_kept--) (void)kept[n_kept - 1].release(kept[n_kept - 1].handle); /* it may tell a sticky error */
}

static void begin(fake_cuda_options options) {
  plim_cuda_facts facts;
  free_kept();
  gpu = fake_cuda_driver(&options);
  cr_assert_eq(gpu->use(0, &facts), 0);
  cr_assert_eq(gpu->stream_new(&stream), 0);
  keep(gpu->stream_free, stream);
  cr_assert_eq(gpu->alloc((void **)&memory, BYTES), 0);
}

static void setup(void) {
  begin(fake_cuda_options_default());
}
TestSuite(fake_cuda, .init = setup, .fini = free_kept);

/* A kernel that adds `a` to itself into memory + BYTES / 2. */
static int add(void *a) {
  const k_call call = {.in = {a, a}, .out = {memory + BYTES / 2}, .n_in = 2, .n_out = 1, .elements = SIDE};
  return gpu->launch(K_KERNEL_add, &call, 1, stream);
}

#ifndef PLIM_SANITIZED /* a sanitizer would report the signal instead */
Test(fake_cuda, the_host_cannot_touch_device_memory, .signal = SIGSEGV) {
  memory[0] = 1;
}
#endif

Test(fake_cuda, a_kernel_cannot_touch_memory_of_the_host_and_the_error_stays) {
  float on_host[SIDE] = {0};
  int64_t free_bytes, total;
  void *more;
  cr_assert_eq(add(on_host), 0, "a launch is told before it runs");
  cr_assert_eq(gpu->stream_sync(stream), FAKE_CUDA_ILLEGAL_ADDRESS);
  cr_assert_eq(gpu->stream_sync(stream), FAKE_CUDA_ILLEGAL_ADDRESS);
  cr_assert_eq(gpu->alloc(&more, BYTES), FAKE_CUDA_ILLEGAL_ADDRESS);
  cr_assert_eq(gpu->memory(&free_bytes, &total), FAKE_CUDA_ILLEGAL_ADDRESS);
  cr_assert_eq(gpu->current(0), FAKE_CUDA_ILLEGAL_ADDRESS);
  gpu->clear();
  cr_assert_eq(add(memory), FAKE_CUDA_ILLEGAL_ADDRESS);
}

Test(fake_cuda, copies_and_fills_stay_inside_one_allocation) {
  char host[2 * BYTES] = {0};
  cr_assert_eq(gpu->copy(memory, host, BYTES, stream), 0);
  cr_assert_eq(gpu->copy(memory, host, BYTES + 1, stream), FAKE_CUDA_INVALID_VALUE);
  cr_assert_eq(gpu->copy(host, memory + BYTES, 1, stream), FAKE_CUDA_INVALID_VALUE);
  cr_assert_eq(gpu->fill(memory, 0, BYTES + 1, stream), FAKE_CUDA_INVALID_VALUE);
  cr_assert_eq(gpu->fill(host, 0, 1, stream), FAKE_CUDA_INVALID_VALUE);
  cr_assert_eq(gpu->release(host), FAKE_CUDA_INVALID_VALUE);
}

Test(fake_cuda, memory_that_was_released_is_an_illegal_address) {
  void *captured = NULL;
  cr_assert_eq(add(memory), 0);
  cr_assert_eq(gpu->capture_begin(stream), 0);
  cr_assert_eq(add(memory), 0);
  cr_assert_eq(gpu->capture_end(stream, &captured), 0);
  keep(gpu->captured_free, captured);
  cr_assert_eq(gpu->release(memory), 0);
  cr_assert_eq(gpu->captured_launch(captured, stream), 0);
  cr_assert_eq(gpu->stream_sync(stream), FAKE_CUDA_ILLEGAL_ADDRESS);
}

Test(fake_cuda, pinned_memory_is_read_when_the_copy_runs_and_other_memory_at_once) {
  float plain[SIDE] = {1, 1, 1, 1}, *pinned = NULL, got[SIDE];
  cr_assert_eq(gpu->pinned_alloc((void **)&pinned, sizeof plain), 0);
  memcpy(pinned, plain, sizeof plain);
  cr_assert_eq(gpu->copy(memory, pinned, sizeof plain, stream), 0);
  pinned[0] = 2; /* too early */
  cr_assert_eq(gpu->stream_sync(stream), 0);
  cr_assert_eq(gpu->copy(got, memory, sizeof got, stream), 0);
  cr_assert_eq(got[0], 2);
  cr_assert_eq(gpu->copy(memory, plain, sizeof plain, stream), 0);
  plain[0] = 3;
  cr_assert_eq(gpu->copy(got, memory, sizeof got, stream), 0);
  cr_assert_eq(got[0], 1);
}

/* Each of them ends the capture. */
static int allocate(void) {
  void *made;
  return gpu->alloc(&made, BYTES);
}
static int wait_for(void) {
  return gpu->stream_sync(stream);
}
static int load(void) {
  return add(memory);
}
static int copy_plain(void) {
  static char host[16];
  return gpu->copy(memory, host, sizeof host, stream);
}

Test(fake_cuda, a_capture_forbids_allocations_waits_first_launches_and_plain_memory) {
  static int (*const forbidden[])(void) = {allocate, wait_for, load, copy_plain};
  for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
    void *captured = NULL;
    cr_assert_eq(gpu->capture_begin(stream), 0);
    cr_assert_eq(forbidden[i](), FAKE_CUDA_IN_CAPTURE, "%d", (int)i);
    cr_assert_eq(gpu->fill(memory, 0, 1, stream), FAKE_CUDA_INVALIDATED);
    cr_assert_eq(gpu->capture_end(stream, &captured), FAKE_CUDA_INVALIDATED);
    cr_assert_null(captured);
    cr_assert_eq(gpu->stream_sync(stream), 0);
  }
  cr_assert_eq(add(memory), 0); /* which loads it */
  void *captured = NULL;
  cr_assert_eq(gpu->capture_begin(stream), 0);
  cr_assert_eq(add(memory), 0);
  cr_assert_eq(gpu->capture_end(stream, &captured), 0);
  cr_assert_eq(gpu->captured_free(captured), 0);
}

static void *launch_on_another_thread(void *code) {
  *(int *)code = add(memory);
  return NULL;
}

Test(fake_cuda, a_thread_begins_on_device_0_and_streams_belong_to_their_device) {
  fake_cuda_options options = fake_cuda_options_default();
  pthread_t thread;
  void *event = NULL;
  int code = 0;
  options.devices = 2;
  begin(options);
  cr_assert_eq(gpu->current(1), 0);
  cr_assert_eq(add(memory), FAKE_CUDA_FOREIGN);
  cr_assert_eq(gpu->event_new(&event), 0);
  keep(gpu->event_free, event);
  cr_assert_eq(gpu->current(0), 0);
  cr_assert_eq(gpu->event_record(event, stream), FAKE_CUDA_FOREIGN);
  cr_assert_eq(gpu->current(1), 0);
  cr_assert_eq(gpu->stream_new(&stream), 0);
  keep(gpu->stream_free, stream);
  cr_assert_eq(pthread_create(&thread, NULL, launch_on_another_thread, &code), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  cr_assert_eq(code, FAKE_CUDA_FOREIGN);
  cr_assert_eq(add(memory), 0, "memory of device 0 by a stream of device 1");
  cr_assert_eq(gpu->stream_sync(stream), FAKE_CUDA_ILLEGAL_ADDRESS);
  cr_assert_eq(gpu->current(0), 0, "the other device goes on");
}

Test(fake_cuda, timing_events_pass_when_they_are_waited_for_and_their_clock_is_noisy) {
  fake_cuda_options options = fake_cuda_options_default();
  void *timing_event[2];
  int64_t time_ns = 0, least_ns = INT64_MAX, most_ns = 0;
  options.timing_event_ns = 1200;
  options.jitter_ns = 300;
  options.timing_event_step_ns = 500;
  begin(options);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(gpu->timing_event_new(&timing_event[i]), 0);
    keep(gpu->timing_event_free, timing_event[i]);
  }
  for (int i = 0; i < 50; i++) {
    for (int k = 0; k < 2; k++) cr_assert_eq(gpu->timing_event_record(timing_event[k], stream), 0);
    cr_assert_eq(gpu->elapsed(timing_event[0], timing_event[1], &time_ns), FAKE_CUDA_NOT_READY);
    cr_assert_eq(gpu->stream_sync(stream), 0);
    cr_assert_eq(gpu->elapsed(timing_event[0], timing_event[1], &time_ns), 0);
    cr_assert_eq(time_ns % 500, 0);
    least_ns = time_ns < least_ns ? time_ns : least_ns;
    most_ns = time_ns > most_ns ? time_ns : most_ns;
  }
  cr_assert(least_ns >= 0 && least_ns < 1200 && most_ns > 1200 && most_ns <= 2500, "%lld to %lld", (long long)least_ns,
            (long long)most_ns);
}

Test(fake_cuda, an_error_of_a_call_is_remembered_until_it_is_forgotten) {
  void *more;
  cr_assert_eq(gpu->alloc(&more, (int64_t)1 << 40), PLIM_CUDA_NO_MEMORY);
  cr_assert_eq(fake_cuda_last_error(), PLIM_CUDA_NO_MEMORY);
  gpu->clear();
  cr_assert_eq(fake_cuda_last_error(), 0);
}

Test(fake_cuda, allocations_are_aligned_as_asked_and_no_more) {
  fake_cuda_options options = fake_cuda_options_default();
  options.alignment = 256;
  begin(options);
  cr_assert_eq((uintptr_t)memory % 256, 0);
  cr_assert_neq((uintptr_t)memory % 512, 0);
}
