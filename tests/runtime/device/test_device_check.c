/* runtime/device/device_check: finds every purpose-made fault of plans and kernels, and nothing in right ones. The bad
 * plans run through the executor's test-only entry. */
#include "runtime/device/device_check.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/exec_unchecked.h"
#include "tests/support/failing_memory.h"
#include "tests/support/hash_kernels.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { CASES = 60, MAX_BYTES = 16384 };

static plim_context *ctx;
static plim_device *cpu, *check;
static plim_graph *graph;
static plim_profile *profile;
static plim_plan *plan;

static void setup(void) {
  plim_device_options options = {.struct_bytes = sizeof options, .threads = 1};
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_device_open(ctx, "cpu", &options, &cpu), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_device_check_open(cpu, &check), PLIM_OK);
}

static void teardown(void) {
  plim_device_close(check);
  plim_device_close(cpu);
  plim_context_free(ctx);
}
TestSuite(device_check, .init = setup, .fini = teardown);

static void make_documents(uint64_t seed) {
  random_graph_options graph_options = random_graph_options_default(seed);
  random_plan_options plan_options = random_plan_options_default(seed);
  cr_assert_eq(random_graph_make(ctx, &graph_options, &graph), PLIM_OK);
  cr_assert_eq(random_profile_make(graph, seed, 3, &profile), PLIM_OK);
  cr_assert_eq(random_plan_make(graph, profile, &plan_options, &plan), PLIM_OK);
}

static void free_documents(void) {
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
}

static void write_sources(plim_exec *exec, int64_t step) {
  hash_write_sources(exec, 0, graph, plan, 0, step);
  hash_write_sources(exec, 0, graph, plan, 1, step);
}

/* One step of `bad` (any plan, checked or not) over the check device. */
static plim_status run_step(const plim_plan *bad, hash_kernels *kernels) {
  plim_exec_options options = {.struct_bytes = sizeof options, .own_kernels = 1};
  const plim_graph *g = graph;
  plim_exec *exec = NULL;
  cr_assert_eq(plim_exec_open_unchecked(ctx, check, &options, 1, &g, &bad, &exec), PLIM_OK, "%s",
               plim_context_error(ctx));
  write_sources(exec, 0);
  plim_exec_set_step(exec, 1, 0);
  plim_status status = plim_exec_step(exec, 0, hash_run, kernels);
  plim_exec_close(exec);
  return status;
}

static hash_kernels with_fault(hash_fault fault, int32_t op) {
  return (hash_kernels){.fault = fault, .op = op, .last_step = -1};
}

Test(device_check, right_plans_and_kernels_pass_and_give_what_program_order_gives) {
  static unsigned char bytes[MAX_BYTES];
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    make_documents(seed);
    plim_exec_options options = {.struct_bytes = sizeof options, .own_kernels = 1};
    const plim_graph *g = graph;
    const plim_plan *p = plan;
    plim_exec *exec = NULL;
    cr_assert_eq(plim_exec_open(ctx, check, &options, 1, &g, &p, &exec), PLIM_OK, "%s", plim_context_error(ctx));
    hash_reference reference = hash_reference_new(graph);
    hash_kernels kernels = with_fault(HASH_RIGHT, 0);
    write_sources(exec, 0);
    plim_exec_set_step(exec, seed, 0);
    cr_assert_eq(plim_exec_step(exec, 0, hash_run, &kernels), PLIM_OK, "seed %llu: %s", (unsigned long long)seed,
                 plim_context_error(ctx));
    cr_assert_eq(kernels.calls, 2 * (int64_t)plan->n_commands);
    hash_reference_step(&reference, seed, 0);
    for (int32_t v = 0; v < graph->n_values; v++) {
      const plim_value *value = &graph->value[v];
      plim_role role = graph->storage[value->storage].role;
      if (!plim_role_persistent(role) && role != PLIM_ROLE_OUTPUT) continue;
      cr_assert_eq(plim_exec_read(exec, 0, v, bytes, value->bytes), PLIM_OK);
      cr_assert_arr_eq(bytes, reference.storage[value->storage] + value->offset, (size_t)value->bytes);
    }
    hash_reference_free(&reference);
    plim_exec_close(exec);
    free_documents();
  }
}

/* ---- bad plans ---- */

static int reads(const plim_op *op, int32_t storage) {
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (op->reads[i] == storage) return 1;
  }
  return 0;
}

/* Buffers of *plan copied, to be changed. */
static plim_plan with_buffers(plim_plan_buffer **buffer) {
  plim_plan bad = *plan;
  *buffer = malloc((size_t)bad.n_buffers * sizeof **buffer);
  memcpy(*buffer, bad.buffer, (size_t)bad.n_buffers * sizeof **buffer);
  bad.buffer = *buffer;
  return bad;
}

Test(device_check, a_read_after_the_end_of_a_buffer_is_found) {
  int found = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    make_documents(seed);
    plim_plan_buffer *buffer;
    plim_plan bad = with_buffers(&buffer);
    for (int32_t i = 0; i < bad.n_buffers; i++) {
      int32_t last = buffer[i].end - 1;
      if (buffer[i].storage < 0 || last <= buffer[i].begin) continue;
      if (!reads(&graph->op[plan->command[last].op], buffer[i].storage)) continue;
      buffer[i].end--;
      hash_kernels kernels = with_fault(HASH_RIGHT, 0);
      cr_assert_eq(run_step(&bad, &kernels), PLIM_EDIFF, "seed %llu buffer %d", (unsigned long long)seed, (int)i);
      cr_assert(strstr(plim_context_error(ctx), "after the end of its buffer"), "%s", plim_context_error(ctx));
      buffer[i].end++;
      found++;
      i += bad.n_buffers / 4; /* a few buffers a plan are enough */
    }
    free(buffer);
    free_documents();
  }
  cr_assert_gt(found, CASES);
}

/* Another buffer that is alive when buffer i begins and stays so for the step; -1: none. */
static int32_t neighbour(const plim_plan *p, int32_t i) {
  for (int32_t k = 0; k < p->n_buffers; k++) {
    if (p->buffer[k].storage >= 0 && p->buffer[k].begin < p->buffer[i].begin && p->buffer[k].end > p->buffer[i].begin)
      return k;
  }
  return -1;
}

Test(device_check, an_overlap_of_two_buffers_is_found) {
  int found = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    make_documents(seed);
    plim_plan_buffer *buffer;
    plim_plan bad = with_buffers(&buffer);
    for (int32_t i = 0; i < bad.n_buffers; i++) {
      int32_t k = neighbour(&bad, i);
      if (k < 0 || buffer[k].offset + buffer[i].bytes > plan->arena_bytes) continue;
      int64_t was = buffer[i].offset;
      buffer[i].offset = buffer[k].offset;
      hash_kernels kernels = with_fault(HASH_RIGHT, 0);
      cr_assert_eq(run_step(&bad, &kernels), PLIM_EDIFF, "seed %llu buffers %d and %d", (unsigned long long)seed,
                   (int)i, (int)k);
      buffer[i].offset = was;
      found++;
      i += bad.n_buffers / 4;
    }
    free(buffer);
    free_documents();
  }
  cr_assert_gt(found, CASES);
}

/* ---- bad kernels ---- */

/* Command of the plan that runs the op again; -1: none does. */
static int32_t repeat_of(int32_t op) {
  int32_t runs = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    if (plan->command[j].op == op && ++runs == 2) return j;
  }
  return -1;
}

/* Ops that every run shows to have the fault. */
static int can_have(hash_fault fault, int32_t op) {
  const plim_op *o = &graph->op[op];
  if (fault == HASH_COUNTS_CALLS) return repeat_of(op) >= 0;
  if (fault == HASH_WRITES_AFTER) return o->n_out == 1; /* of two outputs the other may lie there */
  if (fault != HASH_READS_WORKSPACE) return o->n_out > 0;
  for (int32_t i = 0; i < plan->n_variants; i++) {
    if (plan->variant[i].op == op && plan->variant[i].variant.workspace_bytes == 0) return 0;
  }
  return 1;
}

static void expect_found(hash_fault fault, const char *sentence) {
  int found = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    make_documents(seed);
    uint64_t random = seed;
    int32_t op = (int32_t)test_random_between(&random, 0, graph->n_ops - 1);
    if (can_have(fault, op)) {
      hash_kernels kernels = with_fault(fault, op);
      cr_assert_eq(run_step(plan, &kernels), PLIM_EDIFF, "seed %llu op %d", (unsigned long long)seed, (int)op);
      cr_assert(strstr(plim_context_error(ctx), sentence), "%s", plim_context_error(ctx));
      cr_assert(strstr(plim_context_error(ctx), graph->op[op].name), "%s", plim_context_error(ctx));
      found++;
    }
    free_documents();
  }
  cr_assert_gt(found, 4);
}

Test(device_check, an_output_that_is_not_written_to_its_end_is_found) {
  expect_found(HASH_LEAVES_LAST_BYTE, "is not written");
}
Test(device_check, padding_bits_that_are_not_written_are_found) {
  expect_found(HASH_LEAVES_LAST_BITS, "is not written");
}
Test(device_check, a_write_after_an_output_is_found) {
  expect_found(HASH_WRITES_AFTER, "it changed byte");
}
Test(device_check, a_workspace_that_is_read_before_it_is_written_is_found) {
  expect_found(HASH_READS_WORKSPACE, "depends on what was in memory before");
}
Test(device_check, a_recompute_that_differs_from_the_first_run_is_found) {
  expect_found(HASH_COUNTS_CALLS, "differs from its first run");
}

/* ---- what it cannot decorate ---- */

Test(device_check, a_device_without_arithmetic_is_refused) {
  plim_device *sim = NULL, *over = NULL;
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &sim), PLIM_OK);
  cr_assert_eq(plim_device_check_open(sim, &over), PLIM_EUSAGE);
  cr_assert_eq(plim_device_check_open(check, &over), PLIM_EUSAGE);
  plim_device_close(sim);
}

Test(device_check, buffers_of_their_own_are_refused) {
  make_documents(1);
  plim_exec_options options = {.struct_bytes = sizeof options, .addresses = PLIM_ADDRESSES_EACH, .own_kernels = 1};
  const plim_graph *g = graph;
  const plim_plan *p = plan;
  plim_exec *exec = NULL;
  hash_kernels kernels = with_fault(HASH_RIGHT, 0);
  cr_assert_eq(plim_exec_open(ctx, check, &options, 1, &g, &p, &exec), PLIM_OK);
  write_sources(exec, 0);
  cr_assert_eq(plim_exec_step(exec, 0, hash_run, &kernels), PLIM_EUSAGE);
  plim_exec_close(exec);
  free_documents();
}

static plim_status open_step_close(plim_context *failing, void *user) {
  (void)user;
  plim_device_options options = {.struct_bytes = sizeof options, .threads = 1};
  plim_exec_options exec_options = {.struct_bytes = sizeof exec_options, .own_kernels = 1};
  plim_device *inner = NULL, *over = NULL;
  plim_exec *exec = NULL;
  const plim_graph *g = graph;
  const plim_plan *p = plan;
  hash_kernels kernels = with_fault(HASH_RIGHT, 0);
  plim_status status;
  PLIM_TRY_OR_DONE(plim_device_open(failing, "cpu", &options, &inner));
  PLIM_TRY_OR_DONE(plim_device_check_open(inner, &over));
  PLIM_TRY_OR_DONE(plim_exec_open(failing, over, &exec_options, 1, &g, &p, &exec));
  write_sources(exec, 0);
  PLIM_TRY_OR_DONE(plim_exec_step(exec, 0, hash_run, &kernels));
done:
  plim_exec_close(exec);
  plim_device_close(over);
  plim_device_close(inner);
  return status;
}

Test(device_check, every_refused_allocation_is_reported_and_leaves_nothing_after) {
  make_documents(3);
  cr_assert_gt(plim_test_each_allocation(open_step_close, NULL), 10);
  free_documents();
}
