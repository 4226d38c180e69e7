/* By tables: what cannot be combined with what, what requires what, and what does not apply to what a command is asked
 * to do. A condition is an option's name (it was given), name=value (its value, a star stands for any ending), or FILE
 * (the second argument was given). Conditions are separated by spaces. */
#include "tools/plimsoll/option_rules.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "tools/plimsoll/option_rows.h"

enum { RUNS = COMMAND_TRAIN | COMMAND_COMPARE | COMMAND_VERIFY, NAME_BYTES = 64 };
enum { PLANS = RUNS | COMMAND_PLAN | COMMAND_SIMULATE };

static const char over_spaces[] = "plans over spaces have none";

/* `unless`: with one of these, `others` are of use after all; NULL: never. `why`: the end of the sentence; NULL: none.
 */
static const struct {
  unsigned commands;
  const char *option, *others, *unless, *why;
} excluded[] = {
    {COMMAND_PLAN, "graph", "model batch image data numerics precision layout device model-costs profile-time", NULL,
     NULL},
    {COMMAND_PLAN, "graph", "online", NULL, "plimsoll simulate --graph does that"},
    {COMMAND_PLAN, "front", "memory svg print-sequence online", NULL, NULL},
#define OVER_SPACES "platform objective deadline page recompute place planner=poet planner=xengine"
    {COMMAND_PLAN, "front", OVER_SPACES, NULL, over_spaces},
    {COMMAND_PLAN, "svg", OVER_SPACES, NULL, over_spaces},
    {COMMAND_PLAN, "print-sequence", OVER_SPACES, NULL, over_spaces},
    {COMMAND_PLAN, "addresses", OVER_SPACES, NULL, over_spaces},
    {COMMAND_PLAN, "profile", OVER_SPACES, NULL, over_spaces},
    {COMMAND_PLAN, "order", OVER_SPACES, NULL, over_spaces},
    {COMMAND_PLAN, "copies", OVER_SPACES, NULL, over_spaces},
    {PLANS, "online", "planner plan", NULL, "a run is online, without a plan, or has one"},
    /* with these the budget is planned again in the middle of the run; on a GPU that is usual */
    {COMMAND_TRAIN | COMMAND_VERIFY, "plan", "planner numerics copies", "memory-at retime device", NULL},
    {COMMAND_TRAIN | COMMAND_VERIFY, "memory-at", "addresses=arena addresses=jemalloc", NULL, NULL},
    {COMMAND_TRAIN | COMMAND_VERIFY, "retime", "online addresses=arena addresses=jemalloc", "retime=0",
     "it makes a plan with addresses again"},
    {COMMAND_COMPARE, "minutes", "steps epochs", NULL, NULL},
    {COMMAND_PROFILE, "model-costs", "repeats", NULL, NULL},
    {RUNS | COMMAND_PLAN | COMMAND_PROFILE, "model-costs", "profile-time", NULL, "nothing is measured"},
    {COMMAND_TRACE, "at", "find", NULL, NULL},
    {COMMAND_TRACE, "graph", "FILE", NULL, NULL},
    {COMMAND_SIMULATE, "online", "addresses=planned", NULL,
     "an online policy has no plan whose addresses could be used"},
};

/* The option is of use with at least one of those. */
static const struct {
  unsigned commands;
  const char *option, *others;
} needed[] = {
    {COMMAND_PLAN, "profile", "graph"},
    {COMMAND_PLAN, "platform", "graph"},
    {COMMAND_PLAN, "objective", "graph"},
    {COMMAND_PLAN, "deadline", "graph"},
    {COMMAND_PLAN, "page", "graph"},
    {COMMAND_PLAN, "recompute", "graph"},
    {COMMAND_PLAN, "place", "graph"},
    {COMMAND_PLAN, "explain", OVER_SPACES},
    {COMMAND_PLAN, "print-sequence", "graph"},
    {COMMAND_PLAN, "addresses", "graph"},
    {COMMAND_PLAN, "points", "front"},
    {COMMAND_PLAN, "max-recompute", "online"},
    {COMMAND_TRAIN | COMMAND_VERIFY, "max-recompute", "online memory-at last-batch"},
    {COMMAND_COMPARE, "max-recompute", "online last-batch"},
    {COMMAND_TRACE, "max-recompute", "graph"},
    {COMMAND_TRACE, "online", "graph"},
    {RUNS, "no-cuda-graph", "device=cuda*"},
    {COMMAND_TRAIN, "vram", "device=cuda*"},
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
#define TABLE "data-dir ops shapes budgets planners order iterations time-limit sweep capacity threads seed output"
    {COMMAND_BENCH, "planners", TABLE, "data-dir planners order iterations time-limit threads seed"},
    {COMMAND_BENCH, "pack", TABLE, "data-dir ops time-limit capacity threads seed"},
    {COMMAND_BENCH, "online", TABLE, "data-dir planners iterations time-limit sweep threads seed output"},
    {COMMAND_BENCH, "large", TABLE, "shapes budgets planners ops iterations time-limit threads seed"},
    {COMMAND_BENCH, "window", TABLE, "seed"},
#define ACTION "at find with output plain policy memory-at memory"
    {COMMAND_TRACE, "summary", ACTION, ""},
    {COMMAND_TRACE, "step", ACTION, "at find with plain"},
    {COMMAND_TRACE, "export", ACTION, "output"},
    {COMMAND_TRACE, "diff", ACTION, "with"},
    {COMMAND_TRACE, "what-if", ACTION, "at memory policy memory-at"},
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

/* Is the value of an option, given or not, this one? */
static int has_value(const options *o, const char *name, const char *wanted) {
  const option_row *r = option_row_find(o->command, name);
  const char *value = NULL;
  char number[32];
  size_t n = strcspn(wanted, "*");
  if (r && r->kind == TEXT) memcpy(&value, (const char *)o + r->at, sizeof value);
  if (r && r->kind == COUNT) {
    int64_t count;
    memcpy(&count, (const char *)o + r->at, sizeof count);
    (void)snprintf(number, sizeof number, "%lld", (long long)count);
    value = number;
  }
  return value && (wanted[n] ? strncmp(value, wanted, n) == 0 : strcmp(value, wanted) == 0);
}

static int holds(const options *o, const char *condition) {
  char name[NAME_BYTES];
  size_t n = strcspn(condition, "=");
  if (strcmp(condition, "FILE") == 0) return o->second != NULL;
  if (!condition[n]) return options_given(o, condition);
  memcpy(name, condition, n);
  name[n] = 0;
  return has_value(o, name, condition + n + 1);
}

/* Does one of these hold? name: the first of them. */
static int any_holds(const options *o, const char *list, char name[NAME_BYTES]) {
  while (*list) {
    list = next_name(list, name);
    if (holds(o, name)) return 1;
  }
  return 0;
}

/* A condition as it is typed: "--device cuda:0" for device=cuda*. */
static const char *typed(const char *condition, char text[NAME_BYTES + 8]) {
  size_t n = strcspn(condition, "=");
  if (strcmp(condition, "FILE") == 0) return "FILE";
  (void)snprintf(text, NAME_BYTES + 8, "--%.*s%s%s", (int)n, condition, condition[n] ? " " : "",
                 condition[n] ? condition + n + 1 : "");
  char *star = strchr(text, '*');
  if (star) (void)snprintf(star, 4, ":0"); /* of GPUs alone */
  return text;
}

static plim_status check_excluded(plim_context *ctx, const options *o) {
  char name[NAME_BYTES], other[NAME_BYTES], text[NAME_BYTES + 8];
  for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++) {
    const char *why = excluded[i].why;
    if (!(excluded[i].commands & o->command) || !options_given(o, excluded[i].option)) continue;
    if (!any_holds(o, excluded[i].others, name)) continue;
    if (excluded[i].unless && any_holds(o, excluded[i].unless, other)) continue;
    return plim_fail(ctx, PLIM_EUSAGE, "--%s and %s cannot be combined%s%s", excluded[i].option, typed(name, text),
                     why ? ": " : "", why ? why : "");
  }
  return PLIM_OK;
}

static plim_status check_needed(plim_context *ctx, const options *o) {
  char name[NAME_BYTES], text[NAME_BYTES + 8];
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    const char *list = needed[i].others;
    if (!(needed[i].commands & o->command) || !options_given(o, needed[i].option)) continue;
    if (any_holds(o, list, name)) continue;
    list = next_name(list, name);
    plim_text says = {.ctx = ctx};
    plim_text_format(&says, "--%s requires %s", needed[i].option, typed(name, text));
    while (*list) {
      list = next_name(list, name);
      plim_text_format(&says, "%s %s", *list ? "," : " or", typed(name, text));
    }
    plim_status status = says.status == PLIM_OK ? plim_fail(ctx, PLIM_EUSAGE, "%s", says.chars) : says.status;
    plim_text_free(&says);
    return status;
  }
  return PLIM_OK;
}

static const char *name_of(unsigned mask) {
  for (int i = 0; command_at(i); i++) {
    if (command_at(i)->mask == mask) return command_at(i)->name;
  }
  return "";
}

static plim_status check_uses(plim_context *ctx, const options *o) {
  char name[NAME_BYTES];
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
    if (!(uses[i].commands & o->command) || !o->file || strcmp(uses[i].file, o->file) != 0) continue;
    for (const char *list = uses[i].options; *list;) {
      list = next_name(list, name);
      if (!options_given(o, name) || has_name(uses[i].used, name)) continue;
      /* a graph that is simulated has a budget of its own */
      if (strcmp(name, "memory") == 0 && o->graph) continue;
      return plim_fail(ctx, PLIM_EUSAGE, "--%s does not apply to %s %s", name, name_of(o->command), o->file);
    }
  }
  return PLIM_OK;
}

/* Is it "-", as the parser left it? */
static int is_stream(const char *path) {
  return path && strncmp(path, "/dev/", 5) == 0 && plim_file_is_direct(path);
}

static int ends_in_any(const char *path) {
  static const char *const endings[] = {".json", ".csv", ".svg"};
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t n = strlen(endings[i]);
    if (length > n && strcmp(path + length - n, endings[i]) == 0) return 1;
  }
  return 0;
}

/* What depends on more than one value. */
static plim_status check_values(plim_context *ctx, const options *o) {
  const char *file = o->file ? o->file : "", *dot = strrchr(file, '.');
  if ((o->command & RUNS) && options_given(o, "data-dir") && strcmp(o->data, "synthetic") == 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "--data-dir does not apply to --data synthetic, which has no files");
  }
  if ((o->command & COMMAND_CHECK) && is_stream(file) && !o->graph) {
    return plim_fail(ctx, PLIM_EUSAGE, "check - requires --graph: no graph stands beside standard input");
  }
  if ((o->command & COMMAND_TRACE) && (is_stream(o->second) || is_stream(o->with))) {
    return plim_fail(ctx, PLIM_EUSAGE,
                     "a trace cannot be - or a device: its plan and graph are read from files beside it");
  }
  if ((o->command & COMMAND_TRAIN) && o->trace && is_stream(o->trace)) {
    return plim_fail(ctx, PLIM_EUSAGE,
                     "--trace cannot be - or a device: plan and graph are written to files beside it");
  }
  if ((o->command & COMMAND_PLAN) && o->print_sequence && is_stream(o->output)) {
    return plim_fail(ctx, PLIM_EUSAGE, "--print-sequence and --output - cannot be combined: it is one stream");
  }
  if ((o->command & COMMAND_PLAN) && o->curve && o->output && !is_stream(o->output) && !ends_in_any(o->output)) {
    return plim_fail(ctx, PLIM_EUSAGE, "--front -o %s: the name has to end in .json, .csv or .svg", o->output);
  }
  if ((o->command & COMMAND_PACK) && o->graph && !is_stream(file) && (!dot || strcmp(dot, ".json") != 0)) {
    return plim_fail(ctx, PLIM_EUSAGE, "--graph does not apply to %s: only a plan has a graph", file);
  }
  if ((o->command & COMMAND_SIMULATE) && o->online && o->output && o->placing && strcmp(o->placing, "none") == 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "--output does not apply to --online with --addresses none: there is no plan");
  }
  if ((o->command & COMMAND_BENCH) && strcmp(file, "pack") == 0 && o->data_dir && options_given(o, "ops")) {
    return plim_fail(ctx, PLIM_EUSAGE, "--data-dir and --ops cannot be combined: buffers are of files or made up");
  }
  return PLIM_OK;
}

plim_status pairs_check(plim_context *ctx, const options *o) {
  PLIM_TRY(check_excluded(ctx, o));
  PLIM_TRY(check_needed(ctx, o));
  PLIM_TRY(check_uses(ctx, o));
  return check_values(ctx, o);
}
