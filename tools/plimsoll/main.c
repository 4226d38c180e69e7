/* The command line: plimsoll COMMAND [OPTION...]. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/nearest.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/spin.h"
#include "tools/plimsoll/standard.h"

static const command *const commands[] = {
    &command_train,   &command_compare, &command_verify, &command_profile, &command_plan,
    &command_check,   &command_pack,    &command_import, &command_gen,     &command_simulate,
    &command_solvers, &command_bench,   &command_trace,
};
enum { COMMANDS = sizeof commands / sizeof commands[0], EXIT_USAGE = 2 };

static const char *command_name(int32_t row) {
  return row >= 0 && row < COMMANDS ? commands[row]->name : NULL;
}

static void print_help(FILE *to) {
  (void)fprintf(
      to,
      "Usage: plimsoll COMMAND [OPTION...]\n"
      "Trains a network inside a fixed number of bytes: plans what to keep and what to recompute, checks the\n"
      "plan, and replays it from one arena.\n\n"
      "Commands:\n");
  for (int i = 0; i < COMMANDS; i++) (void)fprintf(to, "  %-8s  %s\n", commands[i]->name, commands[i]->summary);
  (void)fprintf(to,
                "\nplimsoll COMMAND --help describes a command, its options and its exit statuses.\n"
                "plimsoll --version prints the version.\n\n"
                "Example:\n"
                "  plimsoll train --model resnet20 --data fashion-mnist --memory 64MiB\n");
}

int main(int argc, char **argv) {
  spin_shortly(argv);
  standard_streams();
  const char *name = argc > 1 ? argv[1] : "";
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
    print_help(stdout);
    return 0;
  }
  if (strcmp(name, "--version") == 0) {
    printf("plimsoll %s\n", PLIM_VERSION);
    return 0;
  }
  int32_t row = plim_name_find(command_name, name);
  if (row < 0) {
    if (argc < 2) {
      print_help(stderr);
    } else if (name[0] == '-') {
      (void)fprintf(stderr, "plimsoll: a command comes before %s; plimsoll --help lists them\n", name);
    } else {
      (void)fprintf(stderr, "plimsoll: no command is called \"%s\"; did you mean \"%s\"?\n", name,
                    plim_name_nearest(command_name, name));
    }
    return EXIT_USAGE;
  }
  options o;
  options_parse(commands[row], argc - 1, argv + 1, &o);
  return commands[row]->run(&o);
}
