/* What --help prints, and the man page in man(7): from the same rows. */
#include <ctype.h>
#include <string.h>

#include "tools/plimsoll/commands.h"

/* ==== --help ==== */

/* What --help prints: usage, paragraphs, options by group, examples, exit statuses. Lines are at most 79 columns wide.
 */

enum { WIDTH = 79, DOC_COLUMN = 29, NAME_COLUMN = 26 };

const char command_exit_status[] =
    "  0    done\n"
    "  1    a difference, or a bad plan\n"
    "  2    usage: the command line cannot be followed, as a graph that is too\n"
    "       large for the planner that was asked for\n"
    "  3    data: a file that is not there, is wrong or is too large\n"
    "  4    does not fit into the memory given\n"
    "  5    device, I/O, permission, a solver or library that is missing, no memory\n"
    "       from the system, or a loss that is not finite\n"
    "  130  Ctrl-C: the step under way is finished; a second Ctrl-C ends at once\n"
    "  143  SIGTERM: the same; 129 after SIGHUP, when the terminal has gone\n";

const char command_environment[] =
    "  XDG_CACHE_HOME   folder of measured profiles and found plans (default ~/.cache)\n"
    "  NO_COLOR         set to anything: the stepper uses no colours\n"
    "  PLIM_ISA         instruction set of the kernels on a CPU, as in x86-64-v3\n"
    "                   (default: the best that the CPU has)\n"
    "  PLIM_POWERCAP    folder of the processors' energy counters (default\n"
    "                   /sys/class/powercap); train prints what they count\n"
    "  OMP_WAIT_POLICY, GOMP_SPINCOUNT  how threads wait; the program sets them itself\n"
    "                   unless one of them is given\n"
    "  PLIM_CUDA_LIBS, PLIM_CUDNN, PLIM_CUBLAS  see plimsoll help train\n"
    "  PLIM_HIGHS, PLIM_CBC, PLIM_SOLVER, XDG_DATA_HOME\n"
    "                   see plimsoll help solvers\n";

/* Words of one paragraph. */
static void wrap_paragraph(FILE *to, const char *text, size_t length, int indent) {
  int column = indent, first = 1;
  for (size_t i = 0; i < length;) {
    size_t word = strcspn(text + i, " \n");
    if (word > length - i) word = length - i;
    if (!first && column + 1 + (int)word > WIDTH) {
      (void)fprintf(to, "\n%*s", indent, "");
      column = indent;
      first = 1;
    }
    (void)fprintf(to, "%s%.*s", first ? "" : " ", (int)word, text + i);
    column += (int)word + !first;
    first = 0;
    i += word;
    while (i < length && (text[i] == ' ' || text[i] == '\n')) i++;
  }
  (void)fputc('\n', to);
}

/* From column `indent` on, where further lines begin too. Ends the line. */
static void print_wrapped(FILE *to, const char *text, int indent) {
  while (text) {
    const char *end = strstr(text, "\n\n");
    wrap_paragraph(to, text, end ? (size_t)(end - text) : strlen(text), indent);
    text = end ? end + 2 : NULL;
    if (text) (void)fprintf(to, "\n%*s", indent, "");
  }
}

static void print_option(const option_row *r, FILE *to) {
  char name[128];
  char letter[8] = "    ";
  if (r->letter) (void)snprintf(letter, sizeof letter, "-%c, ", r->letter);
  (void)snprintf(name, sizeof name, "  %s--%s%s%s", letter, r->name, r->arg ? "=" : "", r->arg ? r->arg : "");
  int length = (int)strlen(name);
  if (length > NAME_COLUMN) {
    (void)fprintf(to, "%s\n%*s", name, DOC_COLUMN, "");
  } else {
    (void)fprintf(to, "%-*s", DOC_COLUMN, name);
  }
  print_wrapped(to, r->doc, DOC_COLUMN);
}

static void print_usage(const command *c, FILE *to) {
  (void)fprintf(to, "Usage: plimsoll %s [OPTION...]%s%s%s%s\n", c->name, c->file ? " " : "", c->file ? c->file : "",
                c->second ? " " : "", c->second ? c->second : "");
}

void options_usage(const command *c, FILE *to) {
  print_usage(c, to);
  for (int i = 0; option_row_at(i); i++) {
    const option_row *r = option_row_at(i);
    if (r->commands & c->mask) (void)fprintf(to, "  --%s%s%s\n", r->name, r->arg ? "=" : "", r->arg ? r->arg : "");
  }
}

static void print_lists(const command *c, FILE *to) {
  enum { NAME_WIDTH = 11, ABOUT_COLUMN = 2 + NAME_WIDTH + 2 };
  for (const command_list *list = c->lists; list && list->title; list++) {
    (void)fprintf(to, "\n%s\n", list->title);
    for (int32_t row = 0; list->name(row); row++) {
      (void)fprintf(to, "  %-*s  ", NAME_WIDTH, list->name(row));
      print_wrapped(to, list->about(row), ABOUT_COLUMN);
    }
  }
}

void options_help(const command *c, FILE *to) {
  print_usage(c, to);
  print_wrapped(to, c->about, 0);
  for (int group = 1; group < GROUP_COUNT; group++) {
    int titled = 0;
    for (int i = 0; option_row_at(i); i++) {
      const option_row *r = option_row_at(i);
      if (r->group != group || !(r->commands & c->mask)) continue;
      if (!titled) (void)fprintf(to, "\n %s\n", option_group_title(group));
      titled = 1;
      print_option(r, to);
    }
  }
  (void)fprintf(
      to,
      "\n  -h, --help                 print this text\n      --usage                print the names of the options "
      "alone\n      --version              print the version\n\n");
  (void)fprintf(to,
                "A file named - is standard input or standard output; a document on standard\noutput sends the "
                "figures to standard error. Long options may be cut to what\nis unique.\n");
  print_lists(c, to);
  (void)fprintf(to, "\n%s\nEXIT STATUS\n%s", c->after, command_exit_status);
}

/* Titles above the commands of one kind: the first command below each of them. */
static const struct {
  const command *first;
  const char *title;
} kinds[] = {
    {&command_train, "Train a model"},       {&command_plan, "Plan"},    {&command_trace, "Look at a run"},
    {&command_import, "Graphs of your own"}, {&command_solvers, "More"},
};

void options_overview(FILE *to) {
  (void)fprintf(to,
                "Usage: plimsoll COMMAND [OPTION...]\n"
                "Trains a network inside a fixed number of bytes: plans what to keep and what to\n"
                "recompute, checks the plan, and replays it from one arena.\n\n"
                "Examples:\n"
                "  plimsoll train --model resnet20 --memory 50%%   # in half of the bytes\n"
                "  plimsoll train --model resnet20 --data synthetic --memory 64MiB --steps 20\n"
                "  plimsoll plan --model resnet20 --memory 64MiB -o plan.json\n\n"
                "Commands:");
  for (int i = 0; command_at(i); i++) {
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
      if (kinds[k].first == command_at(i)) (void)fprintf(to, "\n %s\n", kinds[k].title);
    }
    (void)fprintf(to, "  %-10s  %s\n", command_at(i)->name, command_at(i)->summary);
  }
  (void)fprintf(to,
                "  help        describe a command, as in plimsoll help train\n"
                "  completion  print a shell's completion, as in plimsoll completion bash\n"
                "\nOptions:\n"
                "  -h, --help     print this text, or after a command describe it\n"
                "      --usage    after a command: print the names of its options alone\n"
                "  -V, --version  print the version\n"
                "      --man      after help: print the manual page, for man -l -\n"
                "\nExit status of every command:\n%s"
                "\nEnvironment:\n%s",
                command_exit_status, command_environment);
}

void options_completion_help(FILE *to) {
  (void)fputs(
      "Usage: plimsoll completion bash|zsh|fish\n"
      "Print what makes the shell complete commands, options and names.\n\n"
      "EXAMPLES\n"
      "  plimsoll completion bash >~/.local/share/bash-completion/completions/plimsoll\n"
      "  plimsoll completion zsh >~/.zfunc/_plimsoll     in a folder of $fpath\n"
      "  plimsoll completion fish >~/.config/fish/completions/plimsoll.fish\n",
      to);
}

/* ==== man ==== */

/* The man page in man(7): every command with its options, from the same rows as --help. */

/* Text as roff takes it: no minus becomes a hyphen, no line a request. */
static void print_text(FILE *to, const char *text, size_t length) {
  int begins = 1;
  for (size_t i = 0; i < length; i++) {
    if (begins && (text[i] == '.' || text[i] == '\'')) (void)fputs("\\&", to);
    if (text[i] == '-') {
      (void)fputs("\\-", to);
    } else if (text[i] == '\\') {
      (void)fputs("\\e", to);
    } else {
      (void)fputc(text[i], to);
    }
    begins = text[i] == '\n';
  }
}

static void print_paragraphs(FILE *to, const char *text) {
  while (text) {
    const char *end = strstr(text, "\n\n");
    print_text(to, text, end ? (size_t)(end - text) : strlen(text));
    text = end ? end + 2 : NULL;
    (void)fputs(text ? "\n.PP\n" : "\n", to);
  }
}

/* "EXAMPLES" and indented lines below it: a title, and lines as they are. */
static void print_sections(FILE *to, const char *text) {
  int filled = 1;
  while (*text) {
    size_t length = strcspn(text, "\n");
    int title = isupper((unsigned char)*text);
    if (title != filled) (void)fputs(title ? ".fi\n" : ".nf\n", to);
    filled = title;
    if (title) (void)fputs(".PP\n.B ", to);
    print_text(to, text, length);
    (void)fputc('\n', to);
    text += length + (text[length] == '\n');
  }
  if (!filled) (void)fputs(".fi\n", to);
}

static void print_options(FILE *to, const command *c) {
  for (int group = 1; group < GROUP_COUNT; group++) {
    int titled = 0;
    for (int i = 0; option_row_at(i); i++) {
      const option_row *r = option_row_at(i);
      if (r->group != group || !(r->commands & c->mask)) continue;
      if (!titled) (void)fprintf(to, ".PP\n.I %s\n", option_group_title(group));
      titled = 1;
      (void)fputs(".TP\n", to);
      if (r->letter) (void)fprintf(to, "\\fB\\-%c\\fR, ", r->letter);
      (void)fputs("\\fB\\-\\-", to);
      print_text(to, r->name, strlen(r->name));
      (void)fputs("\\fR", to);
      if (r->arg) (void)fprintf(to, "=\\fI%s\\fR", r->arg);
      (void)fputc('\n', to);
      print_text(to, r->doc, strlen(r->doc));
      (void)fputc('\n', to);
    }
  }
}

static void man_lists(FILE *to, const command *c) {
  for (const command_list *list = c->lists; list && list->title; list++) {
    (void)fprintf(to, ".PP\n.B %s\n", list->title);
    for (int32_t row = 0; list->name(row); row++) {
      (void)fprintf(to, ".TP\n\\fB%s\\fR\n", list->name(row));
      print_text(to, list->about(row), strlen(list->about(row)));
      (void)fputc('\n', to);
    }
  }
}

static void print_command(FILE *to, const command *c) {
  (void)fprintf(to, ".SH \"plimsoll %s\"\n\\fBplimsoll %s\\fR [\\fIOPTION\\fR...]", c->name, c->name);
  if (c->file) (void)fprintf(to, " \\fI%s\\fR", c->file);
  if (c->second) (void)fprintf(to, " \\fI%s\\fR", c->second);
  (void)fputs("\n.PP\n", to);
  print_paragraphs(to, c->about);
  print_options(to, c);
  man_lists(to, c);
  print_sections(to, c->after);
}

void options_man(FILE *to) {
  (void)fprintf(to,
                ".TH PLIMSOLL 1 \"\" \"plimsoll %s\" \"User Commands\"\n"
                ".SH NAME\nplimsoll \\- trains a network inside a fixed number of bytes\n"
                ".SH SYNOPSIS\n\\fBplimsoll\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
                ".SH DESCRIPTION\nPlans what to keep and what to recompute, checks the plan, and replays it from one "
                "arena.\n"
                ".PP\nA file named \\- is standard input or standard output; a document on standard output sends the "
                "figures to standard error. Long options may be cut to what is "
                "unique. Every command takes \\-\\-help and \\-\\-version.\n"
                ".SH COMMANDS\n",
                PLIM_VERSION);
  for (int i = 0; command_at(i); i++) {
    (void)fprintf(to, ".TP\n\\fB%s\\fR\n", command_at(i)->name);
    print_text(to, command_at(i)->summary, strlen(command_at(i)->summary));
    (void)fputc('\n', to);
  }
  (void)fputs(".TP\n\\fBhelp\\fR\ndescribe a command\n.TP\n\\fBcompletion\\fR\nprint the completion of a shell\n", to);
  for (int i = 0; command_at(i); i++) print_command(to, command_at(i));
  (void)fputs(".SH \"EXIT STATUS\"\n.nf\n", to);
  print_text(to, command_exit_status, strlen(command_exit_status));
  (void)fputs(".fi\n.SH ENVIRONMENT\n.nf\n", to);
  print_text(to, command_environment, strlen(command_environment));
  (void)fputs(".fi\n", to);
}
