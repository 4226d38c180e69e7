/* Preloaded into a program under test (LD_PRELOAD): the kernel has no io_uring, and pwrite number PLIM_FAIL_AT of at
 * least a page fails with EIO. In pread number PLIM_FLIP_AT of at least a page one bit of the
 * exponent of its middle float changes. */
#define _GNU_SOURCE /* RTLD_NEXT, off64_t */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LEAST_BYTES = 4096 };

static atomic_long writes, reads;

static void *find(const char *name) {
  return dlsym(RTLD_NEXT, name);
}

/* Is this call of so many bytes the one whose number the environment has? */
static int is_at(atomic_long *count, const char *name, size_t bytes) {
  const char *at = getenv(name);
  return bytes >= LEAST_BYTES && at && atomic_fetch_add(count, 1) + 1 == strtol(at, NULL, 10);
}

static int fails(size_t bytes) {
  if (!is_at(&writes, "PLIM_FAIL_AT", bytes)) return 0;
  errno = EIO;
  return 1;
}

static ssize_t flip(ssize_t got, void *buf, size_t n) {
  if (is_at(&reads, "PLIM_FLIP_AT", n) && got > 0) ((unsigned char *)buf)[got / 8 * 4 + 3] ^= 32;
  return got;
}

ssize_t pread(int fd, void *buf, size_t n, off_t offset) {
  ssize_t (*real)(int fd, void *buf, size_t n, off_t offset);
  void *address = find("pread");
  memcpy(&real, &address, sizeof address);
  return flip(real(fd, buf, n, offset), buf, n);
}

ssize_t pread64(int fd, void *buf, size_t n, off64_t offset) {
  ssize_t (*real)(int fd, void *buf, size_t n, off64_t offset);
  void *address = find("pread64");
  memcpy(&real, &address, sizeof address);
  return flip(real(fd, buf, n, offset), buf, n);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset) {
  ssize_t (*real)(int fd, const void *buf, size_t n, off_t offset);
  void *address = find("pwrite");
  memcpy(&real, &address, sizeof address);
  return fails(n) ? -1 : real(fd, buf, n, offset);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t offset) {
  ssize_t (*real)(int fd, const void *buf, size_t n, off64_t offset);
  void *address = find("pwrite64");
  memcpy(&real, &address, sizeof address);
  return fails(n) ? -1 : real(fd, buf, n, offset);
}

long syscall(long sysno, ...) {
  long (*real)(long sysno, ...);
  void *address = find("syscall");
  long argument[6];
  va_list list;
  if (sysno == SYS_io_uring_setup) {
    errno = ENOSYS;
    return -1;
  }
  va_start(list, sysno);
  for (int i = 0; i < 6; i++) argument[i] = va_arg(list, long);
  va_end(list);
  memcpy(&real, &address, sizeof address);
  return real(sysno, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}
