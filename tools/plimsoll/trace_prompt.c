/* A table of commands; each moves to a step or shows something about the one at hand. */
#include "tools/plimsoll/trace_prompt.h"

#include <stdlib.h>
#include <string.h>

#include "tools/plimsoll/trace_views.h"

enum { LINE = 512 };

typedef struct prompt_state {
  const traced *t;
  FILE *to;
  int32_t step;
  int ended;
} prompt_state;

/* What a command does; `word` is what stands behind it, "" for nothing. */
typedef plim_status prompt_command(prompt_state *p, const char *word);

static plim_status go(prompt_state *p, int32_t step) {
  if (step < 0 || step >= p->t->plan->n_steps) {
    fprintf(p->to, "there is no such step: they are 0 to %d\n", (int)p->t->plan->n_steps - 1);
    return PLIM_OK;
  }
  p->step = step;
  return trace_view_step(p->t, step, p->to);
}

static plim_status next_step(prompt_state *p, const char *word) {
  (void)word;
  return go(p, p->step + 1);
}

static plim_status previous_step(prompt_state *p, const char *word) {
  (void)word;
  return go(p, p->step - 1);
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

static plim_status next_repeat(prompt_state *p, const char *word) {
  (void)word;
  for (int32_t j = p->step + 1; j < p->t->plan->n_steps; j++) {
    if (plim_inspect_is_repeat(p->t->inspect, j)) return go(p, j);
  }
  fprintf(p->to, "nothing runs again behind step %d\n", (int)p->step);
  return PLIM_OK;
}

/* A drop: the end of a life of a storage that comes back later. */
static plim_status next_drop(prompt_state *p, const char *word) {
  (void)word;
  const plim_plan *plan = p->t->plan;
  int32_t best = -1;
  for (int32_t i = 0; i < plan->n_lives; i++) {
    const plim_life *life = &plan->life[i];
    plim_absence a;
    int32_t last = life->end - 1;
    if (life->storage < 0 || last <= p->step || life->end >= plan->n_steps || (best >= 0 && last >= best)) continue;
    PLIM_TRY(plim_inspect_absence(p->t->inspect, life->storage, life->end, &a));
    if (a.kind == PLIM_ABSENT_DROPPED) best = last;
  }
  if (best >= 0) return go(p, best);
  fprintf(p->to, "nothing that is needed again is dropped behind step %d\n", (int)p->step);
  return PLIM_OK;
}

static plim_status next_end(prompt_state *p, const char *word) {
  (void)word;
  int32_t best = -1;
  for (int32_t i = 0; i < p->t->plan->n_lives; i++) {
    const plim_life *life = &p->t->plan->life[i];
    int32_t last = life->end - 1;
    if (life->storage >= 0 && last > p->step && (best < 0 || last < best)) best = last;
  }
  return go(p, best < 0 ? p->step : best);
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
    {"n", "", "next step (also an empty line)", next_step},
    {"p", "", "previous step", previous_step},
    {"g", " N", "go to step N", to_step},
    {"r", "", "on to the next step that runs an op again", next_repeat},
    {"d", "", "on to the next step behind which something is dropped that is needed again", next_drop},
    {"e", "", "on to the next step at which a life ends", next_end},
    {"l", "", "what is resident, by address", show_residents},
    {"a", "", "what is absent and comes back, and why", show_absences},
    {"v", " VALUE", "the history of a value", show_value},
    {"s", "", "summary", show_summary},
    {"h", "", "these commands", help},
    {"q", "", "quit", quit},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static plim_status help(prompt_state *p, const char *word) {
  (void)word;
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
  if (!*line) return next_step(p, word);
  for (int i = 0; i < COMMANDS; i++) {
    if (strcmp(line, commands[i].name) == 0) return commands[i].run(p, word);
  }
  fprintf(p->to, "\"%s\" is no command; h lists them\n", line);
  return PLIM_OK;
}

plim_status trace_prompt(const traced *t, FILE *from, FILE *to, int prompt) {
  prompt_state p = {.t = t, .to = to};
  char line[LINE];
  PLIM_TRY(trace_view_step(t, 0, to));
  while (!p.ended) {
    if (prompt) fprintf(to, "step %d> ", (int)p.step);
    (void)fflush(to);
    if (!fgets(line, sizeof line, from)) break;
    PLIM_TRY(obey(&p, line));
  }
  return PLIM_OK;
}
