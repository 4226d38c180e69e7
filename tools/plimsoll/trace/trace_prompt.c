/* Stepping by lines. Every kind of run has the lines of one table; each moves to a command of the plan, or shows
 * something about the current one. Then the jumps and lines of each kind. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/plimsoll/process.h"
#include "tools/plimsoll/trace/trace_step.h"

enum { LINE = 512 };

/* ==== every kind ==== */

const trace_jump *trace_jump_find(const trace_jump *table, char key) {
  for (; table->key; table++) {
    if (table->key == key) return table;
  }
  return NULL;
}

plim_status trace_jump_to(const trace_jump *jump, const void *run, int32_t n_commands, int32_t from, int32_t *command) {
  *command = -1;
  for (int32_t j = from + jump->direction; j >= 0 && j < n_commands && *command < 0; j += jump->direction) {
    int yes;
    PLIM_TRY(jump->happens(run, j, &yes));
    if (yes) *command = j;
  }
  return PLIM_OK;
}

int32_t trace_command_number(const char *word) {
  char *end;
  long command = strtol(word, &end, 10);
  return end == word || *end || command < 0 || command > INT32_MAX ? -1 : (int32_t)command;
}

const char *trace_says_no_jump(const trace_jump *jump, int32_t from, char *text) {
  (void)snprintf(text, TRACE_SENTENCE, "there is no %s %s command %d", jump->none,
                 jump->direction > 0 ? "after" : "before", (int)from);
  return text;
}

const char *trace_says_no_command(int32_t n_commands, char *text) {
  (void)snprintf(text, TRACE_SENTENCE, "there is no such command: they are 0 to %d", (int)n_commands - 1);
  return text;
}

const char trace_says_no_other[] = "f compares with the run of --with FILE, and none was given";

static plim_status say(const trace_stepper *s, const char *sentence) {
  fprintf(s->to, "%s\n", sentence);
  return PLIM_OK;
}

static plim_status go(trace_stepper *s, int32_t command) {
  char text[TRACE_SENTENCE];
  if (command < 0 || command >= s->n_commands) return say(s, trace_says_no_command(s->n_commands, text));
  s->command = command;
  return s->kind->command(s->run, command, s->to);
}

static plim_status to_command(trace_stepper *s, const char *word) {
  int32_t command = trace_command_number(word);
  return command < 0 ? say(s, "g needs the number of a command, as in g 12") : go(s, command);
}

static plim_status jump(trace_stepper *s, const trace_jump *by) {
  int32_t command;
  char text[TRACE_SENTENCE];
  PLIM_TRY(trace_jump_to(by, s->run, s->n_commands, s->command, &command));
  return command >= 0 ? go(s, command) : say(s, trace_says_no_jump(by, s->command, text));
}

/* A name that is none is no reason to end. */
static plim_status say_usage(const trace_stepper *s, plim_status status) {
  return status == PLIM_EUSAGE ? say(s, plim_context_error(s->ctx)) : status;
}

plim_status trace_step_tensor(trace_stepper *s, const char *word) {
  return say_usage(s, s->kind->tensor(s->run, word, s->to));
}

static plim_status show_summary(trace_stepper *s, const char *word) {
  (void)word;
  return s->kind->summary(s->run, s->to);
}

static plim_status quit(trace_stepper *s, const char *word) {
  (void)word;
  s->ended = 1;
  return PLIM_OK;
}

static plim_status help(trace_stepper *s, const char *word);

static const trace_line lines[] = {
    {"g", " N", "go to command N", to_command},
    {"v", " TENSOR", "the history of a tensor", trace_step_tensor},
    {"/", " TENSOR", "the same", trace_step_tensor},
    {"s", "", "summary", show_summary},
    {"h", "", "this list", help},
    {"?", "", "the same", help},
    {"q", "", "quit", quit},
    {0},
};

static void print_table(const trace_line *line, FILE *to) {
  for (; line->name; line++) fprintf(to, "  %s%-7s %s\n", line->name, line->argument, line->what);
}

void trace_print_lines(const trace_kind *kind, FILE *to) {
  for (const trace_jump *j = kind->jump; j->key; j++) fprintf(to, "  %c       %s\n", j->key, j->what);
  print_table(kind->line, to);
  print_table(lines, to);
}

static plim_status help(trace_stepper *s, const char *word) {
  (void)word;
  trace_print_lines(s->kind, s->to);
  return PLIM_OK;
}

static const trace_line *find_line(const trace_line *line, const char *name) {
  while (line->name && strcmp(line->name, name) != 0) line++;
  return line->name ? line : NULL;
}

const trace_line *trace_line_find(const trace_kind *kind, const char *name) {
  const trace_line *line = find_line(kind->line, name);
  return line ? line : find_line(lines, name);
}

static plim_status obey(trace_stepper *s, char *text) {
  text[strcspn(text, "\r\n")] = 0;
  char *word = text + strcspn(text, " ");
  if (*word) *word++ = 0;
  word += strspn(word, " ");
  const trace_jump *by = trace_jump_find(s->kind->jump, *text ? *text : 'n'); /* an empty line: on */
  if (by && (!*text || !text[1])) return jump(s, by);
  const trace_line *line = trace_line_find(s->kind, text);
  if (line) return line->run(s, word);
  fprintf(s->to, "\"%s\" is no command; h lists them\n", text);
  return PLIM_OK;
}

plim_status trace_prompt(trace_stepper *s) {
  const int prompts = isatty(STDIN_FILENO);
  char line[LINE];
  PLIM_TRY(go(s, 0));
  while (!s->ended && !plim_context_cancelled(s->ctx)) {
    if (prompts) fprintf(s->to, "command %d> ", (int)s->command);
    (void)fflush(s->to);
    interrupt_breaks_reads(1);
    const char *got = fgets(line, sizeof line, stdin);
    interrupt_breaks_reads(0);
    if (!got) break;
    PLIM_TRY(obey(s, line));
  }
  return PLIM_OK;
}

/* ==== a run in one arena ==== */

static plim_status always(const void *run, int32_t command, int *yes) {
  (void)run, (void)command;
  *yes = 1;
  return PLIM_OK;
}

static plim_status runs_again(const void *run, int32_t command, int *yes) {
  const traced *t = run;
  *yes = plim_inspect_is_repeat(t->inspect, command);
  return PLIM_OK;
}

static plim_status fails(const void *run, int32_t command, int *yes) {
  const traced *t = run;
  *yes = traced_fails_at(t, command);
  return PLIM_OK;
}

static plim_status ends_buffer(const void *run, int32_t command, int *yes) {
  const traced *t = run;
  *yes = 0;
  for (int32_t i = 0; i < t->plan->n_buffers && !*yes; i++) {
    *yes = t->plan->buffer[i].storage >= 0 && t->plan->buffer[i].end == command + 1;
  }
  return PLIM_OK;
}

/* Online: room is made before the command. Planned: what ends after the command is recomputed later. */
static plim_status evicts(const void *run, int32_t command, int *yes) {
  const traced *t = run;
  const plim_decision *choice;
  int32_t first;
  *yes = traced_choices(t, command, &choice, &first) > 0;
  if (t->decisions) return PLIM_OK;
  for (int32_t i = 0; i < t->plan->n_buffers && !*yes; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    plim_absence a;
    if (buffer->storage < 0 || buffer->end != command + 1 || buffer->end >= t->plan->n_commands) continue;
    PLIM_TRY(plim_inspect_absence(t->inspect, buffer->storage, buffer->end, &a));
    *yes = a.kind == PLIM_ABSENT_DROPPED;
  }
  return PLIM_OK;
}

static const trace_jump arena_jumps[] = {
    {'n', "next command", "command", 1, always},
    {'p', "previous command", "command", -1, always},
    {'r', "next command that runs an op again", "op run again", 1, runs_again},
    {'R', "previous such command", "op run again", -1, runs_again},
    {'d', "next command with an eviction, or a drop of what is needed again", "eviction or drop", 1, evicts},
    {'D', "previous such command", "eviction or drop", -1, evicts},
    {'e', "next command at which a lifetime ends", "end of a buffer", 1, ends_buffer},
    {'E', "previous such command", "end of a buffer", -1, ends_buffer},
    {'o', "the command that runs out of memory, or is given up", "request without room", 1, fails},
    {0},
};

static plim_status to_parting(trace_stepper *s, const char *word) {
  (void)word;
  trace_parting parting = {-1, -1};
  char text[TRACE_SENTENCE];
  if (!s->other) return say(s, trace_says_no_other);
  PLIM_TRY(trace_divergence(s->run, s->other, &parting));
  int32_t command = trace_parting_command(s->run, &parting);
  trace_parting_say(s->run, s->other, &parting, text, sizeof text);
  (void)say(s, text);
  return command < 0 ? PLIM_OK : go(s, command);
}

static plim_status show_map(trace_stepper *s, const char *word) {
  (void)word;
  return trace_map_print(s->run, s->command, s->to);
}

/* After w: a policy and a size. */
static plim_status what_if(trace_stepper *s, const char *word) {
  char policy[32], memory[32] = "100%";
  if (sscanf(word, "%31s %31s", policy, memory) < 1) {
    return say(s, "w needs a policy, and may have a size, as in w dtr 80%");
  }
  return say_usage(s, trace_what_if(s->run, s->command, policy, memory, 0, s->to));
}

static plim_status show_reasons(trace_stepper *s, const char *word) {
  (void)word;
  return trace_view_reasons(s->run, s->command, s->to);
}

static plim_status show_residents(trace_stepper *s, const char *word) {
  (void)word;
  return trace_view_residents(s->run, s->command, s->to);
}

static plim_status show_absences(trace_stepper *s, const char *word) {
  (void)word;
  return trace_view_absences(s->run, s->command, s->to);
}

static const trace_line arena_lines[] = {
    {"f", "", "go to the first command at which the run of --with FILE differs", to_parting},
    {"m", "", "map of addresses over commands", show_map},
    {"y", "", "why: the room that was made for this command, and what is recomputed for whom", show_reasons},
    {"l", "", "what is resident, by address", show_residents},
    {"a", "", "what is absent and comes back, and why", show_absences},
    {"w", " P M", "what if policy P had memory M from here on, as in w dtr 80%", what_if},
    {0},
};

static plim_status view_command(const void *run, int32_t command, FILE *to) {
  return trace_view_command(run, command, to);
}

static plim_status view_tensor(const void *run, const char *name, FILE *to) {
  return trace_view_tensor(run, name, to);
}

static plim_status view_summary(const void *run, FILE *to) {
  return trace_view_summary(run, 0, to);
}

const trace_kind trace_kind_arena = {arena_jumps, arena_lines, view_command, view_tensor, view_summary};

/* ==== a run over spaces ==== */

static plim_status is_copy(const void *run, int32_t c, int *yes) {
  const traced_spaces *t = run;
  *yes = t->plan->command[c].kind == PLIM_SPACE_COMMAND_COPY;
  return PLIM_OK;
}

static plim_status is_waiting(const void *run, int32_t c, int *yes) {
  const traced_spaces *t = run;
  *yes = plim_space_inspect_cause(&t->in, c, NULL) >= 0;
  return PLIM_OK;
}

static plim_status is_repeat(const void *run, int32_t c, int *yes) {
  const traced_spaces *t = run;
  const plim_space_command *m = &t->plan->command[c];
  *yes = m->kind == PLIM_SPACE_COMMAND_RUN && t->in.run_of[m->op] != c;
  return PLIM_OK;
}

static const trace_jump space_jumps[] = {
    {'n', "next command", "command", 1, always},
    {'p', "previous command", "command", -1, always},
    {'c', "next copy", "copy", 1, is_copy},
    {'C', "previous copy", "copy", -1, is_copy},
    {'w', "next command whose queue stood idle for another", "command whose queue stood idle", 1, is_waiting},
    {'W', "previous such command", "command whose queue stood idle", -1, is_waiting},
    {'r', "next recompute", "recompute", 1, is_repeat},
    {'R', "previous recompute", "recompute", -1, is_repeat},
    {0},
};

static const trace_line space_lines[] = {
    {"f", " NAME", "the storage that an op of this name writes", trace_step_tensor}, {0}};

static plim_status space_command(const void *run, int32_t c, FILE *to) {
  return trace_spaces_step(run, c, to);
}

static plim_status space_storage(const void *run, const char *name, FILE *to) {
  return trace_spaces_storage(run, name, to);
}

static plim_status space_summary(const void *run, FILE *to) {
  return trace_spaces_summary(run, to);
}

const trace_kind trace_kind_spaces = {space_jumps, space_lines, space_command, space_storage, space_summary};
