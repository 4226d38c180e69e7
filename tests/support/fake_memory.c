/* A block is stored up against the page after it, so that what runs over its end ends the test. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tests/support/fake_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_BLOCKS = 2048, PAGE = 4096, GRAIN = 512 };
static const int64_t range_bytes = (int64_t)1 << 40;

typedef struct block {
  char *address; /* NULL: a free row */
  char *stored;
  int64_t bytes;
  int32_t device;
  char *mapped;
  int64_t mapped_bytes;
} block;

static struct {
  block block[MOST_BLOCKS];
  int n;                              /* rows that were ever in use */
  char *range[FAKE_MEMORY_DEVICES];   /* NULL: not reserved yet */
  int64_t given[FAKE_MEMORY_DEVICES]; /* bytes of it */
} fake;

static int64_t up(int64_t bytes, int64_t to) {
  return (bytes + to - 1) / to * to;
}

void fake_memory_forget(void) {
  for (int i = 0; i < fake.n; i++) {
    if (fake.block[i].address) (void)munmap(fake.block[i].mapped, (size_t)fake.block[i].mapped_bytes);
  }
  memset(fake.block, 0, sizeof fake.block);
  fake.n = 0;
}

/* The stored bytes of a block, with a page in front and one after that no one may touch. */
static int store(block *b) {
  const int64_t inside = up(b->bytes > 0 ? b->bytes : 1, GRAIN);
  b->mapped_bytes = up(inside, PAGE) + 2 * (int64_t)PAGE;
  void *mapped = mmap(NULL, (size_t)b->mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return 0;
  b->mapped = mapped;
  (void)mprotect(b->mapped + PAGE, (size_t)up(inside, PAGE), PROT_READ | PROT_WRITE);
  b->stored = b->mapped + PAGE + up(inside, PAGE) - inside;
  return 1;
}

/* The next address of a device: a multiple of the alignment alone. */
static char *next_address(int32_t device, int64_t bytes, int64_t alignment) {
  if (!fake.range[device]) {
    void *range = mmap(NULL, (size_t)range_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return NULL;
    fake.range[device] = range;
  }
  const int64_t at = up(fake.given[device] + 1, 2 * alignment) + alignment;
  if (at + bytes > range_bytes) return NULL;
  fake.given[device] = at + bytes;
  return fake.range[device] + at;
}

void *fake_memory_alloc(int32_t device, int64_t bytes, int64_t alignment) {
  int i = 0;
  while (i < MOST_BLOCKS && fake.block[i].address) i++;
  if (i == MOST_BLOCKS) return NULL;
  block b = {.bytes = bytes, .device = device};
  if (!store(&b)) return NULL;
  b.address = device < 0 ? b.stored : next_address(device, bytes, alignment);
  if (!b.address) {
    (void)munmap(b.mapped, (size_t)b.mapped_bytes);
    return NULL;
  }
  fake.block[i] = b;
  if (i >= fake.n) fake.n = i + 1;
  return b.address;
}

int64_t fake_memory_release(void *address, int32_t *device) {
  for (int i = 0; i < fake.n; i++) {
    block *b = &fake.block[i];
    if (!address || b->address != address) continue;
    (void)munmap(b->mapped, (size_t)b->mapped_bytes);
    b->address = NULL;
    *device = b->device;
    return b->bytes;
  }
  return -1;
}

int fake_memory_is_device(const void *address) {
  for (int d = 0; d < FAKE_MEMORY_DEVICES; d++) {
    const char *from = fake.range[d];
    if (from && (const char *)address >= from && (const char *)address < from + range_bytes) return 1;
  }
  return 0;
}

static const block *block_of(const void *address) {
  for (int i = 0; i < fake.n; i++) {
    const block *b = &fake.block[i];
    if (b->address && (const char *)address >= b->address && (const char *)address < b->address + b->bytes) return b;
  }
  return NULL;
}

int fake_memory_is_pinned(const void *address) {
  const block *b = block_of(address);
  return b && b->device < 0;
}

int32_t fake_memory_device_of(const void *address) {
  const block *b = block_of(address);
  return b ? b->device : -1;
}

void *fake_memory_stored(const void *address, int32_t device, int64_t bytes) {
  const block *b = block_of(address);
  if (!b || b->device != device) return NULL;
  const int64_t at = (const char *)address - b->address;
  return bytes > b->bytes - at ? NULL : b->stored + at;
}
