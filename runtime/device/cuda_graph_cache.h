/* Captured steps of the cuda device. A row says for a plan over an arena whether it has run, and holds its captured
 * step. Functions run on the thread of the device, in O(rows). They cannot fail: an error of the driver when a capture
 * is freed is ignored. */
#ifndef PLIM_RUNTIME_DEVICE_CUDA_GRAPH_CACHE_H
#define PLIM_RUNTIME_DEVICE_CUDA_GRAPH_CACHE_H

#include "kernels/cuda/driver.h"
#include "runtime/graph/plan.h"

enum { PLIM_CUDA_GRAPH_CACHE = 8 /* rows; a new plan replaces the least recently used one */ };

typedef struct plim_cuda_graph_row {
  const plim_plan *plan;
  const void *arena;
  int64_t used;             /* step of the device at which it was used last; 0: an empty row */
  int64_t runs;             /* number of complete runs; after the first every module is loaded */
  void *captured;           /* the captured step; NULL: not yet */
  int32_t has_timing_event; /* 1: the captured step begins and ends with a timing event */
  int64_t time_ns;          /* least time between these two events; 0: not known */
} plim_cuda_graph_row;

typedef struct plim_cuda_graph_cache {
  plim_cuda_graph_row row[PLIM_CUDA_GRAPH_CACHE];
  int64_t clock;
} plim_cuda_graph_cache;

/* Find the row of a plan over an arena, or make it in place of the least recently used row. Borrowed until the row is
 * invalidated or replaced. */
plim_cuda_graph_row *plim_cuda_graph_cache_find(plim_cuda_graph_cache *cache, const plim_cuda_driver *driver,
                                                const plim_plan *plan, const void *arena);

/* Free the captured step of a row; its number of runs stays. */
void plim_cuda_graph_row_uncapture(plim_cuda_graph_row *row, const plim_cuda_driver *driver);

/* Empty every row of an arena; NULL: every row of steps without an arena. */
void plim_cuda_graph_cache_invalidate(plim_cuda_graph_cache *cache, const plim_cuda_driver *driver, const void *arena);
/* Empty all rows. */
void plim_cuda_graph_cache_invalidate_all(plim_cuda_graph_cache *cache, const plim_cuda_driver *driver);

#endif
