/* The op table: choice of the instruction set, families and their order, a caller's own types. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/isa.h"
#include "kernels/table.h"
#include "tests/support/kernel_check.h"
#include "tests/support/kernel_samples.h"

static plim_kernel_table *table_of(const char *isa) {
  plim_kernel_table *table = NULL;
  cr_assert_eq(plim_kernel_table_new(isa, NULL, &table), PLIM_KERNEL_OK);
  return table;
}

static plim_op_desc relu(void) {
  const plim_shape x = kernel_shape(PLIM_F32, 1, 100, 1, 1, 1);
  return kernel_op(PLIM_OP_RELU, 1, 1, x, x);
}

Test(kernel_table, takes_the_best_instruction_set_of_this_cpu_by_itself) {
  cr_assert(unsetenv("PLIM_ISA") == 0);
  const char *best = NULL;
  for (int i = 0; kernel_isa(i); i++) best = kernel_isa(i);
  plim_kernel_table *table = table_of(NULL);
  cr_assert_str_eq(plim_kernel_table_isa(table), best);
  plim_kernel_table_free(table);
}

Test(kernel_table, obeys_the_environment_and_the_caller_before_it) {
  const char *lowest = kernel_isa(0);
  cr_assert(setenv("PLIM_ISA", lowest, 1) == 0);
  plim_kernel_table *table = table_of(NULL);
  cr_assert_str_eq(plim_kernel_table_isa(table), lowest);
  plim_kernel_table_free(table);
  cr_assert(setenv("PLIM_ISA", "no such thing", 1) == 0);
  table = table_of(lowest);
  cr_assert_str_eq(plim_kernel_table_isa(table), lowest);
  plim_kernel_table_free(table);
}

Test(kernel_table, refuses_an_instruction_set_with_a_sentence_that_names_those_there_are) {
  plim_kernel_table *table = NULL;
  const char *chosen = NULL;
  char why[200];
  cr_assert(setenv("PLIM_ISA", "x86-64-v9", 1) == 0);
  cr_assert_eq(plim_kernel_isa_choose(NULL, &chosen, why, sizeof why), PLIM_KERNEL_UNSUPPORTED);
  cr_assert(strstr(why, "PLIM_ISA \"x86-64-v9\"") && strstr(why, kernel_isa(0)), "%s", why);
  cr_assert_null(chosen);
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_UNSUPPORTED);
  cr_assert_null(table);
  cr_assert_eq(plim_kernel_isa_choose("sse", &chosen, why, 12), PLIM_KERNEL_UNSUPPORTED);
  cr_assert_eq(strlen(why), 11, "a short buffer ends after %zu bytes", strlen(why));
}

Test(kernel_table, an_instruction_set_has_all_that_come_before_it) {
  for (int i = 1; i < PLIM_ISA_COUNT; i++) {
    cr_assert(!plim_isa_supported((plim_isa)i) || plim_isa_supported((plim_isa)(i - 1)));
  }
  cr_assert(plim_isa_supported((plim_isa)0));
  cr_assert_null(plim_isa_name(PLIM_ISA_COUNT));
  for (int i = 0; i < PLIM_ISA_COUNT; i++) cr_assert_eq(plim_isa_find(plim_isa_name((plim_isa)i)), i);
}

Test(kernel_table, has_a_single_source_kernel_of_every_kind_that_is_listed_last) {
  plim_kernel_table *table = table_of(NULL);
  for (int kind = 0; kind < PLIM_OP_KIND_COUNT; kind++) {
    if (kind == PLIM_OP_CUSTOM) continue;
    const plim_op_desc op = kernel_sample((plim_op_kind)kind, PLIM_NCHW16C);
    plim_kernel_info info[16];
    const int count = plim_kernel_list(table, &op, 1, info, 16);
    cr_assert(count >= 1 && count <= 16, "%s has %d variants", plim_op_kind_name(op.kind), count);
    cr_assert_str_eq(info[count - 1].name, "single-source");
    cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), count, "the count does not depend on the capacity");
  }
  const plim_op_desc conv = kernel_sample(PLIM_OP_CONV2D, PLIM_NHWC);
  const int library = strcmp(plim_kernel_library(), "none") != 0;
  cr_assert(plim_kernel_list(table, &conv, 1, NULL, 0) > library, "%s lists nothing", plim_kernel_library());
  plim_kernel_table_free(table);
}

Test(kernel_table, every_kind_keeps_its_promises_in_every_layout) {
  for (int layout = 0; layout < PLIM_LAYOUT_COUNT; layout++) {
    for (int kind = 0; kind < PLIM_OP_KIND_COUNT; kind++) {
      if (kind == PLIM_OP_CUSTOM) continue;
      const plim_op_desc op = kernel_sample((plim_op_kind)kind, (plim_layout)layout);
      kernel_check(&op, (uint64_t)kind + (uint64_t)layout, 4e-6);
    }
  }
}

Test(kernel_table, every_kind_keeps_its_promises_in_bf16) {
  for (int layout = 0; layout < PLIM_LAYOUT_COUNT; layout++) {
    for (int kind = 0; kind < PLIM_OP_KIND_COUNT; kind++) {
      if (kind == PLIM_OP_CUSTOM) continue;
      const plim_op_desc op = kernel_sample_bf16((plim_op_kind)kind, (plim_layout)layout);
      kernel_check(&op, (uint64_t)kind + (uint64_t)layout, 4e-6);
    }
  }
}

/* A caller's own type, of which the state counts runs and frees. */
static int runs, frees;

static int own_list(const plim_op_desc *op, int threads, plim_kernel_info *info, int capacity) {
  (void)op;
  (void)threads;
  for (int i = 0; i < 2 && i < capacity; i++) {
    info[i] = (plim_kernel_info){.workspace_bytes = 100 * i};
    (void)snprintf(info[i].name, sizeof info[i].name, "%s", i ? "own-big" : "own-small");
    (void)snprintf(info[i].numerics_key, sizeof info[i].numerics_key, "own");
  }
  return 2;
}

static int own_make(const void *user, const plim_op_desc *op, const char *variant, int threads,
                    const plim_kernel_memory *memory, void **state) {
  (void)user, (void)op, (void)memory;
  if (threads > 1) return PLIM_KERNEL_NOMEM;
  *state = strcmp(variant, "own-big") == 0 ? &runs : NULL;
  return PLIM_KERNEL_OK;
}

static int own_run(void *state, const plim_kernel_args *args) {
  (void)args;
  if (!state) return PLIM_KERNEL_FAILED;
  runs++;
  return PLIM_KERNEL_OK;
}

static void own_free(const plim_kernel_memory *memory, void *state) {
  (void)memory, (void)state;
  frees++;
}

static plim_kernel_type own_type(plim_op_kind kind) {
  plim_kernel_type type = {sizeof type, kind, "own", own_list, own_make, own_run, own_free, NULL};
  return type;
}

Test(kernel_table, lists_and_runs_a_callers_own_type_after_the_built_in_ones) {
  plim_kernel_table *table = table_of(NULL);
  const plim_kernel_type type = own_type(PLIM_OP_RELU);
  const plim_op_desc op = relu();
  plim_kernel_info info[8];
  plim_kernel *kernel = NULL;
  const plim_kernel_args args = {NULL, NULL, NULL, NULL, 0, 0, 0, NULL};
  cr_assert_eq(plim_kernel_list(table, &op, 1, info, 8), 1);
  cr_assert_eq(plim_kernel_table_add(table, &type), PLIM_KERNEL_OK);
  cr_assert_eq(plim_kernel_list(table, &op, 1, info, 8), 3);
  cr_assert_str_eq(info[0].name, "single-source");
  cr_assert_str_eq(info[2].name, "own-big");
  cr_assert_eq(plim_kernel_list(table, &op, 1, info, 2), 3);
  cr_assert_eq(plim_kernel_make(table, &op, "own-big", 1, &kernel), PLIM_KERNEL_OK);
  cr_assert_eq(plim_kernel_workspace(kernel), 100);
  cr_assert_eq(plim_kernel_run(kernel, &args), PLIM_KERNEL_OK);
  cr_assert_eq(runs, 1);
  plim_kernel_free(kernel);
  cr_assert_eq(frees, 1);
  cr_assert_eq(plim_kernel_make(table, &op, "own-small", 1, &kernel), PLIM_KERNEL_OK);
  cr_assert_eq(plim_kernel_run(kernel, &args), PLIM_KERNEL_FAILED);
  plim_kernel_free(kernel);
  plim_kernel_table_free(table);
}

Test(kernel_table, serves_ops_of_a_custom_kind_through_added_types) {
  plim_kernel_table *table = table_of(NULL);
  const plim_kernel_type type = own_type(PLIM_OP_CUSTOM);
  plim_op_desc op = relu();
  op.kind = PLIM_OP_CUSTOM;
  cr_assert_eq(plim_kernel_table_add(table, &type), PLIM_KERNEL_OK);
  cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 2);
  plim_kernel_table_free(table);
}

Test(kernel_table, leaves_the_result_alone_when_a_kernel_cannot_be_made) {
  plim_kernel_table *table = table_of(NULL);
  const plim_kernel_type type = own_type(PLIM_OP_RELU);
  const plim_op_desc op = relu();
  plim_kernel *kernel = NULL;
  cr_assert_eq(plim_kernel_table_add(table, &type), PLIM_KERNEL_OK);
  cr_assert_eq(plim_kernel_make(table, &op, "no-such-variant", 1, &kernel), PLIM_KERNEL_UNSUPPORTED);
  cr_assert_eq(plim_kernel_make(table, &op, "own-big", 2, &kernel), PLIM_KERNEL_NOMEM);
  cr_assert_eq(plim_kernel_make(table, &op, "single-source", 0, &kernel), PLIM_KERNEL_UNSUPPORTED);
  cr_assert_null(kernel);
  plim_kernel_free(NULL);
  plim_kernel_table_free(NULL);
  plim_kernel_table_free(table);
}

Test(kernel_table, refuses_a_type_of_another_size_or_without_a_function) {
  plim_kernel_table *table = table_of(NULL);
  plim_kernel_type type = own_type(PLIM_OP_RELU);
  type.struct_bytes -= sizeof(void *);
  cr_assert_eq(plim_kernel_table_add(table, &type), PLIM_KERNEL_UNSUPPORTED);
  type = own_type(PLIM_OP_RELU);
  type.run = NULL;
  cr_assert_eq(plim_kernel_table_add(table, &type), PLIM_KERNEL_UNSUPPORTED);
  plim_kernel_table_free(table);
}
