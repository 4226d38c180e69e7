/* Plans from parts: order, figures and hash; what is refused because it could not even be read. */
#include "runtime/graph/plan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/sha256.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

/* A plan of three steps by hand: op 0, op 1, op 0 again. */
typedef struct parts {
  plim_command command[3];
  plim_plan_buffer buffer[4];
  plim_plan_variant variant[4];
  plim_plan draft;
} parts;

static void fill(parts *p) {
  static const plim_plan_variant variants[] = {{1, {"zeta", "z", 30, 0}},
                                               {0, {"slow", "a", 20, 100}},
                                               {1, {"alpha", "b", 31, 0}}, /* no step uses it */
                                               {0, {"fast", "a", 10, 0}}};
  static const plim_plan_buffer buffers[] = {{6, 1, 3, 0, 1024, 512},  /* begins where ... */
                                             {-1, 0, 1, 0, 2048, 512}, /* the workspace of command 0 */
                                             {7, 0, 1, 0, 1024, 512},  /* ... this one ends, in place */
                                             {3, 0, 3, 0, 0, 1024}};
  memset(p, 0, sizeof *p);
  memcpy(p->variant, variants, sizeof variants);
  memcpy(p->buffer, buffers, sizeof buffers);
  p->command[0].op = 0;
  p->command[0].variant = 1;
  p->command[1].op = 1;
  p->command[1].variant = 0;
  p->command[2].op = 0;
  p->command[2].variant = 3;
  p->draft = (plim_plan){.planner = "by hand",
                         .packed = 1,
                         .n_commands = 3,
                         .n_buffers = 4,
                         .n_variants = 4,
                         .command = p->command,
                         .buffer = p->buffer,
                         .variant = p->variant,
                         .budget_bytes = INT64_MAX,
                         .keep_all_ns = 40,
                         .bound_ns = 50};
  p->draft.numerics.machine = (plim_machine){"sim", "a cpu", "an isa", "a library", "a build", 3};
}

static plim_context *ctx;
static plim_graph *graph;

static void open_all(void) {
  ctx = plim_test_context();
  graph = plim_test_small_graph(ctx);
}

static void close_all(void) {
  plim_graph_free(graph);
  plim_context_free(ctx);
}

TestSuite(plan, .init = open_all, .fini = close_all);

Test(plan, sorts_buffers_and_variants_and_renumbers_the_steps) {
  parts p;
  plim_plan *plan = NULL;
  fill(&p);
  cr_assert_eq(plim_plan_from_parts(graph, &p.draft, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plan->n_variants, 3);
  cr_assert_str_eq(plan->variant[0].variant.name, "fast");
  cr_assert_str_eq(plan->variant[1].variant.name, "slow");
  cr_assert_str_eq(plan->variant[2].variant.name, "zeta");
  cr_assert_eq(plan->command[0].variant, 1);
  cr_assert_eq(plan->command[1].variant, 2);
  cr_assert_eq(plan->command[2].variant, 0);
  static const int32_t order[] = {3, 7, -1, 6};
  for (int i = 0; i < 4; i++) cr_assert_eq(plan->buffer[i].storage, order[i], "buffer %d", i);
  cr_assert_str_eq(plan->fingerprint, graph->fingerprint);
  plim_plan_free(plan);
}

Test(plan, counts_peak_height_and_time) {
  parts p;
  plim_plan *plan = NULL;
  fill(&p);
  cr_assert_eq(plim_plan_from_parts(graph, &p.draft, &plan), PLIM_OK);
  cr_assert_eq(plan->peak_bytes, 1024 + 512 + 512); /* step 0; the two in-place buffers never count together */
  cr_assert_eq(plan->arena_bytes, 2560);
  cr_assert_eq(plan->time_ns, 20 + 30 + 10);
  cr_assert_float_eq(plim_plan_overhead_percent(plan), 50, 1e-12);
  cr_assert_float_eq(plim_plan_bound_percent(plan), 25, 1e-12);
  plim_plan_free(plan);
}

Test(plan, keep_all_takes_no_longer_than_the_fastest_variants_of_the_steps) {
  for (int64_t bound = 50; bound <= 55; bound += 5) { /* 50: it is keep-all's time and goes down with it */
    parts p;
    plim_plan *plan = NULL;
    fill(&p);
    p.draft.keep_all_ns = 50;
    p.draft.bound_ns = bound;
    cr_assert_eq(plim_plan_from_parts(graph, &p.draft, &plan), PLIM_OK);
    cr_expect_eq(plan->keep_all_ns, 10 + 30);
    cr_expect_eq(plan->bound_ns, bound == 50 ? 10 + 30 : bound);
    plim_plan_free(plan);
  }
}

Test(plan, without_addresses_has_a_peak_and_no_height) {
  parts p;
  plim_plan *plan = NULL;
  fill(&p);
  p.draft.packed = 0;
  for (int i = 0; i < 4; i++)
    p.buffer[i] = (plim_plan_buffer){p.buffer[i].storage, p.buffer[i].begin, p.buffer[i].end, 0, -1, 100 + i};
  cr_assert_eq(plim_plan_from_parts(graph, &p.draft, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plan->peak_bytes, 101 + 102 + 103);
  cr_assert_eq(plan->arena_bytes, -1);
  plim_plan_free(plan);
}

Test(plan, peak_is_that_of_a_count_step_by_step) {
  enum { STEPS = 12, BUFFERS = 20, ROUNDS = 200 };
  for (uint64_t seed = test_seed(1), stop = seed + ROUNDS; test_seed_at(seed) < stop; seed++) {
    uint64_t state = seed;
    plim_command command[STEPS];
    plim_plan_buffer buffer[BUFFERS];
    plim_plan_variant variant = {0, {"v", "v", 1, 0}};
    memset(command, 0, sizeof command);
    int64_t live[STEPS] = {0}, peak = 0;
    for (int i = 0; i < BUFFERS; i++) {
      int32_t begin = (int32_t)test_random_between(&state, 0, STEPS - 1);
      int32_t end = (int32_t)test_random_between(&state, begin + 1, STEPS);
      buffer[i] = (plim_plan_buffer){i, begin, end, 0, 0, test_random_between(&state, 1, 1000)};
      for (int32_t j = begin; j < end; j++) live[j] += buffer[i].bytes;
    }
    for (int j = 0; j < STEPS; j++) peak = live[j] > peak ? live[j] : peak;
    plim_plan draft = {
        .packed = 1, .n_commands = STEPS, .n_buffers = BUFFERS, .n_variants = 1, .command = command, .buffer = buffer};
    draft.variant = &variant;
    plim_plan *plan = NULL;
    cr_assert_eq(plim_plan_from_parts(graph, &draft, &plan), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plan->peak_bytes, peak, "seed %llu", (unsigned long long)seed);
    plim_plan_free(plan);
  }
}

Test(plan, arithmetic_hash_is_that_of_the_documented_text) {
  parts p;
  plim_plan *plan = NULL;
  char text[512], hex[PLIM_SHA256_HEX_BYTES];
  fill(&p);
  cr_assert_eq(plim_plan_from_parts(graph, &p.draft, &plan), PLIM_OK);
  (void)snprintf(
      text, sizeof text,
      "plimsoll arithmetic 1\ngraph %s\ndevice sim\ncpu a cpu\nisa an isa\nlibrary a library\nbuild a build\n"
      "threads 3\n0 a\n1 z\n",
      graph->fingerprint);
  plim_sha256_hex(text, strlen(text), hex);
  cr_assert_str_eq(plan->numerics.hash, hex);
  plim_plan_free(plan);
}

Test(plan, arithmetic_hash_takes_the_key_of_the_first_run) {
  parts p;
  plim_plan *plan = NULL, *other = NULL;
  fill(&p);
  cr_assert_eq(plim_plan_from_parts(graph, &p.draft, &plan), PLIM_OK);
  strcpy(p.variant[3].variant.numerics_key, "later"); /* of the repeat */
  cr_assert_eq(plim_plan_from_parts(graph, &p.draft, &other), PLIM_OK);
  cr_assert_str_eq(plan->numerics.hash, other->numerics.hash);
  plim_plan_free(other);
  strcpy(p.variant[1].variant.numerics_key, "first");
  cr_assert_eq(plim_plan_from_parts(graph, &p.draft, &other), PLIM_OK);
  cr_assert_str_neq(plan->numerics.hash, other->numerics.hash);
  plim_plan_free(other);
  plim_plan_free(plan);
}

/* One change each, by number. */
static const char *damage(parts *p, int which) {
  switch (which) {
    case 0:
      p->command[1].variant = 4;
      return "command 1: variant 4 is none of op 1";
    case 1:
      p->command[1].op = 0;
      return "command 1: variant 0 is none of op 0";
    case 2:
      p->command[2].n_pairs = 9;
      return "command 2: 9 pairs, at most 8";
    case 3:
      p->command[2].n_pairs = 1;
      p->command[2].pair[0].in = -1;
      return "command 2: pair [0, -1]";
    case 4:
      p->command[0].kind = (plim_command_kind)7;
      return "command 0: kind 7 is none";
    case 5:
      p->buffer[2].end = 0;
      return "buffer 2: [0, 0) is not a part of [0, 3)";
    case 6:
      p->buffer[0].end = 4;
      return "buffer 0: [1, 4) is not a part of [0, 3)";
    case 7:
      p->buffer[3].bytes = 0;
      return "buffer 3: 0 bytes";
    case 8:
      p->buffer[3].offset = -1;
      return "buffer 3: offset -1 in a plan with addresses";
    case 9:
      p->buffer[1].storage = -2;
      return "buffer 1: storage -2";
    case 10:
      p->variant[0].variant.time_ns = -1;
      return "time_ns -1 is negative";
    case 11:
      p->variant[3].variant = p->variant[1].variant;
      return "two variants 'slow' of op 0";
    case 12:
      p->draft.bound_ns = -1;
      return "bound_ns -1";
    case 13:
      p->command[1].queue = -1;
      return "command 1: queue -1";
    case 14:
      memset(p->draft.planner, 'x', sizeof p->draft.planner);
      return "planner is longer than 31";
    default:
      return NULL;
  }
}

Test(plan, part_that_could_not_be_read_back_is_refused) {
  const char *sentence = NULL;
  int64_t held = plim_context_memory(ctx).bytes;
  int which = 0;
  for (;; which++) {
    parts p;
    plim_plan *plan = NULL;
    fill(&p);
    sentence = damage(&p, which);
    if (!sentence) break;
    cr_assert_eq(plim_plan_from_parts(graph, &p.draft, &plan), PLIM_EDATA, "%s was accepted", sentence);
    cr_assert_not_null(strstr(plim_context_error(ctx), sentence), "\"%s\" is not in \"%s\"", sentence,
                       plim_context_error(ctx));
    cr_assert_null(plan);
    cr_assert_eq(plim_context_memory(ctx).bytes, held);
  }
  cr_assert_eq(which, 15);
}

Test(plan, sums_that_overflow_are_refused) {
  parts p;
  plim_plan *plan = NULL;
  fill(&p);
  p.variant[1].variant.time_ns = INT64_MAX;
  cr_assert_eq(plim_plan_from_parts(graph, &p.draft, &plan), PLIM_EOVERFLOW);
  fill(&p);
  p.buffer[0].bytes = p.buffer[2].bytes = INT64_MAX - 2048;
  cr_assert_eq(plim_plan_from_parts(graph, &p.draft, &plan), PLIM_EOVERFLOW);
  cr_assert_null(plan);
}

Test(plan, classes_are_found_by_their_names) {
  for (int i = 0; i < PLIM_PLAN_CLASS_COUNT; i++) {
    cr_assert_eq(plim_plan_class_find(plim_plan_class_name((plim_plan_class)i)), i, "class %d", i);
  }
  cr_assert_eq(plim_plan_class_find("no class"), PLIM_NONE);
  cr_assert_null(plim_plan_class_name(PLIM_PLAN_CLASS_COUNT));
}

Test(plan, a_copy_delays_runs_by_the_larger_delay_of_its_two_spaces) {
  static const plim_plan_space page[] = {{.name = "host", .delay_permille = 3}, {.name = "disk", .delay_permille = 7}};
  static const struct {
    plim_command_kind kind;
    int32_t from, to, delay;
  } rows[] = {{PLIM_COMMAND_COPY, 0, 1, 3}, {PLIM_COMMAND_COPY, 2, 0, 7}, {PLIM_COMMAND_COPY, 2, 1, 7},
              {PLIM_COMMAND_COPY, 0, 0, 0}, {PLIM_COMMAND_RUN, 0, 2, 0},  {PLIM_COMMAND_COPY, -1, 3, 0}};
  const plim_plan plan = {.n_page_spaces = 2, .page = page};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const plim_command command = {.kind = rows[i].kind, .from = rows[i].from, .to = rows[i].to};
    cr_assert_eq(plim_command_delay(&plan, &command), rows[i].delay, "row %d", (int)i);
  }
}
