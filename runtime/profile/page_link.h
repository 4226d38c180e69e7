/* Measures how long copies between the arena and a page space take. */
#ifndef PLIM_RUNTIME_PROFILE_PAGE_LINK_H
#define PLIM_RUNTIME_PROFILE_PAGE_LINK_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* By direction, PLIM_LINK_OUT from the arena to the space and PLIM_LINK_IN back. A copy takes
 * latency_ns + bytes / bandwidth. */
typedef struct plim_page_link {
  int64_t latency_ns[PLIM_LINK_DIRECTIONS];
  double bytes_per_ns[PLIM_LINK_DIRECTIONS]; /* of a copy alone */
  /* While the caller's threads compute: the bandwidth, and the share of a copy's time by which it delays them, at most
   * 1. PLIM_LINK_BOTH: of each of two copies that run at once, one out and one in. */
  double beside_bytes_per_ns[PLIM_LINK_CASES], delay_share[PLIM_LINK_CASES];
} plim_page_link;

/* The link of a typical machine: the same figures everywhere. space: "host" or "disk". */
plim_page_link plim_page_link_model(const char *space);

/* Measure a link in about half a second: medians of copies of two sizes on the calling thread, then copies while as
 * many threads compute as the caller's parallel regions have.
 *   space      in   "host", or "disk": a page file
 *   page_file  in   as in plim_exec_options
 *   cache_dir  in   folder of the cached result. A second call with the same space, file system and number of threads
 *                   reads it and measures nothing. NULL: the user's cache folder; "": no cache
 *   out        out  untouched on failure
 * Where a file system has no room for the usual sizes, smaller ones are copied.
 * PLIM_ENOMEM, PLIM_EIO, PLIM_ENOFIT: as plim_exec_open. */
PLIM_MUST_USE plim_status plim_page_link_measure(plim_context *ctx, const char *space, const char *page_file,
                                                 const char *cache_dir, plim_page_link *out);

/* For those that measure links: set latency and bandwidth of a direction from the times of a small and a large copy.
 * Where the small copy seems to have been disturbed, the large one decides. O(1). */
void plim_page_link_fit(plim_page_link *link, int in, int64_t few_bytes, int64_t small_ns, int64_t many_bytes,
                        int64_t large_ns);

#ifdef __cplusplus
}
#endif
#endif
