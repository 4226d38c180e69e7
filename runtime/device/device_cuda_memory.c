/* The cuda device: memory. Arenas and other device memory, pinned host memory, and the free bytes of the GPU; and the
 * energy that it has drawn. */
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/device/device_cuda_internal.h"

/* Align an allocation to PLIM_ALIGN. The driver promises less, but nearly always gives it. When it does not, replace
 * the allocation by a larger one, and use an aligned address in it.
 *   code  out  result of the driver. After a failure of driver or host there is no allocation
 * PLIM_ENOMEM: the host has no memory to note the start of the larger one. */
static plim_status align(plim_device *device, int64_t bytes, void **ptr, int *code) {
  plim_cuda_state *cuda = device->state;
  const uintptr_t off = (uintptr_t)*ptr % PLIM_ALIGN;
  int64_t row = 0;
  if (off == 0) return PLIM_OK;
  (void)cuda->driver->release(*ptr);
  while (row < cuda->n_moved && cuda->moved[row].given) row++;
  PLIM_TRY(plim_array_reserve(device->ctx, &cuda->moved, &cuda->n_moved, row + 1, sizeof *cuda->moved));
  *code = cuda->driver->alloc(ptr, bytes + PLIM_ALIGN);
  if (*code != 0) return PLIM_OK;
  cuda->moved[row].base = *ptr;
  *ptr = (char *)*ptr + (PLIM_ALIGN - (uintptr_t)*ptr % PLIM_ALIGN) % PLIM_ALIGN;
  cuda->moved[row].given = *ptr;
  return PLIM_OK;
}

/* The start of the allocation, by which it must be freed. */
static void *base_of(plim_cuda_state *cuda, void *ptr) {
  for (int64_t i = 0; i < cuda->n_moved; i++) {
    if (cuda->moved[i].given != ptr) continue;
    cuda->moved[i].given = NULL;
    return cuda->moved[i].base;
  }
  return ptr;
}

plim_status plim_cuda_alloc(plim_device *device, int64_t bytes, void **out) {
  plim_cuda_state *cuda = device->state;
  int64_t free_bytes = 0, total = 0;
  void *ptr = NULL;
  PLIM_TRY(plim_cuda_enter(device));
  int code = cuda->driver->alloc(&ptr, bytes > 0 ? bytes : 1);
  if (code == 0) PLIM_TRY(align(device, bytes, &ptr, &code));
  if (code == PLIM_CUDA_NO_MEMORY && cuda->driver->memory(&free_bytes, &total) == 0) {
    cuda->driver->clear();
    return plim_fail(device->ctx, PLIM_ENOFIT, "%lld bytes are more than cuda:%d has free, %lld of %lld",
                     (long long)bytes, (int)device->index, (long long)free_bytes, (long long)total);
  }
  PLIM_TRY(plim_cuda_check(device, code, "allocating on the GPU"));
  cuda->arenas += bytes;
  *out = ptr;
  return PLIM_OK;
}

void plim_cuda_release(plim_device *device, void *ptr, int64_t bytes) {
  plim_cuda_state *cuda = device->state;
  if (!ptr) return;
  (void)cuda->driver->current(device->index);
  plim_cuda_graph_cache_invalidate(&cuda->graphs, cuda->driver, ptr);
  if (cuda->driver->release(base_of(cuda, ptr)) == 0) cuda->arenas -= bytes;
}

void plim_cuda_wait_for_copies(const plim_cuda_state *cuda) {
  int well = 1;
  for (int i = 0; i < PLIM_CUDA_QUEUES; i++) {
    if (cuda->busy & 1U << i) well &= cuda->driver->stream_sync(cuda->stream[i]) == 0;
  }
  if (!well) cuda->driver->clear();
}

plim_status plim_cuda_alloc_pinned(plim_device *device, int64_t bytes, void **out) {
  plim_cuda_state *cuda = device->state;
  PLIM_TRY(plim_cuda_enter(device));
  return plim_cuda_check(device, cuda->driver->pinned_alloc(out, bytes > 0 ? bytes : 1), "pinning host memory");
}

/* Works on a lost device too, and keeps the sentence of its failure. */
void plim_cuda_release_pinned(plim_device *device, void *ptr) {
  const plim_cuda_state *cuda = device->state;
  if (!ptr) return;
  (void)cuda->driver->current(device->index);
  plim_cuda_wait_for_copies(cuda);
  if (cuda->driver->pinned_release(ptr) != 0) cuda->driver->clear();
}

plim_status plim_device_cuda_memory(plim_device *device, plim_cuda_memory *out) {
  if (!plim_device_is_gpu(device)) {
    return plim_fail(device->ctx, PLIM_EUSAGE, "a budget of a GPU's memory needs a GPU; this device is %s",
                     device->machine.device);
  }
  const plim_cuda_state *cuda = device->state;
  int64_t free_now, total;
  PLIM_TRY(plim_cuda_enter(device));
  PLIM_TRY(plim_cuda_check(device, cuda->driver->memory(&free_now, &total), "asking for free memory"));
  *out = (plim_cuda_memory){.outside_bytes = cuda->free_before - free_now - cuda->arenas,
                            .free_bytes = free_now,
                            .settled_bytes = cuda->settled,
                            .context_known = cuda->context_known};
  return PLIM_OK;
}

int64_t plim_device_cuda_energy_mj(const plim_device *device) {
  if (!plim_device_is_gpu(device)) return -1;
  return ((const plim_cuda_state *)device->state)->driver->energy_mj(device->index);
}
