/* Gzipped IDX files: the format of MNIST and its relatives. Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_DATA_IDX_H
#define PLIM_RUNTIME_DATA_IDX_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_IDX_MAX_RANK = 3 };

/* Read an IDX file of unsigned bytes with `rank` dimensions.
 *   dim   [rank]  out  sizes, each > 0
 *   data  [1]     out  product of dim bytes, row-major; free with plim_release(ctx, data, product, 1)
 * PLIM_ENOFILE when it cannot be opened, PLIM_EDATA when it is not gzip, has another magic number, is truncated,
 * fails its checksum, or has bytes after its end. Source: the format's description by LeCun, Cortes and Burges. */
PLIM_MUST_USE plim_status plim_idx_load(plim_context *ctx, const char *path, int32_t rank, int32_t *dim,
                                        uint8_t **data);

#ifdef __cplusplus
}
#endif
#endif
