/* Command lines by table: a row names the option, where its value goes, and which commands have it. */
#include "tools/plimsoll/options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/nearest.h"

typedef enum value_kind { TEXT, TEXTS, COUNT, REAL, SECONDS, FLAG } value_kind;

typedef struct option_row {
  const char *name, *arg, *doc;
  unsigned commands;
  int group;
  int key; /* the short letter, or a number above all letters */
  value_kind kind;
  size_t at;       /* offset in options */
  double min, max; /* of COUNT, REAL and SECONDS */
} option_row;

enum { RUNS = COMMAND_TRAIN | COMMAND_COMPARE | COMMAND_VERIFY };
enum { BUILDS = RUNS | COMMAND_PROFILE | COMMAND_PLAN };
enum { PLANS = RUNS | COMMAND_PLAN | COMMAND_SIMULATE };
enum {
  ALL = BUILDS | COMMAND_CHECK | COMMAND_PACK | COMMAND_IMPORT | COMMAND_GEN | COMMAND_SIMULATE | COMMAND_SOLVERS |
        COMMAND_BENCH | COMMAND_TRACE
};
enum { GROUP_MODEL = 1, GROUP_DATA, GROUP_MEMORY, GROUP_ARITHMETIC, GROUP_RUN, GROUP_FILES, GROUP_PRINT, GROUP_COUNT };
enum { FIRST_LONG_KEY = 256, MAX_ROWS = OPTION_NAMES, EXIT_USAGE = 2 };

static const char *const group_title[GROUP_COUNT] = {
    [GROUP_MODEL] = "Model:",
    [GROUP_DATA] = "Data:",
    [GROUP_MEMORY] = "Memory and plan:",
    [GROUP_ARITHMETIC] = "Arithmetic and device:",
    [GROUP_RUN] = "Training:",
    [GROUP_FILES] = "Files:",
    [GROUP_PRINT] = "Output:",
};

#define AT(field) offsetof(options, field)
static const option_row rows[] = {
    {"model", "NAME", "mlp, resnet18, resnet20, resnet32, resnet56, or for large images resnet50 (default resnet20)",
     BUILDS, GROUP_MODEL, 'm', TEXT, AT(model), 0, 0},
    {"batch", "N", "images a step (default 128)", BUILDS, GROUP_MODEL, 'b', COUNT, AT(batch), 1, 1 << 20},
    {"image", "HxWxC", "size of synthetic images (default: 28x28x1 for mlp, 224x224x3 for resnet50, else 32x32x3)",
     BUILDS, GROUP_MODEL, 0, TEXT, AT(image), 0, 0},

    {"data", "DIR", "folder of the instances, or the one above it", COMMAND_BENCH, GROUP_DATA, 'd', TEXT, AT(data_dir),
     0, 0},
    {"data", "NAME", "fashion-mnist, cifar10 or synthetic: noise (default fashion-mnist)", BUILDS, GROUP_DATA, 'd',
     TEXT, AT(data), 0, 0},
    {"data-dir", "DIR", "folder of the data set's files (default: where its package puts them)", RUNS, GROUP_DATA, 0,
     TEXT, AT(data_dir), 0, 0},
    {"no-augment", NULL, "no random crops and mirrors", RUNS, GROUP_DATA, 0, FLAG, AT(no_augment), 0, 0},

    {"ops", "N", "exactly so many when layered, else as many as fit (default 1000, bench 10000)",
     COMMAND_GEN | COMMAND_BENCH, GROUP_MODEL, 'n', COUNT, AT(ops), 1, 1e9},
    {"shapes", "NAMES",
     "large: layered, chain, residual, unet, transformer, with commas between them (default "
     "layered,transformer,residual)",
     COMMAND_BENCH, GROUP_MODEL, 0, TEXT, AT(shapes), 0, 0},
    {"width", "X", "layered: the mean layer has 2 X sqrt(N) ops (default 0.27)", COMMAND_GEN, GROUP_MODEL, 0, REAL,
     AT(width), 1e-6, 10},
    {"spread", "X", "layered: layers differ from the mean by at most this share (default 0.75)", COMMAND_GEN,
     GROUP_MODEL, 0, REAL, AT(spread), 0, 1},
    {"edges", "X", "layered: share of linked pairs of neighbouring layers (default 0.2)", COMMAND_GEN, GROUP_MODEL, 0,
     REAL, AT(edges), 0, 1},
    {"skips", "X", "layered: share of links that skip layers (default 0.14)", COMMAND_GEN, GROUP_MODEL, 0, REAL,
     AT(skips), 0, 1},

    {"memory", "SIZE", "cap on the arena: 96MiB, 1.5GiB, 500MB, or 45% of keep-all bytes (default: none)", PLANS,
     GROUP_MEMORY, 'M', TEXT, AT(memory), 0, 0},
    {"vram", "SIZE",
     "on a GPU: cap on everything there; the arena gets what context, libraries and modules leave of it, or --memory "
     "where that is less",
     COMMAND_TRAIN, GROUP_MEMORY, 0, TEXT, AT(vram), 0, 0},
    {"retime", "N",
     "time the operations of N steps in place, then make the plan again with the times found (default: 8 on a GPU, "
     "else 0: not)",
     COMMAND_TRAIN | COMMAND_VERIFY, GROUP_MEMORY, 0, COUNT, AT(retime), 0, 1000},
    {"memory-at", "STEP=SIZE",
     "in the middle of training step STEP, counted from 0, the cap becomes SIZE: the step finishes online and the "
     "system gets the arena's tail back; may be given several times",
     COMMAND_TRAIN | COMMAND_VERIFY, GROUP_MEMORY, 0, TEXTS, AT(memory_at), 0, 0},
    {"planner", "NAME", "search (default), keep-all, sqrt, greedy, revolve, rotor, cut, milp, lp-round or moccasin",
     PLANS, GROUP_MEMORY, 'p', TEXT, AT(planner), 0, 0},
    {"planners", "NAMES", "with commas between them (default search)", COMMAND_BENCH, GROUP_MEMORY, 'p', TEXT,
     AT(planners), 0, 0},
    {"order", "free|fixed", "may first runs leave program order? (default free)", COMMAND_PLAN | COMMAND_BENCH,
     GROUP_MEMORY, 0, TEXT, AT(order), 0, 0},
    {"copies", "N", "moccasin computes an operation at most so many times (default 2)", PLANS, GROUP_MEMORY, 0, COUNT,
     AT(copies), 1, 1000},
    {"iterations", "N", "planning effort in moves, of a solver in nodes or pivots; the plan depends on nothing else",
     PLANS | COMMAND_BENCH, GROUP_MEMORY, 0, COUNT, AT(iterations), 1, 1e12},
    {"time-limit", "TIME", "effort, as in 10s, 500ms or 2min; the result may differ between runs",
     PLANS | COMMAND_PACK | COMMAND_BENCH, GROUP_MEMORY, 0, SECONDS, AT(time_limit), 0.001, 1e6},
    {"curve", NULL, "plan the whole range of budgets; -o ends in .json, .csv or .svg", COMMAND_PLAN, GROUP_MEMORY, 0,
     FLAG, AT(curve), 0, 0},
    {"sweep", "RANGE", "online: budgets FROM%:TO%:STEP%, as in 9%:16%:0.2%, and where more memory is worse",
     COMMAND_BENCH, GROUP_MEMORY, 0, TEXT, AT(sweep), 0, 0},
    {"caps", "SIZES",
     "large: shares of program order's peak, or bytes, with commas between them (default 90%,80%,70%,50%)",
     COMMAND_BENCH, GROUP_MEMORY, 0, TEXT, AT(caps), 0, 0},
    {"points", "N", "budgets of the curve (default 41)", COMMAND_PLAN, GROUP_MEMORY, 0, COUNT, AT(points), 2, 10000},
    {"capacity", "SIZE", "stop at the first packing within it (default: as low as possible)",
     COMMAND_PACK | COMMAND_BENCH, GROUP_MEMORY, 'c', TEXT, AT(capacity), 0, 0},
    {"addresses", "KIND",
     "planned (default): offsets of the plan; jemalloc: an allocation for each value, without a cap", RUNS,
     GROUP_MEMORY, 0, TEXT, AT(addresses), 0, 0},
    {"addresses", "KIND", "planned: the cap bounds addresses; none: sums of bytes (default: what the graph says)",
     COMMAND_PLAN | COMMAND_GEN, GROUP_MEMORY, 0, TEXT, AT(packing), 0, 0},
    {"addresses", "KIND", "none, arena (default with --online) or planned (default with --planner)", COMMAND_SIMULATE,
     GROUP_MEMORY, 0, TEXT, AT(placing), 0, 0},
    {"online", "POLICY",
     "no plan: evict what finds no room and compute it again. best, coop, dtr, dtr-eq, dtr-local, dte, lru, size or "
     "msps",
     PLANS, GROUP_MEMORY, 0, TEXT, AT(online), 0, 0},
    {"thrash", "F", "give up when computing again takes longer than F times the step (default 1)",
     PLANS | COMMAND_TRACE, GROUP_MEMORY, 0, REAL, AT(thrash), 0, 1e9},

    {"arithmetic", "KIND",
     "auto (default): the planner may choose among variants that give other bits; fast; small; "
     "or a plan file whose choice is used",
     RUNS | COMMAND_PLAN, GROUP_ARITHMETIC, 'a', TEXT, AT(arithmetic), 0, 0},
    {"math", "MODE",
     "fp32 (default); bf16: activations and their gradients in half the bytes, sums and weights in fp32; tf32: on a "
     "GPU, products have rounded factors",
     BUILDS, GROUP_ARITHMETIC, 0, TEXT, AT(math), 0, 0},
    {"layout", "NAME", "auto (default): the faster by profile; nhwc, nchw8c, nchw16c, flat", BUILDS, GROUP_ARITHMETIC,
     0, TEXT, AT(layout), 0, 0},
    {"threads", "N", "default: the CPUs this process may use", BUILDS | COMMAND_PACK | COMMAND_BENCH, GROUP_ARITHMETIC,
     't', COUNT, AT(threads), 1, 4096},
    {"device", "NAME",
     "cpu (default), cuda:0 and so on (a GPU), check (finds bad plans and kernels, slow) or sim (no arithmetic)",
     BUILDS, GROUP_ARITHMETIC, 0, TEXT, AT(device), 0, 0},
    {"no-cuda-graph", NULL, "on a GPU: queue every kernel of a step anew instead of replaying the step as one graph",
     RUNS, GROUP_ARITHMETIC, 0, FLAG, AT(no_graph), 0, 0},
    {"ceilings", NULL, "measure what the device can do at most, and say what share of it each kind reaches",
     COMMAND_PROFILE, GROUP_ARITHMETIC, 0, FLAG, AT(ceilings), 0, 0},
    {"model-costs", NULL, "modelled instead of measured times; needs no run", BUILDS, GROUP_ARITHMETIC, 0, FLAG,
     AT(model_costs), 0, 0},
    {"no-cache", NULL, "measure and plan anew, whatever is kept from earlier runs", BUILDS | COMMAND_SIMULATE,
     GROUP_ARITHMETIC, 0, FLAG, AT(no_cache), 0, 0},
    {"repeats", "N", "measurements of each op and variant", COMMAND_PROFILE, GROUP_ARITHMETIC, 0, COUNT, AT(repeats), 1,
     10000},

    {"epochs", "N", "passes over the training images (default 1)", COMMAND_TRAIN | COMMAND_COMPARE, GROUP_RUN, 'e',
     COUNT, AT(epochs), 1, 1e6},
    {"last-batch", "KIND",
     "what becomes of the images behind the last whole batch of an epoch. drop (default); online: a shorter step, "
     "decided without a plan in the same arena",
     RUNS, GROUP_RUN, 0, TEXT, AT(last_batch), 0, 0},
    {"steps", "N", "stop after so many steps, whatever --epochs says", RUNS, GROUP_RUN, 's', COUNT, AT(steps), 1, 1e12},
    {"minutes", "N", "as many whole tens of steps as the profile says fit, one epoch at most", COMMAND_COMPARE,
     GROUP_RUN, 0, REAL, AT(minutes), 0.01, 1e5},
    {"rate", "X", "highest learning rate (default by model and batch)", RUNS, GROUP_RUN, 'r', REAL, AT(rate), 0, 1e9},
    {"momentum", "X", "default 0.9", RUNS, GROUP_RUN, 0, REAL, AT(momentum), 0, 1},
    {"weight-decay", "X", "default 0.0005", RUNS, GROUP_RUN, 0, REAL, AT(weight_decay), 0, 1},
    {"seed", "N", "weights, order of images, augmentation, dropout, search, graphs (default 1)",
     PLANS | COMMAND_GEN | COMMAND_BENCH, GROUP_RUN, 0, COUNT, AT(seed), 0, 9e15},

    {"plan", "FILE", "run this plan of the training step instead of making one", COMMAND_TRAIN | COMMAND_VERIFY,
     GROUP_FILES, 0, TEXT, AT(plan), 0, 0},
    {"graph", "FILE", "the plan's graph (default: beside the plan)", COMMAND_CHECK | COMMAND_PACK, GROUP_FILES, 0, TEXT,
     AT(graph), 0, 0},
    {"graph", "FILE", "the graph to play", COMMAND_SIMULATE, GROUP_FILES, 0, TEXT, AT(graph), 0, 0},
    {"graph", "FILE", "plan this graph instead of a model", COMMAND_PLAN, GROUP_FILES, 0, TEXT, AT(graph), 0, 0},
    {"profile", "FILE", "costs of the graph's ops (default: those that it carries)", COMMAND_PLAN, GROUP_FILES, 0, TEXT,
     AT(profile), 0, 0},
    {"output", "FILE", "where the document goes",
     COMMAND_PLAN | COMMAND_TRAIN | COMMAND_PROFILE | COMMAND_PACK | COMMAND_IMPORT | COMMAND_GEN | COMMAND_SIMULATE |
         COMMAND_TRACE,
     GROUP_FILES, 'o', TEXT, AT(output), 0, 0},
    {"output", "FILE", "online: the tables as Markdown", COMMAND_BENCH, GROUP_FILES, 'o', TEXT, AT(output), 0, 0},
    {"svg", "FILE", "picture: bytes over the steps of one iteration, keep-all and plan", COMMAND_PLAN | COMMAND_COMPARE,
     GROUP_FILES, 0, TEXT, AT(svg), 0, 0},
    {"trace", "FILE", "write measured times, JSON Lines: ten steps behind two that warm up", COMMAND_TRAIN, GROUP_FILES,
     0, TEXT, AT(trace), 0, 0},
    {"graph", "FILE", "instead of a file: play this graph under --online", COMMAND_TRACE, GROUP_FILES, 0, TEXT,
     AT(graph), 0, 0},
    {"online", "POLICY", "the policy that plays --graph (default best)", COMMAND_TRACE, GROUP_MEMORY, 0, TEXT,
     AT(online), 0, 0},
    {"memory", "SIZE", "cap on the arena in which --graph is played, or of what-if", COMMAND_TRACE, GROUP_MEMORY, 'M',
     TEXT, AT(memory), 0, 0},
    {"policy", "POLICY", "what-if: the policy from step --at on (default best)", COMMAND_TRACE, GROUP_MEMORY, 0, TEXT,
     AT(policy), 0, 0},
    {"then-memory", "SIZE", "what-if: the cap from step --at on, also as a share of the run's own", COMMAND_TRACE,
     GROUP_MEMORY, 0, TEXT, AT(then_memory), 0, 0},
    {"plain", NULL, "lines of text also on a terminal", COMMAND_TRACE, GROUP_PRINT, 0, FLAG, AT(plain), 0, 0},
    {"at", "N", "print what there is at step N of the plan, and end", COMMAND_TRACE, GROUP_PRINT, 0, COUNT, AT(at), 0,
     1e9},
    {"find", "VALUE", "print the history of a value, and end", COMMAND_TRACE, GROUP_PRINT, 0, TEXT, AT(find), 0, 0},
    {"with", "FILE", "the other run, of a diff or to compare with while stepping", COMMAND_TRACE, GROUP_FILES, 0, TEXT,
     AT(with), 0, 0},
    {"save", "FILE", "write weights, statistics and momentum at the end", COMMAND_TRAIN, GROUP_FILES, 0, TEXT, AT(save),
     0, 0},
    {"load", "FILE", "start from a saved file and go on counting its steps", COMMAND_TRAIN, GROUP_FILES, 0, TEXT,
     AT(load), 0, 0},

    {"print-sequence", NULL, "one op a line on standard output, by its id in the imported file, and nothing else there",
     COMMAND_PLAN, GROUP_PRINT, 0, FLAG, AT(print_sequence), 0, 0},
    {"json", NULL, "print one JSON object instead of the table", ALL, GROUP_PRINT, 'j', FLAG, AT(json), 0, 0},
    {"no-progress", NULL, "no progress bar, also on a terminal", ALL, GROUP_PRINT, 'q', FLAG, AT(no_progress), 0, 0},
};
#undef AT

enum { ROWS = sizeof rows / sizeof rows[0] };

/* Names of earlier versions. They are accepted and mean the same; no help and no message shows them. */
static const struct {
  const char *old, *name;
} aliases[] = {
    {"no-graph", "no-cuda-graph"},
};
enum { ALIASES = sizeof aliases / sizeof aliases[0] };

/* Values of earlier versions, by the option's present name. */
static const struct {
  const char *option, *old, *value;
} value_aliases[] = {
    {"addresses", "packed", "planned"},
};
enum { VALUE_ALIASES = sizeof value_aliases / sizeof value_aliases[0] };

static int row_key(int i) {
  return rows[i].key ? rows[i].key : FIRST_LONG_KEY + i;
}

static const option_row *find_key(unsigned commands, int key) {
  for (int i = 0; i < ROWS; i++) {
    if ((rows[i].commands & commands) && row_key(i) == key) return &rows[i];
  }
  return NULL;
}

/* What the parser hands to itself through argp. */
typedef struct parsing {
  const command *wanted;
  options *o;
} parsing;

static int parse_number(const option_row *r, const char *arg, double *x) {
  char *end;
  errno = 0;
  *x = r->kind == COUNT ? (double)strtoll(arg, &end, 10) : strtod(arg, &end);
  return errno == 0 && end != arg && *end == 0 && isfinite(*x) && *x >= r->min && *x <= r->max;
}

static const struct {
  const char *name;
  double seconds;
} time_units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"min", 60}};
enum { TIME_UNITS = sizeof time_units / sizeof time_units[0] };

/* A number and a unit, "10s"; a bare number is seconds. */
static int parse_seconds(const option_row *r, const char *arg, double *x) {
  char *end;
  errno = 0;
  double number = strtod(arg, &end);
  for (int i = 0; i < TIME_UNITS && errno == 0 && end != arg; i++) {
    *x = number * time_units[i].seconds;
    if (strcmp(end, time_units[i].name) == 0) return isfinite(*x) && *x >= r->min && *x <= r->max;
  }
  return 0;
}

/* The value under its present name. */
static const char *present_value(const option_row *r, const char *arg) {
  for (int i = 0; i < VALUE_ALIASES; i++) {
    if (strcmp(value_aliases[i].option, r->name) == 0 && strcmp(value_aliases[i].old, arg) == 0)
      return value_aliases[i].value;
  }
  return arg;
}

/* argp_failure says one line; argp_error would add another. */
static void store_another(const option_row *r, const char *arg, option_values *to, const struct argp_state *state) {
  if (to->count == OPTION_VALUES)
    argp_failure(state, EXIT_USAGE, 0, "--%s can be given %d times at most", r->name, OPTION_VALUES);
  to->at[to->count++] = arg;
}

static void store(const option_row *r, const char *arg, options *o, const struct argp_state *state) {
  char *at = (char *)o + r->at;
  double x;
  switch (r->kind) {
    case TEXT:
      memcpy(at, &arg, sizeof arg);
      return;
    case TEXTS:
      store_another(r, arg, (option_values *)(void *)at, state);
      return;
    case FLAG:
      *(int *)(void *)at = 1;
      return;
    case SECONDS:
      if (!parse_seconds(r, arg, (double *)(void *)at)) {
        argp_failure(state, EXIT_USAGE, 0, "--%s %s is not a time from %g to %g seconds, as in 10s, 500ms or 2min",
                     r->name, arg, r->min, r->max);
      }
      return;
    case COUNT:
    case REAL:
      if (!parse_number(r, arg, &x)) {
        argp_failure(state, EXIT_USAGE, 0, "--%s %s is not a%s number from %.15g to %.15g", r->name, arg,
                     r->kind == COUNT ? " whole" : "", r->min, r->max);
      } else if (r->kind == COUNT) {
        *(int64_t *)(void *)at = (int64_t)x;
      } else {
        *(double *)(void *)at = x;
      }
      return;
  }
}

int options_given(const options *o, const char *name) {
  for (int i = 0; i < o->n_given; i++) {
    if (strcmp(o->given[i], name) == 0) return 1;
  }
  return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  parsing *p = state->input;
  const option_row *r = find_key(p->wanted->mask, key);
  if (r) {
    store(r, arg ? present_value(r, arg) : NULL, p->o, state);
    if (!options_given(p->o, r->name)) p->o->given[p->o->n_given++] = r->name;
    return 0;
  }
  if (key == ARGP_KEY_ARG) {
    const char **to = !p->o->file ? &p->o->file : &p->o->second;
    const char *name = !p->o->file ? p->wanted->file : p->wanted->second;
    if (!name || *to) argp_failure(state, EXIT_USAGE, 0, "one argument too many: %s", arg);
    *to = arg;
    return 0;
  }
  if (key == ARGP_KEY_END && p->wanted->file && !p->o->file)
    argp_failure(state, EXIT_USAGE, 0, "%s is missing", p->wanted->file);
  if (key == ARGP_KEY_END && p->wanted->second && p->wanted->second[0] != '[' && !p->o->second)
    argp_failure(state, EXIT_USAGE, 0, "%s is missing", p->wanted->second);
  return key == ARGP_KEY_ARG || key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
}

static unsigned shown_commands; /* of the command being parsed, for option_name */

static const char *option_name(int32_t row) {
  for (int i = 0; i < ROWS; i++) {
    if ((rows[i].commands & shown_commands) && row-- == 0) return rows[i].name;
  }
  return NULL;
}

static int is_alias(const char *name) {
  for (int i = 0; i < ALIASES; i++) {
    if (strcmp(aliases[i].old, name) == 0) return plim_name_find(option_name, aliases[i].name) >= 0;
  }
  return 0;
}

/* argp would only say that an option is unknown; say which one may have been meant. */
static void check_names(const command *c, int argc, char **argv) {
  shown_commands = c->mask;
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
    char name[64];
    if (strncmp(argv[i], "--", 2) != 0) continue;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(argv[i] + 2, "="), argv[i] + 2);
    if (strcmp(name, "help") == 0 || strcmp(name, "usage") == 0 || strcmp(name, "version") == 0) continue;
    if (plim_name_find(option_name, name) >= 0 || is_alias(name)) continue;
    (void)fprintf(stderr, "plimsoll: %s has no option --%s; did you mean --%s?\n", c->name, name,
                  plim_name_nearest(option_name, name));
    exit(EXIT_USAGE);
  }
}

/* Behind its option, an alias is that option under another name. */
static int fill_aliases(const option_row *r, struct argp_option *to) {
  int n = 0;
  for (int i = 0; i < ALIASES; i++) {
    if (strcmp(aliases[i].name, r->name) != 0) continue;
    to[n++] = (struct argp_option){.name = aliases[i].old, .flags = OPTION_ALIAS | OPTION_HIDDEN, .group = r->group};
  }
  return n;
}

/* The command's rows in argp's form, a title before each group. */
static void fill_argp(const command *c, struct argp_option *to) {
  int n = 0;
  for (int group = 1; group < GROUP_COUNT; group++) {
    int titled = 0;
    for (int i = 0; i < ROWS; i++) {
      if (rows[i].group != group || !(rows[i].commands & c->mask)) continue;
      if (!titled) to[n++] = (struct argp_option){.doc = group_title[group], .group = group};
      titled = 1;
      to[n++] = (struct argp_option){
          .name = rows[i].name, .key = row_key(i), .arg = rows[i].arg, .doc = rows[i].doc, .group = group};
      n += fill_aliases(&rows[i], to + n);
    }
  }
  to[n] = (struct argp_option){0};
}

void options_parse(const command *c, int argc, char **argv, options *o) {
  struct argp_option option[MAX_ROWS + ALIASES + GROUP_COUNT] = {{0}};
  static char doc[6000], name[64], arguments[64];
  parsing p = {c, o};
  *o = (options){.command = c->mask,
                 .thrash = 1,
                 .retime = -1,
                 .model = "resnet20",
                 .data = "fashion-mnist",
                 .device = "cpu",
                 .layout = "auto",
                 .math = "fp32",
                 .addresses = "planned",
                 .batch = 128,
                 .epochs = 1,
                 .at = -1,
                 .seed = 1,
                 .rate = -1,
                 .spread = -1,
                 .edges = -1,
                 .skips = -1,
                 .momentum = 0.9,
                 .weight_decay = 5e-4};
  check_names(c, argc, argv);
  fill_argp(c, option);
  (void)snprintf(doc, sizeof doc, "%s\v%s", c->about, c->after);
  (void)snprintf(name, sizeof name, "plimsoll %s", c->name);
  (void)snprintf(arguments, sizeof arguments, "%s%s%s", c->file ? c->file : "", c->second ? " " : "",
                 c->second ? c->second : "");
  struct argp argp = {.options = option, .parser = parse, .args_doc = arguments, .doc = doc};
  argv[0] = name;
  argp_err_exit_status = EXIT_USAGE;
  (void)argp_parse(&argp, argc, argv, 0, NULL, &p);
}
