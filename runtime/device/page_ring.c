/* Copies between memory and a page file by io_uring. A copy is cut into parts, of which up to DEPTH are in flight. When
 * a part ends early, its rest is submitted again. The copy returns when no part is in flight, also after a failure
 * (page_ring.h has an exception), since the kernel may write to its memory until then. Rings are those of io_uring(7):
 * the kernel moves the head of submissions and the tail of completions. */
#define _GNU_SOURCE /* syscall */
#include "runtime/device/page_ring.h"

#include <errno.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/io_uring.h>)
#define HAVE_IO_URING
#endif
#endif

#ifndef HAVE_IO_URING

plim_page_ring *plim_page_ring_open(plim_context *ctx) {
  (void)ctx;
  return NULL;
}

void plim_page_ring_close(plim_page_ring *ring) {
  (void)ring;
}

int plim_page_ring_copy(plim_page_ring *ring, int fd, int writes, void *memory, int64_t bytes, int64_t offset) {
  (void)ring, (void)fd, (void)writes, (void)memory, (void)bytes, (void)offset;
  return ENOSYS;
}

int plim_page_ring_works(const plim_page_ring *ring) {
  (void)ring;
  return 0;
}

#else

#include <linux/io_uring.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 8, PART_BYTES = 1 << 20 };

/* While the kernel takes nothing: how often to look for completions, and the pause between two looks. */
enum { LOOKS = 30000, LOOK_NS = 1000000 };

typedef struct part {
  char *memory;
  int64_t bytes, offset; /* bytes 0: not in use */
} part;

struct plim_page_ring {
  plim_context *ctx;
  int fd, dead; /* dead: the kernel has failed, and the ring cannot be used */
  size_t ring_bytes, entry_bytes;
  char *rings; /* the rings of submissions and of completions, in one mapping */
  struct io_uring_sqe *entry;
  _Atomic uint32_t *submit_tail, *done_head, *done_tail;
  uint32_t submit_mask, done_mask, *submit_array;
  uint32_t n_submitted; /* entries that are filled and not yet given to the kernel */
  struct io_uring_cqe *done;
  part part[DEPTH];
};

static void pause_before_look(void) {
  (void)nanosleep(&(const struct timespec){.tv_nsec = LOOK_NS}, NULL);
}

static int map_rings(plim_page_ring *ring, const struct io_uring_params *p) {
  size_t submit = p->sq_off.array + p->sq_entries * sizeof(uint32_t);
  size_t done = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
  ring->ring_bytes = submit > done ? submit : done;
  ring->entry_bytes = p->sq_entries * sizeof(struct io_uring_sqe);
  void *rings = mmap(NULL, ring->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
  if (rings == MAP_FAILED) return 0;
  ring->rings = rings;
  void *entries = mmap(NULL, ring->entry_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
  if (entries == MAP_FAILED) return 0;
  ring->entry = entries;
  ring->submit_tail = (_Atomic uint32_t *)(void *)(ring->rings + p->sq_off.tail);
  ring->submit_mask = *(uint32_t *)(void *)(ring->rings + p->sq_off.ring_mask);
  ring->submit_array = (uint32_t *)(void *)(ring->rings + p->sq_off.array);
  ring->done_head = (_Atomic uint32_t *)(void *)(ring->rings + p->cq_off.head);
  ring->done_tail = (_Atomic uint32_t *)(void *)(ring->rings + p->cq_off.tail);
  ring->done_mask = *(uint32_t *)(void *)(ring->rings + p->cq_off.ring_mask);
  ring->done = (struct io_uring_cqe *)(void *)(ring->rings + p->cq_off.cqes);
  return 1;
}

plim_page_ring *plim_page_ring_open(plim_context *ctx) {
  plim_page_ring *ring = NULL;
  struct io_uring_params p = {.flags = 0};
  if (plim_allocate(ctx, 1, sizeof *ring, &ring) != PLIM_OK) return NULL;
  ring->ctx = ctx;
  ring->fd = (int)syscall(SYS_io_uring_setup, DEPTH, &p);
  /* a kernel with RW_CUR_POS also has IORING_OP_READ and IORING_OP_WRITE */
  if (ring->fd >= 0 && (p.features & IORING_FEAT_SINGLE_MMAP) && (p.features & IORING_FEAT_RW_CUR_POS) &&
      map_rings(ring, &p)) {
    return ring;
  }
  plim_page_ring_close(ring);
  return NULL;
}

void plim_page_ring_close(plim_page_ring *ring) {
  if (!ring) return;
  if (ring->entry) (void)munmap(ring->entry, ring->entry_bytes);
  if (ring->rings) (void)munmap(ring->rings, ring->ring_bytes);
  if (ring->fd >= 0) (void)close(ring->fd);
  plim_release(ring->ctx, ring, 1, sizeof *ring);
}

static void submit(plim_page_ring *ring, int fd, int writes, int slot) {
  uint32_t tail = atomic_load_explicit(ring->submit_tail, memory_order_relaxed), at = tail & ring->submit_mask;
  const part *p = &ring->part[slot];
  ring->entry[at] = (struct io_uring_sqe){.opcode = writes ? IORING_OP_WRITE : IORING_OP_READ,
                                          .fd = fd,
                                          .addr = (uint64_t)(uintptr_t)p->memory,
                                          .len = (uint32_t)p->bytes,
                                          .off = (uint64_t)p->offset,
                                          .user_data = (unsigned)slot};
  ring->submit_array[at] = at;
  atomic_store_explicit(ring->submit_tail, tail + 1, memory_order_release);
  ring->n_submitted++;
}

/* Give the filled entries to the kernel, and wait for one completion. Returns 0 or an errno. */
static int enter(plim_page_ring *ring) {
  long n = syscall(SYS_io_uring_enter, ring->fd, ring->n_submitted, 1, IORING_ENTER_GETEVENTS, NULL, 0);
  if (n >= 0) ring->n_submitted -= (uint32_t)n;
  return n >= 0 || errno == EINTR ? 0 : errno;
}

/* Read one completion: its slot, and its *result. Returns 0 when there is none. */
static int next_done(plim_page_ring *ring, int *slot, int32_t *result) {
  uint32_t head = atomic_load_explicit(ring->done_head, memory_order_relaxed);
  if (head == atomic_load_explicit(ring->done_tail, memory_order_acquire)) return 0;
  const struct io_uring_cqe *done = &ring->done[head & ring->done_mask];
  *slot = (int)done->user_data;
  *result = done->res;
  atomic_store_explicit(ring->done_head, head + 1, memory_order_release);
  return 1;
}

/* Reduce a part to its rest after `result`; sets *error, the error of the copy. Returns 1 when the rest must be
 * submitted again. */
static int has_rest(part *p, int32_t result, int writes, int *error) {
  int again = result == -EINTR || result == -EAGAIN;
  if (result > 0) {
    p->memory += result;
    p->offset += result;
    p->bytes -= result;
  } else if (!again && *error == 0) {
    *error = result < 0 ? -result : writes ? ENOSPC : ENODATA;
  }
  if (*error != 0) p->bytes = 0;
  return p->bytes > 0;
}

/* After a failure of the kernel: mark the ring dead, withdraw the entries that the kernel has not read, and wait for
 * those that it has. While the kernel cannot wait either, look for completions in turns: they arrive without a call. */
static void settle(plim_page_ring *ring, int under_way) {
  int slot;
  int32_t result;
  uint32_t tail = atomic_load_explicit(ring->submit_tail, memory_order_relaxed);
  atomic_store_explicit(ring->submit_tail, tail - ring->n_submitted, memory_order_release);
  under_way -= (int)ring->n_submitted;
  ring->n_submitted = 0;
  ring->dead = 1;
  while (next_done(ring, &slot, &result)) under_way--;
  for (int looks = 0; under_way > 0 && looks < LOOKS;) {
    if (enter(ring) != 0) {
      pause_before_look();
      looks++;
    }
    while (next_done(ring, &slot, &result)) under_way--;
  }
}

int plim_page_ring_works(const plim_page_ring *ring) {
  return !ring->dead;
}

int plim_page_ring_copy(plim_page_ring *ring, int fd, int writes, void *memory, int64_t bytes, int64_t offset) {
  int64_t next = 0;
  int under_way = 0, error = 0, looks = 0, slot;
  int32_t result;
  memset(ring->part, 0, sizeof ring->part);
  while (under_way > 0 || (next < bytes && error == 0)) {
    for (slot = 0; slot < DEPTH && next < bytes && error == 0; slot++) {
      if (ring->part[slot].bytes > 0) continue;
      int64_t n = bytes - next < PART_BYTES ? bytes - next : PART_BYTES;
      ring->part[slot] = (part){(char *)memory + next, n, offset + next};
      submit(ring, fd, writes, slot);
      under_way++;
      next += n;
    }
    int failed = enter(ring), n_done = 0;
    int busy =
        failed == EAGAIN || failed == EBUSY; /* passes when completions are read, or the kernel has memory again */
    if (failed != 0 && (!busy || looks == LOOKS)) {
      settle(ring, under_way);
      return error != 0 ? error : failed;
    }
    for (; next_done(ring, &slot, &result); n_done++) {
      if (has_rest(&ring->part[slot], result, writes, &error)) {
        submit(ring, fd, writes, slot);
      } else {
        under_way--;
      }
    }
    looks = busy && n_done == 0 ? looks + 1 : 0;
    if (looks > 0) pause_before_look();
  }
  return error;
}

#endif
