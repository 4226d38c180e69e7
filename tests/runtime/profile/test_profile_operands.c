/* runtime/profile/profile_operands: the numbers that kernels are given when they are timed, and where these lie. */
#include "runtime/profile/profile_operands.h"

#include <criterion/criterion.h>
#include <math.h>

#include "runtime/profile/measurement.h"
#include "tests/support/fake_device.h"
#include "tests/support/small_graph.h"

static plim_context *ctx;
static plim_graph *graph;
static fake_device fake;

static void setup(void) {
  ctx = plim_test_context();
  graph = plim_test_small_graph(ctx);
  fake_device_make(&fake, ctx, "A");
}

static void teardown(void) {
  plim_graph_free(graph);
  plim_context_free(ctx);
}
TestSuite(profile_operands, .init = setup, .fini = teardown);

Test(profile_operands, special_operands_are_in_range_and_all_others_are_ordinary_numbers) {
  static float normal[PLIM_NORMALS];
  static float memory[3 * PLIM_NORMALS];
  double sum = 0, squares = 0;
  plim_normals_make(normal);
  plim_normals_fill(normal, memory, (int64_t)sizeof memory - 100);
  for (int i = 0; i < PLIM_NORMALS; i++) {
    cr_assert_eq(memory[i], memory[PLIM_NORMALS + i]);
    cr_assert(normal[i] == 0 || isnormal(normal[i]));
    sum += (double)normal[i];
    squares += (double)normal[i] * (double)normal[i];
  }
  cr_assert_lt(fabs(sum / PLIM_NORMALS), 0.05);
  cr_assert_lt(fabs(squares / PLIM_NORMALS - 1), 0.05);
  plim_op_desc desc;
  plim_graph_describe(graph, SMALL_XENT, &desc);
  cr_assert(plim_operand_is_special(&desc, 1));
  cr_assert_not(plim_operand_is_special(&desc, 0));
  plim_operand_fill_special(&desc, 1, normal, memory);
  for (int i = 0; i < 4; i++) {
    int32_t label;
    memcpy(&label, &memory[i], sizeof label);
    cr_assert(label >= 0 && label < 10);
  }
  plim_graph_describe(graph, SMALL_SGD, &desc);
  plim_operand_fill_special(&desc, 1, normal, memory);
  cr_assert_lt(memory[0], 1, "a learning rate");
}

/* Labels, a mask and what an update leaves are no ordinary floats. */
Test(profile_operands, memory_holds_ordinary_numbers_after_a_run_of_any_op) {
  static const int32_t ops[] = {SMALL_RELU, SMALL_XENT, SMALL_SGD};
  plim_profile_set set;
  fake.scribbles = 1;
  cr_assert_eq(plim_profile_set_make(&fake.device, graph, 0, &set), PLIM_OK);
  for (int i = 0; i < 3; i++) {
    const plim_profile_group *group = &set.group[set.group_of[ops[i]]];
    plim_profile_case *c = &set.cases[group->first];
    plim_measurement m;
    plim_measure_needs needs = {0};
    int64_t time_ns;
    plim_measure_need(group, c, &needs);
    cr_assert_eq(plim_measure_prepare(&set, group, c), PLIM_OK);
    cr_assert_eq(plim_measure_begin(&set, &needs, 0, &m), PLIM_OK);
    cr_assert_eq(plim_measure_run(&m, group, c, &time_ns), PLIM_OK);
    const float *memory = m.arena;
    for (int64_t e = 0; e < m.arena_bytes / 4; e++) {
      cr_assert(memory[e] == 0 || isnormal(memory[e]), "op %d leaves %g", (int)ops[i], (double)memory[e]);
    }
    plim_measure_end(&m);
  }
  plim_profile_set_free(&set);
}

/* Rows that overlap: 100 x 100 elements in 199. */
Test(profile_operands, strided_operands_are_filled_from_their_first_element_to_their_last) {
  static float normal[PLIM_NORMALS];
  enum { REACH = 199 };
  static float memory[REACH + 10000];
  plim_op_desc desc;
  plim_graph_describe(graph, SMALL_LINEAR, &desc);
  plim_normals_make(normal);
  for (int k = 0; k < 2; k++) {
    plim_shape *shape = &desc.in[1];
    *shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){100, 100});
    shape->stride[0] = shape->stride[1] = 1;
    memset(memory, 0, sizeof memory);
    if (k) {
      cr_assert(plim_operand_is_special(&desc, 1));
      plim_operand_fill_special(&desc, 1, normal, memory);
    } else {
      plim_operand_fill_random(shape, 1, memory);
    }
    cr_assert(memory[REACH - 1] != 0);
    for (int i = REACH; i < REACH + 10000; i++) cr_assert_eq(memory[i], 0);
  }
}

Test(profile_operands, operands_are_warm_or_cold_and_outputs_go_over_inputs_as_the_graph_has_it) {
  plim_profile_set set;
  cr_assert_eq(plim_profile_set_make(&fake.device, graph, 0, &set), PLIM_OK);
  const plim_cache_states *linear = &set.group[set.group_of[SMALL_LINEAR]].cache_states;
  const plim_cache_states *bwd = &set.group[set.group_of[SMALL_RELU_BWD]].cache_states;
  const plim_cache_states *weights = &set.group[set.group_of[SMALL_WEIGHTS]].cache_states;
  cr_assert_eq(linear->in[1], PLIM_CACHE_COLD, "weights were used a step ago");
  cr_assert_eq(linear->out[0], PLIM_CACHE_COLD, "forward results lie at places of their own");
  cr_assert_eq(bwd->in[1], PLIM_CACHE_WARM, "the gradient was written just before");
  cr_assert_eq(bwd->out[0], PLIM_CACHE_IN_PLACE, "and dies here");
  cr_assert_eq(bwd->over[0], 1);
  cr_assert_eq(weights->out[0], PLIM_CACHE_WARM, "backward results lie where something has died");
  plim_profile_set_free(&set);
}

/* Blocks of a placed description: everything apart, but what is written over an input. */
Test(profile_operands, operands_are_placed_apart_in_their_blocks) {
  plim_op_desc desc;
  plim_graph_describe(graph, SMALL_RELU_BWD, &desc);
  plim_cache_states cache_states = {
      .in = {PLIM_CACHE_COLD, PLIM_CACHE_WARM}, .out = {PLIM_CACHE_IN_PLACE}, .over = {1}};
  plim_operand_place place[4];
  int64_t bytes[2];
  cr_assert_eq(plim_operands_count(&desc), 3);
  plim_operands_place(&desc, &cache_states, 1000, place, bytes);
  cr_assert_eq(place[0].block, PLIM_CACHE_COLD);
  cr_assert_eq(place[2].at, place[1].at);
  cr_assert_eq(place[2].block, PLIM_CACHE_WARM);
  cr_assert_eq(place[3].at, PLIM_ALIGN, "the workspace lies after the gradient of 160 bytes");
  cr_assert_eq(bytes[PLIM_CACHE_WARM], PLIM_ALIGN + 1024);
  cr_assert_eq(bytes[PLIM_CACHE_COLD], PLIM_ALIGN, "the mask");
}
