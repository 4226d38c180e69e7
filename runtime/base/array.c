/* Arrays that grow by doubling, and blocks carved in two passes. */
#include "runtime/base/array.h"

#include <string.h>

plim_status plim_array_reserve(plim_context *ctx, void *array, int64_t *capacity, int64_t count, size_t size) {
  if (count <= *capacity) return PLIM_OK;
  int64_t twice = *capacity > INT64_MAX / 2 ? count : *capacity * 2;
  int64_t wanted = twice > count ? twice : count;
  if (wanted < 16) wanted = 16;
  PLIM_TRY(plim_resize_array(ctx, array, *capacity, wanted, size));
  *capacity = wanted;
  return PLIM_OK;
}

void *plim_block_take(plim_block *block, int64_t count, size_t size) {
  int64_t start = block->bytes < 0 ? -1 : plim_align_up(block->bytes, 16);
  block->bytes = plim_add_checked(start, plim_mul_checked(count, (int64_t)size));
  return block->base && block->bytes >= 0 ? block->base + start : NULL;
}

plim_status plim_block_allocate(plim_context *ctx, plim_block *block) {
  if (block->bytes < 0) return plim_fail(ctx, PLIM_EOVERFLOW, "the size of a document overflows 63 bits");
  PLIM_TRY(plim_allocate(ctx, block->bytes, 1, &block->base));
  block->bytes = 0;
  return PLIM_OK;
}

void plim_block_release(plim_context *ctx, plim_block *block) {
  if (block->base) plim_release(ctx, block->base, block->bytes, 1);
  *block = (plim_block){.base = NULL};
}

const int32_t *plim_ids_copy(int32_t **next, const int32_t *from, int32_t n) {
  int32_t *to = *next;
  if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
  *next += n;
  return to;
}
