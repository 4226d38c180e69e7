/* Arrays that grow, and blocks: one allocation carved into all the arrays of a document. An array belongs to one thread
 * at a time. */
#ifndef PLIM_RUNTIME_BASE_ARRAY_H
#define PLIM_RUNTIME_BASE_ARRAY_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grow *array (T **) so that `count` elements of `size` bytes fit; new ones are zeroed.
 *   capacity  [1]  in out  elements allocated; pass it to plim_release
 * Amortised O(1) an element (doubles). On failure array and capacity are untouched. */
PLIM_MUST_USE plim_status plim_array_reserve(plim_context *ctx, void *array /* T ** */, int64_t *capacity,
                                             int64_t count, size_t size);

/* A block is carved twice by the same calls. The first time `base` is NULL, and the calls only add up `bytes` (-1 when
 * a size overflows). The second time, after plim_block_allocate, they return the arrays. */
typedef struct plim_block {
  char *base;
  int64_t bytes;
} plim_block;

/* The next `count` elements of `size` bytes, aligned to 16; NULL while measuring. */
void *plim_block_take(plim_block *block, int64_t count, size_t size);

/* Allocate the measured bytes, zeroed, and make the block ready to be carved. PLIM_ENOMEM, PLIM_EOVERFLOW. */
PLIM_MUST_USE plim_status plim_block_allocate(plim_context *ctx, plim_block *block);

/* Release the memory of a carved block. Legal when nothing was allocated. */
void plim_block_release(plim_context *ctx, plim_block *block);

/* Copy n ids to *next, and move *next past them. Returns the copy. */
const int32_t *plim_ids_copy(int32_t **next, const int32_t *from, int32_t n);

#ifdef __cplusplus
}
#endif
#endif
