/* Memory of kernels on the host: the hook that a table was given, or malloc. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/table.h"

static void *resize_malloc(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
  (void)user, (void)old_bytes;
  if (new_bytes > 0) return realloc(ptr, new_bytes);
  free(ptr);
  return NULL;
}

const plim_kernel_memory *plim_kernel_malloc(void) {
  static const plim_kernel_memory memory = {.resize = resize_malloc};
  return &memory;
}

void *plim_kernel_allocate(const plim_kernel_memory *memory, size_t count, size_t size) {
  if (count == 0 || size == 0 || count > SIZE_MAX / size) return NULL;
  void *ptr = memory->resize(memory->user, NULL, 0, count * size);
  if (ptr) memset(ptr, 0, count * size);
  return ptr;
}

void plim_kernel_release(const plim_kernel_memory *memory, void *ptr, size_t count, size_t size) {
  if (ptr) (void)memory->resize(memory->user, ptr, count * size, 0);
}
