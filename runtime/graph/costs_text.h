/* Writes and reads costs in the text of a graph. A failure of reading is left in the document. Functions run on the
 * thread of the context. */
#ifndef PLIM_RUNTIME_GRAPH_COSTS_TEXT_H
#define PLIM_RUNTIME_GRAPH_COSTS_TEXT_H

#include "runtime/base/json.h"
#include "runtime/base/text.h"
#include "runtime/graph/costs.h"

/* The field "devices". Reading makes the costs of n_ops ops; *out is set when the document's status is PLIM_OK. */
void plim_costs_write_devices(plim_text *text, const plim_costs *costs);
void plim_costs_read_devices(plim_json_at *root, int32_t n_ops, plim_costs **out);

/* The last fields of an op's row: "flops", "workspace_bytes", "durations", "copies". A field without any number is left
 * out. */
void plim_costs_write_op(plim_text *text, const plim_costs *costs, int32_t op);
void plim_costs_read_op(plim_json_at *at, plim_costs *costs, int32_t op);

#endif
