/* The commands in the order of help. */
#include "tools/plimsoll/commands.h"

#include "tools/plimsoll/option_rows.h"

static const command *const commands[] = {
    &command_train, &command_compare,  &command_verify, &command_profile, &command_plan,
    &command_check, &command_simulate, &command_pack,   &command_trace,   &command_import,
    &command_gen,   &command_solvers,  &command_bench,
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

const command *command_at(int i) {
  return i >= 0 && i < COMMANDS ? commands[i] : NULL;
}
