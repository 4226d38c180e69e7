/* Which values are the training state: parameters, and what else lasts from step to step. */
#include "runtime/train/state.h"

int plim_state_includes(const plim_graph *graph, int32_t value) {
  plim_role role = graph->storage[graph->value[value].storage].role;
  return role == PLIM_ROLE_PARAM || role == PLIM_ROLE_STATE;
}

const plim_graph *plim_state_graph(const plim_trainer *trainer) {
  return plim_trainer_program(trainer)->graph[PLIM_PROGRAM_TRAIN];
}
