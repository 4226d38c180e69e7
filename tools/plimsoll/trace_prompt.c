/* A table of commands; each moves to a step or shows something about the one at hand. */
#include "tools/plimsoll/trace_prompt.h"

#include <stdlib.h>
#include <string.h>

#include "tools/plimsoll/process.h"
#include "tools/plimsoll/trace_jump.h"
#include "tools/plimsoll/trace_map.h"
#include "tools/plimsoll/trace_views.h"
#include "tools/plimsoll/trace_what_if.h"

enum { LINE = 512 };

typedef struct prompt_state {
  const traced *t, *other; /* other NULL: none */
  FILE *to;
  int32_t step;
  int ended;
} prompt_state;

/* What a command does; `word` is what stands after it, "" for nothing. */
typedef plim_status prompt_command(prompt_state *p, const char *word);

static plim_status go(prompt_state *p, int32_t step) {
  if (step < 0 || step >= p->t->plan->n_steps) {
    fprintf(p->to, "there is no such step: they are 0 to %d\n", (int)p->t->plan->n_steps - 1);
    return PLIM_OK;
  }
  p->step = step;
  return trace_view_step(p->t, step, p->to);
}

static plim_status to_step(prompt_state *p, const char *word) {
  char *end;
  long step = strtol(word, &end, 10);
  if (end == word || *end || step < 0 || step > INT32_MAX) {
    fprintf(p->to, "g needs the number of a step, as in g 12\n");
    return PLIM_OK;
  }
  return go(p, (int32_t)step);
}

static plim_status jump(prompt_state *p, const trace_jump *by) {
  int32_t step;
  PLIM_TRY(trace_jump_to(by, p->t, p->step, &step));
  if (step >= 0) return go(p, step);
  fprintf(p->to, "there is no %s %s step %d\n", by->none, by->direction > 0 ? "after" : "before", (int)p->step);
  return PLIM_OK;
}

static plim_status to_parting(prompt_state *p, const char *word) {
  (void)word;
  trace_parting parting;
  char text[LINE];
  if (!p->other) {
    fprintf(p->to, "f compares with the run of --with FILE, and none was given\n");
    return PLIM_OK;
  }
  PLIM_TRY(trace_divergence(p->t, p->other, &parting));
  int32_t step = trace_parting_step(p->t, &parting);
  trace_parting_say(p->t, p->other, &parting, text, sizeof text);
  fprintf(p->to, "%s\n", text);
  return step < 0 ? PLIM_OK : go(p, step);
}

static plim_status show_map(prompt_state *p, const char *word) {
  (void)word;
  return trace_map_print(p->t, p->step, p->to);
}

/* After w: a policy and a size. */
static plim_status what_if(prompt_state *p, const char *word) {
  char policy[32], memory[32] = "100%";
  if (sscanf(word, "%31s %31s", policy, memory) < 1) {
    fprintf(p->to, "w needs a policy, and may have a size, as in w dtr 80%%\n");
    return PLIM_OK;
  }
  plim_status status = trace_what_if(p->t, p->step, policy, memory, 0, p->to);
  if (status != PLIM_EUSAGE) return status;
  fprintf(p->to, "%s\n", plim_context_error(p->t->ctx));
  return PLIM_OK;
}

static plim_status show_reasons(prompt_state *p, const char *word) {
  (void)word;
  return trace_view_reasons(p->t, p->step, p->to);
}

static plim_status show_residents(prompt_state *p, const char *word) {
  (void)word;
  return trace_view_residents(p->t, p->step, p->to);
}

static plim_status show_absences(prompt_state *p, const char *word) {
  (void)word;
  return trace_view_absences(p->t, p->step, p->to);
}

/* A name that is none is no reason to end. */
static plim_status show_value(prompt_state *p, const char *word) {
  plim_status status = trace_view_value(p->t, word, p->to);
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
  prompt_command *run;
} commands[] = {
    {"g", " N", "go to step N", to_step},
    {"f", "", "go to the first step at which the run of --with FILE differs", to_parting},
    {"m", "", "map of addresses over steps", show_map},
    {"y", "", "why: the room that was made for this step, and what is recomputed for whom", show_reasons},
    {"l", "", "what is resident, by address", show_residents},
    {"a", "", "what is absent and comes back, and why", show_absences},
    {"v", " VALUE", "the history of a value", show_value},
    {"/", " VALUE", "the same", show_value},
    {"w", " P M", "what if policy P had memory M from here on, as in w dtr 80%", what_if},
    {"s", "", "summary", show_summary},
    {"h", "", "these commands", help},
    {"?", "", "the same", help},
    {"q", "", "quit", quit},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static plim_status help(prompt_state *p, const char *word) {
  (void)word;
  for (int32_t i = 0; trace_jump_at(i); i++) {
    fprintf(p->to, "  %c       %s\n", trace_jump_at(i)->key, trace_jump_at(i)->what);
  }
  for (int i = 0; i < COMMANDS; i++) {
    fprintf(p->to, "  %s%-7s %s\n", commands[i].name, commands[i].argument, commands[i].what);
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
  for (int i = 0; i < COMMANDS; i++) {
    if (strcmp(line, commands[i].name) == 0) return commands[i].run(p, word);
  }
  fprintf(p->to, "\"%s\" is no command; h lists them\n", line);
  return PLIM_OK;
}

plim_status trace_prompt(const traced *t, const traced *other, FILE *from, FILE *to, int prompt) {
  prompt_state p = {.t = t, .other = other, .to = to};
  char line[LINE];
  PLIM_TRY(trace_view_step(t, 0, to));
  while (!p.ended && !plim_context_cancelled(t->ctx)) {
    if (prompt) fprintf(to, "step %d> ", (int)p.step);
    (void)fflush(to);
    interrupt_breaks_reads(1);
    const char *got = fgets(line, sizeof line, from);
    interrupt_breaks_reads(0);
    if (!got) break;
    PLIM_TRY(obey(&p, line));
  }
  return PLIM_OK;
}
