/* Commands whose n-th allocation is refused, for every n: they say so, or do without. */
#include <criterion/criterion.h>
#include <string.h>

#include "kernels/table.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"

static void setup(void) {
#if defined(PLIM_SANITIZED)
  cr_skip_test("sanitizers have a malloc of their own");
#endif
  (void)plim_test_folder();
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf ./*");
  plim_test_folder_remove();
}
TestSuite(cli_memory, .init = setup, .fini = teardown, .timeout = 300);

/* `command` once for each of its allocations, at most 300 of them: exit status 5 with a word about memory, or 0 with
 * what it prints otherwise (less times, which differ). */
static void refuse_each(const char *prepare, const char *command) {
  char script[3000];
  (void)snprintf(
      script, sizeof script,
      "export F=" PLIM_BINARY_DIR
      "/libfailing_malloc.so; cut() { grep -v -e 'planned in' -e seconds $1; }; run() { %s; }; { %s; } >made && "
      "run >whole && LD_PRELOAD=$F PLIM_COUNT_TO=n run >again && n=$(cat n) && test $n -gt 10 && i=1 && "
      "while [ $i -le $n ]; do s=0; LD_PRELOAD=$F PLIM_FAIL_AT=$i run >out 2>error || s=$?; "
      "case $s in 5) grep -q memory error || { echo at $i; cat error; exit 1; } ;; "
      "0) cut whole >a; cut out >b; cmp a b || { echo at $i; exit 1; } ;; "
      "*) echo at $i: $s; cat error; exit 1 ;; esac; i=$((i + 1 + n / 300)); done",
      command, prepare);
  const program_run *run = plim_test_shell(script);
  cr_assert_eq(run->status, 0, "%s: %d %s%s", command, run->status, run->out, run->error);
}

#define PLAN "$PLIMSOLL plan --graph g.json --memory 90% --iterations 100 --no-cache -q"
#define MADE "$PLIMSOLL gen layered --ops 60 -o g.json -q && " PLAN " -o p.json"

Test(cli_memory, check_tells_every_refused_allocation) {
  refuse_each(MADE, "$PLIMSOLL check p.json --graph g.json --json");
}

Test(cli_memory, plan_tells_every_refused_allocation) {
  refuse_each(MADE, PLAN " --json -o q.json");
}

Test(cli_memory, import_tells_every_refused_allocation) {
  refuse_each(
      "echo '{\"directed\": true, \"multigraph\": false, \"graph\": {\"name\": \"a net\"}, \"nodes\": [{\"id\": 4, "
      "\"name\": \"b\", \"backward\": true, \"cost_cpu\": 20, \"cost_ram\": 6}, {\"id\": 7, \"name\": \"a\", "
      "\"backward\": false, \"cost_cpu\": 5, \"cost_ram\": 5}], \"links\": [{\"source\": 7, \"target\": 4}]}' "
      ">net.json",
      "$PLIMSOLL import nx net.json -o g.json --json");
}

/* oneDNN throws where most of its allocations are refused; some it does not check (a signal ends the process). */
Test(cli_memory, train_tells_of_allocations_that_are_refused_to_a_library) {
  if (strcmp(plim_kernel_library(), "none") == 0) cr_skip_test("built without oneDNN");
  const program_run *run = plim_test_shell(
      "export F=" PLIM_BINARY_DIR
      "/libfailing_malloc.so OMP_WAIT_POLICY=passive; run() { $PLIMSOLL train --model mlp --batch 4 --data synthetic "
      "--model-costs --steps 2 --threads 1 --no-cache -q; }; LD_PRELOAD=$F PLIM_COUNT_TO=n run >whole && n=$(cat n) && "
      "told=0 && for k in 1 2 3 4 5 6 7 8; do s=0; LD_PRELOAD=$F PLIM_FAIL_AT=$((n * k / 9)) run >out 2>error || "
      "s=$?; "
      "test $s -ne 134 || { echo aborted at $k; exit 1; }; test $s -ne 5 || ! grep -q \"a library's\" error || "
      "told=$((told + 1)); done; echo told $told; test $told -gt 0");
  cr_assert_eq(run->status, 0, "%d %s%s", run->status, run->out, run->error);
}

/* From the least address space in which the program starts on: threads, kernels that are compiled, the arena. */
Test(cli_memory, a_small_address_space_is_told_and_ends_no_process_by_a_signal) {
  const program_run *run = plim_test_shell(
      "try() { ( ulimit -v $v; exec $PLIMSOLL \"$@\" ) >out 2>error; }; v=30000; "
      "until try --version; do v=$((v + 1000)); test $v -lt 1000000 || exit 9; done; first=$v; told=0; "
      "while [ $v -lt $((first + 60000)) ]; do for c in plan 'train --steps 2'; do s=0; "
      "try $c --model mlp --model-costs --data synthetic -q --batch 4 --threads 2 --no-cache || s=$?; case $s in 0) ;; "
      "5) told=$((told + 1)); grep -q -e memory -e refused error || { echo $c at $v; cat error; exit 1; } ;; "
      "*) echo $c at $v: $s; cat error; exit 1 ;; esac; done; v=$((v + 2500)); done; echo told $told; test $told -gt "
      "0");
  cr_assert_eq(run->status, 0, "%d %s%s", run->status, run->out, run->error);
}
