/* The command line: plimsoll COMMAND [OPTION...]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/process.h"

enum { PATH_BYTES = 4096 };

static const char *command_name(int32_t row) {
  return command_at(row) ? command_at(row)->name : NULL;
}

static int is_any(const char *word, const char *a, const char *b) {
  return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* A sentence about the words before any option; an object, too, where one was asked for. */
static int refuse(int argc, char **argv, const char *sentence) {
  int json = 0;
  for (int i = 2; i < argc; i++) json = json || is_any(argv[i], "--json", "-j");
  failure_print(sentence, json ? failure_object(PLIM_EUSAGE, sentence) : NULL);
  return plim_status_exit(PLIM_EUSAGE);
}

static int refuse_command(int argc, char **argv, const char *name) {
  char sentence[512];
  const char *near = plim_name_near(command_name, name);
  if (name[0] == '-') {
    (void)snprintf(sentence, sizeof sentence, "a command comes before %.200s; plimsoll --help lists them", name);
  } else if (near) {
    (void)snprintf(sentence, sizeof sentence, "no command is called \"%.200s\"; did you mean \"%s\"?", name, near);
  } else {
    (void)snprintf(sentence, sizeof sentence, "no command is called \"%.200s\"; plimsoll --help lists them", name);
  }
  return refuse(argc, argv, sentence);
}

/* A name, or nothing; words after it have no meaning. */
static int help(int argc, char **argv) {
  const char *name = argc > 2 ? argv[2] : "help";
  if (argc > 3) return refuse(argc, argv, "help takes one name: plimsoll help COMMAND");
  if (is_any(name, "-h", "--help") || strcmp(name, "help") == 0) {
    options_overview(stdout);
  } else if (strcmp(name, "--man") == 0) {
    options_man(stdout);
  } else if (strcmp(name, "completion") == 0) {
    options_completion_help(stdout);
  } else {
    int32_t row = plim_name_find(command_name, name);
    if (row < 0) return refuse_command(argc, argv, name);
    options_help(command_at(row), stdout);
  }
  return 0;
}

static int completion(int argc, char **argv) {
  if (argc == 3 && is_any(argv[2], "-h", "--help")) {
    options_completion_help(stdout);
    return 0;
  }
  if (argc == 3 && options_completion(argv[2], stdout)) return 0;
  return refuse(argc, argv, "completion needs the name of a shell: bash, zsh or fish");
}

/* On the threads of this process. */
static int runs_kernels(const options *o) {
  if (o->command == COMMAND_PLAN) return !o->graph;
  return (o->command & (COMMAND_TRAIN | COMMAND_COMPARE | COMMAND_VERIFY | COMMAND_PROFILE)) != 0;
}

/* Become the program of that name beside this one, else in a folder of PATH. Returns where there is none. */
static void become(const char *program, char **argv) {
  char path[PATH_BYTES];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  char *slash = strrchr(path, '/');
  if (slash) {
    size_t folder = (size_t)(slash - path) + 1;
    (void)snprintf(path + folder, sizeof path - folder, "%s", program);
    (void)execv(path, argv);
  }
  (void)execvp(program, argv);
}

int main(int argc, char **argv) {
  standard_streams();
  const char *name = argc > 1 ? argv[1] : "";
  if (argc < 2) {
    options_overview(stderr);
    return plim_status_exit(PLIM_EUSAGE);
  }
  if (strcmp(name, "help") == 0) return help(argc, argv);
  if (strcmp(name, "completion") == 0) return completion(argc, argv);
  if (is_any(name, "--help", "-h")) {
    options_overview(stdout);
    return 0;
  }
  if (is_any(name, "--version", "-V")) {
    printf("plimsoll %s\n", PLIM_VERSION);
    return 0;
  }
  int32_t row = plim_name_find(command_name, name);
  if (row < 0) return refuse_command(argc, argv, name);
  options o;
  if (command_at(row)->program) become(command_at(row)->program, argv + 1);
  options_parse(command_at(row), argc - 1, argv + 1, &o);
  if (runs_kernels(&o)) spin_shortly(argv);
  refused_memory_watch();
  json_output_watch();
  return json_output_end(command_at(row)->run(&o));
}
