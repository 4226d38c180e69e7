/* Exact packing: a depth-first search over canonical placements. Planner-internal. */
#ifndef PLIM_PLANNER_PACK_EXACT_H
#define PLIM_PLANNER_PACK_EXACT_H

#include "planner/pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum plim_pack_outcome {
  PLIM_PACK_FOUND,      /* offsets are set */
  PLIM_PACK_IMPOSSIBLE, /* proved: no packing under the capacity */
  PLIM_PACK_LIMIT       /* neither, within the node limit */
} plim_pack_outcome;

/* Find offsets under a capacity, or prove that there are none.
 *   box       [n] in   as for plim_pack; bytes are rounded up to `align`, offsets are multiples of it
 *   capacity      in   bytes
 *   nodes         in   limit on placements tried, over all restarts
 *   offset    [n] out  bytes, set when found
 * Each placement costs O(sections + overlaps). Deterministic. PLIM_ECANCEL when the context asks to stop. Source: the
 * canonical search of Moffitt, MiniMalloc, ASPLOS 2023; see the .c file for what is added. */
PLIM_MUST_USE plim_status plim_pack_exact(plim_context *ctx, int32_t n, const plim_box *box, int64_t align,
                                          int64_t capacity, int64_t nodes, int64_t *offset, plim_pack_outcome *outcome);

#ifdef __cplusplus
}
#endif
#endif
