/* runtime/profile/profile_rounds and the profiler's limit: likely candidates first, and what a start builds. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/desc.h"
#include "runtime/profile/profile_set.h"
#include "runtime/profile/profiler.h"
#include "tests/support/fake_cudnn.h"
#include "tests/support/folder.h"
#include "tests/support/gpu_rig.h"

static gpu_rig rig;
static plim_graph *graph;

static void setup(void) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_net *net = NULL;
  options.dnn = options.hollow = 1;
  gpu_rig_ok(&rig, gpu_rig_open(&rig, &options, 0));
  gpu_rig_ok(&rig, gpu_rig_net(rig.ctx, PLIM_NHWC, &net));
  gpu_rig_ok(&rig, plim_net_train_graph(net, &graph));
  plim_net_free(net);
}
static void teardown(void) {
  plim_graph_free(graph);
  gpu_rig_close(&rig);
}
TestSuite(rounds, .init = setup, .fini = teardown);

static int is_built(const plim_variant *variant) {
  return strncmp(variant->name, "cudnn-", 6) == 0;
}

Test(rounds, the_likeliest_variant_of_an_op_comes_first_then_the_smallest_then_the_others_one_by_one) {
  static const struct {
    const char *name;
    int32_t round;
  } expected[] = {{"cudnn-e1-", 0},  {"cudnn-e1-", 2},  {"cudnn-e3-", 3},  {"cudnn-e21-", 4},   {"cudnn-e22-", 5},
                  {"cudnn-e23-", 6}, {"cudnn-e24-", 7}, {"cudnn-e40-", 1}, {"single-source", 0}};
  plim_profile_set set;
  int convolutions = 0;
  gpu_rig_ok(&rig, plim_profile_set_make(rig.device, graph, 0, &set));
  for (int32_t g = 0; g < set.n_groups; g++) {
    const plim_profile_case *c = &set.cases[set.group[g].first];
    if (set.group[g].n == 1) cr_assert_eq(c->round, 0);
    if (set.group[g].n == 1) continue;
    cr_assert_eq(set.group[g].n, sizeof expected / sizeof *expected);
    for (int i = 0; i < set.group[g].n; i++) {
      cr_assert_eq(strncmp(c[i].variant.name, expected[i].name, strlen(expected[i].name)), 0, "%s", c[i].variant.name);
      cr_assert_eq(c[i].round, expected[i].round, "%s: %d", c[i].variant.name, (int)c[i].round);
    }
    convolutions++;
  }
  cr_assert_eq(convolutions, 2); /* forward and weights; an image wants no gradient */
  plim_profile_set_free(&set);
}

static const char *folder = ""; /* no cache */

static plim_profile *measure(int64_t limit_ns, int32_t *left_out) {
  plim_profiler_options options = plim_profiler_options_default();
  plim_profiler_report report = {0};
  plim_profile *profile = NULL;
  options.repeats = 3;
  options.cache_dir = folder;
  options.limit_ns = limit_ns;
  options.report = &report;
  gpu_rig_ok(&rig, plim_profile_measure(rig.device, graph, &options, &profile));
  *left_out = report.left_out;
  return profile;
}

Test(rounds, without_time_nothing_is_built_and_every_op_keeps_a_variant) {
  int32_t left_out;
  plim_profile *profile = measure(1, &left_out);
  cr_assert_eq(fake_cudnn_count().plans, 0);
  cr_assert_eq(left_out, 16); /* eight engines of two convolutions */
  cr_assert_eq(profile->first[profile->n_ops], profile->n_ops);
  for (int32_t v = 0; v < profile->n_ops; v++) cr_assert_not(is_built(&profile->variant[v]));
  plim_profile_free(profile);
}

Test(rounds, with_time_enough_every_engine_is_built_once_and_run) {
  int32_t left_out;
  plim_profile *profile = measure(INT64_MAX, &left_out);
  cr_assert_eq(left_out, 0);
  cr_assert_eq(fake_cudnn_count().plans, 16);
  cr_assert_eq(fake_cudnn_count().plans_idle, 0);
  cr_assert_eq(fake_cudnn_count().plans_again, 0);
  plim_profile_free(profile);
}

Test(rounds, plans_of_what_was_only_measured_are_given_back_when_a_step_begins) {
  int32_t left_out;
  plim_profile_free(measure(INT64_MAX, &left_out));
  cr_assert_eq(fake_cudnn_count().plans_open, 16);
  rig.family = "cudnn-e40-";
  gpu_rig_ok(&rig, gpu_rig_train(&rig, 100, 1));
  cr_assert_eq(fake_cudnn_count().plans_open, 2);
  cr_assert_eq(fake_cudnn_count().plans, 16); /* those two are the ones that were measured */
}

Test(rounds, where_no_time_is_given_a_device_builds_so_many_and_then_the_likeliest_alone) {
  int32_t left_out;
  rig.device->built = 48; /* as many as a start builds */
  plim_profile *profile = measure(0, &left_out);
  cr_assert_eq(left_out, 14);
  cr_assert_eq(fake_cudnn_count().plans, 2);
  int built = 0;
  for (int32_t v = 0; v < profile->first[profile->n_ops]; v++) built += is_built(&profile->variant[v]);
  cr_assert_eq(built, 2);
  plim_profile_free(profile);
}

Test(rounds, what_was_left_out_is_left_out_of_the_next_start_unless_there_is_more_time) {
  static const struct {
    int64_t limit_ns;
    int32_t left_out;
    int64_t plans; /* built so far */
  } starts[] = {{1, 16, 0}, {1, 16, 0}, {INT64_MAX, 0, 16}, {1, 0, 16}, {0, 0, 16}};
  (void)plim_test_folder();
  folder = plim_test_path(".");
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    int32_t left_out;
    plim_profile *profile = measure(starts[i].limit_ns, &left_out);
    cr_assert_eq(left_out, starts[i].left_out, "start %zu: %d", i, (int)left_out);
    cr_assert_eq(fake_cudnn_count().plans, starts[i].plans, "start %zu", i);
    cr_assert_eq(profile->first[profile->n_ops], profile->n_ops + 16 - left_out);
    plim_profile_free(profile);
  }
  plim_test_folder_remove();
}

Test(rounds, of_a_sample_only_the_heaviest_convolutions_are_measured_in_their_likeliest_variants) {
  plim_profile_set set;
  gpu_rig_ok(&rig, plim_profile_set_make(rig.device, graph, 0, &set));
  plim_profile_set_sample(&set, 1);
  int32_t wanted = 0, constant = 0;
  for (int32_t g = 0; g < set.n_groups; g++) {
    const plim_profile_case *c = &set.cases[set.group[g].first];
    for (int32_t i = 0; i < set.group[g].n && set.group[g].n > 1; i++) {
      wanted += !c[i].dropped && c[i].variant.time_ns < 0;
      constant += !c[i].dropped && c[i].variant.time_ns == 1;
    }
    if (set.group[g].n == 1) cr_assert(!c->dropped && c->variant.time_ns < 0);
  }
  cr_assert_eq(wanted, 2); /* the likeliest engine and the single-source kernel of one convolution */
  cr_assert_eq(constant, 1);
  plim_profile_set_free(&set);
}

/* ---- a second start ---- */

static void start_again(void) {
  teardown();
  setup();
}

/* The variant of an engine for the forward convolution is prepared; 1: a plan was built for it. */
static int prepares(const plim_profile *profile, const char *engine) {
  const int64_t plans = fake_cudnn_count().plans;
  for (int32_t op = 0; op < graph->n_ops; op++) {
    if (graph->op[op].kind != PLIM_OP_CONV2D) continue;
    for (int32_t v = profile->first[op]; v < profile->first[op + 1]; v++) {
      plim_op_desc desc;
      void *kernel = NULL;
      if (strncmp(profile->variant[v].name, engine, strlen(engine)) != 0) continue;
      plim_desc_of(graph, op, &desc);
      gpu_rig_ok(&rig, rig.device->api->kernels.prepare(rig.device, &desc, profile->variant[v].name, &kernel));
      rig.device->api->kernels.unprepare(rig.device, kernel);
      return fake_cudnn_count().plans == plans + 1;
    }
  }
  return 0;
}

static void expect_equal_rows(const plim_profile *a, const plim_profile *b) {
  cr_assert_eq(a->first[a->n_ops], b->first[b->n_ops]);
  for (int32_t v = 0; v < a->first[a->n_ops]; v++) {
    cr_assert_str_eq(a->variant[v].name, b->variant[v].name); /* in the same order: ties are decided by it */
    cr_assert_str_eq(a->variant[v].numerics_key, b->variant[v].numerics_key);
    cr_assert_eq(a->variant[v].workspace_bytes, b->variant[v].workspace_bytes);
  }
}

Test(rounds, a_second_start_asks_no_heuristics_and_prepares_from_engine_and_knobs) {
  enum { CALLS_OF_OPENING = 4 };
  int32_t left_out;
  (void)plim_test_folder();
  folder = plim_test_path(".");
  plim_profile *first = measure(INT64_MAX, &left_out);
  gpu_rig_ok(&rig, plim_profile_save(first, plim_test_path("first.json")));
  plim_profile_free(first);
  start_again();
  plim_profile *second = measure(INT64_MAX, &left_out);
  cr_assert_leq(fake_cudnn_count().calls, CALLS_OF_OPENING, "%d", (int)fake_cudnn_count().calls);
  gpu_rig_ok(&rig, plim_profile_load(rig.ctx, plim_test_path("first.json"), &first));
  expect_equal_rows(first, second);
  cr_assert(prepares(second, "cudnn-e1-"));  /* two knobs */
  cr_assert(prepares(second, "cudnn-e40-")); /* none */
  cr_assert_str_eq(fake_cudnn_misuse(), "");
  plim_profile_free(first);
  plim_profile_free(second);
  plim_test_folder_remove();
}

/* Replace each `from` in the only file of the folder by `to` of the same length. */
static void edit_cache(const char *from, const char *to) {
  char line[512];
  (void)snprintf(line, sizeof line, "sed -i 's/%s/%s/g' %s/profile-*.json", from, to, plim_test_path("."));
  cr_assert_eq(system(line), 0);
}

Test(rounds, knobs_that_are_none_of_the_engine_any_more_are_looked_up_again) {
  int32_t left_out;
  (void)plim_test_folder();
  folder = plim_test_path(".");
  plim_profile_free(measure(INT64_MAX, &left_out));
  edit_cache(" 3 12=3", " 3 12=4");
  start_again();
  plim_profile *profile = measure(INT64_MAX, &left_out);
  cr_assert(prepares(profile, "cudnn-e3-"));
  plim_profile_free(profile);
  edit_cache("0\\/8 ", "9\\/8 "); /* a list with a hole is none */
  start_again();
  profile = measure(INT64_MAX, &left_out);
  cr_assert_gt(fake_cudnn_count().calls, 100);
  cr_assert(prepares(profile, "cudnn-e3-"));
  plim_profile_free(profile);
  plim_test_folder_remove();
}
