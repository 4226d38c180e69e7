/* Checks the operands of an op against its kind. Functions run on the thread of the context, and are deterministic. */
#ifndef PLIM_RUNTIME_GRAPH_OPERANDS_H
#define PLIM_RUNTIME_GRAPH_OPERANDS_H

#include "runtime/graph/graph.h"

/* Check the numbers of inputs, outputs and updates. PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_operands_check(plim_context *ctx, const plim_op_spec *spec);

/* Check the types of the operands of an op whose numbers are right. A kind of version 5 or later must also follow its
 * shape rules. PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_operands_check_types(plim_context *ctx, const char *name, const plim_op_desc *op);

#endif
