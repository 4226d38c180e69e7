/* The checker on a plan by hand that has everything: a repeat of a pure and of a random op, in-place pairs, a storage
 * that stays resident through a repeat, a workspace, an update. Each fault is that plan with one thing broken. */
#include "runtime/graph/check/check.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/failing_memory.h"
#include "tests/support/plan_draft.h"
#include "tests/support/small_graph.h"

enum { X, W, V, A, B, MASK, Y, DB, G, STORAGES };
enum { MAKE, DROP, LOSS, BACK, UPDATE, OPS };

/* make: x w -> a. drop: a -> b (over a), mask. loss: b -> y, db (over b). back: db mask w -> g. update: g; w v. */
static plim_status build_graph(plim_context *ctx, plim_graph **out) {
  static const plim_role role[STORAGES] = {PLIM_ROLE_INPUT,      PLIM_ROLE_PARAM,      PLIM_ROLE_STATE,
                                           PLIM_ROLE_ACTIVATION, PLIM_ROLE_ACTIVATION, PLIM_ROLE_ACTIVATION,
                                           PLIM_ROLE_OUTPUT,     PLIM_ROLE_GRADIENT,   PLIM_ROLE_GRADIENT};
  static const char *const name[STORAGES] = {"x", "w", "v", "a", "b", "mask", "y", "db", "g"};
  static const int64_t bytes[STORAGES] = {1000, 600, 600, 1000, 1000, 100, 40, 1000, 600};
  static const plim_op_spec op[OPS] = {
      {.name = "make", .n_in = 2, .in = {X, W}, .n_out = 1, .out = {A}},
      {.name = "drop", .cls = PLIM_OP_RANDOM, .n_in = 1, .in = {A}, .n_out = 2, .out = {B, MASK}, .n_pairs = 1},
      {.name = "loss", .n_in = 1, .in = {B}, .n_out = 2, .out = {Y, DB}, .n_pairs = 1, .pair = {{1, 0}}},
      {.name = "back", .n_in = 3, .in = {DB, MASK, W}, .n_out = 1, .out = {G}},
      {.name = "update", .cls = PLIM_OP_EFFECT, .n_in = 1, .in = {G}, .n_upd = 2, .upd = {W, V}},
  };
  plim_graph_builder *b = NULL;
  PLIM_TRY(plim_graph_begin(ctx, "by hand", 1, &b));
  plim_status status = PLIM_OK;
  int32_t id;
  for (int i = 0; i < STORAGES && status == PLIM_OK; i++) {
    plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes[i]);
    status = plim_graph_add(b, name[i], role[i], &shape, &id);
  }
  for (int i = 0; i < OPS && status == PLIM_OK; i++) status = plim_graph_add_op(b, &op[i], &id);
  if (status == PLIM_OK) return plim_graph_end(b, out);
  plim_graph_builder_free(b);
  return status;
}

/* Steps: make, drop, loss, make, drop, back, update. */
static plim_status build_plan(const plim_graph *graph, int packed, plim_plan **out) {
  static const plim_command command[] = {
      {.op = MAKE, .variant = 0},
      {.op = DROP, .variant = 1, .n_pairs = 1},
      {.op = LOSS, .variant = 3, .n_pairs = 1, .pair = {{1, 0}}},
      {.op = MAKE, .variant = 0},
      {.op = DROP, .variant = 2, .n_pairs = 1},
      {.op = BACK, .variant = 4},
      {.op = UPDATE, .variant = 5},
  };
  static const plim_plan_variant variant[] = {
      {MAKE, {"direct", "direct", 100, 0}}, {DROP, {"fast", "philox", 20, 0}}, {DROP, {"slow", "philox", 30, 0}},
      {LOSS, {"direct", "direct", 10, 0}},  {BACK, {"direct", "d", 200, 700}}, {UPDATE, {"direct", "direct", 5, 0}},
  };
  plim_plan_buffer buffer[] = {
      {W, 0, 7, 0, 0, 1024},    {V, 0, 7, 0, 1024, 1024},  {X, 0, 4, 0, 2048, 1024},   {A, 0, 1, 0, 3072, 1024},
      {B, 1, 2, 0, 3072, 1024}, {DB, 2, 6, 0, 3072, 1024}, {A, 3, 4, 0, 4096, 1024},   {B, 4, 5, 0, 4096, 1024},
      {Y, 2, 7, 0, 5632, 512},  {G, 5, 7, 0, 6144, 1024},  {MASK, 1, 6, 0, 5120, 512}, {-1, 5, 6, 0, 4096, 1024},
  };
  for (size_t i = 0; i < sizeof buffer / sizeof *buffer && !packed; i++) {
    buffer[i].offset = -1;
    buffer[i].bytes = buffer[i].storage < 0 ? 700 : graph->storage[buffer[i].storage].bytes;
  }
  plim_plan draft = {.numerics.machine = {.device = "sim", .threads = 1},
                     .planner = "hand",
                     .packed = packed,
                     .n_commands = sizeof command / sizeof *command,
                     .n_buffers = sizeof buffer / sizeof *buffer,
                     .n_variants = sizeof variant / sizeof *variant,
                     .command = command,
                     .buffer = buffer,
                     .variant = variant,
                     .budget_bytes = packed ? 7168 : 4340,
                     .keep_all_ns = 335,
                     .bound_ns = 400};
  return plim_plan_from_parts(graph, &draft, out);
}

Test(check, accepts_the_plan_by_hand_with_and_without_addresses) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  cr_assert_eq(build_graph(ctx, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  for (int packed = 0; packed < 2; packed++) {
    plim_plan *plan = NULL;
    cr_assert_eq(build_plan(graph, packed, &plan), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plim_plan_check(ctx, graph, plan), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plan->peak_bytes, packed ? 6144 : 4340); /* command 3: all but b and g */
    plim_plan_free(plan);
  }
  plim_graph_free(graph);
  plim_context_free(ctx);
}

/* ---- one fault each ---- */

static plim_plan_buffer *buffer_at(plan_draft *d, int32_t storage, int32_t begin) {
  for (int32_t i = 0; i < d->plan.n_buffers; i++) {
    if (d->buffer[i].storage == storage && d->buffer[i].begin == begin) return &d->buffer[i];
  }
  cr_assert_fail("no buffer of storage %d begins at %d", storage, begin);
  return NULL;
}

static void drop_buffer(plan_draft *d, int32_t storage, int32_t begin) {
  plim_plan_buffer *buffer = buffer_at(d, storage, begin);
  *buffer = d->buffer[--d->plan.n_buffers];
}

static void add_buffer(plan_draft *d, plim_plan_buffer buffer) {
  d->buffer[d->plan.n_buffers++] = buffer;
}

#define FAULT(name, ...)            \
  static void name(plan_draft *d) { \
    __VA_ARGS__;                    \
  }

FAULT(no_steps, d->plan.n_commands = 0)
FAULT(buffers_out_of_order, const plim_plan_buffer last = d->buffer[d->plan.n_buffers - 1];
      d->buffer[d->plan.n_buffers - 1] = d->buffer[0]; d->buffer[0] = last)
FAULT(negative_buffers, d->plan.n_buffers = -1)
FAULT(packed_two, d->plan.packed = 2)
FAULT(class_unknown, d->plan.plan_class = PLIM_PLAN_CLASS_COUNT)
FAULT(variant_op_out_of_range, d->variant[2].op = OPS)
FAULT(variant_without_name, d->variant[2].variant.name[0] = 0)
FAULT(variant_key_without_end, memset(d->variant[2].variant.numerics_key, 'x', PLIM_VARIANT_NAME_BYTES))
FAULT(variant_time_negative, d->variant[2].variant.time_ns = -1)
FAULT(variant_workspace_negative, d->variant[2].variant.workspace_bytes = INT64_MIN)
FAULT(copy_step, d->command[3].kind = PLIM_COMMAND_COPY)
FAULT(kind_unknown, d->command[3].kind = (plim_command_kind)9)
FAULT(second_queue, d->command[3].queue = 1)
FAULT(negative_queue, d->command[3].queue = -1)
FAULT(step_waits, d->command[3].n_wait = 1)
FAULT(op_out_of_range, d->command[3].op = OPS)
FAULT(op_negative, d->command[3].op = -1)
FAULT(variant_out_of_range, d->command[3].variant = 6)
FAULT(variant_of_another_op, d->command[3].variant = 1)
FAULT(too_many_pairs, d->command[1].n_pairs = 3)
FAULT(negative_pairs, d->command[1].n_pairs = -1)
FAULT(pair_not_allowed, d->command[1].pair[0].out = 1)
FAULT(pair_out_of_range, d->command[1].pair[0].in = 1 << 30)
FAULT(pair_twice, d->command[1].n_pairs = 2; d->command[1].pair[1] = d->command[1].pair[0])
FAULT(buffer_of_no_storage, buffer_at(d, G, 5)->storage = STORAGES)
FAULT(buffer_of_negative_storage, buffer_at(d, G, 5)->storage = -2)
FAULT(buffer_empty, buffer_at(d, A, 3)->end = 3)
FAULT(buffer_begins_before_the_plan, buffer_at(d, A, 3)->begin = -1)
FAULT(buffer_ends_after_the_plan, buffer_at(d, Y, 2)->end = 8)
FAULT(other_space, buffer_at(d, A, 3)->space = 1)
FAULT(bytes_not_rounded, buffer_at(d, A, 3)->bytes = 1000)
FAULT(bytes_too_few, buffer_at(d, A, 3)->bytes = 512)
FAULT(bytes_negative, buffer_at(d, A, 3)->bytes = -1024)
FAULT(workspace_too_small, buffer_at(d, -1, 5)->bytes = 512)
FAULT(workspace_too_long, buffer_at(d, -1, 5)->end = 7)
FAULT(workspace_missing, drop_buffer(d, -1, 5))
FAULT(workspace_twice, add_buffer(d, *buffer_at(d, -1, 5)))
FAULT(workspace_not_needed, buffer_at(d, -1, 5)->begin = 3; buffer_at(d, -1, 3)->end = 4)
FAULT(offset_negative, buffer_at(d, A, 3)->offset = -512)
FAULT(offset_not_aligned, buffer_at(d, A, 3)->offset = 4100)
FAULT(offset_overflows, buffer_at(d, A, 3)->offset = INT64_MAX - 511)
FAULT(offset_above_arena, buffer_at(d, A, 3)->offset = 6656)
FAULT(buffer_missing, drop_buffer(d, MASK, 1))
FAULT(input_missing, drop_buffer(d, X, 0))
FAULT(second_buffer_at_once, add_buffer(d, (plim_plan_buffer){MASK, 4, 6, 0, 2048, 512}))
FAULT(buffer_begins_where_no_one_writes, buffer_at(d, MASK, 1)->begin = 0)
FAULT(input_begins_late, buffer_at(d, X, 0)->begin = 1)
FAULT(input_begins_again, buffer_at(d, X, 0)->end = 1; add_buffer(d, (plim_plan_buffer){X, 3, 4, 0, 2048, 1024}))
FAULT(input_ends_early, buffer_at(d, X, 0)->end = 3)
FAULT(buffer_not_tight, buffer_at(d, X, 0)->end = 5)
FAULT(copy_not_tight, buffer_at(d, B, 1)->end = 3)
FAULT(mask_ends_before_its_reader, buffer_at(d, MASK, 1)->end = 5)
FAULT(output_ends_early, buffer_at(d, Y, 2)->end = 3)
FAULT(param_ends_early, buffer_at(d, V, 0)->end = 6)
FAULT(param_missing, drop_buffer(d, V, 0))
FAULT(overwritten_copy_read_again, drop_buffer(d, A, 3); d->command[3].op = LOSS; d->command[3].variant = 3)
FAULT(pair_without_end, buffer_at(d, A, 3)->end = 5)
FAULT(pair_on_resident_output, buffer_at(d, B, 1)->end = 5; drop_buffer(d, B, 4))
FAULT(pair_at_two_addresses, buffer_at(d, B, 4)->offset = 6144)
FAULT(pair_not_declared, d->command[4].n_pairs = 0)
FAULT(key_changes, strcpy(d->variant[2].variant.numerics_key, "mt19937"))
FAULT(reads_before_it_is_made, d->command[0] = d->command[1])
FAULT(overlap, buffer_at(d, G, 5)->offset = 4096)
FAULT(overlap_of_workspace, buffer_at(d, -1, 5)->offset = 3072)
FAULT(arena_above_budget, d->plan.budget_bytes = 7167)
FAULT(peak_is_a_lie, d->plan.peak_bytes -= 512)
FAULT(arena_is_a_lie, d->plan.arena_bytes += 512)
FAULT(time_is_a_lie, d->plan.time_ns--)
FAULT(bound_above_time, d->plan.bound_ns = d->plan.time_ns + 1)
FAULT(bound_below_keep_all, d->plan.bound_ns = d->plan.keep_all_ns - 1)
FAULT(keep_all_is_a_lie, d->plan.keep_all_ns = 336)
FAULT(overhead_and_proof_are_lies, d->plan.keep_all_ns = d->plan.bound_ns = d->plan.time_ns; d->plan.proved = 1)
FAULT(proof_is_a_lie, d->plan.proved = 1)
FAULT(machine_changes, d->plan.numerics.machine.threads = 2)
FAULT(hash_is_a_lie, d->plan.numerics.hash[5] ^= 1)
FAULT(key_of_the_op_changes, strcpy(d->variant[0].variant.numerics_key, "winograd"))
FAULT(variant_unused, d->command[4].variant = 1)
FAULT(other_graph, d->plan.fingerprint[0] ^= 1)

/* The plan gets another number of steps; what lives to its end still does. */
static void set_steps(plan_draft *d, int32_t n_steps) {
  for (int32_t i = 0; i < d->plan.n_buffers; i++) {
    if (d->buffer[i].end == d->plan.n_commands) d->buffer[i].end = n_steps;
  }
  d->plan.n_commands = n_steps;
}

static void effect_twice(plan_draft *d) {
  set_steps(d, 8);
  d->command[7] = d->command[6];
}

static void repeat_after_update(plan_draft *d) {
  set_steps(d, 8);
  d->command[7] = d->command[3];
  buffer_at(d, G, 5)->end = 7;
  buffer_at(d, X, 0)->end = 8;
  add_buffer(d, (plim_plan_buffer){A, 7, 8, 0, 4096, 1024});
}

static void no_update(plan_draft *d) {
  set_steps(d, 6);
}

static const struct {
  void (*apply)(plan_draft *d);
  plim_status status;
  const char *sentence; /* part of it */
} faults[] = {
    {no_steps, PLIM_EPLAN, "0 commands"},
    {negative_buffers, PLIM_EPLAN, "-1 buffers"},
    {packed_two, PLIM_EPLAN, "packed is 2"},
    {class_unknown, PLIM_EPLAN, "class"},
    {variant_op_out_of_range, PLIM_EPLAN, "variant 2 is of op 5; the graph has 5 ops"},
    {variant_without_name, PLIM_EPLAN, "variant 2 of op \"drop\""},
    {variant_key_without_end, PLIM_EPLAN, "variant 2 of op \"drop\""},
    {variant_time_negative, PLIM_EPLAN, "-1 ns"},
    {variant_workspace_negative, PLIM_EPLAN, "-9223372036854775808 bytes"},
    {copy_step, PLIM_EPLAN, "command 3 copies from space 0 to space 0 of 1"},
    {kind_unknown, PLIM_EPLAN, "command 3 is of unknown kind 9"},
    {second_queue, PLIM_EPLAN, "command 3 runs in space 0 on queue 1"},
    {negative_queue, PLIM_EPLAN, "command 3 runs in space 0 on queue -1"},
    {step_waits, PLIM_EPLAN, "command 3 waits"},
    {op_out_of_range, PLIM_EPLAN, "command 3 runs op 5"},
    {op_negative, PLIM_EPLAN, "command 3 runs op -1"},
    {variant_out_of_range, PLIM_EPLAN, "command 3 (op \"make\"): variant 6"},
    {variant_of_another_op, PLIM_EPLAN, "command 3 (op \"make\"): variant 1"},
    {too_many_pairs, PLIM_EPLAN, "command 1 (op \"drop\"): 3 in-place pairs for 2 outputs"},
    {negative_pairs, PLIM_EPLAN, "command 1 (op \"drop\"): -1 in-place pairs"},
    {pair_not_allowed, PLIM_EPLAN, "command 1 (op \"drop\"): the op does not allow output 1"},
    {pair_out_of_range, PLIM_EPLAN, "command 1 (op \"drop\"): the op does not allow output 0"},
    {pair_twice, PLIM_EPLAN, "command 1 (op \"drop\"): output 0 is written over two inputs"},
    {buffer_of_no_storage, PLIM_EPLAN, "is of storage 9; the graph has 9 storages"},
    {buffer_of_negative_storage, PLIM_EPLAN, "is of storage -2"},
    {buffer_empty, PLIM_EPLAN, "(\"a\") is [3, 3) in a plan of 7 commands"},
    {buffer_begins_before_the_plan, PLIM_EPLAN, "(\"a\") is [-1, 4)"},
    {buffer_ends_after_the_plan, PLIM_EPLAN, "(\"y\") is [2, 8)"},
    {other_space, PLIM_EPLAN, "(\"a\") is in space 1"},
    {bytes_not_rounded, PLIM_EPLAN, "command 3 (op \"make\"): the buffer of \"a\" has 1000 bytes, it needs 1024"},
    {bytes_too_few, PLIM_EPLAN, "command 3 (op \"make\"): the buffer of \"a\" has 512 bytes, it needs 1024"},
    {bytes_negative, PLIM_EPLAN, "has -1024 bytes, it needs 1024"},
    {workspace_too_small, PLIM_EPLAN, "command 5 (op \"back\"): the buffer of \"workspace\" has 512 bytes"},
    {workspace_too_long, PLIM_EPLAN, "command 5 (op \"back\"): the workspace is alive [5, 7)"},
    {workspace_missing, PLIM_EPLAN, "command 5 (op \"back\"): 0 workspaces for a variant that needs 700 bytes"},
    {workspace_twice, PLIM_EPLAN, "command 5 (op \"back\"): 2 workspaces"},
    {workspace_not_needed, PLIM_EPLAN,
     "command 3 (op \"make\"): the buffer of \"workspace\" has 1024 bytes, it needs 0"},
    {offset_negative, PLIM_EPLAN, "command 3 (op \"make\"): the buffer of \"a\" has offset -512"},
    {offset_not_aligned, PLIM_EPLAN, "offset 4100, not a multiple of 512"},
    {offset_overflows, PLIM_EPLAN, "in an arena of 7168 bytes"},
    {offset_above_arena, PLIM_EPLAN, "offset 6656 and 1024 bytes in an arena of 7168 bytes"},
    {buffer_missing, PLIM_EPLAN, "command 1 (op \"drop\"): writes \"mask\", which has no buffer here"},
    {input_missing, PLIM_EPLAN, "command 0 (op \"make\"): reads \"x\", which has no buffer here"},
    {second_buffer_at_once, PLIM_EPLAN, "command 4 (op \"drop\"): \"mask\" begins a buffer while another one, [1, 6)"},
    {buffer_begins_where_no_one_writes, PLIM_EPLAN, "command 0 (op \"make\"): \"mask\" begins a buffer here"},
    {input_begins_late, PLIM_EPLAN, "command 0 (op \"make\"): reads \"x\", which has no buffer here"},
    {input_begins_again, PLIM_EPLAN, "command 3 (op \"make\"): \"x\" is written from outside"},
    {input_ends_early, PLIM_EPLAN, "command 3 (op \"make\"): reads \"x\", which has no buffer here"},
    {buffer_not_tight, PLIM_EPLAN, "command 0 (op \"make\"): \"x\" has a buffer [0, 5), its last use ends at 4"},
    {copy_not_tight, PLIM_EPLAN, "\"loss\"): \"db\" is written over \"b\", whose buffer does not end here"},
    {mask_ends_before_its_reader, PLIM_EPLAN, "command 5 (op \"back\"): reads \"mask\", which has no buffer here"},
    {output_ends_early, PLIM_EPLAN, "(\"y\") does not live to the end, command 7"},
    {param_ends_early, PLIM_EPLAN, "command 6 (op \"update\"): updates \"v\", which has no buffer here"},
    {param_missing, PLIM_EPLAN, "command 6 (op \"update\"): updates \"v\", which has no buffer here"},
    {overwritten_copy_read_again, PLIM_EPLAN, "command 3 (op \"loss\"): "},
    {pair_without_end, PLIM_EPLAN,
     "command 4 (op \"drop\"): \"b\" is written over \"a\", whose buffer does not end here"},
    {pair_on_resident_output, PLIM_EPLAN,
     "command 2 (op \"loss\"): \"db\" is written over \"b\", whose buffer does not end"},
    {pair_at_two_addresses, PLIM_EPLAN, "command 4 (op \"drop\"): \"b\" at 6144 is written over \"a\" at 4096"},
    {pair_not_declared, PLIM_EPLAN, "command 4 (op \"drop\"): reads \"a\", which has no buffer here"},
    {effect_twice, PLIM_EPLAN, "command 7 (op \"update\"): an op that updates params or states runs a second time"},
    {repeat_after_update, PLIM_EPLAN,
     "command 7 (op \"make\"): reads \"w\" after 1 updates; in program order it sees 0"},
    {no_update, PLIM_EPLAN, "op 4 (\"update\") runs in none of the 6 commands"},
    {key_changes, PLIM_EPLAN, "command 4 (op \"drop\"): runs again with numerics key \"mt19937\""},
    {reads_before_it_is_made, PLIM_EPLAN, "command 0 (op \"drop\"): "},
    {overlap, PLIM_EPLAN, "command 5 (op \"back\"): \"workspace\" at [4096, 5120) overlaps \"g\" at [4096, 5120)"},
    {overlap_of_workspace, PLIM_EPLAN, "command 5 (op \"back\"): \"workspace\" at [3072, 4096) overlaps \"db\""},
    {arena_above_budget, PLIM_EPLAN, "the plan needs 7168 bytes, its budget is 7167"},
    {peak_is_a_lie, PLIM_EPLAN, "peak of"},
    {arena_is_a_lie, PLIM_EPLAN, "an arena of 7680 bytes, its buffers need 7168"},
    {time_is_a_lie, PLIM_EPLAN, "ns, its commands add up to"},
    {bound_above_time, PLIM_EPLAN, "not in ascending order"},
    {bound_below_keep_all, PLIM_EPLAN, "not in ascending order"},
    {keep_all_is_a_lie, PLIM_EPLAN, "says 336 ns for every op once, the fastest variants that it runs itself take 335"},
    {overhead_and_proof_are_lies, PLIM_EPLAN, "says 465 ns for every op once"},
    {proof_is_a_lie, PLIM_EPLAN, "proved is 1"},
    {machine_changes, PLIM_EPLAN, "numerics"},
    {hash_is_a_lie, PLIM_EPLAN, "numerics"},
    {key_of_the_op_changes, PLIM_EPLAN, "numerics"},
    {variant_unused, PLIM_EPLAN, "no command runs variant 2, \"slow\" of op \"drop\""},
    {other_graph, PLIM_EDATA, "is for graph"},
    {buffers_out_of_order, PLIM_EPLAN, "comes after one that is later in their order"},
};

Test(check, refuses_each_fault_with_a_sentence_that_names_step_and_op) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  plim_plan *plan = NULL;
  cr_assert_eq(build_graph(ctx, &graph), PLIM_OK);
  cr_assert_eq(build_plan(graph, 1, &plan), PLIM_OK);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    plan_draft draft = plan_draft_make(plan);
    faults[i].apply(&draft);
    if (faults[i].apply != buffers_out_of_order) plan_draft_sort(&draft);
    plim_status status = plim_plan_check(ctx, graph, &draft.plan);
    const char *sentence = plim_context_error(ctx);
    cr_expect_eq(status, faults[i].status, "row %zu: status %d, expected '%s': %s", i, status, faults[i].sentence,
                 sentence);
    cr_expect(strstr(sentence, faults[i].sentence), "row %zu: '%s' is not in: %s", i, faults[i].sentence, sentence);
    plan_draft_free(&draft);
  }
  plim_plan_free(plan);
  plim_graph_free(graph);
  plim_context_free(ctx);
}

/* ---- several updates, programs, memory ---- */

/* Two updates of w read g1 and g2; the plan runs them in program order or the other way round. */
static plim_status check_two_updates(plim_context *ctx, int swapped) {
  static const plim_op_spec op[3] = {
      {.name = "make", .n_in = 2, .in = {0, 1}, .n_out = 1, .out = {2}},
      {.name = "first", .cls = PLIM_OP_EFFECT, .n_in = 1, .in = {2}, .n_upd = 1, .upd = {1}},
      {.name = "second", .cls = PLIM_OP_EFFECT, .n_in = 1, .in = {2}, .n_upd = 1, .upd = {1}},
  };
  static const plim_role role[3] = {PLIM_ROLE_INPUT, PLIM_ROLE_PARAM, PLIM_ROLE_GRADIENT};
  static const char *const name[3] = {"x", "w", "g"};
  static const plim_plan_variant variant[3] = {
      {0, {"direct", "direct", 1, 0}}, {1, {"direct", "direct", 1, 0}}, {2, {"direct", "direct", 1, 0}}};
  static const plim_plan_buffer buffer[3] = {{0, 0, 1, 0, 512, 512}, {1, 0, 3, 0, 0, 512}, {2, 0, 3, 0, 1024, 512}};
  plim_graph_builder *b = NULL;
  plim_graph *graph = NULL;
  plim_plan *plan = NULL;
  const int64_t bytes = 512;
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
  cr_assert_eq(plim_graph_begin(ctx, "two updates", 1, &b), PLIM_OK);
  for (int32_t i = 0, id; i < 3; i++) cr_assert_eq(plim_graph_add(b, name[i], role[i], &shape, &id), PLIM_OK);
  for (int32_t i = 0, id; i < 3; i++) cr_assert_eq(plim_graph_add_op(b, &op[i], &id), PLIM_OK);
  cr_assert_eq(plim_graph_end(b, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  plim_command command[3] = {
      {.op = 0}, {.op = 1 + swapped, .variant = 1 + swapped}, {.op = 2 - swapped, .variant = 2 - swapped}};
  plim_plan draft = {.planner = "hand",
                     .packed = 1,
                     .n_commands = 3,
                     .n_buffers = 3,
                     .n_variants = 3,
                     .command = command,
                     .buffer = buffer,
                     .variant = variant,
                     .budget_bytes = 1536,
                     .keep_all_ns = 3,
                     .bound_ns = 3};
  cr_assert_eq(plim_plan_from_parts(graph, &draft, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  plim_status status = plim_plan_check(ctx, graph, plan);
  plim_plan_free(plan);
  plim_graph_free(graph);
  return status;
}

Test(check, keeps_several_updates_of_one_param_in_program_order) {
  plim_context *ctx = plim_test_context();
  cr_expect_eq(check_two_updates(ctx, 0), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(check_two_updates(ctx, 1), PLIM_EPLAN);
  cr_expect(strstr(plim_context_error(ctx), "command 1 (op \"second\"): updates \"w\" after 0 updates"), "%s",
            plim_context_error(ctx));
  plim_context_free(ctx);
}

Test(check, wants_persistent_storages_of_a_program_at_equal_offsets) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  plim_plan *plan = NULL, *moved = NULL, *flat = NULL;
  cr_assert_eq(build_graph(ctx, &graph), PLIM_OK);
  cr_assert_eq(build_plan(graph, 1, &plan), PLIM_OK);
  cr_assert_eq(build_plan(graph, 0, &flat), PLIM_OK);
  plan_draft draft = plan_draft_make(plan);
  buffer_at(&draft, W, 0)->offset = 1024;
  buffer_at(&draft, V, 0)->offset = 0;
  cr_assert_eq(plim_plan_from_parts(graph, &draft.plan, &moved), PLIM_OK);
  const plim_graph *graphs[] = {graph, graph};
  cr_expect_eq(plim_program_check(ctx, 2, graphs, (const plim_plan *[]){plan, plan}), PLIM_OK);
  cr_expect_eq(plim_program_check(ctx, 2, graphs, (const plim_plan *[]){plan, moved}), PLIM_EPLAN);
  cr_expect(strstr(plim_context_error(ctx), "\"v\" has 1024 bytes at 1024 in plan 0 and 1024 bytes at 0 in plan 1"));
  cr_expect_eq(plim_program_check(ctx, 2, graphs, (const plim_plan *[]){plan, flat}), PLIM_EPLAN);
  cr_expect(strstr(plim_context_error(ctx), "plan 1 of the program has no addresses"));
  plan_draft_free(&draft);
  plim_plan_free(plan);
  plim_plan_free(moved);
  plim_plan_free(flat);
  plim_graph_free(graph);
  plim_context_free(ctx);
}

static plim_status check_once(plim_context *ctx, void *user) {
  (void)user;
  plim_graph *graph = NULL;
  plim_plan *plan = NULL;
  plim_status status = build_graph(ctx, &graph);
  if (status == PLIM_OK) status = build_plan(graph, 1, &plan);
  if (status == PLIM_OK) {
    status = plim_program_check(ctx, 2, (const plim_graph *[]){graph, graph}, (const plim_plan *[]){plan, plan});
  }
  plim_plan_free(plan);
  plim_graph_free(graph);
  return status;
}

Test(check, gives_back_its_memory_when_any_allocation_fails) {
  cr_assert_gt(plim_test_each_allocation(check_once, NULL), 10);
}
