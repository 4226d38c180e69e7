/* What copies to and from a page space take while the threads compute, and what they take from them. */
#ifndef PLIM_RUNTIME_EXEC_PAGE_BESIDE_H
#define PLIM_RUNTIME_EXEC_PAGE_BESIDE_H

#include "runtime/exec/page_link.h"
#include "runtime/exec/page_memory.h"

/* Copies run beside work of as many threads as parallel regions of the caller have: out, in, and both.
 *   page    [1]    in  of `slots` x slot_bytes
 *   memory  [1]    in  of as many bytes, aligned as the page
 *   link    [1]    in/out  beside_bytes_per_ns and charge are set; bytes_per_ns stands in where no copy ended
 * 0, or an errno. About a quarter of a second, more where a copy takes long. */
int plim_page_beside_measure(plim_context *ctx, const plim_page_memory *page, char *memory, int slots,
                             int64_t slot_bytes, plim_page_link *link);

#endif
