/* Names and locks of temporary files. The writer creates its file, then locks it. A sweeper locks a file, then removes
 * it. Each may act between the two steps of the other. So after locking, the writer checks that its file still has a
 * name, and the sweeper that the name still means the file that it locked. */
#include "runtime/base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/fnv.h"

enum { TRIES = 1000, NAMES_MAX = 10000, FOLDER_BYTES = 4096, HOST_DIGITS = 8 };
static const time_t foreign_seconds = 24 * 60 * 60; /* age from which a file of another host is a leftover */
static const char mark[] = ".tmp-";

/* A hash of the host's name, so that hosts that share a folder have different temporary names. */
static uint32_t host_hash(void) {
  char name[256] = "";
  (void)gethostname(name, sizeof name - 1);
  return plim_fnv32(PLIM_FNV32, name, strlen(name));
}

/* Lock the file. 0: a sweeper has locked or removed it. If locks are not supported, the file stays unlocked, and no
 * sweeper removes it. */
static int lock(int fd) {
  struct stat st;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

int plim_temporary_open(const char *target, mode_t mode, char *path, size_t bytes) {
  static atomic_uint made;
  for (int i = 0; i < TRIES; i++) {
    (void)snprintf(path, bytes, "%s%s%08" PRIx32 "-%ld-%u", target, mark, host_hash(), (long)getpid(),
                   atomic_fetch_add(&made, 1));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 && errno != EEXIST) return -1;
    if (fd >= 0 && lock(fd)) return fd;
    if (fd >= 0) (void)close(fd);
  }
  errno = EEXIST;
  return -1;
}

/* ---- sweeping ---- */

/* Names of an earlier version, .tmp-PID-NUMBER, count as those of another host. */
int plim_temporary_is(const char *name, int *is_ours) {
  const char *end = NULL;
  char host[HOST_DIGITS + 1];
  for (const char *at = strstr(name, mark); at; at = strstr(at + 1, mark)) end = at + strlen(mark);
  if (!end || end == name + strlen(mark)) return 0;
  (void)snprintf(host, sizeof host, "%08" PRIx32, host_hash());
  *is_ours = strncmp(end, host, HOST_DIGITS) == 0 && end[HOST_DIGITS] == '-';
  if (strspn(end, "0123456789abcdef") == HOST_DIGITS && strchr(end, '-') != strrchr(end, '-')) end += HOST_DIGITS + 1;
  size_t pid = strspn(end, "0123456789");
  if (pid == 0 || end[pid] != '-') return 0;
  const char *number = end + pid + 1;
  return *number && strspn(number, "0123456789") == strlen(number);
}

static int is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void sweep_one(int folder, const char *name, int is_ours) {
  struct stat st, now;
  int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  int may_go = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
               (is_ours || time(NULL) - st.st_mtime > foreign_seconds) && flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (may_go && fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&st, &now)) {
    (void)unlinkat(folder, name, 0);
  }
  (void)close(fd);
}

void plim_temporary_sweep(const char *target) {
  char path[FOLDER_BYTES];
  const char *slash = strrchr(target, '/');
  int length = slash ? (int)(slash - target) + 1 : 1;
  if (length >= FOLDER_BYTES) return;
  (void)snprintf(path, sizeof path, "%.*s", length, slash ? target : ".");
  DIR *folder = opendir(path);
  if (!folder) return;
  const struct dirent *file = readdir(folder);
  for (int i = 0; file && i < NAMES_MAX; i++, file = readdir(folder)) {
    int is_ours = 0;
    if (plim_temporary_is(file->d_name, &is_ours)) sweep_one(dirfd(folder), file->d_name, is_ours);
  }
  (void)closedir(folder);
}
