/* Packing: buffers -> offsets. */
#ifndef PLIM_PLANNER_PACK_H
#define PLIM_PLANNER_PACK_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_box {
  int64_t begin, end; /* half-open, in steps */
  int64_t bytes;      /* > 0 */
  int64_t fixed;      /* offset it must have, -1: free */
} plim_box;

/* Assign offsets so that boxes overlapping in time never overlap in space.
 *   box     [n] in
 *   align       in   every offset is a multiple of it
 *   target      in   a packed size that is good enough: stop there (0: as low as the effort allows)
 *   effort      in   rounds after the first-fit orders: packings from the bottom up or, of boxes that it does not take,
 *                    repairs of the best order; then exact search in proportion, all of it for the target where
 *                    there is one; 0: first-fit only
 *   offset  [n] out  bytes
 *   packed size  [1] out  max of offset + bytes
 *   load    [1] out  lower bound: largest sum of live bytes; may be NULL
 * First-fit: O(n x overlaps) an order. From the bottom up: O(n x overlaps) a packing, and O(n^2) bytes and time for the
 * list of overlaps where they are many. Exact search: up to O(effort) nodes of O(n) each. Deterministic. Sources:
 * first-fit orders and exact search, Moffitt, MiniMalloc, ASPLOS 2023. */
PLIM_MUST_USE plim_status plim_pack(plim_context *ctx, int32_t n, const plim_box *box, int64_t align, int64_t target,
                                    int32_t effort, int64_t *offset, int64_t *packed_bytes, int64_t *peak_bytes);

#ifdef __cplusplus
}
#endif
#endif
