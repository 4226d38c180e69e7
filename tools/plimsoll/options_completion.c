/* Completion of commands, options, names and files for three shells, as text that the shell reads once. */
#include <string.h>

#include "tools/plimsoll/commands.h"

static const char *const shells[] = {"bash", "zsh", "fish"};

/* Does its value name a file? */
static int is_file(const option_row *r) {
  return r->arg && (strcmp(r->arg, "FILE") == 0 || strcmp(r->arg, "DIR") == 0);
}

static void print_names(const option_values_row *values, FILE *to) {
  for (int32_t i = 0; values && values->at(i); i++) (void)fprintf(to, "%s%s", i > 0 ? " " : "", values->at(i));
}

static void print_commands(FILE *to) {
  for (int i = 0; command_at(i); i++) (void)fprintf(to, "%s ", command_at(i)->name);
  (void)fputs("help completion", to);
}

/* ---- bash ---- */

static void bash_command(const command *c, FILE *to) {
  (void)fprintf(to, "    %s)\n      case $previous in\n", c->name);
  for (int i = 0; option_row_at(i); i++) {
    const option_row *r = option_row_at(i);
    const option_values_row *values = option_values_find(c->mask, r->name);
    if (!(r->commands & c->mask) || !r->arg) continue;
    (void)fprintf(to, "        --%s", r->name);
    if (r->letter) (void)fprintf(to, "|-%c", r->letter);
    (void)fputs(") ", to);
    if (values) {
      (void)fputs("words=\"", to);
      print_names(values, to);
      (void)fputs("\" ;;\n", to);
    } else {
      (void)fprintf(to, "%s ;;\n", is_file(r) ? "files=1" : "return 0");
    }
  }
  (void)fputs("        *) words=\"", to);
  for (int i = 0; option_row_at(i); i++) {
    if (option_row_at(i)->commands & c->mask) (void)fprintf(to, "--%s ", option_row_at(i)->name);
  }
  (void)fputs("--help --version\"", to);
  if (option_values_find(c->mask, "")) {
    (void)fputs("\n           [ \"$COMP_CWORD\" -eq 2 ] && words=\"$words ", to);
    print_names(option_values_find(c->mask, ""), to);
    (void)fputs("\"", to);
  }
  (void)fprintf(to, "\n           files=%d ;;\n      esac ;;\n", c->file != NULL);
}

static void bash(FILE *to) {
  (void)fputs(
      "# bash completion for plimsoll\n"
      "_plimsoll() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words= files=0\n"
      "  # bash takes --name=value apart at the sign\n"
      "  [ \"$previous\" = = ] && previous=${COMP_WORDS[COMP_CWORD-2]}\n"
      "  [ \"$word\" = = ] && word=\n"
      "  case $COMP_CWORD:${COMP_WORDS[1]} in\n"
      "    1:*) words=\"",
      to);
  print_commands(to);
  (void)fputs(" --help --version\" ;;\n    *:help) words=\"", to);
  print_commands(to);
  (void)fputs(
      "\" ;;\n    *:completion) words=\"bash zsh fish\" ;;\n  esac\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] && case ${COMP_WORDS[1]} in\n",
      to);
  for (int i = 0; command_at(i); i++) bash_command(command_at(i), to);
  (void)fputs(
      "  esac\n"
      "  COMPREPLY=()\n"
      "  while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(\n"
      "    compgen -W \"$words\" -- \"$word\"\n"
      "    [ $files -eq 1 ] && [[ $word != -* ]] && compgen -f -- \"$word\")\n"
      "  return 0\n"
      "}\n"
      "complete -o filenames -F _plimsoll plimsoll\n",
      to);
}

/* ---- zsh ---- */

/* A description between brackets and single quotes. */
static void zsh_doc(const char *doc, FILE *to) {
  for (; *doc; doc++) {
    if (strchr("[]:\\", *doc)) (void)fputc('\\', to);
    if (*doc == '\'') {
      (void)fputs("'\\''", to);
    } else {
      (void)fputc(*doc, to);
    }
  }
}

static void zsh_option(const command *c, const option_row *r, FILE *to) {
  const option_values_row *values = option_values_find(c->mask, r->name);
  (void)fputs("        ", to);
  if (r->letter) {
    (void)fprintf(to, "'(-%c --%s)'{-%c%s,--%s%s}'", r->letter, r->name, r->letter, r->arg ? "+" : "", r->name,
                  r->arg ? "=" : "");
  } else {
    (void)fprintf(to, "'--%s%s", r->name, r->arg ? "=" : "");
  }
  (void)fputc('[', to);
  zsh_doc(r->doc, to);
  (void)fputc(']', to);
  if (r->arg) {
    (void)fputc(':', to);
    zsh_doc(r->arg, to);
    (void)fputs(values ? ":(" : is_file(r) ? ":_files" : ":", to);
    print_names(values, to);
    if (values) (void)fputc(')', to);
  }
  (void)fputs("' \\\n", to);
}

static void zsh(FILE *to) {
  (void)fputs("#compdef plimsoll\n_plimsoll() {\n  local -a commands\n  commands=(\n", to);
  for (int i = 0; command_at(i); i++) {
    (void)fprintf(to, "    '%s:", command_at(i)->name);
    zsh_doc(command_at(i)->summary, to);
    (void)fputs("'\n", to);
  }
  (void)fputs(
      "    'help:describe a command'\n    'completion:print the completion of a shell'\n  )\n"
      "  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local name=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $name in\n",
      to);
  for (int i = 0; command_at(i); i++) {
    const command *c = command_at(i);
    const option_values_row *values = option_values_find(c->mask, "");
    (void)fprintf(to, "    %s)\n      _arguments -s \\\n", c->name);
    for (int k = 0; option_row_at(k); k++) {
      if (option_row_at(k)->commands & c->mask) zsh_option(c, option_row_at(k), to);
    }
    if (values) {
      (void)fprintf(to, "        '1:%s:(", c->file);
      print_names(values, to);
      (void)fputs(")' \\\n", to);
    }
    (void)fprintf(to, "        %s ;;\n", c->file ? "'*:file:_files'" : "'--help[describe the command]'");
  }
  (void)fputs(
      "    help) _describe command commands ;;\n    completion) _values shell bash zsh fish ;;\n  esac\n}\n"
      "_plimsoll \"$@\"\n",
      to);
}

/* ---- fish ---- */

static void fish_quote(const char *text, FILE *to) {
  (void)fputc('\'', to);
  for (; *text; text++) {
    if (*text == '\'' || *text == '\\') (void)fputc('\\', to);
    (void)fputc(*text, to);
  }
  (void)fputc('\'', to);
}

static void fish_command(const command *c, FILE *to) {
  for (int i = 0; option_row_at(i); i++) {
    const option_row *r = option_row_at(i);
    const option_values_row *values = option_values_find(c->mask, r->name);
    if (!(r->commands & c->mask)) continue;
    (void)fprintf(to, "complete -c plimsoll -n '__fish_seen_subcommand_from %s' -l %s", c->name, r->name);
    if (r->letter) (void)fprintf(to, " -s %c", r->letter);
    if (r->arg) (void)fputs(is_file(r) ? " -rF" : " -x", to);
    if (values) {
      (void)fputs(" -a '", to);
      print_names(values, to);
      (void)fputc('\'', to);
    }
    (void)fputs(" -d ", to);
    fish_quote(r->doc, to);
    (void)fputc('\n', to);
  }
  if (!c->file) {
    (void)fprintf(to, "complete -c plimsoll -n '__fish_seen_subcommand_from %s' -f\n", c->name);
  } else if (option_values_find(c->mask, "")) {
    (void)fprintf(to, "complete -c plimsoll -n '__fish_seen_subcommand_from %s' -a '", c->name);
    print_names(option_values_find(c->mask, ""), to);
    (void)fputs("'\n", to);
  }
}

static void fish(FILE *to) {
  (void)fputs("# fish completion for plimsoll\n", to);
  for (int i = 0; command_at(i); i++) {
    (void)fprintf(to, "complete -c plimsoll -n __fish_use_subcommand -f -a %s -d ", command_at(i)->name);
    fish_quote(command_at(i)->summary, to);
    (void)fputc('\n', to);
    fish_command(command_at(i), to);
  }
  (void)fputs("complete -c plimsoll -n __fish_use_subcommand -f -a help -d 'describe a command'\n", to);
  (void)fputs("complete -c plimsoll -n '__fish_seen_subcommand_from help' -f -a '", to);
  print_commands(to);
  (void)fputs(
      "'\ncomplete -c plimsoll -n __fish_use_subcommand -f -a completion -d 'print the completion of a shell'\n"
      "complete -c plimsoll -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n",
      to);
}

int options_completion(const char *shell, FILE *to) {
  static void (*const print[])(FILE * to) = {bash, zsh, fish};
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
    if (strcmp(shell, shells[i]) != 0) continue;
    print[i](to);
    return 1;
  }
  return 0;
}
