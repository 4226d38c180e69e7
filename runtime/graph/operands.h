/* What operands an op of each kind takes. */
#ifndef PLIM_RUNTIME_GRAPH_OPERANDS_H
#define PLIM_RUNTIME_GRAPH_OPERANDS_H

#include "runtime/graph/graph.h"

/* PLIM_EDATA unless the spec's counts of inputs, outputs and updates are those of its kind. */
PLIM_MUST_USE plim_status plim_operands_check(plim_context *ctx, const plim_op_spec *spec);

/* PLIM_EDATA unless the operands of an op of the right counts have the types of its kind, and follow its shape rules
 * where the kind is of version 5 or later. */
PLIM_MUST_USE plim_status plim_operands_check_types(plim_context *ctx, const char *name, const plim_op_desc *op);

#endif
