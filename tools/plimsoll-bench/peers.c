/* Rows for the planner's table of strategies. */
#include "tools/plimsoll-bench/peers.h"

#include "planner/search/searches.h"
#include "planner/strategies/strategy.h"
#include "tools/plimsoll-bench/peers_internal.h"

void peers_add(void) {
  enum { TIME = 1U << PLIM_EFFORT_TIME, MOVES = 1U << PLIM_EFFORT_ITERATIONS };
  static const plim_strategy rows[] = {
      {PEER_FASTSA, PLIM_CLASS_FREE, TIME | MOVES, plim_fastsa_run, plim_keep_all_run, NULL},
      {PEER_REVOLVE, PLIM_CLASS_FIXED, TIME, plim_revolve_run, plim_revolve_run, NULL},
  };
  plim_strategies_add(rows, sizeof rows / sizeof *rows);
}
