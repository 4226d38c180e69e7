#define _DEFAULT_SOURCE /* usleep */
/* Files: read within a limit, replaced whole or not at all. */
#include "runtime/base/file.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/failing_memory.h"
#include "tests/support/folder.h"

static plim_context *ctx;

static void open_all(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  (void)plim_test_folder();
}

static void close_all(void) {
  plim_test_folder_remove();
  plim_context_free(ctx);
}

TestSuite(file, .init = open_all, .fini = close_all);

static void assert_holds(const char *path, const char *text) {
  char *data = NULL;
  int64_t bytes = -1;
  cr_assert_eq(plim_file_read(ctx, path, 1 << 20, &data, &bytes), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(bytes, (int64_t)strlen(text));
  cr_assert_str_eq(data, text);
  plim_file_release(ctx, data, bytes);
}

Test(file, is_replaced_whole_and_read_back) {
  const char *path = plim_test_path("a");
  cr_assert_eq(plim_file_save(ctx, path, "one", 3), PLIM_OK);
  cr_assert_eq(plim_file_save(ctx, path, "", 0), PLIM_OK);
  assert_holds(path, "");
  cr_assert_eq(plim_file_save(ctx, path, "three", 5), PLIM_OK);
  assert_holds(path, "three");
  cr_assert_eq(plim_test_folder_count(), 1);
}

Test(file, larger_than_the_buffer_is_written_in_order) {
  const char *path = plim_test_path("large");
  enum { PIECES = 300 };
  plim_file *file = NULL;
  char piece[1000], *data = NULL;
  int64_t bytes = 0;
  cr_assert_eq(plim_file_begin(ctx, path, &file), PLIM_OK);
  for (int i = 0; i < PIECES; i++) {
    memset(piece, i, sizeof piece);
    cr_assert_eq(plim_file_write(file, piece, sizeof piece), PLIM_OK);
  }
  static char whole[100000];
  memset(whole, 'w', sizeof whole);
  cr_assert_eq(plim_file_write(file, whole, sizeof whole), PLIM_OK);
  cr_assert_eq(plim_file_commit(file), PLIM_OK);
  cr_assert_eq(plim_file_read(ctx, path, 1 << 20, &data, &bytes), PLIM_OK);
  cr_assert_eq(bytes, PIECES * 1000 + 100000);
  for (int64_t i = 0; i < bytes; i++) cr_assert_eq(data[i], i < PIECES * 1000 ? (char)(i / 1000) : 'w');
  plim_file_release(ctx, data, bytes);
}

Test(file, abandoned_leaves_the_old_contents_and_nothing_else) {
  const char *path = plim_test_path("a");
  plim_file *file = NULL;
  cr_assert_eq(plim_file_save(ctx, path, "old", 3), PLIM_OK);
  cr_assert_eq(plim_file_begin(ctx, path, &file), PLIM_OK);
  cr_assert_eq(plim_file_write(file, "new", 3), PLIM_OK);
  cr_assert_eq(plim_test_folder_count(), 2);
  plim_file_abandon(file);
  assert_holds(path, "old");
  cr_assert_eq(plim_test_folder_count(), 1);
  plim_file_abandon(NULL);
}

Test(file, that_cannot_be_renamed_leaves_nothing_after) {
  const char *path = plim_test_path("folder");
  cr_assert_eq(mkdir(path, 0755), 0);
  cr_assert_eq(plim_file_save(ctx, path, "x", 1), PLIM_EIO);
  cr_assert_eq(plim_test_folder_count(), 1);
  cr_assert_eq(rmdir(path), 0);
}

Test(file, in_a_missing_folder_is_an_error_with_the_path) {
  cr_assert_eq(plim_file_save(ctx, plim_test_path("none/a"), "x", 1), PLIM_EIO);
  cr_assert_not_null(strstr(plim_context_error(ctx), "none/a"));
}

Test(file, is_tried_in_front_of_long_work_without_a_trace) {
  cr_assert_eq(plim_file_try(ctx, plim_test_path("a")), PLIM_OK);
  cr_assert_eq(plim_test_folder_count(), 0);
  cr_assert_eq(plim_file_try(ctx, plim_test_path("none/a")), PLIM_EIO);
  cr_assert_eq(plim_file_try(ctx, plim_test_path("")), PLIM_EIO);
  cr_assert_not_null(strstr(plim_context_error(ctx), "is a folder, not a file"), "%s", plim_context_error(ctx));
  cr_assert_eq(plim_file_try(ctx, "/dev/null"), PLIM_OK);
  cr_assert(plim_file_is_direct("/dev/null") && !plim_file_is_direct(plim_test_path("")));
}

Test(file, two_writers_of_one_path_do_not_meet) {
  const char *path = plim_test_path("a");
  plim_file *one = NULL, *two = NULL;
  cr_assert_eq(plim_file_begin(ctx, path, &one), PLIM_OK);
  cr_assert_eq(plim_file_begin(ctx, path, &two), PLIM_OK);
  cr_assert_eq(plim_file_write(one, "1", 1), PLIM_OK);
  cr_assert_eq(plim_file_write(two, "22", 2), PLIM_OK);
  cr_assert_eq(plim_file_commit(two), PLIM_OK);
  cr_assert_eq(plim_file_commit(one), PLIM_OK);
  assert_holds(path, "1");
}

Test(file, has_the_rights_that_the_umask_leaves) {
  struct stat st;
  const char *path = plim_test_path("a");
  mode_t old = umask(027);
  cr_assert_eq(plim_file_save(ctx, path, "x", 1), PLIM_OK);
  (void)umask(old);
  cr_assert_eq(stat(path, &st), 0);
  cr_assert_eq(st.st_mode & 0777, 0640);
}

Test(file, full_device_is_an_error_at_commit) {
  if (access("/dev/full", W_OK) != 0) cr_skip_test("no /dev/full here");
  cr_assert_eq(plim_file_save(ctx, "/dev/full", "x", 1), PLIM_EIO);
  cr_assert_eq(plim_file_save(ctx, "/dev/null", "x", 1), PLIM_OK);
}

Test(file, reading_refuses_missing_large_and_irregular_files) {
  char *data = NULL;
  int64_t bytes = -1;
  const char *path = plim_test_path("a");
  cr_assert_eq(plim_file_read(ctx, path, 10, &data, &bytes), PLIM_ENOFILE);
  cr_assert_not_null(strstr(plim_context_error(ctx), path));
  cr_assert_eq(plim_file_save(ctx, path, "12345678901", 11), PLIM_OK);
  cr_assert_eq(plim_file_read(ctx, path, 10, &data, &bytes), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(ctx), "11 bytes"));
  cr_assert_eq(plim_file_read(ctx, plim_test_path("."), 10, &data, &bytes), PLIM_EDATA);
  cr_assert_eq(plim_file_read(ctx, "/dev/null", 10, &data, &bytes), PLIM_EDATA);
  cr_assert_null(data);
  cr_assert_eq(bytes, -1);
}

static plim_status save_and_read(plim_context *c, void *user) {
  const char *path = user;
  char *data = NULL;
  int64_t bytes = 0;
  PLIM_TRY(plim_file_save(c, path, "text", 4));
  PLIM_TRY(plim_file_read(c, path, 10, &data, &bytes));
  plim_file_release(c, data, bytes);
  return PLIM_OK;
}

Test(file, survives_every_refused_allocation) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s", plim_test_path("a"));
  cr_assert_eq(plim_test_each_allocation(save_and_read, path), 2);
  cr_assert_eq(plim_test_folder_count(), 1);
}

/* ---- what is replaced ---- */

static mode_t mode_of(const char *path) {
  struct stat st;
  cr_assert_eq(lstat(path, &st), 0);
  return st.st_mode;
}

Test(file, that_is_replaced_keeps_its_permissions_and_its_owner) {
  const char *path = plim_test_path("a");
  static const mode_t modes[] = {0600, 0640, 0444, 0777};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    struct stat st;
    cr_assert_eq(plim_file_save(ctx, path, "old", 3), PLIM_OK);
    cr_assert_eq(chmod(path, modes[i]), 0);
    int owned = chown(path, 12345, 54321) == 0; /* as root only */
    cr_assert_eq(plim_file_save(ctx, path, "new", 3), PLIM_OK);
    cr_assert_eq(mode_of(path) & 07777, modes[i]);
    cr_assert_eq(stat(path, &st), 0);
    if (owned) cr_assert(st.st_uid == 12345 && st.st_gid == 54321);
    assert_holds(path, "new");
    cr_assert_eq(unlink(path), 0);
  }
}

Test(file, under_a_link_is_replaced_and_the_link_stays) {
  const char *link = plim_test_path("link"), *path = plim_test_path("a");
  cr_assert_eq(symlink("a", link), 0);
  cr_assert_eq(plim_file_save(ctx, link, "one", 3), PLIM_OK); /* the file is not there yet */
  cr_assert(S_ISLNK(mode_of(link)) && S_ISREG(mode_of(path)));
  cr_assert_eq(chmod(path, 0600), 0);
  cr_assert_eq(plim_file_save(ctx, link, "two", 3), PLIM_OK);
  cr_assert(S_ISLNK(mode_of(link)));
  cr_assert_eq(mode_of(path) & 0777, 0600);
  assert_holds(path, "two");
  cr_assert_eq(plim_test_folder_count(), 2);
  const char *far = plim_test_path("far");
  cr_assert_eq(symlink(link, far), 0); /* an absolute link to a relative one */
  cr_assert_eq(plim_file_save(ctx, far, "three", 5), PLIM_OK);
  assert_holds(path, "three");
}

Test(file, under_a_link_to_a_longer_path_than_is_possible_is_an_error_and_the_link_stays) {
  enum { LONGEST = 4095 }; /* of a link's text */
  static char to[LONGEST + 1];
  const char *link = plim_test_path("link");
  for (int i = 0; i + 1 < LONGEST; i += 2) memcpy(to + i, "./", 2);
  to[LONGEST - 1] = 'a';
  cr_assert_eq(symlink(to, link), 0);
  cr_assert_eq(plim_file_save(ctx, link, "one", 3), PLIM_EIO);
  cr_assert_not_null(strstr(plim_context_error(ctx), "link"), "%s", plim_context_error(ctx));
  cr_assert(S_ISLNK(mode_of(link)));
  cr_assert_eq(plim_file_replace(ctx, link, "one", 3), PLIM_OK, "a cache file replaces the link itself");
  cr_assert(S_ISREG(mode_of(link)));
}

Test(file, after_a_circle_of_links_is_an_error) {
  cr_assert_eq(symlink("b", plim_test_path("a")), 0);
  cr_assert_eq(symlink("a", plim_test_path("b")), 0);
  cr_assert_eq(plim_file_save(ctx, plim_test_path("a"), "x", 1), PLIM_EIO);
  cr_assert_not_null(strstr(plim_context_error(ctx), "circle"), "%s", plim_context_error(ctx));
}

Test(file, of_a_cache_replaces_a_link_or_pipe_itself) {
  const char *path = plim_test_path("a"), *target = plim_test_path("target");
  cr_assert_eq(plim_file_save(ctx, target, "old", 3), PLIM_OK);
  cr_assert_eq(symlink("target", path), 0);
  cr_assert_eq(plim_file_replace(ctx, path, "new", 3), PLIM_OK);
  assert_holds(target, "old");
  assert_holds(path, "new");
  cr_assert_eq(unlink(path), 0);
  cr_assert_eq(mkfifo(path, 0600), 0);
  cr_assert_eq(plim_file_replace(ctx, path, "new", 3), PLIM_OK);
  assert_holds(path, "new");
}

/* ---- pipes ---- */

static void *cancel_soon(void *user) {
  (void)usleep(50000);
  plim_context_cancel(user);
  return NULL;
}

Test(file, a_pipe_without_a_reader_is_given_up_after_a_cancel, .timeout = 10) {
  pthread_t canceller;
  const char *path = plim_test_path("pipe");
  cr_assert_eq(mkfifo(path, 0600), 0);
  cr_assert_eq(pthread_create(&canceller, NULL, cancel_soon, ctx), 0);
  cr_assert_eq(plim_file_save(ctx, path, "x", 1), PLIM_ECANCEL);
  cr_assert_eq(pthread_join(canceller, NULL), 0);
  cr_assert(S_ISFIFO(mode_of(path)));
}

static void *read_late(void *user) {
  const char *path = user;
  static char got[1 << 20];
  int64_t bytes = 0;
  (void)usleep(50000);
  int fd = open(path, O_RDONLY);
  for (ssize_t n = 1; n > 0; bytes += n) {
    n = read(fd, got, 1000);
    if (bytes == 0) (void)usleep(50000); /* the pipe becomes full */
  }
  (void)close(fd);
  return bytes == 1000000 ? got : NULL;
}

Test(file, a_pipe_gets_all_of_it_when_its_reader_comes, .timeout = 10) {
  static char text[1000000];
  void *got = NULL;
  pthread_t reader;
  char path[512];
  (void)snprintf(path, sizeof path, "%s", plim_test_path("pipe"));
  cr_assert_eq(mkfifo(path, 0600), 0);
  cr_assert_eq(pthread_create(&reader, NULL, read_late, path), 0);
  cr_assert_eq(plim_file_save(ctx, path, text, sizeof text), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(pthread_join(reader, &got), 0);
  cr_assert_not_null(got);
}

Test(file, a_pipe_whose_reader_does_not_read_is_given_up_after_a_cancel, .timeout = 10) {
  static char text[1000000];
  pthread_t canceller;
  const char *path = plim_test_path("pipe");
  cr_assert_eq(mkfifo(path, 0600), 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  cr_assert_eq(pthread_create(&canceller, NULL, cancel_soon, ctx), 0);
  cr_assert_eq(plim_file_save(ctx, path, text, sizeof text), PLIM_ECANCEL);
  cr_assert_eq(pthread_join(canceller, NULL), 0);
  cr_assert_eq(close(reader), 0);
}

Test(file, reading_in_parts_refuses_a_pipe, .timeout = 10) {
  FILE *file = NULL;
  cr_assert_eq(mkfifo(plim_test_path("pipe"), 0600), 0);
  cr_assert_eq(plim_file_open(ctx, plim_test_path("pipe"), &file), PLIM_EDATA);
  cr_assert_eq(plim_file_open(ctx, plim_test_path("none"), &file), PLIM_ENOFILE);
  cr_assert_eq(plim_file_save(ctx, plim_test_path("a"), "x", 1), PLIM_OK);
  cr_assert_eq(plim_file_open(ctx, plim_test_path("a"), &file), PLIM_OK);
  cr_assert_eq(fgetc(file), 'x');
  (void)fclose(file);
}

/* ---- what a killed writer leaves ---- */

/* A process that holds a temporary of "b": *speaks ends with it. */
static pid_t begin_elsewhere(void) {
  int speaks[2];
  char byte;
  cr_assert_eq(pipe(speaks), 0);
  pid_t process = fork();
  if (process == 0) {
    plim_file *file = NULL;
    plim_status status = plim_file_begin(ctx, plim_test_path("b"), &file);
    ssize_t told = write(speaks[1], "x", status == PLIM_OK);
    if (told != 1) _exit(1);
    while (1) (void)pause();
  }
  (void)close(speaks[1]);
  cr_assert_eq(read(speaks[0], &byte, 1), 1);
  (void)close(speaks[0]);
  return process;
}

Test(file, left_by_a_killed_writer_goes_with_the_next_write_and_that_of_a_living_one_stays, .timeout = 20) {
  plim_file *own = NULL;
  pid_t process = begin_elsewhere();
  cr_assert_eq(plim_file_begin(ctx, plim_test_path("c"), &own), PLIM_OK);
  cr_assert_eq(plim_file_save(ctx, plim_test_path("a"), "x", 1), PLIM_OK);
  cr_assert_eq(plim_test_folder_count(), 3);
  cr_assert_eq(kill(process, SIGKILL), 0);
  cr_assert_eq(waitpid(process, NULL, 0), process);
  cr_assert_eq(plim_test_folder_count(), 3);
  cr_assert_eq(plim_file_save(ctx, plim_test_path("a"), "x", 1), PLIM_OK);
  cr_assert_eq(plim_test_folder_count(), 2);
  cr_assert_eq(plim_file_commit(own), PLIM_OK);
  assert_holds(plim_test_path("c"), "");
}

Test(file, whose_name_only_looks_like_a_temporary_stays) {
  static const char *const stay[] = {"a.tmp",    "a.tmp-",        "a.tmp-1",  "a.tmp-x-1",          "a.tmp-1-x",
                                     "a.tmp-1-", "a.tmp-1-2.bak", ".tmp-1-2", "a.tmp-00000000-1-2", "a.tmp-1-2"};
  const int n = sizeof stay / sizeof *stay;
  for (int i = 0; i < n; i++) {
    int fd = open(plim_test_path(stay[i]), O_WRONLY | O_CREAT, 0600);
    cr_assert(fd >= 0 && close(fd) == 0);
  }
  cr_assert_eq(plim_file_save(ctx, plim_test_path("a"), "x", 1), PLIM_OK);
  cr_assert_eq(plim_test_folder_count(), n + 1);
  /* Two of them are of another host or version: a day later they go. */
  const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
  for (int i = 0; i < n; i++) cr_assert_eq(utimensat(AT_FDCWD, plim_test_path(stay[i]), old, 0), 0);
  cr_assert_eq(plim_file_save(ctx, plim_test_path("a"), "x", 1), PLIM_OK);
  cr_assert_eq(plim_test_folder_count(), n + 1 - 2);
}
