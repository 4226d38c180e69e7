/* tools/plimsoll on a GPU, whole commands over the fake of tests/support/fake_gpu.c: what they print, and what bad
 * input gets. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

static void setup(void) {
  (void)plim_test_folder();
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(cli_gpu, .init = setup, .fini = teardown);

#define MLP "--model mlp --data synthetic --image 8x8x1 --batch 32 --no-progress --device cuda:0 "
#define NETWORK                                                                                \
  "--model resnet20 --data synthetic --image 8x8x3 --batch 32 --model-costs --iterations 100 " \
  "--no-progress --device cuda:0 "
#define MIB(n) ((json_int_t)(n) << 20)
/* A GPU whose context, modules and captured steps take memory as a real one's do. */
#define LIKE_A_REAL_ONE "context_bytes=41943040,module_bytes=4194304,graph_bytes=2097152"

/* Run a command on a GPU with these options. */
static const program_run *on_gpu(const char *gpu, const char *arguments) {
  char line[1024];
  int length = snprintf(line, sizeof line, "PLIM_TEST_GPU=%s $PLIMSOLL-fake-gpu %s", gpu, arguments);
  cr_assert(length > 0 && length < (int)sizeof line);
  return plim_test_shell(line);
}

static json_int_t integer(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  cr_assert(json_is_integer(value), "%s is missing or no integer", key);
  return json_integer_value(value);
}

static int count(const char *text, const char *words) {
  int n = 0;
  for (const char *at = strstr(text, words); at; at = strstr(at + 1, words)) n++;
  return n;
}

/* The fake multiplies in double precision; test_device_cuda and test_vram run the same code under sanitizers. */
static void skip_where_it_takes_minutes(void) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
}

/* ---- what works ---- */

/* A trial runs what was rehearsed, so a variant that the device refuses is dropped before it, and not the run's end. */
Test(cli_gpu, a_trial_comes_after_the_rehearsal) {
  skip_where_it_takes_minutes();
  const program_run *run =
      on_gpu("dnn=1,hollow=1,refuse_run=40",
             "train --model resnet20 --data synthetic --image 16x16x3 --batch 16 --layout flat --model-costs "
             "--iterations 50 --steps 3 --no-progress --no-cache --memory cuda:0=60%,host=1GiB --trial 2");
  cr_expect_eq(run->status, 0, "%s", run->error);
}

/* The meter asks when it opens, before the steps and after them. */
Test(cli_gpu, prints_the_energy_that_the_gpu_drew_where_the_driver_tells) {
  static const char train[] = "train " MLP "--model-costs --no-cache --steps 2 --json";
  cr_assert_eq(on_gpu("energy_mj=3000", train)->status, 0);
  json_t *o = plim_test_json();
  cr_assert_eq(json_number_value(json_object_get(o, "gpu_energy_measured_joule")), 1.5);
  json_decref(o);
  cr_assert_eq(on_gpu("energy_mj=0", train)->status, 0);
  o = plim_test_json();
  cr_assert_null(json_object_get(o, "gpu_energy_measured_joule"));
  json_decref(o);
}

#define PAGED "--data synthetic --model resnet20 --image 16x16x3 --batch 4 --model-costs --no-cache -q --recompute off "

Test(cli_gpu, pages_to_host_memory_and_changes_no_bit) {
  skip_where_it_takes_minutes();
  const program_run *run = on_gpu("dnn=0", "verify " PAGED "--memory cuda:0=60%,host=1GiB --steps 3");
  cr_expect_eq(run->status, 0, "%s", run->error);
  cr_expect_not_null(strstr(run->out, "weights identical    yes"), "%s", run->out);
  static const char *const refused[][2] = {
      {"--memory cuda:0=60%,disk=1GiB", "a GPU pages to host"},
      {"--memory cuda:0=60%,cpu:1=1GiB", "the other device is a GPU"},
      {"--memory cuda:0=60%,host=1GiB --retime 2", "--retime and plans that page"},
      {"--memory cuda:0=60%,host=1GiB --trace t.jsonl", "--trace and plans that page"},
      {"--memory cuda:0=60%,host=1GiB --device cuda:1", "is not of --device cuda:1"},
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    char line[256];
    (void)snprintf(line, sizeof line, "train " PAGED "--steps 1 %s", refused[i][0]);
    run = on_gpu("dnn=0", line);
    cr_expect_eq(run->status, 2, "%s: %s", refused[i][0], run->error);
    cr_expect_not_null(strstr(run->error, refused[i][1]), "%s", run->error);
  }
}

Test(cli_gpu, trains_within_a_cap_on_the_arena) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)on_gpu(LIKE_A_REAL_ONE, "train " NETWORK "--memory 75% --steps 14 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_leq(integer(o, "arena_bytes"), integer(o, "budget_bytes"));
  cr_assert_gt(integer(o, "commands"), 0);
  cr_assert_eq(integer(o, "steps"), 14);
  cr_assert_eq(integer(o, "own_allocations"), 0);
  cr_assert_geq(integer(o, "gpu_outside_bytes"), MIB(46));
  cr_assert_eq(integer(o, "gpu_growth_bytes"), 0);
  cr_assert_str_eq(json_string_value(json_object_get(o, "isa")), "sm_90");
  cr_assert_not_null(json_object_get(o, "retimed"), "ops are timed in place on a GPU");
  json_decref(o);
}

Test(cli_gpu, a_cap_on_everything_bounds_arena_and_what_lies_beside_it) {
  skip_where_it_takes_minutes();
  static const int caps_mib[] = {53, 900}; /* 4 MiB are left for an arena that wants 5.3, then all that it wants */
  for (size_t i = 0; i < sizeof caps_mib / sizeof *caps_mib; i++) {
    char line[512];
    (void)snprintf(line, sizeof line, "train " NETWORK "--vram %dMiB --steps 12 --json", caps_mib[i]);
    (void)on_gpu(LIKE_A_REAL_ONE, line);
    plim_test_expect(0, "");
    json_t *o = plim_test_json();
    cr_assert_leq(integer(o, "arena_bytes") + integer(o, "gpu_outside_bytes"), MIB(caps_mib[i]));
    cr_assert_eq(integer(o, "gpu_growth_bytes"), 0);
    json_decref(o);
  }
}

Test(cli_gpu, the_smaller_of_two_caps_wins) {
  skip_where_it_takes_minutes();
  (void)on_gpu("", "train " NETWORK "--vram 512MiB --memory 75% --steps 3 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_lt(integer(o, "budget_bytes"), MIB(5));
  cr_assert_leq(integer(o, "arena_bytes"), integer(o, "budget_bytes"));
  json_decref(o);
}

Test(cli_gpu, verifies_captured_queued_and_bf16_steps_bit_for_bit) {
  skip_where_it_takes_minutes();
  static const char *const gpu[] = {"", "blas=1", "dnn=1,blas=1", "dnn=1", "blas=1"};
  static const char *const how[] = {"", "--no-graph", "--math bf16", "--math tf32", "--retime 0"};
  for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
    char line[512];
    (void)snprintf(line, sizeof line, "verify " NETWORK "--batch 4 --memory 95%% --steps 3 %s", how[i]);
    const program_run *run = on_gpu(gpu[i], line);
    plim_test_expect(0, "");
    cr_assert_not_null(strstr(run->out, "weights identical    yes"), "%s", run->out);
  }
}

Test(cli_gpu, profiles_each_kind_of_operation_beside_the_ceilings) {
  const program_run *run = on_gpu("",
                                  "profile --model mlp --data synthetic --image 8x8x1 --batch 32 --no-progress "
                                  "--device cuda:0 --repeats 1 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_gt(json_object_size(json_object_get(o, "kind_ns")), 5, "%s", run->out);
  json_decref(o);
}

Test(cli_gpu, compares_a_cap_with_none_and_tells_what_was_timed_in_place) {
  skip_where_it_takes_minutes();
  (void)on_gpu("", "compare " NETWORK "--memory 75% --steps 20 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert(json_is_true(json_object_get(o, "identical")));
  cr_assert_not_null(json_object_get(o, "retimed"));
  json_decref(o);
}

Test(cli_gpu, shrinks_its_cap_on_the_way_and_goes_on_from_a_checkpoint) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  (void)on_gpu("", "train " NETWORK "--memory-at 3=85% --steps 6 --save w.ck");
  plim_test_expect(0, "");
  (void)on_gpu("", "train " NETWORK "--load w.ck --steps 8");
  plim_test_expect(0, "");
}

/* ---- cuDNN and cuBLAS ---- */

Test(cli_gpu, says_once_which_libraries_are_missing_and_goes_on) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  static const struct {
    const char *gpu;
    int no_blas, no_dnn;
  } rows[] = {{"", 1, 1}, {"blas=1", 0, 1}, {"blas=1,dnn=1", 0, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const program_run *run = on_gpu(rows[i].gpu, "train " MLP "--model-costs --steps 3");
    plim_test_expect(0, "");
    cr_assert_eq(count(run->out, "no library was found") + count(run->error, "no library was found"), rows[i].no_blas);
    cr_assert_eq(count(run->out, "no cuDNN was found") + count(run->error, "no cuDNN was found"), rows[i].no_dnn);
    (void)on_gpu(rows[i].gpu, "train " MLP "--model-costs --steps 3 --json");
    json_t *o = plim_test_json();
    const char *missing = json_string_value(json_object_get(o, "libraries_missing"));
    cr_assert_eq(missing != NULL, rows[i].no_dnn, "%s", missing ? missing : "nothing");
    json_decref(o);
  }
}

/* The fake's convolutions cost the same in each layout; what is chosen is one that a GPU's libraries take. */
Test(cli_gpu, chooses_among_the_layouts_of_a_gpu) {
  (void)on_gpu("blas=1,dnn=1,hollow=1",
               "train --model resnet20 --data synthetic --image 8x8x3 --batch 4 --iterations 100 "
               "--no-progress --device cuda:0 --steps 1 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  const char *layout = json_string_value(json_object_get(o, "layout"));
  cr_assert(strcmp(layout, "nhwc") == 0 || strcmp(layout, "flat") == 0, "%s", layout);
  json_decref(o);
}

/* ---- starts ---- */

#define RESNET50                                                                                                     \
  "train --model resnet50 --data synthetic --image 32x32x3 --batch 2 --iterations 10 --no-progress --device cuda:0 " \
  "--steps 3 --retime 0 --json "

/* Plans of cuDNN that a start builds. All of them run, and none is built twice. */
static int plans_of_start(const char *arguments) {
  const program_run *run = on_gpu("hollow=1,blas=1,dnn=1,report_calls=1", arguments);
  int plans = -1, idle = -1, again = -1;
  cr_assert_eq(run->status, 0, "%s", run->error);
  const char *line = strstr(run->error, "plans ");
  cr_assert_not_null(line, "%s", run->error);
  cr_assert_eq(sscanf(line, "plans %d, never run %d, made while an equal one was open %d", &plans, &idle, &again), 3);
  cr_assert_eq(idle, 0);
  cr_assert_eq(again, 0);
  return plans;
}

Test(cli_gpu, a_first_start_of_resnet50_builds_at_most_50_plans_and_a_second_those_that_it_runs) {
  skip_where_it_takes_minutes();
  const int first = plans_of_start(RESNET50);
  cr_assert_leq(first, 50);
  cr_assert_geq(first, 30); /* eleven convolutions of more than one tap or stride, in three directions */
  json_t *o = plim_test_json();
  cr_assert_gt(integer(o, "variants_left_out"), 0);
  cr_assert_eq(integer(o, "kernels_built"), first);
  json_decref(o);
  const int second = plans_of_start(RESNET50);
  cr_assert_lt(second, first);
  cr_assert_eq(plans_of_start(RESNET50), second);
  cr_assert_geq(second, 30);
}

/* ---- bad input ---- */

/* Row of a table: the GPU, arguments, exit status, words of the one sentence. */
static const struct {
  const char *gpu, *arguments;
  int status;
  const char *words;
} inputs[] = {
    {"no_driver=1", "train " MLP, 5, "no GPU can be used: no driver (CUDA error 35)"},
    {"no_driver=1", "verify " MLP, 5, "no GPU can be used: no driver (CUDA error 35)"},
    {"no_driver=1", "profile --model mlp --device cuda:0", 5, "no GPU can be used: no driver (CUDA error 35)"},
    {"no_driver=1", "compare " MLP "--memory 90%", 5, "no GPU can be used: no driver (CUDA error 35)"},
    {"devices=0", "train " MLP, 5, "there is no cuda:0: the driver knows 0 GPUs"},
    {"devices=2", "train " MLP "--device cuda:2", 5, "there is no cuda:2: the driver knows 2 GPUs"},
    {"major=6,minor=1", "train " MLP, 5, "a Fake GPU of compute capability 6.1; the least is 7.5"},
    {"", "train " MLP "--device cuda:x", 2, "cuda:x"},
    {"", "train " MLP "--vram 50%", 2, "--vram 50%: percentages are not allowed here"},
    {"", "train " MLP "--vram 5parsecs", 2, "5parsecs"},
    {"", "train " MLP "--vram 99999999TiB", 2, "99999999TiB"},
    {"", "train " MLP "--device cpu --vram 1GiB", 2, "--vram requires --device cuda:0"},
    {"", "train " MLP "--vram 2GiB", 4, "2.0 GiB (2147483648 bytes) are more than the GPU can give now"},
    {LIKE_A_REAL_ONE, "train " MLP "--vram 40MiB", 4, "take 40.0 MiB (41943056 bytes) of the GPU"},
    {LIKE_A_REAL_ONE, "train " MLP "--model-costs --vram 43MiB", 4, "--vram 43MiB leaves 2.0 MiB for the arena: mlp"},
    {LIKE_A_REAL_ONE, "train " MLP "--vram 44MiB", 4, "--vram 44MiB leaves 2.0 MiB for the arena: mlp"},
    {LIKE_A_REAL_ONE, "train " MLP "--vram 46MiB", 4, "take 44.0 MiB (46137360 bytes) of the GPU"},
    {LIKE_A_REAL_ONE, "train " MLP "--model-costs --vram 47MiB", 4, "captured steps take 48.0 MiB (50331664 bytes)"},
    {"memory_bytes=2097152", "train " MLP "--model-costs", 4,
     "bytes are more than cuda:0 has free, 2097136 of 2097152; with it training needs less"},
    {"memory_bytes=2097152", "train " MLP "--model-costs --memory 1GiB", 4, "under --memory 1GiB: "},
    {"memory_bytes=2097152", "verify " MLP "--model-costs --memory 99%", 4, "; a smaller one needs less"},
    {"memory_bytes=4194304", "verify " MLP "--model-costs --memory 99%", 4, "with everything kept, to compare with: "},
    {"memory_bytes=2097152", "train " MLP "--batch 16", 4, "measuring operations: "},
    {"major=7,minor=5", "train " MLP "--math tf32", 2, "compute capability 8.0 and up: device cuda computes in fp32"},
    {"", "train " MLP "--model-costs --memory 1MiB", 4, "does not fit into 1.0 MiB"},
    {"fail_alloc_at=1", "train " MLP "--model-costs", 5, "memory"},
};

Test(cli_gpu, answers_bad_input_with_one_sentence_and_the_right_status) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    const program_run *run = on_gpu(inputs[i].gpu, inputs[i].arguments);
    cr_expect_eq(run->status, inputs[i].status, "%s: exit status %d: %s", inputs[i].arguments, run->status, run->error);
    cr_expect_not_null(strstr(run->error, inputs[i].words), "%s: %s", inputs[i].arguments, run->error);
    const char *end = strchr(run->error, '\n');
    cr_expect(end && end[1] == 0, "%s: more than one sentence: %s", inputs[i].arguments, run->error);
  }
}

Test(cli_gpu, a_cap_above_what_is_free_is_none_when_the_plan_fits) {
  (void)on_gpu("", "train " MLP "--model-costs --memory 8GiB --steps 2 --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert_lt(integer(o, "arena_bytes"), MIB(8));
  json_decref(o);
}

Test(cli_gpu, what_grows_beside_the_arena_is_told) {
  const program_run *run = on_gpu("leak_bytes=1048576", "train " MLP "--model-costs --steps 12 --retime 0");
  plim_test_expect(0, "");
  cr_assert_not_null(strstr(run->out, "GROWN by "), "%s", run->out);
}

/* Containers, parts of a GPU. */
Test(cli_gpu, without_a_management_library_what_is_outside_says_whose_it_may_be) {
  static const char *const gpu[] = {"context_bytes=41943040", "context_bytes=-1"};
  for (int i = 0; i < 2; i++) {
    const program_run *run = on_gpu(gpu[i], "train " MLP "--model-costs --steps 2 --retime 0");
    plim_test_expect(0, "");
    cr_assert_eq(count(run->out, "what other programs hold counts too"), i, "%s", run->out);
  }
}

Test(cli_gpu, a_machine_without_that_gpu_is_told_from_one_with_it) {
  (void)plim_test_program("train " MLP "--device cuda:99");
  plim_test_expect(5, "");
  cr_assert_eq(count(plim_test_shell("$PLIMSOLL train --device cuda:99")->error, "\n"), 1);
}

/* ---- variants that fail ---- */

#define MEASURED \
  "profile --model resnet20 --data synthetic --image 8x8x3 --batch 1 --repeats 1 --no-progress --device cuda:0 "

Test(cli_gpu, a_variant_that_fails_is_told_and_the_rest_is_measured) {
  skip_where_it_takes_minutes();
  (void)on_gpu("dnn=1,refuse_run=1", MEASURED "--json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  const json_t *dropped = json_object_get(o, "variants_dropped"), *first = json_array_get(dropped, 0);
  cr_assert_gt(json_array_size(dropped), 5);
  cr_assert_str_eq(json_string_value(json_object_get(first, "op")), "stem.conv");
  cr_assert_not_null(strstr(json_string_value(json_object_get(first, "why")), "cuDNN status 3008"));
  json_decref(o);
}

Test(cli_gpu, an_illegal_address_ends_the_run_with_the_library_s_code_and_status_5) {
  const program_run *run = on_gpu("dnn=1,illegal_engine=1", MEASURED);
  cr_assert_eq(run->status, 5, "%s", run->error);
  cr_assert_not_null(strstr(run->error, "an illegal memory access was encountered (CUDA error 700)"), "%s", run->error);
  cr_assert_eq(count(run->error, "\n"), 1, "%s", run->error);
}

/* Costs are modelled, so that no variant has been run before the executor does; engine 40 needs no workspace. */
#define UNTRIED                                                                            \
  "--model resnet20 --data synthetic --image 8x8x3 --batch 2 --layout flat --model-costs " \
  "--iterations 50 --steps 3 --no-progress --device cuda:0 "

static const struct {
  const char *gpu, *words;
} refused[] = {{"dnn=1,refuse_plan=40", "cuDNN status 3000: engine 40 refuses to be planned"},
               {"dnn=1,refuse_run=40", "cuDNN status 3008: engine 40 refuses to run"},
               {"dnn=1,refuse_capture=40", "cuDNN status 5003: engine 40 allocates"}};
enum { REFUSED = sizeof refused / sizeof *refused };

Test(cli_gpu, a_variant_that_is_refused_in_the_executor_leaves_the_plan_and_the_run_goes_on) {
  skip_where_it_takes_minutes();
  (void)plim_test_shell("PLIM_TEST_GPU=dnn=1 $PLIMSOLL-fake-gpu train " UNTRIED
                        "-o p.json && grep -q cudnn-e40 p.json");
  plim_test_expect(0, "");
  for (int i = 0; i < REFUSED; i++) {
    (void)on_gpu(refused[i].gpu, "train " UNTRIED "--json -o p.json");
    plim_test_expect(0, "");
    json_t *o = plim_test_json();
    const json_t *first = json_array_get(json_object_get(o, "variants_dropped"), 0);
    cr_assert_not_null(strstr(json_string_value(json_object_get(first, "why")), refused[i].words));
    cr_assert_eq(integer(o, "steps"), 3);
    json_decref(o);
    (void)plim_test_shell("grep -c cudnn-e40 p.json");
    plim_test_expect(1, "");
  }
}

Test(cli_gpu, numerics_that_need_a_refused_variant_are_refused_with_its_words) {
  skip_where_it_takes_minutes();
  for (int i = 0; i < REFUSED; i++) {
    const program_run *run = on_gpu(refused[i].gpu, "train " UNTRIED "--numerics fastest");
    cr_assert_eq(run->status, 5, "%s", run->error);
    cr_assert_not_null(strstr(run->error, refused[i].words), "%s", run->error);
    cr_assert_not_null(strstr(run->error, "give --numerics auto"), "%s", run->error);
    cr_assert_eq(count(run->error, "\n"), 1, "%s", run->error);
  }
}

Test(cli_gpu, verify_and_a_bound_on_all_of_the_gpu_go_on_without_a_refused_variant) {
  skip_where_it_takes_minutes();
  (void)on_gpu(refused[1].gpu, "verify " UNTRIED "--memory 97% --json");
  plim_test_expect(0, "");
  json_t *o = plim_test_json();
  cr_assert(json_is_true(json_object_get(o, "identical")));
  json_decref(o);
  (void)on_gpu(refused[2].gpu, "train " UNTRIED "--vram 96MiB --json");
  plim_test_expect(0, "");
}

Test(cli_gpu, a_plan_that_is_given_and_needs_a_refused_variant_is_refused) {
  skip_where_it_takes_minutes();
  (void)plim_test_shell("PLIM_TEST_GPU=dnn=1 $PLIMSOLL-fake-gpu train " UNTRIED "-o p.json");
  plim_test_expect(0, "");
  const program_run *run = on_gpu(refused[1].gpu, "train " UNTRIED "--plan p.json");
  cr_assert_eq(run->status, 5, "%s", run->error);
  cr_assert_not_null(strstr(run->error, refused[1].words), "%s", run->error);
  cr_assert_not_null(strstr(run->error, "plan again here"), "%s", run->error);
}

Test(cli_gpu, what_was_measured_and_is_refused_later_is_dropped_in_the_cache_too) {
  skip_where_it_takes_minutes();
  static const char *const gpu[] = {"dnn=1,hollow=1", "dnn=1,hollow=1,refuse_run=40", "dnn=1,hollow=1"};
  for (int i = 0; i < 3; i++) {
    char line[1024];
    (void)snprintf(
        line, sizeof line,
        "XDG_CACHE_HOME=$PWD/cache PLIM_TEST_GPU=%s $PLIMSOLL-fake-gpu train --model resnet20 --data "
        "synthetic --image 8x8x3 --batch 1 --layout flat --profile-time 20 --iterations 50 --steps 2 --retime 0 "
        "--no-progress --device cuda:0 --numerics small --json -o p%d.json",
        gpu[i], i);
    (void)plim_test_shell(line);
    plim_test_expect(0, "");
    json_t *o = plim_test_json();
    cr_assert_eq(json_array_size(json_object_get(o, "variants_dropped")) > 0, i > 0, "start %d", i);
    json_decref(o);
  }
  (void)plim_test_shell("grep -q cudnn-e40 p0.json && ! grep -q cudnn-e40 p1.json && ! grep -q cudnn-e40 p2.json");
  plim_test_expect(0, "");
}

Test(cli_gpu, an_illegal_address_in_the_executor_ends_the_run_with_status_5) {
  const program_run *run = on_gpu("dnn=1,illegal_engine=40", "train " UNTRIED);
  cr_assert_eq(run->status, 5, "%s", run->error);
  cr_assert_not_null(strstr(run->error, "variant \"cudnn-e40-"), "%s", run->error);
  cr_assert_not_null(strstr(run->error, "an illegal memory access was encountered (CUDA error 700)"), "%s", run->error);
  cr_assert_eq(count(run->error, "\n"), 1, "%s", run->error);
}

/* ---- a device that is lost on the way ---- */

/* Calls of the driver that a whole run makes, closing included. */
static long calls_of(const char *arguments) {
  const program_run *run = on_gpu("report_calls=1", arguments);
  const char *told = strstr(run->error, "calls ");
  cr_assert(run->status == 0 && told, "%s", run->error);
  return strtol(told + strlen("calls "), NULL, 10);
}

/* The n-th call of the driver fails: exit status 5 and one sentence. 1: it names a step; 2: and one op alone. */
static int lose_at(long n, const char *arguments) {
  char gpu[64];
  (void)snprintf(gpu, sizeof gpu, "fail_at=%ld", n);
  const program_run *run = on_gpu(gpu, arguments);
  cr_assert_eq(run->status, 5, "call %ld: exit status %d: %s", n, run->status, run->error);
  cr_assert_not_null(strstr(run->error, "the device is lost"), "%s", run->error);
  cr_assert_eq(count(run->error, "\n"), 1, "%s", run->error);
  if (!strstr(run->error, "step ") || !strstr(run->error, "op \"")) return 0;
  return strstr(run->error, "captured from op") ? 1 : 2;
}

/* Nine tenths on, calls still belong to steps of the run. */
static void expect_lost(const char *arguments, int least) {
  enum { PLACES = 8 };
  long calls = calls_of(arguments);
  int most = 0;
  cr_assert_gt(calls, 200);
  for (long i = 1; i <= PLACES; i++) {
    int how = lose_at(calls * i / (PLACES + 1), arguments);
    if (how > most) most = how;
  }
  cr_assert_geq(most, least, "%s: %d", arguments, most);
}

Test(cli_gpu, a_device_lost_on_the_way_ends_the_run_with_step_op_and_status_5) {
  skip_where_it_takes_minutes();
  expect_lost("train " MLP "--model-costs --steps 4 --retime 0 --no-graph", 2);
}

Test(cli_gpu, a_device_lost_in_captured_steps_ends_the_run_with_status_5) {
  skip_where_it_takes_minutes();
  expect_lost("train " MLP "--model-costs --steps 4 --retime 0", 1);
}
