/* runtime/profile/busy_devices.c: times measured while other devices of the same kind run the same variants. */
#include "runtime/profile/busy_devices.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "runtime/profile/profile_cache.h"
#include "runtime/profile/profiler.h"
#include "tests/support/failing_memory.h"
#include "tests/support/folder.h"
#include "tests/support/small_graph.h"

static const int64_t PATIENCE_NS = INT64_C(60000000000); /* far more than any wait of a machine under load */

static plim_context *ctx;
static plim_graph *graph;
static plim_device *cpu;

static plim_device *open_cpu(plim_context *of) {
  plim_device_options options = plim_device_options_default();
  plim_device *device = NULL;
  options.threads = 1;
  return plim_device_open(of, "cpu", &options, &device) == PLIM_OK ? device : NULL;
}

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  graph = plim_test_small_graph(ctx);
  cpu = open_cpu(ctx);
  cr_assert_not_null(cpu, "%s", plim_context_error(ctx));
  (void)plim_test_folder();
}

static void teardown(void) {
  plim_test_folder_remove();
  plim_device_close(cpu);
  plim_graph_free(graph);
  plim_context_free(ctx);
}
TestSuite(busy_devices, .init = setup, .fini = teardown);

static plim_profiler_options options_beside(int32_t beside) {
  plim_profiler_options options = plim_profiler_options_default();
  options.repeats = 1;
  options.cache_dir = "";
  options.busy_devices = beside;
  return options;
}

/* ---- a kernel of the test's own ---- */

typedef struct own_kernel {
  pthread_t caller;           /* the thread of the measured device */
  atomic_int beside;          /* runs on other threads */
  atomic_int alone;           /* runs of the measured device during which no other run began */
  int waits;                  /* 1: a run of the measured device waits until another device has begun a run */
  int fail_beside, cancel_at; /* which run on another thread fails, which one of the caller cancels */
  int own;                    /* runs of the measured device */
} own_kernel;

static int run_own(void *state, const plim_kernel_args *args, void *queue) {
  own_kernel *k = state;
  (void)args, (void)queue;
  if (!pthread_equal(pthread_self(), k->caller)) {
    return atomic_fetch_add(&k->beside, 1) + 1 == k->fail_beside ? PLIM_KERNEL_FAILED : PLIM_KERNEL_OK;
  }
  const int before = atomic_load(&k->beside);
  const int64_t begin_ns = plim_now_ns();
  if (++k->own == k->cancel_at) plim_context_cancel(ctx);
  if (!k->waits) return PLIM_KERNEL_OK;
  while (atomic_load(&k->beside) == before && plim_now_ns() - begin_ns < PATIENCE_NS) {
  }
  if (atomic_load(&k->beside) == before) atomic_fetch_add(&k->alone, 1);
  return PLIM_KERNEL_OK;
}

/* Give the device a variant of relu that counts its runs. */
static void add_own(own_kernel *k) {
  const plim_own_kernel kernel = {.struct_bytes = sizeof kernel, .name = "own", .run = run_own, .user = k};
  k->caller = pthread_self();
  cr_assert_eq(plim_device_add_kernel(cpu, PLIM_OP_RELU, &kernel), PLIM_OK);
}

/* ---- measuring ---- */

Test(busy_devices, every_variant_of_a_step_has_a_time_that_was_measured_beside_others) {
  for (int32_t beside = 1; beside <= 2; beside++) {
    const plim_profiler_options options = options_beside(beside);
    plim_profile *alone = NULL, *busy = NULL;
    cr_assert_eq(plim_profile_measure(cpu, graph, NULL, &alone), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plim_profile_measure(cpu, graph, &options, &busy), PLIM_OK, "%s", plim_context_error(ctx));
    const int32_t n = busy->first[graph->n_ops];
    cr_assert_eq(n, alone->first[graph->n_ops]);
    for (int32_t i = 0; i < n; i++) {
      cr_assert_gt(busy->variant[i].time_ns, 0);
      cr_assert_str_eq(busy->variant[i].name, alone->variant[i].name);
      cr_assert_eq(busy->variant[i].workspace_bytes, alone->variant[i].workspace_bytes);
    }
    plim_profile_free(busy);
    plim_profile_free(alone);
  }
}

Test(busy_devices, another_device_runs_the_same_kernel_during_each_measured_run) {
  const plim_profiler_options options = options_beside(1);
  plim_profile *profile = NULL;
  own_kernel k = {.waits = 1};
  add_own(&k);
  cr_assert_eq(plim_profile_measure(cpu, graph, &options, &profile), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_gt(k.own, 0);
  cr_assert_geq(atomic_load(&k.beside), k.own);
  cr_assert_eq(atomic_load(&k.alone), 0);
  plim_profile_free(profile);
}

Test(busy_devices, without_the_option_no_other_thread_runs_a_kernel) {
  const plim_profiler_options options = options_beside(0);
  plim_profile *profile = NULL;
  own_kernel k = {.waits = 0};
  add_own(&k);
  cr_assert_eq(plim_profile_measure(cpu, graph, &options, &profile), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_gt(k.own, 0);
  cr_assert_eq(atomic_load(&k.beside), 0);
  plim_profile_free(profile);
}

Test(busy_devices, a_failure_of_a_busy_device_ends_the_profile_and_is_named) {
  const plim_profiler_options options = options_beside(1);
  plim_profile *profile = NULL;
  own_kernel k = {.fail_beside = 1};
  add_own(&k);
  cr_assert_eq(plim_profile_measure(cpu, graph, &options, &profile), PLIM_EDEVICE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "busy beside"), "%s", plim_context_error(ctx));
  cr_assert_not_null(strstr(plim_context_error(ctx), "variant \"own\""), "%s", plim_context_error(ctx));
  cr_assert_null(profile);
}

Test(busy_devices, a_cancel_is_obeyed) {
  const plim_profiler_options options = options_beside(1);
  plim_profile *profile = NULL;
  own_kernel k = {.cancel_at = 1};
  add_own(&k);
  cr_assert_eq(plim_profile_measure(cpu, graph, &options, &profile), PLIM_ECANCEL);
  cr_assert_eq(k.own, 1);
  cr_assert_null(profile);
}

Test(busy_devices, numbers_out_of_range_and_devices_that_cannot_be_busy_are_refused) {
  static const int32_t wrong[] = {-1, PLIM_BUSY_DEVICES_MAX + 1};
  plim_profile *profile = NULL;
  for (int i = 0; i < 2; i++) {
    const plim_profiler_options options = options_beside(wrong[i]);
    cr_assert_eq(plim_profile_measure(cpu, graph, &options, &profile), PLIM_EUSAGE);
  }
  plim_device_api queued = *cpu->api;
  plim_device other = *cpu;
  const plim_profiler_options options = options_beside(1);
  queued.n_queues = 1;
  other.api = &queued;
  cr_assert_eq(plim_profile_measure(&other, graph, &options, &profile), PLIM_EUNSUPPORTED);
  cr_assert_not_null(strstr(plim_context_error(ctx), "measured alone"), "%s", plim_context_error(ctx));
}

/* ---- the cache ---- */

static void cache_path(int32_t beside, char path[PLIM_FILE_PATH_BYTES], int32_t *rows) {
  plim_profile_cache cache;
  cr_assert_eq(plim_profile_cache_open(ctx, plim_test_path("."), &cpu->machine, beside, &cache), PLIM_OK);
  memcpy(path, cache.path, PLIM_FILE_PATH_BYTES);
  *rows = cache.n;
  plim_profile_cache_close(&cache);
}

Test(busy_devices, times_alone_and_beside_others_are_in_files_of_their_own) {
  char path[3][PLIM_FILE_PATH_BYTES];
  int32_t rows[3];
  for (int32_t beside = 0; beside < 2; beside++) {
    plim_profiler_options options = options_beside(beside);
    plim_profile *profile = NULL;
    options.cache_dir = plim_test_path(".");
    cr_assert_eq(plim_profile_measure(cpu, graph, &options, &profile), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plim_test_folder_count(), beside + 1);
    plim_profile_free(profile);
  }
  for (int32_t beside = 0; beside < 3; beside++) cache_path(beside, path[beside], &rows[beside]);
  cr_assert_str_neq(path[0], path[1]);
  cr_assert_str_neq(path[1], path[2]);
  cr_assert_gt(rows[1], 0);
  cr_assert_eq(rows[0], rows[1]);
  cr_assert_eq(rows[2], 0);
  cr_assert_eq(rename(path[0], path[1]), 0); /* a file that lies under the name of the other is not believed */
  cache_path(1, path[1], &rows[1]);
  cr_assert_eq(rows[1], 0);
}

/* ---- memory ---- */

static plim_status measure_and_free(plim_context *failing, void *user) {
  const plim_profiler_options options = options_beside(2);
  plim_profile *profile = NULL;
  (void)user;
  plim_device *device = open_cpu(failing);
  if (!device) return PLIM_ENOMEM;
  plim_status status = plim_profile_measure(device, graph, &options, &profile);
  plim_profile_free(profile);
  plim_device_close(device);
  return status;
}

Test(busy_devices, every_refused_allocation_is_reported_and_leaves_nothing_after) {
  cr_assert_gt(plim_test_each_allocation(measure_and_free, NULL), 20);
}
