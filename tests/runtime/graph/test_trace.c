/* The trace document: what the writer writes is what the run measured, and the reader takes nothing else. */
#include "runtime/graph/trace.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/graph/trace_text.h"
#include "tests/support/documents.h"
#include "tests/support/failing_memory.h"
#include "tests/support/folder.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

static plim_status parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_trace *trace = NULL;
  plim_status status = plim_trace_parse(ctx, "doc.json", text, bytes, &trace);
  if (again && trace) {
    plim_trace_write_head(again, trace);
    for (int64_t i = 0; i < trace->n_rows; i++) plim_trace_write_row(again, trace, &trace->row[i]);
    plim_trace_write_end(again, trace->n_rows / trace->n_commands);
  }
  plim_trace_free(trace);
  return status;
}

Test(trace, golden_document_is_written_again_byte_for_byte) {
  plim_test_canonical(parse, plim_test_golden("trace.jsonl"));
}

Test(trace, file_cut_at_any_byte_is_refused) {
  plim_test_cuts(parse, plim_test_golden("trace.jsonl"));
}

Test(trace, refused_allocation_leaves_nothing_after) {
  plim_test_allocations(parse, plim_test_golden("trace.jsonl"));
}

Test(trace, changed_byte_never_does_harm) {
  plim_test_bytes(parse, plim_test_golden("trace.jsonl"));
}

/* A piece of the document cut out, put elsewhere, overwritten by another one, or a digit or mark changed. */
static int64_t mutate(uint64_t *random, char *text, int64_t length, int64_t room) {
  static const char marks[] = "0123456789-.eE{}[],:\"\n \\utfnx";
  int64_t from = test_random_between(random, 0, length - 1);
  int64_t n = test_random_between(random, 1, length - from < 80 ? length - from : 80);
  int64_t to = test_random_between(random, 0, length - n);
  switch (test_random_between(random, 0, 3)) {
    case 0:
      memmove(text + from, text + from + n, (size_t)(length - from - n));
      return length - n;
    case 1:
      if (length + n > room) return length;
      memmove(text + from + n, text + from, (size_t)(length - from)); /* the piece stands there twice */
      return length + n;
    case 2:
      memmove(text + to, text + from, (size_t)n);
      return length;
    default:
      text[from] = marks[test_random_between(random, 0, (int64_t)sizeof marks - 2)];
      return length;
  }
}

Test(trace, mutated_documents_are_read_or_refused_with_their_line) {
  const char *golden = plim_test_golden("trace.jsonl");
  enum { ROOM = 1 << 14, CASES = 4000 };
  static char text[ROOM];
  int refused = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    plim_context *ctx = plim_test_context();
    uint64_t random = seed;
    int64_t length = (int64_t)strlen(golden);
    cr_assert_lt(length, ROOM);
    memcpy(text, golden, (size_t)length);
    for (int64_t i = test_random_between(&random, 1, 6); i > 0 && length > 1; i--) {
      length = mutate(&random, text, length, ROOM - 1);
    }
    text[length] = 0;
    plim_status status = parse(ctx, text, length, NULL);
    cr_assert(status == PLIM_OK || status == PLIM_EDATA, "seed %d: %s", (int)seed, plim_context_error(ctx));
    const char *sentence = plim_context_error(ctx);
    cr_assert(status == PLIM_OK || strstr(sentence, "line "), "seed %d: %s", (int)seed, sentence);
    refused += status != PLIM_OK;
    cr_assert_eq(plim_context_memory(ctx).bytes, 0, "seed %d", (int)seed);
    plim_context_free(ctx);
  }
  cr_assert_gt(refused, CASES / 2);
}

Test(trace, every_wrong_field_is_named_with_line_and_path) {
  static const plim_test_fault faults[] = {
      {"\"plimsoll\": ", "\"plim\": ", "line 1: is no document of this program"},
      {"\"trace\"", "\"plan\"", "line 1: the document is a 'plan', not a 'trace'"},
      {"\"plan\": \"", "\"plan\": \"A", "line 1: plan: is not 64"},
      {"\"steps\": 3", "\"steps\": 2", "line 4: step: is 2; command 0 of the 2 comes here"},
      {"\"steps\": 3", "\"steps\": 0", "line 1: steps: 0 is not in [1,"},
      {"\"step\": 1", "\"step\": 2", "line 3: step: is 2; command 1 of the 3 comes here"},
      {"\"training_step\": 5", "\"training_step\": 4", "line 5: training_step: is 4 after step 4"},
      {"\"training_step\": 4, \"step\": 1", "\"training_step\": 3, \"step\": 1", "line 3: training_step: is 3 after"},
      {"\"op\": 0", "\"op\": -1", "line 2: op: -1 is not in"},
      {"\"time_ns\": 110", "\"time_ns\": 1.5", "line 2: time_ns: is a number, not an integer"},
      {"\"start_ns\": 0", "\"start_ns\": 5", "line 2: start_ns: is 5; the times before it add up to 0"},
      {"\"start_ns\": 180", "\"start_ns\": 181", "line 4: start_ns: is 181; the times before it add up to 180"},
      {"\"time_ns\": 9,", "\"time_ns\": 9223372036854775700,", "line 4: time_ns: and the times before it add up to"},
      {"\"out\": [8192]", "\"out\": [\"x\"]", "line 2: out[0]: is a text, not an integer"},
      {"\"out\": [8192]", "\"out\": [8192], \"x\": 1", "line 2: unknown field 'x'"},
      {"}\n", "\n", "line 1: "},
      {"\"training_steps\": 2", "\"training_steps\": 3", "line 8: training_steps: is 3, but there are 6 rows of 3"},
      {"\"end\": true", "\"end\": false", "line 8: end: is false"},
      {"\"training_steps\": 2}\n", "\"training_steps\": 2}\n\n", "line 9: stands after the end"},
  };
  plim_test_faults(parse, plim_test_golden("trace.jsonl"), faults, (int)(sizeof faults / sizeof *faults));
}

static plim_trace queues_head(void) {
  plim_trace head = {.name = "g", .planner = "p", .n_commands = 1, .has_queues = 1, .numerics.machine.threads = 1};
  memset(head.fingerprint, '0', sizeof head.fingerprint - 1);
  memset(head.plan, '0', sizeof head.plan - 1);
  memset(head.numerics.hash, '0', sizeof head.numerics.hash - 1);
  return head;
}

Test(trace, waits_that_add_up_to_more_than_63_bits_are_refused) {
  plim_context *ctx = plim_test_context();
  plim_text text = {.ctx = ctx};
  const plim_trace head = queues_head();
  for (int more = 0; more < 2; more++) {
    plim_trace_row row = {.name = "", .variant = "", .op = PLIM_NONE, .waited_ns = INT64_MAX - 3};
    plim_trace_write_head(&text, &head);
    plim_trace_write_row(&text, &head, &row);
    row.training_step = 1;
    row.waited_ns = 3 + more;
    plim_trace_write_row(&text, &head, &row);
    plim_trace_write_end(&text, 2);
    cr_assert_eq(text.status, PLIM_OK);
    cr_assert_eq(parse(ctx, text.chars, text.length, NULL), more ? PLIM_EDATA : PLIM_OK, "%s", plim_context_error(ctx));
    plim_text_free(&text);
  }
  cr_assert_not_null(strstr(plim_context_error(ctx), "line 3: waited_ns: "), "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
}

Test(trace, a_command_that_ends_after_63_bits_is_refused) {
  plim_context *ctx = plim_test_context();
  plim_text text = {.ctx = ctx};
  const plim_trace head = queues_head();
  plim_trace_row row = {.name = "", .variant = "", .op = PLIM_NONE, .start_ns = INT64_MAX - 3, .time_ns = 3};
  for (; row.time_ns <= 4; row.time_ns++) {
    plim_trace_write_head(&text, &head);
    plim_trace_write_row(&text, &head, &row);
    plim_trace_write_end(&text, 1);
    cr_assert_eq(text.status, PLIM_OK);
    const plim_status wanted = row.time_ns <= 3 ? PLIM_OK : PLIM_EDATA;
    cr_assert_eq(parse(ctx, text.chars, text.length, NULL), wanted, "%s", plim_context_error(ctx));
    plim_text_free(&text);
  }
  cr_assert_not_null(strstr(plim_context_error(ctx), "line 2: time_ns: "), "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
}

Test(trace, has_planned_and_measured_times_bytes_and_addresses_of_every_step) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  plim_plan *plan = plim_test_small_plan(g);
  plim_trace_writer *w = NULL;
  plim_trace *t = NULL;
  char fingerprint[PLIM_FINGERPRINT_BYTES];
  (void)plim_test_folder();
  cr_assert_eq(plim_trace_begin(g, plan, plim_test_path("t.jsonl"), &w), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_trace_add(w, 10, (int64_t[]){701, 31, 91, 21, 31, 801, 201}), PLIM_OK);
  cr_assert_eq(plim_trace_add(w, 12, (int64_t[]){702, 32, 92, 22, 32, 802, 202}), PLIM_OK);
  cr_assert_eq(plim_trace_end(w), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_trace_load(ctx, plim_test_path("t.jsonl"), &t), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_plan_fingerprint(plan, fingerprint), PLIM_OK);
  cr_assert_str_eq(t->plan, fingerprint);
  cr_assert_str_eq(t->fingerprint, g->fingerprint);
  cr_assert_str_eq(t->name, "small");
  cr_assert_eq(t->peak_bytes, plan->peak_bytes);
  cr_assert_eq(t->n_rows, 2 * SMALL_OPS);
  const plim_trace_row *relu = &t->row[SMALL_OPS + SMALL_RELU];
  cr_assert_eq(relu->training_step, 12);
  cr_assert_str_eq(relu->name, "relu");
  cr_assert_str_eq(relu->variant, "given");
  cr_assert_eq(relu->start_ns, 702);
  cr_assert_eq(relu->time_ns, 32);
  cr_assert_eq(relu->planned_ns, 30);
  cr_assert_eq(relu->n_out, 2);
  int64_t most = 0;
  for (int i = 0; i < SMALL_OPS; i++) most = t->row[i].live_bytes > most ? t->row[i].live_bytes : most;
  cr_assert_eq(most, plan->peak_bytes);
  for (int i = 0; i < plan->n_buffers; i++) {
    if (plan->buffer[i].storage == SMALL_MASK) cr_assert_eq(relu->out[1], plan->buffer[i].offset);
  }
  cr_assert_eq(t->row[SMALL_SGD].n_out, 0);
  plim_trace_free(t);
  plim_plan_free(plan);
  plim_graph_free(g);
  plim_test_folder_remove();
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  plim_context_free(ctx);
}

Test(trace, writer_allocates_nothing_while_the_run_goes_on) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  plim_plan *plan = plim_test_small_plan(g);
  plim_trace_writer *w = NULL;
  int64_t time[SMALL_OPS];
  (void)plim_test_folder();
  cr_assert_eq(plim_trace_begin(g, plan, plim_test_path("t.jsonl"), &w), PLIM_OK);
  int64_t before = plim_context_memory(ctx).allocations;
  for (int i = 0; i < SMALL_OPS; i++) time[i] = INT64_MAX / SMALL_OPS;
  for (int step = 0; step < 100; step++) {
    cr_assert_eq(plim_trace_add(w, step == 99 ? INT64_MAX : step, time), PLIM_OK);
  }
  cr_assert_eq(plim_context_memory(ctx).allocations, before);
  cr_assert_eq(plim_trace_end(w), PLIM_OK);
  plim_plan_free(plan);
  plim_graph_free(g);
  plim_test_folder_remove();
  plim_context_free(ctx);
}

Test(trace, abandoned_or_failed_leaves_no_file) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  plim_plan *plan = plim_test_small_plan(g);
  plim_trace_writer *w = NULL;
  int64_t time[SMALL_OPS] = {0};
  (void)plim_test_folder();
  cr_assert_eq(plim_trace_begin(g, plan, plim_test_path("t.jsonl"), &w), PLIM_OK);
  plim_trace_abandon(w);
  cr_assert_eq(plim_test_folder_count(), 0);
  cr_assert_eq(plim_trace_begin(g, plan, plim_test_path("t.jsonl"), &w), PLIM_OK);
  cr_assert_eq(plim_trace_add(w, 3, time), PLIM_OK);
  cr_assert_eq(plim_trace_add(w, 3, time), PLIM_EUSAGE);
  cr_assert_eq(plim_trace_end(w), PLIM_EUSAGE);
  cr_assert_eq(plim_test_folder_count(), 0);
  plim_plan other = *plan;
  other.fingerprint[0] ^= 1;
  w = NULL;
  cr_assert_eq(plim_trace_begin(g, &other, plim_test_path("t.jsonl"), &w), PLIM_EDATA);
  cr_assert_null(w);
  plim_trace_abandon(NULL);
  plim_plan_free(plan);
  plim_graph_free(g);
  plim_test_folder_remove();
  plim_context_free(ctx);
}

static plim_status write_one(plim_context *ctx, void *user) {
  plim_graph *g = NULL;
  plim_plan *plan = NULL;
  plim_trace_writer *w = NULL;
  int64_t time[SMALL_OPS] = {0};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_graph_load(ctx, plim_test_path("g.json"), &g));
  PLIM_TRY_OR_DONE(plim_plan_load(ctx, plim_test_path("p.json"), &plan));
  PLIM_TRY_OR_DONE(plim_trace_begin(g, plan, user, &w));
  (void)plim_trace_add(w, 0, time);
  status = plim_trace_end(w);
done:
  plim_plan_free(plan);
  plim_graph_free(g);
  return status;
}

Test(trace, writing_survives_every_refused_allocation) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  plim_plan *plan = plim_test_small_plan(g);
  (void)plim_test_folder();
  cr_assert_eq(plim_graph_save(g, plim_test_path("g.json")), PLIM_OK);
  cr_assert_eq(plim_plan_save(plan, plim_test_path("p.json")), PLIM_OK);
  char path[512];
  strcpy(path, plim_test_path("t.jsonl"));
  cr_assert_gt(plim_test_each_allocation(write_one, path), 20);
  cr_assert_eq(plim_test_folder_count(), 3);
  plim_plan_free(plan);
  plim_graph_free(g);
  plim_test_folder_remove();
  plim_context_free(ctx);
}
