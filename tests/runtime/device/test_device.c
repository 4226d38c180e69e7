/* runtime/device: devices by name, thread counts, guarded memory, the sim device, descriptions as keys. */
#include "runtime/device/device.h"

#include <criterion/criterion.h>
#include <float.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/device/desc.h"
#include "runtime/device/device_sim.h"
#include "runtime/device/guarded.h"
#include "runtime/device/threads.h"
#include "runtime/exec/exec.h"
#include "tests/support/hash_kernels.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_seed.h"

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
  cr_assert(strstr(plim_context_error(ctx), "cpu, sim and cuda:0"));
  cr_assert_null(device);
}

Test(device, options_of_another_version_are_refused) {
  plim_device_options options = {.struct_bytes = sizeof options - 1, .threads = 1};
  plim_device *device = NULL;
  cr_assert_eq(plim_device_open(ctx, "cpu", &options, &device), PLIM_EUSAGE);
}

Test(device, the_machine_is_described_completely) {
  plim_device *device = NULL;
  plim_device_options options = {.struct_bytes = sizeof options, .threads = 1};
  cr_assert_eq(plim_device_open(ctx, "cpu", &options, &device), PLIM_OK);
  const plim_machine *machine = &device->machine;
  cr_assert_str_eq(machine->device, "cpu");
  cr_assert_eq(machine->threads, 1);
  cr_assert_neq(machine->cpu[0], '\0');
  cr_assert(strstr(machine->isa, "x86-64-v"));
  cr_assert_neq(machine->library[0], '\0');
  cr_assert_eq(strncmp(machine->build, PLIM_VERSION "-", strlen(PLIM_VERSION) + 1), 0);
  cr_assert_eq(strlen(machine->build), strlen(PLIM_VERSION) + 1 + 12);
  plim_device_close(device);
}

Test(device, an_instruction_set_that_is_none_is_refused) {
  plim_device_options options = {.struct_bytes = sizeof options, .threads = 1, .isa = "x86-64-v9"};
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

Test(device, devices_share_threads_in_equal_parts_of_one_at_least) {
  cr_assert_eq(plim_threads_share(7, 1), 7);
  cr_assert_eq(plim_threads_share(7, 3), 2);
  cr_assert_eq(plim_threads_share(2, 3), 0, "a device without a thread");
  cr_assert_eq(plim_threads_share(0, 1), plim_threads_default());
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

/* A graph, a profile and a plan of `machine`. */
typedef struct documents {
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *plan;
} documents;

static documents make_documents(uint64_t seed, const plim_machine *machine) {
  documents d = {NULL};
  plim_plan *plan = NULL;
  random_graph_options graph_options = random_graph_options_default(seed);
  random_plan_options plan_options = random_plan_options_default(seed);
  cr_assert_eq(random_graph_make(ctx, &graph_options, &d.graph), PLIM_OK);
  cr_assert_eq(random_profile_make(d.graph, seed, 3, &d.profile), PLIM_OK);
  cr_assert_eq(random_plan_make(d.graph, d.profile, &plan_options, &plan), PLIM_OK);
  plim_plan draft = *plan;
  draft.numerics.machine = *machine;
  cr_assert_eq(plim_plan_from_parts(d.graph, &draft, &d.plan), PLIM_OK);
  plim_plan_free(plan);
  return d;
}

static void free_documents(documents d) {
  plim_plan_free(d.plan);
  plim_profile_free(d.profile);
  plim_graph_free(d.graph);
}

static plim_status open_exec(plim_device *device, documents d, plim_exec **exec) {
  const plim_graph *graph = d.graph;
  const plim_plan *plan = d.plan;
  return plim_exec_open(ctx, device, NULL, 1, &graph, &plan, exec);
}

static void write_inputs(plim_exec *exec, documents d) {
  hash_write_sources(exec, 0, d.graph, d.plan, 0, 0);
}

Test(device, sim_moves_its_clock_by_the_times_of_the_plan_and_is_held_to_its_peak) {
  plim_device *sim = NULL;
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &sim), PLIM_OK);
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    documents d = make_documents(seed, &(plim_machine){.threads = 99});
    plim_exec *exec = NULL;
    cr_assert_eq(open_exec(sim, d, &exec), PLIM_OK, "%s", plim_context_error(ctx));
    plim_exec_timing_begin(exec);
    int64_t before = sim->api->queues.clock(sim), sum = 0;
    write_inputs(exec, d);
    cr_assert_eq(plim_exec_step(exec, 0, NULL, NULL), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(sim->api->queues.clock(sim) - before, d.plan->time_ns);
    for (int32_t j = 0; j < d.plan->n_commands; j++) sum += plim_exec_times(exec, 0)[j];
    cr_assert_eq(sum, d.plan->time_ns);
    cr_assert_eq(plim_exec_measured(exec, 0).space[0].peak_bytes, d.plan->peak_bytes);
    plim_exec_close(exec);
    free_documents(d);
  }
  plim_device_close(sim);
}

Test(device, sim_fails_when_it_is_told_to_and_recovers) {
  plim_device *sim = NULL;
  plim_exec *exec = NULL;
  documents d = make_documents(4, &(plim_machine){.threads = 0});
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &sim), PLIM_OK);
  cr_assert_eq(open_exec(sim, d, &exec), PLIM_OK);
  write_inputs(exec, d);
  plim_sim_fail_after(sim, 3);
  cr_assert_eq(plim_exec_step(exec, 0, NULL, NULL), PLIM_EDEVICE);
  cr_assert(strstr(plim_context_error(ctx), "command 3"), "%s", plim_context_error(ctx));
  plim_sim_fail_after(sim, -1);
  write_inputs(exec, d);
  cr_assert_eq(plim_exec_step(exec, 0, NULL, NULL), PLIM_OK);
  plim_exec_close(exec);
  plim_sim_fail_after(sim, 0);
  cr_assert_eq(open_exec(sim, d, &exec), PLIM_EDEVICE);
  free_documents(d);
  plim_device_close(sim);
}

/* A chain of n ops of one byte-vector each; every value dies after its reader, so two places take turns. */
static documents make_long_chain(int32_t n) {
  documents d = {NULL};
  plim_graph_builder *builder = NULL;
  int64_t bytes = 1000;
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
  plim_plan draft = {.packed = 1, .n_commands = n, .n_buffers = n + 1, .n_variants = n, .budget_bytes = INT64_MAX};
  plim_command *command = calloc((size_t)n, sizeof *command);
  plim_plan_buffer *buffer = calloc((size_t)n + 1, sizeof *buffer);
  plim_plan_variant *variant = calloc((size_t)n, sizeof *variant);
  int32_t value, op;
  cr_assert_eq(plim_graph_begin(ctx, "chain", 1, &builder), PLIM_OK);
  cr_assert_eq(plim_graph_add(builder, "x", PLIM_ROLE_INPUT, &shape, &value), PLIM_OK);
  for (int32_t i = 0; i <= n; i++) {
    buffer[i] = (plim_plan_buffer){i, i > 0 ? i - 1 : 0, i < n ? i + 1 : n, 0, i % 2 * 1024, 1024};
    if (i == n) break;
    char name[32];
    (void)snprintf(name, sizeof name, "f%d", (int)i);
    plim_op_spec spec = {.name = name, .n_in = 1, .n_out = 1, .in = {value}, .time_ns = 1};
    cr_assert_eq(plim_graph_add(builder, name, i < n - 1 ? PLIM_ROLE_ACTIVATION : PLIM_ROLE_OUTPUT, &shape, &value),
                 PLIM_OK);
    spec.out[0] = value;
    cr_assert_eq(plim_graph_add_op(builder, &spec, &op), PLIM_OK);
    command[i] = (plim_command){.op = op, .variant = i};
    variant[i] = (plim_plan_variant){op, {"given", "given", i % 7, 0}};
    draft.keep_all_ns += i % 7;
  }
  draft.command = command, draft.buffer = buffer, draft.variant = variant;
  draft.bound_ns = draft.keep_all_ns;
  (void)snprintf(draft.planner, sizeof draft.planner, "hand");
  cr_assert_eq(plim_graph_end(builder, &d.graph), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_plan_from_parts(d.graph, &draft, &d.plan), PLIM_OK, "%s", plim_context_error(ctx));
  free(command), free(buffer), free(variant);
  return d;
}

Test(device, sim_replays_a_hundred_thousand_steps) {
  enum { N = 100000, REPEATS = 2 };
  documents d = make_long_chain(N);
  plim_device *sim = NULL;
  plim_exec *exec = NULL;
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &sim), PLIM_OK);
  cr_assert_eq(open_exec(sim, d, &exec), PLIM_OK, "%s", plim_context_error(ctx));
  for (int i = 0; i < REPEATS; i++) {
    write_inputs(exec, d);
    cr_assert_eq(plim_exec_step(exec, 0, NULL, NULL), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(sim->api->queues.clock(sim), (i + 1) * d.plan->time_ns);
    cr_assert_eq(plim_exec_measured(exec, 0).own_allocations, 0);
  }
  plim_exec_close(exec);
  free_documents(d);
  plim_device_close(sim);
}

/* ---- a plan for another machine ---- */

Test(device, a_plan_for_another_machine_is_refused_with_both_values) {
  static const struct {
    plim_machine machine;
    const char *sentence;
  } cases[] = {{{.threads = 7}, "7 threads and this device has 1"},
               {{.isa = "x86-64-v1"}, "x86-64-v1"},
               {{.device = "sim"}, "\"sim\" and this device has \"cpu\""},
               {{.cpu = "Z80"}, "Z80"},
               {{"", "", "", "blas 0", "", 0}, "blas 0"},
               {{.build = "0.0.1"}, "0.0.1"}};
  plim_device *cpu = NULL;
  plim_device_options one = {.struct_bytes = sizeof one, .threads = 1};
  cr_assert_eq(plim_device_open(ctx, "cpu", &one, &cpu), PLIM_OK);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    documents d = make_documents(2, &cases[i].machine);
    plim_exec *exec = NULL;
    cr_assert_eq(open_exec(cpu, d, &exec), PLIM_EDATA);
    cr_assert(strstr(plim_context_error(ctx), cases[i].sentence), "%s", plim_context_error(ctx));
    cr_assert_null(exec);
    free_documents(d);
  }
  plim_device_close(cpu);
}

/* ---- descriptions ---- */

enum { TEXT_BYTES = 1 << 16 };

Test(device, descriptions_are_equal_exactly_when_their_texts_are) {
  plim_graph *graph = plim_test_small_graph(ctx);
  enum { MOST = 32 };
  static plim_op_desc desc[MOST];
  static char text[MOST][TEXT_BYTES];
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

/* The longest text that there is: the last size of the last operand still tells two ops apart. */
Test(device, the_longest_descriptions_differ_in_their_texts_to_the_last_operand) {
  static plim_op_desc desc;
  static char text[2][TEXT_BYTES];
  plim_shape shape = {.dtype = PLIM_BF16, .layout = PLIM_NCHW16C, .rank = PLIM_MAX_RANK};
  for (int32_t d = 0; d < PLIM_MAX_RANK; d++) shape.dim[d] = INT64_MAX;
  desc.attrs = (plim_attrs){.kernel = {INT32_MIN, INT32_MIN},
                            .stride = {INT32_MIN, INT32_MIN},
                            .pad = {INT32_MIN, INT32_MIN},
                            .relu = INT32_MIN,
                            .add = INT32_MIN,
                            .tf32 = INT32_MIN,
                            .eps = -FLT_MAX,
                            .momentum = -FLT_MAX,
                            .drop = -FLT_MAX,
                            .count = INT64_MIN,
                            .scale = {-FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX},
                            .shift = {-FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX}};
  desc.n_in = PLIM_OP_MAX_IN;
  desc.n_out = PLIM_OP_MAX_OUT;
  desc.n_upd = PLIM_OP_MAX_UPD;
  for (int32_t i = 0; i < PLIM_OP_MAX_IN; i++) desc.in[i] = shape;
  for (int32_t i = 0; i < PLIM_OP_MAX_OUT; i++) desc.out[i] = shape;
  for (int32_t i = 0; i < PLIM_OP_MAX_UPD; i++) desc.upd[i] = shape;
  for (int k = 0; k < PLIM_OP_KIND_COUNT; k++) {
    desc.kind = (plim_op_kind)k;
    desc.upd[PLIM_OP_MAX_UPD - 1].dim[PLIM_MAX_RANK - 1] = INT64_MAX;
    cr_assert_leq(plim_desc_text_bytes(&desc), TEXT_BYTES);
    plim_desc_text(&desc, text[0], (size_t)plim_desc_text_bytes(&desc));
    desc.upd[PLIM_OP_MAX_UPD - 1].dim[PLIM_MAX_RANK - 1] = INT64_MAX - 1;
    plim_desc_text(&desc, text[1], (size_t)plim_desc_text_bytes(&desc));
    cr_assert_str_neq(text[0], text[1]);
  }
}
