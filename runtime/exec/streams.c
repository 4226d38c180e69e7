/* Runs plans that page on a GPU. Copies and kernels are put on several queues of the GPU, which run side by side, and
 * wait for each other by events: that of command j is COMMAND_EVENT + j, and those below it begin and end the queues. A
 * command marks its event only when a command of another queue waits for it. */
#include "runtime/exec/streams.h"

#include <string.h>

#include "runtime/exec/exec_device.h"

enum {
  BEGIN_EVENT,
  END_EVENT, /* the first of one for each queue; that of queue 0 is not used */
  COMMAND_EVENT = END_EVENT + PLIM_PLAN_QUEUES
};

int plim_streams_has(const plim_exec *exec) {
  return exec->device && plim_device_has_queues(exec->device);
}

/* ---- commands ---- */

static plim_status begin_queues(const plim_exec *exec) {
  plim_device *device = exec->device;
  if (exec->queues.n > 1) PLIM_TRY(device->api->queues.mark(device, 0, BEGIN_EVENT));
  for (int32_t q = 1; q < exec->queues.n; q++) PLIM_TRY(device->api->queues.wait(device, q, BEGIN_EVENT));
  return PLIM_OK;
}

static plim_status end_queues(const plim_exec *exec) {
  plim_device *device = exec->device;
  for (int32_t q = 1; q < exec->queues.n; q++) {
    PLIM_TRY(device->api->queues.mark(device, q, END_EVENT + q));
    PLIM_TRY(device->api->queues.wait(device, 0, END_EVENT + q));
  }
  return PLIM_OK;
}

plim_status plim_streams_before(const plim_exec *exec, const plim_bound_plan *bound, int32_t j) {
  plim_device *device = exec->device;
  const plim_bound_wait *wait = &bound->wait[j];
  if (j == 0) PLIM_TRY(begin_queues(exec));
  for (int32_t q = 0; q < exec->queues.n && wait->any; q++) {
    if (wait->need[q] == 0) continue;
    const int32_t last = bound->queue_command[bound->queue_first[q] + wait->need[q] - 1];
    PLIM_TRY(device->api->queues.wait(device, bound->plan->command[j].queue, COMMAND_EVENT + last));
  }
  return PLIM_OK;
}

plim_status plim_streams_after(const plim_exec *exec, const plim_bound_plan *bound, int32_t j) {
  plim_device *device = exec->device;
  if (bound->wait[j].awaited) {
    PLIM_TRY(device->api->queues.mark(device, bound->plan->command[j].queue, COMMAND_EVENT + j));
  }
  return j + 1 == bound->plan->n_commands ? end_queues(exec) : PLIM_OK;
}

plim_status plim_streams_copy(const plim_exec *exec, const plim_bound_plan *bound, int32_t j) {
  const plim_command *command = &bound->plan->command[j];
  void *const *pointer = bound->pointer + bound->command[j].first;
  return exec->device->api->queues.copy(exec->device, command->queue, pointer[1], pointer[0],
                                        bound->graph->storage[command->storage].bytes);
}

/* ---- page spaces ---- */

plim_status plim_streams_grow_page(const plim_exec *exec, plim_memory_region *page, int64_t bytes) {
  void *pinned = NULL;
  PLIM_TRY(exec->device->api->memory.alloc_pinned(exec->device, bytes, &pinned));
  memset(pinned, 0, (size_t)bytes);
  if (page->bytes > 0) memcpy(pinned, page->base, (size_t)page->bytes);
  plim_streams_close_page(exec, page);
  *page = (plim_memory_region){.base = pinned, .bytes = bytes, .fd = -1};
  return PLIM_OK;
}

void plim_streams_close_page(const plim_exec *exec, plim_memory_region *page) {
  if (page->bytes == 0) return;
  exec->device->api->memory.release_pinned(exec->device, page->base);
  *page = (plim_memory_region){.fd = -1};
}
