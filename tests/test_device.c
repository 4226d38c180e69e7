/* runtime/device: devices by name, thread counts, guarded memory, the sim device, descriptions as keys. */
#include "runtime/device/device.h"

#include <criterion/criterion.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/device/desc.h"
#include "runtime/device/device_sim.h"
#include "runtime/device/guarded.h"
#include "runtime/device/threads.h"
#include "runtime/exec/exec.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/small_graph.h"

static plim_context *ctx;

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void teardown(void) {
  plim_context_free(ctx);
}
TestSuite(device, .init = setup, .fini = teardown);

Test(device, a_name_that_is_none_is_refused_with_the_names_there_are) {
  plim_device *device = NULL;
  cr_assert_eq(plim_device_open(ctx, "gpu", NULL, &device), PLIM_EUSAGE);
  cr_assert(strstr(plim_context_error(ctx), "cpu and sim"));
  cr_assert_null(device);
}

Test(device, options_of_another_version_are_refused) {
  plim_device_options options = {sizeof options - 1, 1, NULL};
  plim_device *device = NULL;
  cr_assert_eq(plim_device_open(ctx, "cpu", &options, &device), PLIM_EUSAGE);
}

Test(device, the_machine_is_described_completely) {
  plim_device *device = NULL;
  plim_device_options options = {sizeof options, 1, NULL};
  cr_assert_eq(plim_device_open(ctx, "cpu", &options, &device), PLIM_OK);
  cr_assert_str_eq(device->machine.device, "cpu");
  cr_assert_eq(device->machine.threads, 1);
  cr_assert_neq(device->machine.cpu[0], '\0');
  cr_assert(strstr(device->machine.isa, "x86-64-v"));
  cr_assert_neq(device->machine.library[0], '\0');
  cr_assert_eq(strncmp(device->machine.build, PLIM_VERSION "-", strlen(PLIM_VERSION) + 1), 0);
  cr_assert_eq(strlen(device->machine.build), strlen(PLIM_VERSION) + 1 + 12);
  plim_device_close(device);
}

Test(device, an_instruction_set_that_is_none_is_refused) {
  plim_device_options options = {sizeof options, 1, "x86-64-v9"};
  plim_device *device = NULL;
  cr_assert_eq(plim_device_open(ctx, "cpu", &options, &device), PLIM_EUNSUPPORTED);
  cr_assert(strstr(plim_context_error(ctx), "x86-64-v9"), "%s", plim_context_error(ctx));
}

/* ---- threads ---- */

Test(device, threads_default_to_the_affinity_mask_and_are_what_a_region_gets) {
  int32_t fixed = 0, counted = 0;
  cr_assert_eq(plim_threads_fix(ctx, 0, &fixed), PLIM_OK);
  cr_assert_eq(fixed, plim_threads_default());
#pragma omp parallel
  {
#pragma omp atomic
    counted++;
  }
  cr_assert_eq(counted, fixed);
  cr_assert_eq(plim_threads_fix(ctx, 3, &fixed), PLIM_OK);
  cr_assert_eq(fixed, 3);
  cr_assert_eq(plim_threads_now(), 3);
}

Test(device, thread_counts_out_of_range_are_refused) {
  int32_t fixed = 0;
  cr_assert_eq(plim_threads_fix(ctx, -1, &fixed), PLIM_EUSAGE);
  cr_assert_eq(plim_threads_fix(ctx, PLIM_THREADS_MAX + 1, &fixed), PLIM_EUSAGE);
  cr_assert_eq(fixed, 0);
}

/* Inside a parallel region a further one gets one thread: the plainest way to be refused threads. */
Test(device, a_region_that_gets_other_threads_is_an_error_with_both_numbers) {
  plim_status status = PLIM_OK;
  int32_t fixed = 0;
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
  {
#pragma omp master
    status = plim_threads_fix(ctx, 2, &fixed);
  }
  cr_assert_eq(status, PLIM_EDEVICE);
  cr_assert(strstr(plim_context_error(ctx), "2 threads were asked for and a parallel region got 1"), "%s",
            plim_context_error(ctx));
  cr_assert_eq(fixed, 0);
}

/* ---- guarded memory ---- */

/* 1 when writing at `at` kills a process by the signal that inaccessible memory raises. */
static int write_faults(volatile char *at) {
  pid_t child = fork();
  if (child == 0) {
    (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report what is wanted here */
    (void)signal(SIGBUS, SIG_DFL);
    *at = 1;
    _exit(0);
  }
  int status = 0;
  (void)waitpid(child, &status, 0);
  return WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

Test(device, memory_is_aligned_zeroed_and_ends_at_an_inaccessible_page) {
  static const int64_t sizes[] = {512, 4096, 4096 + 512, 3 * 4096 - 512, 1 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    for (int resident = 0; resident < 2; resident++) {
      void *ptr = NULL;
      cr_assert_eq(plim_guarded_alloc(ctx, sizes[i], resident, &ptr), PLIM_OK);
      char *bytes = ptr;
      cr_assert_eq((uintptr_t)bytes % PLIM_ALIGN, 0);
      for (int64_t k = 0; k < sizes[i]; k++) cr_assert_eq(bytes[k], 0);
      memset(bytes, 1, (size_t)sizes[i]);
      cr_assert(write_faults(bytes + sizes[i]), "%lld", (long long)sizes[i]);
      cr_assert(write_faults(bytes - 4096));
      cr_assert_not(write_faults(bytes + sizes[i] - 1));
      plim_guarded_free(ptr, sizes[i]);
      cr_assert(write_faults(bytes));
    }
  }
}

Test(device, memory_of_odd_sizes_ends_less_than_the_alignment_before_the_page) {
  void *ptr = NULL;
  cr_assert_eq(plim_guarded_alloc(ctx, 5000, 1, &ptr), PLIM_OK);
  char *bytes = ptr;
  cr_assert_eq((uintptr_t)bytes % PLIM_ALIGN, 0);
  cr_assert(write_faults(bytes + 5000 + PLIM_ALIGN - 1));
  plim_guarded_free(ptr, 5000);
  cr_assert_eq(plim_guarded_alloc(ctx, 0, 1, &ptr), PLIM_EUSAGE);
  cr_assert_eq(plim_guarded_alloc(ctx, INT64_MAX - 10, 0, &ptr), PLIM_EOVERFLOW);
  cr_assert_eq(plim_guarded_alloc(ctx, INT64_MAX / 4, 0, &ptr), PLIM_ENOMEM);
}

/* ---- sim ---- */

static plim_exec *open_sim(plim_device *sim, const plim_graph *graph, const plim_plan *plan) {
  plim_exec *exec = NULL;
  cr_assert_eq(plim_exec_open(ctx, sim, NULL, 1, &graph, &plan, &exec), PLIM_OK, "%s", plim_context_error(ctx));
  return exec;
}

static void write_inputs(plim_exec *exec, const plim_graph *graph) {
  static const char zeros[16384];
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (graph->storage[graph->value[v].storage].role != PLIM_ROLE_INPUT) continue;
    (void)plim_exec_write(exec, 0, v, zeros, graph->value[v].bytes);
  }
}

Test(device, sim_moves_its_clock_by_the_times_of_the_plan_and_is_held_to_its_peak) {
  plim_device *sim = NULL;
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &sim), PLIM_OK);
  for (uint64_t seed = 1; seed <= 20; seed++) {
    plim_graph *graph = NULL;
    plim_profile *profile = NULL;
    plim_plan *plan = NULL;
    random_graph_options graph_options = random_graph_options_default(seed);
    random_plan_options plan_options = random_plan_options_default(seed);
    cr_assert_eq(random_graph_make(ctx, &graph_options, &graph), PLIM_OK);
    cr_assert_eq(random_profile_make(graph, seed, 3, &profile), PLIM_OK);
    cr_assert_eq(random_plan_make(graph, profile, &plan_options, &plan), PLIM_OK);
    plim_exec *exec = open_sim(sim, graph, plan);
    plim_exec_set_timing(exec, 1);
    int64_t before = sim->api->clock(sim), sum = 0;
    write_inputs(exec, graph);
    cr_assert_eq(plim_exec_step(exec, 0, NULL, NULL), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(sim->api->clock(sim) - before, plan->time_ns);
    for (int32_t j = 0; j < plan->n_steps; j++) sum += plim_exec_times(exec, 0)[j];
    cr_assert_eq(sum, plan->time_ns);
    cr_assert_eq(plim_exec_measured(exec, 0).peak_bytes, plan->peak_bytes);
    plim_exec_close(exec);
    plim_plan_free(plan);
    plim_profile_free(profile);
    plim_graph_free(graph);
  }
  plim_device_close(sim);
}

Test(device, sim_fails_when_it_is_told_to_and_recovers) {
  plim_device *sim = NULL;
  plim_graph *graph = plim_test_small_graph(ctx);
  plim_plan *plan = plim_test_small_plan(graph);
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &sim), PLIM_OK);
  plim_exec *exec = open_sim(sim, graph, plan);
  write_inputs(exec, graph);
  plim_sim_fail_after(sim, 3);
  cr_assert_eq(plim_exec_step(exec, 0, NULL, NULL), PLIM_EDEVICE);
  cr_assert(strstr(plim_context_error(ctx), "step 3"), "%s", plim_context_error(ctx));
  plim_sim_fail_after(sim, -1);
  write_inputs(exec, graph);
  cr_assert_eq(plim_exec_step(exec, 0, NULL, NULL), PLIM_OK);
  plim_exec_close(exec);
  plim_sim_fail_after(sim, 0);
  const plim_graph *g = graph;
  const plim_plan *p = plan;
  cr_assert_eq(plim_exec_open(ctx, sim, NULL, 1, &g, &p, &exec), PLIM_EDEVICE);
  plim_plan_free(plan);
  plim_graph_free(graph);
  plim_device_close(sim);
}

/* ---- a plan for another machine ---- */

Test(device, a_plan_for_another_machine_is_refused_with_both_values) {
  plim_device *cpu = NULL;
  plim_device_options one = {sizeof one, 1, NULL};
  cr_assert_eq(plim_device_open(ctx, "cpu", &one, &cpu), PLIM_OK);
  plim_graph *graph = plim_test_small_graph(ctx);
  plim_plan *right = plim_test_small_plan(graph), *plan = NULL;
  plim_plan draft = *right;
  draft.arithmetic.machine = (plim_machine){.threads = 7};
  cr_assert_eq(plim_plan_from_parts(graph, &draft, &plan), PLIM_OK);
  const plim_graph *g = graph;
  const plim_plan *p = plan;
  plim_exec *exec = NULL;
  cr_assert_eq(plim_exec_open(ctx, cpu, NULL, 1, &g, &p, &exec), PLIM_EDATA);
  cr_assert(strstr(plim_context_error(ctx), "7 threads and this device has 1"), "%s", plim_context_error(ctx));
  plim_plan_free(plan);
  draft.arithmetic.machine = (plim_machine){.isa = "x86-64-v1"};
  cr_assert_eq(plim_plan_from_parts(graph, &draft, &plan), PLIM_OK);
  p = plan;
  cr_assert_eq(plim_exec_open(ctx, cpu, NULL, 1, &g, &p, &exec), PLIM_EDATA);
  cr_assert(strstr(plim_context_error(ctx), "x86-64-v1"), "%s", plim_context_error(ctx));
  plim_plan_free(plan);
  plim_plan_free(right);
  plim_graph_free(graph);
  plim_device_close(cpu);
}

/* ---- descriptions ---- */

Test(device, descriptions_are_equal_exactly_when_their_texts_are) {
  plim_graph *graph = plim_test_small_graph(ctx);
  enum { MOST = 32 };
  static plim_op_desc desc[MOST];
  static char text[MOST][PLIM_DESC_TEXT_BYTES];
  int32_t n = 0;
  for (int32_t op = 0; op < graph->n_ops; op++) {
    plim_desc_of(graph, op, &desc[n]);
    plim_desc_text(&desc[n], text[n], sizeof text[n]);
    n++;
    desc[n] = desc[n - 1]; /* the same op with another attribute */
    desc[n].attrs.pad[1]++;
    plim_desc_text(&desc[n], text[n], sizeof text[n]);
    n++;
  }
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = 0; k < n; k++) {
      int equal = plim_desc_equal(&desc[i], &desc[k]);
      cr_assert_eq(equal, strcmp(text[i], text[k]) == 0, "%s | %s", text[i], text[k]);
      if (equal) cr_assert_eq(plim_desc_hash(&desc[i]), plim_desc_hash(&desc[k]));
    }
  }
  plim_graph_free(graph);
}
