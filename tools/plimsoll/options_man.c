/* The man page in man(7): every command with its options, from the same rows as --help. */
#include <ctype.h>
#include <string.h>

#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/option_rows.h"

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

static void print_lists(FILE *to, const command *c) {
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
  print_lists(to, c);
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
