/* Logs of the DTR prototype: short ones for each rule and each fault, and the facts of the published ones. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/graph/graph_text.h"
#include "runtime/import/importers.h"
#include "tests/support/documents.h"
#include "tests/support/dtr_logs.h"
#include "tests/support/failing_memory.h"

static plim_context *ctx;

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}

static void teardown(void) {
  plim_context_free(ctx);
}
TestSuite(import_dtr, .init = setup, .fini = teardown);

#define START "{\"ANNOTATION\":\"START\",\"INSTRUCTION\":\"ANNOTATE\"}\n"

/* x is a constant; a = conv(x); v is a view of a; a is mutated; b = relu(v), c has no bytes; everything but b and c
 * is released. */
static const char *small_log(plim_text *log) {
  plim_text_add(log, "{\"INSTRUCTION\":\"RELEASE\",\"NAME\":\"before\"}\n" START);
  dtr_constant(log, "x", 40);
  plim_text_add(log, "{\"DST\":\"y\",\"INSTRUCTION\":\"COPY\",\"SRC\":\"x\"}\n");
  dtr_release(log, "x");
  dtr_call(log, "conv", "y", "a", 1000, -1, 70);
  dtr_call(log, "view", "a", "v", 1000, 0, 3);
  dtr_mutate(log, "relu_", "a", 0, 20);
  plim_text_add(log, "{\"ANNOTATION\":\"BACKWARD\",\"INSTRUCTION\":\"ANNOTATE\"}\n");
  dtr_call(log, "dropout", "v a", "b", 600, -1, 50);
  dtr_call(log, "size", "b", "c", 0, -1, 5);
  dtr_release(log, "v");
  dtr_release(log, "a");
  dtr_release(log, "y");
  dtr_release(log, "never");
  return log->chars;
}

Test(import_dtr, calls_become_ops_and_views_do_not) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  plim_graph *g = dtr_graph(ctx, small_log(&log));
  cr_assert_eq(g->n_ops, 4);
  cr_expect_str_eq(g->op[0].name, "conv.0");
  cr_expect_eq(g->op[0].time_ns, 70);
  cr_expect_eq(g->op[0].phase, PLIM_PHASE_FORWARD);
  cr_expect_str_eq(g->op[1].name, "relu_.1");
  cr_expect_eq(g->op[1].n_pairs, 1, "a mutation may write over its argument");
  cr_expect_eq(g->op[2].cls, PLIM_OP_RANDOM);
  cr_expect_eq(g->op[2].phase, PLIM_PHASE_BACKWARD);
  cr_expect_eq(g->op[2].n_reads, 2, "the view reads the old version, the handle the new one");
  cr_expect_eq(g->storage[g->op[2].writes[0]].role, PLIM_ROLE_OUTPUT);
  cr_expect_eq(g->storage[g->op[3].writes[0]].bytes, 1, "a result without bytes gets one");
  plim_graph_free(g);
  plim_text_free(&log);
}

Test(import_dtr, handles_say_what_the_program_held) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  plim_graph *g = dtr_graph(ctx, small_log(&log));
  const plim_handles *h = g->handles;
  int64_t peak = 0;
  cr_assert_not_null(h);
  cr_expect_eq(h->n_tensors, 6);
  cr_expect_eq(h->n_kept, 2);
  cr_expect_eq(plim_handles_total_ns(h), 70 + 3 + 20 + 50 + 5);
  cr_assert_eq(plim_handles_peak(h, 0, &peak), PLIM_OK);
  cr_expect_eq(peak, 40 + 1000 + 1000 + 600, "the view holds the old version beside the new one");
  cr_assert_eq(plim_handles_peak(h, 1, &peak), PLIM_OK);
  cr_expect_eq(peak, 512 + 1024 + 1024 + 1024);
  plim_graph_free(g);
  plim_text_free(&log);
}

static plim_status parse(plim_context *c, const char *text, int64_t bytes, plim_text *again) {
  plim_graph *graph = NULL;
  plim_status status = plim_graph_parse(c, "doc.json", text, bytes, &graph);
  if (again && graph) plim_graph_write(again, graph, 1);
  plim_graph_free(graph);
  return status;
}

Test(import_dtr, graph_document_keeps_views_and_handles) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK}, document = {ctx, NULL, 0, 0, PLIM_OK};
  plim_graph *g = dtr_graph(ctx, small_log(&log));
  plim_graph_write(&document, g, 1);
  plim_test_canonical(parse, document.chars);
  plim_test_cuts(parse, document.chars);
  plim_test_allocations(parse, document.chars);
  static const plim_test_fault faults[] = {
      {"{\"get\": 0}", "{\"take\": 0}", "is no event"},
      {"{\"get\": 0}", "{\"get\": 9}", "event 1 uses tensor 9"},
      {"{\"get\": 0}", "{\"release\": 0}", "on which there is no handle"},
      {"{\"get\": 0}", "{\"constant\": 0}", "event 1 defines tensor 0"},
      {"\"kept\": [4", "\"kept\": [1", "json: handles: kept[0] is tensor 1, on which there is no handle"},
      {"{\"base\": 1, \"storage\": 1, \"bytes\": 1000}", "{\"base\": 1, \"storage\": 1, \"bytes\": 999}",
       "tensor 2 has 1000 bytes, its base 1 has 999"},
      {"{\"call\": 0, \"time_ns\": 70", "{\"call\": 0, \"time_ns\": 71", "calls op 0 in 71 ns"},
      {"{\"call\": null", "{\"call\": 1", "all its results are views"},
      {"{\"base\": 1, \"storage\": 1, \"bytes\": 1000},\n      {\"base\": 1,",
       "{\"base\": 1, \"storage\": 1, \"bytes\": 1000},\n      {\"base\": 3,", "base"},
  };
  plim_test_faults(parse, document.chars, faults, sizeof faults / sizeof *faults);
  plim_graph_free(g);
  plim_text_free(&log);
  plim_text_free(&document);
}

typedef struct fault {
  const char *lines, *sentence;
} fault;

static const fault log_faults[] = {
    {"", "none of the 0 lines is the annotation START"},
    {"{\"INSTRUCTION\":\"RELEASE\",\"NAME\":\"x\"}\n", "none of the 1 lines"},
    {START "{\"INSTRUCTION\":\"RELEASE\"", "line 2: does not end"},
    {START "{\"INSTRUCTION\":\"RELEASE\"\n", "line 2"},
    {START "\n", "line 2"},
    {START "(r,) = op(a, )\n", "line 2: is of the form"},
    {START "{\"INSTRUCTION\":\"JUMP\"}\n", "line 2: INSTRUCTION: 'JUMP' is not a name"},
    {START "{\"INSTRUCTION\":\"RELEASE\"}\n", "line 2: NAME: is missing"},
    {START "{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n", "the MEMORY of 'x' should be here"},
    {START
     "{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"y\",\"MEMORY\":\"4\"}\n",
     "line 3: the MEMORY of 'x' should be here"},
    {START "{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"x\",\"MEMORY\":4}\n",
     "line 3: MEMORY: is an integer, not a text"},
    {START
     "{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"x\",\"MEMORY\":\"4k\"}\n",
     "line 3: MEMORY: '4k' is no decimal number"},
    {START
     "{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"x\",\"MEMORY\":\"-4\"}\n",
     "line 3: MEMORY: -4 is less than 0"},
    {START "{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n"
           "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"x\",\"MEMORY\":\"9223372036854775808\"}\n",
     "line 3: MEMORY: '9223372036854775808' does not fit in 63 bits"},
    {START "{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x\"}\n"
           "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"x\",\"MEMORY\":\"9223372036854775800\"}\n",
     "line 3"},
    {START "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"x\",\"MEMORY\":\"4\"}\n", "line 2: a MEMORY or ALIAS line belongs"},
    {START "{\"INSTRUCTION\":\"COPY\",\"SRC\":\"x\",\"DST\":\"y\"}\n", "line 2: 'x' is used before it is defined"},
    {START "{\"INSTRUCTION\":\"PIN\",\"NAME\":\"x\"}\n", "line 2: 'x' is used before it is defined"},
    {START START, "line 2: annotation 'START'"},
    {START "{\"INSTRUCTION\":\"CALL\",\"NAME\":\"f\",\"ARGS\":[\"x\"],\"RESULT\":[\"y\"],\"TIME\":\"1\"}\n",
     "line 2: 'x' is used before it is defined"},
    {START "{\"INSTRUCTION\":\"CALL\",\"NAME\":\"f\",\"ARGS\":[],\"RESULT\":[],\"TIME\":\"1\"}\n", "'f' has no result"},
    {START "{\"INSTRUCTION\":\"CALL\",\"NAME\":\"f\",\"ARGS\":[],\"RESULT\":[\"y\"],\"TIME\":\"1\"}\n",
     "the MEMORY of 'y' should be here"},
    {START "{\"INSTRUCTION\":\"MUTATE\",\"NAME\":\"f\",\"ARGS\":[],\"MUTATE\":[0],\"TIME\":\"1\"}\n", "line 2: MUTATE"},
    {START, "f.log: none of the 1 lines is a CALL or MUTATE whose result is no view"},
};

Test(import_dtr, every_fault_is_refused_with_its_line) {
  for (size_t i = 0; i < sizeof log_faults / sizeof *log_faults; i++) {
    plim_graph *graph = NULL;
    const char *text = log_faults[i].lines;
    cr_expect_eq(plim_import_dtr(ctx, "f.log", text, (int64_t)strlen(text), &graph), PLIM_EDATA, "fault %zu", i);
    cr_expect_not_null(strstr(plim_context_error(ctx), log_faults[i].sentence), "fault %zu: %s", i,
                       plim_context_error(ctx));
    cr_expect_null(graph);
  }
}

/* Lines that are wrong only after others. */
static void expect_fault(void (*write)(plim_text *log), const char *sentence) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  plim_graph *graph = NULL;
  plim_text_add(&log, START);
  dtr_constant(&log, "x", 8);
  write(&log);
  cr_expect_eq(plim_import_dtr(ctx, "f.log", log.chars, log.length, &graph), PLIM_EDATA);
  cr_expect_not_null(strstr(plim_context_error(ctx), sentence), "%s", plim_context_error(ctx));
  plim_text_free(&log);
}

static void name_again(plim_text *log) {
  dtr_call(log, "f", "x", "x", 8, -1, 1);
}
static void released_twice(plim_text *log) {
  dtr_release(log, "x");
  dtr_release(log, "x");
}
static void view_of_nothing(plim_text *log) {
  dtr_call(log, "f", "x", "y", 8, 1, 1);
}
static void mutated_twice(plim_text *log) {
  plim_text_add(log, "{\"ARGS\":[\"x\"],\"INSTRUCTION\":\"MUTATE\",\"MUTATE\":[0,0],\"NAME\":\"f\",\"TIME\":\"1\"}\n");
}
static void times_overflow(plim_text *log) {
  dtr_call(log, "f", "x", "y", 8, -1, INT64_C(9000000000000000000));
  dtr_call(log, "f", "x", "z", 8, -1, INT64_C(9000000000000000000));
}
static void bytes_overflow(plim_text *log) {
  dtr_call(log, "f", "x", "y", INT64_C(1500000000000000000), -1, 1);
  dtr_call(log, "f", "x", "z", INT64_C(1500000000000000000), -1, 1);
}
static void grown_bytes_overflow(plim_text *log) {
  dtr_call(log, "f", "x", "a b c d e f g h i j k l m n o p q r", INT64_C(150000000000000000), -1, 1);
}

Test(import_dtr, faults_after_other_lines_are_refused_too) {
  expect_fault(name_again, "'x' is defined a second time");
  expect_fault(released_twice, "'x' is used after its release");
  expect_fault(view_of_nothing, "'y' is a view of an argument that the call has not");
  expect_fault(mutated_twice, "'x' is mutated twice");
  expect_fault(times_overflow, "line 7: the sum of all TIME does not fit");
  expect_fault(bytes_overflow, "f.log: line 9: the sizes add up to more than 2^61 bytes");
  expect_fault(grown_bytes_overflow, "the sizes add up to more than 2^61 bytes");
}

Test(import_dtr, log_cut_at_any_byte_is_refused_or_whole_lines) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  const char *text = small_log(&log);
  for (int64_t n = 0; n < log.length; n++) {
    plim_graph *graph = NULL;
    plim_status status = plim_import_dtr(ctx, "cut.log", text, n, &graph);
    if (n > 0 && text[n - 1] != '\n') cr_expect_eq(status, PLIM_EDATA, "cut at byte %lld", (long long)n);
    plim_graph_free(graph);
  }
  plim_text_free(&log);
}

static plim_status import_small(plim_context *c, void *user) {
  const plim_text *log = user;
  plim_graph *graph = NULL;
  PLIM_TRY(plim_import_dtr(c, "test.log", log->chars, log->length, &graph));
  plim_graph_free(graph);
  return PLIM_OK;
}

Test(import_dtr, refused_allocation_leaves_nothing_after) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  (void)small_log(&log);
  cr_expect_gt(plim_test_each_allocation(import_small, &log), 10);
  plim_text_free(&log);
}

Test(import_dtr, pin_and_copy_from_move_handles) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  plim_text_add(&log, START);
  dtr_constant(&log, "x", 8);
  dtr_call(&log, "f", "x", "a", 100, -1, 1);
  dtr_call(&log, "f", "x", "b", 200, -1, 1);
  plim_text_add(&log, "{\"INSTRUCTION\":\"PIN\",\"NAME\":\"a\"}\n");
  dtr_release(&log, "a");
  plim_text_add(&log, "{\"DST\":\"b\",\"INSTRUCTION\":\"COPY_FROM\",\"SRC\":\"a\"}\n");
  plim_graph *g = dtr_graph(ctx, log.chars);
  cr_assert_eq(g->handles->n_kept, 3);
  cr_expect_eq(g->handles->kept[1], 1, "a is pinned: never released");
  cr_expect_eq(g->handles->kept[2], 1, "b is a handle on a now");
  cr_expect_eq(g->storage[2].role, PLIM_ROLE_ACTIVATION, "no one holds what b was");
  plim_graph_free(g);
  plim_text_free(&log);
}

/* ---- the published logs ---- */

typedef struct facts {
  const char *name;
  int32_t ops, kept;
  int64_t total_ns, ops_ns, peak, arena_peak;
} facts;

static const facts published[] = {
    {"resnet32", 270, 283, 291905487, 291877233, 10061179152, 10061297152},
    {"unet", 201, 202, 435278292, 435216558, 8415764640, 8415803904},
    {"densenet121", 1461, 1091, 355299140, 354756662, 11020749360, 11021005312},
};

static void check_published(const facts *f) {
  plim_graph *g = dtr_published(ctx, f->name);
  int64_t ops_ns = 0, peak = 0, arena_peak = 0;
  for (int32_t i = 0; i < g->n_ops; i++) ops_ns += g->op[i].time_ns;
  cr_assert_eq(plim_handles_peak(g->handles, 0, &peak), PLIM_OK);
  cr_assert_eq(plim_handles_peak(g->handles, 1, &arena_peak), PLIM_OK);
  cr_expect_eq(g->n_ops, f->ops);
  cr_expect_eq(g->handles->n_kept, f->kept);
  cr_expect_eq(plim_handles_total_ns(g->handles), f->total_ns);
  cr_expect_eq(ops_ns, f->ops_ns);
  cr_expect_eq(peak, f->peak);
  cr_expect_eq(arena_peak, f->arena_peak);
  plim_graph_free(g);
}

Test(import_dtr, resnet32_has_the_published_facts) {
  check_published(&published[0]);
}
Test(import_dtr, unet_has_the_published_facts) {
  check_published(&published[1]);
}
Test(import_dtr, densenet121_has_the_published_facts) {
  check_published(&published[2]);
}
