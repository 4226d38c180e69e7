/* Files: read within a limit, replaced whole or not at all. */
#include "runtime/base/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

Test(file, that_cannot_be_renamed_leaves_nothing_behind) {
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
  cr_assert_eq(plim_test_each_allocation(save_and_read, path), 4);
  cr_assert_eq(plim_test_folder_count(), 1);
}
