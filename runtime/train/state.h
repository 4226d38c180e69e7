/* The training state: everything that training changes, namely parameters, running statistics and momentum. */
#ifndef PLIM_RUNTIME_TRAIN_STATE_H
#define PLIM_RUNTIME_TRAIN_STATE_H

#include "runtime/graph/graph.h"
#include "runtime/train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The graph that has the values of the state: that of the training step. */
const plim_graph *plim_state_graph(const plim_trainer *trainer);

/* 1 when the value, whose id is in range, is part of the state: its storage has the role param or state. O(1); safe
 * from any thread. */
int plim_state_includes(const plim_graph *graph, int32_t value);

#ifdef __cplusplus
}
#endif
#endif
