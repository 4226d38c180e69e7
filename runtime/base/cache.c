/* Cache files: their folder, and the choice of those to remove when there are too many. */
#include "runtime/base/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/temporary.h"
#include "runtime/base/user_folder.h"

enum { NAME_BYTES = 256, LOCK_TRIES = 100, LOCK_PAUSE_NS = 10000000 };

void plim_cache_path(const char *folder, const char *name, char *path) {
  char below[PLIM_FILE_PATH_BYTES];
  int length = 0;
  if (folder) {
    if (folder[0]) length = snprintf(path, PLIM_FILE_PATH_BYTES, "%s/%s", folder, name);
  } else if (snprintf(below, sizeof below, "plimsoll/%s", name) < PLIM_FILE_PATH_BYTES) {
    plim_user_folder("XDG_CACHE_HOME", ".cache", below, path, PLIM_FILE_PATH_BYTES);
    return;
  }
  if (length <= 0 || length >= PLIM_FILE_PATH_BYTES) path[0] = '\0';
}

/* The folder of a path, with its slash. Returns its length. */
static int folder_of(const char *path, char *folder) {
  const char *slash = strrchr(path, '/');
  return snprintf(folder, PLIM_FILE_PATH_BYTES, "%.*s", slash ? (int)(slash - path) + 1 : 0, path);
}

/* Create the folders of a path. Failures are ignored here: writing the file then fails. */
static void make_folders(const char *path) {
  char folder[PLIM_FILE_PATH_BYTES];
  (void)snprintf(folder, sizeof folder, "%s", path);
  for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)mkdir(folder, 0755);
    *slash = '/';
  }
}

plim_status plim_cache_save(plim_text *text, const char *path) {
  plim_status status = text->status;
  if (status == PLIM_OK) {
    make_folders(path);
    status = plim_file_replace(text->ctx, path, text->chars, text->length);
  }
  plim_text_free(text);
  return status;
}

/* The folder itself is locked, so that no lock file remains. */
int plim_cache_lock(const char *path) {
  char folder[PLIM_FILE_PATH_BYTES];
  if (folder_of(path, folder) == 0) return -1;
  make_folders(path);
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    if (errno != EWOULDBLOCK) break;
    (void)nanosleep(&(const struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
  }
  if (fd >= 0) (void)close(fd);
  return -1;
}

void plim_cache_unlock(int lock) {
  if (lock < 0) return;
  (void)flock(lock, LOCK_UN); /* a child process may have the descriptor, too */
  (void)close(lock);
}

void plim_cache_touch(const char *path) {
  (void)utimensat(AT_FDCWD, path, NULL, 0);
}

typedef struct entry {
  char name[NAME_BYTES];
  struct timespec used;
  int64_t bytes;
} entry;

typedef struct listing {
  plim_context *ctx;
  DIR *folder;
  entry *entry;
  int64_t n, capacity;
} listing;

static plim_status list(listing *l, const char *prefix, const char *except) {
  for (const struct dirent *file = readdir(l->folder); file; file = readdir(l->folder)) {
    struct stat about;
    int is_ours;
    if (plim_temporary_is(file->d_name, &is_ours)) continue; /* another process may be writing it */
    if (strncmp(file->d_name, prefix, strlen(prefix)) != 0 || strcmp(file->d_name, except) == 0) continue;
    if (strlen(file->d_name) >= NAME_BYTES) continue;
    if (fstatat(dirfd(l->folder), file->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(about.st_mode)) continue;
    PLIM_TRY(plim_array_reserve(l->ctx, &l->entry, &l->capacity, l->n + 1, sizeof *l->entry));
    entry *e = &l->entry[l->n++];
    (void)snprintf(e->name, sizeof e->name, "%s", file->d_name);
    e->used = about.st_mtim;
    e->bytes = about.st_size;
  }
  return PLIM_OK;
}

static int by_use(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec > y->used.tv_sec ? -1 : 1;
  if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec > y->used.tv_nsec ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* The files beside `path`, but `except`. folder [PLIM_FILE_PATH_BYTES]; where it cannot be read, the listing
 * has none. */
static plim_status list_siblings(listing *l, const char *path, const char *prefix, const char *except, char *folder) {
  int length = folder_of(path, folder);
  if (length == 0) return PLIM_OK;
  folder[length - 1] = '\0';
  l->folder = opendir(folder);
  if (!l->folder) return PLIM_OK;
  PLIM_TRY(list(l, prefix, except));
  if (l->n > 0) qsort(l->entry, (size_t)l->n, sizeof *l->entry, by_use);
  return PLIM_OK;
}

static void end_list(listing *l) {
  plim_release(l->ctx, l->entry, l->capacity, sizeof *l->entry);
  if (l->folder) (void)closedir(l->folder);
}

plim_status plim_cache_trim(plim_context *ctx, const char *path, const char *prefix, int64_t bytes_max) {
  char folder[PLIM_FILE_PATH_BYTES];
  const char *slash = strrchr(path, '/');
  struct stat about;
  listing l = {.ctx = ctx};
  plim_status status = list_siblings(&l, path, prefix, slash ? slash + 1 : "", folder);
  int64_t total = stat(path, &about) == 0 ? about.st_size : 0;
  for (int64_t i = 0; i < l.n && status == PLIM_OK; i++) {
    total += l.entry[i].bytes;
    if (total > bytes_max) (void)unlinkat(dirfd(l.folder), l.entry[i].name, 0);
  }
  end_list(&l);
  return status;
}

plim_status plim_cache_recent(plim_context *ctx, const char *path, const char *prefix, int32_t most,
                              char (*out)[PLIM_FILE_PATH_BYTES], int32_t *n) {
  char folder[PLIM_FILE_PATH_BYTES];
  listing l = {.ctx = ctx};
  *n = 0;
  plim_status status = list_siblings(&l, path, prefix, "", folder);
  for (int64_t i = 0; i < l.n && *n < most && status == PLIM_OK; i++) {
    int length = snprintf(out[*n], PLIM_FILE_PATH_BYTES, "%s/%s", folder, l.entry[i].name);
    if (length < PLIM_FILE_PATH_BYTES) ++*n;
  }
  end_list(&l);
  return status;
}
