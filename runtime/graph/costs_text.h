/* Costs in the text of a graph. */
#ifndef PLIM_RUNTIME_GRAPH_COSTS_TEXT_H
#define PLIM_RUNTIME_GRAPH_COSTS_TEXT_H

#include "runtime/base/json.h"
#include "runtime/base/text.h"
#include "runtime/graph/costs.h"

/* The field "devices"; reading makes the costs of so many ops. */
void plim_costs_write_devices(plim_text *text, const plim_costs *costs);
void plim_costs_read_devices(plim_json_at *root, int32_t n_ops, plim_costs **out);

/* The last fields of an op's row: "flops", "durations", "copies", each where it has a number. */
void plim_costs_write_op(plim_text *text, const plim_costs *costs, int32_t op);
void plim_costs_read_op(plim_json_at *at, plim_costs *costs, int32_t op);

#endif
