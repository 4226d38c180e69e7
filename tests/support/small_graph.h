/* A training step small enough to write by hand: y = x w, loss, dlogits, dw, update. */
#ifndef PLIM_TESTS_SUPPORT_SMALL_GRAPH_H
#define PLIM_TESTS_SUPPORT_SMALL_GRAPH_H

#include "runtime/graph/plan.h"
#include "tests/support/test_context.h"

/* Storages and values of the small graph have the same ids. */
enum {
  SMALL_X,
  SMALL_LABEL,
  SMALL_HYPER,
  SMALL_W,
  SMALL_VELOCITY,
  SMALL_NEXT,
  SMALL_Y,
  SMALL_R,
  SMALL_MASK,
  SMALL_LOSS,
  SMALL_HITS,
  SMALL_PROB,
  SMALL_DR,
  SMALL_DY,
  SMALL_DW,
  SMALL_VALUES
};
enum { SMALL_LINEAR, SMALL_RELU, SMALL_XENT, SMALL_XENT_BWD, SMALL_RELU_BWD, SMALL_WEIGHTS, SMALL_SGD, SMALL_OPS };

/* Fails the running test when it fails. */
plim_graph *plim_test_small_graph(plim_context *ctx);

/* The builder with all values and no ops, for tests that add their own. */
plim_graph_builder *plim_test_small_values(plim_context *ctx);
/* Row o of the small graph's ops. */
plim_op_spec plim_test_small_op(int o);

/* Every op once in program order, each buffer as long as it is read, addresses one after the other; a valid plan. */
plim_plan *plim_test_small_plan(const plim_graph *graph);

#endif
