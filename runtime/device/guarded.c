/* Maps memory between inaccessible pages. One mapping: [inaccessible page][read-write pages; the memory ends where they
 * end, or just before][inaccessible page]. The mapping follows from pointer and size, so nothing is recorded. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include "runtime/device/guarded.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t page_bytes(void) {
  return (int64_t)sysconf(_SC_PAGESIZE);
}

plim_status plim_guarded_alloc(plim_context *ctx, int64_t bytes, int resident, void **out) {
  int64_t page = page_bytes();
  int64_t inner = plim_align_up(bytes, page);
  int64_t total = inner < 0 ? -1 : plim_add_checked(inner, 2 * page);
  if (bytes <= 0) return plim_fail(ctx, PLIM_EUSAGE, "an arena of %lld bytes was asked for", (long long)bytes);
  if (total < 0) return plim_fail(ctx, PLIM_EOVERFLOW, "an arena of %lld bytes overflows", (long long)bytes);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | (resident ? 0 : MAP_NORESERVE);
  char *map = mmap(NULL, (size_t)total, PROT_NONE, flags, -1, 0);
  if (map == MAP_FAILED) {
    return plim_fail(ctx, PLIM_ENOMEM, "an arena of %lld bytes was refused by the system", (long long)bytes);
  }
  if (mprotect(map + page, (size_t)inner, PROT_READ | PROT_WRITE) != 0) {
    (void)munmap(map, (size_t)total);
    return plim_fail(ctx, PLIM_ENOMEM, "an arena of %lld bytes was refused by the system", (long long)bytes);
  }
  if (resident) {
    (void)madvise(map + page, (size_t)inner, MADV_HUGEPAGE); /* a hint: a system without them serves small pages */
    memset(map + page, 0, (size_t)inner);
  }
  int64_t slack = (inner - bytes) % PLIM_ALIGN;
  char *ptr = map + page + (inner - bytes - slack);
  assert((uintptr_t)ptr % PLIM_ALIGN == 0);
  *out = ptr;
  return PLIM_OK;
}

plim_status plim_guarded_has_addresses(plim_context *ctx) {
  const size_t bytes = (size_t)8 << 20;
  void *range = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range != MAP_FAILED) {
    (void)munmap(range, bytes);
    return PLIM_OK;
  }
  return plim_fail(ctx, PLIM_ENOMEM, "out of memory: the %zu bytes that a kernel may need are not left", bytes);
}

plim_status plim_guarded_resize(plim_context *ctx, void *ptr, int64_t from_bytes, int64_t to_bytes, int resident,
                                int64_t *returned) {
  int64_t page = page_bytes(), at = (int64_t)((uintptr_t)ptr % (uintptr_t)page);
  int64_t from = plim_align_up(at + from_bytes, page) - at, to = plim_align_up(at + to_bytes, page) - at;
  int shrinks = to < from;
  char *tail = (char *)ptr + (shrinks ? to : from);
  size_t bytes = (size_t)(shrinks ? from - to : to - from);
  if (bytes > 0 && shrinks && madvise(tail, bytes, MADV_DONTNEED) != 0) {
    return plim_fail(ctx, PLIM_ENOMEM, "the system does not take %zu bytes back", bytes);
  }
  if (bytes > 0 && mprotect(tail, bytes, shrinks ? PROT_NONE : PROT_READ | PROT_WRITE) != 0) {
    return plim_fail(ctx, PLIM_ENOMEM, "the access to %zu bytes cannot be changed", bytes);
  }
  if (!shrinks && resident) memset(tail, 0, bytes);
  *returned = from - to;
  return PLIM_OK;
}

void plim_guarded_free(void *ptr, int64_t bytes) {
  if (!ptr) return;
  uintptr_t page = (uintptr_t)page_bytes();
  uintptr_t first = (uintptr_t)ptr / page * page - page;
  uintptr_t last = ((uintptr_t)ptr + (uintptr_t)bytes + page - 1) / page * page + page;
  char *map = (char *)ptr - ((uintptr_t)ptr - first);
  (void)munmap(map, (size_t)(last - first));
}
