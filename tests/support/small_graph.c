/* The hand-written training step of the document tests. */
#include "tests/support/small_graph.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  plim_role role;
  plim_dtype dtype;
  int32_t rank;
  int64_t dim[2];
} rows[SMALL_VALUES] = {
    [SMALL_X] = {"image", PLIM_ROLE_INPUT, PLIM_F32, 2, {4, 300}},
    [SMALL_LABEL] = {"label", PLIM_ROLE_INPUT, PLIM_I32, 1, {4}},
    [SMALL_HYPER] = {"hyper", PLIM_ROLE_INPUT, PLIM_F32, 1, {4}},
    [SMALL_W] = {"w", PLIM_ROLE_PARAM, PLIM_F32, 2, {10, 300}},
    [SMALL_VELOCITY] = {"w.velocity", PLIM_ROLE_STATE, PLIM_F32, 2, {10, 300}},
    [SMALL_NEXT] = {"next_label", PLIM_ROLE_STAGING, PLIM_I32, 1, {4}},
    [SMALL_Y] = {"y", PLIM_ROLE_ACTIVATION, PLIM_F32, 2, {4, 10}},
    [SMALL_R] = {"r", PLIM_ROLE_ACTIVATION, PLIM_F32, 2, {4, 10}},
    [SMALL_MASK] = {"r.mask", PLIM_ROLE_ACTIVATION, PLIM_BITS, 2, {4, 10}},
    [SMALL_LOSS] = {"loss", PLIM_ROLE_OUTPUT, PLIM_F32, 1, {1}},
    [SMALL_HITS] = {"hits", PLIM_ROLE_OUTPUT, PLIM_I32, 1, {2}},
    [SMALL_PROB] = {"prob", PLIM_ROLE_ACTIVATION, PLIM_F32, 2, {4, 10}},
    [SMALL_DR] = {"r.grad", PLIM_ROLE_GRADIENT, PLIM_F32, 2, {4, 10}},
    [SMALL_DY] = {"y.grad", PLIM_ROLE_GRADIENT, PLIM_F32, 2, {4, 10}},
    [SMALL_DW] = {"w.grad", PLIM_ROLE_GRADIENT, PLIM_F32, 2, {10, 300}},
};

static const plim_op_spec ops[SMALL_OPS] = {
    [SMALL_LINEAR] = {.name = "linear",
                      .kind = PLIM_OP_LINEAR,
                      .phase = PLIM_PHASE_FORWARD,
                      .n_in = 2,
                      .in = {SMALL_X, SMALL_W},
                      .n_out = 1,
                      .out = {SMALL_Y},
                      .time_ns = 700},
    [SMALL_RELU] = {.name = "relu",
                    .kind = PLIM_OP_RELU,
                    .phase = PLIM_PHASE_FORWARD,
                    .n_in = 1,
                    .in = {SMALL_Y},
                    .n_out = 2,
                    .out = {SMALL_R, SMALL_MASK},
                    .time_ns = 30},
    [SMALL_XENT] = {.name = "xent",
                    .kind = PLIM_OP_SOFTMAX_XENT,
                    .phase = PLIM_PHASE_FORWARD,
                    .n_in = 2,
                    .in = {SMALL_R, SMALL_LABEL},
                    .n_out = 3,
                    .out = {SMALL_LOSS, SMALL_HITS, SMALL_PROB},
                    .time_ns = 90},
    [SMALL_XENT_BWD] = {.name = "xent_bwd",
                        .kind = PLIM_OP_SOFTMAX_XENT_BWD,
                        .phase = PLIM_PHASE_BACKWARD,
                        .n_in = 2,
                        .in = {SMALL_PROB, SMALL_LABEL},
                        .n_out = 1,
                        .out = {SMALL_DR},
                        .time_ns = 20},
    [SMALL_RELU_BWD] = {.name = "relu_bwd",
                        .kind = PLIM_OP_RELU_BWD,
                        .phase = PLIM_PHASE_BACKWARD,
                        .n_in = 2,
                        .in = {SMALL_MASK, SMALL_DR},
                        .n_out = 1,
                        .out = {SMALL_DY},
                        .time_ns = 30},
    [SMALL_WEIGHTS] = {.name = "linear_bwd_weights",
                       .kind = PLIM_OP_LINEAR_BWD_WEIGHTS,
                       .phase = PLIM_PHASE_BACKWARD,
                       .n_in = 2,
                       .in = {SMALL_DY, SMALL_X},
                       .n_out = 1,
                       .out = {SMALL_DW},
                       .time_ns = 800},
    [SMALL_SGD] = {.name = "sgd",
                   .kind = PLIM_OP_SGD,
                   .phase = PLIM_PHASE_UPDATE,
                   .n_in = 2,
                   .in = {SMALL_DW, SMALL_HYPER},
                   .n_upd = 2,
                   .upd = {SMALL_W, SMALL_VELOCITY},
                   .time_ns = 200},
};

plim_op_spec plim_test_small_op(int o) {
  return ops[o];
}

plim_graph_builder *plim_test_small_values(plim_context *ctx) {
  plim_graph_builder *b = NULL;
  cr_assert_eq(plim_graph_begin(ctx, "small", 4, &b), PLIM_OK);
  for (int i = 0; i < SMALL_VALUES; i++) {
    int32_t id = -1;
    plim_shape shape = plim_shape_make(rows[i].dtype, PLIM_FLAT, rows[i].rank, rows[i].dim);
    cr_assert_eq(plim_graph_add(b, rows[i].name, rows[i].role, &shape, &id), PLIM_OK);
    cr_assert_eq(id, i);
  }
  return b;
}

plim_graph *plim_test_small_graph(plim_context *ctx) {
  plim_graph_builder *b = plim_test_small_values(ctx);
  plim_graph *graph = NULL;
  for (int o = 0; o < SMALL_OPS; o++) {
    int32_t id = -1;
    cr_assert_eq(plim_graph_add_op(b, &ops[o], &id), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(id, o);
  }
  cr_assert_eq(plim_graph_end(b, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

/* The life of a storage in the plan that runs every op once in program order. */
static plim_plan_buffer keep_buffer(const plim_graph *g, int32_t s) {
  plim_role role = g->storage[s].role;
  int32_t first = g->reader_first[s], last = g->reader_first[s + 1];
  plim_plan_buffer buffer = {.storage = s, .begin = g->storage[s].producer < 0 ? 0 : g->storage[s].producer};
  buffer.end = plim_role_persistent(role) || role == PLIM_ROLE_OUTPUT ? g->n_ops
               : last > first                                         ? g->reader[last - 1] + 1
                                                                      : buffer.begin + 1;
  buffer.bytes = plim_align_up(g->storage[s].bytes, PLIM_ALIGN);
  return buffer;
}

plim_plan *plim_test_small_plan(const plim_graph *graph) {
  plim_command command[SMALL_OPS];
  plim_plan_variant variant[SMALL_OPS];
  plim_plan_buffer buffer[SMALL_VALUES];
  int64_t top = 0, time = 0;
  memset(command, 0, sizeof command);
  memset(variant, 0, sizeof variant);
  for (int o = 0; o < SMALL_OPS; o++) {
    command[o].op = command[o].variant = variant[o].op = o;
    variant[o].variant = (plim_variant){.name = "given", .numerics_key = "given", .time_ns = graph->op[o].time_ns};
    time += graph->op[o].time_ns;
  }
  for (int s = 0; s < SMALL_VALUES; s++) {
    buffer[s] = keep_buffer(graph, s);
    buffer[s].offset = top;
    top += buffer[s].bytes;
  }
  plim_plan draft = {.planner = "by hand",
                     .plan_class = PLIM_CLASS_FREE,
                     .packed = 1,
                     .n_commands = SMALL_OPS,
                     .n_buffers = SMALL_VALUES,
                     .n_variants = SMALL_OPS,
                     .command = command,
                     .buffer = buffer,
                     .variant = variant,
                     .budget_bytes = INT64_MAX,
                     .keep_all_ns = time,
                     .bound_ns = time,
                     .proved = 1};
  plim_plan *plan = NULL;
  cr_assert_eq(plim_plan_from_parts(graph, &draft, &plan), PLIM_OK, "%s", plim_context_error(graph->ctx));
  return plan;
}
