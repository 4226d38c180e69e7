/* Stepping by lines: where one can go, and a table of the lines. */
#include "tools/plimsoll/trace/trace_prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plimsoll/process.h"
#include "tools/plimsoll/trace/trace_panes.h"
#include "tools/plimsoll/trace/trace_views.h"

/* ==== where to go ==== */

/* A row a jump. Each asks command after command until it finds what it looks for. */

static plim_status always(const traced *t, int32_t command, int *yes) {
  (void)t, (void)command;
  *yes = 1;
  return PLIM_OK;
}

static plim_status runs_again(const traced *t, int32_t command, int *yes) {
  *yes = plim_inspect_is_repeat(t->inspect, command);
  return PLIM_OK;
}

static plim_status fails(const traced *t, int32_t command, int *yes) {
  *yes = traced_fails_at(t, command);
  return PLIM_OK;
}

static plim_status ends_buffer(const traced *t, int32_t command, int *yes) {
  *yes = 0;
  for (int32_t i = 0; i < t->plan->n_buffers && !*yes; i++) {
    *yes = t->plan->buffer[i].storage >= 0 && t->plan->buffer[i].end == command + 1;
  }
  return PLIM_OK;
}

/* Online: room is made before the command. Planned: what ends after the command is recomputed later. */
static plim_status evicts(const traced *t, int32_t command, int *yes) {
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

static const trace_jump jumps[] = {
    {'n', "next command", "command", 1, always},
    {'p', "previous command", "command", -1, always},
    {'r', "next command that runs an op again", "op run again", 1, runs_again},
    {'R', "previous such command", "op run again", -1, runs_again},
    {'d', "next command with an eviction, or a drop of what is needed again", "eviction or drop", 1, evicts},
    {'D', "previous such command", "eviction or drop", -1, evicts},
    {'e', "next command at which a lifetime ends", "end of a buffer", 1, ends_buffer},
    {'E', "previous such command", "end of a buffer", -1, ends_buffer},
    {'o', "the command that runs out of memory, or is given up", "request without room", 1, fails},
};
enum { JUMPS = sizeof jumps / sizeof *jumps };

const trace_jump *trace_jump_at(int32_t i) {
  return i >= 0 && i < JUMPS ? &jumps[i] : NULL;
}

const trace_jump *trace_jump_find(char key) {
  for (int i = 0; i < JUMPS; i++) {
    if (jumps[i].key == key) return &jumps[i];
  }
  return NULL;
}

plim_status trace_jump_to(const trace_jump *jump, const traced *t, int32_t from, int32_t *command) {
  *command = -1;
  for (int32_t j = from + jump->direction; j >= 0 && j < t->plan->n_commands && *command < 0; j += jump->direction) {
    int yes;
    PLIM_TRY(jump->happens(t, j, &yes));
    if (yes) *command = j;
  }
  return PLIM_OK;
}

/* ---- two runs ---- */

static int same_run(const traced *a, const traced *b, int32_t j) {
  const plim_command *x = &a->plan->command[j], *y = &b->plan->command[j];
  if (x->kind != y->kind || x->op != y->op) return 0;
  return strcmp(a->plan->variant[x->variant].variant.name, b->plan->variant[y->variant].variant.name) == 0;
}

/* The first command at which a lifetime begins, ends or lies elsewhere in the other plan. Buffers are sorted by begin.
 */
static int32_t first_other_buffer(const plim_plan *a, const plim_plan *b, int32_t n_commands) {
  int32_t least = n_commands;
  for (int32_t i = 0; i < a->n_buffers && i < b->n_buffers; i++) {
    const plim_plan_buffer *x = &a->buffer[i], *y = &b->buffer[i];
    int32_t begin = x->begin < y->begin ? x->begin : y->begin, end = x->end < y->end ? x->end : y->end;
    if (begin >= least) return least;
    if (x->storage != y->storage || x->begin != y->begin || x->offset != y->offset) return begin;
    if (x->end != y->end && end < least) least = end;
  }
  return least;
}

plim_status trace_divergence(const traced *a, const traced *b, trace_parting *out) {
  if (strcmp(a->graph->fingerprint, b->graph->fingerprint) != 0) {
    return plim_fail(a->ctx, PLIM_EDATA, "these are runs of different graphs: %s, %.12s, and %s, %.12s", a->graph->name,
                     a->graph->fingerprint, b->graph->name, b->graph->fingerprint);
  }
  int32_t n = a->plan->n_commands < b->plan->n_commands ? a->plan->n_commands : b->plan->n_commands, run = n, place = n;
  for (int32_t j = 0; j < n && run == n; j++) {
    if (!same_run(a, b, j)) run = j;
  }
  if (a->plan->packed && b->plan->packed) place = first_other_buffer(a->plan, b->plan, n);
  int equal_length = a->plan->n_commands == b->plan->n_commands;
  *out = (trace_parting){run == n && equal_length ? -1 : run, place == n && equal_length ? -1 : place};
  return PLIM_OK;
}

int32_t trace_parting_command(const traced *a, const trace_parting *parting) {
  int32_t command = parting->run >= 0 ? parting->run : parting->place;
  return command < a->plan->n_commands ? command : -1;
}

void trace_parting_say(const traced *a, const traced *b, const trace_parting *parting, char *text, size_t size) {
  int32_t run = parting->run, place = parting->place;
  if (run < 0 && place < 0) {
    (void)snprintf(text, size, "the two runs are equal");
  } else if (run < 0) {
    (void)snprintf(text, size,
                   "the same commands; the other run has something elsewhere, or for another time, from here on");
  } else {
    const char *op = run < b->plan->n_commands ? traced_op_name(b, run) : "its end";
    int n = snprintf(text, size,
                     run < a->plan->n_commands ? "the other run has %s here"
                                               : "equal as far as this run goes; the other has %s then",
                     op);
    int also = place >= 0 && place < run && n > 0 && (size_t)n < size;
    if (also) (void)snprintf(text + n, size - (size_t)n, "; places differ from command %d on", (int)place);
  }
}

/* ==== the lines ==== */

/* What can be typed: each line moves to a command of the plan, or shows something about the current one. */

enum { LINE = 512 };

typedef struct prompt_state {
  const traced *t, *other; /* other NULL: none */
  FILE *to;
  int32_t command;
  int ended;
} prompt_state;

/* What a line does; `word` is what stands after it, "" for nothing. */
typedef plim_status prompt_action(prompt_state *p, const char *word);

static plim_status go(prompt_state *p, int32_t command) {
  if (command < 0 || command >= p->t->plan->n_commands) {
    fprintf(p->to, "there is no such command: they are 0 to %d\n", (int)p->t->plan->n_commands - 1);
    return PLIM_OK;
  }
  p->command = command;
  return trace_view_command(p->t, command, p->to);
}

static plim_status to_command(prompt_state *p, const char *word) {
  char *end;
  long command = strtol(word, &end, 10);
  if (end == word || *end || command < 0 || command > INT32_MAX) {
    fprintf(p->to, "g needs the number of a command, as in g 12\n");
    return PLIM_OK;
  }
  return go(p, (int32_t)command);
}

static plim_status jump(prompt_state *p, const trace_jump *by) {
  int32_t command;
  PLIM_TRY(trace_jump_to(by, p->t, p->command, &command));
  if (command >= 0) return go(p, command);
  fprintf(p->to, "there is no %s %s command %d\n", by->none, by->direction > 0 ? "after" : "before", (int)p->command);
  return PLIM_OK;
}

static plim_status to_parting(prompt_state *p, const char *word) {
  (void)word;
  trace_parting parting = {-1, -1};
  char text[LINE];
  if (!p->other) {
    fprintf(p->to, "f compares with the run of --with FILE, and none was given\n");
    return PLIM_OK;
  }
  PLIM_TRY(trace_divergence(p->t, p->other, &parting));
  int32_t command = trace_parting_command(p->t, &parting);
  trace_parting_say(p->t, p->other, &parting, text, sizeof text);
  fprintf(p->to, "%s\n", text);
  return command < 0 ? PLIM_OK : go(p, command);
}

static plim_status show_map(prompt_state *p, const char *word) {
  (void)word;
  return trace_map_print(p->t, p->command, p->to);
}

/* After w: a policy and a size. */
static plim_status what_if(prompt_state *p, const char *word) {
  char policy[32], memory[32] = "100%";
  if (sscanf(word, "%31s %31s", policy, memory) < 1) {
    fprintf(p->to, "w needs a policy, and may have a size, as in w dtr 80%%\n");
    return PLIM_OK;
  }
  plim_status status = trace_what_if(p->t, p->command, policy, memory, 0, p->to);
  if (status != PLIM_EUSAGE) return status;
  fprintf(p->to, "%s\n", plim_context_error(p->t->ctx));
  return PLIM_OK;
}

static plim_status show_reasons(prompt_state *p, const char *word) {
  (void)word;
  return trace_view_reasons(p->t, p->command, p->to);
}

static plim_status show_residents(prompt_state *p, const char *word) {
  (void)word;
  return trace_view_residents(p->t, p->command, p->to);
}

static plim_status show_absences(prompt_state *p, const char *word) {
  (void)word;
  return trace_view_absences(p->t, p->command, p->to);
}

/* A name that is none is no reason to end. */
static plim_status show_tensor(prompt_state *p, const char *word) {
  plim_status status = trace_view_tensor(p->t, word, p->to);
  if (status != PLIM_EUSAGE) return status;
  fprintf(p->to, "%s\n", plim_context_error(p->t->ctx));
  return PLIM_OK;
}

static plim_status show_summary(prompt_state *p, const char *word) {
  (void)word;
  return trace_view_summary(p->t, 0, p->to);
}

static plim_status quit(prompt_state *p, const char *word) {
  (void)word;
  p->ended = 1;
  return PLIM_OK;
}

static plim_status help(prompt_state *p, const char *word);

static const struct {
  const char *name, *argument, *what;
  prompt_action *run;
} lines[] = {
    {"g", " N", "go to command N", to_command},
    {"f", "", "go to the first command at which the run of --with FILE differs", to_parting},
    {"m", "", "map of addresses over commands", show_map},
    {"y", "", "why: the room that was made for this command, and what is recomputed for whom", show_reasons},
    {"l", "", "what is resident, by address", show_residents},
    {"a", "", "what is absent and comes back, and why", show_absences},
    {"v", " TENSOR", "the history of a tensor", show_tensor},
    {"/", " TENSOR", "the same", show_tensor},
    {"w", " P M", "what if policy P had memory M from here on, as in w dtr 80%", what_if},
    {"s", "", "summary", show_summary},
    {"h", "", "this list", help},
    {"?", "", "the same", help},
    {"q", "", "quit", quit},
};
enum { N_LINES = sizeof lines / sizeof *lines };

static plim_status help(prompt_state *p, const char *word) {
  (void)word;
  for (int32_t i = 0; trace_jump_at(i); i++) {
    fprintf(p->to, "  %c       %s\n", trace_jump_at(i)->key, trace_jump_at(i)->what);
  }
  for (int i = 0; i < N_LINES; i++) {
    fprintf(p->to, "  %s%-7s %s\n", lines[i].name, lines[i].argument, lines[i].what);
  }
  return PLIM_OK;
}

static plim_status obey(prompt_state *p, char *line) {
  line[strcspn(line, "\r\n")] = 0;
  char *word = line + strcspn(line, " ");
  if (*word) *word++ = 0;
  word += strspn(word, " ");
  const trace_jump *by = trace_jump_find(*line ? *line : 'n'); /* an empty line: on */
  if (by && (!*line || !line[1])) return jump(p, by);
  for (int i = 0; i < N_LINES; i++) {
    if (strcmp(line, lines[i].name) == 0) return lines[i].run(p, word);
  }
  fprintf(p->to, "\"%s\" is no command; h lists them\n", line);
  return PLIM_OK;
}

plim_status trace_prompt(const traced *t, const traced *other, FILE *from, FILE *to, int prompt) {
  prompt_state p = {.t = t, .other = other, .to = to};
  char line[LINE];
  PLIM_TRY(trace_view_command(t, 0, to));
  while (!p.ended && !plim_context_cancelled(t->ctx)) {
    if (prompt) fprintf(to, "command %d> ", (int)p.command);
    (void)fflush(to);
    interrupt_breaks_reads(1);
    const char *got = fgets(line, sizeof line, from);
    interrupt_breaks_reads(0);
    if (!got) break;
    PLIM_TRY(obey(&p, line));
  }
  return PLIM_OK;
}
