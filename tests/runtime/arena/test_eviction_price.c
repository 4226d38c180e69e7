/* Prices of evictions, on x -> y -> z with later readers of both. */
#include <criterion/criterion.h>

#include "runtime/arena/residency_evict.h"
#include "runtime/arena/residency_price.h"
#include "tests/support/small_graph.h"

enum { X, Y, Z, USE_Z, LOSS };
enum { MAKE_Y, MAKE_Z, READ_Z, READ_Y, OPS };
enum { Y_NS = 100, Z_NS = 30, UNIT = 512 };

typedef struct scene {
  plim_context *ctx;
  plim_graph *graph;
  plim_plan *schedule;
  plim_forecast forecast;
  plim_replay_counts counts;
  plim_residency residency;
} scene;

static plim_graph *make_graph(plim_context *ctx) {
  static const plim_op_spec op[OPS] = {
      {.name = "make y", .n_in = 1, .in = {X}, .n_out = 1, .out = {Y}},
      {.name = "make z", .n_in = 1, .in = {Y}, .n_out = 1, .out = {Z}},
      {.name = "read z", .n_in = 1, .in = {Z}, .n_out = 1, .out = {USE_Z}},
      {.name = "read y", .n_in = 2, .in = {Y, USE_Z}, .n_out = 1, .out = {LOSS}},
  };
  static const plim_role role[] = {PLIM_ROLE_INPUT, PLIM_ROLE_ACTIVATION, PLIM_ROLE_ACTIVATION, PLIM_ROLE_ACTIVATION,
                                   PLIM_ROLE_OUTPUT};
  static const char *const name[] = {"x", "y", "z", "use of z", "loss"};
  plim_graph_builder *b = NULL;
  plim_graph *graph = NULL;
  const int64_t bytes = UNIT;
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
  cr_assert_eq(plim_graph_begin(ctx, "scene", 1, &b), PLIM_OK);
  for (int32_t i = 0, id; i <= LOSS; i++) cr_assert_eq(plim_graph_add(b, name[i], role[i], &shape, &id), PLIM_OK);
  for (int32_t i = 0, id; i < OPS; i++) cr_assert_eq(plim_graph_add_op(b, &op[i], &id), PLIM_OK);
  cr_assert_eq(plim_graph_end(b, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

static plim_plan *make_schedule(const plim_graph *graph) {
  static const plim_command command[OPS] = {
      {.op = 0, .variant = 0}, {.op = 1, .variant = 1}, {.op = 2, .variant = 2}, {.op = 3, .variant = 3}};
  static const plim_plan_variant variant[OPS] = {
      {0, {"a", "a", Y_NS, 0}}, {1, {"a", "a", Z_NS, 0}}, {2, {"a", "a", 1000, 0}}, {3, {"a", "a", 10, 0}}};
  static const plim_plan_buffer buffer[] = {{X, 0, 1, 0, 0, UNIT},
                                            {Y, 0, 4, 0, UNIT, UNIT},
                                            {Z, 1, 3, 0, 2 * UNIT, UNIT},
                                            {USE_Z, 2, 4, 0, 3 * UNIT, UNIT},
                                            {LOSS, 3, 4, 0, 4 * UNIT, UNIT}};
  plim_plan *plan = NULL;
  plim_plan draft = {.planner = "hand",
                     .packed = 1,
                     .n_commands = OPS,
                     .n_buffers = 5,
                     .n_variants = OPS,
                     .command = command,
                     .buffer = buffer,
                     .variant = variant,
                     .budget_bytes = INT64_MAX};
  cr_assert_eq(plim_plan_from_parts(graph, &draft, &plan), PLIM_OK);
  return plan;
}

/* Position 2, before "read z": y and z are made and wanted. */
static void open_scene(scene *s) {
  *s = (scene){.ctx = plim_test_context()};
  s->graph = make_graph(s->ctx);
  s->schedule = make_schedule(s->graph);
  plim_replay_config how = {.policy = plim_policy_find("best")};
  int32_t block;
  cr_assert_eq(plim_forecast_make(s->ctx, s->graph, s->schedule, 0, 1, &s->forecast), PLIM_OK);
  cr_assert_eq(plim_residency_open(s->ctx, &s->forecast, 0, 3 * UNIT, &how, &s->counts, &s->residency), PLIM_OK);
  cr_assert_eq(plim_residency_place(&s->residency, MAKE_Y, Y, UNIT, &block), PLIM_OK);
  cr_assert_eq(plim_residency_place(&s->residency, MAKE_Z, Z, UNIT, &block), PLIM_OK);
  s->residency.storage[Y].next_read = s->residency.storage[Y].last_read = READ_Y;
  s->residency.storage[Z].next_read = s->residency.storage[Z].last_read = READ_Z;
  s->residency.position = READ_Z;
}

static void close_scene(scene *s) {
  plim_residency_close(&s->residency);
  plim_forecast_release(&s->forecast);
  plim_plan_free(s->schedule);
  plim_graph_free(s->graph);
  plim_context_free(s->ctx);
}

Test(evict, a_missing_reader_counts_and_so_does_a_missing_operand) {
  scene s;
  open_scene(&s);
  cr_expect_eq(plim_residency_price(&s.residency, Y), Y_NS);
  cr_expect_eq(plim_residency_price(&s.residency, Z), Z_NS);
  cr_assert_eq(plim_residency_drop(&s.residency, Z, NULL), PLIM_OK);
  cr_expect_eq(plim_residency_price(&s.residency, Y), Y_NS + Z_NS);
  close_scene(&s);
  open_scene(&s);
  cr_assert_eq(plim_residency_drop(&s.residency, Y, NULL), PLIM_OK);
  cr_expect_eq(plim_residency_price(&s.residency, Z), Y_NS + Z_NS);
  close_scene(&s);
}

Test(evict, a_window_is_priced_as_if_all_of_it_were_gone) {
  scene s;
  open_scene(&s);
  cr_expect_eq(plim_residency_price_together(&s.residency, 1, (int32_t[]){Z}), Z_NS);
  cr_expect_eq(plim_residency_price_together(&s.residency, 2, (int32_t[]){Z, Y}), Y_NS + Z_NS);
  cr_assert_eq(plim_residency_drop(&s.residency, Y, NULL), PLIM_OK);
  cr_expect_eq(plim_residency_price_together(&s.residency, 1, (int32_t[]){Z}), Y_NS + Z_NS);
  close_scene(&s);
}

Test(evict, takes_what_is_cheap_and_far_away_and_leaves_what_is_pinned) {
  scene s;
  int32_t hole;
  open_scene(&s);
  cr_assert_eq(plim_residency_evict(&s.residency, &(plim_arena_request){.bytes = UNIT}, &hole), PLIM_OK);
  cr_expect_not(plim_residency_is_resident(&s.residency, Y)); /* read 1000 ns from now; z: now */
  cr_expect(plim_residency_is_resident(&s.residency, Z));
  cr_expect_eq(s.residency.blocks->block[hole].bytes, UNIT);
  cr_expect_eq(s.counts.evictions, 1);
  s.residency.storage[Z].pins = 1;
  cr_assert_eq(plim_residency_evict(&s.residency, &(plim_arena_request){.bytes = 2 * UNIT}, &hole), PLIM_OK);
  cr_expect_eq(hole, -1);
  cr_expect(plim_residency_is_resident(&s.residency, Z));
  close_scene(&s);
}
