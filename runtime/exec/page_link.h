/* What copies between the arena and a page space take, measured. */
#ifndef PLIM_RUNTIME_EXEC_PAGE_LINK_H
#define PLIM_RUNTIME_EXEC_PAGE_LINK_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* [0] from the arena to the space, [1] back: a copy takes latency_ns + bytes / bytes_per_ns. */
typedef struct plim_page_link {
  int64_t latency_ns[2];
  double bytes_per_ns[2];
  double busy[2]; /* share of a large copy's time that it takes from a processor: 1 for memory, little for a file */
} plim_page_link;

/* Measure in a few tenths of a second: medians of copies of two sizes, on the calling thread.
 *   space      in  "host", or "disk": a page file
 *   page_file  in  as in plim_exec_options
 *   cache_dir  in  where results are kept: a second call for the space, and for the page file's file system, measures
 *                  nothing. NULL: the user's cache folder; "": none
 * PLIM_ENOMEM, PLIM_EIO, PLIM_ENOFIT: as plim_exec_open. */
PLIM_MUST_USE plim_status plim_page_link_measure(plim_context *ctx, const char *space, const char *page_file,
                                                 const char *cache_dir, plim_page_link *out);

#ifdef __cplusplus
}
#endif
#endif
