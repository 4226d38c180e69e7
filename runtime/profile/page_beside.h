/* Measures how long copies to and from a page space take while the threads compute, and how much they delay the
 * threads. */
#ifndef PLIM_RUNTIME_PROFILE_PAGE_BESIDE_H
#define PLIM_RUNTIME_PROFILE_PAGE_BESIDE_H

#include "runtime/device/memory_region.h"
#include "runtime/profile/page_link.h"

/* Time copies while as many threads compute as the caller's parallel regions have: copies out, in, and both at once.
 *   page    [1]                   in      open, of `slots` x slot_bytes
 *   memory  [slots x slot_bytes]  in      aligned to PLIM_ALIGN; copies overwrite it
 *   link    [1]                   in/out  sets beside_bytes_per_ns and delay_share; where no copy ended in time, it
 *                                         uses bytes_per_ns
 * Returns 0 or an errno. Takes about a quarter of a second, more where a copy takes long. */
int plim_page_beside_measure(plim_context *ctx, const plim_memory_region *page, char *memory, int slots,
                             int64_t slot_bytes, plim_page_link *link);

#endif
