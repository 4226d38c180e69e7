/* By tables: what excludes what, what goes with what, and what a command can use for one thing it does and not for
 * another. Names are separated by spaces. */
#include "tools/plimsoll/pairs.h"

#include <string.h>

enum { RUNS = COMMAND_TRAIN | COMMAND_COMPARE | COMMAND_VERIFY, NAME_BYTES = 64 };

/* `unless`: with one of these, `others` are of use after all; NULL: never. */
static const struct {
  unsigned commands;
  const char *option, *others, *unless;
} excluded[] = {
    {COMMAND_PLAN, "graph", "model batch image data arithmetic math layout device model-costs", NULL},
    {COMMAND_PLAN, "curve", "memory svg print-sequence online", NULL},
    /* with these the plan is made again in the middle of the run; on a GPU that is usual */
    {COMMAND_TRAIN | COMMAND_VERIFY, "plan", "planner arithmetic copies", "memory-at retime device"},
    {COMMAND_COMPARE, "minutes", "steps epochs", NULL},
    {COMMAND_PROFILE, "model-costs", "repeats", NULL},
};

/* The option is for at least one of those. */
static const struct {
  unsigned commands;
  const char *option, *others;
} needed[] = {
    {COMMAND_PLAN, "profile", "graph"},
    {COMMAND_PLAN, "print-sequence", "graph"},
    {COMMAND_PLAN, "addresses", "graph"},
    {COMMAND_PLAN, "points", "curve"},
    {COMMAND_PLAN, "thrash", "online"},
    {COMMAND_TRAIN | COMMAND_VERIFY, "thrash", "online memory-at last-batch"},
    {COMMAND_COMPARE, "thrash", "online last-batch"},
    {COMMAND_TRACE, "thrash", "graph"},
};

/* What a command's first argument has use for, of `options` that the command knows. */
static const struct {
  unsigned commands;
  const char *file, *options, *used;
} uses[] = {
#define SHAPE "width spread edges skips"
    {COMMAND_GEN, "chain", SHAPE, ""},
    {COMMAND_GEN, "residual", SHAPE, ""},
    {COMMAND_GEN, "unet", SHAPE, ""},
    {COMMAND_GEN, "transformer", SHAPE, ""},
#define TABLE "data ops shapes caps planners order iterations time-limit sweep capacity threads seed output"
    {COMMAND_BENCH, "planners", TABLE, "data planners order iterations time-limit threads seed"},
    {COMMAND_BENCH, "pack", TABLE, "data ops time-limit capacity threads seed"},
    {COMMAND_BENCH, "online", TABLE, "data planners iterations time-limit sweep threads seed output"},
    {COMMAND_BENCH, "large", TABLE, "shapes caps planners ops iterations time-limit threads seed"},
    {COMMAND_BENCH, "window", TABLE, "seed"},
};

/* The next name of a list, "" at its end. */
static const char *next_name(const char *list, char name[NAME_BYTES]) {
  size_t n = strcspn(list, " ");
  memcpy(name, list, n);
  name[n] = 0;
  return list + n + (list[n] == ' ');
}

static int has_name(const char *list, const char *wanted) {
  char name[NAME_BYTES];
  while (*list) {
    list = next_name(list, name);
    if (strcmp(name, wanted) == 0) return 1;
  }
  return 0;
}

/* Was one of these options given? name: the first of them. */
static int any_given(const options *o, const char *list, char name[NAME_BYTES]) {
  while (*list) {
    list = next_name(list, name);
    if (options_given(o, name)) return 1;
  }
  return 0;
}

static plim_status check_excluded(plim_context *ctx, const options *o) {
  char name[NAME_BYTES], other[NAME_BYTES];
  for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++) {
    if (!(excluded[i].commands & o->command) || !options_given(o, excluded[i].option)) continue;
    if (!any_given(o, excluded[i].others, name)) continue;
    if (excluded[i].unless && any_given(o, excluded[i].unless, other)) continue;
    return plim_fail(ctx, PLIM_EUSAGE, "--%s and --%s exclude each other", excluded[i].option, name);
  }
  return PLIM_OK;
}

static plim_status check_needed(plim_context *ctx, const options *o) {
  char name[NAME_BYTES];
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    if (!(needed[i].commands & o->command) || !options_given(o, needed[i].option)) continue;
    if (any_given(o, needed[i].others, name)) continue;
    (void)next_name(needed[i].others, name);
    return plim_fail(ctx, PLIM_EUSAGE, "--%s is for --%s", needed[i].option, name);
  }
  return PLIM_OK;
}

static plim_status check_uses(plim_context *ctx, const options *o) {
  char name[NAME_BYTES];
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
    if (!(uses[i].commands & o->command) || !o->file || strcmp(uses[i].file, o->file) != 0) continue;
    for (const char *list = uses[i].options; *list;) {
      list = next_name(list, name);
      if (!options_given(o, name) || has_name(uses[i].used, name)) continue;
      return plim_fail(ctx, PLIM_EUSAGE, "%s has no use for --%s", uses[i].file, name);
    }
  }
  return PLIM_OK;
}

/* What depends on the value of another option. */
static plim_status check_values(plim_context *ctx, const options *o) {
  const char *file = o->file ? o->file : "", *dot = strrchr(file, '.');
  if (options_given(o, "no-cuda-graph") && strncmp(o->device, "cuda", 4) != 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "--no-cuda-graph is for GPUs: device %s replays nothing", o->device);
  }
  if ((o->command & RUNS) && options_given(o, "data-dir") && strcmp(o->data, "synthetic") == 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "--data-dir is for files: --data synthetic has none");
  }
  if ((o->command & COMMAND_PACK) && o->graph && (!dot || strcmp(dot, ".json") != 0)) {
    return plim_fail(ctx, PLIM_EUSAGE, "--graph is a plan's: the lives of %s need none", file);
  }
  if ((o->command & COMMAND_SIMULATE) && o->online && o->output && o->placing && strcmp(o->placing, "none") == 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "--output is for a plan: --online with --addresses none makes none");
  }
  if ((o->command & COMMAND_BENCH) && strcmp(file, "pack") == 0 && o->data_dir && options_given(o, "ops")) {
    return plim_fail(ctx, PLIM_EUSAGE, "--data and --ops exclude each other: lives are of files or made up");
  }
  return PLIM_OK;
}

plim_status pairs_check(plim_context *ctx, const options *o) {
  PLIM_TRY(check_excluded(ctx, o));
  PLIM_TRY(check_needed(ctx, o));
  PLIM_TRY(check_uses(ctx, o));
  return check_values(ctx, o);
}
