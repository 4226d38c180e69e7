/* tools/plimsoll pack and bench pack: figures, the file that is written, and what wrong buffers get. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

#define BUFFERS "id,lower,upper,size\\nb1,0,3,4\\nb2,3,9,4\\nb3,0,9,4\\nb4,9,21,4\\nb5,0,21,4\\n"

static void setup(void) {
  (void)plim_test_folder();
  (void)plim_test_shell("printf '" BUFFERS "' >lives.csv");
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(cli_pack, .init = setup, .fini = teardown);

static int64_t integer(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  cr_assert(json_is_integer(value), "%s is missing or no integer", key);
  return json_integer_value(value);
}

Test(cli_pack, packs_under_a_capacity_and_writes_offsets_that_are_accepted_again) {
  (void)plim_test_program("pack lives.csv --capacity 12 --json -o out.csv");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert(integer(o, "buffers") == 5 && integer(o, "packed_bytes") == 12 && integer(o, "peak_bytes") == 12);
  cr_assert(json_is_true(json_object_get(o, "proved")));
  json_decref(o);
  const program_run *run = plim_test_shell("head -1 out.csv");
  cr_assert_str_eq(run->out, "id,lower,upper,size,offset\n");
  (void)plim_test_program("pack out.csv --capacity 12");
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(plim_test_program("pack lives.csv --time-limit 1s")->out, "proved lowest  yes"));
}

Test(cli_pack, names_buffers_that_together_do_not_fit) {
  const program_run *run = plim_test_program("pack lives.csv --capacity 11 -o out.csv");
  cr_assert_eq(run->status, 4);
  cr_assert_not_null(strstr(run->error,
                            "5 buffers do not fit into 11 bytes: no packing is lower than 12; at step 0 these "
                            "3 alone are too much: b1 [0, 3) 4, b3 [0, 9) 4, b5 [0, 21) 4"));
  cr_assert_eq(plim_test_shell("test ! -e out.csv")->status, 0);
  run = plim_test_shell(
      "printf 'id,lower,upper,size,alignment\\na,0,2,3,4\\nb,1,3,3,4\\nc,5,6,1,1\\n' >aligned.csv && "
      "$PLIMSOLL pack aligned.csv --capacity 6");
  cr_assert_eq(run->status, 4);
  cr_assert_not_null(
      strstr(run->error, "these 2 do not fit, and without any one of them the others do: a [0, 2) 3, b"));
}

Test(cli_pack, answers_bad_buffers_with_the_line) {
  static const struct {
    const char *command;
    int status;
    const char *words;
  } cases[] = {
      {"$PLIMSOLL pack none.csv", 3, "none.csv"},
      {"$PLIMSOLL pack", 2, "BUFFERS is missing"},
      {"$PLIMSOLL pack lives.csv --capacity 50%", 2, "percentages are not allowed here"},
      {"printf 'id,lower,upper,size\\nb1,0,3,x\\n' >bad.csv; $PLIMSOLL pack bad.csv", 3, "bad.csv: line 2: size \"x\""},
      {"printf 'id,lower,upper,size,offset\\na,0,5,4,0\\nb,1,3,4,2\\n' >bad.csv; $PLIMSOLL pack bad.csv", 3,
       "lines 2 and 3: \"a\" at 0 and \"b\" at 2 overlap in time and space"},
      {"printf 'b1,0,3,4\\n' >bad.csv; $PLIMSOLL pack bad.csv", 3, "line 1: column \"id\" is missing"},
      {"printf '' >bad.csv; $PLIMSOLL pack bad.csv", 3, "line 1: a header is missing"},
      {"printf 'id,lower,upper,size\\nb1,3,0,4\\n' >bad.csv; $PLIMSOLL pack bad.csv", 3, "line 2: upper \"0\" is not"},
      {"printf 'id,lower,upper,size\\nb1,0,3\\n' >bad.csv; $PLIMSOLL pack bad.csv", 3, "line 2: 3 fields"},
      {"printf 'id,lower,upper,size\\nb1,0,3,9223372036854775807\\n' >bad.csv; $PLIMSOLL pack bad.csv", 3,
       "line 2: size \"9223372036854775807\" is too large"},
      {"printf '" BUFFERS "b1,0,1,1\\n' >bad.csv; $PLIMSOLL pack bad.csv", 3, "line 7: id \"b1\" is that of line 2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const program_run *run = plim_test_shell(cases[i].command);
    cr_assert_eq(run->status, cases[i].status, "%s: %d", cases[i].command, run->status);
    cr_assert_not_null(strstr(run->error, cases[i].words), "%s: %s", cases[i].command, run->error);
  }
}

Test(cli_pack, packs_the_buffers_of_a_plan_below_or_at_its_arena) {
  (void)plim_test_program("gen unet --ops 80 --addresses packed -o g.json");
  plim_test_expect(0, "");
  (void)plim_test_program("plan --graph g.json --memory 80%% --iterations 2000 --json -o p.json");
  plim_test_expect(0, "");
  json_t *plan = plim_test_json();
  (void)plim_test_program("pack p.json --graph g.json --json --time-limit 300ms -o out.csv");
  plim_test_expect(0, "");
  json_t *packed = plim_test_json();
  cr_assert_leq(integer(packed, "packed_bytes"), integer(plan, "arena_bytes"));
  cr_assert_eq(integer(packed, "peak_bytes"), integer(plan, "peak_bytes"));
  json_decref(plan);
  json_decref(packed);
  cr_assert_eq(
      plim_test_shell("head -1 out.csv | grep -q '^id,lower,upper,size,offset$' && grep -q '@' out.csv")->status, 0);
  cr_assert_not_null(strstr(plim_test_program("pack p.json --graph none.json")->error, "none.json"));
}

Test(cli_pack, bench_without_data_packs_buffers_of_made_up_steps) {
  (void)plim_test_program("bench pack --ops 150 --time-limit 200ms --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json(), *rows = json_object_get(o, "rows");
  cr_assert_geq((int)json_array_size(rows), 5);
  cr_assert_geq(json_number_value(json_object_get(json_array_get(rows, 0), "peak_percent")), 95);
  json_decref(o);
}

Test(cli_pack, bench_prints_a_row_an_instance) {
  (void)plim_test_program("bench pack --data . --capacity 12 --time-limit 1s --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json(), *row = json_array_get(json_object_get(o, "rows"), 0);
  cr_assert(integer(row, "packed_under_capacity_bytes") == 12 && integer(row, "bound_bytes") == 12);
  json_decref(o);
  cr_assert_not_null(strstr(plim_test_program("bench pack --data .")->out, "buffers "));
}

Test(cli_pack, bench_of_tight_buffers_has_a_row_for_each_slack_and_keeps_them_as_files) {
  (void)plim_test_program("bench tight --shapes grid --threads 1 --time-limit 10ms --json -o made");
  plim_test_expect(0, "");
  json_t *o = plim_test_json(), *rows = json_object_get(o, "rows");
  cr_assert_eq((int)json_array_size(rows), 3);
  for (size_t i = 0; i < 3; i++) {
    json_t *row = json_array_get(rows, i);
    cr_assert(integer(row, "instances") == 8 && integer(row, "packed") <= 8);
    cr_assert_geq(json_number_value(json_object_get(row, "peak_percent")), 95);
  }
  json_decref(o);
  cr_assert_eq(plim_test_shell("test $(ls made-grid-*.csv | wc -l) -eq 24")->status, 0);
  (void)plim_test_program("pack made-grid-128-1.csv --capacity 128 --json");
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(plim_test_program("bench tight --shapes gird")->error, "no family is called \"gird\""));
}
