/* Captured steps of the cuda device: for each plan over an arena how far it is: queued once, captured, replayed. On the
 * thread of the device. Nothing fails: what the driver says of a capture that is freed is of no use. O(rows). */
#ifndef PLIM_RUNTIME_DEVICE_CUDA_GRAPH_CACHE_H
#define PLIM_RUNTIME_DEVICE_CUDA_GRAPH_CACHE_H

#include "kernels/cuda/driver.h"
#include "runtime/graph/plan.h"

enum { PLIM_CUDA_GRAPH_CACHE = 8 /* plans replayed at a time; the one not used for longest makes room */ };

typedef struct plim_cuda_graph_row {
  const plim_plan *plan;
  const void *arena;
  int64_t used;             /* when, in steps of the device; 0: an empty row */
  int64_t runs;             /* to the end; after the first every module is loaded */
  void *captured;           /* NULL: not yet */
  int32_t has_timing_event; /* 1: what is captured begins and ends with a timing event */
  int64_t time_ns;          /* least time between them; 0: not known */
} plim_cuda_graph_row;

typedef struct plim_cuda_graph_cache {
  plim_cuda_graph_row row[PLIM_CUDA_GRAPH_CACHE];
  int64_t clock;
} plim_cuda_graph_cache;

/* The row of a plan over an arena, made when there is none: the row not used for longest makes room. Borrowed until the
 * row is invalidated or makes room. */
plim_cuda_graph_row *plim_cuda_graph_cache_find(plim_cuda_graph_cache *cache, const plim_cuda_driver *driver,
                                                const plim_plan *plan, const void *arena);

/* Free what was captured of a step; how often it ran stays. */
void plim_cuda_graph_row_uncapture(plim_cuda_graph_row *row, const plim_cuda_driver *driver);

/* Empty every row of an arena; NULL: of steps without one. */
void plim_cuda_graph_cache_invalidate(plim_cuda_graph_cache *cache, const plim_cuda_driver *driver, const void *arena);
void plim_cuda_graph_cache_invalidate_all(plim_cuda_graph_cache *cache, const plim_cuda_driver *driver);

#endif
