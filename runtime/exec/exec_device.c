/* Every request of an executor to its device goes through here: memory, copies, the clock. Where the caller computes by
 * itself there may be no device, and the host answers. plim_exec_open checks that there is a device otherwise. */
#include "runtime/exec/exec_device.h"

#include <string.h>

#include "runtime/device/guarded.h"

plim_status plim_exec_device_alloc(const plim_exec *exec, int64_t bytes, int resident, void **out) {
  return exec->device ? exec->device->api->memory.alloc(exec->device, bytes, out)
                      : plim_guarded_alloc(exec->ctx, bytes, resident, out);
}

void plim_exec_device_release(const plim_exec *exec, void *ptr, int64_t bytes) {
  if (!ptr) return;
  if (exec->device) {
    exec->device->api->memory.release(exec->device, ptr, bytes);
  } else {
    plim_guarded_free(ptr, bytes);
  }
}

plim_status plim_exec_device_resize(const plim_exec *exec, int64_t to_bytes, int64_t *returned) {
  plim_device *device = exec->device;
  const plim_memory_region *arena = &exec->spaces.memory[0];
  if (!device) return plim_guarded_resize(exec->ctx, arena->base, arena->bytes, to_bytes, 1, returned);
  if (!device->api->memory.resize) return PLIM_OK;
  return device->api->memory.resize(device, arena->base, arena->bytes, to_bytes, returned);
}

plim_status plim_exec_device_copy(const plim_exec *exec, void *to, const void *from, int64_t bytes) {
  if (exec->device) return exec->device->api->queues.copy(exec->device, 0, to, from, bytes);
  memcpy(to, from, (size_t)bytes);
  return PLIM_OK;
}

plim_status plim_exec_device_sync(const plim_exec *exec) {
  return exec->device ? exec->device->api->queues.sync(exec->device) : PLIM_OK;
}

int64_t plim_exec_device_clock(const plim_exec *exec) {
  return exec->device ? exec->device->api->queues.clock(exec->device) : plim_now_ns();
}

const plim_device_watch *plim_exec_device_watch(const plim_exec *exec) {
  return exec->device ? exec->device->api->watch : NULL;
}

int32_t plim_exec_device_queues(const plim_exec *exec) {
  return exec->device ? exec->device->api->n_queues : 0;
}

int32_t plim_exec_device_threads(const plim_exec *exec) {
  return exec->device ? exec->device->machine.threads : 1;
}

int plim_exec_device_host_visible(const plim_exec *exec) {
  return !exec->device || exec->device->api->host_visible;
}
