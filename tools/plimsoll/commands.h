/* The commands; each is defined in a file of its own. */
#ifndef PLIM_TOOLS_PLIMSOLL_COMMANDS_H
#define PLIM_TOOLS_PLIMSOLL_COMMANDS_H

#include "tools/plimsoll/options.h"

extern const command command_train, command_compare, command_verify, command_profile, command_plan, command_check,
    command_pack, command_import, command_gen, command_simulate, command_solvers, command_bench, command_trace;

enum { BENCH_PLANNERS, BENCH_PACK, BENCH_ONLINE, BENCH_LARGE, BENCH_WINDOW };

/* What bench and trace take as their first argument: row i, NULL after the last. */
const char *bench_table_name(int32_t row);
const char *trace_action_name(int32_t row);

/* Planners that bench has beside those of the library: row i, NULL after the last. */
const char *bench_peer_name(int32_t row);

/* A line for each exit status; ends every command's help. */
extern const char command_exit_status[];
/* A line for each variable of the environment. */
extern const char command_environment[];

#endif
