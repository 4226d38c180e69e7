/* runtime/profile/profiler: medians of interleaved runs on a device whose times the tests know, the cache between runs,
 * and the operands that kernels are given. */
#include "runtime/profile/profiler.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/device/device_cuda.h"
#include "runtime/profile/measurement.h"
#include "runtime/profile/profile_cache.h"
#include "runtime/profile/profile_operands.h"
#include "tests/support/device_under_test.h"
#include "tests/support/failing_memory.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/fake_device.h"
#include "tests/support/folder.h"
#include "tests/support/small_graph.h"

enum { REPEATS = 5, FILE_BYTES = 1 << 16 };

static plim_context *ctx;
static plim_graph *graph;
static fake_device fake;

static void setup(void) {
  ctx = plim_test_context();
  graph = plim_test_small_graph(ctx);
  fake_device_make(&fake, ctx, "A");
  (void)plim_test_folder();
}

static void teardown(void) {
  plim_test_folder_remove();
  plim_graph_free(graph);
  plim_context_free(ctx);
}
TestSuite(profiler, .init = setup, .fini = teardown);

static plim_profiler_options options_in(const char *folder) {
  plim_profiler_options options = plim_profiler_options_default();
  options.repeats = REPEATS;
  options.cache_dir = folder;
  return options;
}

static plim_profile *measure(fake_device *device, const plim_graph *g, const plim_profiler_options *options) {
  plim_profile *profile = NULL;
  cr_assert_eq(plim_profile_measure(&device->device, g, options, &profile), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(device->faults, 0);
  return profile;
}

/* n ops alike, in a chain. */
static plim_graph *make_chain(int32_t n) {
  plim_graph_builder *builder = NULL;
  plim_graph *chain = NULL;
  int64_t bytes = 700;
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
  int32_t value, op;
  cr_assert_eq(plim_graph_begin(ctx, "chain", 1, &builder), PLIM_OK);
  cr_assert_eq(plim_graph_add(builder, "x", PLIM_ROLE_INPUT, &shape, &value), PLIM_OK);
  for (int32_t i = 0; i < n; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "f%d", (int)i);
    plim_op_spec spec = {.name = name, .n_in = 1, .n_out = 1, .in = {value}, .time_ns = -1};
    plim_role role = i < n - 1 ? PLIM_ROLE_ACTIVATION : PLIM_ROLE_OUTPUT;
    cr_assert_eq(plim_graph_add(builder, name, role, &shape, &value), PLIM_OK);
    spec.out[0] = value;
    cr_assert_eq(plim_graph_add_op(builder, &spec, &op), PLIM_OK);
  }
  cr_assert_eq(plim_graph_end(builder, &chain), PLIM_OK);
  return chain;
}

/* ---- measuring ---- */

Test(profiler, ops_of_equal_description_are_measured_once_and_their_time_is_the_median_after_a_warm_up) {
  plim_graph *chain = make_chain(40);
  plim_profiler_options options = options_in("");
  static const int64_t plain[] = {9000, 200, 100, 120, 110, 4000}; /* the first is the warm-up */
  static const int64_t roomy[] = {9000, 80, 70, 90, 60, 100000};
  memcpy(fake.cost_ns[0], plain, sizeof plain);
  memcpy(fake.cost_ns[1], roomy, sizeof roomy);
  fake.n_costs = 6;
  plim_profile *profile = measure(&fake, chain, &options);
  cr_assert_eq(fake.runs, 2 * (REPEATS + 1));
  for (int32_t op = 0; op < chain->n_ops; op++) {
    cr_assert_eq(profile->first[op + 1] - profile->first[op], 2);
    cr_assert_eq(profile->variant[profile->first[op]].time_ns, 120);
    cr_assert_eq(profile->variant[profile->first[op] + 1].time_ns, 80);
    cr_assert_eq(profile->variant[profile->first[op] + 1].workspace_bytes, 3000);
  }
  cr_assert_eq(profile->measured, 1);
  cr_assert_str_eq(profile->machine.cpu, "A");
  plim_profile_free(profile);
  plim_graph_free(chain);
}

Test(profiler, a_variant_that_is_far_slower_than_another_is_not_run_again_and_again) {
  plim_profiler_options options = options_in("");
  fake.cost_ns[0][0] = 1000;
  plim_profile *profile = measure(&fake, graph, &options);
  cr_assert_eq(fake.runs_of[0], 2 * (int64_t)graph->n_ops);
  cr_assert_eq(fake.runs_of[1], (REPEATS + 1) * (int64_t)graph->n_ops);
  cr_assert_eq(profile->variant[0].time_ns, 1000);
  plim_profile_free(profile);
}

static plim_status recover(plim_device *device) {
  (void)device;
  return PLIM_OK;
}

Test(profiler, a_variant_that_the_device_refuses_does_not_keep_the_others_from_being_repeated) {
  plim_device_api api = *fake.device.api;
  plim_graph *chain = make_chain(1);
  plim_profiler_options options = options_in("");
  static const int64_t roomy[] = {9000, 80, 70, 90, 60, 75}; /* the first is the warm-up */
  api.kernels.recover = recover;
  fake.device.api = &api;
  memcpy(fake.cost_ns[1], roomy, sizeof roomy);
  fake.n_costs = 6;
  fake.fail_at = 1;
  plim_profile *profile = measure(&fake, chain, &options);
  cr_assert_eq(profile->first[1], 1);
  cr_assert_str_eq(profile->variant[0].name, "roomy");
  cr_assert_eq(fake.runs_of[1], REPEATS + 1);
  cr_assert_eq(profile->variant[0].time_ns, 75);
  plim_profile_free(profile);
  plim_graph_free(chain);
}

Test(profiler, no_more_is_allocated_than_allowed_and_variants_that_need_more_are_left_out) {
  plim_profiler_options options = options_in("");
  fake.workspace_bytes[1] = 1 << 20;
  options.arena_bytes = 1 << 19;
  plim_profile *profile = measure(&fake, graph, &options);
  cr_assert_leq(fake.allocated_most, options.arena_bytes);
  for (int32_t i = 0; i < profile->first[profile->n_ops]; i++) cr_assert_str_eq(profile->variant[i].name, "plain");
  cr_assert_eq(profile->first[profile->n_ops], profile->n_ops);
  plim_profile_free(profile);
}

Test(profiler, no_more_is_allocated_than_wanted_unless_one_variant_needs_it_and_none_is_left_out) {
  plim_profiler_options options = options_in("");
  fake.workspace_bytes[1] = 1 << 20;
  options.wanted_bytes = 1 << 21;
  plim_profile *profile = measure(&fake, graph, &options);
  cr_assert_leq(fake.allocated_most, options.wanted_bytes);
  plim_profile_free(profile);
  options.wanted_bytes = 1;
  fake.allocated_most = 0;
  profile = measure(&fake, graph, &options);
  cr_assert_geq(fake.allocated_most, 1 << 20);
  cr_assert_leq(fake.allocated_most, 1 << 21);
  cr_assert_eq(profile->first[profile->n_ops], 2 * profile->n_ops);
  plim_profile_free(profile);
}

/* Then warm and cold operands take turns in the same bytes. */
Test(profiler, operands_lie_apart_where_one_op_takes_all_of_the_memory) {
  plim_profiler_options options = options_in("");
  for (int64_t bytes = 64; bytes < 1 << 17; bytes = bytes * 3 / 2) {
    fake.workspace_bytes[1] = bytes;
    options.wanted_bytes = 1;
    plim_profile_free(measure(&fake, graph, &options));
  }
}

Test(profiler, an_op_that_does_not_fit_at_all_keeps_its_smallest_variant) {
  plim_profiler_options options = options_in("");
  options.arena_bytes = 512;
  plim_profile *profile = measure(&fake, graph, &options);
  cr_assert_eq(profile->first[profile->n_ops], profile->n_ops);
  for (int32_t i = 0; i < profile->n_ops; i++) cr_assert_str_eq(profile->variant[i].name, "plain");
  plim_profile_free(profile);
}

Test(profiler, a_run_that_fails_is_named_and_a_cancel_is_obeyed) {
  plim_profiler_options options = options_in("");
  plim_profile *profile = NULL;
  fake.fail_at = 4;
  cr_assert_eq(plim_profile_measure(&fake.device, graph, &options, &profile), PLIM_EDEVICE);
  cr_assert(strstr(plim_context_error(ctx), "op \"relu\", variant \"roomy\""), "%s", plim_context_error(ctx));
  fake.fail_at = 0;
  fake.cancel_at = fake.runs + 10;
  cr_assert_eq(plim_profile_measure(&fake.device, graph, &options, &profile), PLIM_ECANCEL);
  cr_assert_null(profile);
  cr_assert_eq(fake.runs, fake.cancel_at); /* the run under way is the last, not the pass */
}

Test(profiler, options_out_of_range_and_a_device_without_arithmetic_are_refused) {
  plim_profiler_options options = options_in("");
  plim_profile *profile = NULL;
  plim_device *sim = NULL;
  options.repeats = -1;
  cr_assert_eq(plim_profile_measure(&fake.device, graph, &options, &profile), PLIM_EUSAGE);
  options = options_in("");
  options.struct_bytes--;
  cr_assert_eq(plim_profile_measure(&fake.device, graph, &options, &profile), PLIM_EUSAGE);
  options = options_in("");
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &sim), PLIM_OK);
  cr_assert_eq(plim_profile_measure(sim, graph, &options, &profile), PLIM_EUNSUPPORTED);
  plim_device_close(sim);
}

/* ---- the cache ---- */

static char *read_whole(const char *path, size_t *bytes) {
  static char text[FILE_BYTES];
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file, "%s", path);
  *bytes = fread(text, 1, sizeof text, file);
  cr_assert_lt(*bytes, sizeof text);
  (void)fclose(file);
  return text;
}

static void write_whole(const char *path, const char *text, size_t bytes) {
  FILE *file = fopen(path, "wb");
  cr_assert_not_null(file);
  cr_assert_eq(fwrite(text, 1, bytes, file), bytes);
  (void)fclose(file);
}

/* Path of the cache file of a device in `folder`. */
static const char *cache_path(const fake_device *device, const char *folder) {
  static char path[PLIM_FILE_PATH_BYTES];
  plim_profile_cache cache;
  cr_assert_eq(plim_profile_cache_open(ctx, folder, &device->device.machine, 0, &cache), PLIM_OK);
  (void)snprintf(path, sizeof path, "%s", cache.path);
  plim_profile_cache_close(&cache);
  return path;
}

static void expect_equal_times(const plim_profile *a, const plim_profile *b) {
  cr_assert_eq(a->first[a->n_ops], b->first[b->n_ops]);
  for (int32_t i = 0; i < a->first[a->n_ops]; i++) cr_assert_eq(a->variant[i].time_ns, b->variant[i].time_ns);
}

Test(profiler, what_was_measured_is_not_measured_again) {
  plim_profiler_options options = options_in(plim_test_path("."));
  plim_profile *first = measure(&fake, graph, &options);
  int64_t runs = fake.runs;
  fake.cost_ns[0][0] = 1;
  plim_profile *second = measure(&fake, graph, &options);
  cr_assert_eq(fake.runs, runs);
  expect_equal_times(first, second);
  plim_graph *chain = make_chain(3);
  plim_profile *other = measure(&fake, chain, &options);
  cr_assert_eq(fake.runs, runs + (REPEATS + 1) + 2, "one op is new, its slow variant runs twice");
  plim_profile *third = measure(&fake, graph, &options);
  expect_equal_times(first, third);
  cr_assert_eq(plim_test_folder_count(), 1);
  plim_profile_free(first);
  plim_profile_free(second);
  plim_profile_free(third);
  plim_profile_free(other);
  plim_graph_free(chain);
}

Test(profiler, another_machine_has_a_cache_of_its_own) {
  plim_profiler_options options = options_in(plim_test_path("."));
  fake_device other;
  fake_device_make(&other, ctx, "B");
  plim_profile *a = measure(&fake, graph, &options), *b = measure(&other, graph, &options);
  cr_assert_gt(other.runs, 0);
  cr_assert_eq(plim_test_folder_count(), 2);
  /* the file of A under the name of B is not believed */
  size_t bytes;
  char path[PLIM_FILE_PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s", cache_path(&other, options.cache_dir));
  const char *text = read_whole(cache_path(&fake, options.cache_dir), &bytes);
  write_whole(path, text, bytes);
  int64_t runs = other.runs;
  plim_profile *again = measure(&other, graph, &options);
  cr_assert_gt(other.runs, runs);
  plim_profile_free(a);
  plim_profile_free(b);
  plim_profile_free(again);
}

Test(profiler, a_cache_that_was_cut_or_changed_anywhere_is_ignored_and_replaced) {
  static char whole[FILE_BYTES];
  plim_profiler_options options = options_in(plim_test_path("."));
  options.repeats = 1;
  plim_profile *right = measure(&fake, graph, &options), *profile = NULL;
  char path[PLIM_FILE_PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s", cache_path(&fake, options.cache_dir));
  size_t bytes, now;
  memcpy(whole, read_whole(path, &bytes), sizeof whole);
  for (size_t cut = 0; cut < bytes - 1; cut += 1 + cut / 64) {
    write_whole(path, whole, cut);
    int64_t runs = fake.runs;
    profile = measure(&fake, graph, &options);
    cr_assert_gt(fake.runs, runs, "cut at %zu", cut);
    expect_equal_times(right, profile);
    const char *text = read_whole(path, &now);
    cr_assert_eq(now, bytes);
    cr_assert_arr_eq(text, whole, bytes);
    plim_profile_free(profile);
  }
  char *at = strstr(whole, "time_ns\": ");
  at[strlen("time_ns\": ")] = '-';
  write_whole(path, whole, bytes);
  int64_t runs = fake.runs;
  profile = measure(&fake, graph, &options);
  cr_assert_gt(fake.runs, runs);
  plim_profile_free(profile);
  plim_profile_free(right);
}

/* `text` with every time replaced by the note that the variant failed. */
static const char *all_left_out(const char *text) {
  static char out[FILE_BYTES];
  static const char key[] = "\"time_ns\": ", note[] = "\"left_out_ns\": 9223372036854775807";
  size_t n = 0;
  while (*text && n + sizeof note < sizeof out) {
    if (strncmp(text, key, sizeof key - 1) != 0) {
      out[n++] = *text++;
      continue;
    }
    n += (size_t)snprintf(out + n, sizeof out - n, "%s", note);
    text += sizeof key - 1 + strspn(text + sizeof key - 1, "0123456789");
  }
  out[n] = 0;
  return out;
}

Test(profiler, a_cache_that_leaves_out_every_variant_of_an_op_is_an_error) {
  plim_profiler_options options = options_in(plim_test_path("."));
  plim_profile *profile = NULL;
  size_t bytes;
  plim_profile_free(measure(&fake, graph, &options));
  char path[PLIM_FILE_PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s", cache_path(&fake, options.cache_dir));
  const char *text = all_left_out(read_whole(path, &bytes));
  write_whole(path, text, strlen(text));
  cr_assert_eq(plim_profile_measure(&fake.device, graph, &options, &profile), PLIM_EUNSUPPORTED);
  cr_assert_not_null(strstr(plim_context_error(ctx), "no variant"), "%s", plim_context_error(ctx));
  cr_assert_null(profile);
}

Test(profiler, a_folder_that_cannot_be_written_costs_the_cache_and_nothing_else) {
  write_whole(plim_test_path("file"), "x", 1);
  char folder[600];
  (void)snprintf(folder, sizeof folder, "%s/below", plim_test_path("file"));
  plim_profiler_options options = options_in(folder);
  plim_profile *profile = measure(&fake, graph, &options);
  plim_profile_free(profile);
  cr_assert_eq(plim_test_folder_count(), 1);
}

Test(profiler, the_cache_is_where_the_environment_says) {
  plim_profiler_options options = options_in(NULL);
  cr_assert_eq(setenv("XDG_CACHE_HOME", plim_test_path("."), 1), 0);
  plim_profile *profile = measure(&fake, graph, &options);
  const char *path = cache_path(&fake, NULL);
  cr_assert(strstr(path, "/./plimsoll/profile-"), "%s", path);
  cr_assert_eq(remove(path), 0);
  cr_assert_eq(remove(plim_test_path("plimsoll")), 0);
  plim_profile_free(profile);
  cr_assert_eq(setenv("XDG_CACHE_HOME", "relative", 1), 0);
  cr_assert_eq(setenv("HOME", "/nowhere", 1), 0);
  cr_assert_eq(strncmp(cache_path(&fake, NULL), "/nowhere/.cache/plimsoll/profile-", 33), 0);
  cr_assert_eq(unsetenv("HOME"), 0);
  cr_assert_str_empty(cache_path(&fake, NULL));
}

static plim_status measure_and_free(plim_context *failing, void *user) {
  (void)user;
  fake_device device;
  plim_profile *profile = NULL;
  plim_profiler_options options = options_in(plim_test_path("."));
  options.repeats = 1;
  fake_device_make(&device, failing, "A");
  plim_test_folder_remove();
  (void)mkdir(plim_test_path("."), 0700);
  plim_status status = plim_profile_measure(&device.device, graph, &options, &profile);
  plim_profile_free(profile);
  return status;
}

Test(profiler, every_refused_allocation_is_reported_and_leaves_nothing_after) {
  cr_assert_gt(plim_test_each_allocation(measure_and_free, NULL), 20);
}

/* ---- operands ---- */

Test(profiler, special_operands_are_in_range_and_all_others_are_ordinary_numbers) {
  static float normal[PLIM_NORMALS];
  static float memory[3 * PLIM_NORMALS];
  double sum = 0, squares = 0;
  plim_normals_make(normal);
  plim_normals_fill(normal, memory, (int64_t)sizeof memory - 100);
  for (int i = 0; i < PLIM_NORMALS; i++) {
    cr_assert_eq(memory[i], memory[PLIM_NORMALS + i]);
    cr_assert(normal[i] == 0 || isnormal(normal[i]));
    sum += (double)normal[i];
    squares += (double)normal[i] * (double)normal[i];
  }
  cr_assert_lt(fabs(sum / PLIM_NORMALS), 0.05);
  cr_assert_lt(fabs(squares / PLIM_NORMALS - 1), 0.05);
  plim_op_desc desc;
  plim_graph_describe(graph, SMALL_XENT, &desc);
  cr_assert(plim_operand_is_special(&desc, 1));
  cr_assert_not(plim_operand_is_special(&desc, 0));
  plim_operand_fill_special(&desc, 1, normal, memory);
  for (int i = 0; i < 4; i++) {
    int32_t label;
    memcpy(&label, &memory[i], sizeof label);
    cr_assert(label >= 0 && label < 10);
  }
  plim_graph_describe(graph, SMALL_SGD, &desc);
  plim_operand_fill_special(&desc, 1, normal, memory);
  cr_assert_lt(memory[0], 1, "a learning rate");
}

/* Labels, a mask and what an update leaves are no ordinary floats. */
Test(profiler, memory_holds_ordinary_numbers_after_a_run_of_any_op) {
  static const int32_t ops[] = {SMALL_RELU, SMALL_XENT, SMALL_SGD};
  plim_profile_set set;
  fake.scribbles = 1;
  cr_assert_eq(plim_profile_set_make(&fake.device, graph, 0, &set), PLIM_OK);
  for (int i = 0; i < 3; i++) {
    const plim_profile_group *group = &set.group[set.group_of[ops[i]]];
    plim_profile_case *c = &set.cases[group->first];
    plim_measurement m;
    plim_measure_needs needs = {0};
    int64_t time_ns;
    plim_measure_need(group, c, &needs);
    cr_assert_eq(plim_measure_prepare(&set, group, c), PLIM_OK);
    cr_assert_eq(plim_measure_begin(&set, &needs, 0, &m), PLIM_OK);
    cr_assert_eq(plim_measure_run(&m, group, c, &time_ns), PLIM_OK);
    const float *memory = m.arena;
    for (int64_t e = 0; e < m.arena_bytes / 4; e++) {
      cr_assert(memory[e] == 0 || isnormal(memory[e]), "op %d leaves %g", (int)ops[i], (double)memory[e]);
    }
    plim_measure_end(&m);
  }
  plim_profile_set_free(&set);
}

/* Rows that overlap: 100 x 100 elements in 199. */
Test(profiler, strided_operands_are_filled_from_their_first_element_to_their_last) {
  static float normal[PLIM_NORMALS];
  enum { REACH = 199 };
  static float memory[REACH + 10000];
  plim_op_desc desc;
  plim_graph_describe(graph, SMALL_LINEAR, &desc);
  plim_normals_make(normal);
  for (int k = 0; k < 2; k++) {
    plim_shape *shape = &desc.in[1];
    *shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){100, 100});
    shape->stride[0] = shape->stride[1] = 1;
    memset(memory, 0, sizeof memory);
    if (k) {
      cr_assert(plim_operand_is_special(&desc, 1));
      plim_operand_fill_special(&desc, 1, normal, memory);
    } else {
      plim_operand_fill_random(shape, 1, memory);
    }
    cr_assert(memory[REACH - 1] != 0);
    for (int i = REACH; i < REACH + 10000; i++) cr_assert_eq(memory[i], 0);
  }
}

Test(profiler, operands_are_warm_or_cold_and_outputs_go_over_inputs_as_the_graph_has_it) {
  plim_profile_set set;
  cr_assert_eq(plim_profile_set_make(&fake.device, graph, 0, &set), PLIM_OK);
  const plim_cache_states *linear = &set.group[set.group_of[SMALL_LINEAR]].cache_states;
  const plim_cache_states *bwd = &set.group[set.group_of[SMALL_RELU_BWD]].cache_states;
  const plim_cache_states *weights = &set.group[set.group_of[SMALL_WEIGHTS]].cache_states;
  cr_assert_eq(linear->in[1], PLIM_CACHE_COLD, "weights were used a step ago");
  cr_assert_eq(linear->out[0], PLIM_CACHE_COLD, "forward results lie at places of their own");
  cr_assert_eq(bwd->in[1], PLIM_CACHE_WARM, "the gradient was written just before");
  cr_assert_eq(bwd->out[0], PLIM_CACHE_IN_PLACE, "and dies here");
  cr_assert_eq(bwd->over[0], 1);
  cr_assert_eq(weights->out[0], PLIM_CACHE_WARM, "backward results lie where something has died");
  plim_profile_set_free(&set);
}

/* Blocks of a placed description: everything apart, but what is written over an input. */
Test(profiler, operands_are_placed_apart_in_their_blocks) {
  plim_op_desc desc;
  plim_graph_describe(graph, SMALL_RELU_BWD, &desc);
  plim_cache_states cache_states = {
      .in = {PLIM_CACHE_COLD, PLIM_CACHE_WARM}, .out = {PLIM_CACHE_IN_PLACE}, .over = {1}};
  plim_operand_place place[4];
  int64_t bytes[2];
  cr_assert_eq(plim_operands_count(&desc), 3);
  plim_operands_place(&desc, &cache_states, 1000, place, bytes);
  cr_assert_eq(place[0].block, PLIM_CACHE_COLD);
  cr_assert_eq(place[2].at, place[1].at);
  cr_assert_eq(place[2].block, PLIM_CACHE_WARM);
  cr_assert_eq(place[3].at, PLIM_ALIGN, "the workspace lies after the gradient of 160 bytes");
  cr_assert_eq(bytes[PLIM_CACHE_WARM], PLIM_ALIGN + 1024);
  cr_assert_eq(bytes[PLIM_CACHE_COLD], PLIM_ALIGN, "the mask");
}

/* ---- models ---- */

Test(profiler, modelled_costs_have_the_real_variants_and_workspaces_of_the_device) {
  plim_device *device = plim_test_device(ctx, 1);
  plim_profile *profile = NULL;
  cr_assert_eq(plim_profile_roofline(device, graph, &profile), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(profile->measured, 0);
  for (int32_t op = 0; op < graph->n_ops; op++) {
    plim_kernel_info info[PLIM_KERNEL_VARIANTS];
    plim_op_desc desc;
    plim_graph_describe(graph, op, &desc);
    int n = device->api->kernels.variants(device, &desc, info, PLIM_KERNEL_VARIANTS);
    cr_assert_eq(n, profile->first[op + 1] - profile->first[op]);
    for (int i = 0; i < n; i++) {
      const plim_variant *variant = &profile->variant[profile->first[op] + i];
      cr_assert_str_eq(variant->name, info[i].name);
      cr_assert_eq(variant->workspace_bytes, info[i].workspace_bytes);
      cr_assert_gt(variant->time_ns, 0);
    }
  }
  plim_profile_free(profile);
  plim_device_close(device);
}

/* One product of squares x, w and y with sides of these sizes. */
static plim_graph *make_product(plim_dtype dtype, const int64_t side[3]) {
  plim_graph_builder *builder = NULL;
  plim_graph *product = NULL;
  int32_t value, op;
  cr_assert_eq(plim_graph_begin(ctx, "product", 1, &builder), PLIM_OK);
  for (int i = 0; i < 3; i++) {
    const char *names[] = {"x", "w", "y"};
    const plim_shape shape = plim_shape_make(dtype, PLIM_FLAT, 2, (int64_t[]){side[i], side[i]});
    cr_assert_eq(plim_graph_add(builder, names[i], i < 2 ? PLIM_ROLE_INPUT : PLIM_ROLE_OUTPUT, &shape, &value),
                 PLIM_OK);
  }
  const plim_op_spec spec = {
      .name = "product", .kind = PLIM_OP_LINEAR, .n_in = 2, .in = {0, 1}, .n_out = 1, .out = {2}};
  cr_assert_eq(plim_graph_add_op(builder, &spec, &op), PLIM_OK);
  cr_assert_eq(plim_graph_end(builder, &product), PLIM_OK, "%s", plim_context_error(ctx));
  return product;
}

/* Modelled times of the variants of one large product of this type; returns how many. */
static int model_product(plim_device *device, plim_dtype dtype, plim_variant variant[PLIM_KERNEL_VARIANTS]) {
  plim_graph *product = make_product(dtype, (int64_t[]){2048, 2048, 2048});
  plim_profile *profile = NULL;
  cr_assert_eq(plim_profile_roofline(device, product, &profile), PLIM_OK);
  int n = profile->first[1];
  memcpy(variant, profile->variant, (size_t)n * sizeof *variant);
  plim_profile_free(profile);
  plim_graph_free(product);
  return n;
}

Test(profiler, an_op_that_no_kernel_takes_is_refused_with_the_rule_that_it_does_not_follow) {
  plim_graph *product = make_product(PLIM_F32, (int64_t[]){16, 17, 16});
  plim_profile *profile = NULL;
  plim_device *cpu = NULL;
  cr_assert_eq(plim_device_open(ctx, "cpu", NULL, &cpu), PLIM_OK);
  cr_assert_eq(plim_profile_roofline(cpu, product, &profile), PLIM_EUNSUPPORTED);
  cr_assert_str_eq(
      plim_context_error(ctx),
      "device cpu has no kernel for op \"product\" (linear): w of a linear has the sizes [17 17], which do "
      "not follow its rule [O I] and the other operands");
  cr_assert_null(profile);
  plim_device_close(cpu);
  plim_graph_free(product);
}

Test(profiler, modelled_products_of_bf16_are_faster_by_a_library_alone) {
  plim_variant floats[PLIM_KERNEL_VARIANTS], halves[PLIM_KERNEL_VARIANTS];
  plim_device *cpu = NULL;
  plim_device_options options = {.struct_bytes = sizeof options, .threads = 1};
  cr_assert_eq(plim_device_open(ctx, "cpu", &options, &cpu), PLIM_OK);
  int n = model_product(cpu, PLIM_F32, floats), m = model_product(cpu, PLIM_BF16, halves);
  cr_assert_str_eq(floats[n - 1].name, "single-source");
  cr_assert_str_eq(halves[m - 1].name, "single-source");
  cr_assert_eq(halves[m - 1].time_ns, floats[n - 1].time_ns);
  if (n > 1 && m > 1) cr_assert_lt(halves[0].time_ns, floats[0].time_ns * 2 / 3);
  plim_device_close(cpu);
}

Test(profiler, modelled_products_of_a_gpu_are_far_faster_by_a_library) {
  plim_variant variant[PLIM_KERNEL_VARIANTS];
  fake_cuda_options options = fake_cuda_options_default();
  plim_device *gpu = NULL;
  options.blas = 1;
  cr_assert_eq(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &gpu), PLIM_OK);
  const int n = model_product(gpu, PLIM_F32, variant);
  cr_assert_str_eq(variant[0].name, "cublas");
  cr_assert_str_eq(variant[n - 1].name, "single-source");
  cr_assert_lt(variant[0].time_ns, variant[n - 1].time_ns / 20);
  plim_device_close(gpu);
}

Test(profiler, the_real_kernels_of_a_step_can_be_measured) {
  plim_device *device = plim_test_device(ctx, 1);
  plim_profiler_options options = options_in("");
  plim_profile *profile = NULL;
  options.repeats = 1;
  cr_assert_eq(plim_profile_measure(device, graph, &options, &profile), PLIM_OK, "%s", plim_context_error(ctx));
  for (int32_t i = 0; i < profile->first[profile->n_ops]; i++) cr_assert_gt(profile->variant[i].time_ns, 0);
  plim_profile_free(profile);
  plim_device_close(device);
}
