/* The screen of trace step. A loop over keys; each row of the table does something to the state, and everything is
 * drawn anew. */
#include <curses.h>
#include <string.h>

#include "tools/plimsoll/trace/trace_step.h"

/* ---- what is shown ---- */

static plim_status print_help(screen *s);

static plim_status fill_pane(screen *s, screen_view view) {
  trace_pane_close(&s->pane);
  PLIM_TRY(trace_pane_open(s->t->ctx, &s->pane));
  s->view = view;
  s->scrolled = 0;
  if (trace_draw_one_pane() && view != SCREEN_WHY) s->on_right = 1;
  switch (view) {
    case SCREEN_WHY:
      return trace_view_reasons(s->t, s->command, s->pane.to);
    case SCREEN_ABSENT:
      return trace_view_absences(s->t, s->command, s->pane.to);
    case SCREEN_TENSOR:
      return trace_view_tensor(s->t, plim_inspect_name(s->t->inspect, s->storage), s->pane.to);
    case SCREEN_HELP:
      return print_help(s);
    case SCREEN_TEXT:
      return PLIM_OK;
  }
  return PLIM_OK;
}

/* What is there all the time is left out of the list. */
static plim_status list_residents(screen *s) {
  const traced *t = s->t;
  int32_t n = plim_inspect_residents(t->inspect, s->command, NULL, 0), kept = 0;
  plim_release(t->ctx, s->resident, s->n_kept + s->n_residents, sizeof *s->resident);
  s->resident = NULL;
  s->n_kept = s->n_residents = 0;
  PLIM_TRY(plim_allocate(t->ctx, n, sizeof *s->resident, &s->resident));
  (void)plim_inspect_residents(t->inspect, s->command, s->resident, n);
  for (int32_t i = 0; i < n; i++) {
    int32_t storage = s->resident[i].storage;
    if (storage >= 0 && plim_role_persistent(t->graph->storage[storage].role)) {
      kept++;
    } else {
      s->resident[s->n_residents++] = s->resident[i];
    }
  }
  s->n_kept = kept;
  if (s->selected >= s->n_residents) s->selected = s->n_residents > 0 ? s->n_residents - 1 : 0;
  return PLIM_OK;
}

static plim_status go(screen *s, int32_t command) {
  if (command < 0 || command >= s->t->plan->n_commands) {
    (void)trace_says_no_command(s->t->plan->n_commands, s->message);
    return PLIM_OK;
  }
  s->command = command;
  PLIM_TRY(list_residents(s));
  return fill_pane(s, s->view == SCREEN_ABSENT ? SCREEN_ABSENT : SCREEN_WHY);
}

static plim_status jump(screen *s, const trace_jump *by) {
  int32_t command;
  PLIM_TRY(trace_jump_to(by, s->t, s->t->plan->n_commands, s->command, &command));
  if (command >= 0) return go(s, command);
  (void)trace_says_no_jump(by, s->command, s->message);
  return PLIM_OK;
}

/* ---- keys ---- */

static void ask(const screen *s, const char *question, char answer[TRACE_ANSWER]) {
  trace_terminal_ask(s->t->ctx, LINES - 2, question, answer);
}

/* A sentence goes to the line of answers. */
static plim_status say_usage(screen *s, plim_status status) {
  if (status != PLIM_EUSAGE) return status;
  (void)snprintf(s->message, sizeof s->message, "%s", plim_context_error(s->t->ctx));
  return PLIM_OK;
}

static plim_status ask_command(screen *s) {
  char answer[TRACE_ANSWER];
  ask(s, "to command:", answer);
  return *answer ? go(s, trace_command_number(answer)) : PLIM_OK;
}

static plim_status show_history(screen *s, int32_t storage) {
  if (storage < 0) return PLIM_OK;
  s->mapped = 0;
  s->storage = storage;
  return fill_pane(s, SCREEN_TENSOR);
}

static plim_status ask_tensor(screen *s) {
  char answer[TRACE_ANSWER];
  ask(s, "tensor:", answer);
  int32_t value = plim_graph_find_value(s->t->graph, answer);
  if (!*answer) return PLIM_OK;
  if (value >= 0) return show_history(s, s->t->graph->value[value].storage);
  PLIM_TRY(fill_pane(s, SCREEN_TEXT));
  PLIM_TRY(say_usage(s, trace_view_tensor(s->t, answer, s->pane.to)));
  return fill_pane(s, SCREEN_WHY);
}

static plim_status ask_what_if(screen *s) {
  char answer[TRACE_ANSWER];
  ask(s, "what if, from here on (a policy and a size, as in dtr 80%):", answer);
  char *memory = answer + strcspn(answer, " ");
  if (*memory) *memory++ = 0;
  if (!*answer) return PLIM_OK;
  s->mapped = 0;
  PLIM_TRY(fill_pane(s, SCREEN_TEXT));
  return say_usage(s, trace_what_if(s->t, s->command, answer, *memory ? memory : NULL, 0, s->pane.to));
}

static plim_status to_parting(screen *s) {
  trace_parting parting = {-1, -1};
  if (!s->other) {
    (void)snprintf(s->message, sizeof s->message, "%s", trace_says_no_other);
    return PLIM_OK;
  }
  PLIM_TRY(trace_divergence(s->t, s->other, &parting));
  int32_t command = trace_parting_command(s->t, &parting);
  if (command >= 0) PLIM_TRY(go(s, command));
  trace_parting_say(s->t, s->other, &parting, s->message, sizeof s->message);
  return PLIM_OK;
}

static plim_status open_selected(screen *s) {
  if (s->mapped) {
    int32_t buffer = trace_map_buffer(s->t, s->command, trace_map_address(s->t, trace_draw_rows(), s->map_row));
    s->mapped = 0;
    return buffer < 0 ? PLIM_OK : show_history(s, s->t->plan->buffer[buffer].storage);
  }
  return s->n_residents > 0 ? show_history(s, s->resident[s->selected].storage) : PLIM_OK;
}

/* Up and down: in the map, the text or the list. */
static plim_status move_by(screen *s, int32_t rows) {
  int32_t *at = s->mapped ? &s->map_row : s->on_right || s->zoomed ? &s->scrolled : &s->selected;
  *at += rows;
  if (*at < 0) *at = 0;
  if (at == &s->map_row && *at >= trace_draw_rows()) *at = trace_draw_rows() - 1;
  if (at == &s->selected && *at >= s->n_residents) *at = s->n_residents > 0 ? s->n_residents - 1 : 0;
  return PLIM_OK;
}

static plim_status up(screen *s) {
  return move_by(s, -1);
}
static plim_status down(screen *s) {
  return move_by(s, 1);
}
static plim_status page_up(screen *s) {
  return move_by(s, -trace_draw_rows());
}
static plim_status page_down(screen *s) {
  return move_by(s, trace_draw_rows());
}
static plim_status forward(screen *s) {
  return jump(s, trace_jump_find(trace_kind_arena.jump, 'n'));
}
static plim_status back(screen *s) {
  return jump(s, trace_jump_find(trace_kind_arena.jump, 'p'));
}
static plim_status first(screen *s) {
  return go(s, 0);
}
static plim_status last(screen *s) {
  return go(s, s->t->plan->n_commands - 1);
}
static plim_status why(screen *s) {
  s->mapped = 0;
  return fill_pane(s, SCREEN_WHY);
}
static plim_status absent(screen *s) {
  s->mapped = 0;
  return fill_pane(s, SCREEN_ABSENT);
}
static plim_status help(screen *s) {
  s->mapped = 0;
  return fill_pane(s, SCREEN_HELP);
}

static plim_status change_pane(screen *s) {
  s->on_right = !s->on_right;
  return PLIM_OK;
}

static plim_status zoom(screen *s) {
  s->zoomed = !s->zoomed;
  return PLIM_OK;
}

static plim_status show_map(screen *s) {
  s->mapped = !s->mapped;
  return PLIM_OK;
}

static plim_status list(screen *s) {
  s->mapped = s->zoomed = s->on_right = 0;
  return PLIM_OK;
}

static plim_status summary(screen *s) {
  s->mapped = 0;
  PLIM_TRY(fill_pane(s, SCREEN_TEXT));
  return trace_view_summary(s->t, 0, s->pane.to);
}

/* The keys are left for what was looked at before. */
static plim_status quit(screen *s) {
  if (s->view == SCREEN_HELP && !s->mapped) {
    s->on_right = 0;
    return fill_pane(s, SCREEN_WHY);
  }
  s->ended = 1;
  return PLIM_OK;
}

/* name NULL: another key for the row above. what NULL: what the line of that name does at the prompt. */
static const struct {
  int key;
  const char *name, *what;
  plim_status (*run)(screen *s);
} rows[] = {
    {KEY_RIGHT, "Right", "next command", forward},
    {' ', NULL, NULL, forward},
    {KEY_LEFT, "Left", "previous command", back},
    {KEY_HOME, "Home", "first command", first},
    {KEY_END, "End", "last command", last},
    {'g', "g", "go to a command by its number", ask_command},
    {'f', "f", NULL, to_parting},
    {KEY_UP, "Up", "up: in the list, the text or the map", up},
    {KEY_DOWN, "Down", "down", down},
    {KEY_PPAGE, "PgUp", "a page up", page_up},
    {KEY_NPAGE, "PgDn", "a page down", page_down},
    {'\t', "Tab", "from the list to the text and back", change_pane},
    {'\n', "Enter", "history of the tensor at the cursor", open_selected},
    {KEY_ENTER, NULL, NULL, open_selected},
    {'v', "v", NULL, ask_tensor},
    {'/', "/", NULL, ask_tensor},
    {'l', "l", NULL, list},
    {'s', "s", NULL, summary},
    {'w', "w", "what if another policy or budget came from here on", ask_what_if},
    {'y', "y", NULL, why},
    {TRACE_KEY_ESCAPE, NULL, NULL, why},
    {'a', "a", NULL, absent},
    {'m', "m", "map of addresses over commands, and back", show_map},
    {'z', "z", "the text alone, and back", zoom},
    {'?', "?", "this list", help},
    {'h', NULL, NULL, help},
    {'q', "q", "quit; here: back", quit},
};
enum { ROWS = sizeof rows / sizeof *rows };

static plim_status print_help(screen *s) {
  for (int i = 0; i < ROWS; i++) {
    const char *name = rows[i].name, *what = rows[i].what;
    if (name) fprintf(s->pane.to, "%-5s %s\n", name, what ? what : trace_line_find(&trace_kind_arena, name)->what);
  }
  for (const trace_jump *j = trace_kind_arena.jump; j->key; j++) fprintf(s->pane.to, "%c     %s\n", j->key, j->what);
  return PLIM_OK;
}

static plim_status obey(screen *s, int key) {
  const trace_jump *by = key > 0 && key < 127 ? trace_jump_find(trace_kind_arena.jump, (char)key) : NULL;
  if (by) return jump(s, by);
  for (int i = 0; i < ROWS; i++) {
    if (rows[i].key == key) return rows[i].run(s);
  }
  return PLIM_OK;
}

/* ---- the terminal ---- */

/* Ends at q, at Ctrl-C, and when the terminal is gone. */
static plim_status loop(screen *s) {
  PLIM_TRY(go(s, 0));
  while (!s->ended) {
    PLIM_TRY(trace_draw(s));
    int key = trace_terminal_key(s->t->ctx);
    s->message[0] = 0;
    if (key == KEY_RESIZE) continue;
    if (key == TRACE_KEY_INTERRUPT) plim_context_cancel(s->t->ctx);
    if (key == ERR || key == TRACE_KEY_INTERRUPT) return PLIM_OK;
    PLIM_TRY(obey(s, key));
  }
  return PLIM_OK;
}

plim_status trace_screen(const traced *t, const traced *other, int *shown) {
  screen s = {.t = t, .other = other, .storage = -1};
  void *terminal = trace_terminal_open();
  *shown = terminal != NULL;
  if (!terminal) return PLIM_OK;
  trace_draw_colours();
  plim_status status = loop(&s);
  trace_terminal_close(terminal);
  trace_pane_close(&s.pane);
  plim_release(t->ctx, s.resident, s.n_kept + s.n_residents, sizeof *s.resident);
  return status;
}
