/* The commands, each defined in a file of its own, and the table of their options, for those who read all of it:
 * parser, rules, help, man page and shell completion. */
#ifndef PLIM_TOOLS_PLIMSOLL_COMMANDS_H
#define PLIM_TOOLS_PLIMSOLL_COMMANDS_H

#include <stddef.h>
#include <stdio.h>

#include "runtime/base/name.h"
#include "runtime/graph/graph.h"
#include "tools/plimsoll/options.h"

extern const command command_train, command_compare, command_verify, command_profile, command_plan, command_check,
    command_pack, command_import, command_gen, command_simulate, command_solvers, command_bench, command_trace;

enum {
  BENCH_PLANNERS,
  BENCH_PACK,
  BENCH_ONLINE,
  BENCH_LARGE,
  BENCH_WINDOW,
  BENCH_TIGHT,
  BENCH_POET,
  BENCH_JOINT,
  BENCH_XENGINE
};

/* What bench and trace take as their first argument: row i, NULL after the last. */
const char *bench_table_name(int32_t row);
const char *trace_action_name(int32_t row);

/* Planners that bench has beside those of the library: row i, NULL after the last. */
const char *bench_peer_name(int32_t row);

/* plim_graph_import; a file whose name ends with .gz is inflated first, and so is a stream that is compressed. The
 * library of the planner knows no compression. */
plim_status import_file(plim_context *ctx, const char *format, const char *path, plim_graph **out);

/* A line for each exit status; ends every command's help. */
extern const char command_exit_status[];
/* A line for each variable of the environment. */
extern const char command_environment[];

/* ---- options ---- */

enum { GROUP_MODEL = 1, GROUP_DATA, GROUP_MEMORY, GROUP_NUMERICS, GROUP_RUN, GROUP_FILES, GROUP_PRINT, GROUP_COUNT };

typedef enum value_kind { TEXT, TEXTS, COUNT, REAL, SECONDS, FLAG } value_kind;

typedef struct option_row {
  const char *name, *arg, *doc;
  unsigned commands;
  int group;
  int letter; /* of the short form; 0: none */
  value_kind kind;
  size_t at;       /* offset in options */
  double min, max; /* of COUNT, REAL and SECONDS */
} option_row;

/* The names that an option or an argument without a dash takes. */
typedef struct option_values_row {
  unsigned commands;
  const char *option; /* "": the command's first argument without a dash */
  const char *what;   /* of one, for messages; NULL: others are legal too */
  plim_name_at *at;
} option_values_row;

/* Row i of the table, NULL after the last. Rows of one group stand in the order of help, groups may be mixed. */
const option_row *option_row_at(int i);
const char *option_group_title(int group);

/* The row with that name or letter among those of a command, NULL: none. Names of earlier versions count. */
const option_row *option_row_find(unsigned mask, const char *name);
const option_row *option_row_letter(unsigned mask, int letter);

/* The value under its present name. */
const char *option_value_present(const option_row *r, const char *value);

/* PLIM_EUSAGE with the names of both when an option was given that its command would ignore for the sake of another
 * option, of one that is missing, or of what the command is asked to do; and when one is missing without which it can
 * do nothing (option_rules.c). */
PLIM_MUST_USE plim_status option_rules_check(plim_context *ctx, const options *o);

/* The same where the plan of a file pages: PLIM_EUSAGE when an option was given that such plans do not have. */
PLIM_MUST_USE plim_status option_rules_check_paging(plim_context *ctx, const options *o);

/* Row i of the names, NULL after the last; and the row of an option of a command, NULL: any text will do. */
const option_values_row *option_values_at(int i);
const option_values_row *option_values_find(unsigned mask, const char *option);

/* The commands, NULL after the last; those named `help` and `completion` are not among them. */
const command *command_at(int i);

/* Print what --help, --usage, the man page and the completion of a shell say. */
void options_help(const command *c, FILE *to);
void options_usage(const command *c, FILE *to);
void options_overview(FILE *to);
void options_completion_help(FILE *to);
void options_man(FILE *to);
/* 0: no such shell. */
int options_completion(const char *shell, FILE *to);

#endif
