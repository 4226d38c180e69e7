/* Reads the costs by device of node-link JSON. On the thread of the context. */
#ifndef PLIM_RUNTIME_IMPORT_IMPORT_NX_COSTS_H
#define PLIM_RUNTIME_IMPORT_IMPORT_NX_COSTS_H

#include "runtime/base/json.h"
#include "runtime/graph/costs.h"

/* Whether the file has costs by device: a node has some (`costed`), or devices are named. */
int plim_nx_has_costs(const plim_json_at *root, int costed);

/* Make the costs of n_ops ops, with the devices that `graph.devices` names. PLIM_EDATA, PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_nx_costs_begin(plim_json_at *root, int32_t n_ops, plim_costs **out);

/* Read `flops`, `durations` {"device": time} and `copies` {"from>to": time} of one node. PLIM_EDATA for a device that
 * `graph.devices` does not name. */
PLIM_MUST_USE plim_status plim_nx_costs_read(plim_json_at *node, plim_costs *costs, int32_t op);

#endif
