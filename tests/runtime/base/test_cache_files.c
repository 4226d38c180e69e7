/* Cache files: where they lie, and which go when there are too many. */
#include "runtime/base/cache.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/temporary.h"
#include "tests/support/folder.h"
#include "tests/support/small_graph.h"

static void setup(void) {
  (void)plim_test_folder();
}
TestSuite(cache, .init = setup, .fini = plim_test_folder_remove);

Test(cache, folder_is_the_one_given_or_the_users_own) {
  char path[PLIM_FILE_PATH_BYTES], long_name[PLIM_FILE_PATH_BYTES];
  plim_cache_path("/some/where", "a.json", path);
  cr_assert_str_eq(path, "/some/where/a.json");
  plim_cache_path("", "a.json", path);
  cr_assert_str_empty(path);
  (void)setenv("HOME", "/home/me", 1);
  (void)setenv("XDG_CACHE_HOME", "/xdg", 1);
  plim_cache_path(NULL, "a.json", path);
  cr_assert_str_eq(path, "/xdg/plimsoll/a.json");
  (void)setenv("XDG_CACHE_HOME", "relative", 1);
  plim_cache_path(NULL, "a.json", path);
  cr_assert_str_eq(path, "/home/me/.cache/plimsoll/a.json");
  (void)unsetenv("HOME");
  plim_cache_path(NULL, "a.json", path);
  cr_assert_str_empty(path);
  memset(long_name, 'x', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = 0;
  plim_cache_path("/some", long_name, path);
  cr_assert_str_empty(path);
}

static int is_there(const char *name) {
  struct stat about;
  return stat(plim_test_path(name), &about) == 0;
}

static void write_used(plim_context *ctx, const char *name, int64_t bytes, int64_t used) {
  static const char text[1000];
  const struct timespec times[2] = {{.tv_sec = used}, {.tv_sec = used}};
  cr_assert_eq(plim_file_save(ctx, plim_test_path(name), text, bytes), PLIM_OK);
  cr_assert_eq(utimensat(-1, plim_test_path(name), times, 0), 0);
}

Test(cache, least_recently_used_files_with_the_prefix_go_first) {
  plim_context *ctx = plim_test_context();
  write_used(ctx, "c-1", 400, 10);
  write_used(ctx, "c-2", 400, 30);
  write_used(ctx, "c-3", 400, 20);
  write_used(ctx, "other", 1000, 1);
  write_used(ctx, "c-mine", 300, 5);
  cr_assert_eq(plim_cache_trim(ctx, plim_test_path("c-mine"), "c-", 1100), PLIM_OK);
  cr_assert(is_there("c-mine") && is_there("other") && is_there("c-2") && is_there("c-3"));
  cr_assert_not(is_there("c-1"));
  plim_cache_touch(plim_test_path("c-3"));
  cr_assert_eq(plim_cache_trim(ctx, plim_test_path("c-mine"), "c-", 700), PLIM_OK);
  cr_assert(is_there("c-mine") && is_there("c-3"));
  cr_assert_not(is_there("c-2"));
  cr_assert_eq(plim_cache_trim(ctx, plim_test_path("none/c-mine"), "c-", 1), PLIM_OK);
  plim_context_free(ctx);
}

Test(cache, the_files_with_the_prefix_are_found_from_the_most_recently_used_on) {
  plim_context *ctx = plim_test_context();
  char found[2][PLIM_FILE_PATH_BYTES];
  int32_t n = -1;
  write_used(ctx, "c-1", 1, 10);
  write_used(ctx, "c-2", 1, 30);
  write_used(ctx, "c-3", 1, 20);
  write_used(ctx, "other", 1, 40);
  cr_assert_eq(plim_cache_recent(ctx, plim_test_path("c-mine"), "c-", 2, found, &n), PLIM_OK);
  cr_expect_eq(n, 2);
  cr_expect_str_eq(found[0], plim_test_path("c-2"));
  cr_expect_str_eq(found[1], plim_test_path("c-3"));
  cr_assert_eq(plim_cache_recent(ctx, plim_test_path("none/c-mine"), "c-", 2, found, &n), PLIM_OK);
  cr_expect_eq(n, 0);
  plim_test_context_end(ctx);
}

/* Another process may be writing one: it goes by plim_temporary_sweep, when its writer is dead. */
Test(cache, a_temporary_file_is_none_of_the_cache) {
  plim_context *ctx = plim_test_context();
  char temporary[PLIM_FILE_PATH_BYTES], found[2][PLIM_FILE_PATH_BYTES];
  int32_t n = -1;
  write_used(ctx, "c-1", 400, 10);
  write_used(ctx, "c-a.tmp-b", 400, 20); /* whose name only begins so */
  const int fd = plim_temporary_open(plim_test_path("c-2"), 0600, temporary, sizeof temporary);
  cr_assert_geq(fd, 0);
  cr_assert_eq(ftruncate(fd, 4000), 0);
  cr_assert_eq(plim_cache_recent(ctx, plim_test_path("c-mine"), "c-", 2, found, &n), PLIM_OK);
  cr_expect_eq(n, 2);
  cr_expect_str_eq(found[0], plim_test_path("c-a.tmp-b"));
  cr_expect_str_eq(found[1], plim_test_path("c-1"));
  cr_assert_eq(plim_cache_trim(ctx, plim_test_path("c-mine"), "c-", 1000), PLIM_OK);
  cr_expect(is_there("c-1") && is_there("c-a.tmp-b"));
  cr_assert_eq(plim_cache_trim(ctx, plim_test_path("c-mine"), "c-", 1), PLIM_OK);
  cr_expect_not(is_there("c-1"));
  cr_expect_eq(access(temporary, F_OK), 0);
  cr_assert_eq(close(fd), 0);
  plim_test_context_end(ctx);
}

Test(cache, saving_makes_the_folders_and_replaces_what_has_the_name, .timeout = 10) {
  plim_context *ctx = plim_test_context();
  char path[PLIM_FILE_PATH_BYTES];
  plim_cache_path(plim_test_path("x"), "a/b/c.json", path);
  for (int i = 0; i < 2; i++) {
    plim_text text = {.ctx = ctx};
    plim_text_add(&text, "text");
    cr_assert_eq(plim_cache_save(&text, path), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert(is_there("x/a/b/c.json"));
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
  }
  cr_assert_eq(unlink(path), 0);
  cr_assert_eq(rmdir(plim_test_path("x/a/b")), 0);
  cr_assert_eq(rmdir(plim_test_path("x/a")), 0);
  cr_assert_eq(rmdir(plim_test_path("x")), 0);
  plim_context_free(ctx);
}
