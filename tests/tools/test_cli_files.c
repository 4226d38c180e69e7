/* Files that the program finds or is told to write, as a user has them: pipes, links, permissions. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

static void setup(void) {
  (void)plim_test_folder();
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf ./*");
  plim_test_folder_remove();
}
TestSuite(cli_files, .init = setup, .fini = teardown);

#define PLAN "plan --model resnet20 --batch 2 --model-costs --memory 90% --iterations 200 -q"

Test(cli_files, a_pipe_under_the_name_of_a_cache_file_is_replaced, .timeout = 120) {
  const program_run *run =
      plim_test_shell("$PLIMSOLL " PLAN
                      " && f=$(ls plimsoll/curve-* | head -1) && rm $f && mkfifo $f && timeout -k 5 60 $PLIMSOLL " PLAN
                      " && test -f $f && mv $f kept && ln -s kept $f && $PLIMSOLL " PLAN " --seed 2 && test -f $f");
  cr_assert_eq(run->status, 0, "%d %s", run->status, run->error);
}

Test(cli_files, a_pipe_as_a_file_of_a_data_set_is_refused, .timeout = 120) {
  const program_run *run = plim_test_shell(
      "for x in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do mkfifo $x-ubyte.gz; done; "
      "timeout -k 5 60 $PLIMSOLL train --model mlp --data fashion-mnist --data-dir . --steps 1 --no-cache");
  cr_assert_eq(run->status, 3, "%d %s", run->status, run->error);
  cr_assert_not_null(strstr(run->error, "is not a regular file"), "%s", run->error);
}

Test(cli_files, an_output_that_is_a_pipe_gets_all_of_it_and_without_a_reader_a_signal_ends_the_wait, .timeout = 120) {
  const program_run *run =
      plim_test_shell("mkfifo pipe; timeout 60 cat pipe >got & $PLIMSOLL " PLAN
                      " --no-cache -o pipe; wait; $PLIMSOLL " PLAN " --no-cache -o plan.json; cmp got plan.json");
  cr_assert_eq(run->status, 0, "%d %s", run->status, run->error);
  run = plim_test_shell("timeout -k 20 3 $PLIMSOLL " PLAN " --no-cache -o pipe");
  cr_assert_eq(run->status, 124, "%d %s", run->status, run->error); /* 137: it had to be killed */
}

Test(cli_files, an_output_keeps_the_permissions_and_the_link_that_were_there, .timeout = 120) {
  const program_run *run = plim_test_shell(
      "touch p.json && chmod 600 p.json && ln -s p.json link.json && $PLIMSOLL " PLAN
      " --no-cache -o link.json && test -L link.json && test $(stat -c %a p.json) = 600 && test -s p.json");
  cr_assert_eq(run->status, 0, "%d %s", run->status, run->error);
}

/* The superuser may write everything: there the program runs as another user. */
Test(cli_files, an_output_that_is_write_protected_is_refused_and_stays, .timeout = 120) {
  const program_run *run = plim_test_shell(
      "echo kept >p.json && chmod 444 p.json && as= && if [ $(id -u) = 0 ]; then chown 65534 . p.json && "
      "as='setpriv --reuid 65534 --clear-groups'; $as test -x $PLIMSOLL || exit 77; fi; "
      "XDG_CACHE_HOME=$PWD $as $PLIMSOLL " PLAN " -o p.json; status=$?; grep -qx kept p.json || exit 1; exit $status");
  if (run->status == 77) cr_skip_test("another user cannot reach the program");
  cr_assert_eq(run->status, 5, "%d %s", run->status, run->error);
  cr_assert_not_null(strstr(run->error, "p.json: could not write: Permission denied"), "%s", run->error);
}
