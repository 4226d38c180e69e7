/* What copies between the arena and a page space take, measured. */
#ifndef PLIM_RUNTIME_EXEC_PAGE_LINK_H
#define PLIM_RUNTIME_EXEC_PAGE_LINK_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* [0] from the arena to the space, [1] back: a copy takes latency_ns + bytes / bandwidth. */
typedef struct plim_page_link {
  int64_t latency_ns[2];
  double bytes_per_ns[2]; /* of a copy alone */
  /* While the caller's threads compute: the bandwidth, and the share of a copy's time by which it delays them, at most
   * 1. [0] out, [1] in, [2] of each of two copies that run at once, one out and one in. */
  double beside_bytes_per_ns[3], charge[3];
} plim_page_link;

/* Measure in about half a second: medians of copies of two sizes on the calling thread, then copies beside work of as
 * many threads as the caller's parallel regions have.
 *   space      in  "host", or "disk": a page file
 *   page_file  in  as in plim_exec_options
 *   cache_dir  in  where results are kept: a second call for the space, for the page file's file system and for as many
 *                  threads measures nothing. NULL: the user's cache folder; "": none
 * Where a file system has no room for the usual sizes, smaller ones are copied.
 * PLIM_ENOMEM, PLIM_EIO, PLIM_ENOFIT: as plim_exec_open. */
PLIM_MUST_USE plim_status plim_page_link_measure(plim_context *ctx, const char *space, const char *page_file,
                                                 const char *cache_dir, plim_page_link *out);

#ifdef __cplusplus
}
#endif
#endif
