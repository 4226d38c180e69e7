/* plimsoll solvers and the planners after it, as a user runs them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

static void setup(void) {
  (void)plim_test_folder();
}
static void teardown(void) {
  plim_test_folder_remove();
}
TestSuite(cli_solvers, .init = setup, .fini = teardown);

#define STEP "--model mlp --data synthetic --image 8x8x1 --batch 32 --model-costs --iterations 3000 --memory 100%% "

Test(cli_solvers, tells_what_is_missing_and_how_to_get_it) {
  setenv("PLIM_HIGHS", "/nowhere/libhighs.so.1", 1);
  setenv("PLIM_CBC", "/nowhere/libCbcSolver.so.3", 1);
  const program_run *run = plim_test_program("solvers");
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(run->out, "tools/get_solvers"), "%s", run->out);
  cr_assert_not_null(strstr(run->out, "coinor-libcbc3"), "%s", run->out);
  (void)plim_test_program("plan " STEP "--planner milp");
  plim_test_expect(5, "tools/get_solvers");
  (void)plim_test_program("plan " STEP "--planner keep-all");
  plim_test_expect(0, "");
}

Test(cli_solvers, a_graph_too_large_for_a_planner_is_a_usage_error_that_names_the_limit_with_a_solver_or_without) {
  static const char *const planners[] = {"milp", "lp-round"};
  (void)plim_test_program("gen chain --ops 2101 -o g.json");
  plim_test_expect(0, "");
  for (int installed = 1; installed >= 0; installed--) {
    for (size_t i = 0; i < sizeof planners / sizeof *planners; i++) {
      (void)plim_test_program("plan --graph g.json --planner %s --memory 50%%", planners[i]);
      plim_test_expect(2, "planners milp and lp-round take graphs of at most 2048 ops, not 2099; search takes any");
    }
    setenv("PLIM_HIGHS", "/nowhere/libhighs.so.1", 1);
    setenv("PLIM_CBC", "/nowhere/libCbcSolver.so.3", 1);
  }
}

Test(cli_solvers, json_has_a_row_a_solver_with_version_and_path_or_the_reason) {
  (void)plim_test_program("solvers --json");
  plim_test_expect(0, "");
  json_t *object = plim_test_json(), *list = json_object_get(object, "solvers");
  cr_assert_eq(json_array_size(list), 2);
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *row = json_array_get(list, i);
    int found = json_is_true(json_object_get(row, "found"));
    cr_assert(json_is_string(json_object_get(row, "name")));
    cr_assert_eq(json_is_string(json_object_get(row, "version")), found);
    cr_assert_eq(json_is_string(json_object_get(row, "path")), found);
    cr_assert_eq(json_is_string(json_object_get(row, "error")), !found);
  }
  json_decref(object);
}

Test(cli_solvers, the_fetching_script_describes_itself_and_refuses_other_names) {
  const program_run *run = plim_test_shell(PLIM_SOURCE_DIR "/tools/get_solvers --help");
  cr_assert(run->status == 0 && strstr(run->out, "usage: tools/get_solvers"), "%s", run->out);
  (void)plim_test_shell(PLIM_SOURCE_DIR "/tools/get_solvers gurobi");
  plim_test_expect(2, "there is no solver \"gurobi\"");
}

Test(cli_solvers, the_fetching_script_leaves_alone_what_is_there) {
  const program_run *run = plim_test_shell(
      "export XDG_DATA_HOME=$PWD; mkdir -p plimsoll/lib; cd plimsoll/lib; echo 1 > libhighs.so.1; " PLIM_SOURCE_DIR
      "/tools/get_solvers && cat libhighs.so.1; cd ../..; rm -r plimsoll");
  cr_assert_str_eq(run->out, "1\n", "%s%s", run->out, run->error);
}

Test(cli_solvers, libraries_of_the_working_directory_are_not_opened_by_a_relative_path) {
  const program_run *run = plim_test_shell(
      "unset PLIM_HIGHS PLIM_CBC; mkdir -p plimsoll/lib; echo code >plimsoll/lib/libhighs.so.1; "
      "HOME=/nowhere XDG_DATA_HOME=. $PLIMSOLL solvers; rm -r plimsoll");
  if (!strstr(run->out, "highs   -")) cr_skip_test("the system has HiGHS, which comes before the data directory");
  cr_assert_not_null(strstr(run->out, "XDG_DATA_HOME is \".\", which is ignored"), "%s", run->out);
  cr_assert_null(strstr(run->out, "cannot be opened"), "%s", run->out);
}
