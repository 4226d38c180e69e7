/* Parses a command line. From words to options, in the manner of GNU getopt_long: long names may be cut to what is
 * unique, options may follow arguments, "--" ends them. Allocates nothing: there is no failure but a wrong word. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/preparation.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/process.h"

enum { NAME_BYTES = 64, SENTENCE_BYTES = 1024 };

typedef struct parsing {
  const command *wanted;
  options *o;
  int argc;
  char **argv;
  int next; /* the next word */
} parsing;

/* One sentence, as an object too where --json stands among the words, and the end. */
static void refuse(const parsing *p, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
static void refuse(const parsing *p, const char *format, ...) {
  char sentence[SENTENCE_BYTES];
  int json = 0;
  va_list args;
  va_start(args, format);
  (void)vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  for (int i = 1; i < p->argc && strcmp(p->argv[i], "--") != 0; i++) {
    json = json || strcmp(p->argv[i], "--json") == 0 || strcmp(p->argv[i], "-j") == 0;
  }
  failure_print(sentence, json ? failure_object(PLIM_EUSAGE, sentence) : NULL);
  exit(plim_status_exit(PLIM_EUSAGE));
}

/* ---- values ---- */

static int parse_number(const option_row *r, const char *arg, double *x) {
  char *end;
  errno = 0;
  *x = r->kind == COUNT ? (double)strtoll(arg, &end, 10) : strtod(arg, &end);
  return errno == 0 && end != arg && *end == 0 && isfinite(*x) && *x >= r->min && *x <= r->max;
}

static const struct {
  const char *name;
  double seconds;
} time_units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"m", 60}, {"min", 60}, {"h", 3600}};
enum { TIME_UNITS = sizeof time_units / sizeof time_units[0] };

int options_time(const char *text, double *seconds) {
  char *end;
  errno = 0;
  double number = strtod(text, &end);
  for (int i = 0; i < TIME_UNITS && errno == 0 && end != text; i++) {
    *seconds = number * time_units[i].seconds;
    if (strcmp(end, time_units[i].name) == 0) return isfinite(*seconds);
  }
  return 0;
}

static int parse_seconds(const option_row *r, const char *arg, double *x) {
  return options_time(arg, x) && *x >= r->min && *x <= r->max;
}

static void store_another(const parsing *p, const option_row *r, const char *arg, option_values *to) {
  if (to->count == OPTION_VALUES) refuse(p, "--%s can be given %d times at most", r->name, OPTION_VALUES);
  to->at[to->count++] = arg;
}

static void store(const parsing *p, const option_row *r, const char *arg) {
  char *at = (char *)p->o + r->at;
  double x;
  switch (r->kind) {
    case TEXT:
      memcpy(at, &arg, sizeof arg);
      return;
    case TEXTS:
      store_another(p, r, arg, (option_values *)(void *)at);
      return;
    case FLAG:
      *(int *)(void *)at = 1;
      return;
    case SECONDS:
      if (!parse_seconds(r, arg, (double *)(void *)at)) {
        refuse(p, "--%s %s is not a time from %g to %g seconds, as in 10s, 500ms, 2min or 1h", r->name, arg, r->min,
               r->max);
      }
      return;
    case COUNT:
    case REAL:
      if (!parse_number(r, arg, &x)) {
        refuse(p, "--%s %s is not a%s number from %.15g to %.15g", r->name, arg, r->kind == COUNT ? " whole" : "",
               r->min, r->max);
      } else if (r->kind == COUNT) {
        *(int64_t *)(void *)at = (int64_t)x;
      } else {
        *(double *)(void *)at = x;
      }
      return;
  }
}

static void refuse_value(const parsing *p, const char *name, const char *value) {
  refuse(p, "--%s takes no value, but was given \"%s\"", name, value);
}

/* `value`: what stands in the word of the option itself; NULL: the next word has it. */
static void take(parsing *p, const option_row *r, const char *value) {
  options *o = p->o;
  if (r->kind == FLAG) {
    if (value) refuse_value(p, r->name, value);
  } else {
    if (!value && p->next < p->argc) value = p->argv[p->next++];
    if (!value) refuse(p, "--%s needs a value: --%s %s", r->name, r->name, r->arg);
    if (!*value) refuse(p, "--%s was given an empty value; it needs %s", r->name, r->arg);
    value = option_value_present(r, value);
  }
  store(p, r, value);
  if (options_given(o, r->name)) return;
  assert(o->n_given < OPTION_NAMES);
  o->given[o->n_given++] = r->name;
}

/* ---- words ---- */

/* What every command has beside its rows. */
static const char *const every[] = {"help", "usage", "version"};
enum { EVERY = sizeof every / sizeof every[0] };

static void answer(const parsing *p, const char *name) {
  if (strcmp(name, "version") == 0) {
    printf("plimsoll %s\n", PLIM_VERSION);
  } else if (strcmp(name, "usage") == 0) {
    options_usage(p->wanted, stdout);
  } else {
    options_help(p->wanted, stdout);
  }
  exit(0);
}

static unsigned named_command; /* of the names that option_name lists */

static const char *option_name(int32_t row) {
  for (int i = 0; option_row_at(i); i++) {
    if ((option_row_at(i)->commands & named_command) && row-- == 0) return option_row_at(i)->name;
  }
  return row >= 0 && row < EVERY ? every[row] : NULL;
}

/* The whole name of one that was cut; the name itself when nothing begins with it. */
static const char *whole_name(const parsing *p, const char *name) {
  const char *first = NULL;
  for (int32_t i = 0; option_name(i); i++) {
    if (strncmp(option_name(i), name, strlen(name)) != 0) continue;
    if (first) refuse(p, "--%s is ambiguous: --%s or --%s", name, first, option_name(i));
    first = option_name(i);
  }
  return first ? first : name;
}

static void take_long(parsing *p, const char *word) {
  char name[NAME_BYTES];
  size_t length = strcspn(word, "=");
  const char *value = word[length] ? word + length + 1 : NULL, *whole = name;
  (void)snprintf(name, sizeof name, "%.*s", (int)length, word);
  named_command = p->wanted->mask;
  const option_row *r = option_row_find(p->wanted->mask, name);
  if (!r) {
    whole = whole_name(p, name);
    r = option_row_find(p->wanted->mask, whole);
  }
  if (r) {
    take(p, r, value);
    return;
  }
  for (int i = 0; i < EVERY; i++) {
    if (strcmp(every[i], whole) != 0) continue;
    if (value) refuse_value(p, whole, value);
    answer(p, whole);
  }
  for (int i = 0; command_at(i); i++) {
    if (!option_row_find(command_at(i)->mask, name)) continue;
    refuse(p, "%s has no option --%s; plimsoll %s has it", p->wanted->name, name, command_at(i)->name);
  }
  const char *near = plim_name_near(option_name, name);
  if (near) refuse(p, "%s has no option --%s; did you mean --%s?", p->wanted->name, name, near);
  refuse(p, "%s has no option --%s; plimsoll %s --help lists them", p->wanted->name, name, p->wanted->name);
}

/* Letters of one word: flags, then at most one option with a value. */
static void take_letters(parsing *p, const char *letters) {
  for (; *letters; letters++) {
    const option_row *r = option_row_letter(p->wanted->mask, (unsigned char)*letters);
    if (!r && (*letters == 'h' || *letters == '?')) answer(p, "help");
    if (!r)
      refuse(p, "%s has no option -%c; plimsoll %s --help lists them", p->wanted->name, *letters, p->wanted->name);
    take(p, r, r->kind != FLAG && letters[1] ? letters + 1 : NULL);
    if (r->kind != FLAG) return;
  }
}

static void take_argument(parsing *p, const char *word) {
  options *o = p->o;
  const char **to = !o->file ? &o->file : &o->second;
  const char *name = !o->file ? p->wanted->file : p->wanted->second;
  if (!name || *to) refuse(p, "one argument too many: %s", word);
  if (!*word) refuse(p, "%s is empty", name);
  *to = word;
}

static void take_all(parsing *p) {
  int only_arguments = 0;
  while (p->next < p->argc) {
    const char *word = p->argv[p->next++];
    if (only_arguments || word[0] != '-' || !word[1]) {
      take_argument(p, word);
    } else if (strcmp(word, "--") == 0) {
      only_arguments = 1;
    } else if (word[1] == '-') {
      take_long(p, word + 2);
    } else {
      take_letters(p, word + 1);
    }
  }
}

/* ---- "-" ---- */

static int is_stream(const char *path) {
  return path && strcmp(path, "-") == 0;
}

/* Options whose file is written; the files of all others are read. */
static const char *const written[] = {"output", "svg", "save", "trace"};

/* Options whose file is read more than once. */
static const char *const read_again[] = {"load", "numerics"};

static int is_one_of(const option_row *r, int n, const char *const *names) {
  for (int i = 0; i < n; i++) {
    if (strcmp(names[i], r->name) == 0) return 1;
  }
  return 0;
}

/* What stands for one stream; a second one is refused. */
typedef struct stream {
  const char *name, *path; /* name: who has it, NULL: no one */
} stream;

static void take_stream(const parsing *p, stream *s, const char *name, const char **path) {
  if (s->name) refuse(p, "%s and %s cannot both be -: it is one stream", s->name, name);
  s->name = name;
  *path = s->path;
}

/* "-" becomes a path of the open descriptor. Figures make way for a document on standard output. */
static void take_streams(parsing *p) {
  options *o = p->o;
  stream in = {NULL, "/dev/stdin"}, out = {NULL, "/dev/stdout"};
  static char name[2 * OPTION_NAMES][NAME_BYTES];
  for (int i = 0; i < o->n_given; i++) {
    const option_row *r = option_row_find(p->wanted->mask, o->given[i]);
    const char *path = NULL;
    if (r->kind == TEXT) memcpy(&path, (const char *)o + r->at, sizeof path);
    if (!is_stream(path) || !strstr(r->arg, "FILE")) continue;
    (void)snprintf(name[i], NAME_BYTES, "--%s", r->name);
    const int writes = is_one_of(r, sizeof written / sizeof *written, written);
    take_stream(p, writes ? &out : &in, name[i], &path);
    if (is_one_of(r, sizeof read_again / sizeof *read_again, read_again)) path = standard_input_kept();
    if (!path) refuse(p, "%s -: standard input could not be copied", name[i]);
    memcpy((char *)o + r->at, &path, sizeof path);
  }
  if (is_stream(o->file)) take_stream(p, &in, p->wanted->file, &o->file);
  if (is_stream(o->second)) take_stream(p, &in, "FILE", &o->second);
  if (!out.name) return;
  const char *apart = standard_output_apart();
  for (int i = 0; i < o->n_given; i++) {
    const option_row *r = option_row_find(p->wanted->mask, o->given[i]);
    const char *path = NULL;
    if (r->kind == TEXT) memcpy(&path, (const char *)o + r->at, sizeof path);
    if (path == out.path) memcpy((char *)o + r->at, &apart, sizeof apart);
  }
}

/* ---- spaces ---- */

/* "cpu=48MiB,host=1GiB": the arena's size stays --memory, the other becomes the page space's.
 * "cpu:0=32MiB,cpu:1=32MiB": the arenas of two devices, or more. "cuda:0=2GiB,host=8GiB": that of a GPU, as with
 * --device. */
static void take_gpu(parsing *p, const char *name, const char *given) {
  options *o = p->o;
  const int same = strcmp(o->device, name) == 0 || (strcmp(o->device, "cuda") == 0 && strcmp(name, "cuda:0") == 0);
  if (options_given(o, "device") && !same) refuse(p, "--memory %s is not of --device %s", given, o->device);
  o->device = name;
}

/* The number of "cpu:3"; 0: it names no device after the first. */
static int device_number(const char *name) {
  int number = 0, used = 0;
  if (sscanf(name, "cpu:%9d%n", &number, &used) != 1 || name[used] || name[4] < '1' || name[4] > '9') return 0;
  return number;
}

/* Take the arena of device cpu:`number`. */
static void take_device(parsing *p, int number, const char *size, const char *given) {
  options *o = p->o;
  if (number > PLIM_PAGE_DEVICES) {
    refuse(p, "--memory %s: %d devices are the most, and cpu:%d is the last of them", given, PLIM_PAGE_DEVICES + 1,
           PLIM_PAGE_DEVICES);
  }
  if (o->device_memory[number - 1]) refuse(p, "--memory %s: cpu:%d is given twice", given, number);
  o->device_memory[number - 1] = size;
  if (o->n_devices < number) o->n_devices = number;
}

static void take_space(parsing *p, char *name, char *size, const char *given) {
  static const char *const pages[] = {"host", "disk"};
  options *o = p->o;
  const char *page = NULL;
  for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
    if (strcmp(name, pages[i]) == 0) page = pages[i];
  }
  const int gpu = strncmp(name, "cuda", 4) == 0;
  if (!size[0]) refuse(p, "--memory %s: no size follows %s=", given, name);
  const int device = device_number(name);
  const int first = strcmp(name, "cpu") == 0 || strcmp(name, "cpu:0") == 0 || gpu;
  if (first && !o->memory) {
    o->memory = size;
    if (gpu) take_gpu(p, name, given);
  } else if (device > 0) {
    take_device(p, device, size, given);
  } else if (page && !o->page_space) {
    o->page_space = page;
    o->page_memory = size;
  } else if ((first && !gpu && strncmp(o->device, "cuda", 4) != 0) ||
             (page && o->page_space && strcmp(page, o->page_space) == 0)) {
    refuse(p, "--memory %s: %s is given twice", given, name);
  } else if (page || first) {
    refuse(p, "--memory %s: give the arena, cpu or cuda:0, and one space to page to, host or disk", given);
  } else {
    refuse(p,
           "--memory %s: there is no space '%s'; there are cpu, or cpu:0, cpu:1 and so on, or cuda:0, and host and "
           "disk",
           given, name);
  }
}

static void take_spaces(parsing *p) {
  static char text[512];
  options *o = p->o;
  const char *given = o->memory_given = o->memory;
  int model = (p->wanted->mask & COMMAND_PLAN) && !o->graph;
  if (!model && !(p->wanted->mask & (COMMAND_TRAIN | COMMAND_COMPARE | COMMAND_VERIFY))) return;
  if (!given || !strchr(given, '=')) return;
  if (strlen(given) >= sizeof text) refuse(p, "--memory has %zu characters", strlen(given));
  (void)snprintf(text, sizeof text, "%s", given);
  o->memory = NULL;
  for (char *at = text, *next; at; at = next) {
    next = strchr(at, ',');
    if (next) *next++ = '\0';
    char *size = strchr(at, '=');
    if (!size) refuse(p, "--memory %s: '%s' is no NAME=SIZE", given, at);
    *size++ = '\0';
    take_space(p, at, size, given);
  }
  for (int i = 0; i < o->n_devices; i++) {
    if (o->device_memory[i]) continue;
    refuse(p, "--memory %s: cpu:%d is missing: devices have the numbers 0 to %d", given, i + 1, o->n_devices);
  }
  if (!o->memory && !o->front) refuse(p, "--memory %s: the arena needs a size too, as in cpu=48MiB", given);
}

void options_parse(const command *c, int argc, char **argv, options *o) {
  parsing p = {c, o, argc, argv, 1};
  *o = (options){.command = c->mask,
                 .thrash = 1,
                 .retime = -1,
                 .trial = -1,
                 .model = "resnet20",
                 .data = "fashion-mnist",
                 .device = "cpu",
                 .layout = "auto",
                 .math = "fp32",
                 .addresses = "planned",
                 .batch = 128,
                 .accumulate = 1,
                 .epochs = 1,
                 .at = -1,
                 .seed = 1,
                 .rate = -1,
                 .spread = -1,
                 .edges = -1,
                 .skips = -1,
                 .layers = 6,
                 .model_width = 384,
                 .heads = 6,
                 .context = 256,
                 .warmup = -1,
                 .beta2 = -1,
                 .momentum = -1,
                 .weight_decay = -1};
  take_all(&p);
  if (!options_given(o, "data")) o->data = plim_preparation_usual_data(o->model);
  const char *second = c->second ? c->second : "", *gap = c->second ? " " : "";
  const char *missing = c->file && !o->file ? c->file : *second && *second != '[' && !o->second ? second : NULL;
  if (missing) refuse(&p, "%s is missing: plimsoll %s %s%s%s", missing, c->name, c->file, gap, second);
  take_streams(&p);
  take_spaces(&p);
}
