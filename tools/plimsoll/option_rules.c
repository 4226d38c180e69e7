/* One table: what cannot be combined with what, what requires what, and what does not apply to what a command is asked
 * to do. A row holds where all conditions of `when` do; its sentence names the first of them. Conditions are separated
 * by spaces:
 *   NAME        the option was given
 *   NAME=A|B    its value, given or not, is one of these. A star at one end stands for any characters, and - for a
 *               standard stream or a device
 *   ARG, FILE   the same of the command's first and second argument
 *   SPACES      --memory has several spaces, as in cpu=48MiB,host=1GiB
 *   DEVICES     it has several devices, as in cpu:0=48MiB,cpu:1=48MiB
 *   DISK        it has space disk
 *   PAGES       a model is to be planned over several spaces or devices, or without recomputation
 *   !CONDITION  it does not hold */
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "tools/plimsoll/commands.h"

enum { RUNS = COMMAND_TRAIN | COMMAND_COMPARE | COMMAND_VERIFY, NAME_BYTES = 64, NUMBER_BYTES = 32 };
enum { PLANS = RUNS | COMMAND_PLAN | COMMAND_SIMULATE, TIMED = RUNS | COMMAND_PLAN | COMMAND_PROFILE };

/* Wrong, and the sentence:
 *   EXCLUDES  one of `others` holds too     --front and --memory cannot be combined: WHY
 *   REQUIRES  none of `others` holds        --points requires --front: WHY
 *   IGNORES   one of `others` was given     --svg does not apply to trace diff, or for an option in `when` to --data x
 *   REFUSES   always                        WHY, where {NAME} is the value of an option, {NAME|x} with its default
 *   PAGING    where the plan pages          --device and plans that page do not go together: leave out one of them; WHY
 * Whether a plan pages, PAGES says before it is made; of a plan from a file option_rules_check_paging asks. */
typedef enum rule_kind { EXCLUDES, REQUIRES, IGNORES, REFUSES, PAGING } rule_kind;

typedef struct rule {
  unsigned commands;
  rule_kind kind;
  const char *when, *others;
  const char *why; /* the end of the sentence; NULL: none */
} rule;

#define OVER_SPACES "platform objective deadline page recompute place planner=poet planner=xengine"
static const char over_spaces[] = "plans over spaces have none",
                  from_files[] = "a trace cannot be - or a device: its plan and graph are read from files beside it";
static const char no_power[] = "no power of this machine is known", fastest[] = "the fastest plan is made";
static const char untimed[] = "commands on several queues of a GPU are not timed";
#define OF_GPT " is of gpt, and does not apply to --model {model}"
enum { OF_MODELS = COMMAND_TRAIN | COMMAND_VERIFY, PAGED = RUNS | COMMAND_PLAN };
static const rule rules[] = {
    {COMMAND_PLAN, EXCLUDES, "graph",
     "model batch accumulate image data numerics precision layout device model-costs profile-time layers width heads "
     "context",
     NULL},
    {COMMAND_PLAN, EXCLUDES, "graph", "online", "plimsoll simulate --graph does that"},
    {COMMAND_PLAN, EXCLUDES, "front", "svg print-sequence online explain", NULL},
    {COMMAND_PLAN, EXCLUDES, "front !platform !SPACES", "memory",
     "a plan front takes the budgets from the smallest on; with several spaces --memory bounds the others"},
    {COMMAND_PLAN, EXCLUDES, "print-sequence", OVER_SPACES, over_spaces},
    {COMMAND_PLAN, EXCLUDES, "addresses", OVER_SPACES, over_spaces},
    {COMMAND_PLAN, EXCLUDES, "profile", OVER_SPACES, over_spaces},
    {COMMAND_PLAN, EXCLUDES, "order", OVER_SPACES, over_spaces},
    {COMMAND_PLAN, EXCLUDES, "copies", OVER_SPACES, over_spaces},
    {COMMAND_PLAN, EXCLUDES, "print-sequence", "output=-", "it is one stream"},
    {PLANS, EXCLUDES, "online", "planner plan", "a run is online, without a plan, or has one"},
    /* with these the budget is planned again in the middle of the run; on a GPU that is usual */
    {COMMAND_TRAIN | COMMAND_VERIFY, EXCLUDES, "plan !memory-at !retime !device", "planner numerics copies", NULL},
    {COMMAND_TRAIN | COMMAND_VERIFY, EXCLUDES, "plan", "recompute", "the plan says what is recomputed"},
    {COMMAND_TRAIN | COMMAND_VERIFY, EXCLUDES, "memory-at", "addresses=arena addresses=jemalloc", NULL},
    {COMMAND_TRAIN | COMMAND_VERIFY, EXCLUDES, "retime !retime=0", "online addresses=arena addresses=jemalloc",
     "it makes a plan with addresses again"},
    {COMMAND_COMPARE, EXCLUDES, "minutes", "steps epochs", NULL},
    {COMMAND_PROFILE, EXCLUDES, "model-costs", "repeats", NULL},
    {TIMED, EXCLUDES, "model-costs", "profile-time", "nothing is measured"},
    {COMMAND_TRACE, EXCLUDES, "at", "find", NULL},
    {COMMAND_TRACE, EXCLUDES, "graph", "FILE", NULL},
    {COMMAND_SIMULATE, EXCLUDES, "online", "addresses=planned",
     "an online policy has no plan whose addresses could be used"},
    {COMMAND_BENCH, EXCLUDES, "data-dir ARG=pack", "ops", "buffers are of files or made up"},

    {COMMAND_PLAN, REQUIRES, "profile", "graph", NULL},
    {COMMAND_PLAN, REQUIRES, "platform", "graph objective=energy", NULL},
    {COMMAND_PLAN, REQUIRES, "objective=energy !graph", "platform", no_power},
    {COMMAND_PLAN, REQUIRES, "deadline", "graph objective=energy", fastest},
    {OF_MODELS, REQUIRES, "platform", "objective=energy", NULL},
    {OF_MODELS, REQUIRES, "objective=energy", "platform", no_power},
    {OF_MODELS, REQUIRES, "deadline", "objective=energy", fastest},
    {COMMAND_PLAN, REQUIRES, "page", "graph", NULL},
    {COMMAND_PLAN, REQUIRES, "place", "graph", NULL},
    {COMMAND_PLAN, REQUIRES, "explain", OVER_SPACES, NULL},
    {COMMAND_PLAN, REQUIRES, "print-sequence", "graph", NULL},
    {COMMAND_PLAN, REQUIRES, "addresses", "graph", NULL},
    {COMMAND_PLAN, REQUIRES, "points", "front", NULL},
    {COMMAND_PLAN, REQUIRES, "max-recompute", "online", NULL},
    {COMMAND_TRAIN | COMMAND_VERIFY, REQUIRES, "max-recompute", "online memory-at last-batch", NULL},
    {COMMAND_COMPARE, REQUIRES, "max-recompute", "online last-batch", NULL},
    {COMMAND_TRACE, REQUIRES, "max-recompute", "graph", NULL},
    {COMMAND_TRACE, REQUIRES, "online", "graph", NULL},
    {RUNS, REQUIRES, "no-cuda-graph", "device=cuda*", NULL},
    {COMMAND_TRAIN, REQUIRES, "vram", "device=cuda*", NULL},
    {PLANS, REQUIRES, "copies", "planner=moccasin", "\"{planner|search}\" computes an op as often as it likes"},

    {COMMAND_GEN, IGNORES, "ARG=chain|residual|unet|transformer", "width spread edges skips", NULL},
    {COMMAND_BENCH, IGNORES, "ARG=planners", "ops shapes budgets sweep capacity output platform with points", NULL},
    {COMMAND_BENCH, IGNORES, "ARG=pack", "shapes budgets planners order iterations sweep output platform with points",
     NULL},
    {COMMAND_BENCH, IGNORES, "ARG=online", "ops shapes budgets order capacity platform with points", NULL},
    {COMMAND_BENCH, IGNORES, "ARG=large", "data-dir order sweep capacity output platform with points", NULL},
    {COMMAND_BENCH, IGNORES, "ARG=tight", "ops budgets planners order iterations sweep capacity platform with points",
     NULL},
    {COMMAND_BENCH, IGNORES, "ARG=poet", "ops budgets order sweep capacity output points", NULL},
    {COMMAND_BENCH, IGNORES, "ARG=joint",
     "data-dir shapes budgets planners order sweep capacity output platform with threads", NULL},
    {COMMAND_BENCH, IGNORES, "ARG=window",
     "data-dir ops shapes budgets planners order iterations time-limit sweep capacity threads output platform "
     "with points",
     NULL},
    {COMMAND_TRACE, IGNORES, "ARG=summary", "at find with output plain policy memory-at", NULL},
    {COMMAND_TRACE, IGNORES, "ARG=step", "output policy memory-at", NULL},
    {COMMAND_TRACE, IGNORES, "ARG=export", "at find with plain policy memory-at", NULL},
    {COMMAND_TRACE, IGNORES, "ARG=diff", "at find output plain policy memory-at", NULL},
    {COMMAND_TRACE, IGNORES, "ARG=what-if", "find with output plain", NULL},
    /* a graph that is simulated has a budget of its own */
    {COMMAND_TRACE, IGNORES, "ARG=summary|step|export|diff !graph", "memory", NULL},
    {RUNS, IGNORES, "data=synthetic", "data-dir", ", which has no files"},

    {TIMED, REFUSES, "layers !model=gpt", NULL, "--layers" OF_GPT},
    {TIMED, REFUSES, "width !model=gpt", NULL, "--width" OF_GPT},
    {TIMED, REFUSES, "heads !model=gpt", NULL, "--heads" OF_GPT},
    {TIMED, REFUSES, "context !model=gpt", NULL, "--context" OF_GPT},
    {TIMED, REFUSES, "model=gpt data=tokens:* !vocab", NULL,
     "--data {data} requires --vocab: the number of words that its tokens are below"},
    {TIMED, REFUSES, "vocab !data=tokens:*", NULL,
     "--vocab {vocab} is for --data tokens:FILE, and not for --data {data|fashion-mnist}"},
    {COMMAND_CHECK, REFUSES, "ARG=- !graph", NULL, "check - requires --graph: no graph stands beside standard input"},
    {COMMAND_TRACE, REFUSES, "FILE=-", NULL, from_files},
    {COMMAND_TRACE, REFUSES, "with=-", NULL, from_files},
    {COMMAND_PLAN, REFUSES, "objective=serial !graph", NULL, "--objective serial is of graphs: give time or energy"},
    {OF_MODELS, REFUSES, "objective=serial", NULL, "--objective serial is of graphs: give time or energy"},
    {COMMAND_TRAIN, REFUSES, "trace=-", NULL,
     "--trace cannot be - or a device: plan and graph are written to files beside it"},
    {RUNS, REFUSES, "page-file=-", NULL,
     "--page-file cannot be - or a device: what is paged out is read back from where it was written"},
    {RUNS, REFUSES, "page-file !plan !DISK", NULL,
     "--page-file requires a space disk, as in --memory cpu=48MiB,disk=4GiB"},
    {COMMAND_TRAIN, REFUSES, "vram=*%", NULL,
     "--vram {vram}: percentages are not allowed here, since it bounds more than the arena; give bytes"},
    {COMMAND_PLAN, REFUSES, "front output !output=-|*.json|*.csv|*.svg", NULL,
     "--front -o {output}: the name has to end in .json, .csv or .svg"},
    {COMMAND_PACK, REFUSES, "graph !ARG=-|*.json", NULL, "--graph does not apply to {ARG}: only a plan has a graph"},
    {COMMAND_SIMULATE, REFUSES, "online output addresses=none", NULL,
     "--output does not apply to --online with --addresses none: there is no plan"},
    {RUNS, REFUSES, "addresses=jemalloc device=cuda*", NULL,
     "--addresses jemalloc allocates host memory, which --device {device} cannot use: give planned or arena"},
    {COMMAND_TRAIN, REFUSES, "save device=sim", NULL,
     "--save writes weights, and --device sim computes none: give cpu, check or a GPU"},
    {COMMAND_VERIFY, REFUSES, "device=sim", NULL,
     "verify compares weights, and --device sim computes none: give cpu, check or a GPU"},
    {COMMAND_COMPARE, REFUSES, "!memory", NULL, "compare requires --memory SIZE"},
    {COMMAND_SIMULATE, REFUSES, "!graph", NULL, "simulate requires --graph FILE"},
    {COMMAND_GEN, REFUSES, "!output", NULL, "gen requires -o FILE, or -o - for standard output"},
    {COMMAND_IMPORT, REFUSES, "!output", NULL, "import requires -o FILE, or -o - for standard output"},
    {COMMAND_TRACE, REFUSES, "ARG=export !output", NULL,
     "trace export requires -o FILE: where the events, the picture or the page go"},
    {COMMAND_TRACE, REFUSES, "ARG=diff !with", NULL, "trace diff requires --with FILE: the other trace"},
    {COMMAND_TRACE, REFUSES, "ARG=step json !at !find", NULL, "trace step --json requires --at N or --find TENSOR"},
    {COMMAND_BENCH, REFUSES, "ARG=planners|online|poet !data-dir", NULL,
     "bench {ARG} requires --data-dir DIR: where the instances are"},
    {COMMAND_TRACE, REFUSES, "ARG=summary|step|export|diff|what-if !graph !FILE", NULL,
     "FILE is missing: a trace or a plan; or --graph FILE, to simulate it online"},

    {PAGED, PAGING, "device=check", NULL,
     "check compares the whole arena after each op, and copies change it meanwhile"},
    {PAGED, PAGING, "device=sim", NULL, "sim computes nothing, so there are no bytes to copy"},
    {PAGED, PAGING, "DEVICES device=cuda*", NULL, "the other device is a GPU"},
    {PAGED, PAGING, "DISK device=cuda*", NULL, "a GPU pages to host"},
    {PAGED, PAGING, "retime !retime=0 device=cuda*", NULL, untimed},
    {PAGED, PAGING, "trace device=cuda*", NULL, untimed},
    {RUNS, PAGING, "!addresses=planned", NULL, "copies need the addresses of a plan"},
    {PAGED, PAGING, "online", NULL, "a policy decides in one arena"},
    {PAGED, PAGING, "plan PAGES", NULL, "a plan has spaces of its own"},
};
enum { RULES = sizeof rules / sizeof rules[0] };

/* ---- conditions ---- */

/* The next one of a list. */
static const char *next_condition(const char *list, char condition[NAME_BYTES]) {
  size_t n = strcspn(list, " ");
  memcpy(condition, list, n);
  condition[n] = 0;
  return list + n + (list[n] == ' ');
}

/* The value of an option or argument, given or not, as text; NULL: there is none. */
static const char *value_of(const options *o, const char *name, char number[NUMBER_BYTES]) {
  const option_row *r = option_row_find(o->command, name);
  const char *value = NULL;
  if (strcmp(name, "ARG") == 0) return o->file;
  if (strcmp(name, "FILE") == 0) return o->second;
  if (r && r->kind == TEXT) memcpy(&value, (const char *)o + r->at, sizeof value);
  if (r && r->kind == COUNT) {
    int64_t count;
    memcpy(&count, (const char *)o + r->at, sizeof count);
    (void)snprintf(number, NUMBER_BYTES, "%lld", (long long)count);
    value = number;
  }
  return value;
}

/* Is it "-", as the parser left it? */
static int is_stream(const char *path) {
  return strncmp(path, "/dev/", 5) == 0 && plim_file_is_direct(path);
}

/* One of the patterns, of which this one has n characters. */
static int matches(const char *value, const char *pattern, size_t n) {
  size_t length = strlen(value);
  if (n == 1 && pattern[0] == '-') return is_stream(value);
  if (n > 0 && pattern[0] == '*') return length >= n - 1 && strncmp(value + length - (n - 1), pattern + 1, n - 1) == 0;
  if (n > 0 && pattern[n - 1] == '*') return strncmp(value, pattern, n - 1) == 0;
  return length == n && strncmp(value, pattern, n) == 0;
}

static int matches_any(const char *value, const char *patterns) {
  while (value && *patterns) {
    size_t n = strcspn(patterns, "|");
    if (matches(value, patterns, n)) return 1;
    patterns += n + (patterns[n] == '|');
  }
  return 0;
}

static int has_file(const options *o) {
  return o->second != NULL;
}

static int has_spaces(const options *o) {
  return o->memory_given && strchr(o->memory_given, '=');
}

static int has_devices(const options *o) {
  return o->n_devices > 0;
}

static int has_disk(const options *o) {
  return o->page_space && strcmp(o->page_space, "disk") == 0;
}

static int pages(const options *o) {
  return !o->graph && (o->page_space || has_devices(o) || (o->recompute && strcmp(o->recompute, "off") == 0));
}

/* Conditions that are no option, and how an option that makes them hold is typed. */
static const struct {
  const char *name, *typed;
  int (*holds)(const options *o);
} words[] = {{"FILE", "FILE", has_file},
             {"SPACES", "", has_spaces},
             {"DEVICES", "cpu:1", has_devices},
             {"DISK", "disk", has_disk},
             {"PAGES", "", pages}};

static int holds(const options *o, const char *condition) {
  char name[NAME_BYTES], number[NUMBER_BYTES];
  size_t n = strcspn(condition, "=");
  if (condition[0] == '!') return !holds(o, condition + 1);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(condition, words[i].name) == 0) return words[i].holds(o);
  }
  if (!condition[n]) return options_given(o, condition);
  memcpy(name, condition, n);
  name[n] = 0;
  return matches_any(value_of(o, name, number), condition + n + 1);
}

static int all_hold(const options *o, const char *list) {
  char condition[NAME_BYTES];
  while (*list) {
    list = next_condition(list, condition);
    if (!holds(o, condition)) return 0;
  }
  return 1;
}

/* Does one of these hold? condition: the first of them. */
static int any_holds(const options *o, const char *list, char condition[NAME_BYTES]) {
  while (*list) {
    list = next_condition(list, condition);
    if (holds(o, condition)) return 1;
  }
  return 0;
}

/* ---- sentences ---- */

static const char *name_of(unsigned mask) {
  for (int i = 0; command_at(i); i++) {
    if (command_at(i)->mask == mask) return command_at(i)->name;
  }
  return "";
}

/* A condition as it is typed: "--device cuda:0" for device=cuda*, of GPUs alone; "trace diff" for ARG=diff. */
static void add_typed(plim_text *says, const options *o, const char *condition) {
  size_t n = strcspn(condition, "=");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(condition, words[i].name) != 0) continue;
    plim_text_add(says, words[i].typed);
    return;
  }
  if (strncmp(condition, "ARG=", 4) == 0) {
    plim_text_format(says, "%s %s", name_of(o->command), o->file);
  } else {
    size_t value = strcspn(condition + n, "*");
    plim_text_format(says, "--%.*s%s%.*s%s", (int)n, condition, condition[n] ? " " : "",
                     (int)(value > 0 ? value - 1 : 0), condition + n + (condition[n] == '='),
                     condition[n + value] ? ":0" : "");
  }
}

static void add_list(plim_text *says, const options *o, const char *list) {
  char condition[NAME_BYTES];
  const char *before = "";
  while (*list) {
    list = next_condition(list, condition);
    plim_text_add(says, before);
    add_typed(says, o, condition);
    before = strchr(list, ' ') ? ", " : " or ";
  }
}

/* The end of a sentence, with values in the place of braces. */
static void add_why(plim_text *says, const options *o, const char *why) {
  char name[NAME_BYTES], number[NUMBER_BYTES];
  while (*why) {
    size_t n = strcspn(why, "{");
    plim_text_format(says, "%.*s", (int)n, why);
    why += n;
    if (!*why) return;
    n = strcspn(why, "}");
    (void)snprintf(name, sizeof name, "%.*s", (int)n - 1, why + 1);
    char *other = strchr(name, '|');
    if (other) *other++ = 0;
    const char *value = value_of(o, name, number);
    plim_text_add(says, value ? value : other ? other : "");
    why += n + 1;
  }
}

/* other: the one of `others` that holds. */
static void add_sentence(plim_text *says, const options *o, const rule *r, const char *other) {
  char first[NAME_BYTES];
  (void)next_condition(r->when, first);
  switch (r->kind) {
    case EXCLUDES:
      add_typed(says, o, first);
      plim_text_add(says, " and ");
      add_typed(says, o, other);
      plim_text_add(says, r->why ? " cannot be combined: " : " cannot be combined");
      break;
    case REQUIRES:
      add_typed(says, o, first);
      plim_text_add(says, " requires ");
      add_list(says, o, r->others);
      plim_text_add(says, r->why ? ": " : "");
      break;
    case IGNORES:
      add_typed(says, o, other);
      plim_text_add(says, " does not apply to ");
      add_typed(says, o, first);
      break;
    case REFUSES:
      break;
    case PAGING:
      first[strcspn(first, "=")] = 0;
      add_typed(says, o, first + (first[0] == '!'));
      plim_text_add(says, " and plans that page do not go together: leave out one of them; ");
      break;
  }
  if (r->why) add_why(says, o, r->why);
}

static int is_broken(const options *o, const rule *r, char other[NAME_BYTES]) {
  if (!(r->commands & o->command) || !all_hold(o, r->when)) return 0;
  return r->kind == REFUSES || r->kind == PAGING || any_holds(o, r->others, other) == (r->kind != REQUIRES);
}

/* The rules of plans that page are left out where none is asked for, and are the only ones where `paging` says so. */
static plim_status check(plim_context *ctx, const options *o, int paging) {
  char other[NAME_BYTES];
  for (int i = 0; i < RULES; i++) {
    if (rules[i].kind == PAGING ? !paging && !pages(o) : paging) continue;
    if (!is_broken(o, &rules[i], other)) continue;
    plim_text says = {.ctx = ctx};
    add_sentence(&says, o, &rules[i], other);
    plim_status status = says.status == PLIM_OK ? plim_fail(ctx, PLIM_EUSAGE, "%s", says.chars) : says.status;
    plim_text_free(&says);
    return status;
  }
  return PLIM_OK;
}

plim_status option_rules_check(plim_context *ctx, const options *o) {
  return check(ctx, o, 0);
}

plim_status option_rules_check_paging(plim_context *ctx, const options *o) {
  return check(ctx, o, 1);
}
