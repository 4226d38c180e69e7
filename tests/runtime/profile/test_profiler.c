/* runtime/profile/profiler: medians of interleaved runs on a device whose times the tests know, and the cache between
 * runs. Operands: test_profile_operands.c; times that are not measured: test_roofline.c. */
#include "runtime/profile/profiler.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/device/desc.h"
#include "runtime/profile/device_memo.h"
#include "tests/support/device_under_test.h"
#include "tests/support/failing_memory.h"
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

/* Store a time of one variant, as a process does that measured it. The rows of a case are known by its name. */
static void store_one(plim_profile_cache *cache, int name) {
  plim_profile_case one = {.variant = {.time_ns = 1 + name}};
  plim_profile_group group = {.n = 1};
  const plim_profile_set set = {.graph = graph, .n_groups = 1, .n_cases = 1, .group = &group, .cases = &one};
  plim_desc_of(graph, 0, &group.desc);
  (void)snprintf(one.variant.name, sizeof one.variant.name, "v%d", name);
  cr_assert_eq(plim_profile_cache_store(cache, &set), PLIM_OK);
}

static plim_profile_cache open_cache(plim_context *of, const char *folder) {
  plim_profile_cache cache;
  cr_assert_eq(plim_profile_cache_open(of, folder, &fake.device.machine, 0, &cache), PLIM_OK);
  return cache;
}

Test(profiler, a_process_keeps_the_rows_that_another_stored_since_it_read_the_cache) {
  const char *folder = plim_test_path(".");
  plim_profile_cache a = open_cache(ctx, folder), b = open_cache(ctx, folder);
  store_one(&a, 0);
  store_one(&b, 1);
  cr_assert_eq(b.n, 2);
  plim_profile_cache both = open_cache(ctx, folder);
  cr_assert_eq(both.n, 2);
  for (int32_t i = 0; i < 2; i++) cr_assert_eq(both.row[i].time_ns, 1 + i);
  plim_profile_cache_close(&a);
  plim_profile_cache_close(&b);
  plim_profile_cache_close(&both);
}

enum { STORERS = 2, STORES = 4 };

/* What one of several threads stores: the times of STORES variants from `first` on. */
typedef struct storer {
  const char *folder;
  int first, has_context;
} storer;

static void *store_some(void *arg) {
  storer *s = arg;
  plim_context *own = NULL;
  s->has_context = plim_context_new(NULL, NULL, &own) == PLIM_OK;
  if (!s->has_context) return NULL;
  plim_profile_cache cache = open_cache(own, s->folder);
  for (int i = 0; i < STORES; i++) store_one(&cache, s->first + i);
  plim_profile_cache_close(&cache);
  plim_context_free(own);
  return NULL;
}

Test(profiler, no_row_is_lost_when_several_store_at_once) {
  pthread_t thread[STORERS];
  storer row[STORERS];
  for (int i = 0; i < STORERS; i++) {
    row[i] = (storer){plim_test_path("."), i * STORES, 0};
    cr_assert_eq(pthread_create(&thread[i], NULL, store_some, &row[i]), 0);
  }
  for (int i = 0; i < STORERS; i++) cr_assert(pthread_join(thread[i], NULL) == 0 && row[i].has_context);
  plim_profile_cache all = open_cache(ctx, plim_test_path("."));
  cr_assert_eq(all.n, STORERS * STORES, "%d rows", (int)all.n);
  plim_profile_cache_close(&all);
}

Test(profiler, a_variant_that_another_process_dropped_meanwhile_stays_dropped) {
  plim_op_desc desc;
  plim_profile_cache a = open_cache(ctx, plim_test_path("."));
  plim_device_memo memo = {&a, NULL};
  fake.device.attached = &memo;
  plim_desc_of(graph, 0, &desc);
  cr_assert_eq(plim_profile_cache_drop(&fake.device, &desc, "v0", "it fails"), PLIM_OK);
  store_one(&a, 0);
  cr_assert_eq(a.n, 1);
  cr_assert_lt(a.row[0].time_ns, 0);
  cr_assert_str_eq(a.row[0].why, "it fails");
  fake.device.attached = NULL;
  plim_profile_cache_close(&a);
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

/* ---- real kernels ---- */

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
