/* Commands whose n-th allocation is refused, for every n: they say so, or do without. */
#include <criterion/criterion.h>

#include "tests/support/folder.h"
#include "tests/support/program.h"

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
