/* runtime/data/gzip.c: files of several members, as gzip itself reads them, and what is refused after them. */
#include "runtime/data/gzip.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/base/file.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/test_context.h"

static plim_context *ctx;
static void setup(void) {
  ctx = plim_test_context();
  (void)plim_test_folder();
}
static void teardown(void) {
  plim_test_folder_remove();
  plim_test_context_end(ctx);
}
TestSuite(gzip, .init = setup, .fini = teardown);

/* Make a.gz by the command, and read it. */
static plim_status read_made(const char *command, int64_t limit, char **data, int64_t *bytes) {
  const program_run *run = plim_test_shell(command);
  cr_assert_eq(run->status, 0, "%s", run->error);
  return plim_gzip_read(ctx, plim_test_path("a.gz"), limit, data, bytes);
}

Test(gzip, members_follow_one_another) {
  static const char *const commands[] = {
      "{ printf 'one\\ntw' | gzip; printf 'o\\n' | gzip; } >a.gz",
      "{ printf 'one\\n' | gzip; printf '' | gzip; printf 'two\\n' | gzip; printf '' | gzip; } >a.gz",
      "printf 'one\\ntwo\\n' | gzip >a.gz"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    char *data = NULL;
    int64_t bytes = 0;
    cr_assert_eq(read_made(commands[i], 100, &data, &bytes), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(bytes, 8);
    cr_assert_str_eq(data, "one\ntwo\n");
    plim_file_release(ctx, data, bytes);
  }
}

Test(gzip, more_than_a_chunk_of_members_is_read_whole) {
  char *data = NULL;
  int64_t bytes = 0;
  cr_assert_eq(read_made("head -c 1048570 /dev/zero | gzip >z.gz; cat z.gz z.gz z.gz >a.gz", 1 << 22, &data, &bytes),
               PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(bytes, 3 * 1048570);
  plim_file_release(ctx, data, bytes);
}

Test(gzip, what_is_no_member_is_refused_and_so_is_too_much) {
  static const struct {
    const char *command, *words;
  } refused[] = {
      {"{ printf 'one\\n' | gzip; printf 'two'; } >a.gz", "line 1: bytes follow after the compressed data after 4 "},
      {"{ printf 'one\\n' | gzip; printf '\\037'; } >a.gz", "bytes follow after"},
      {"{ printf 'one\\n' | gzip; printf 'two\\n' | gzip | head -c 20; } >a.gz", "truncated gzip data"},
      {"{ printf 'one\\n' | gzip; printf '\\037\\213\\001\\001\\001'; } >a.gz", "corrupt gzip data"},
      {"{ printf 'one\\n' | gzip; head -c 97 /dev/zero | gzip; } >a.gz", "is larger than allowed"}};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    char *data = NULL;
    int64_t bytes = 0;
    cr_assert_eq(read_made(refused[i].command, 100, &data, &bytes), PLIM_EDATA, "%d", (int)i);
    cr_assert_not_null(strstr(plim_context_error(ctx), refused[i].words), "%s", plim_context_error(ctx));
  }
}
