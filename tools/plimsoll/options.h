/* The options of all commands: one table, of which each command shows and accepts its rows. */
#ifndef PLIM_TOOLS_PLIMSOLL_OPTIONS_H
#define PLIM_TOOLS_PLIMSOLL_OPTIONS_H

#include <stdint.h>

#include "runtime/graph/plan.h"

enum {
  COMMAND_TRAIN = 1,
  COMMAND_COMPARE = 2,
  COMMAND_VERIFY = 4,
  COMMAND_PROFILE = 8,
  COMMAND_PLAN = 16,
  COMMAND_CHECK = 32,
  COMMAND_PACK = 64,
  COMMAND_IMPORT = 128,
  COMMAND_GEN = 256,
  COMMAND_SIMULATE = 512,
  COMMAND_SOLVERS = 1024,
  COMMAND_BENCH = 2048,
  COMMAND_TRACE = 4096
};

/* Values of an option that may be given more than once. */
enum { OPTION_VALUES = 16, OPTION_NAMES = 96 };
typedef struct option_values {
  int count;
  const char *at[OPTION_VALUES];
} option_values;

typedef struct options {
  const char *model, *image, *data, *data_dir;
  const char *memory, *vram, *planner, *planners, *addresses, *packing, *placing, *numerics, *math, *layout, *device,
      *order;
  const char *sweep;            /* FROM%:TO%:STEP% */
  const char *shapes, *budgets; /* with commas between them */
  const char *capacity, *online, *last_batch;
  option_values memory_at;
  const char *plan, *graph, *profile, *save, *load, *trace, *svg, *output;
  const char *with, *find, *policy;
  const char *platform, *objective, *deadline, *page, *recompute, *place, *page_file;
  const char *memory_given;             /* --memory as it was typed; `memory` is the size of the arena alone */
  const char *page_space, *page_memory; /* of --memory cpu=SIZE,host=SIZE: the second name and size; NULL: none */
  int n_devices;                        /* of --memory cpu:0=SIZE,cpu:1=SIZE: without the first; 0: one device */
  const char *device_memory[PLIM_PAGE_DEVICES]; /* [n_devices] the sizes of cpu:1, cpu:2, ... */
  const char *file, *second;                    /* the arguments without a dash, when the command takes them */
  const char *optimizer, *states;
  int64_t layers, model_width, heads, context, vocab, warmup;
  double clip, beta2;
  int64_t batch, accumulate, epochs, steps, total_steps, seed, threads, iterations, repeats, ops, points, copies, at,
      retime, trial;
  double rate, momentum, weight_decay, time_limit, profile_time, minutes, thrash;
  double width, spread, edges, skips; /* of random layers */
  int plain, explain, no_augment, model_costs, roofline_peaks, no_cache, no_graph, front, print_sequence, json,
      no_progress, quiet;
  unsigned command; /* COMMAND_... */
  int n_given;
  const char *given[OPTION_NAMES]; /* [n_given] long names of the options on the command line */
} options;

/* A number and a unit, "10s", in seconds; a bare number is seconds. 0: it is none. */
int options_time(const char *text, double *seconds);

/* Does a path end so? 0 for NULL. */
int path_ends_in(const char *path, const char *ending);

/* Was the option of that long name on the command line? */
int options_given(const options *o, const char *name);

/* A table whose rows the help of a command lists: names, and what each of them is. */
typedef struct command_list {
  const char *title; /* NULL after the last */
  const char *(*name)(int32_t row);
  const char *(*about)(int32_t row);
} command_list;

typedef struct command command;
struct command {
  const char *name;
  unsigned mask;                /* COMMAND_... */
  const char *program;          /* that runs it with the same words, where it is found; NULL: `run` does */
  const char *file, *second;    /* names of the arguments without a dash, NULL: none; in brackets: optional */
  const char *summary;          /* one line, for plimsoll --help */
  const char *about;            /* paragraphs above the options */
  const command_list *lists;    /* below the options; NULL: none */
  const char *after;            /* paragraphs below them: examples, files, exit status */
  int (*run)(const options *o); /* returns the exit status */
};

/* Parse the arguments of one command. Prints help or a usage error and exits (status 0 or 2) where that ends the
 * program; otherwise fills `o`. argv[0] is the command's name. */
void options_parse(const command *c, int argc, char **argv, options *o);

#endif
