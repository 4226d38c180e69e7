/* runtime/device/memory_region.c and page_ring.c: what is paged out comes back, by io_uring and without, and a file
 * that fails is an errno. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "runtime/device/memory_region.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/device/guarded.h"
#include "tests/support/folder.h"
#include "tests/support/test_context.h"

enum { SPACE = 12 << 20 };

static plim_context *ctx;

static void begin(void) {
  ctx = plim_test_context();
  (void)plim_test_folder();
}
static void end(void) {
  plim_test_folder_remove();
  plim_context_free(ctx);
}
TestSuite(memory_region, .init = begin, .fini = end);

static void fill(char *memory, int64_t bytes, unsigned seed) {
  for (int64_t i = 0; i < bytes; i++) memory[i] = (char)(((unsigned)i * 2654435761U + seed) >> 13);
}

/* Out to an offset and back to another address. */
static void there_and_back(const plim_memory_region *region, plim_page_ring *ring, char *memory, int64_t bytes) {
  char *from = memory + PLIM_ALIGN, *to = memory + SPACE + 3 * PLIM_ALIGN, *paged = region->base + 5 * PLIM_ALIGN;
  fill(from, bytes, (unsigned)bytes);
  memset(to, 0, (size_t)bytes);
  cr_assert_eq(plim_memory_region_write(region, ring, paged, from, bytes), 0);
  cr_assert_eq(plim_memory_region_read(region, ring, to, paged, bytes), 0);
  cr_assert_eq(memcmp(from, to, (size_t)bytes), 0, "%lld bytes", (long long)bytes);
}

static void try_sizes(const plim_memory_region *region, plim_page_ring *ring) {
  static const int64_t bytes[] = {1, 511, 512, 4000, 1 << 20, (1 << 20) + 7, (9 << 20) + 512, 11 << 20};
  void *memory = NULL;
  cr_assert_eq(plim_guarded_alloc(ctx, 2 * SPACE, 1, &memory), PLIM_OK);
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) there_and_back(region, ring, memory, bytes[i]);
  plim_guarded_free(memory, 2 * SPACE);
}

Test(memory_region, what_is_paged_to_a_file_comes_back_with_and_without_a_ring) {
  plim_memory_region region;
  plim_page_ring *ring = plim_page_ring_open(ctx);
  cr_assert_eq(plim_memory_region_open_file(ctx, plim_test_path("pages"), SPACE, &region), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_assert(region.direct ? strcmp(region.how, "direct I/O") == 0 : strstr(region.how, "no direct I/O: ") != NULL);
  try_sizes(&region, NULL);
  if (ring) try_sizes(&region, ring);
  plim_memory_region_close(&region);
  plim_page_ring_close(ring);
}

Test(memory_region, a_file_that_ends_too_early_or_takes_nothing_is_an_errno) {
  plim_memory_region region;
  plim_page_ring *ring = plim_page_ring_open(ctx);
  void *memory = NULL;
  cr_assert_eq(plim_guarded_alloc(ctx, SPACE, 1, &memory), PLIM_OK);
  cr_assert_eq(plim_memory_region_open_file(ctx, plim_test_path("pages"), SPACE, &region), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_assert_eq(ftruncate(region.fd, 6 << 20), 0);
  for (int with = 0; with < (ring ? 2 : 1); with++) {
    cr_expect_eq(plim_memory_region_read(&region, with ? ring : NULL, memory, region.base, 9 << 20), ENODATA);
    cr_expect_eq(plim_memory_region_read(&region, with ? ring : NULL, memory, region.base, 5 << 20), ENODATA);
  }
  int own = region.fd;
  region.fd = open(plim_test_path("pages"), O_RDONLY | O_CLOEXEC);
  for (int with = 0; with < (ring ? 2 : 1); with++) {
    cr_expect_eq(plim_memory_region_write(&region, with ? ring : NULL, region.base, memory, 3 << 20), EBADF);
  }
  (void)close(region.fd);
  region.fd = own;
  plim_memory_region_close(&region);
  plim_guarded_free(memory, SPACE);
  plim_page_ring_close(ring);
}

/* The hole would read as zeros. */
Test(memory_region, a_file_that_was_cut_and_written_again_is_an_errno) {
  plim_memory_region region;
  void *memory = NULL;
  cr_assert_eq(plim_guarded_alloc(ctx, 2 * SPACE, 1, &memory), PLIM_OK);
  cr_assert_eq(plim_memory_region_open_file(ctx, plim_test_path("pages"), SPACE, &region), PLIM_OK, "%s",
               plim_context_error(ctx));
  there_and_back(&region, NULL, memory, 4000);
  cr_assert_eq(truncate(plim_test_path("pages"), 0), 0);
  cr_assert_eq(plim_memory_region_write(&region, NULL, region.base + SPACE - (1 << 20), memory, 1 << 20), 0);
  cr_expect_eq(plim_memory_region_read(&region, NULL, memory, region.base + 5 * PLIM_ALIGN, 4000), ENODATA);
  cr_expect_eq(plim_memory_region_get(ctx, &region, memory, region.base + 5 * PLIM_ALIGN, 4000), PLIM_EIO);
  plim_memory_region_close(&region);
  plim_guarded_free(memory, 2 * SPACE);
}

/* Growing would give a cut file its length back. */
Test(memory_region, a_file_that_was_cut_does_not_grow) {
  plim_memory_region region;
  cr_assert_eq(plim_memory_region_open_file(ctx, plim_test_path("pages"), SPACE, &region), PLIM_OK, "%s",
               plim_context_error(ctx));
  const plim_memory_region before = region;
  cr_assert_eq(truncate(plim_test_path("pages"), 0), 0);
  cr_assert_eq(plim_memory_region_grow(ctx, &region, 2 * (int64_t)SPACE), PLIM_EIO);
  cr_assert_not_null(strstr(plim_context_error(ctx), "another program has cut it"), "%s", plim_context_error(ctx));
  cr_assert_eq(region.base, before.base);
  cr_assert_eq(region.bytes, before.bytes);
  plim_memory_region_close(&region);
}

/* The library's syscall: calls of io_uring_enter from number fail_from to fail_to fail with fail_errno. */
static int n_enters, fail_from, fail_to, fail_errno;
/* The library's nanosleep: with skips_pauses it counts the pauses and returns at once. */
static int n_pauses, skips_pauses;

int nanosleep(const struct timespec *wanted, struct timespec *left) {
  int (*real)(const struct timespec *wanted, struct timespec *left);
  void *address = dlsym(RTLD_NEXT, "nanosleep");
  memcpy(&real, &address, sizeof address);
  n_pauses += skips_pauses;
  return skips_pauses ? 0 : real(wanted, left);
}

long syscall(long sysno, ...) {
  long (*real)(long sysno, ...);
  long argument[6];
  va_list list;
  void *address = dlsym(RTLD_NEXT, "syscall");
  memcpy(&real, &address, sizeof address);
  va_start(list, sysno);
  for (int i = 0; i < 6; i++) argument[i] = va_arg(list, long);
  va_end(list);
  if (sysno == SYS_io_uring_enter && ++n_enters >= fail_from && n_enters <= fail_to) {
    errno = fail_errno;
    return -1;
  }
  return real(sysno, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

static void fail_enters(int from, int to, int error) {
  n_enters = 0;
  fail_errno = error;
  fail_from = from;
  fail_to = to;
}

/* A read during which enters fail: when it has returned, nothing writes to its memory any more. */
static void read_while_enters_fail(const plim_memory_region *region, char *memory, int from, int to) {
  const struct timespec pause = {.tv_nsec = 20000000};
  plim_page_ring *ring = plim_page_ring_open(ctx);
  fail_enters(from, to, ENXIO);
  cr_expect_eq(plim_memory_region_read(region, ring, memory, region->base, 11 << 20), ENXIO, "enters %d to %d", from,
               to);
  memset(memory, 0x55, SPACE);
  (void)nanosleep(&pause, NULL);
  for (int64_t i = 0; i < SPACE; i++) cr_assert_eq(memory[i], 0x55, "enters %d to %d", from, to);
  cr_expect_not(plim_page_ring_works(ring));
  int before = n_enters;
  try_sizes(region, ring);
  cr_expect_eq(n_enters, before);
  plim_page_ring_close(ring);
}

Test(memory_region, a_ring_whose_kernel_fails_with_parts_under_way_waits_for_them_and_is_not_used_again) {
  plim_memory_region region;
  plim_page_ring *ring = plim_page_ring_open(ctx);
  void *memory = NULL;
  if (!ring) cr_skip_test("no io_uring here");
  plim_page_ring_close(ring);
  cr_assert_eq(plim_guarded_alloc(ctx, SPACE, 1, &memory), PLIM_OK);
  cr_assert_eq(plim_memory_region_open_file(ctx, plim_test_path("pages"), SPACE, &region), PLIM_OK, "%s",
               plim_context_error(ctx));
  for (int from = 1; from < 3; from++) {
    read_while_enters_fail(&region, memory, from, from);
    read_while_enters_fail(&region, memory, from, INT32_MAX);
  }
  plim_memory_region_close(&region);
  plim_guarded_free(memory, SPACE);
}

/* EAGAIN with nothing under way: no completion can clear it. The copy pauses between its tries, and gives up. */
Test(memory_region, a_ring_whose_kernel_has_no_memory_is_asked_again_after_pauses_and_given_up, .timeout = 20) {
  plim_memory_region region;
  plim_page_ring *ring = plim_page_ring_open(ctx);
  void *memory = NULL;
  if (!ring) cr_skip_test("no io_uring here");
  cr_assert_eq(plim_guarded_alloc(ctx, 2 * SPACE, 1, &memory), PLIM_OK);
  cr_assert_eq(plim_memory_region_open_file(ctx, plim_test_path("pages"), SPACE, &region), PLIM_OK, "%s",
               plim_context_error(ctx));
  skips_pauses = 1;
  fail_enters(1, 5, EAGAIN);
  there_and_back(&region, ring, memory, 512);
  cr_expect_eq(n_pauses, 5);
  cr_expect(plim_page_ring_works(ring));
  fail_enters(1, INT32_MAX, EBUSY);
  cr_expect_eq(plim_memory_region_read(&region, ring, memory, region.base, 512), EBUSY);
  cr_expect_eq(n_pauses, 5 + n_enters - 1);
  cr_expect_not(plim_page_ring_works(ring));
  skips_pauses = 0;
  plim_memory_region_close(&region);
  plim_page_ring_close(ring);
  plim_guarded_free(memory, 2 * SPACE);
}

/* Bytes that were there before are there afterwards, and new ones can be used. */
static void grow(plim_memory_region *region, void *memory) {
  char *from = memory, *to = from + SPACE;
  fill(from, SPACE, 3);
  cr_assert_eq(plim_memory_region_write(region, NULL, region->base, from, SPACE), 0);
  cr_assert_eq(plim_memory_region_grow(ctx, region, 2 * (int64_t)SPACE), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(region->bytes, 2 * (int64_t)SPACE);
  cr_assert_eq(plim_memory_region_read(region, NULL, to, region->base, SPACE), 0);
  cr_assert_eq(memcmp(from, to, SPACE), 0);
  cr_assert_eq(plim_memory_region_write(region, NULL, region->base + SPACE, from, SPACE), 0);
  cr_assert_eq(plim_memory_region_read(region, NULL, to, region->base + SPACE, SPACE), 0);
  cr_assert_eq(memcmp(from, to, SPACE), 0);
}

Test(memory_region, a_space_that_grows_keeps_its_contents) {
  plim_memory_region region;
  void *memory = NULL;
  cr_assert_eq(plim_guarded_alloc(ctx, 2 * SPACE, 1, &memory), PLIM_OK);
  cr_assert_eq(plim_memory_region_open(ctx, SPACE, &region), PLIM_OK);
  grow(&region, memory);
  plim_memory_region_close(&region);
  cr_assert_eq(plim_memory_region_open_file(ctx, plim_test_path("pages"), SPACE, &region), PLIM_OK, "%s",
               plim_context_error(ctx));
  grow(&region, memory);
  plim_memory_region_close(&region);
  plim_guarded_free(memory, 2 * SPACE);
}

Test(memory_region, a_file_that_cannot_grow_stays_as_it_was) {
  plim_memory_region region;
  struct rlimit limit;
  (void)signal(SIGXFSZ, SIG_IGN);
  cr_assert_eq(plim_memory_region_open_file(ctx, plim_test_path("pages"), SPACE, &region), PLIM_OK, "%s",
               plim_context_error(ctx));
  const plim_memory_region before = region;
  cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = SPACE;
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  cr_assert_eq(plim_memory_region_grow(ctx, &region, 2 * (int64_t)SPACE), PLIM_ENOFIT);
  cr_assert_eq(region.base, before.base);
  cr_assert_eq(region.bytes, before.bytes);
  plim_memory_region_close(&region);
}

Test(memory_region, a_file_system_without_room_is_told_before_anything_runs) {
  plim_memory_region region = {.bytes = 0};
  struct rlimit limit;
  (void)signal(SIGXFSZ, SIG_IGN);
  cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = 1 << 20;
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  cr_assert_eq(plim_memory_region_open_file(ctx, plim_test_path("pages"), SPACE, &region), PLIM_ENOFIT);
  cr_assert(strstr(plim_context_error(ctx), "needs 12583424 bytes"), "%s", plim_context_error(ctx)); /* a block more */
}

Test(memory_region, a_page_file_whose_addresses_are_refused_is_empty_for_the_next_run) {
  plim_memory_region region = {.bytes = 0};
  struct stat about;
  struct rlimit limit, none;
  cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
  none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
  cr_assert_eq(setrlimit(RLIMIT_AS, &none), 0);
  plim_status status = plim_memory_region_open_file(ctx, plim_test_path("pages"), SPACE, &region);
  cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
  cr_assert_eq(status, PLIM_ENOMEM, "%s", plim_context_error(ctx));
  cr_assert_eq(stat(plim_test_path("pages"), &about), 0);
  cr_assert_eq(about.st_size, 0, "%lld bytes", (long long)about.st_size);
  status = plim_memory_region_open_file(ctx, plim_test_path("pages"), SPACE, &region);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
  plim_memory_region_close(&region);
}

Test(memory_region, a_memory_file_system_is_named) {
  plim_memory_region region;
  char path[] = "/dev/shm/plimsoll-test-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0) cr_skip_test("no /dev/shm here");
  (void)close(fd);
  cr_assert_eq(plim_memory_region_open_file(ctx, path, SPACE, &region), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert(strstr(region.how, "tmpfs"), "%s", region.how);
  cr_assert_not(region.direct);
  plim_memory_region_close(&region);
  (void)unlink(path);
}
