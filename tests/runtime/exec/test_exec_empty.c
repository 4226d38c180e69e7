/* runtime/exec: storages of no bytes have no place in the arena, and ops write and read them all the same. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/exec/exec.h"
#include "runtime/graph/graph.h"
#include "tests/support/test_context.h"

enum { FEW = 16, X = 0, M, Y, VALUES };

/* m, of no bytes, of x; then y of x and m. */
static plim_graph *graph_with_an_empty_storage(plim_context *ctx) {
  static const struct {
    const char *name;
    plim_role role;
    int64_t bytes;
  } row[] = {{"x", PLIM_ROLE_INPUT, FEW}, {"m", PLIM_ROLE_ACTIVATION, 0}, {"y", PLIM_ROLE_OUTPUT, FEW}};
  plim_graph_builder *builder = NULL;
  plim_graph *graph = NULL;
  int32_t value[VALUES], op;
  cr_assert_eq(plim_graph_begin(ctx, "empty", 1, &builder), PLIM_OK);
  for (int i = 0; i < VALUES; i++) {
    plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, (int64_t[]){row[i].bytes});
    cr_assert_eq(plim_graph_add(builder, row[i].name, row[i].role, &shape, &value[i]), PLIM_OK, "%s",
                 plim_context_error(ctx));
  }
  plim_op_spec a = {.name = "a", .kind = PLIM_OP_CUSTOM, .n_in = 1, .n_out = 1, .time_ns = 5}, b = a;
  a.in[0] = value[X], a.out[0] = value[M];
  b.name = "b", b.n_in = 2;
  b.in[0] = value[X], b.in[1] = value[M], b.out[0] = value[Y];
  cr_assert_eq(plim_graph_add_op(builder, &a, &op), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_graph_add_op(builder, &b, &op), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_graph_end(builder, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

static plim_status copy_first(void *user, const plim_run_call *call) {
  const plim_op *op = &call->graph->op[call->op];
  for (int32_t i = 0; i < op->n_in; i++) cr_assert_not_null(call->args.in[i]);
  for (int32_t i = 0; i < op->n_out; i++) cr_assert_not_null(call->args.out[i]);
  memcpy(call->args.out[0], call->args.in[0], (size_t)call->graph->value[op->out[0]].bytes);
  ++*(int *)user;
  return PLIM_OK;
}

Test(exec_empty, ops_write_and_read_storages_of_no_bytes) {
  for (int addresses = PLIM_ADDRESSES_PLANNED; addresses <= PLIM_ADDRESSES_EACH; addresses++) {
    const plim_plan_options planning = plim_plan_options_default();
    unsigned char x[FEW], y[FEW] = {0};
    int runs = 0;
    plim_context *ctx = plim_test_context();
    plim_graph *graph = graph_with_an_empty_storage(ctx);
    plim_profile *profile = NULL;
    plim_plan *plan = NULL;
    plim_exec *exec = NULL;
    cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
    cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &planning, &plan), PLIM_OK);
    plim_exec_options options = {.struct_bytes = sizeof options, .own_kernels = 1};
    options.addresses = (plim_exec_addresses)addresses;
    const plim_graph *graphs[] = {graph};
    const plim_plan *plans[] = {plan};
    cr_assert_eq(plim_exec_open(ctx, NULL, &options, 1, graphs, plans, &exec), PLIM_OK, "%s", plim_context_error(ctx));
    for (int i = 0; i < FEW; i++) x[i] = (unsigned char)(i + 1);
    cr_assert_eq(plim_exec_write(exec, 0, X, x, FEW), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plim_exec_step(exec, 0, copy_first, &runs), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(runs, 2);
    cr_assert_eq(plim_exec_read(exec, 0, Y, y, FEW), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_arr_eq(x, y, FEW);
    plim_exec_close(exec);
    plim_plan_free(plan);
    plim_profile_free(profile);
    plim_graph_free(graph);
    plim_context_free(ctx);
  }
}
