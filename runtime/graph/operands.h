/* How many operands an op of each kind takes. */
#ifndef PLIM_RUNTIME_GRAPH_OPERANDS_H
#define PLIM_RUNTIME_GRAPH_OPERANDS_H

#include "runtime/graph/graph.h"

/* PLIM_EDATA unless the spec's counts of inputs, outputs and updates are those of its kind. */
PLIM_MUST_USE plim_status plim_operands_check(plim_context *ctx, const plim_op_spec *spec);

#endif
