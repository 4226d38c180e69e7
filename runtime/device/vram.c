/* Divides a budget for all of a GPU's memory. The GPU provides memory in pages of 2 MiB. The bytes that the budget
 * leaves are rounded down to whole pages, so that an arena takes no more than its own bytes. */
#include "runtime/device/vram.h"

#include "runtime/base/size.h"
#include "runtime/device/device_cuda.h"

enum { PAGE_BYTES = 2 << 20 };

plim_status plim_vram_left(plim_device *device, int64_t budget_bytes, int64_t captured_bytes, int64_t *arena_bytes) {
  char budget[PLIM_SIZE_TEXT_BYTES], outside[PLIM_SIZE_TEXT_BYTES], left[PLIM_SIZE_TEXT_BYTES];
  plim_cuda_memory now = {.outside_bytes = 0};
  PLIM_TRY(plim_device_cuda_memory(device, &now));
  const int64_t taken = now.outside_bytes + captured_bytes;
  int64_t bytes = (budget_bytes - taken) / PAGE_BYTES * PAGE_BYTES;
  if (bytes <= 0) {
    return plim_fail(device->ctx, PLIM_ENOFIT,
                     "context, libraries, modules and captured steps take %s (%lld bytes) of the GPU, which leaves no "
                     "page of it for an arena below %s (%lld bytes)",
                     plim_size_print(taken, outside), (long long)taken, plim_size_print(budget_bytes, budget),
                     (long long)budget_bytes);
  }
  if (bytes > now.free_bytes) {
    return plim_fail(device->ctx, PLIM_ENOFIT,
                     "%s (%lld bytes) are more than the GPU can give now: %s are taken and %s (%lld bytes) free",
                     plim_size_print(budget_bytes, budget), (long long)budget_bytes,
                     plim_size_print(now.outside_bytes, outside), plim_size_print(now.free_bytes, left),
                     (long long)now.free_bytes);
  }
  *arena_bytes = bytes;
  return PLIM_OK;
}

plim_status plim_vram_check(plim_device *device, int64_t budget_bytes, int64_t arena_bytes) {
  char budget[PLIM_SIZE_TEXT_BYTES], arena[PLIM_SIZE_TEXT_BYTES], outside[PLIM_SIZE_TEXT_BYTES];
  plim_cuda_memory now = {.outside_bytes = 0};
  PLIM_TRY(plim_device_cuda_memory(device, &now));
  if (now.outside_bytes <= budget_bytes - arena_bytes) return PLIM_OK;
  return plim_fail(device->ctx, PLIM_ENOFIT,
                   "the GPU holds an arena of %s and %s (%lld bytes) outside of it, more than the %s (%lld bytes) that "
                   "it may; another program may have taken memory of it meanwhile",
                   plim_size_print(arena_bytes, arena), plim_size_print(now.outside_bytes, outside),
                   (long long)now.outside_bytes, plim_size_print(budget_bytes, budget), (long long)budget_bytes);
}
