/* Measures copies between a GPU and page-locked memory. The medians of several copies count. Two sizes give a line: the
 * slope is the bandwidth, the rest the latency. */
#include "runtime/profile/device_link.h"

#include "runtime/base/integers.h"

enum { REPEATS = 7 };
static const int64_t small_bytes = (int64_t)64 << 10, large_bytes = (int64_t)32 << 20;

typedef struct buffers {
  plim_device *device;
  void *arena, *host[2]; /* halves of `arena` go with one of `host` each */
} buffers;

static plim_status queue_copy(const buffers *memory, int32_t queue, int in, int64_t bytes) {
  char *own = (char *)memory->arena + (in ? large_bytes : 0);
  void *paged = memory->host[in ? 1 : 0];
  return memory->device->api->queues.copy(memory->device, queue, in ? (void *)own : paged, in ? paged : (void *)own,
                                          bytes);
}

/* Median time of one copy, or of two at once. */
static plim_status time_copies(const buffers *memory, int out, int in, int64_t bytes, int64_t *median_ns) {
  int64_t time_ns[REPEATS];
  for (int i = 0; i < REPEATS; i++) {
    const int64_t begin_ns = plim_now_ns();
    if (out) PLIM_TRY(queue_copy(memory, 1, 0, bytes));
    if (in) PLIM_TRY(queue_copy(memory, 2, 1, bytes));
    PLIM_TRY(memory->device->api->queues.sync(memory->device));
    time_ns[i] = plim_now_ns() - begin_ns;
  }
  plim_integers_sort(time_ns, REPEATS);
  *median_ns = time_ns[REPEATS / 2] > 0 ? time_ns[REPEATS / 2] : 1;
  return PLIM_OK;
}

static plim_status measure(const buffers *memory, plim_page_link *link) {
  int64_t both_ns = 0;
  for (int in = 0; in < 2; in++) {
    int64_t small_ns = 0, large_ns = 0;
    PLIM_TRY(time_copies(memory, !in, in, large_bytes, &large_ns));
    PLIM_TRY(time_copies(memory, !in, in, small_bytes, &small_ns));
    plim_page_link_fit(link, in, small_bytes, small_ns, large_bytes, large_ns);
    link->beside_bytes_per_ns[in] = link->bytes_per_ns[in];
  }
  PLIM_TRY(time_copies(memory, 1, 1, large_bytes, &both_ns));
  link->beside_bytes_per_ns[PLIM_LINK_BOTH] = (double)large_bytes / (double)both_ns;
  return PLIM_OK;
}

plim_status plim_device_link_measure(plim_device *device, plim_page_link *out) {
  buffers memory = {.device = device};
  plim_page_link link = {.latency_ns = {0}};
  plim_status status;
  PLIM_TRY_OR_DONE(device->api->memory.alloc(device, 2 * large_bytes, &memory.arena));
  PLIM_TRY_OR_DONE(device->api->memory.alloc_pinned(device, large_bytes, &memory.host[0]));
  PLIM_TRY_OR_DONE(device->api->memory.alloc_pinned(device, large_bytes, &memory.host[1]));
  PLIM_TRY_OR_DONE(measure(&memory, &link));
  *out = link;
done:
  for (int i = 0; i < 2; i++) device->api->memory.release_pinned(device, memory.host[i]);
  if (memory.arena) device->api->memory.release(device, memory.arena, 2 * large_bytes);
  return status;
}

plim_page_link plim_device_link_model(void) {
  return (plim_page_link){.latency_ns = {10000, 10000}, .bytes_per_ns = {20, 20}, .beside_bytes_per_ns = {20, 20, 16}};
}
