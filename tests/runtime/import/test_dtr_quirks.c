/* What logs of programs do that networks do not: each quirk in a log of a few lines, with what must come of it counted
 * by hand. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/import/importers.h"
#include "tests/support/dtr_logs.h"

static plim_context *ctx;
static plim_text text;

/* x is a constant of 10 bytes, a = f(x) has 100 and takes 5. */
static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  text = (plim_text){ctx, NULL, 0, 0, PLIM_OK};
  plim_text_add(&text, "{\"ANNOTATION\":\"START\",\"INSTRUCTION\":\"ANNOTATE\"}\n");
  dtr_constant(&text, "x", 10);
  dtr_call(&text, "f", "x", "a", 100, -1, 5);
}

static void teardown(void) {
  plim_text_free(&text);
  plim_context_free(ctx);
}
TestSuite(dtr_quirks, .init = setup, .fini = teardown);

enum { X, A, THIRD, FOURTH };

static void copy_from(const char *target, const char *source) {
  plim_text_format(&text, "{\"DST\":\"%s\",\"INSTRUCTION\":\"COPY_FROM\",\"SRC\":\"%s\"}\n", target, source);
}

static int64_t peak_of(const plim_graph *g, int in_arena) {
  int64_t peak = 0;
  cr_assert_eq(plim_handles_peak(g->handles, in_arena, &peak), PLIM_OK);
  return peak;
}

static void expect_refused(const char *sentence) {
  plim_graph *graph = NULL;
  cr_expect_eq(plim_import_dtr(ctx, "q.log", text.chars, text.length, &graph), PLIM_EDATA);
  cr_expect_not_null(strstr(plim_context_error(ctx), sentence), "%s", plim_context_error(ctx));
  cr_expect_null(graph);
}

Test(dtr_quirks, view_of_a_view_is_a_view_of_the_storage) {
  dtr_call(&text, "view", "a", "v", 100, 0, 1);
  dtr_call(&text, "view", "v", "w", 100, 0, 1);
  dtr_release(&text, "a");
  dtr_release(&text, "v");
  plim_graph *g = dtr_graph(ctx, text.chars);
  cr_expect_eq(g->n_ops, 1);
  cr_expect_eq(g->handles->tensor[FOURTH].base, A);
  cr_expect_eq(g->handles->kept[1], FOURTH, "w alone holds what a was");
  cr_expect_eq(g->storage[g->op[0].writes[0]].role, PLIM_ROLE_OUTPUT);
  cr_expect_eq(peak_of(g, 0), 110);
  plim_graph_free(g);
}

Test(dtr_quirks, mutation_of_a_view_makes_a_version_as_large_as_the_storage) {
  dtr_call(&text, "view", "a", "v", 100, 0, 1);
  dtr_mutate(&text, "add_", "v", 0, 7);
  dtr_call(&text, "g", "a v", "b", 20, -1, 3);
  plim_graph *g = dtr_graph(ctx, text.chars);
  cr_assert_eq(g->n_ops, 3);
  cr_expect_eq(g->handles->tensor[FOURTH].bytes, 100);
  cr_expect_eq(g->op[2].n_reads, 2, "a is the old version, v the new one");
  cr_expect_eq(peak_of(g, 0), 10 + 100 + 100 + 20);
  plim_graph_free(g);
}

Test(dtr_quirks, mutation_of_two_arguments_makes_two_versions) {
  dtr_call(&text, "f", "x", "b", 30, -1, 5);
  plim_text_add(&text,
                "{\"ARGS\":[\"a\",\"x\",\"b\"],\"INSTRUCTION\":\"MUTATE\",\"MUTATE\":[0,2],\"NAME\":\"swap_\","
                "\"TIME\":\"9\"}\n");
  plim_graph *g = dtr_graph(ctx, text.chars);
  cr_assert_eq(g->n_ops, 3);
  cr_expect_eq(g->op[2].n_writes, 2);
  cr_expect_eq(g->op[2].n_pairs, 2);
  cr_expect_eq(g->storage[g->op[0].writes[0]].role, PLIM_ROLE_ACTIVATION, "no one holds the old a");
  cr_expect_eq(peak_of(g, 0), 10 + 2 * (100 + 30));
  plim_graph_free(g);
}

Test(dtr_quirks, mutated_constant_stays_beside_its_new_version) {
  dtr_mutate(&text, "add_", "x", 0, 7);
  plim_graph *g = dtr_graph(ctx, text.chars);
  cr_expect_eq(g->op[1].n_pairs, 0, "a constant is not written over");
  cr_expect_eq(peak_of(g, 1), 3 * 512);
  plim_graph_free(g);
}

Test(dtr_quirks, released_constant_is_gone_in_theory_and_stays_in_an_arena) {
  dtr_release(&text, "x");
  dtr_call(&text, "g", "a", "b", 100, -1, 5);
  plim_graph *g = dtr_graph(ctx, text.chars);
  cr_expect_eq(g->storage[0].role, PLIM_ROLE_PARAM);
  cr_expect_eq(g->handles->n_kept, 2);
  cr_expect_eq(peak_of(g, 0), 200);
  cr_expect_eq(peak_of(g, 1), 3 * 512);
  plim_graph_free(g);
}

Test(dtr_quirks, nothing_has_no_value_and_is_never_missing) {
  dtr_constant(&text, "none", 0);
  dtr_call(&text, "g", "none", "b", 0, -1, 5);
  dtr_call(&text, "h", "b a", "c", 40, -1, 5);
  plim_graph *g = dtr_graph(ctx, text.chars);
  cr_assert_eq(g->n_ops, 3);
  cr_expect_eq(g->op[1].n_reads, 0);
  cr_expect_eq(g->op[2].n_reads, 1);
  cr_expect_eq(g->handles->tensor[THIRD].storage, -1);
  cr_expect_eq(peak_of(g, 0), 150);
  plim_graph_free(g);
}

Test(dtr_quirks, assignment_to_itself_changes_nothing) {
  copy_from("a", "a");
  plim_graph *g = dtr_graph(ctx, text.chars);
  cr_expect_eq(g->handles->n_events, 2);
  cr_expect_eq(g->handles->n_kept, 2);
  plim_graph_free(g);
}

Test(dtr_quirks, assignment_of_the_same_tensor_lets_go_first) {
  plim_text_add(&text, "{\"DST\":\"b\",\"INSTRUCTION\":\"COPY\",\"SRC\":\"a\"}\n");
  copy_from("b", "a");
  dtr_release(&text, "a");
  plim_graph *g = dtr_graph(ctx, text.chars);
  cr_expect_eq(g->handles->n_kept, 2);
  cr_expect_eq(g->handles->kept[1], A);
  plim_graph_free(g);
}

Test(dtr_quirks, what_draws_is_random_and_what_has_state_no_one_recorded_is_pure) {
  static const struct {
    const char *op;
    plim_op_class cls;
  } ops[] = {{"_fused_droupout_", PLIM_OP_RANDOM}, {"native_dropout", PLIM_OP_RANDOM}, {"bernoulli_", PLIM_OP_RANDOM},
             {"dropout_backward", PLIM_OP_PURE},   {"cudnn_batch_norm", PLIM_OP_PURE}, {"_cudnn_rnn", PLIM_OP_PURE}};
  char name[8];
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    (void)snprintf(name, sizeof name, "r%zu", i);
    dtr_call(&text, ops[i].op, "a", name, 8, -1, 1);
  }
  plim_graph *g = dtr_graph(ctx, text.chars);
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) cr_expect_eq(g->op[i + 1].cls, ops[i].cls, "%s", ops[i].op);
  plim_graph_free(g);
}

Test(dtr_quirks, released_handle_is_refused_as_an_argument) {
  dtr_release(&text, "a");
  dtr_call(&text, "g", "a", "b", 8, -1, 1);
  expect_refused("line 8: 'a' is used after its release");
}

Test(dtr_quirks, name_of_a_released_handle_is_refused_for_another) {
  dtr_release(&text, "a");
  plim_text_add(&text, "{\"DST\":\"a\",\"INSTRUCTION\":\"COPY\",\"SRC\":\"x\"}\n");
  expect_refused("line 8: 'a' is defined a second time");
}

Test(dtr_quirks, sizes_that_do_not_add_up_in_63_bits_are_refused) {
  dtr_call(&text, "g", "a", "b c", INT64_C(5000000000000000000), -1, 1);
  expect_refused("line 9: the sizes add up to more than 2^61 bytes");
}
