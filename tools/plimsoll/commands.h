/* The commands; each is defined in a file of its own. */
#ifndef PLIM_TOOLS_PLIMSOLL_COMMANDS_H
#define PLIM_TOOLS_PLIMSOLL_COMMANDS_H

#include "tools/plimsoll/options.h"

extern const command command_train, command_compare, command_verify, command_profile, command_plan, command_check,
    command_pack, command_import, command_gen, command_simulate, command_solvers, command_bench, command_trace;

/* Ends every command's help. */
#define COMMAND_EXIT_STATUS                                           \
  "EXIT STATUS\n"                                                     \
  "  0  done\n"                                                       \
  "  1  a difference, or a bad plan\n"                                \
  "  2  usage\n"                                                      \
  "  3  data: a file that is not there, cannot be read or is wrong\n" \
  "  4  does not fit into the memory given\n"                         \
  "  5  device, I/O, or a loss that is not finite\n"                  \
  "  130  Ctrl-C: the step under way is finished; a second Ctrl-C ends at once\n"

#endif
