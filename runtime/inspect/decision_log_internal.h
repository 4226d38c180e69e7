/* State of a decision log, for the files of this folder. decision_log.c has the function. */
#ifndef PLIM_RUNTIME_INSPECT_DECISION_LOG_INTERNAL_H
#define PLIM_RUNTIME_INSPECT_DECISION_LOG_INTERNAL_H

#include "runtime/arena/residency.h"
#include "runtime/inspect/decision_log.h"

struct plim_decision_log {
  plim_context *ctx;
  plim_decision_log_options options;
  plim_replay_config config;
  plim_plan *plan;
  char *failure; /* sentence; NULL: the run did not end early */
  int32_t thrashed;
  int64_t failure_bytes;
  int32_t n_commands, n_choices, n_evicted;
  int64_t depth_capacity, choice_capacity, evicted_capacity;
  int32_t *depth;        /* [n_commands] */
  plim_decision *choice; /* [n_choices] their `evicted` is set after the last choice, when the list below is complete */
  int32_t *evicted;      /* [n_evicted] storages of all choices */
  plim_decision_reasons reasons; /* of the last decision that was explained */
  int64_t block_capacity;
  int64_t enough_most, enough_bytes; /* argument and result of the last plim_decision_log_enough; most 0: none yet */
};

/* Simulate the decision log's run once more, watched. *out: free with plim_plan_free. */
plim_status plim_decision_log_simulate(const plim_decision_log *decisions, const plim_arena_watch *watch,
                                       plim_plan **out);

#endif
